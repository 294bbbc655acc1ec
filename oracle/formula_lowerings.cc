// Lowerings that are formulas (graph/formula.h): what they compute is the number of the op where nothing is
// rounded.
#include "oracle/formula_lowerings.h"

#include <algorithm>

#include "graph/formula_nodes.h"

namespace fusesmith::oracle {
namespace {

// Another formula of a defined op, which is the same number where nothing is rounded. `define` gets the op.
template <DefinedOp T, class DefineOf>
std::optional<Graph> by_formula(const Op& op, TypeSpan inputs, DefineOf define) {
  const auto* own = std::get_if<T>(&op);
  if (!own) return std::nullopt;
  auto graph = formula_graph(T::operands, inputs, [&](const Vars& in) { return define(*own, in); });
  return graph.ok() ? std::optional(std::move(*graph)) : std::nullopt;
}

// An f32 value that is rounded to the dtype.
graph::Var through(Dtype dtype, graph::Var x) { return apply(Cast{Dtype::f32}, {apply(Cast{dtype}, {x})}); }

}  // namespace

std::optional<Graph> rms_norm_backward_of_normalised(const Op& op, TypeSpan inputs) {
  return by_formula<RmsNormBackward>(op, inputs, [](const RmsNormBackward& own, const Vars& in) -> Vars {
    const Var dy = in[0], x = in[1], r = rsqrt(mean(x * x, -1) + own.eps), h = x * r, g = dy * in[2];
    return {r * (g - h * mean(g * h, -1)), sum_of_rows(dy * h)};
  });
}

// As autograd and JAX differentiate the definition: each term is multiplied by r before they are subtracted.
std::optional<Graph> rms_norm_backward_of_terms(const Op& op, TypeSpan inputs) {
  return by_formula<RmsNormBackward>(op, inputs, [](const RmsNormBackward& own, const Vars& in) -> Vars {
    const Var dy = in[0], x = in[1], r = rsqrt(mean(x * x, -1) + own.eps), g = dy * in[2];
    return {g * r - x * (r * r * r * mean(g * x, -1)), sum_of_rows(dy * (x * r))};
  });
}

// As autograd and JAX differentiate the definition: the mean of the gradient of x - mean(x) comes last.
std::optional<Graph> layer_norm_backward_mean_last(const Op& op, TypeSpan inputs) {
  return by_formula<LayerNormBackward>(op, inputs, [](const LayerNormBackward& own, const Vars& in) -> Vars {
    const Var dy = in[0], x = in[1], centred = x - mean(x, -1);
    const Var r = rsqrt(mean(centred * centred, -1) + own.eps), g = dy * in[2];
    const Var of_centred = g * r - centred * (r * r * r * mean(g * centred, -1));
    return {of_centred - mean(of_centred, -1), sum_of_rows(dy * (centred * r)), sum_of_rows(dy)};
  });
}

// As PyTorch's kernel for CPUs, which adds multiples of dy, x and 1.
std::optional<Graph> layer_norm_backward_scale_and_shift(const Op& op, TypeSpan inputs) {
  return by_formula<LayerNormBackward>(op, inputs, [](const LayerNormBackward& own, const Vars& in) -> Vars {
    const Var dy = in[0], x = in[1], m = mean(x, -1), centred = x - m;
    const Var r = rsqrt(mean(centred * centred, -1) + own.eps), g = dy * in[2], mean_g = mean(g, -1);
    const Var of_x = (mean_g * m - mean(g * x, -1)) * (r * r * r), of_one = -(of_x * m) - mean_g * r;
    return {r * g + of_x * x + of_one, sum_of_rows(dy * (x * r - m * r)), sum_of_rows(dy)};
  });
}

// As fused kernels of cross entropy, which keep one number for each row.
std::optional<Graph> log_softmax_of_logsumexp(const Op& op, TypeSpan inputs) {
  return by_formula<LogSoftmax>(op, inputs, [](const LogSoftmax& own, const Vars& in) -> Vars {
    return {in[0] - apply(LogSumExp{{own.axis}, true}, {in[0]})};
  });
}

// As backward passes of attention, which keep one number for each row.
std::optional<Graph> softmax_of_logsumexp(const Op& op, TypeSpan inputs) {
  const auto* softmax = std::get_if<Softmax>(&op);
  if (!softmax) return std::nullopt;
  constexpr graph::Operand operands[] = {{"x"}};
  auto graph = formula_graph(operands, inputs, [&](const Vars& in) -> Vars {
    return {exp(in[0] - apply(LogSumExp{{softmax->axis}, true}, {in[0]}))};
  });
  return graph.ok() ? std::optional(std::move(*graph)) : std::nullopt;
}

// As PyTorch's kernel for f16 on a CPU.
std::optional<Graph> sigmoid_backward_of_parts(const Op& op, TypeSpan inputs) {
  if (!std::holds_alternative<SigmoidBackward>(op) || !is_narrow(inputs[0].dtype)) return std::nullopt;
  const Dtype dtype = inputs[0].dtype;
  return by_formula<SigmoidBackward>(op, inputs, [&](const SigmoidBackward&, const Vars& in) -> Vars {
    const graph::Var dy = in[0], y = in[1];
    return {through(dtype, dy * through(dtype, 1 - y)) * y};
  });
}

// Loses nothing where y is near 1 or -1.
std::optional<Graph> tanh_backward_of_factors(const Op& op, TypeSpan inputs) {
  return by_formula<TanhBackward>(op, inputs, [](const TanhBackward&, const Vars& in) -> Vars {
    return {in[0] * ((1 - in[1]) * (1 + in[1]))};
  });
}

// As PyTorch's kernels for GPUs.
std::optional<Graph> softmax_backward_of_products(const Op& op, TypeSpan inputs) {
  if (!std::holds_alternative<SoftmaxBackward>(op)) return std::nullopt;
  const Dtype dtype = inputs[0].dtype;
  return by_formula<SoftmaxBackward>(op, inputs, [&](const SoftmaxBackward& own, const Vars& in) -> Vars {
    const graph::Var exact = in[0] * in[1], product = is_narrow(dtype) ? through(dtype, exact) : exact;
    return {product - in[1] * sum(product, own.axis)};
  });
}

// As PyTorch's kernel for the last axis on a CPU, which keeps both in the dtype of its operand.
std::optional<Graph> log_softmax_of_rounded_sum(const Op& op, TypeSpan inputs) {
  if (!std::holds_alternative<LogSoftmax>(op) || !is_narrow(inputs[0].dtype)) return std::nullopt;
  const Dtype dtype = inputs[0].dtype;
  return by_formula<LogSoftmax>(op, inputs, [&](const LogSoftmax& own, const Vars& in) -> Vars {
    const graph::Var shifted = in[0] - largest(in[0], own.axis);
    return {shifted - through(dtype, log(through(dtype, sum(exp(shifted), own.axis))))};
  });
}

// As Liger's kernel in bf16.
std::optional<Graph> softmax_backward_of_parts(const Op& op, TypeSpan inputs) {
  if (!std::holds_alternative<SoftmaxBackward>(op) || !is_narrow(inputs[0].dtype)) return std::nullopt;
  const Dtype dtype = inputs[0].dtype;
  return by_formula<SoftmaxBackward>(op, inputs, [&](const SoftmaxBackward& own, const Vars& in) -> Vars {
    const graph::Var total = through(dtype, sum(through(dtype, in[0] * in[1]), own.axis));
    return {in[1] * through(dtype, in[0] - total)};
  });
}

// As PyTorch's kernel for GPUs.
std::optional<Graph> tanh_backward_of_parts(const Op& op, TypeSpan inputs) {
  if (!std::holds_alternative<TanhBackward>(op) || !is_narrow(inputs[0].dtype)) return std::nullopt;
  const Dtype dtype = inputs[0].dtype;
  return by_formula<TanhBackward>(op, inputs, [&](const TanhBackward&, const Vars& in) -> Vars {
    return {in[0] * through(dtype, 1 - through(dtype, in[1] * in[1]))};
  });
}

// As Liger's cross entropy, whose forward pass stores the gradient of a mean over rows for dy = 1: sum(dy) of
// a row is then 1 / n.
std::optional<Graph> log_softmax_backward_scaled_last(const Op& op, TypeSpan inputs) {
  const auto* backward = std::get_if<LogSoftmaxBackward>(&op);
  if (!backward || !is_narrow(inputs[0].dtype)) return std::nullopt;
  const TensorType& type = inputs[0];
  const auto axis = static_cast<size_t>(*resolve_axis(backward->axis, type.rank()));
  const int64_t rows =
      std::max<int64_t>(1, element_count(type.shape) / std::max<int64_t>(1, type.shape[axis]));
  const auto n = static_cast<double>(rows);
  return by_formula<LogSoftmaxBackward>(
      op, inputs, [&](const LogSoftmaxBackward& own, const Vars& in) -> Vars {
        const graph::Var total = sum(in[0], own.axis);
        const graph::Var inverse = total / maximum(total * total, 0x1p-120);  // 0 of an ignored row
        return {through(type.dtype, (in[0] * inverse - exp(in[1])) / n) * (total * n)};
      });
}

// As PyTorch's kernels for GPUs, which then multiply x by one number of its channel and add another one.
std::optional<Graph> group_norm_of_rounded_statistics(const Op& op, TypeSpan inputs) {
  const auto* norm = std::get_if<GroupNorm>(&op);
  if (!norm || !is_narrow(inputs[0].dtype) || element_count(inputs[0].shape) == 0) return std::nullopt;
  const TensorType& type = inputs[0];
  const int64_t channels = type.shape[1] / norm->groups;
  const int64_t rest = element_count(type.shape) / (type.shape[0] * type.shape[1]);
  const double eps = round_to(type.dtype, norm->eps);
  Builder b;
  Vars given;
  for (const TensorType& input : inputs) {
    const std::string name = "x" + std::to_string(given.size());
    given.emplace_back(b, b.input(name, input, Constant{0}));
  }
  const auto operand = [&](size_t i, Shape shape) {
    return apply(graph::Reshape{std::move(shape)}, {apply(Cast{Dtype::f32}, {given[i]})});
  };
  const Var x = operand(0, {type.shape[0], norm->groups, channels * rest});
  const Var exact_mean = mean(x, -1), centred = x - exact_mean;
  const auto of_group = [&](Var y) {
    return apply(graph::Reshape{{type.shape[0], norm->groups, 1, 1}}, {through(type.dtype, y)});
  };
  const Var m = of_group(exact_mean), r = of_group(rsqrt(mean(centred * centred, -1) + eps));
  const Shape of_channels = {norm->groups, channels, 1};
  const Var scale = inputs.size() > 1 ? r * operand(1, of_channels) : r;
  const Var shift = inputs.size() > 2 ? operand(2, of_channels) - m * scale : -(m * scale);
  const Var y = apply(graph::Reshape{{type.shape[0], norm->groups, channels, rest}}, {x}) * scale + shift;
  b.output(apply(Cast{type.dtype}, {apply(graph::Reshape{type.shape}, {y})}).value());
  auto graph = b.build();
  return graph.ok() ? std::optional(std::move(*graph)) : std::nullopt;
}

}  // namespace fusesmith::oracle
