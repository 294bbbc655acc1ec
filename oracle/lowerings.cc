#include "oracle/lowerings.h"

#include <algorithm>

#include "graph/expand.h"
#include "oracle/formula_lowerings.h"

namespace fusesmith::oracle {
namespace {

using Letters = std::string;

bool has(const Letters& letters, char letter) { return letters.find(letter) != Letters::npos; }

bool repeats(const Letters& letters) {
  for (size_t i = 0; i < letters.size(); ++i) {
    if (has(letters.substr(i + 1), letters[i])) return true;
  }
  return false;
}

// The operand summed over the letters that neither the other operand nor the output has: axes of size 1 stay
// in their place.
ValueId sum_own(Builder& b, ValueId operand, const Letters& letters, const Letters& other, const Letters& out,
                const char* name) {
  if (repeats(letters)) return operand;  // a diagonal
  Shape axes;
  for (size_t i = 0; i < letters.size(); ++i) {
    if (!has(other, letters[i]) && !has(out, letters[i])) axes.push_back(static_cast<int64_t>(i));
  }
  return axes.empty() ? operand : b.node(ReduceSum{axes, true}, {operand}, name);
}

std::optional<Graph> built(Builder& b, ValueId output) {
  b.output(output);
  auto graph = b.build();
  if (!graph.ok()) return std::nullopt;
  return *graph;
}

std::optional<Graph> einsum_sum_first(const Op& op, TypeSpan inputs) {
  const auto* einsum = std::get_if<Einsum>(&op);
  if (!einsum || !is_narrow(inputs[0].dtype)) return std::nullopt;
  const auto labels = parse_equation(einsum->equation);
  if (!labels.ok()) return std::nullopt;
  Builder b;
  const ValueId x = b.input("a", inputs[0], Constant{0}), y = b.input("b", inputs[1], Constant{0});
  const ValueId left = sum_own(b, x, labels->a, labels->b, labels->out, "left_sum");
  const ValueId right = sum_own(b, y, labels->b, labels->a, labels->out, "right_sum");
  if (left == x && right == y) return std::nullopt;
  return built(b, b.node(*einsum, {left, right}, "product"));
}

std::optional<Graph> linear_bias_after(const Op& op, TypeSpan inputs) {
  if (!std::holds_alternative<Linear>(op) || inputs.size() < 3 || !is_narrow(inputs[0].dtype))
    return std::nullopt;
  Builder b;
  const ValueId x = b.input("x", inputs[0], Constant{0}), weight = b.input("weight", inputs[1], Constant{0}),
                bias = b.input("bias", inputs[2], Constant{0});
  const ValueId product = b.node(Linear{}, {x, weight}, "product");
  return built(b, b.node(Add{}, {product, bias}, "sum"));
}

// 1, as a scalar of the dtype: an input of the graph that the op does not have.
ValueId one(Builder& b, Dtype dtype) { return b.input("one", {dtype, {}}, Constant{1}); }

std::optional<Graph> div_by_reciprocal(const Op& op, TypeSpan inputs) {
  if (!std::holds_alternative<Div>(op) || !is_narrow(inputs[0].dtype)) return std::nullopt;
  Builder b;
  const ValueId x = b.input("x", inputs[0], Constant{0}), y = b.input("y", inputs[1], Constant{0});
  const ValueId reciprocal = b.node(Div{}, {one(b, inputs[1].dtype), y}, "reciprocal");
  return built(b, b.node(Mul{}, {x, reciprocal}, "product"));
}

std::optional<Graph> rsqrt_of_root(const Op& op, TypeSpan inputs) {
  if (!std::holds_alternative<Rsqrt>(op) || !is_narrow(inputs[0].dtype)) return std::nullopt;
  Builder b;
  const ValueId x = b.input("x", inputs[0], Constant{0}), unit = one(b, inputs[0].dtype);
  return built(b, b.node(Div{}, {unit, b.node(Sqrt{}, {x}, "root")}, "reciprocal"));
}

// As Llama defines it (LlamaRMSNorm of Hugging Face's transformers casts before the product).
std::optional<Graph> rms_norm_weight_after(const Op& op, TypeSpan inputs) {
  const auto* norm = std::get_if<RmsNorm>(&op);
  if (!norm || inputs.size() < 2 || !is_narrow(inputs[0].dtype)) return std::nullopt;
  Builder b;
  const ValueId x = b.input("x", inputs[0], Constant{0}), weight = b.input("weight", inputs[1], Constant{0});
  return built(b, b.node(Mul{}, {b.node(*norm, {x}, "normalised"), weight}, "product"));
}

std::optional<Graph> silu_of_sigmoid(const Op& op, TypeSpan inputs) {
  if (!std::holds_alternative<Silu>(op) || !is_narrow(inputs[0].dtype)) return std::nullopt;
  Builder b;
  const ValueId x = b.input("x", inputs[0], Constant{0});
  return built(b, b.node(Mul{}, {x, b.node(Sigmoid{}, {x}, "sigmoid")}, "product"));
}

std::optional<Graph> softmax_of_parts(const Op& op, TypeSpan inputs) {
  const auto* softmax = std::get_if<Softmax>(&op);
  if (!softmax || !is_narrow(inputs[0].dtype)) return std::nullopt;
  Builder b;
  const Shape axes = {softmax->axis};
  const ValueId x = b.input("x", inputs[0], Constant{0});
  const ValueId difference = b.node(Sub{}, {x, b.node(ReduceMax{axes, true}, {x}, "maximum")}, "difference");
  const ValueId e = b.node(Exp{}, {difference}, "exponentials");
  return built(b, b.node(Div{}, {e, b.node(ReduceSum{axes, true}, {e}, "sum")}, "quotient"));
}

// As rotate_half of Hugging Face's transformers: x cos + rotated x sin, each product rounded.
std::optional<Graph> rope_of_products(const Op& op, TypeSpan inputs) {
  const auto* rope = std::get_if<Rope>(&op);
  if (!rope || rope->pairing != Rope::Pairing::half || !is_narrow(inputs[0].dtype)) return std::nullopt;
  Builder b;
  const ValueId x = b.input("x", inputs[0], Constant{0}), cos = b.input("cos", inputs[1], Constant{0}),
                sin = b.input("sin", inputs[2], Constant{0});
  const int64_t size = inputs[0].shape.back(), rotated = rope->rotated(size), half = rotated / 2;
  const ValueId left = b.node(Slice{-1, 0, half}, {x}, "left"),
                right = b.node(Slice{-1, half, rotated}, {x}, "right");
  const auto turned = [&](Op sum, ValueId first, ValueId second, const std::string& name) {
    return b.node(std::move(sum),
                  {b.node(Mul{}, {first, cos}, name + "_cos"), b.node(Mul{}, {second, sin}, name + "_sin")},
                  name);
  };
  std::vector<ValueId> parts = {turned(Sub{}, left, right, "left_turned"),
                                turned(Add{}, right, left, "right_turned")};
  if (rotated < size) parts.push_back(b.node(Slice{-1, rotated, size}, {x}, "rest"));
  return built(b, b.node(Concat{-1}, parts, "turned"));
}

// q and k are multiplied by the root of the scale, as before their product in f16 to avoid an overflow.
std::optional<Graph> sdpa_scale_on_both(const Op& op, TypeSpan inputs) {
  const auto* sdpa = std::get_if<Sdpa>(&op);
  if (!sdpa || sdpa->scale_on == Sdpa::ScaleOn::both) return std::nullopt;
  Sdpa both = *sdpa;
  both.scale_on = Sdpa::ScaleOn::both;
  return *expansion(both, inputs);
}

// Of the scores, in the expansion of sdpa.
Scale scale_of(const Graph& attention) {
  for (const Node& node : attention.nodes()) {
    if (const auto* scale = std::get_if<Scale>(&node.op)) return *scale;
  }
  return {};
}

// q is multiplied by the scale, and rounded, before the product with k.
std::optional<Graph> sdpa_scale_on_q(const Op& op, TypeSpan inputs) {
  const auto* sdpa = std::get_if<Sdpa>(&op);
  if (!sdpa || sdpa->scale_on != Sdpa::ScaleOn::scores || sdpa->upcast || !is_narrow(inputs[0].dtype))
    return std::nullopt;
  const auto kept = expansion(op, inputs);
  const Graph& whole = *kept;
  Builder b;
  std::vector<ValueId> ids;
  for (const auto& input : whole.inputs()) ids.push_back(b.input(input.name, input.type, input.fill));
  const ValueId q = ids[0];
  for (const Node& node : whole.nodes()) {
    std::vector<ValueId> operands;
    for (const ValueId v : node.inputs) operands.push_back(ids[static_cast<size_t>(v)]);
    const auto* scale = std::get_if<Scale>(&node.op);
    const bool is_scores = std::holds_alternative<Matmul>(node.op) && operands[0] == q;
    if (is_scores) operands[0] = b.node(scale_of(whole), {q}, "q_scaled");
    ids.push_back(scale ? operands[0] : b.node(node.op, operands, node.name));
  }
  return built(b, ids[static_cast<size_t>(whole.outputs()[0])]);
}

// As FlashAttention of one block of keys: what the product with v reads is rounded, and divided afterwards.
std::optional<Graph> sdpa_unnormalised(const Op& op, TypeSpan inputs) {
  const auto* sdpa = std::get_if<Sdpa>(&op);
  if (!sdpa || !is_narrow(inputs[0].dtype)) return std::nullopt;
  Sdpa in_f32 = *sdpa;
  in_f32.upcast = true;
  const auto kept = expansion(in_f32, inputs);
  const Graph& whole = *kept;
  Builder b;
  std::vector<ValueId> ids;
  for (const auto& input : whole.inputs()) ids.push_back(b.input(input.name, input.type, input.fill));
  ValueId sum = -1;
  for (const Node& node : whole.nodes()) {
    std::vector<ValueId> operands;
    for (const ValueId v : node.inputs) operands.push_back(ids[static_cast<size_t>(v)]);
    if (std::holds_alternative<Softmax>(node.op)) {
      const ValueId largest = b.node(ReduceMax{{-1}, true}, operands, "largest");
      const ValueId e = b.node(Exp{}, {b.node(Sub{}, {operands[0], largest}, "difference")}, "exponentials");
      sum = b.node(ReduceSum{{-1}, true}, {e}, "sum");
      const ValueId rounded = b.node(Cast{inputs[0].dtype}, {e}, "rounded");
      ids.push_back(b.node(Cast{Dtype::f32}, {rounded}, "weights"));
      continue;
    }
    ids.push_back(b.node(node.op, operands, node.name));
    if (sum >= 0 && std::holds_alternative<Matmul>(node.op))
      ids.back() = b.node(Div{}, {ids.back(), sum}, "quotient");
  }
  return built(b, ids[static_cast<size_t>(whole.outputs()[0])]);
}

std::optional<Graph> logsumexp_of_parts(const Op& op, TypeSpan inputs) {
  const auto* own = std::get_if<LogSumExp>(&op);
  if (!own || !is_narrow(inputs[0].dtype)) return std::nullopt;
  Builder b;
  const ValueId x = b.input("x", inputs[0], Constant{0});
  const ValueId largest = b.node(ReduceMax{own->axes, true}, {x}, "largest");
  const ValueId e = b.node(Exp{}, {b.node(Sub{}, {x, largest}, "difference")}, "exponentials");
  const ValueId log = b.node(Log{}, {b.node(ReduceSum{own->axes, true}, {e}, "sum")}, "log");
  const ValueId y = b.node(Add{}, {log, largest}, "result");
  return built(b, b.node(graph::Reshape{infer(op, inputs)->at(0).shape}, {y}, "shaped"));
}

// As Liger's kernel in f16.
std::optional<Graph> softmax_backward_in_16_bits(const Op& op, TypeSpan inputs) {
  const auto* backward = std::get_if<SoftmaxBackward>(&op);
  if (!backward || !is_narrow(inputs[0].dtype)) return std::nullopt;
  Builder b;
  const ValueId dy = b.input("dy", inputs[0], Constant{0}), y = b.input("y", inputs[1], Constant{0});
  const ValueId sum = b.node(ReduceSum{{backward->axis}, true}, {b.node(Mul{}, {dy, y}, "products")}, "sum");
  return built(b, b.node(Mul{}, {y, b.node(Sub{}, {dy, sum}, "difference")}, "gradient"));
}

// As Triton converts, and PyTorch from 2.12 on a CPU.
std::optional<Graph> cast_saturating(const Op& op, TypeSpan inputs) {
  const auto* cast = std::get_if<Cast>(&op);
  const bool is_8_bit = cast && (cast->dtype == Dtype::f8e4m3 || cast->dtype == Dtype::f8e5m2);
  if (!is_8_bit || cast->overflow != Overflow::special) return std::nullopt;
  const double largest = max_finite(cast->dtype);
  Builder b;
  const ValueId x = b.input("x", inputs[0], Constant{0}),
                least = b.input("least", {inputs[0].dtype, {}}, Constant{-largest});
  const ValueId from_below = b.node(Maximum{}, {x, least}, "from_below");
  const ValueId turned = b.node(Scale{-1}, {from_below}, "turned");
  const ValueId clamped = b.node(Maximum{}, {turned, least}, "clamped");
  return built(b, b.node(*cast, {b.node(Scale{-1}, {clamped}, "turned_back")}, "rounded"));
}

constexpr Lowering kLowerings[] = {
    {"einsum.sum_first", "axes of one operand alone are summed, and the sums rounded, before the product",
     einsum_sum_first, false, "PyTorch"},
    {"einsum.sum_first_in_16_bits", "the same, and every partial sum is rounded, too", einsum_sum_first, true,
     ""},
    {"linear.bias_after", "the product is rounded before the bias is added", linear_bias_after, false,
     "PyTorch"},
    {"div.reciprocal", "a product with the rounded reciprocal of the divisor", div_by_reciprocal, false,
     "XLA"},
    {"cast.saturating", "numbers beyond the range of an 8-bit float become its largest", cast_saturating,
     false, "Triton", false, true, true},
    {"rsqrt.of_root", "the reciprocal of the rounded square root", rsqrt_of_root, false, "PyTorch"},
    {"rms_norm.weight_after", "the normalised value is rounded before the product with the weight",
     rms_norm_weight_after, false, "LlamaRMSNorm of Hugging Face's transformers"},
    {"silu.of_sigmoid", "the sigmoid is rounded before the product with x", silu_of_sigmoid, false,
     "a model that is exported to ONNX"},
    {"rope.of_products", "products with cosines and sines are rounded before they are added",
     rope_of_products, false, "apply_rotary_pos_emb of Hugging Face's transformers"},
    {"sdpa.scale_on_both", "q and k are multiplied by the root of the scale before their product",
     sdpa_scale_on_both, false, "PyTorch's math attention"},
    {"sdpa.scale_on_q", "q is multiplied by the scale, and rounded, before its product with k",
     sdpa_scale_on_q, false, "OPT in Hugging Face's transformers"},
    {"sdpa.unnormalised",
     "exponentials of scores in f32 are rounded, and their product with v is divided by their sum",
     sdpa_unnormalised, false, "FlashAttention"},
    {"logsumexp.of_parts", "differences, exponentials, their sum and its logarithm are rounded",
     logsumexp_of_parts, false, "PyTorch"},
    {"rms_norm_backward.of_normalised", "the projection is that on x r, and not on x",
     rms_norm_backward_of_normalised, false, "Apex"},
    {"rms_norm_backward.of_terms",
     "the gradient and the projection are multiplied by r before they are subtracted",
     rms_norm_backward_of_terms, false, "JAX"},
    {"layer_norm_backward.mean_last", "the mean of the gradient of x - mean(x) is subtracted last",
     layer_norm_backward_mean_last, false, "JAX"},
    {"layer_norm_backward.scale_and_shift",
     "multiples of dy, x and 1 are added, of which the mean of x is a factor",
     layer_norm_backward_scale_and_shift, false, "PyTorch", true},
    {"log_softmax.of_logsumexp", "the difference of x and its logsumexp, which is rounded to f32",
     log_softmax_of_logsumexp, false, "Liger's cross entropy"},
    {"log_softmax.of_rounded_sum", "the sum of exponentials and its logarithm are rounded",
     log_softmax_of_rounded_sum, false, "PyTorch"},
    {"sigmoid_backward.of_parts", "1 - y and its product with dy are rounded", sigmoid_backward_of_parts,
     false, "PyTorch"},
    {"tanh_backward.of_factors", "dy times the product of 1 - y and 1 + y", tanh_backward_of_factors, false,
     "code of an array library"},
    {"tanh_backward.of_parts", "the square of y and its difference from 1 are rounded",
     tanh_backward_of_parts, false, "PyTorch"},
    {"softmax_backward.of_products", "dy y is rounded before the sum, and y times the sum is subtracted",
     softmax_backward_of_products, false, "PyTorch"},
    {"softmax_backward.of_parts", "dy y, its sum, and dy minus the sum are rounded",
     softmax_backward_of_parts, false, "Liger"},
    {"softmax_backward.in_16_bits", "dy y, every partial sum of it, and dy minus the sum are rounded",
     softmax_backward_in_16_bits, true, ""},
    {"log_softmax_backward.scaled_last",
     "the gradient of a mean over rows is rounded before it is multiplied by that of the mean",
     log_softmax_backward_scaled_last, false, "Liger's cross entropy"},
    {"group_norm.of_rounded_statistics", "eps, the mean and the reciprocal deviation of a group are rounded",
     group_norm_of_rounded_statistics, false, "PyTorch"},
    {"softmax.of_logsumexp",
     "the exponential of the difference of x and its logsumexp, which is rounded to f32",
     softmax_of_logsumexp, false, "FlashAttention's backward pass", true},
    {"softmax.of_parts", "differences, exponentials and their sum are rounded", softmax_of_parts, false,
     "code of an array library"},
};

}  // namespace

std::span<const Lowering> lowerings() { return kLowerings; }

const Lowering* find_lowering(std::string_view name) {
  const auto* const found = std::find_if(std::begin(kLowerings), std::end(kLowerings),
                                         [&](const Lowering& lowering) { return name == lowering.name; });
  return found == std::end(kLowerings) ? nullptr : found;
}

bool allow_lowering(Contract& contract, const Graph& graph, const Node& node, const Lowering& lowering) {
  Types types;
  for (const ValueId v : node.inputs) types.push_back(graph.type(v));
  if (!lowering.graph(node.op, types)) return false;
  const Dtype dtype = graph.type(node.first_output).dtype;
  contract.deviations.push_back({Deviation::Kind::lower, node.name, dtype, 0, lowering.doc, lowering.name});
  return true;
}

bool allow_inner_roundings(Contract& contract, const Graph& graph, const Node& node, int count) {
  const Dtype dtype = graph.type(node.first_output).dtype;
  if (!is_narrow(dtype)) return false;
  const bool softmax = std::holds_alternative<Softmax>(node.op);
  contract.deviations.push_back(
      {Deviation::Kind::add, graph.name(node.first_output) + (softmax ? kExponentials : kInner), dtype,
       count * unit_roundoff(dtype), "values inside the op are rounded to its dtype"});
  return true;
}

}  // namespace fusesmith::oracle
