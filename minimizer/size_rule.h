// A rule for which sizes of a dimension fail, inferred from the sizes that were tried: "N mod 16 != 0", "N >=
// 21".
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/namespaces.h"

namespace fusesmith::minimizer {

// Whether each size tried fails.
using SizeOutcomes = std::map<int64_t, bool>;

struct SizeRule {
  int64_t modulus = 1, remainder = 0;  // N mod modulus == remainder, ...
  bool negated = false;                // ... or != remainder
  int64_t lo = 0, hi = 0;              // and lo <= N <= hi; 0: no such limit

  bool fails(int64_t size) const;
  // "N mod 16 != 0 and N >= 17"; "always" for a rule without conditions.
  std::string text() const;
  bool operator==(const SizeRule&) const = default;
};

// The simplest rule that agrees with all outcomes, if enough of them support it: no size at its limits is
// untried, and for a remainder six sizes, two that have it and two that have not; for one other than 0, of
// powers of two alone, twelve sizes and four. Nothing where no size fails.
std::optional<SizeRule> infer_rule(const SizeOutcomes& outcomes);

// The sizes to try next: those that would make a limit exact, or that most likely refute the rule inferred so
// far, such as multiples of tiles beyond a limit. Empty once there is nothing more to learn in this way.
std::vector<int64_t> next_sizes(const SizeOutcomes& outcomes);

}  // namespace fusesmith::minimizer
