#include "minimizer/size_rule.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <set>

namespace fusesmith::minimizer {
namespace {

constexpr int64_t kMaxModulus = 128;  // of rules about multiples; and these
constexpr int64_t kTiles[] = {160, 192, 224, 256, 320, 384, 448, 512, 640, 768, 1024, 1536, 2048, 4096};
constexpr int64_t kOtherModuli[] = {2, 4, 8, 16, 32};  // of rules about other remainders
constexpr int64_t kLongTiles[] = {32, 64, 128, 256, 512, 1024};
constexpr int64_t kFar = 512;  // a rule found with small sizes is tried there too

// How many sizes within its limits a rule about remainders must agree with.
struct Support {
  int each, all;  // with the remainder and without it; both together
};
constexpr Support kLeast{1, 3}, kOfMultiples{2, 6}, kOfOtherRemainders{4, 12}, kOfOddModuli{3, 8};

bool agrees(const SizeRule& rule, const SizeOutcomes& outcomes) {
  return std::all_of(outcomes.begin(), outcomes.end(),
                     [&](const auto& tried) { return rule.fails(tried.first) == tried.second; });
}

bool is_tried(const SizeOutcomes& outcomes, int64_t size) { return outcomes.count(size) > 0; }

// Whether the size fails by the remainder, whatever the limits.
bool has_failing_remainder(const SizeRule& rule, int64_t size) {
  return (size % rule.modulus == rule.remainder) != rule.negated;
}

// The untried size closest to the middle of (low, high) that fails by its remainder.
std::optional<int64_t> between(const SizeRule& rule, int64_t low, int64_t high) {
  const int64_t middle = std::midpoint(low, high);
  for (int64_t away = 0; away < high - low; ++away) {
    for (const int64_t size : {middle - away, middle + away}) {
      if (size > low && size < high && has_failing_remainder(rule, size)) return size;
    }
  }
  return {};
}

// Sizes that are untried between a limit and the closest size beyond it that passes in spite of its
// remainder.
std::vector<int64_t> untried_at_limits(const SizeRule& rule, const SizeOutcomes& outcomes) {
  std::optional<int64_t> below, above;
  for (const auto& [size, fails] : outcomes) {
    if (!has_failing_remainder(rule, size)) continue;
    if (size < rule.lo) below = size;
    if (rule.hi > 0 && size > rule.hi && !above) above = size;
  }
  std::vector<int64_t> sizes;
  if (below) {
    if (const auto size = between(rule, *below, rule.lo)) sizes.push_back(*size);
  }
  if (above) {
    if (const auto size = between(rule, rule.hi, *above)) sizes.push_back(*size);
  }
  return sizes;
}

bool has_support(const SizeRule& rule, const SizeOutcomes& outcomes, const Support& support) {
  int of_remainder = 0, of_others = 0;
  for (const auto& [size, fails] : outcomes) {
    if (size < rule.lo || (rule.hi > 0 && size > rule.hi)) continue;
    ++(size % rule.modulus == rule.remainder ? of_remainder : of_others);
  }
  return std::min(of_remainder, of_others) >= support.each && of_remainder + of_others >= support.all;
}

Support needed_support(const SizeRule& rule) {
  if (rule.remainder != 0) return kOfOtherRemainders;
  int64_t odd = rule.modulus;
  while (odd % 2 == 0) odd /= 2;
  return odd > 3 ? kOfOddModuli : kOfMultiples;
}

// The conditions on remainders, the simplest first.
std::vector<SizeRule> make_remainder_rules() {
  std::vector<SizeRule> rules;
  for (int64_t modulus = 2; modulus <= kMaxModulus; ++modulus) {
    for (const bool negated : {true, false}) rules.push_back({modulus, 0, negated});
  }
  for (const int64_t modulus : kTiles) {
    for (const bool negated : {true, false}) rules.push_back({modulus, 0, negated});
  }
  for (const int64_t modulus : kOtherModuli) {
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

std::optional<SizeRule> simplest_remainder_rule(const SizeOutcomes& outcomes, const SizeRule& range,
                                                const Support& support) {
  static const std::vector<SizeRule> rules = make_remainder_rules();
  for (const auto& [lo, hi] : {std::pair<int64_t, int64_t>(0, 0), {range.lo, 0}, {0, range.hi}}) {
    const auto within = [lo = lo, hi = hi](SizeRule rule) {
      rule.lo = lo, rule.hi = hi;
      return rule;
    };
    const auto fits = [&](const SizeRule& rule) {
      return agrees(within(rule), outcomes) && has_support(within(rule), outcomes, support);
    };
    const auto found = std::find_if(rules.begin(), rules.end(), fits);
    if (found != rules.end()) return within(*found);
    const SizeRule own_tile{lo - 1, 0, true};
    if (lo > kMaxModulus && fits(own_tile)) return within(own_tile);
  }
  return std::nullopt;
}

// The simplest rule that agrees with all outcomes, with little support if there is no other.
std::optional<SizeRule> simplest_rule(const SizeOutcomes& outcomes) {
  const auto range = failing_range(outcomes);
  if (!range || agrees(*range, outcomes)) return range;
  const auto rule = simplest_remainder_rule(outcomes, *range, kOfMultiples);
  return rule ? rule : simplest_remainder_rule(outcomes, *range, kLeast);
}

// Sizes beyond the limits that a kernel with tiles treats in another way.
void add_beyond(const SizeRule& range, std::set<int64_t>& sizes) {
  const int64_t edge = range.hi > 0 ? range.hi : std::max<int64_t>(range.lo - 1, 0);
  for (const int64_t times : {2, 3, 4}) sizes.insert(times * edge);
  for (const int64_t tile : kLongTiles) {
    sizes.insert((edge / tile + 1) * tile);
    if (range.hi > 0 && tile < kFar) sizes.insert(edge + tile);
  }
}

void add_multiples(const SizeRule& rule, std::set<int64_t>& sizes) {
  const int64_t m = rule.modulus, first = rule.lo / m * m + rule.remainder;
  for (const int64_t away : {m - 1, m, m + 1, m + m / 2, 2 * m - 1, 2 * m, 3 * m}) sizes.insert(first + away);
  if (rule.remainder != 0) {
    for (const int64_t times : {0, 4, 5, 6}) sizes.insert(first + times * m);
  }
  if (m >= kFar || rule.hi > 0) return;
  const int64_t far = (std::max(kFar, first) / m + 1) * m + rule.remainder;
  sizes.insert({far, far + 1, far + m});
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
  const auto rule = simplest_rule(outcomes);
  if (!rule || !untried_at_limits(*rule, outcomes).empty()) return std::nullopt;
  return rule->modulus == 1 || has_support(*rule, outcomes, needed_support(*rule)) ? rule : std::nullopt;
}

std::vector<int64_t> next_sizes(const SizeOutcomes& outcomes) {
  std::set<int64_t> sizes;
  if (const auto rule = simplest_rule(outcomes)) {
    const auto at_limits = untried_at_limits(*rule, outcomes);
    sizes.insert(at_limits.begin(), at_limits.end());
    if (rule->modulus > 1)
      add_multiples(*rule, sizes);
    else if (at_limits.empty())
      add_beyond(*rule, sizes);
  }
  std::erase_if(sizes, [&](int64_t size) { return size < 1 || is_tried(outcomes, size); });
  return {sizes.begin(), sizes.end()};
}

}  // namespace fusesmith::minimizer
