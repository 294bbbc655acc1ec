#include <algorithm>

#include "minimizer/reductions.h"

namespace fusesmith::minimizer {
namespace {

std::vector<Edits> propose(const Situation& now) {
  const auto& skipped = now.test_case.policy.skip_patterns;
  std::vector<std::string> active;
  for (const std::string& pattern : now.pattern_names) {
    if (std::find(skipped.begin(), skipped.end(), pattern) == skipped.end()) active.push_back(pattern);
  }
  std::vector<Edits> proposals;
  const auto skip = [&](std::vector<std::string> names) {
    if (!names.empty()) proposals.push_back({SkipPatterns{std::move(names)}});
  };
  skip(active);
  for (size_t kept = 0; kept < active.size() && active.size() > 1; ++kept) {
    std::vector<std::string> others = active;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(kept));
    skip(std::move(others));
  }
  if (active.size() > 2) {
    for (const std::string& pattern : active) skip({pattern});
  }
  return proposals;
}

}  // namespace

const Reduction kDropPatterns{"drop_patterns", "Turn rewrite patterns off.", propose};

}  // namespace fusesmith::minimizer
