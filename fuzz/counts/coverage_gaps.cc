#include "fuzz/counts/coverage_gaps.h"

#include <algorithm>

#include "backends/rewrite/pattern.h"
#include "fuzz/base/table.h"
#include "graph/op.h"

namespace fusesmith::fuzz {
namespace {

constexpr int64_t kWanted = 200, kCases = 100'000;
constexpr size_t kFewPairs = 8;

using Dtypes = std::array<bool, kDtypes.size()>;

// By op, in the list's order: the dtypes with a count in the table.
std::vector<Dtypes> dtypes_by_op(const Coverage& coverage, std::string_view table) {
  std::vector<Dtypes> by_op(1);
  size_t dtype = 0;
  const auto& cells = coverage_cells();
  for (size_t i = 0; i < cells.size(); ++i) {
    if (cells[i].table != table) continue;
    if (dtype == kDtypes.size()) {
      by_op.push_back({});
      dtype = 0;
    }
    by_op.back()[dtype++] = coverage.count(i) > 0;
  }
  return by_op;
}

void find_pairs(const Coverage& coverage, CoverageGaps& gaps) {
  const std::vector<Dtypes> made = dtypes_by_op(coverage, "made"), read = dtypes_by_op(coverage, "read");
  const auto& cells = coverage_cells();
  size_t pair = 0;
  for (size_t i = 0; i < cells.size(); ++i) {
    if (cells[i].table != "op_pairs") continue;
    const Dtypes &op = made[pair / read.size()], &reader = read[pair % read.size()];
    ++pair;
    bool possible = false;
    for (size_t d = 0; d < kDtypes.size(); ++d) possible = possible || (op[d] && reader[d]);
    if (!possible) continue;
    ++gaps.pairs_possible;
    if (coverage.count(i) > 0) continue;
    ++gaps.pairs_missing;
    if (gaps.first_pairs.size() < kFewPairs)
      gaps.first_pairs.push_back(std::string(cells[i].words[0]) + " -> " + std::string(cells[i].words[1]));
  }
}

// "a, b and 3 more"
std::string first_few(std::vector<std::string> words, size_t all) {
  constexpr size_t kFew = 6;
  words.resize(std::min(words.size(), kFew));
  const size_t more = all - words.size();
  return list_text(words) + (more > 0 ? " and " + std::to_string(more) + " more" : "");
}

}  // namespace

int64_t wanted_matches(int64_t cases) { return std::clamp<int64_t>(cases * kWanted / kCases, 1, kWanted); }

CoverageGaps coverage_gaps(const Coverage& coverage, int64_t cases, bool rewrites) {
  CoverageGaps gaps;
  gaps.wanted = wanted_matches(cases);
  for (const Pattern& pattern : all_patterns()) {
    if (!rewrites) break;
    for (Dtype dtype : kFloatDtypes) {
      const int64_t matched = coverage.sum("matched", {pattern.name, name(dtype)});
      if (matched < gaps.wanted) gaps.rare.push_back({pattern.name, dtype, matched});
    }
    for (std::string_view guard : pattern.guards) {
      if (coverage.sum("refused", {pattern.name, guard}) == 0)
        gaps.guards.push_back(std::string(pattern.name) + "." + std::string(guard));
    }
  }
  for_each_op([&]<class T>(std::type_identity<T>) {
    if (coverage.sum("made", {T::info.name}) == 0) gaps.ops.emplace_back(T::info.name);
  });
  find_pairs(coverage, gaps);
  return gaps;
}

std::string gaps_text(const CoverageGaps& gaps) {
  std::string text;
  const auto line = [&](const std::string& title, const std::vector<std::string>& words, size_t all) {
    if (all > 0) text += title + ": " + first_few(words, all) + "\n";
  };
  std::vector<std::string> rare;
  for (const RareRewrite& rewrite : gaps.rare) {
    rare.push_back(std::string(rewrite.pattern) + " " + std::string(name(rewrite.dtype)) + " (" +
                   std::to_string(rewrite.matched) + ")");
  }
  line("Matched fewer than " + counted(gaps.wanted, "time"), rare, rare.size());
  line("Guards that never rejected a rewrite", gaps.guards, gaps.guards.size());
  line("Ops that never occurred", gaps.ops, gaps.ops.size());
  line("Pairs of ops that never occurred, of " + std::to_string(gaps.pairs_possible) + " possible",
       gaps.first_pairs, static_cast<size_t>(gaps.pairs_missing));
  return text;
}

}  // namespace fusesmith::fuzz
