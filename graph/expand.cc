#include "graph/expand.h"

#include <cmath>
#include <limits>

namespace fusesmith {
namespace {

// The mask step: hidden keys get -inf, an additive mask is added.
ValueId apply_mask(Builder& b, const Sdpa& op, ValueId scores, int64_t t, int64_t s, ValueId mask) {
  constexpr double kHidden = -std::numeric_limits<double>::infinity();
  switch (op.mask) {
    case Sdpa::Mask::none:
      return scores;
    case Sdpa::Mask::boolean:
      return b.node(MaskedFill{kHidden, true}, {scores, mask}, "masked");
    case Sdpa::Mask::causal:
      return b.node(MaskedFill{kHidden}, {scores, b.node(CausalMask{t, s, op.alignment}, {}, "hidden")},
                    "masked");
    case Sdpa::Mask::additive:
      return b.node(Add{}, {scores, mask}, "masked");
  }
  return scores;
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
  ValueId scores = b.node(Matmul{false, true}, {q, k}, "scores");
  if (op.scale_on == Sdpa::ScaleOn::scores) scores = b.node(Scale{scale}, {scores}, "scaled");
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

}  // namespace

std::optional<Graph> expansion(const Op& op, TypeSpan inputs) {
  if (const auto* sdpa = std::get_if<Sdpa>(&op)) return expand_sdpa(*sdpa, inputs);
  return std::nullopt;
}

}  // namespace fusesmith
