// What the swaps inside a kernel prove: which of its inner values makes the difference.
#include <algorithm>

#include "fuzz/explain/causes.h"

namespace fusesmith::fuzz {

bool fails(const RegionVerdict& region) {
  return region.verdict > VerdictClass::inconclusive || region.symptom != Symptom::none;
}

bool differs_by_run(const RegionVerdict& region) {
  const bool of_one_run =
      region.symptom == Symptom::scaling_differs || region.symptom == Symptom::exchange_differs ||
      region.symptom == Symptom::depends_on_neighbours || region.symptom == Symptom::depends_on_batch;
  return is_disagreement(region) && !of_one_run;
}

const Swap* Cause::exact_swap() const {
  const auto found = std::find_if(swaps.begin(), swaps.end(), [](const Swap& swap) {
    return swap.inside_kernel && !swap.detail && swap.outputs.unequal == 0;
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

namespace {

// The inner value from which a kernel that is given it starts, so that it computes all others on another way.
constexpr std::string_view kStartedFrom = "maximum";

// What the swaps of the first value, the first two, ... say, as numbers of swaps; their count: none.
struct Turns {
  // The kernel is within its bounds with the values up to here, and with all longer rows of them.
  size_t mended;
  // The baseline's kernels are out of theirs with the values up to here.
  size_t carried;

  explicit Turns(const std::vector<const Swap*>& prefixes) : mended(prefixes.size()) {
    while (mended > 0 && !fails(*prefixes[mended - 1]->verdict)) --mended;
    const auto out = std::find_if(prefixes.begin(), prefixes.end(),
                                  [](const Swap* swap) { return fails(*swap->converse_verdict); });
    carried = static_cast<size_t>(out - prefixes.begin());
  }
};

bool all_judged(const std::vector<const Swap*>& prefixes) {
  return !prefixes.empty() && std::all_of(prefixes.begin(), prefixes.end(), [](const Swap* swap) {
    return swap->verdict && swap->converse_verdict;
  });
}

}  // namespace

const Swap* Cause::carried_alone() const {
  const std::vector<const Swap*> all = prefixes();
  if (!all_judged(all)) return nullptr;
  const Turns turns(all);
  if (turns.carried + 1 >= all.size() || turns.carried <= turns.mended) return nullptr;
  const std::string& name = all[turns.carried]->given.back();
  const auto alone = std::find_if(swaps.begin(), swaps.end(), [&](const Swap& swap) {
    return swap.inside_kernel && swap.given.size() == 1 && swap.given.front() == name;
  });
  return alone == swaps.end() ? nullptr : &*alone;
}

bool Cause::leaves_out_results() const {
  return std::any_of(swaps.begin(), swaps.end(),
                     [](const Swap& swap) { return swap.is_result && swap.not_computed > 0; });
}

std::optional<InnerCause> Cause::inner_cause() const {
  if (kind() != CauseKind::out_of_bounds || unsteady || !swaps_complete) return {};
  const std::vector<const Swap*> all = prefixes();
  if (!all_judged(all)) return {};
  const auto [mended, carried] = Turns(all);
  const size_t none = all.size();
  const auto name = [&](size_t i) { return all[i]->given.back(); };
  if (mended == none) {
    // The baseline's own elements beside the kernel's may be out of bounds: no one rounding fits them all.
    const bool right = carried == none || leaves_out_results();
    if (right && results_shown) return InnerCause{{std::string(kStore)}, false, true};
    return {};
  }
  if (carried == mended) return InnerCause{{name(mended)}};
  if (carried < mended) return InnerCause{{name(carried), name(mended)}};
  // Nothing but what is computed last, or nothing at all, carries the error.
  if (carried + 1 >= none) {
    if (!all[mended]->last_is_same && name(mended) != kStartedFrom) return {};
    return InnerCause{{name(mended)}, true};
  }
  const Swap* alone = carried_alone();
  if (alone && alone->verdict && !fails(*alone->verdict)) return InnerCause{{name(carried)}};
  return {};
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
