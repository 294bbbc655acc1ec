// A policy that says no more than it must: tf32 off, implicit casts as by default, and of the skipped
// patterns only those without which the case does not fail in the same way.
#include "minimizer/reductions.h"

namespace fusesmith::minimizer {
namespace {

// The skipped patterns without [begin, end), halves first, each alone last.
void use_patterns(const Policy& policy, std::vector<Edits>& proposals) {
  const auto& skipped = policy.skip_patterns;
  const auto count = static_cast<std::ptrdiff_t>(skipped.size());
  for (std::ptrdiff_t pieces = 1; pieces < 2 * count; pieces *= 2) {
    const std::ptrdiff_t length = (count + pieces - 1) / pieces;
    for (std::ptrdiff_t begin = 0; begin < count; begin += length) {
      Policy fewer = policy;
      auto& kept = fewer.skip_patterns;
      kept.erase(kept.begin() + begin, kept.begin() + std::min(begin + length, count));
      proposals.push_back({SetPolicy{std::move(fewer)}});
    }
  }
}

std::vector<Edits> propose_simplify_policy(const Situation& now) {
  const Policy& policy = now.test_case.policy;
  const Policy simplest;
  std::vector<Edits> proposals;
  if (policy != simplest) proposals.push_back({SetPolicy{simplest}});
  for_each_field<Policy>([&](const auto& field) {
    Policy simpler = policy;
    simpler.*field.member = simplest.*field.member;
    if (simpler != policy && simpler != simplest) proposals.push_back({SetPolicy{std::move(simpler)}});
  });
  use_patterns(policy, proposals);
  return proposals;
}

}  // namespace

const Reduction kSimplifyPolicy{"simplify_policy",
                                "Set tf32 and implicit casts to defaults, skip fewer rewrite patterns.",
                                propose_simplify_policy, true};

}  // namespace fusesmith::minimizer
