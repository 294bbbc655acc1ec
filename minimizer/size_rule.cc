#include "minimizer/size_rule.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <set>

namespace fusesmith::minimizer {
namespace {

constexpr int64_t kMaxModulus = 128;      // of rules about multiples
constexpr int64_t kMaxOtherModulus = 32;  // of rules about other remainders
constexpr int kMinEach = 2;               // sizes with the remainder, and without it
constexpr int kMinSizes = 6;              // of both together

bool agrees(const SizeRule& rule, const SizeOutcomes& outcomes) {
  return std::all_of(outcomes.begin(), outcomes.end(),
                     [&](const auto& tried) { return rule.fails(tried.first) == tried.second; });
}

bool is_tried(const SizeOutcomes& outcomes, int64_t size) { return outcomes.count(size) > 0; }

// Whether both sides of the rule's limits were tried.
bool has_sharp_limits(const SizeRule& rule, const SizeOutcomes& outcomes) {
  const bool lo = rule.lo == 0 || (is_tried(outcomes, rule.lo) && is_tried(outcomes, rule.lo - 1));
  return lo && (rule.hi == 0 || (is_tried(outcomes, rule.hi) && is_tried(outcomes, rule.hi + 1)));
}

// Whether a rule about remainders rests on enough sizes: within the limits, several on each side.
bool has_support(const SizeRule& rule, const SizeOutcomes& outcomes) {
  int of_remainder = 0, of_others = 0;
  for (const auto& [size, fails] : outcomes) {
    if (size < rule.lo || (rule.hi > 0 && size > rule.hi)) continue;
    ++(size % rule.modulus == rule.remainder ? of_remainder : of_others);
  }
  return std::min(of_remainder, of_others) >= kMinEach && of_remainder + of_others >= kMinSizes;
}

// The conditions on remainders, the simplest first.
std::vector<SizeRule> make_remainder_rules() {
  std::vector<SizeRule> rules;
  for (int64_t modulus = 2; modulus <= kMaxModulus; ++modulus) {
    for (const bool negated : {true, false}) rules.push_back({modulus, 0, negated});
  }
  for (int64_t modulus = 2; modulus <= kMaxOtherModulus; ++modulus) {
    for (int64_t remainder = 1; remainder < modulus; ++remainder) {
      for (const bool negated : {false, true}) rules.push_back({modulus, remainder, negated});
    }
  }
  return rules;
}

// From the first to the last size that fails, without a limit where the smallest or largest size tried fails;
// nothing where none fails.
std::optional<SizeRule> failing_range(const SizeOutcomes& outcomes) {
  int64_t first = 0, last = 0;
  for (const auto& [size, fails] : outcomes) {
    if (!fails) continue;
    if (first == 0) first = size;
    last = size;
  }
  if (first == 0) return std::nullopt;
  return SizeRule{1, 0, false, first == outcomes.begin()->first ? 0 : first,
                  last == outcomes.rbegin()->first ? 0 : last};
}

}  // namespace

bool SizeRule::fails(int64_t size) const {
  if (size < lo || (hi > 0 && size > hi)) return false;
  return (size % modulus == remainder) != negated;
}

std::string SizeRule::text() const {
  std::string text;
  const auto add = [&](const std::string& condition) { text += (text.empty() ? "" : " and ") + condition; };
  if (modulus > 1)
    add("N mod " + std::to_string(modulus) + (negated ? " != " : " == ") + std::to_string(remainder));
  if (lo > 0 && lo == hi)
    add("N == " + std::to_string(lo));
  else {
    if (lo > 0) add("N >= " + std::to_string(lo));
    if (hi > 0) add("N <= " + std::to_string(hi));
  }
  return text.empty() ? "always" : text;
}

std::optional<SizeRule> infer_rule(const SizeOutcomes& outcomes) {
  const auto range = failing_range(outcomes);
  if (!range) return std::nullopt;
  if (agrees(*range, outcomes)) return has_sharp_limits(*range, outcomes) ? range : std::nullopt;
  static const std::vector<SizeRule> rules = make_remainder_rules();
  for (const auto& [lo, hi] : {std::pair<int64_t, int64_t>(0, 0), {range->lo, 0}, {0, range->hi}}) {
    for (SizeRule rule : rules) {
      rule.lo = lo, rule.hi = hi;
      if (agrees(rule, outcomes) && has_support(rule, outcomes)) return rule;
    }
  }
  return std::nullopt;
}

std::vector<int64_t> next_sizes(const SizeOutcomes& outcomes) {
  std::set<int64_t> sizes;
  const auto rule = infer_rule(outcomes);
  const auto range = failing_range(outcomes);
  if (rule && rule->modulus > 1) {
    const int64_t m = rule->modulus, r = rule->remainder;
    for (const int64_t size :
         {m + r - 1, m + r, m + r + 1, m + m / 2 + r, 2 * m + r - 1, 2 * m + r, 3 * m + r})
      sizes.insert(size);
  } else if (!rule && range && agrees(*range, outcomes)) {
    for (auto low = outcomes.begin(), high = std::next(low); high != outcomes.end(); ++low, ++high) {
      if (low->second != high->second) sizes.insert(std::midpoint(low->first, high->first));
    }
  }
  std::erase_if(sizes, [&](int64_t size) { return size < 1 || is_tried(outcomes, size); });
  return {sizes.begin(), sizes.end()};
}

}  // namespace fusesmith::minimizer
