// The trials of a search for neighbours: counts them, and ends them at a limit.
#pragma once

#include <chrono>
#include <optional>

#include "minimizer/data_variants.h"
#include "minimizer/edit.h"
#include "minimizer/neighbours.h"

namespace fusesmith::minimizer {

class NeighbourTrials {
 public:
  NeighbourTrials(const Case& test_case, const Trial& trial, const NeighbourOptions& options);

  const Case& test_case() const { return case_; }
  const Graph& graph() const { return case_.graph; }
  int64_t queries() const { return queries_; }
  double seconds() const;
  double max_seconds() const { return options_.max_seconds; }
  bool exhausted() const { return exhausted_; }  // a trial was not made

  bool may_ask();
  Outcome ask(const Case& neighbour);
  // On data like the case's, and if it passes on other data too: it passes only if none fails. Nothing where
  // there is no such neighbour, or no time for it.
  std::optional<Outcome> outcome_of(const Edits& edits);
  // Of this many other data sets of a kind, how many fail; ends where enough fail or pass. Nothing as above.
  struct Draws {
    int failing = 0, passing = 0;
  };
  std::optional<Draws> draw(const Edits& edits, DataKind kind, Draws enough);

  void count_any_wrong_value() { any_wrong_value_ = true; }  // Outcome::fails_alike is a failure from now on

 private:
  std::optional<Case> neighbour(const Edits& edits) const;

  const Case& case_;
  const Trial& trial_;
  NeighbourOptions options_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  int64_t queries_ = 0;
  bool exhausted_ = false, any_wrong_value_ = false;
};

}  // namespace fusesmith::minimizer
