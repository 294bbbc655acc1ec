#include "fuzz/run/cut.h"

#include <algorithm>

namespace fusesmith::fuzz {

namespace {

class Cutter {
 public:
  Cutter(const Graph& graph, const std::set<int>& nodes, std::span<const TensorPtr> values)
      : graph_(graph), nodes_(nodes), values_(values), ids_(static_cast<size_t>(graph.value_count()), -1) {}

  std::optional<Cut> run() {
    for (int n : nodes_) {
      for (ValueId v : node(n).inputs) {
        if (!is_made(v) && !add_input(v)) return std::nullopt;
      }
    }
    for (int n : nodes_) {
      std::vector<ValueId> inputs;
      for (ValueId v : node(n).inputs) inputs.push_back(ids_[static_cast<size_t>(v)]);
      const ValueId first = builder_.node(node(n).op, std::move(inputs), node(n).name);
      for (int i = 0; i < node(n).output_count; ++i) map(node(n).first_output + i, first + i);
      cut_.nodes.push_back(n);
    }
    observe();
    auto graph = builder_.build();
    if (!graph) return std::nullopt;
    cut_.graph = std::move(*graph);
    return std::move(cut_);
  }

 private:
  const Node& node(int n) const { return graph_.nodes()[static_cast<size_t>(n)]; }

  bool is_made(ValueId v) const {
    const auto producer = graph_.producer(v);
    return producer && nodes_.contains(*producer);
  }

  void map(ValueId whole, ValueId own) {
    ids_[static_cast<size_t>(whole)] = own;
    cut_.in_whole.push_back(whole);
  }

  bool add_input(ValueId v) {
    if (ids_[static_cast<size_t>(v)] >= 0) return true;
    Fill fill = Constant{0};  // never drawn
    if (graph_.is_input(v)) {
      fill = graph_.inputs()[static_cast<size_t>(v)].fill;
    } else if (graph_.type(v).dtype == Dtype::i32) {
      if (!values_[static_cast<size_t>(v)]) return false;
      fill = literal_of(*values_[static_cast<size_t>(v)]);
    }
    map(v, builder_.input(graph_.name(v), graph_.type(v), std::move(fill)));
    return true;
  }

  void observe() {
    const Region region = make_region(graph_, {nodes_.begin(), nodes_.end()});
    for (ValueId v : region.outputs) builder_.output(ids_[static_cast<size_t>(v)]);
  }

  const Graph& graph_;
  const std::set<int>& nodes_;
  std::span<const TensorPtr> values_;
  Builder builder_;
  std::vector<ValueId> ids_;  // by ValueId of the whole graph, -1: not in the cut
  Cut cut_;
};

// Whether each region of the cut is one of the whole graph, formed by the same patterns.
bool has_regions_of(const Plan& whole, const Cut& cut, const Plan& plan) {
  return std::all_of(plan.regions.begin(), plan.regions.end(), [&](const Region& region) {
    std::vector<int> nodes;
    for (int n : region.nodes) nodes.push_back(cut.nodes[static_cast<size_t>(n)]);
    return std::any_of(whole.regions.begin(), whole.regions.end(), [&](const Region& other) {
      return other.nodes == nodes && other.patterns == region.patterns;
    });
  });
}

}  // namespace

std::optional<Cut> cut(const Graph& graph, const std::set<int>& nodes, std::span<const TensorPtr> values) {
  return Cutter(graph, nodes, values).run();
}

std::set<int> nodes_after(const Graph& graph, std::span<const ValueId> values) {
  std::vector<bool> reached(static_cast<size_t>(graph.value_count()), false);
  for (ValueId v : values) reached[static_cast<size_t>(v)] = true;
  std::set<int> after;
  for (int n = 0; n < static_cast<int>(graph.nodes().size()); ++n) {
    const Node& node = graph.nodes()[static_cast<size_t>(n)];
    if (std::none_of(node.inputs.begin(), node.inputs.end(),
                     [&](ValueId v) { return reached[static_cast<size_t>(v)]; }))
      continue;
    after.insert(n);
    for (int i = 0; i < node.output_count; ++i) reached[static_cast<size_t>(node.first_output + i)] = true;
  }
  return after;
}

Result<std::vector<TensorPtr>> run_cut(const Graph& whole, const Cut& cut, const Side& side,
                                       std::span<const TensorPtr> values, bool as_planned) {
  auto program = side.backend->compile(cut.graph, side.options);
  if (!program) return Problem{program.problem()};
  const std::string name(side.backend->name());
  if (as_planned && !has_regions_of(side.plan(), cut, (*program)->plan()))
    return Problem{name + " plans these nodes otherwise when they stand alone"};
  std::vector<TensorPtr> inputs;
  for (size_t i = 0; i < cut.graph.inputs().size(); ++i) {
    inputs.push_back(values[static_cast<size_t>(cut.in_whole[i])]);
    if (!inputs.back()) return Problem{name + " keeps '" + whole.name(cut.in_whole[i]) + "' inside a region"};
  }
  const Trace trace = (*program)->run(inputs);
  std::vector<TensorPtr> computed(static_cast<size_t>(whole.value_count()));
  for (size_t v = inputs.size(); v < trace.values.size(); ++v)
    computed[static_cast<size_t>(cut.in_whole[v])] = trace.values[v];
  return computed;
}

}  // namespace fusesmith::fuzz
