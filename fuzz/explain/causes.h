// Causes: experiments that measure which regions of the candidate make the difference of a run. Each region
// runs on the baseline's values, which shows the difference that it makes itself. The baseline then computes
// everything after it from these outputs, which shows the resulting difference at the graph outputs.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "fuzz/run/difference.h"
#include "fuzz/run/side.h"
#include "oracle/region_judge.h"

namespace fusesmith::fuzz {

// A value after the region, computed by the baseline.
struct SpreadStep {
  std::string value;  // the last output of a region of the baseline
  std::string op;
  Dtype dtype = Dtype::f32;
  Difference difference;
  double relative = 0;  // rms of the difference / rms of the value
  double growth = 0;    // relative / the largest `relative` among what it was computed from
};

// The region again, with some of its inner values taken from the baseline instead.
struct Swap {
  bool inside_kernel = false;      // values inside one kernel, which itself goes on from them
  std::vector<std::string> given;  // nodes of the region, or values inside one kernel ("mean")
  // One value inside a kernel: how far the candidate's own are from those given.
  std::optional<Difference> inner;
  Difference outputs;  // what is left: the region's outputs against the baseline's
  // What computed the rest: patterns, "node by node", or "its own kernel".
  std::string rest;

  // Only of values inside a kernel: the outputs, and those of the baseline's kernels given the candidate's
  // values of these names, each in the region's order; what the judge says of either, empty if not judged.
  std::vector<TensorPtr> left = {}, converse = {};
  std::optional<RegionVerdict> verdict = {}, converse_verdict = {};
  // Whether the kernel, given all values but the last, computes the last one as the baseline does.
  bool last_is_same = false;
  // Whether one of the values is an operand or a result of a node, which only a region that fails shows.
  bool detail = false;
  bool is_result = false;    // one value, which is what a node of the graph leaves
  int64_t not_computed = 0;  // of one value: elements that the candidate's kernel never computes
};

// The swaps of one region.
struct SwapTable {
  std::vector<Swap> swaps = {};
  bool complete = true;        // whether all values inside the kernel were swapped
  bool results_shown = false;  // whether these include all that the region stores
  bool unsteady = false;       // the region alone does not leave again what it left before
};

// An error inside a kernel, traced to inner values by swaps in both directions.
struct InnerCause {
  std::vector<std::string> names;
  // The error is in how the kernel gets to this value, or goes on from it, and giving it avoids that.
  bool on_the_way = false;
  // All values come out right, those of the outputs too; the error is in what is stored. `names` is kStore.
  bool in_store = false;
};
inline constexpr std::string_view kStore = "store";

// The kinds of causes that the experiments distinguish.
enum class CauseKind : uint8_t {
  out_of_bounds,  // no correct execution gives these outputs, whatever roundings it drops or moves
  rounding,       // roundings were left out, moved or added
  inner_value,    // with inner values of the baseline, its kernel gives the baseline's bits
  order,          // none of these: the region uses another order of operations
  baseline,       // the baseline's regions of these nodes fail, not this one
};
inline constexpr std::string_view kCauseKinds[] = {"out_of_bounds", "rounding", "inner_value", "order",
                                                   "baseline"};
inline std::string_view name(CauseKind kind) { return kCauseKinds[static_cast<size_t>(kind)]; }

// Whether the region is a finding by itself.
bool fails(const RegionVerdict& region);
// Whether it failed as another run on the same inputs left other bits, or wrote elsewhere: a run with other
// inner values then says nothing about the first.
bool differs_by_run(const RegionVerdict& region);

struct Cause {
  size_t region = 0;  // in the candidate's plan
  // Error as a share of its bound, roundings left out: on the baseline's inputs once it is `judged`, before
  // that the run's, on the inputs that the region got there.
  RegionVerdict verdict;
  bool judged = false;
  std::vector<TensorPtr> left;  // outputs on the baseline's inputs, in the region's order
  Difference injected;          // they against the baseline's
  // What follows; empty where it was not measured. The graph's outputs, everything after the region computed
  // by the baseline.
  std::optional<Difference> outputs;
  std::optional<double> gain;  // rms of `outputs` / rms of `injected`
  // Of the run's difference at the outputs: the length of `outputs` along that difference, as a part of the
  // sum over all causes if every region was measured, else as a part of the run's.
  std::optional<double> share;
  std::vector<SpreadStep> spread;  // in order, moved values left out; what it never reaches is not there
  // Of nodes; then of single values inside its kernel, in dataflow order; then of the first two, three, ...
  // of these at once.
  std::vector<Swap> swaps;
  bool swapped = false;        // whether the swaps were made
  bool swaps_complete = true;  // SwapTable::complete, results_shown, unsteady
  bool results_shown = false;
  bool unsteady = false;
  bool baseline_fails = false;  // whether a region of the baseline that computes one of its nodes does

  // Empty where only swaps, which were not made, could say.
  std::optional<CauseKind> kind() const;
  // The first swap inside its kernel with which the outputs are the baseline's, bit for bit; null: none.
  // (With a swap of nodes they may be so because another kernel computes the rest: that shows nothing.)
  const Swap* exact_swap() const;
  // Of a region out of bounds, by the swaps that were judged. A value is named where the kernel is within its
  // bounds with it and those before it taken from the baseline, and not with fewer; and the baseline's
  // kernels leave the bounds with the candidate's values up to there. Otherwise nothing.
  std::optional<InnerCause> inner_cause() const;
  // The swap of the first value alone with which the baseline's kernels leave the bounds, if values before it
  // already help the kernel: it must help alone, too.
  const Swap* carried_alone() const;
  // Whether there are results that its kernel never computes.
  bool leaves_out_results() const;
  // Of a region out of bounds: the inner values that, all taken from the baseline, do not change that.
  std::vector<std::string> ruled_out() const;

 private:
  std::vector<const Swap*> prefixes() const;
};

struct Causes {
  Difference outputs;         // the run's: all graph outputs
  std::vector<Cause> causes;  // the largest share first; regions that inject nothing are not there
  // That sum, in lengths of the run's difference: 1 where differences add up; more where each alone turns
  // roundings that they turn only once together. Empty where a region was not measured.
  std::optional<double> together;
  std::vector<std::string> left_out;  // experiments that were not made, and why
};

struct RunSides {
  const Graph& graph;
  Side baseline, candidate;
};

// By running kernels and comparing bits alone, in this order: what every region injects (rewritten regions
// first), what follows from each, the swap tables (the largest share first). `out_of_time` is asked before
// each experiment. `verdict` is of the run. What throws (memory) leaves in `found` what is known by then.
void find_causes(const RunSides& run, const Verdict& verdict, const std::function<bool()>& out_of_time,
                 Causes& found);

// Then the regions that make a difference against the reference, on the baseline's values: the largest share
// first, and no region that got those very values in the run. Of a region out of bounds also what the swaps
// inside its kernel left.
void judge_causes(const RunSides& run, const RegionJudgeOptions& options,
                  const std::function<bool()>& out_of_time, Causes& causes);

// The swap table of the region of a cause; reasons for missing rows go to `left_out`. Of a region that fails
// also operands and results of its nodes are swapped, if it leaves the same bits again.
SwapTable swap_inner_values(const RunSides& run, const Cause& cause, const std::function<bool()>& out_of_time,
                            std::vector<std::string>& left_out);

}  // namespace fusesmith::fuzz
