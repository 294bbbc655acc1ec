#include "minimizer/reductions.h"

namespace fusesmith::minimizer {
namespace {

std::vector<Edits> propose_fewer_steps(const Situation& now) {
  const int64_t steps = now.test_case.steps;
  std::vector<Edits> proposals;
  for (int64_t fewer : {int64_t{1}, int64_t{2}, steps / 4, steps / 2, steps * 3 / 4, steps - 1}) {
    if (fewer >= 1 && fewer < steps) proposals.push_back({SetSteps{fewer}});
  }
  return proposals;
}

}  // namespace

const Reduction kFewerSteps{"fewer_steps", "Run fewer steps.", propose_fewer_steps, true};

}  // namespace fusesmith::minimizer
