// The swap table of a region: the candidate's formula on one inner value at a time of the baseline's.
#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "backends/inner_values.h"
#include "fuzz/base/clock.h"
#include "fuzz/base/table.h"
#include "fuzz/explain/causes.h"

namespace fusesmith::fuzz {

namespace {

using Values = std::vector<TensorPtr>;

// A kernel that fails must leave the same bits in so many runs before its inner values are swapped: races and
// orders of arrival strike now and then. A slow kernel runs for as long as this, but a few times.
constexpr int kRepeats = 16, kFewRepeats = 4;
constexpr std::chrono::seconds kRepeating{2};

bool is_detail(const std::string& name, const backends::Probe& seen) {
  const bool known = std::find(std::begin(kInnerNames), std::end(kInnerNames), name) != std::end(kInnerNames);
  return !known || seen.results.contains(name);
}

class Swapper {
 public:
  Swapper(const RunSides& run, const Cause& cause, const std::function<bool()>& out_of_time,
          std::vector<std::string>& left_out)
      : run_(run),
        cause_(cause),
        fails_(fails(cause.verdict)),
        region_(run.candidate.plan().regions[cause.region]),
        base_(run.baseline.trace->values),
        out_of_time_(out_of_time),
        left_out_(left_out) {}

  SwapTable run() {
    if (region_.nodes.size() > 1) swap_nodes();
    swap_inner();
    return std::move(table_);
  }

 private:
  std::string place() const {
    return "region '" + run_.graph.nodes()[static_cast<size_t>(region_.nodes.back())].name + "'";
  }

  Difference left_of(std::span<const TensorPtr> outputs) const {
    Difference left;
    for (ValueId v : region_.outputs) {
      const auto at = static_cast<size_t>(v);
      if (base_[at] && outputs[at]) left += difference(*base_[at], *outputs[at]);
    }
    return left;
  }

  // Values of nodes: the candidate computes what is left of the region from them.
  void swap_nodes() {
    for (int n : region_.nodes) {
      const Node& node = run_.graph.nodes()[static_cast<size_t>(n)];
      const OpClass op_class = info(node.op).op_class;
      const bool leaves = std::find(region_.outputs.begin(), region_.outputs.end(), node.first_output) !=
                          region_.outputs.end();
      if (leaves || node.output_count > 1 || op_class == OpClass::movement || op_class == OpClass::source)
        continue;
      swap_node(node.name, node.first_output);
    }
  }

  void swap_node(const std::string& name, ValueId value) {
    const std::string what = "'" + name + "' of " + place() + " swapped: ";
    const auto part = subgraph_without_data(run_.graph, needed_without(value), base_);
    if (!part) return left_out_.push_back(what + "the baseline keeps indices inside a region");
    auto computed = run_part(run_.graph, *part, run_.candidate, base_, false);
    if (!computed) return left_out_.push_back(what + computed.problem());
    table_.swaps.push_back({false, {name}, {}, left_of(*computed), patterns_of(*part)});
  }

  // The region's nodes that its outputs need when `value` is given.
  std::vector<int> needed_without(ValueId value) const {
    std::set<int> needed;
    std::vector<ValueId> wanted = region_.outputs;
    while (!wanted.empty()) {
      const ValueId v = wanted.back();
      wanted.pop_back();
      const auto producer = run_.graph.producer(v);
      const bool inside =
          producer && std::find(region_.nodes.begin(), region_.nodes.end(), *producer) != region_.nodes.end();
      if (!inside || v == value || !needed.insert(*producer).second) continue;
      const Node& node = run_.graph.nodes()[static_cast<size_t>(*producer)];
      wanted.insert(wanted.end(), node.inputs.begin(), node.inputs.end());
    }
    return {needed.begin(), needed.end()};
  }

  std::string patterns_of(const Subgraph& part) const {
    const auto program = run_.candidate.backend->compile(part.graph, run_.candidate.options);
    std::vector<std::string> patterns;
    for (const Region& region : (*program)->plan().regions)
      patterns.insert(patterns.end(), region.patterns.begin(), region.patterns.end());
    return list_text(patterns, "node by node");
  }

  const Inspectable* inspectable(const Side& side) const {
    return dynamic_cast<const Inspectable*>(side.program);
  }

  // Values inside kernels of both sides.
  void swap_inner() {
    const Inspectable *candidate = inspectable(run_.candidate), *baseline = inspectable(run_.baseline);
    if (!candidate || !baseline) {
      const Side& closed = candidate ? run_.baseline : run_.candidate;
      left_out_.push_back("values inside kernels swapped: " + std::string(closed.backend->name()) +
                          " does not show them");
      return;
    }
    table_.unsteady = fails_ && !is_steady(*candidate);
    if (table_.unsteady) {
      left_out_.push_back("values inside kernels of " + place() +
                          " swapped: it gives other bits when it runs again on the same inputs");
      return;
    }
    backends::Probe theirs{.everything = fails_}, own{.everything = fails_};
    const auto results = look_at_baseline(theirs);
    Values ignored = base_;
    candidate->run_region(cause_.region, ignored, own);
    const std::vector<std::string> names = shown_by_both(theirs, own);
    table_.results_shown = std::all_of(region_.outputs.begin(), region_.outputs.end(), [&](ValueId v) {
      const auto result = results.find(computed_by(v));
      return result != results.end() && std::find(names.begin(), names.end(), result->second) != names.end();
    });
    for (const std::string& name : names) swap_inner({name}, theirs, own);
    for (size_t count = 2; count <= names.size(); ++count)
      swap_inner({names.begin(), names.begin() + static_cast<std::ptrdiff_t>(count)}, theirs, own);
  }

  // Whether the region alone leaves, again and again, what the cause is about.
  bool is_steady(const Inspectable& candidate) const {
    const Clock::time_point enough = Clock::now() + kRepeating;
    for (int i = 0; i < kRepeats && !out_of_time_(); ++i) {
      if (i >= kFewRepeats && Clock::now() > enough) break;
      backends::Probe probe;
      Values values = base_;
      candidate.run_region(cause_.region, values, probe);
      for (size_t o = 0; o < region_.outputs.size(); ++o) {
        if (!(*values[static_cast<size_t>(region_.outputs[o])] == *cause_.left[o])) return false;
      }
    }
    return true;
  }

  // Runs all nodes of the region on the baseline, in graph order. Returns what those that show their result
  // call it.
  std::map<int, std::string> look_at_baseline(backends::Probe& probe) const {
    Values values = base_;
    std::map<int, std::string> results;
    for (const size_t r : baseline_regions()) {
      const size_t before = probe.order.size();
      inspectable(run_.baseline)->run_region(r, values, probe);
      for (size_t i = before; i < probe.order.size(); ++i) {
        if (probe.results.contains(probe.order[i]))
          results[run_.baseline.plan().regions[r].nodes.back()] = probe.order[i];
      }
    }
    return results;
  }

  // The node of the region that computes the value, past those that only move it; -1: none.
  int computed_by(ValueId v) const {
    const auto producer = run_.graph.producer(v);
    const bool inside = producer && std::binary_search(region_.nodes.begin(), region_.nodes.end(), *producer);
    if (!inside) return -1;
    const Node& node = run_.graph.nodes()[static_cast<size_t>(*producer)];
    if (info(node.op).op_class != OpClass::movement || node.inputs.size() != 1) return *producer;
    const int before = computed_by(node.inputs[0]);
    return before < 0 ? *producer : before;
  }

  // In dataflow order.
  static std::vector<std::string> shown_by_both(const backends::Probe& theirs, const backends::Probe& own) {
    std::vector<std::string> order = theirs.order, names;
    for (const auto& [name, value] : theirs.seen) {
      if (std::find(order.begin(), order.end(), name) == order.end()) order.push_back(name);
    }
    for (const std::string& name : order) {
      const auto found = own.seen.find(name);
      if (found != own.seen.end() && found->second.type == theirs.seen.at(name).type) names.push_back(name);
    }
    return names;
  }

  void swap_inner(const std::vector<std::string>& names, const backends::Probe& theirs,
                  const backends::Probe& own) {
    if (out_of_time_()) {
      if (table_.complete)
        left_out_.push_back("values inside kernels of " + place() + " swapped: no time was left");
      table_.complete = false;
      return;
    }
    backends::Probe probe{.everything = fails_}, converse{.everything = fails_};
    Swap swap{true, names, {}, {}, "its own kernel"};
    for (const std::string& name : names) {
      const Tensor &given = theirs.seen.at(name), &seen = own.seen.at(name);
      probe.given.emplace(name, given);
      converse.given.emplace(name, seen);
      swap.detail = swap.detail || is_detail(name, theirs);
      if (names.size() > 1) continue;
      swap.is_result = theirs.results.contains(name);
      compare(given, seen, swap);
    }
    Values values = base_;
    inspectable(run_.candidate)->run_region(cause_.region, values, probe);
    swap.outputs = left_of(values);
    swap.left = outputs_of(values);
    swap.last_is_same = probe.seen.at(names.back()) == theirs.seen.at(names.back());
    values = base_;
    if (run_baseline(values, converse)) swap.converse = outputs_of(values);
    table_.swaps.push_back(std::move(swap));
  }

  // Elements that the kernel never computes do not differ; they are counted.
  static void compare(const Tensor& given, const Tensor& seen, Swap& swap) {
    Tensor own = seen;
    const std::span<float> x = own.as<float>();
    for (size_t i = 0; i < x.size(); ++i) {
      if (is_computed(x[i])) continue;
      x[i] = given.as<float>()[i];
      ++swap.not_computed;
    }
    swap.inner = difference(given, own);
  }

  Values outputs_of(const Values& values) const {
    Values outputs;
    for (ValueId v : region_.outputs) outputs.push_back(values[static_cast<size_t>(v)]);
    return outputs;
  }

  // The region's nodes by the baseline, whose kernels are given the probe's values. False where its regions
  // hold other nodes too.
  bool run_baseline(Values& values, backends::Probe& probe) const {
    size_t covered = 0;
    for (const size_t r : baseline_regions()) {
      inspectable(run_.baseline)->run_region(r, values, probe);
      covered += run_.baseline.plan().regions[r].nodes.size();
    }
    return covered == region_.nodes.size();
  }

  // Those that compute nothing but nodes of the region.
  std::vector<size_t> baseline_regions() const {
    std::vector<size_t> inside;
    const auto& regions = run_.baseline.plan().regions;
    for (size_t r = 0; r < regions.size(); ++r) {
      const auto& nodes = regions[r].nodes;
      if (std::includes(region_.nodes.begin(), region_.nodes.end(), nodes.begin(), nodes.end()))
        inside.push_back(r);
    }
    return inside;
  }

  const RunSides& run_;
  const Cause& cause_;
  bool fails_;
  const Region& region_;
  const Values& base_;
  const std::function<bool()>& out_of_time_;
  std::vector<std::string>& left_out_;
  SwapTable table_;
};

}  // namespace

SwapTable swap_inner_values(const RunSides& run, const Cause& cause, const std::function<bool()>& out_of_time,
                            std::vector<std::string>& left_out) {
  return Swapper(run, cause, out_of_time, left_out).run();
}

}  // namespace fusesmith::fuzz
