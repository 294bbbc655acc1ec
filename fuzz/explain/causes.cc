#include "fuzz/explain/causes.h"

#include <algorithm>
#include <cmath>

#include "fuzz/report/verdict_text.h"

namespace fusesmith::fuzz {

namespace {

using Values = std::vector<TensorPtr>;

const TensorPtr& at(std::span<const TensorPtr> values, ValueId v) { return values[static_cast<size_t>(v)]; }
bool same_bits(const TensorPtr& a, const TensorPtr& b) { return a && b && (a == b || *a == *b); }

double rms(const Tensor& tensor) {
  if (!is_float(tensor.type.dtype)) return 0;
  double squares = 0;
  for (double x : to_f64(tensor)) squares += std::isfinite(x) ? x * x : 0;
  return std::sqrt(squares / static_cast<double>(std::max<int64_t>(1, tensor.size())));
}

double ratio(double a, double b) { return b == 0 ? 0 : a / b; }

// Of one element; where there is no number for it, 1.
double apart(double from, double to) {
  if (from == to || (std::isnan(from) && std::isnan(to))) return 0;
  return std::isfinite(to - from) ? to - from : 1;
}

class CauseFinder {
 public:
  CauseFinder(const RunSides& run, const Verdict& verdict, const std::function<bool()>& out_of_time,
              Causes& found)
      : run_(run),
        verdict_(verdict),
        out_of_time_(out_of_time),
        base_(run.baseline.trace->values),
        found_(found) {}

  void find() {
    compare_outputs();
    for (const size_t region : order()) inject(region);
    for (Cause& cause : found_.causes) follow(cause);
    take_shares();
    for (Cause& cause : found_.causes) {
      if (out_of_time_()) {
        left_out("the swap table of", cause.region, "no time was left");
        continue;
      }
      if (differs_by_run(cause.verdict)) {
        left_out("the swap table of", cause.region, "it does not leave the same in every run");
        continue;
      }
      SwapTable table = swap_inner_values(run_, cause, out_of_time_, found_.left_out);
      cause.swaps = std::move(table.swaps);
      cause.swaps_complete = table.complete;
      cause.results_shown = table.results_shown;
      cause.unsteady = table.unsteady;
      cause.swapped = true;
    }
  }

 private:
  const std::vector<Region>& regions() const { return run_.candidate.plan().regions; }
  const std::string& name_of(size_t region) const { return verdict_.candidate.regions[region].name; }

  // Rewritten regions first: where time runs out, they are the ones to know about.
  std::vector<size_t> order() const {
    std::vector<size_t> order(regions().size());
    for (size_t r = 0; r < order.size(); ++r) order[r] = r;
    std::stable_partition(order.begin(), order.end(),
                          [&](size_t r) { return !regions()[r].patterns.empty(); });
    return order;
  }

  // One of the two experiments without which the shares are not of all that makes the difference.
  void not_measured(const char* what, size_t region, const std::string& why) {
    all_measured_ = false;
    left_out(what, region, why);
  }

  void left_out(const char* what, size_t region, const std::string& why) {
    found_.left_out.push_back(std::string(what) + " region '" + name_of(region) + "': " + why);
  }

  void compare_outputs() {
    for (ValueId v : run_.graph.outputs()) {
      const Tensor &a = *at(base_, v), &b = *at(run_.candidate.trace->values, v);
      found_.outputs += difference(a, b);
      std::vector<double> run = to_f64(b);
      const std::vector<double> from = to_f64(a);
      for (size_t i = 0; i < run.size(); ++i) {
        run[i] = apart(from[i], run[i]);
        final_squares_ += run[i] * run[i];
      }
      final_.push_back(std::move(run));
    }
  }

  // Whether the region got, in the run, the baseline's values.
  bool had_inputs_of_baseline(size_t r) const {
    const std::vector<ValueId>& inputs = regions()[r].inputs;
    return std::all_of(inputs.begin(), inputs.end(), [&](ValueId v) {
      return same_bits(at(base_, v), at(run_.candidate.trace->values, v));
    });
  }

  // The region's outputs on the baseline's inputs, by ValueId; nothing where they cannot be had.
  std::optional<Values> outputs_of(size_t r) {
    constexpr const char* kWhat = "the error of";
    if (had_inputs_of_baseline(r)) return run_.candidate.trace->values;
    if (out_of_time_()) {
      not_measured(kWhat, r, "no time was left");
      return {};
    }
    const Region& region = regions()[r];
    const auto part = subgraph_without_data(run_.graph, region.nodes, base_);
    if (!part) {
      not_measured(kWhat, r, "the baseline keeps its indices inside a region");
      return {};
    }
    auto computed = run_part(run_.graph, *part, run_.candidate, base_, true);
    if (!computed) {
      not_measured(kWhat, r, computed.problem());
      return {};
    }
    return std::move(*computed);
  }

  void inject(size_t r) {
    const auto outputs = outputs_of(r);
    if (!outputs) return;
    Cause cause;
    cause.region = r;
    for (ValueId v : regions()[r].outputs) {
      if (!at(base_, v))
        return not_measured("the error of", r, "the baseline keeps its output inside a region");
      cause.injected += difference(*at(base_, v), *at(*outputs, v));
      cause.left.push_back(at(*outputs, v));
    }
    if (cause.injected.unequal == 0) return;
    cause.verdict = verdict_.candidate.regions[r];
    cause.baseline_fails = baseline_fails(r);
    cause.judged = had_inputs_of_baseline(r) && !is_disagreement(cause.verdict);
    found_.causes.push_back(std::move(cause));
  }

  bool baseline_fails(size_t r) const {
    const std::vector<int>& nodes = regions()[r].nodes;
    const auto& theirs = run_.baseline.plan().regions;
    for (size_t b = 0; b < theirs.size(); ++b) {
      const bool shared = std::any_of(theirs[b].nodes.begin(), theirs[b].nodes.end(), [&](int n) {
        return std::binary_search(nodes.begin(), nodes.end(), n);
      });
      if (shared && fails(verdict_.baseline.regions[b])) return true;
    }
    return false;
  }

  // What the baseline makes of the region's outputs.
  void follow(Cause& cause) {
    constexpr const char* kWhat = "what follows from";
    const Region& region = regions()[cause.region];
    Values changed = base_;  // the baseline's, with what the region makes of its inputs there
    for (size_t i = 0; i < region.outputs.size(); ++i)
      changed[static_cast<size_t>(region.outputs[i])] = cause.left[i];
    std::vector<int> nodes = nodes_after(run_.graph, region.outputs);
    std::erase_if(nodes,
                  [&](int n) { return std::binary_search(region.nodes.begin(), region.nodes.end(), n); });
    if (!nodes.empty()) {
      if (out_of_time_()) return not_measured(kWhat, cause.region, "no time was left");
      const auto part = subgraph_without_data(run_.graph, nodes, changed);
      if (!part) return not_measured(kWhat, cause.region, "the baseline keeps indices inside a region");
      auto computed = run_part(run_.graph, *part, run_.baseline, changed, true);
      if (!computed) return not_measured(kWhat, cause.region, computed.problem());
      for (size_t v = 0; v < changed.size(); ++v) {
        if ((*computed)[v]) changed[v] = std::move((*computed)[v]);
      }
    }
    measure(cause, changed);
    spread(cause, changed, nodes);
  }

  void take_shares() {
    double together = 0;
    for (const Cause& cause : found_.causes) together += cause.share.value_or(0);
    if (all_measured_) {
      found_.together = together;
      for (Cause& cause : found_.causes) cause.share = ratio(*cause.share, together);
    }
    // Nothing is known of what was not measured: it comes last, as it came.
    std::stable_sort(found_.causes.begin(), found_.causes.end(), [](const Cause& a, const Cause& b) {
      return a.share && (!b.share || *a.share > *b.share);
    });
  }

  void measure(Cause& cause, const Values& changed) const {
    double along = 0;
    Difference outputs;
    for (size_t o = 0; o < final_.size(); ++o) {
      const ValueId v = run_.graph.outputs()[o];
      if (at(changed, v) == at(base_, v)) {
        outputs.elements += at(base_, v)->size();
        continue;
      }
      outputs += difference(*at(base_, v), *at(changed, v));
      const std::vector<double> from = to_f64(*at(base_, v)), to = to_f64(*at(changed, v));
      for (size_t i = 0; i < from.size(); ++i) along += apart(from[i], to[i]) * final_[o][i];
    }
    cause.outputs = outputs;
    cause.gain = ratio(outputs.rms(), cause.injected.rms());
    cause.share = ratio(along, final_squares_);  // of their sum, once all are known
  }

  void spread(Cause& cause, const Values& changed, const std::vector<int>& nodes) const {
    std::vector<double> relative(base_.size(), 0);
    const auto look = [&](ValueId v) {
      const Difference found = difference(*at(base_, v), *at(changed, v));
      relative[static_cast<size_t>(v)] = ratio(found.rms(), rms(*at(base_, v)));
      return found;
    };
    for (ValueId v : regions()[cause.region].outputs) look(v);
    for (const Region& region : run_.baseline.plan().regions) {
      if (!std::binary_search(nodes.begin(), nodes.end(), region.nodes.back())) continue;
      double before = 0, here = 0;
      for (ValueId v : region.inputs) before = std::max(before, relative[static_cast<size_t>(v)]);
      if (before == 0) continue;
      SpreadStep step;
      for (ValueId v : region.outputs) {
        step.difference += look(v);
        here = std::max(here, relative[static_cast<size_t>(v)]);
      }
      const Node& last = run_.graph.nodes()[static_cast<size_t>(region.nodes.back())];
      if (info(last.op).op_class == OpClass::movement) continue;
      step.value = last.name;
      step.op = std::string(name(last.op));
      step.dtype = run_.graph.type(last.first_output).dtype;
      step.relative = here;
      step.growth = ratio(here, before);
      cause.spread.push_back(std::move(step));
    }
  }

  const RunSides& run_;
  const Verdict& verdict_;
  const std::function<bool()>& out_of_time_;
  const Values& base_;
  std::vector<std::vector<double>> final_;  // of each graph output: candidate - baseline
  double final_squares_ = 0;
  bool all_measured_ = true;
  Causes& found_;
};

}  // namespace

void find_causes(const RunSides& run, const Verdict& verdict, const std::function<bool()>& out_of_time,
                 Causes& found) {
  CauseFinder(run, verdict, out_of_time, found).find();
}

}  // namespace fusesmith::fuzz
