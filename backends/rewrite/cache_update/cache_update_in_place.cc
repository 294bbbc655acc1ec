// cache_update_in_place: a state whose next value is its old one, shifted along an axis or not, with new rows
// written over some of it, is updated where it stands (what pytorch#159855 got wrong: reads of the old rows
// and writes of the new ones need an order). Legal where all others that read the old state can do so before.
#include <algorithm>
#include <numeric>

#include "backends/rewrite/cache_update/cache_update.h"
#include "backends/rewrite/patterns.h"

namespace fusesmith::backends {
namespace {

constexpr std::string_view kCacheUpdateInPlaceName = "cache_update_in_place";
constexpr std::string_view kCacheUpdateInPlaceGuards[] = {
    "not_a_shift",        "not_its_next_value",     "next_of_two_states",  "inner_value_read_elsewhere",
    "old_state_observed", "rows_are_the_old_state", "old_state_read_later"};

// A state seen through nodes that move its slices along one axis.
struct Moved {
  ValueId state = -1;
  // Slice i is slice (i + shift) mod size of the state; empty: there is no such number.
  std::optional<int64_t> shift;
  std::vector<int> nodes;  // without the root
};

// The update as it was recognised; its nodes without the root.
struct Recognised {
  Moved old;
  int64_t axis = 0;
  ValueId rows = -1;
  int64_t first = 0;  // where the rows go if `indices` does not say
  std::optional<ValueId> indices;
};

class Recognition {
 public:
  Recognition(const MatchContext& context, int root) : c_(context), root_(context.node(root)) {}

  std::optional<Recognised> run() const {
    if (const auto* copy = std::get_if<IndexCopy>(&root_.op)) return of_index_copy(*copy);
    if (const auto* concat = std::get_if<Concat>(&root_.op)) return of_concat(*concat);
    if (const auto* roll = std::get_if<Roll>(&root_.op)) return of_roll(*roll);
    return std::nullopt;
  }

 private:
  bool is_state(ValueId v) const { return c_.graph().is_state(v); }
  int64_t axis_of(int64_t axis, ValueId v) const { return *resolve_axis(axis, c_.graph().type(v).rank()); }
  int64_t size_of_axis(ValueId v, int64_t axis) const { return c_.shape(v)[static_cast<size_t>(axis)]; }

  // The producer of the value, if its op is a T.
  template <class T>
  std::optional<int> producer_as(ValueId v) const {
    const auto n = c_.graph().producer(v);
    return n && c_.op_as<T>(*n) ? n : std::nullopt;
  }

  std::optional<Recognised> of_index_copy(const IndexCopy& copy) const {
    const int64_t axis = axis_of(copy.axis, root_.first_output);
    const auto old = moved_state(root_.inputs[0], axis);
    if (!old) return std::nullopt;
    Recognised found{*old, axis, root_.inputs[2], 0, root_.inputs[1]};
    const auto known = constant_indices(c_.graph(), root_.inputs[1]);
    if (!known || !are_neighbours(known->values)) return found;
    found.first = known->values.front();
    found.indices.reset();
    absorb(known->nodes, found.old.nodes);
    return found;
  }

  // The state, as it is, rolled, or gathered row by row.
  std::optional<Moved> moved_state(ValueId v, int64_t axis) const {
    if (is_state(v)) return Moved{v, 0, {}};
    if (const auto n = producer_as<Roll>(v); n && is_state(c_.node(*n).inputs[0])) {
      const Roll& roll = *c_.op_as<Roll>(*n);
      Moved moved{c_.node(*n).inputs[0], {}, {*n}};
      if (axis_of(roll.axis, v) == axis) moved.shift = shift_of(roll, size_of_axis(v, axis));
      return moved;
    }
    return gathered_state(v, axis);
  }

  static int64_t shift_of(const Roll& roll, int64_t size) { return (size - roll_offset(roll, size)) % size; }

  // Gathered along its first axis, or along another one between two permutations.
  std::optional<Moved> gathered_state(ValueId v, int64_t axis) const {
    Moved moved;
    const auto back = producer_as<Permute>(v);
    const auto gather = producer_as<Gather>(back ? c_.node(*back).inputs[0] : v);
    if (!gather) return std::nullopt;
    moved.nodes = {*gather};
    moved.state = c_.node(*gather).inputs[0];
    Shape there(static_cast<size_t>(c_.graph().type(v).rank()));
    std::iota(there.begin(), there.end(), 0);
    Shape both = there;
    if (const auto front = producer_as<Permute>(moved.state); front && back) {
      there = c_.op_as<Permute>(*front)->dims;
      for (size_t i = 0; i < both.size(); ++i) {
        const auto middle = static_cast<size_t>(c_.op_as<Permute>(*back)->dims[i]);
        if (middle >= there.size()) return std::nullopt;
        both[i] = there[middle];
      }
      moved.state = c_.node(*front).inputs[0];
      moved.nodes.insert(moved.nodes.end(), {*front, *back});
    } else if (back) {
      return std::nullopt;
    }
    if (!is_state(moved.state) || c_.graph().type(moved.state) != c_.graph().type(v)) return std::nullopt;
    if (there[0] == axis && std::is_sorted(both.begin(), both.end())) read_shift(*gather, moved);
    return moved;
  }

  // From indices that are constants: i + shift, around the end.
  void read_shift(int gather, Moved& moved) const {
    const auto known = constant_indices(c_.graph(), c_.node(gather).inputs[1]);
    if (!known) return;
    const auto size = static_cast<int64_t>(known->values.size());
    const int64_t shift = known->values.front();
    for (int64_t i = 0; i < size; ++i) {
      if (known->values[static_cast<size_t>(i)] != (i + shift) % size) return;
    }
    moved.shift = shift;
    absorb(known->nodes, moved.nodes);
  }

  static bool are_neighbours(const std::vector<int32_t>& values) {
    return std::adjacent_find(values.begin(), values.end(),
                              [](int32_t a, int32_t b) { return b != a + 1; }) == values.end();
  }

  // Nodes whose values are known and that nobody else reads need not run.
  void absorb(const std::vector<int>& constants, std::vector<int>& nodes) const {
    std::vector<int> inside = nodes;
    const auto root = c_.graph().producer(root_.first_output);
    inside.push_back(*root);
    for (auto n = constants.rbegin(); n != constants.rend(); ++n) {
      const ValueId value = c_.output(*n);
      if (!c_.is_free(*n) || !c_.is_inner(value)) continue;
      if (std::find(inside.begin(), inside.end(), c_.consumers(value).front()) == inside.end()) continue;
      inside.push_back(*n);
      nodes.push_back(*n);
    }
  }

  // Part of the state behind or before the new rows.
  std::optional<Recognised> of_concat(const Concat& concat) const {
    if (root_.inputs.size() != 2) return std::nullopt;
    const int64_t axis = axis_of(concat.axis, root_.first_output);
    for (size_t part = 0; part < 2; ++part) {
      const auto kept = producer_as<Slice>(root_.inputs[part]);
      if (!kept || !is_state(c_.node(*kept).inputs[0])) continue;
      const Slice& slice = *c_.op_as<Slice>(*kept);
      const ValueId state = c_.node(*kept).inputs[0], rows = root_.inputs[1 - part];
      if (c_.graph().type(state) != c_.graph().type(root_.first_output)) continue;
      const int64_t size = size_of_axis(state, axis), count = size_of_axis(rows, axis);
      Recognised found{{state, {}, {*kept}}, axis, rows, part == 0 ? size - count : 0, {}};
      if (axis_of(slice.axis, state) == axis && slice.step == 1)
        found.old.shift = part == 0 ? slice.start : (slice.start - count + size) % size;
      if (c_.faults().has("concat_part_not_written")) found.rows = -1;
      return found;
    }
    return std::nullopt;
  }

  std::optional<Recognised> of_roll(const Roll& roll) const {
    const ValueId state = root_.inputs[0];
    if (!is_state(state)) return std::nullopt;
    const int64_t axis = axis_of(roll.axis, state);
    return Recognised{{state, shift_of(roll, size_of_axis(state, axis)), {}}, axis, -1, 0, {}};
  }

  const MatchContext& c_;
  const Node& root_;
};

// Whether any of the nodes needs the value.
bool leads_to(const MatchContext& c, ValueId value, const std::vector<int>& nodes) {
  std::vector<bool> seen(c.graph().nodes().size(), false);
  std::vector<ValueId> open = {value};
  while (!open.empty()) {
    const ValueId v = open.back();
    open.pop_back();
    for (int n : c.consumers(v)) {
      if (seen[static_cast<size_t>(n)]) continue;
      seen[static_cast<size_t>(n)] = true;
      for (int i = 0; i < c.node(n).output_count; ++i) open.push_back(c.output(n) + i);
    }
  }
  return std::any_of(nodes.begin(), nodes.end(), [&](int n) { return seen[static_cast<size_t>(n)]; });
}

// The guard that does not hold, if there is one.
std::optional<std::string_view> broken_guard(const MatchContext& c, const Recognised& found, ValueId next) {
  const Graph& graph = c.graph();
  const ValueId state = found.old.state;
  const auto& states = graph.states();
  const auto own = static_cast<size_t>(state) - graph.inputs().size();
  if (!found.old.shift) return "not_a_shift";
  if (states[own].next != next) return "not_its_next_value";
  if (std::count_if(states.begin(), states.end(), [&](const State& s) { return s.next == next; }) > 1)
    return "next_of_two_states";
  const auto& nodes = found.old.nodes;
  const auto is_inner = [&](int n) { return c.is_free(n) && c.is_inner(c.output(n)); };
  if (!std::all_of(nodes.begin(), nodes.end(), is_inner)) return "inner_value_read_elsewhere";
  if (graph.is_observed(state)) return "old_state_observed";
  if (found.rows == state) return "rows_are_the_old_state";
  const bool ignored = c.faults().has("new_state_seen_by_old_readers");
  if (!ignored && leads_to(c, next, c.consumers(state))) return "old_state_read_later";
  return std::nullopt;
}

std::optional<Match> match_cache_update_in_place(const MatchContext& context, int n) {
  if (context.graph().states().empty()) return std::nullopt;
  const auto found = Recognition(context, n).run();
  if (!found) return std::nullopt;
  if (const auto guard = broken_guard(context, *found, context.output(n))) return context.refuse(*guard);
  const Shape& shape = context.shape(found->old.state);
  const auto axis = static_cast<size_t>(found->axis);
  CacheUpdate update;
  update.cache = found->old.state;
  update.size = shape[axis];
  update.inner = strides_of(shape)[axis];
  update.outer = element_count(shape) / (update.size * update.inner);
  update.shift = *found->old.shift;
  if (found->rows >= 0) {
    update.rows = found->rows;
    update.count = context.shape(found->rows)[axis];
    update.first = found->first;
    update.indices = found->indices;
  }
  Match matched{found->old.nodes, {std::string(kCacheUpdateInPlaceName)}, {}, update};
  matched.nodes.push_back(n);
  return matched;
}

}  // namespace

Pattern cache_update_in_place_pattern() {
  return {kCacheUpdateInPlaceName,
          "the next value of a state: the old one, shifted or not, with new rows -> an update in place",
          match_cache_update_in_place,
          cache_update_examples(),
          cache_update_near_misses(),
          kCacheUpdateInPlaceGuards};
}

}  // namespace fusesmith::backends
