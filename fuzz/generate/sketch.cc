#include "fuzz/generate/sketch.h"

#include <algorithm>
#include <map>
#include <span>

namespace fusesmith::fuzz {

Sketch::Value Sketch::input(std::string_view role, TensorType type, Fill fill) {
  const Value value = value_count();
  const std::optional<Grid> grid = exact_ ? grid_of(fill, type.dtype) : Grid{};
  if (!grid) throw NotExact{};
  work_.elements += element_count(type);
  values_.push_back({std::move(type), magnitude_of(fill), *grid, -1, 0});
  inputs_.push_back({role, value, std::move(fill)});
  return value;
}

Sketch::Value Sketch::state(std::string_view role, TensorType type, Fill fill) {
  if (exact_) throw NotExact{};  // a state does not stay on a grid
  const Value value = value_count();
  work_.elements += element_count(type);
  values_.push_back({std::move(type), magnitude_of(fill), {}, -1, 0});
  states_.push_back({role, value, std::move(fill)});
  return value;
}

void Sketch::set_next(Value state, Value next) {
  const auto at =
      std::find_if(states_.begin(), states_.end(), [&](const auto& s) { return s.value == state; });
  check(at != states_.end() && at->next < 0 && type(state) == type(next),
        "a sketch's state takes another type");
  at->next = next;
  ++values_[static_cast<size_t>(next)].consumers;
}

Grid Sketch::grid_after(const Op& op, const std::vector<Value>& inputs, TypeSpan types,
                        const TensorType& output, const std::optional<Grid>& known) const {
  if (!exact_) return {};
  std::vector<Grid> grids;
  for (Value v : inputs) grids.push_back(grid(v));
  const auto found = known ? known : grid_of(op, grids, types, output);
  if (!found || !holds(output.dtype, *found)) throw NotExact{};
  return *found;
}

Sketch::Value Sketch::node(Op op, std::vector<Value> inputs, std::optional<Grid> known) {
  Types types;
  std::vector<Magnitude> magnitudes;
  for (Value v : inputs) {
    types.push_back(type(v));
    magnitudes.push_back(magnitude(v));
  }
  const auto outputs = infer(op, types);
  if (!outputs && is_too_large(op, types)) throw TooLarge{};
  if (!outputs) check(false, (to_string(op) + " in a sketch: " + outputs.problem()).c_str());
  const Grid grid = grid_after(op, inputs, types, outputs->front(), known);
  for (Value v : inputs) ++values_[static_cast<size_t>(v)].consumers;
  const Value first = value_count();
  const Work work = work_of(op, types, outputs->front());
  work_.operations += work.operations;
  work_.elements += work.elements;
  for (const TensorType& more : std::span(*outputs).subspan(1)) work_.elements += element_count(more);
  const Magnitude size = magnitude_of(op, magnitudes, types, outputs->front());
  for (const TensorType& out : *outputs) values_.push_back({out, size, grid, node_count(), 0});
  nodes_.push_back({std::move(op), std::move(inputs), first});
  return first;
}

void Sketch::rollback(const Mark& mark) {
  for (size_t n = mark.nodes; n < nodes_.size(); ++n) {
    for (Value v : nodes_[n].inputs) --values_[static_cast<size_t>(v)].consumers;
  }
  for (size_t s = mark.states; s < states_.size(); ++s) {
    if (states_[s].next >= 0) --values_[static_cast<size_t>(states_[s].next)].consumers;
  }
  states_.erase(states_.begin() + static_cast<std::ptrdiff_t>(mark.states), states_.end());
  values_.erase(values_.begin() + static_cast<std::ptrdiff_t>(mark.values), values_.end());
  inputs_.erase(inputs_.begin() + static_cast<std::ptrdiff_t>(mark.inputs), inputs_.end());
  nodes_.erase(nodes_.begin() + static_cast<std::ptrdiff_t>(mark.nodes), nodes_.end());
  work_ = mark.work;
}

Graph Sketch::build(const std::vector<Value>& observed) const {
  Builder builder;
  std::map<std::string_view, int> numbers;
  std::vector<ValueId> ids(values_.size(), -1);
  const auto next_name = [&](std::string_view stem) {
    return std::string(stem) + std::to_string(numbers[stem]++);
  };
  for (const DrawnInput& in : inputs_) {
    if (consumed(in.value))
      ids[static_cast<size_t>(in.value)] = builder.input(next_name(in.role), type(in.value), in.fill);
  }
  for (const DrawnState& state : states_)
    ids[static_cast<size_t>(state.value)] =
        builder.state(next_name(state.role), type(state.value), state.fill);
  for (size_t n = 0; n < nodes_.size(); ++n) {
    std::vector<ValueId> inputs;
    for (Value v : nodes_[n].inputs) inputs.push_back(ids[static_cast<size_t>(v)]);
    const ValueId id = builder.node(nodes_[n].op, inputs, next_name(name(nodes_[n].op)));
    const auto end = n + 1 < nodes_.size() ? nodes_[n + 1].first : value_count();
    for (Value v = nodes_[n].first; v < end && values_[static_cast<size_t>(v)].node == static_cast<int>(n);
         ++v) {
      ids[static_cast<size_t>(v)] = id + (v - nodes_[n].first);
    }
  }
  bool has_output = false;
  for (Value v = 0; v < value_count(); ++v) {
    const bool wanted = !consumed(v) || std::find(observed.begin(), observed.end(), v) != observed.end();
    if (is_input(v) || !wanted) continue;
    builder.output(ids[static_cast<size_t>(v)]);
    has_output = true;
  }
  std::vector<Value> nexts;
  for (size_t s = 0; s < states_.size(); ++s) {
    const Value next = states_[s].next;
    builder.next_state(static_cast<int>(s), ids[static_cast<size_t>(next)]);
    const bool known = is_input(next) || std::find(nexts.begin(), nexts.end(), next) != nexts.end();
    if (has_output || known) continue;
    builder.output(ids[static_cast<size_t>(next)]);
    nexts.push_back(next);
  }
  auto graph = builder.build();
  if (!graph) check(false, ("a generated graph is invalid: " + graph.problem()).c_str());
  return *graph;
}

}  // namespace fusesmith::fuzz
