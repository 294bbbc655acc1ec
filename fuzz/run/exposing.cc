#include "fuzz/run/exposing.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

#include "backends/remote/worker_names.h"
#include "graph/rebuild.h"
#include "graph/subgraph.h"
#include "oracle/reference.h"

namespace fusesmith::fuzz {

namespace {

const Node& node_of(const Graph& graph, int n) { return graph.nodes()[static_cast<size_t>(n)]; }

// Sets of nodes that are joined step by step.
class Groups {
 public:
  explicit Groups(size_t nodes) : parent_(nodes) { std::iota(parent_.begin(), parent_.end(), 0); }

  int of(int node) {
    auto& parent = parent_[static_cast<size_t>(node)];
    return parent == node ? node : parent = of(parent);
  }
  void join(int a, int b) { parent_[static_cast<size_t>(std::max(of(a), of(b)))] = std::min(of(a), of(b)); }

 private:
  std::vector<int> parent_;
};

using Cut = std::vector<bool>;  // by ValueId: whether regions may part at this value

Cut observed_values(const Graph& graph) {
  Cut cut(static_cast<size_t>(graph.value_count()));
  for (ValueId v = 0; v < graph.value_count(); ++v) cut[static_cast<size_t>(v)] = graph.is_observed(v);
  return cut;
}

Groups groups_at(const Graph& graph, const std::vector<std::vector<int>>& consumers, const Cut& cut) {
  Groups groups(graph.nodes().size());
  for (ValueId v = graph.source_count(); v < graph.value_count(); ++v) {
    if (cut[static_cast<size_t>(v)]) continue;
    for (const int reader : consumers[static_cast<size_t>(v)]) groups.join(*graph.producer(v), reader);
  }
  return groups;
}

using Edges = std::map<int, std::set<int>>;  // from a group to those that read its values

Edges edges_between(const Graph& graph, const std::vector<std::vector<int>>& consumers, Groups& groups) {
  Edges edges;
  for (int n = 0; n < static_cast<int>(graph.nodes().size()); ++n) edges[groups.of(n)];
  for (ValueId v = graph.source_count(); v < graph.value_count(); ++v) {
    const int from = groups.of(*graph.producer(v));
    for (const int reader : consumers[static_cast<size_t>(v)]) {
      if (groups.of(reader) != from) edges[from].insert(groups.of(reader));
    }
  }
  return edges;
}

Edges reversed(const Edges& edges) {
  Edges back;
  for (const auto& [from, targets] : edges) {
    back[from];
    for (const int to : targets) back[to].insert(from);
  }
  return back;
}

// The groups in an order in which they can run, of those that are ready the one of the earliest node first.
// What is left out lies on a cycle or behind one.
std::vector<int> order_of(const Edges& edges) {
  std::map<int, size_t> waits_for;
  for (const auto& [group, sources] : reversed(edges)) waits_for[group] = sources.size();
  std::set<int> ready;
  for (const auto& [group, count] : waits_for) {
    if (count == 0) ready.insert(group);
  }
  std::vector<int> order;
  while (!ready.empty()) {
    const int group = *ready.begin();
    ready.erase(ready.begin());
    order.push_back(group);
    for (const int to : edges.at(group)) {
      if (--waits_for[to] == 0) ready.insert(to);
    }
  }
  return order;
}

// Groups that can run neither before nor after all others lie on or between cycles: they become one.
std::vector<std::vector<int>> regions_at(const Graph& graph, const Cut& cut) {
  const auto consumers = graph.consumers();
  Groups groups = groups_at(graph, consumers, cut);
  Edges edges = edges_between(graph, consumers, groups);
  std::vector<int> order = order_of(edges);
  if (order.size() < edges.size()) {
    std::set<int> cyclic;
    for (const auto& [group, targets] : edges) cyclic.insert(group);
    for (const int group : order) cyclic.erase(group);
    for (const int group : order_of(reversed(edges))) cyclic.erase(group);
    for (const int group : cyclic) groups.join(*cyclic.begin(), group);
    edges = edges_between(graph, consumers, groups);
    order = order_of(edges);
  }
  std::map<int, std::vector<int>> nodes;
  for (int n = 0; n < static_cast<int>(graph.nodes().size()); ++n) nodes[groups.of(n)].push_back(n);
  std::vector<std::vector<int>> regions;
  for (const int group : order) regions.push_back(std::move(nodes[group]));
  return regions;
}

// Whether a float value was rounded anywhere on its way from the sources: it may then be handed on unrounded.
bool is_rounded(const Graph& graph, ValueId value) {
  const auto producer = graph.producer(value);
  if (!producer || !is_float(graph.type(value).dtype)) return false;
  const Node& node = node_of(graph, *producer);
  return oracle::computes(node.op) ||
         std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId v) { return is_rounded(graph, v); });
}

bool is_narrowing_cast(const Graph& graph, ValueId value) {
  const Node& node = node_of(graph, *graph.producer(value));
  return std::holds_alternative<Cast>(node.op) && is_narrow(graph.type(value).dtype) &&
         graph.type(node.inputs[0]).dtype != graph.type(value).dtype;
}

bool is_worth_exposing(const Graph& graph, ValueId value, const std::vector<int>& readers) {
  if (readers.empty() || graph.is_observed(value) || is_narrowing_cast(graph, value)) return false;
  if (std::set<int>(readers.begin(), readers.end()).size() > 1) return true;
  const OpClass op_class = info(node_of(graph, *graph.producer(value)).op).op_class;
  return op_class == OpClass::product || op_class == OpClass::reduction || op_class == OpClass::composite;
}

// The smaller, the more evenly the nodes are divided.
size_t unevenness(const Graph& graph, const Cut& cut) {
  size_t sum = 0;
  for (const std::vector<int>& nodes : regions_at(graph, cut)) sum += nodes.size() * nodes.size();
  return sum;
}

// Removes the value without which the regions stay smallest.
void remove_one(const Graph& graph, std::vector<ValueId>& values) {
  Cut cut = observed_values(graph);
  for (const ValueId v : values) cut[static_cast<size_t>(v)] = true;
  size_t least = std::numeric_limits<size_t>::max(), removed = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const auto at = static_cast<size_t>(values[i]);
    cut[at] = false;
    const size_t without = unevenness(graph, cut);
    cut[at] = true;
    if (without < least) least = without, removed = i;
  }
  values.erase(values.begin() + static_cast<std::ptrdiff_t>(removed));
}

// Whether what a contract says of `value` ("y", "y/inner", "y.1") is about one of the nodes.
bool is_about(const Graph& graph, const std::vector<int>& nodes, const std::string& value) {
  return std::any_of(nodes.begin(), nodes.end(), [&](int n) {
    const std::string& name = node_of(graph, n).name;
    return value == name || value.starts_with(name + "/") || value.starts_with(name + ".");
  });
}

Region part_of(const Graph& graph, const Region& whole, std::vector<int> nodes) {
  Region region = make_region(graph, std::move(nodes));
  std::erase_if(region.outputs, [&](ValueId v) { return !graph.is_observed(v); });
  region.contract = whole.contract;
  region.order_varies = order_varies(graph, region);
  const auto elsewhere = [&](const std::string& value) { return !is_about(graph, region.nodes, value); };
  std::erase_if(region.contract.deviations, [&](const Deviation& d) { return elsewhere(d.value); });
  std::erase_if(region.contract.slacks, [&](const Slack& s) { return elsewhere(s.value); });
  std::erase_if(region.contract.unnormalised, elsewhere);
  if (region.contract.roundings != Roundings::any) return region;
  for (const ValueId v : region.inputs) {
    if (is_rounded(graph, v))
      region.contract.deviations.push_back({Deviation::Kind::drop, graph.name(v), graph.type(v).dtype, 0,
                                            "read before its rounding, which the stored value has"});
  }
  return region;
}

class DividedProgram : public Program {
 public:
  DividedProgram(Plan plan, std::unique_ptr<Program> whole)
      : plan_(std::move(plan)), whole_(std::move(whole)) {}

  const Plan& plan() const override { return plan_; }
  Trace run(std::span<const TensorPtr> inputs) override { return whole_->run(inputs); }
  std::optional<Disagreement> recheck(std::span<const TensorPtr> inputs, const Trace& trace) override {
    auto found = whole_->recheck(inputs, trace);
    if (found) found->region = region_of(found->value);
    return found;
  }
  std::span<const Trace> other_runs() const override { return whole_->other_runs(); }

 private:
  // The region that computes the value, else the first that reads it.
  size_t region_of(ValueId value) const {
    for (const auto list : {&Region::outputs, &Region::inputs}) {
      for (size_t r = 0; r < plan_.regions.size(); ++r) {
        const std::vector<ValueId>& values = plan_.regions[r].*list;
        if (std::find(values.begin(), values.end(), value) != values.end()) return r;
      }
    }
    return 0;
  }

  Plan plan_;
  std::unique_ptr<Program> whole_;
};

}  // namespace

std::vector<ValueId> values_to_expose(const Graph& graph, int64_t most) {
  const auto consumers = graph.consumers();
  std::vector<ValueId> values;
  for (ValueId v = graph.source_count(); v < graph.value_count(); ++v) {
    if (is_worth_exposing(graph, v, consumers[static_cast<size_t>(v)])) values.push_back(v);
  }
  while (static_cast<int64_t>(values.size()) > most) remove_one(graph, values);
  return values;
}

std::vector<ValueId> all_inner_values(const Graph& graph) {
  const auto consumers = graph.consumers();
  std::vector<ValueId> values;
  for (ValueId v = graph.source_count(); v < graph.value_count(); ++v) {
    const bool is_inner = !consumers[static_cast<size_t>(v)].empty() && !graph.is_observed(v);
    if (is_inner && is_rounded(graph, v) && !is_narrowing_cast(graph, v)) values.push_back(v);
  }
  return values;
}

Case expose(const Case& test_case, std::span<const ValueId> values) {
  const Graph& graph = test_case.graph;
  std::vector<ValueId> outputs = graph.outputs();
  outputs.insert(outputs.end(), values.begin(), values.end());
  auto built = rebuild(graph, graph.inputs(), graph.states(), outputs);
  check(built.ok(), "expose: outputs cannot make a graph invalid");
  Case exposed = test_case;
  exposed.graph = std::move(*built);
  return exposed;
}

Plan divide(const Graph& graph, const Plan& whole) {
  Plan plan;
  plan.refusals = whole.refusals;
  for (std::vector<int>& nodes : regions_at(graph, observed_values(graph)))
    plan.regions.push_back(part_of(graph, whole.regions[0], std::move(nodes)));
  return plan;
}

std::unique_ptr<Program> divided(const Graph& graph, std::unique_ptr<Program> program) {
  const std::vector<Region>& regions = program->plan().regions;
  if (regions.size() != 1 || regions[0].nodes.size() < 2 || !regions[0].patterns.empty()) return program;
  Plan plan = divide(graph, program->plan());
  return std::make_unique<DividedProgram>(std::move(plan), std::move(program));
}

bool can_expose(std::string_view backend) {
  const WorkerKind* kind = worker_kind(backend);
  return kind && kind->compiles;
}

bool is_foreign(std::string_view backend) { return worker_kind(backend) != nullptr; }

double coarsest_resolution(std::string_view backend) {
  return is_foreign(backend) ? kCoarsest : std::numeric_limits<double>::infinity();
}

Execution execution_of(const std::string& backend, const Plan& plan, const Trace& trace) {
  Execution execution{backend, &plan, &trace};
  execution.coarsest = coarsest_resolution(backend);
  execution.foreign = is_foreign(backend);
  execution.is_kernel = execution.foreign && !can_expose(backend);
  return execution;
}

bool is_opaque(const CaseRun& run) {
  if (!run.candidate || run.verdict.verdict != VerdictClass::inconclusive) return false;
  const auto opaque = [](const BackendVerdict& backend, const Program& program) {
    return can_expose(backend.backend) && backend.verdict == VerdictClass::inconclusive &&
           program.plan().regions.size() == 1 && program.plan().regions[0].nodes.size() > 1;
  };
  return opaque(run.verdict.candidate, *run.candidate) || opaque(run.verdict.baseline, *run.baseline);
}

bool is_divided(const Program& program) { return dynamic_cast<const DividedProgram*>(&program) != nullptr; }

std::optional<Part> part_to_confirm(const Case& test_case, const CaseRun& run) {
  const RegionVerdict* failing = run.verdict.failing();
  if (!failing || is_disagreement(*failing)) return std::nullopt;
  const bool of_candidate = run.verdict.failing_region->role == BackendRole::candidate;
  const Program& program = of_candidate ? *run.candidate : *run.baseline;
  if (!is_divided(program)) return std::nullopt;
  const Trace& trace = of_candidate ? run.candidate_trace : run.baseline_trace;
  return Part{extract_region(test_case, program.plan().regions[failing->region].nodes, trace.values)};
}

}  // namespace fusesmith::fuzz
