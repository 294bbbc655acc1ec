#include "oracle/explain_by_arithmetic.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "oracle/arithmetic_keys.h"

namespace fusesmith::oracle {
namespace {

using Chosen = std::vector<const KnownArithmetic*>;

constexpr double kMostError = 4096;  // of a function, in units of 2^-24

void widen(Contract& contract, double Arithmetic::*function, double error) {
  change_arithmetic(contract, [&](Arithmetic& arithmetic) {
    arithmetic.*function = std::max(arithmetic.*function, error);
  });
}

// What may be granted together, which are alternatives. An op is computed as one other graph at most: all
// that are not such, alone and with each that is. First without those that are no excuse where the bounds
// say nothing, since none is then.
std::vector<Chosen> combinations(const Chosen& chosen) {
  std::vector<Chosen> all;
  for (const bool has_all : {false, true}) {
    Chosen others;
    std::copy_if(chosen.begin(), chosen.end(), std::back_inserter(others), [&](const auto* one) {
      return !one->is_graph && (has_all || one->least == Within::undecided);
    });
    if (has_all && others == all.front()) break;
    all.push_back(others);
    for (const KnownArithmetic* one : chosen) {
      if (!one->is_graph) continue;
      all.push_back(others);
      all.back().push_back(one);
    }
  }
  return all;
}

class Explainer {
 public:
  Explainer(const Graph& graph, const Region& region, const ExplainOptions& options, const IsWithin& within)
      : graph_(graph), region_(region), options_(options), within_(within) {}

  std::optional<Explained> explained() {
    if (auto found = by_one_excuse()) return found;
    if (auto found = by_several_excuses()) return found;
    if (!options_.all) return std::nullopt;
    for (const KnownArithmetic& one : known_arithmetics()) {
      if (one.is_sharper) continue;
      if (auto found = explained_by({&one}, false)) return found;
    }
    return is_possible(nullptr, false) ? by_function() : std::nullopt;
  }

 private:
  std::optional<Explained> by_one_excuse() {
    std::optional<Explained> first;
    for (const KnownArithmetic& one : known_arithmetics()) {
      if (!one.is_customary(options_.is_kernel) || one.is_sharper) continue;
      auto found = explained_by({&one}, true);
      if (!found) continue;
      if (!options_.all) return found;
      if (first) first->alternatives.push_back(found->diagnoses[0]);
      if (!first) first = std::move(found);
    }
    return first;
  }

  std::optional<Explained> by_several_excuses() {
    for (Chosen& several : combinations(customary())) {
      auto found = several.size() > 1 ? explained_by(several, true) : std::nullopt;
      if (!found) continue;
      for (size_t i = several.size(); i-- > 0 && several.size() > 1;) {
        Chosen fewer = several;
        fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
        if (auto without = explained_by(fewer, true)) several = std::move(fewer), found = std::move(without);
      }
      return found;
    }
    return std::nullopt;
  }

  // Those that apply to the region. Two forms of the variance are alternatives; the wider one is the later.
  Chosen customary() const {
    Chosen chosen;
    for (const KnownArithmetic& one : known_arithmetics()) {
      Contract contract = region_.contract;
      const bool is_meant =
          one.is_customary(options_.is_kernel) && !one.is_sharper && one.diagnosis.name != "variance.welford";
      if (is_meant && one.grant(graph_, region_, contract)) chosen.push_back(&one);
    }
    return chosen;
  }

  std::optional<Explained> explained_by(const Chosen& chosen, bool as_excuse) {
    Contract contract = region_.contract;
    if (!grant(chosen, contract) || !may_explain(chosen, as_excuse)) return std::nullopt;
    if (within_(contract, as_excuse) < needed(chosen, as_excuse)) return std::nullopt;
    return Explained{diagnoses_of(chosen), std::move(contract), as_excuse};
  }

  // What loses more than is customary is named only where its bounds leave a verdict: coarse ones contain
  // anything.
  static Within needed(const Chosen& chosen, bool as_excuse) {
    Within least = as_excuse ? Within::undecided : Within::loosely;
    for (const KnownArithmetic* one : chosen) {
      if (as_excuse) least = std::max(least, one->least);
      if (!one->diagnosis.customary) least = Within::decidedly;
    }
    return least;
  }

  bool grant(const Chosen& chosen, Contract& contract) const {
    bool any = false;
    for (const KnownArithmetic* one : chosen) any |= one->grant(graph_, region_, contract);
    return any;
  }

  // False where all that widen bounds, among them these, do not suffice: one judgement in place of many.
  bool may_explain(const Chosen& chosen, bool as_excuse) {
    const KnownArithmetic* other_graph = nullptr;
    for (const KnownArithmetic* one : chosen) {
      if (!one->widens && !one->is_graph) return true;
      if (one->is_graph) other_graph = one;
    }
    return is_possible(other_graph, as_excuse);
  }

  // Whether the region is within its bounds with all that widen them, customary ones alone for an excuse,
  // where an op is computed as this graph or, with null, as it is.
  bool is_possible(const KnownArithmetic* other_graph, bool as_excuse) {
    const auto [known, is_new] = possible_.try_emplace({other_graph, as_excuse}, true);
    if (!is_new) return known->second;
    Contract contract = region_.contract;
    if (other_graph) other_graph->grant(graph_, region_, contract);
    for (const KnownArithmetic* one : widening_arithmetics()) {
      if (one->diagnosis.customary || !as_excuse) one->grant(graph_, region_, contract);
    }
    if (!as_excuse) {
      for (const auto& [key, function] : function_errors()) {
        if (function != &Arithmetic::sum) widen(contract, function, kMostError);
      }
    }
    known->second = within_(contract, as_excuse) != Within::no;
    return known->second;
  }

  // The least error with which the region is within its bounds, up to a factor of 1.2; more than any if none
  // is.
  double least_error(double Arithmetic::*function) const {
    double low = 1, high = kMostError;
    if (within_with(function, high) < Within::loosely) return 2 * kMostError;
    while (high / low > 1.2) {
      const double middle = std::sqrt(low * high);
      (within_with(function, middle) < Within::loosely ? low : high) = middle;
    }
    return std::ceil(high);
  }
  Within within_with(double Arithmetic::*function, double error) const {
    Contract contract = region_.contract;
    widen(contract, function, error);
    return within_(contract, false);
  }

  // Of all functions, the one that needs the least error.
  std::optional<Explained> by_function() const {
    std::optional<Explained> best;
    double least = kMostError + 1;
    for (const auto& [key, function] : function_errors()) {
      if (function == &Arithmetic::sum) continue;  // not of a function
      const double error = least_error(function);
      if (error >= least || within_with(function, error) < Within::decidedly) continue;
      least = error;
      const std::string number = graph::number_text(error);
      best = Explained{{{key, key + " may be wrong by " + number + " units of 2^-24",
                         "arithmetic = {" + in_quotes(key) + ": " + number + "}", false}},
                       region_.contract};
      widen(best->contract, function, error);
    }
    return best;
  }

  // Their declarations name the op of the region where they hold for the ops that are declared.
  std::vector<Diagnosis> diagnoses_of(const Chosen& chosen) const {
    std::vector<Diagnosis> diagnoses;
    for (const KnownArithmetic* one : chosen) {
      diagnoses.push_back(one->diagnosis);
      std::string& declaration = diagnoses.back().declaration;
      if (const size_t at = declaration.find(kOpOfRegion); at != std::string::npos) {
        const Op& op = graph_.nodes()[static_cast<size_t>(region_.nodes.back())].op;
        declaration.replace(at, kOpOfRegion.size(), in_quotes(info(op).name));
      }
    }
    return diagnoses;
  }

  const Graph& graph_;
  const Region& region_;
  const ExplainOptions options_;
  const IsWithin& within_;
  std::map<std::pair<const KnownArithmetic*, bool>, bool> possible_;
};

}  // namespace

std::vector<const KnownArithmetic*> widening_arithmetics() {
  std::vector<const KnownArithmetic*> all;
  for (const KnownArithmetic& one : known_arithmetics()) {
    if (one.widens) all.insert(all.begin(), &one);
  }
  return all;
}

std::optional<Explained> explain_by_arithmetic(const Graph& graph, const Region& region,
                                               const ExplainOptions& options, const IsWithin& within) {
  return Explainer(graph, region, options, within).explained();
}

}  // namespace fusesmith::oracle
