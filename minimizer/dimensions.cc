#include "minimizer/dimensions.h"

#include <algorithm>
#include <numeric>

#include "graph/with_sizes.h"

namespace fusesmith::minimizer {
namespace {

struct OperandAxis {
  size_t operand, axis;
};

int64_t& size_at(Types& types, OperandAxis at) { return types[at.operand].shape[at.axis]; }

// The types that inference gives when all of these axes are one longer; nothing when it refuses.
std::optional<Types> infer_longer(const Op& op, Types types, const std::vector<OperandAxis>& axes) {
  for (OperandAxis at : axes) ++size_at(types, at);
  auto outputs = infer(op, types);
  if (!outputs) return std::nullopt;
  return std::move(*outputs);
}

// Extends `chosen` by `count` of candidates[from...] so that inference accepts it; the fewest axes that may
// change together.
std::optional<Types> extend(const Op& op, const Types& types, std::vector<OperandAxis>& chosen,
                            const std::vector<OperandAxis>& candidates, size_t from, int count) {
  if (count == 0) return infer_longer(op, types, chosen);
  for (size_t i = from; i < candidates.size(); ++i) {
    chosen.push_back(candidates[i]);
    if (auto outputs = extend(op, types, chosen, candidates, i + 1, count - 1)) return outputs;
    chosen.pop_back();
  }
  return std::nullopt;
}

constexpr int kMaxTogether = 4;  // q, k, v and mask share a batch axis

}  // namespace

Dimensions::Dimensions(const Graph& graph) {
  for (ValueId v = 0; v < graph.value_count(); ++v) {
    first_.push_back(static_cast<int>(sizes_.size()));
    sizes_.insert(sizes_.end(), graph.type(v).shape.begin(), graph.type(v).shape.end());
  }
  parents_.resize(sizes_.size());
  std::iota(parents_.begin(), parents_.end(), 0);
  rigid_.resize(sizes_.size(), false);
  for (const Node& node : graph.nodes()) link(graph, node);
  for (size_t s = 0; s < graph.states().size(); ++s) {
    const auto value = static_cast<ValueId>(graph.inputs().size() + s);
    for (int axis = 0; axis < graph.type(value).rank(); ++axis)
      unite(id(value, axis), id(graph.states()[s].next, axis));
  }
  for (int& parent : parents_) parent = find(parent);
}

int Dimensions::find(int id) const {
  while (parents_[static_cast<size_t>(id)] != id) id = parents_[static_cast<size_t>(id)];
  return id;
}

// The root is the smallest id: the first value that has the dimension.
void Dimensions::unite(int a, int b) {
  a = find(a);
  b = find(b);
  const bool rigid = rigid_[static_cast<size_t>(a)] || rigid_[static_cast<size_t>(b)];
  parents_[static_cast<size_t>(std::max(a, b))] = std::min(a, b);
  rigid_[static_cast<size_t>(std::min(a, b))] = rigid;
}

void Dimensions::link(const Graph& graph, const Node& node) {
  if (node.inputs.empty()) return;
  const Shape& in = graph.type(node.inputs[0]).shape;
  const Shape& out = graph.type(node.first_output).shape;
  if (std::holds_alternative<Reshape>(node.op)) return link_reshape(node, in, out);
  if (const auto* slice = std::get_if<Slice>(&node.op)) return link_slice(node, *slice, in);
  const int rank = static_cast<int>(in.size());
  if (const auto* concat = std::get_if<Concat>(&node.op))
    return link_parts(node.first_output, node.inputs, *resolve_axis(concat->axis, rank), rank);
  if (const auto* chunk = std::get_if<Chunk>(&node.op)) {
    std::vector<ValueId> parts(static_cast<size_t>(node.output_count));
    std::iota(parts.begin(), parts.end(), node.first_output);
    const int axis = *resolve_axis(chunk->axis, rank);
    for (ValueId part : parts) unite(id(parts[0], axis), id(part, axis));
    return link_parts(node.inputs[0], parts, axis, rank);
  }
  if (const auto* rope = std::get_if<Rope>(&node.op)) return link_rope(graph, node, *rope);
  if (std::holds_alternative<BroadcastTo>(node.op)) {
    const size_t added = out.size() - in.size();
    for (size_t i = 0; i < in.size(); ++i) {
      const int axis = static_cast<int>(i), to = static_cast<int>(i + added);
      if (in[i] == out[i + added]) unite(id(node.inputs[0], axis), id(node.first_output, to));
    }
    return;
  }
  link_by_inference(graph, node);
}

void Dimensions::link_parts(ValueId whole, const std::vector<ValueId>& parts, int axis, int rank) {
  Sum sum{{}, id(whole, axis)};
  for (ValueId part : parts) {
    for (int other = 0; other < rank; ++other) {
      if (other != axis) unite(id(whole, other), id(part, other));
    }
    sum.parts.push_back(id(part, axis));
  }
  sums_.push_back(std::move(sum));
}

void Dimensions::link_rope(const Graph& graph, const Node& node, const Rope& op) {
  link_by_inference(graph, node, false);
  const auto last = [&](ValueId v) { return id(v, graph.type(v).rank() - 1); };
  unite(last(node.inputs[1]), last(node.inputs[2]));
  unite(last(node.inputs[0]), last(node.first_output));
  // The tables of a part of the axis have the size that the attribute says.
  if (op.rotary_dim == 0)
    sums_.push_back({{last(node.inputs[1]), last(node.inputs[1])}, last(node.inputs[0])});
}

void Dimensions::link_by_inference(const Graph& graph, const Node& node, bool last_axes) {
  Types types;
  std::vector<OperandAxis> open;  // axes not yet linked
  for (ValueId v : node.inputs) {
    const size_t rank = graph.type(v).shape.size();
    for (size_t axis = 0; axis + (last_axes ? 0 : 1) < rank; ++axis) open.push_back({types.size(), axis});
    types.push_back(graph.type(v));
  }
  const auto id_of = [&](OperandAxis at) { return id(node.inputs[at.operand], static_cast<int>(at.axis)); };
  while (!open.empty()) {
    std::vector<OperandAxis> chosen = {open.front()}, candidates;
    const int64_t size = size_at(types, open.front());
    std::copy_if(open.begin() + 1, open.end(), std::back_inserter(candidates),
                 [&](OperandAxis at) { return size_at(types, at) == size; });
    std::optional<Types> outputs;
    for (int count = 0; count < kMaxTogether && !outputs; ++count) {
      outputs = extend(node.op, types, chosen, candidates, 0, count);
    }
    if (!outputs) rigid_[static_cast<size_t>(find(id_of(open.front())))] = true;
    for (OperandAxis at : chosen) unite(id_of(chosen[0]), id_of(at));
    for (size_t i = 0; outputs && i < outputs->size(); ++i) {
      const ValueId value = node.first_output + static_cast<int>(i);
      const Shape& before = graph.type(value).shape;
      for (size_t axis = 0; axis < before.size(); ++axis) {
        if ((*outputs)[i].shape[axis] != before[axis])
          unite(id_of(chosen[0]), id(value, static_cast<int>(axis)));
      }
    }
    const auto done = [&](OperandAxis at) {
      return std::any_of(chosen.begin(), chosen.end(),
                         [&](OperandAxis c) { return c.operand == at.operand && c.axis == at.axis; });
    };
    open.erase(std::remove_if(open.begin(), open.end(), done), open.end());
  }
}

// Cuts both shapes, without axes of size 1, into the shortest groups of equal products.
void Dimensions::link_reshape(const Node& node, const Shape& in, const Shape& out) {
  size_t i = 0, o = 0;
  while (i < in.size() || o < out.size()) {
    Product group;
    int64_t left = 1, right = 1;
    do {
      const bool take_left = o == out.size() || (i < in.size() && left <= right);
      auto& at = take_left ? i : o;
      const int64_t size = take_left ? in[at] : out[at];
      const int axis = id(take_left ? node.inputs[0] : node.first_output, static_cast<int>(at));
      ++at;
      if (size == 1) continue;
      (take_left ? left : right) *= size;
      (take_left ? group.left : group.right).push_back(axis);
    } while (left != right && (i < in.size() || o < out.size()));
    if (group.left.size() == 1 && group.right.size() == 1)
      unite(group.left[0], group.right[0]);
    else if (!group.left.empty())
      products_.push_back(std::move(group));
  }
}

void Dimensions::link_slice(const Node& node, const Slice& op, const Shape& in) {
  const int cut_axis = *resolve_axis(op.axis, static_cast<int>(in.size()));
  for (int axis = 0; axis < static_cast<int>(in.size()); ++axis) {
    const int from = id(node.inputs[0], axis), to = id(node.first_output, axis);
    const bool whole = op.start == 0 && op.step == 1 && op.stop == in[static_cast<size_t>(axis)];
    if (axis != cut_axis || whole)
      unite(from, to);
    else
      cuts_.push_back({from, to, op.step});
  }
}

std::vector<int> Dimensions::resolved(const std::vector<int>& ids) const {
  std::vector<int> roots;
  for (int axis : ids) roots.push_back(find(axis));
  return roots;
}

std::vector<Dimension> Dimensions::all() const {
  std::vector<Dimension> dimensions;
  for (size_t v = 0; v < first_.size(); ++v) {
    const int end = v + 1 < first_.size() ? first_[v + 1] : static_cast<int>(sizes_.size());
    for (int i = first_[v]; i < end; ++i) {
      if (find(i) == i)
        dimensions.push_back({static_cast<ValueId>(v), i - first_[v], sizes_[static_cast<size_t>(i)]});
    }
  }
  return dimensions;
}

// Sizes while they are being changed: each dimension changes at most once.
struct Dimensions::Sizes {
  std::vector<int64_t> now;
  std::vector<bool> changed;
  const std::vector<bool>& rigid;

  bool is_free(int i) const { return !changed[static_cast<size_t>(i)] && !rigid[static_cast<size_t>(i)]; }
  int64_t at(int i) const { return now[static_cast<size_t>(i)]; }
  bool set(int i, int64_t size) {
    if (at(i) == size) return true;
    if (!is_free(i) || size < 1 || size > kMaxElements) return false;
    now[static_cast<size_t>(i)] = size;
    changed[static_cast<size_t>(i)] = true;
    return true;
  }
  int64_t product(const std::vector<int>& side) const {
    int64_t result = 1;
    for (int i : side) result = std::min(result * at(i), kMaxElements + 1);
    return result;
  }
  // Gives one side of a product this value: by its last free factor if that divides, else shared out by
  // common divisors.
  bool reach(const std::vector<int>& side, int64_t target) {
    for (size_t k = side.size(); k-- > 0;) {
      const bool once = std::count(side.begin(), side.end(), side[k]) == 1;
      const int64_t others = product(side) / at(side[k]);
      if (once && is_free(side[k]) && target % others == 0) return set(side[k], target / others);
    }
    for (size_t k = 0; k < side.size(); ++k) {
      const int64_t size = k + 1 == side.size() ? target : std::gcd(at(side[k]), target);
      if (!set(side[k], size)) return false;
      target /= size;
    }
    return target == 1;
  }
  int64_t total(const Sum& sum) const {
    int64_t result = 0;
    for (int part : sum.parts) result += at(part);
    return result;
  }
  // Gives the whole its parts' total or, where it has another size already, the last free part what is left:
  // its share, where it stands more than once.
  bool settle(const Sum& sum) {
    if (is_free(sum.whole)) return set(sum.whole, total(sum));
    for (size_t k = sum.parts.size(); k-- > 0;) {
      const int part = sum.parts[k];
      if (!is_free(part)) continue;
      const auto times = static_cast<int64_t>(std::count(sum.parts.begin(), sum.parts.end(), part));
      const int64_t left = at(sum.whole) - (total(sum) - times * at(part));
      if (left > 0 && left % times == 0) return set(part, left / times);
    }
    return false;
  }
  bool balance(const Product& p) {
    const auto moved = [&](int i) { return changed[static_cast<size_t>(i)]; };
    const bool left_moved = std::any_of(p.left.begin(), p.left.end(), moved);
    const bool right_is_free = std::any_of(p.right.begin(), p.right.end(), [&](int i) { return is_free(i); });
    return left_moved && right_is_free ? reach(p.right, product(p.left)) : reach(p.left, product(p.right));
  }
};

std::optional<std::vector<Shape>> Dimensions::resized(ValueId value, int axis, int64_t size) const {
  Sizes sizes{sizes_, std::vector<bool>(sizes_.size(), false), rigid_};
  if (!sizes.set(find(id(value, axis)), size)) return std::nullopt;
  bool settled = false;
  while (!settled) {
    settled = true;
    for (const Product& raw : products_) {
      const Product product{resolved(raw.left), resolved(raw.right)};
      if (sizes.product(product.left) == sizes.product(product.right)) continue;
      if (!sizes.balance(product)) return std::nullopt;
      settled = false;
    }
    for (const Sum& raw : sums_) {
      const Sum sum{resolved(raw.parts), find(raw.whole)};
      if (sizes.total(sum) == sizes.at(sum.whole)) continue;
      if (!sizes.settle(sum)) return std::nullopt;
      settled = false;
    }
    for (const Cut& cut : cuts_) {
      const int in = find(cut.in), out = find(cut.out);
      if (strided_length(sizes.at(out), cut.step) <= sizes.at(in)) continue;
      const bool done = sizes.is_free(out) ? sizes.set(out, (sizes.at(in) - 1) / cut.step + 1)
                                           : sizes.set(in, strided_length(sizes.at(out), cut.step));
      if (!done) return std::nullopt;
      settled = false;
    }
  }
  std::vector<Shape> shapes;
  for (size_t v = 0; v < first_.size(); ++v) {
    const int end = v + 1 < first_.size() ? first_[v + 1] : static_cast<int>(sizes_.size());
    Shape shape;
    for (int i = first_[v]; i < end; ++i) shape.push_back(sizes.at(find(i)));
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

}  // namespace fusesmith::minimizer
