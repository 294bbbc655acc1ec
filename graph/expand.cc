#include "graph/expand.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/formula.h"

namespace fusesmith::graph {
namespace {

// The mask step: hidden keys become -inf; an additive mask is added.
ValueId apply_mask(Builder& b, const Sdpa& op, ValueId scores, int64_t t, int64_t s, ValueId mask) {
  constexpr double kHidden = -std::numeric_limits<double>::infinity();
  switch (op.mask) {
    case Sdpa::Mask::boolean:
      return b.node(MaskedFill{kHidden, true}, {scores, mask}, "masked");
    case Sdpa::Mask::additive:
      return b.node(Add{}, {scores, mask}, "masked");
    case Sdpa::Mask::none:
      if (op.window == 0) return scores;
      break;
    case Sdpa::Mask::causal:
      break;
  }
  const CausalMask hidden{t, s, op.alignment, op.window, op.mask == Sdpa::Mask::none};
  return b.node(MaskedFill{kHidden}, {scores, b.node(hidden, {}, "hidden")}, "masked");
}

// [..., fewer, s, d] -> [..., heads, s, d], each head `heads / fewer` times in a row.
ValueId repeat_heads(Builder& b, ValueId value, int64_t heads, const std::string& name) {
  Shape shape = b.type(value).shape;
  const size_t axis = shape.size() - 3;
  const int64_t times = heads / shape[axis];
  if (times == 1) return value;
  value = b.node(Unsqueeze{static_cast<int64_t>(axis) + 1}, {value}, name + "_group");
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1, times);
  value = b.node(BroadcastTo{shape}, {value}, name + "_repeated");
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  shape[axis] = heads;
  return b.node(Reshape{shape}, {value}, name + "_heads");
}

Graph expand_sdpa(const Sdpa& op, TypeSpan types) {
  Builder b;
  const Fill zeros = Constant{0};
  ValueId q = b.input("q", types[0], zeros), k = b.input("k", types[1], zeros),
          v = b.input("v", types[2], zeros);
  ValueId mask = types.size() == 4 ? b.input("mask", types[3], zeros) : -1;
  const Dtype dtype = types[0].dtype;
  const bool upcast = op.upcast && dtype != Dtype::f32;
  if (upcast) {
    q = b.node(Cast{Dtype::f32}, {q}, "q32");
    k = b.node(Cast{Dtype::f32}, {k}, "k32");
    v = b.node(Cast{Dtype::f32}, {v}, "v32");
    if (op.mask == Sdpa::Mask::additive) mask = b.node(Cast{Dtype::f32}, {mask}, "mask32");
  }
  const double scale = op.scale != 0 ? op.scale : 1 / std::sqrt(static_cast<double>(types[0].shape.back()));
  if (op.scale_on == Sdpa::ScaleOn::both) {
    q = b.node(Scale{std::sqrt(scale)}, {q}, "q_scaled");
    k = b.node(Scale{std::sqrt(scale)}, {k}, "k_scaled");
  }
  if (op.grouped_heads) {
    const int64_t heads = types[0].shape.end()[-3];
    k = repeat_heads(b, k, heads, "k");
    v = repeat_heads(b, v, heads, "v");
  }
  ValueId scores = b.node(Matmul{false, true}, {q, k}, "scores");
  if (op.scale_on == Sdpa::ScaleOn::scores) scores = b.node(Scale{scale}, {scores}, "scaled");
  if (op.softcap != 0) scores = b.node(Softcap{op.softcap}, {scores}, "capped");
  const Shape& shape = b.type(scores).shape;
  scores = apply_mask(b, op, scores, shape[shape.size() - 2], shape[shape.size() - 1], mask);
  const ValueId p = b.node(Softmax{-1}, {scores}, "p");
  ValueId out = b.node(Matmul{}, {p, v}, "out");
  if (upcast) out = b.node(Cast{dtype}, {out}, "cast");
  b.output(out);
  auto graph = b.build();
  check(graph.ok(), "sdpa: expansion is invalid");
  return *graph;
}

// Empty if the op is not composite.
std::optional<Graph> made_expansion(const Op& op, TypeSpan inputs) {
  return std::visit(
      [&]<class T>(const T& x) -> std::optional<Graph> {
        if constexpr (DefinedOp<T>) {
          auto graph = formula_graph(T::operands, inputs, [&](const Vars& in) { return x.define(in); });
          check(graph.ok(), "expansion: infer refuses these operands");
          return std::move(*graph);
        } else if constexpr (std::same_as<T, Sdpa>) {
          if (score_count(inputs) > kMaxElements) throw InnerValuesTooLarge();
          return expand_sdpa(x, inputs);
        } else {
          static_assert(T::info.op_class != OpClass::composite, "a composite op has no formula");
          return std::nullopt;
        }
      },
      op);
}

struct Expansion {
  Op op;
  Types inputs;
  std::shared_ptr<const Graph> graph;
};

}  // namespace

int64_t score_count(TypeSpan inputs) {
  return element_count(inputs[0]) / inputs[0].shape.back() * inputs[1].shape.end()[-2];
}

std::shared_ptr<const Graph> expansion(const Op& op, TypeSpan inputs) {
  if (info(op).op_class != OpClass::composite) return nullptr;
  constexpr size_t kKept = 16;
  thread_local std::vector<Expansion> kept;
  thread_local size_t oldest = 0;
  for (const Expansion& one : kept) {
    if (one.op == op && std::equal(inputs.begin(), inputs.end(), one.inputs.begin(), one.inputs.end()))
      return one.graph;
  }
  Expansion made{op, Types(inputs.begin(), inputs.end()),
                 std::make_shared<const Graph>(*made_expansion(op, inputs))};
  if (kept.size() < kKept) return kept.emplace_back(std::move(made)).graph;
  Expansion& replaced = kept[oldest];
  oldest = (oldest + 1) % kKept;
  replaced = std::move(made);
  return replaced.graph;
}

bool is_defined(const Op& op) {
  return std::visit([]<class T>(const T&) { return DefinedOp<T>; }, op);
}

}  // namespace fusesmith::graph
