#include "minimizer/neighbour_trials.h"

#include <algorithm>

#include "minimizer/measure.h"

namespace fusesmith::minimizer {

NeighbourTrials::NeighbourTrials(const Case& test_case, const Trial& trial, const NeighbourOptions& options)
    : case_(test_case), trial_(trial), options_(options) {
  options_.max_elements = std::max(options_.max_elements, 2 * measure(test_case).elements);
}

double NeighbourTrials::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
}

bool NeighbourTrials::may_ask() {
  if (queries_ < options_.max_queries && seconds() < options_.max_seconds) return true;
  exhausted_ = true;
  return false;
}

Outcome NeighbourTrials::ask(const Case& neighbour) {
  ++queries_;
  const Outcome outcome = trial_(neighbour);
  if (outcome != Outcome::fails_alike) return outcome;
  return any_wrong_value_ ? Outcome::fails : Outcome::other;
}

std::optional<Case> NeighbourTrials::neighbour(const Edits& edits) const {
  auto neighbour = apply_edits(case_, edits);
  if (neighbour && measure(*neighbour).elements > options_.max_elements) return std::nullopt;
  return neighbour;
}

std::optional<Outcome> NeighbourTrials::outcome_of(const Edits& edits) {
  const auto asked = neighbour(edits);
  if (!asked || !may_ask()) return std::nullopt;
  const Outcome outcome = ask(*asked);
  if (outcome != Outcome::passes) return outcome;
  std::vector<Case> others;  // without those that are equal
  for (const DataKind kind : {DataKind::alike, DataKind::normal, DataKind::small}) {
    Case other = with_data(*asked, case_, kind, 1);
    if (std::find(others.begin(), others.end(), other) == others.end()) others.push_back(std::move(other));
  }
  for (const Case& other : others) {
    if (!may_ask()) return std::nullopt;
    if (ask(other) == Outcome::fails) return Outcome::fails;
  }
  return Outcome::passes;
}

std::optional<NeighbourTrials::Draws> NeighbourTrials::draw(const Edits& edits, DataKind kind, Draws enough) {
  const auto asked = neighbour(edits);
  if (!asked) return std::nullopt;
  Draws draws;
  for (uint64_t i = 2; draws.failing < enough.failing && draws.passing < enough.passing; ++i) {
    if (!may_ask()) return std::nullopt;
    ++(ask(with_data(*asked, case_, kind, i)) == Outcome::fails ? draws.failing : draws.passing);
  }
  return draws;
}

}  // namespace fusesmith::minimizer
