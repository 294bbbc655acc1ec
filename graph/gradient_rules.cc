// Rules of functions of one element, of sums and norms, and of movement. Those of products are in
// gradient_products.cc. Each is the derivative of the op's definition in graph/ops/; tests compare all of
// them with differences of the definition in f64 (graph/gradient_test.cc).
#include "graph/gradient_rules.h"

#include <cmath>
#include <numbers>
#include <numeric>

#include "graph/gradient_products.h"

namespace fusesmith::graph {
namespace gradient_parts {

Var broadcast_to(Var x, const Shape& shape) {
  return x.shape() == shape ? x : apply(BroadcastTo{shape}, {x});
}

Var zeros(Builder& builder, const Shape& shape) { return broadcast_to(constant(builder, 0), shape); }

Var reshape(Var x, const Shape& shape) { return x.shape() == shape ? x : apply(Reshape{shape}, {x}); }

Var sum_over(Var x, const Shape& axes) { return axes.empty() ? x : apply(ReduceSum{axes, true}, {x}); }

Var sum_to(Var x, const Shape& shape) {
  const size_t added = x.shape().size() - shape.size();
  Shape axes;
  for (size_t axis = 0; axis < x.shape().size(); ++axis) {
    if (axis < added || (shape[axis - added] == 1 && x.shape()[axis] != 1))
      axes.push_back(static_cast<int64_t>(axis));
  }
  return reshape(sum_over(x, axes), shape);
}

Var step(Var x) { return apply(ReluBackward{}, {constant(x.builder(), 1), x}); }

}  // namespace gradient_parts

namespace {

using namespace gradient_parts;

using Rule = Result<InputGradients>;

constexpr int64_t kMostTableRows = 1 << 16;  // of a causal_mask

// Functions of one element.

Rule of(const Add&, const ForwardNode& n) {
  return InputGradients{sum_to(n.dy(), n.in[0].shape()), sum_to(n.dy(), n.in[1].shape())};
}
Rule of(const Sub&, const ForwardNode& n) {
  return InputGradients{sum_to(n.dy(), n.in[0].shape()), sum_to(-n.dy(), n.in[1].shape())};
}
Rule of(const Mul&, const ForwardNode& n) {
  return InputGradients{sum_to(n.dy() * n.in[1], n.in[0].shape()), sum_to(n.dy() * n.in[0], n.in[1].shape())};
}
Rule of(const Div&, const ForwardNode& n) {
  const Var da = n.dy() / n.in[1];
  return InputGradients{sum_to(da, n.in[0].shape()), sum_to(-(da * n.out[0]), n.in[1].shape())};
}
Rule of(const Maximum&, const ForwardNode& n) {
  const Var first = n.dy() * step(n.in[0] - n.in[1]);
  return InputGradients{sum_to(first, n.in[0].shape()), sum_to(n.dy() - first, n.in[1].shape())};
}
Rule of(const Scale& op, const ForwardNode& n) { return InputGradients{apply(op, {n.dy()})}; }
Rule of(const Cast&, const ForwardNode& n) {
  const Dtype dtype = n.in[0].builder().type(n.in[0].value()).dtype;
  return InputGradients{apply(Cast{dtype}, {n.dy()})};
}
Rule of(const Dropout& op, const ForwardNode& n) { return InputGradients{apply(op, {n.dy()})}; }
Rule of(const Relu&, const ForwardNode& n) {
  return InputGradients{apply(ReluBackward{}, {n.dy(), n.in[0]})};
}
Rule of(const ReluBackward& op, const ForwardNode& n) {
  return InputGradients{sum_to(apply(op, {n.dy(), n.in[1]}), n.in[0].shape()),
                        zeros(n.dy().builder(), n.in[1].shape())};
}
Rule of(const Erf&, const ForwardNode& n) {
  const Var x = n.in[0];
  return InputGradients{n.dy() * (exp(x * x * -1) * (2 * std::numbers::inv_sqrtpi))};
}
Rule of(const Exp&, const ForwardNode& n) { return InputGradients{n.dy() * n.out[0]}; }
Rule of(const Log&, const ForwardNode& n) { return InputGradients{n.dy() / n.in[0]}; }
Rule of(const Sqrt&, const ForwardNode& n) { return InputGradients{n.dy() * 0.5 / n.out[0]}; }
Rule of(const Rsqrt&, const ForwardNode& n) { return InputGradients{n.dy() * (n.out[0] / n.in[0]) * -0.5}; }
Rule of(const Sigmoid&, const ForwardNode& n) { return InputGradients{n.dy() * (n.out[0] * (1 - n.out[0]))}; }
Rule of(const Tanh&, const ForwardNode& n) { return InputGradients{n.dy() * (1 - n.out[0] * n.out[0])}; }
Rule of(const Silu&, const ForwardNode& n) {
  const Var x = n.in[0], s = sigmoid(x);
  return InputGradients{n.dy() * (s * (1 + x * (1 - s)))};
}
Rule of(const Softcap& op, const ForwardNode& n) {
  const Var share = n.out[0] / op.cap;
  return InputGradients{n.dy() * (1 - share * share)};
}
Rule of(const Gelu& op, const ForwardNode& n) {
  const Var x = n.in[0];
  if (op.form == Gelu::Form::erf) {
    const Var share = (1 + erf(x * std::sqrt(0.5))) * 0.5;
    return InputGradients{n.dy() * (share + x * exp(x * x * -0.5) * std::sqrt(0.5 / M_PI))};
  }
  const double scale = std::sqrt(2 / M_PI), cubic = 0.044715;
  const Var square = x * x, t = tanh(x * (1 + square * cubic) * scale);
  const Var inner = (1 + square * (3 * cubic)) * scale;
  return InputGradients{n.dy() * ((1 + t) * 0.5 + x * (1 - t * t) * inner * 0.5)};
}

// Choice.

Rule of(const Where&, const ForwardNode& n) {
  const Var zero = zeros(n.dy().builder(), n.dy().shape()), condition = n.in[0];
  return InputGradients{std::nullopt, sum_to(apply(Where{}, {condition, n.dy(), zero}), n.in[1].shape()),
                        sum_to(apply(Where{}, {condition, zero, n.dy()}), n.in[2].shape())};
}
Rule of(const MaskedFill& op, const ForwardNode& n) {
  return InputGradients{apply(MaskedFill{0, op.inverted}, {n.dy(), n.in[1]}), std::nullopt};
}

// Sums along axes.

// A reduction's result or its gradient, repeated along the axes that it went over.
Var along(Var reduced, const Shape& axes, Var x) {
  Shape kept = x.shape();
  const auto resolved = resolve_axes(axes, x.rank());
  for (const int axis : *resolved) kept[static_cast<size_t>(axis)] = 1;
  return broadcast_to(reshape(reduced, kept), x.shape());
}

double terms(const ForwardNode& n) {
  const int64_t count = element_count(n.in[0].shape()) / element_count(n.out[0].shape());
  return static_cast<double>(count);
}

Rule of(const ReduceSum& op, const ForwardNode& n) { return InputGradients{along(n.dy(), op.axes, n.in[0])}; }
Rule of(const ReduceMean& op, const ForwardNode& n) {
  return InputGradients{along(n.dy() / terms(n), op.axes, n.in[0])};
}
Rule of(const ReduceMax& op, const ForwardNode& n) {
  const Var is_largest = 1 - step(along(n.out[0], op.axes, n.in[0]) - n.in[0]);
  return InputGradients{along(n.dy(), op.axes, n.in[0]) * (is_largest / sum_over(is_largest, op.axes))};
}
Rule of(const LogSumExp& op, const ForwardNode& n) {
  const Var x = n.in[0];
  return InputGradients{along(n.dy(), op.axes, x) * exp(x - along(n.out[0], op.axes, x))};
}
Rule of(const VarMean& op, const ForwardNode& n) {
  const double count = terms(n), divisor = count - static_cast<double>(op.correction);
  if (divisor == 0) return Problem{"a variance of one element with correction 1 has no gradient"};
  const Var centred = n.in[0] - along(n.out[1], op.axes, n.in[0]);
  return InputGradients{along(n.gradient[0] * 2 / divisor, op.axes, n.in[0]) * centred +
                        along(n.gradient[1] / count, op.axes, n.in[0])};
}
Rule of(const Softmax& op, const ForwardNode& n) {
  return InputGradients{n.out[0] * (n.dy() - sum(n.dy() * n.out[0], op.axis))};
}

// Norms. `g`: the gradient of the normalised values, which are h = centred * r.

Var norm_gradient(Var g, Var h, Var r, bool is_centred) {
  const Var rest = h * mean(g * h, -1);
  return r * (is_centred ? g - mean(g, -1) - rest : g - rest);
}

Rule of(const LayerNorm& op, const ForwardNode& n) {
  const Var x = n.in[0], centred = x - mean(x, -1), r = rsqrt(mean(centred * centred, -1) + op.eps);
  const Var h = centred * r, g = n.in.size() > 1 ? n.dy() * n.in[1] : n.dy();
  InputGradients all{norm_gradient(g, h, r, true)};
  if (n.in.size() > 1) all.emplace_back(sum_of_rows(n.dy() * h));
  if (n.in.size() > 2) all.emplace_back(sum_of_rows(n.dy()));
  return all;
}
Rule of(const RmsNorm& op, const ForwardNode& n) {
  const Var x = n.in[0], r = rsqrt(mean(x * x, -1) + op.eps), h = x * r;
  InputGradients all{norm_gradient(n.in.size() > 1 ? n.dy() * n.in[1] : n.dy(), h, r, false)};
  if (n.in.size() > 1) all.emplace_back(sum_of_rows(n.dy() * h));
  return all;
}
// As layer_norm without weight over the rows [n * groups, c / groups * ...].
Rule of(const GroupNorm& op, const ForwardNode& n) {
  const Shape& shape = n.in[0].shape();
  const Shape rows{shape[0] * op.groups, element_count(shape) / (shape[0] * op.groups)};
  Shape channels(shape.size() - 1, 1), others{0};
  channels[0] = shape[1];
  for (size_t axis = 2; axis < shape.size(); ++axis) others.push_back(static_cast<int64_t>(axis));
  const Var x = reshape(n.in[0], rows), centred = x - mean(x, -1);
  const Var r = rsqrt(mean(centred * centred, -1) + op.eps), h = centred * r;
  const Var g = n.in.size() > 1 ? n.dy() * reshape(n.in[1], channels) : n.dy();
  InputGradients all{reshape(norm_gradient(reshape(g, rows), h, r, true), shape)};
  const auto by_channel = [&](Var y) { return reshape(sum_over(y, others), {shape[1]}); };
  if (n.in.size() > 1) all.emplace_back(by_channel(n.dy() * reshape(h, shape)));
  if (n.in.size() > 2) all.emplace_back(by_channel(n.dy()));
  return all;
}

// Movement.

Rule reshaped_back(const ForwardNode& n) { return InputGradients{reshape(n.dy(), n.in[0].shape())}; }
Rule of(const Reshape&, const ForwardNode& n) { return reshaped_back(n); }
Rule of(const Unsqueeze&, const ForwardNode& n) { return reshaped_back(n); }
Rule of(const Squeeze&, const ForwardNode& n) { return reshaped_back(n); }
Rule of(const BroadcastTo&, const ForwardNode& n) { return InputGradients{sum_to(n.dy(), n.in[0].shape())}; }
Rule of(const Permute& op, const ForwardNode& n) {
  Shape back(op.dims.size());
  for (size_t i = 0; i < back.size(); ++i) back[static_cast<size_t>(op.dims[i])] = static_cast<int64_t>(i);
  return InputGradients{apply(Permute{back}, {n.dy()})};
}
Rule of(const Roll& op, const ForwardNode& n) {
  return InputGradients{apply(Roll{op.axis, -op.shift}, {n.dy()})};
}
Rule of(const Flip& op, const ForwardNode& n) { return InputGradients{apply(op, {n.dy()})}; }

Rule of(const Slice& op, const ForwardNode& n) {
  Builder& builder = n.dy().builder();
  const int64_t count = n.dy().shape()[static_cast<size_t>(*resolve_axis(op.axis, n.in[0].rank()))];
  if (op.step > 64) return Problem{"a step above 64 has no rule"};  // what arange can count in
  const Var places{builder, builder.node(Arange{count, op.start, op.step}, {})};
  return InputGradients{apply(IndexCopy{op.axis}, {zeros(builder, n.in[0].shape()), places, n.dy()})};
}
// In steps, since concat takes at most 16 inputs.
Rule of(const Chunk& op, const ForwardNode& n) {
  Var all = n.gradient[0];
  for (size_t i = 1; i < n.gradient.size(); ++i) all = apply(Concat{op.axis}, {all, n.gradient[i]});
  return InputGradients{all};
}
Rule of(const Concat& op, const ForwardNode& n) {
  const auto axis = static_cast<size_t>(*resolve_axis(op.axis, n.dy().rank()));
  InputGradients all;
  int64_t start = 0;
  for (const Var& part : n.in) {
    const int64_t stop = start + part.shape()[axis];
    all.emplace_back(apply(Slice{op.axis, start, stop}, {n.dy()}));
    start = stop;
  }
  return all;
}
Rule of(const IndexCopy& op, const ForwardNode& n) {
  const Var none = zeros(n.dy().builder(), n.in[2].shape());
  const auto axis = static_cast<size_t>(*resolve_axis(op.axis, n.dy().rank()));
  Shape swapped(n.dy().shape().size());  // the axis and the first one, exchanged
  std::iota(swapped.begin(), swapped.end(), 0);
  std::swap(swapped[0], swapped[axis]);
  const Var rows = apply(Gather{}, {apply(Permute{swapped}, {n.dy()}), n.in[1]});
  return InputGradients{apply(op, {n.dy(), n.in[1], none}), std::nullopt, apply(Permute{swapped}, {rows})};
}
// Of each row of the table, the sum of the rows of dy whose index names it. Others are masked, so that no
// infinity or NaN of theirs gets into the sum.
Rule of(const Gather&, const ForwardNode& n) {
  const Shape table = n.in[0].shape();
  if (table[0] > kMostTableRows) return Problem{"a table of more than 65536 rows"};
  graph::Builder& builder = n.dy().builder();
  const int64_t rows = table[0], count = element_count(n.in[1].shape());
  const int64_t width = element_count(Shape(table.begin() + 1, table.end()));
  const Var diagonal(builder, builder.node(CausalMask{rows, rows, CausalAlignment::top_left, 1}, {}));
  const Var elsewhere = apply(Gather{}, {diagonal, reshape(n.in[1], {count})});
  const Var each = broadcast_to(reshape(n.dy(), {count, 1, width}), {count, rows, width});
  const Var own = apply(MaskedFill{0}, {each, reshape(elsewhere, {count, rows, 1})});
  return InputGradients{reshape(sum_over(own, {0}), table), std::nullopt};
}

Rule of(const Arange&, const ForwardNode&) { return InputGradients{}; }
Rule of(const CausalMask&, const ForwardNode&) { return InputGradients{}; }

// Products.

Rule of(const Matmul& op, const ForwardNode& n) { return matmul_gradients(op, n); }
Rule of(const Linear&, const ForwardNode& n) { return linear_gradients(n); }
Rule of(const Einsum& op, const ForwardNode& n) { return einsum_gradients(op, n); }
Rule of(const Rope& op, const ForwardNode& n) { return rope_gradients(op, n); }

}  // namespace

Result<InputGradients> input_gradients(const Op& op, const ForwardNode& node) {
  return std::visit(
      [&]<class T>(const T& x) -> Rule {
        if constexpr (T::info.op_class == OpClass::composite) {
          check(false, "input_gradients: composite ops are differentiated through their formulas");
          return InputGradients{};
        } else {
          return of(x, node);
        }
      },
      op);
}

}  // namespace fusesmith::graph
