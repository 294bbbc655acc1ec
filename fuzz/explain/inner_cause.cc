// What the swaps inside a kernel prove: which of its inner values makes the difference.
#include <algorithm>

#include "fuzz/explain/causes.h"

namespace fusesmith::fuzz {

bool fails(const RegionVerdict& region) {
  return region.verdict > VerdictClass::inconclusive || region.symptom != Symptom::none;
}

const Swap* Cause::exact_swap() const {
  const auto found = std::find_if(swaps.begin(), swaps.end(), [](const Swap& swap) {
    return swap.inside_kernel && swap.outputs.unequal == 0;
  });
  return found == swaps.end() ? nullptr : &*found;
}

// The swaps of the first value inside the kernel, the first two, three, ...
std::vector<const Swap*> Cause::prefixes() const {
  std::vector<const Swap*> found;
  for (const Swap& swap : swaps) {
    if (swap.inside_kernel && swap.given.size() == found.size() + 1) found.push_back(&swap);
  }
  return found;
}

std::optional<InnerCause> Cause::inner_cause() const {
  if (kind() != CauseKind::out_of_bounds) return {};
  const std::vector<const Swap*> all = prefixes();
  const auto both_judged = [](const Swap* swap) { return swap->verdict && swap->converse_verdict; };
  if (!std::all_of(all.begin(), all.end(), both_judged)) return {};
  const auto mended =
      std::find_if(all.begin(), all.end(), [](const Swap* swap) { return !fails(*swap->verdict); });
  const auto carried =
      std::find_if(all.begin(), all.end(), [](const Swap* swap) { return fails(*swap->converse_verdict); });
  if (mended == all.end()) return {};
  const std::string& last = (*mended)->given.back();
  if (carried == all.end() && (*mended)->last_is_same) return InnerCause{{last}, true};
  if (carried > mended) return {};
  if (carried == mended) return InnerCause{{last}};
  return InnerCause{{(*carried)->given.back(), last}};
}

std::vector<std::string> Cause::ruled_out() const {
  const std::vector<const Swap*> all = prefixes();
  const bool none = kind() == CauseKind::out_of_bounds && !all.empty() && all.back()->verdict &&
                    fails(*all.back()->verdict);
  return none ? all.back()->given : std::vector<std::string>();
}

std::optional<CauseKind> Cause::kind() const {
  if (!verdict.deviations.empty()) return CauseKind::rounding;
  if (fails(verdict)) return CauseKind::out_of_bounds;
  if (baseline_fails) return CauseKind::baseline;
  if (!swapped) return {};
  return exact_swap() ? CauseKind::inner_value : CauseKind::order;
}

}  // namespace fusesmith::fuzz
