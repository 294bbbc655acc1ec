// The swap table of a region: the candidate's formula on one inner value at a time of the baseline's.
#include <algorithm>
#include <set>

#include "backends/inner_values.h"
#include "fuzz/base/table.h"
#include "fuzz/explain/causes.h"

namespace fusesmith::fuzz {

namespace {

using Values = std::vector<TensorPtr>;

class Swapper {
 public:
  Swapper(const RunSides& run, size_t region, std::vector<std::string>& left_out)
      : run_(run),
        index_(region),
        region_(run.candidate.plan().regions[region]),
        base_(run.baseline.trace->values),
        left_out_(left_out) {}

  std::vector<Swap> run() {
    if (region_.nodes.size() > 1) swap_nodes();
    swap_inner();
    return std::move(swaps_);
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
    swaps_.push_back({false, {name}, {}, left_of(*computed), patterns_of(*part)});
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

  // The place in dataflow order.
  static auto rank(std::string_view name) {
    return std::find(std::begin(kInnerNames), std::end(kInnerNames), name);
  }

  // Values inside kernels of both sides.
  void swap_inner() {
    const auto* candidate = dynamic_cast<const Inspectable*>(run_.candidate.program);
    const auto* baseline = dynamic_cast<const Inspectable*>(run_.baseline.program);
    if (!candidate || !baseline) {
      const Side& closed = candidate ? run_.baseline : run_.candidate;
      left_out_.push_back("values inside kernels swapped: " + std::string(closed.backend->name()) +
                          " does not show them");
      return;
    }
    const InnerValues theirs = inner_of(*baseline);
    Probe own;
    Values ignored = base_;
    candidate->run_region(index_, ignored, own);
    std::vector<std::string> names;
    for (const auto& [name, value] : own.seen) {
      const auto other = theirs.find(name);
      if (other != theirs.end() && other->second.type == value.type) names.push_back(name);
    }
    std::sort(names.begin(), names.end(), [](const auto& a, const auto& b) { return rank(a) < rank(b); });
    for (const std::string& name : names) swap_inner({name}, theirs, own.seen);
    for (size_t count = 2; count <= names.size(); ++count)
      swap_inner({names.begin(), names.begin() + static_cast<std::ptrdiff_t>(count)}, theirs, own.seen);
  }

  void swap_inner(const std::vector<std::string>& names, const InnerValues& theirs, const InnerValues& own) {
    Probe probe, converse;
    Swap swap{true, names, {}, {}, "its own kernel"};
    for (const std::string& name : names) {
      probe.given.emplace(name, theirs.at(name));
      converse.given.emplace(name, own.at(name));
      if (names.size() == 1) swap.inner = difference(theirs.at(name), own.at(name));
    }
    Values values = base_;
    dynamic_cast<const Inspectable&>(*run_.candidate.program).run_region(index_, values, probe);
    swap.outputs = left_of(values);
    swap.left = outputs_of(values);
    swap.last_is_same = probe.seen.at(names.back()) == theirs.at(names.back());
    values = base_;
    if (run_baseline(values, converse)) swap.converse = outputs_of(values);
    swaps_.push_back(std::move(swap));
  }

  Values outputs_of(const Values& values) const {
    Values outputs;
    for (ValueId v : region_.outputs) outputs.push_back(values[static_cast<size_t>(v)]);
    return outputs;
  }

  // The region's nodes by the baseline, whose kernels are given the probe's values. False where its regions
  // hold other nodes too.
  bool run_baseline(Values& values, const Probe& given) const {
    const auto& program = dynamic_cast<const Inspectable&>(*run_.baseline.program);
    size_t covered = 0;
    for (const size_t r : baseline_regions()) {
      Probe probe{given.given, {}};
      program.run_region(r, values, probe);
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

  // Of all nodes of the region on the baseline; a name that two kernels give tells nothing.
  InnerValues inner_of(const Inspectable& baseline) const {
    InnerValues all;
    std::set<std::string> twice;
    for (const size_t r : baseline_regions()) {
      Probe probe;
      Values values = base_;
      baseline.run_region(r, values, probe);
      for (auto& [name, value] : probe.seen) {
        if (!all.emplace(name, std::move(value)).second) twice.insert(name);
      }
    }
    for (const std::string& name : twice) all.erase(name);
    return all;
  }

  const RunSides& run_;
  size_t index_;
  const Region& region_;
  const Values& base_;
  std::vector<std::string>& left_out_;
  std::vector<Swap> swaps_;
};

}  // namespace

std::vector<Swap> swap_inner_values(const RunSides& run, size_t region, std::vector<std::string>& left_out) {
  return Swapper(run, region, left_out).run();
}

}  // namespace fusesmith::fuzz
