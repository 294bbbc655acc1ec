#include "fuzz/export/torch_ops.h"

#include "fuzz/export/cast_arguments.h"
#include "fuzz/export/script.h"
#include "fuzz/render/code.h"
#include "graph/expand.h"
#include "graph/formula.h"

namespace fusesmith::fuzz {
namespace {

struct TorchHelper {
  std::string_view name;
  std::string_view source;
};

// A function comes after those that it calls.
constexpr TorchHelper kHelpers[] = {
    {"widened", R"(def widened(x):
    return x if x.dtype == torch.float64 else x.float()
)"},
    {"aten", "aten = torch.ops.aten\n"},
    {"cast", R"(def cast(x, dtype):
    """An explicit cast, except in the reference in f64, which rounds nothing."""
    return x if x.dtype == torch.float64 else x.to(dtype)
)"},
    {"cast_to", R"(def cast_to(x, precision, min_exponent, lowest, largest, beyond, rounding, dtype):
    """x rounded to a quantized dtype; what is beyond its range becomes `beyond`, or saturates where that is None."""
    is_reference, x = x.dtype == torch.float64, x.double()
    exponent = (x.float().view(torch.int32) >> 23 & 255) - 127  # of which compilers have a kernel, unlike of frexp
    unit = torch.exp2(exponent.double().clamp(min=min_exponent) - precision + 1)
    whole = {"nearest": torch.round, "down": torch.floor, "up": torch.ceil}[rounding](x / unit)
    y = torch.where(torch.isfinite(x), torch.copysign(whole * unit, x), x)
    if lowest > 0 or beyond is None:  # f8e8m0 has no smaller numbers
        y = y.clamp(min=lowest)
    if beyond is None:
        y = y.clamp(max=largest)
    else:
        y = torch.where(y.abs() > largest, torch.copysign(torch.full_like(y, beyond), y), y)
    return y if is_reference else y.float().to(dtype)
)"},
    {"softcap", R"(def softcap(x, cap):
    return (cap * torch.tanh(widened(x) / cap)).to(x.dtype)
)"},
    {"hidden_keys", R"(def hidden_keys(rows, cols, offset, window, shows_future):
    """True for keys after the query's own (unless shows_future), and for those that are `window` or more before it."""
    own = torch.arange(rows, device=DEVICE)[:, None] + offset
    key = torch.arange(cols, device=DEVICE)[None, :]
    hidden = (key > own) & (not shows_future)
    return hidden | (key <= own - window) if window else hidden
)"},
    {"nan_without_keys", R"(def nan_without_keys(result, mask):
    """NaN, as softmax gives of no scores, for queries to which the mask shows no key: PyTorch returns 0."""
    hidden = ~mask if mask.dtype == torch.bool else mask == float("-inf")
    return result.masked_fill(hidden.all(-1, keepdim=True), float("nan"))
)"},
    {"rope", R"(def rope(x, cos, sin, interleaved, rotary_dim):
    x, rest = x[..., :rotary_dim], x[..., rotary_dim:]
    half = x.shape[-1] // 2
    wide, cos, sin = widened(x), widened(cos), widened(sin)
    a, b = (wide[..., 0::2], wide[..., 1::2]) if interleaved else (wide[..., :half], wide[..., half:])
    pair = a * cos - b * sin, b * cos + a * sin
    turned = (torch.stack(pair, -1).flatten(-2) if interleaved else torch.cat(pair, -1)).to(x.dtype)
    return torch.cat((turned, rest), -1) if rest.shape[-1] else turned
)"},
};

using Helpers = std::set<std::string_view>;
using In = const TorchOperands&;

std::string call(std::string_view function, const std::vector<std::string>& arguments) {
  return std::string(function) + "(" + comma_separated(arguments) + ")";
}
std::string integer(int64_t x) { return std::to_string(x); }
std::string flag(bool x) { return x ? "True" : "False"; }
std::string rounded_number(Dtype dtype, double x) { return number_text(round_to(dtype, x)); }
std::string operand_or_none(In in, size_t i) { return i < in.names.size() ? in[i] : "None"; }

std::string reduced(std::string_view function, In in, const Shape& axes, bool keepdims) {
  return call(function, {in[0], "dim=" + python_shape(axes), "keepdim=" + flag(keepdims)});
}

// Ops without a function of their own below.
template <class T>
requires(!spelling_of<T>().torch.empty()) std::string code(const T&, In in, Helpers& helpers) {
  constexpr std::string_view function = spelling_of<T>().torch;
  if (function.starts_with("aten.")) helpers.insert("aten");
  return call(function, in.names);
}

std::string code(const Einsum& op, In in, Helpers&) {
  return call("torch.einsum", {python_quoted(op.equation), in[0], in[1]});
}
std::string code(const Matmul& op, In in, Helpers&) {
  return call("torch.matmul", {in[0] + (op.transpose_a ? ".mT" : ""), in[1] + (op.transpose_b ? ".mT" : "")});
}
std::string code(const Add&, In in, Helpers&) { return in[0] + " + " + in[1]; }
std::string code(const Sub&, In in, Helpers&) { return in[0] + " - " + in[1]; }
std::string code(const Mul&, In in, Helpers&) { return in[0] + " * " + in[1]; }
std::string code(const Div&, In in, Helpers&) { return in[0] + " / " + in[1]; }
std::string code(const Scale& op, In in, Helpers&) {
  return in[0] + (op.inverse ? " / " : " * ") + rounded_number(Dtype::f32, op.factor);
}
std::string code(const ReluBackward&, In in, Helpers&) {
  return call("torch.where", {in[1] + " <= 0", "0.0", in[0]});
}
std::string code(const Gelu& op, In in, Helpers&) {
  return call("F.gelu",
              {in[0], op.form == Gelu::Form::erf ? "approximate=\"none\"" : "approximate=\"tanh\""});
}
std::string code(const Softcap& op, In in, Helpers& helpers) {
  helpers.insert({"widened", "softcap"});
  return call("softcap", {in[0], rounded_number(Dtype::f32, op.cap)});
}
std::string code(const Softmax& op, In in, Helpers&) {
  return call("F.softmax", {in[0], "dim=" + integer(op.axis)});
}
std::string code(const LayerNorm& op, In in, Helpers&) {
  return call("F.layer_norm", {in[0], python_shape({in.output.shape.back()}), operand_or_none(in, 1),
                               operand_or_none(in, 2), "eps=" + number_text(op.eps)});
}
std::string code(const RmsNorm& op, In in, Helpers&) {
  return call("F.rms_norm", {in[0], python_shape({in.output.shape.back()}), operand_or_none(in, 1),
                             "eps=" + number_text(op.eps)});
}
// Not F.group_norm, which refuses groups of one element.
std::string code(const GroupNorm& op, In in, Helpers&) {
  return call("torch.group_norm", {in[0], integer(op.groups), operand_or_none(in, 1), operand_or_none(in, 2),
                                   "eps=" + number_text(op.eps)});
}
std::string code(const ReduceSum& op, In in, Helpers&) {
  return reduced("torch.sum", in, op.axes, op.keepdims);
}
std::string code(const ReduceMean& op, In in, Helpers&) {
  return reduced("torch.mean", in, op.axes, op.keepdims);
}
std::string code(const ReduceMax& op, In in, Helpers&) {
  return reduced("torch.amax", in, op.axes, op.keepdims);
}
std::string code(const LogSumExp& op, In in, Helpers&) {
  return reduced("torch.logsumexp", in, op.axes, op.keepdims);
}
std::string code(const VarMean& op, In in, Helpers&) {
  return call("torch.var_mean", {in[0], "dim=" + python_shape(op.axes),
                                 "correction=" + integer(op.correction), "keepdim=" + flag(op.keepdims)});
}
std::string code(const Dropout&, In in, Helpers&) { return call("F.dropout", {in[0], "p=0.0"}); }
std::string code(const Cast& op, In in, Helpers& helpers) {
  if (is_quantized(op.dtype)) {
    helpers.insert("cast_to");
    return call("cast_to", {in[0], cast_arguments(op), std::string(torch_dtype(op.dtype))});
  }
  helpers.insert("cast");
  return call("cast", {in[0], std::string(torch_dtype(op.dtype))});
}
std::string code(const Reshape& op, In in, Helpers&) {
  return call(in[0] + ".reshape", {python_shape(op.shape)});
}
std::string code(const Permute& op, In in, Helpers&) {
  return call(in[0] + ".permute", {python_shape(op.dims)});
}
std::string code(const Unsqueeze& op, In in, Helpers&) {
  return call(in[0] + ".unsqueeze", {integer(op.axis)});
}
std::string code(const Squeeze& op, In in, Helpers&) { return call(in[0] + ".squeeze", {integer(op.axis)}); }
std::string code(const BroadcastTo& op, In in, Helpers&) {
  return call(in[0] + ".expand", {python_shape(op.shape)});
}
std::string code(const Slice& op, In in, Helpers&) {
  std::string index;
  for (int axis = *resolve_axis(op.axis, in.types[0].rank()); axis > 0; --axis) index += ":, ";
  index += integer(op.start) + ":" + integer(op.stop) + (op.step == 1 ? "" : ":" + integer(op.step));
  return in[0] + "[" + index + "]";
}
std::string code(const Chunk& op, In in, Helpers&) {
  return call(in[0] + ".chunk", {integer(op.chunks), "dim=" + integer(op.axis)});
}
std::string code(const Concat& op, In in, Helpers&) {
  return call("torch.cat", {"(" + comma_separated(in.names) + ")", "dim=" + integer(op.axis)});
}
std::string code(const Roll& op, In in, Helpers&) {
  return call("torch.roll", {in[0], integer(op.shift), integer(op.axis)});
}
std::string code(const Flip& op, In in, Helpers&) {
  return call("torch.flip", {in[0], python_shape(op.axes)});
}
std::string code(const Gather&, In in, Helpers&) {
  const bool is_embedding = in.types[0].rank() == 2 && is_float(in.types[0].dtype);
  return is_embedding ? call("F.embedding", {in[1], in[0]}) : in[0] + "[" + in[1] + "]";
}
std::string code(const IndexCopy& op, In in, Helpers&) {
  return call("torch.index_copy", {in[0], integer(op.axis), in[1] + ".long()", in[2]});
}
std::string code(const Arange& op, In, Helpers&) {
  return call("torch.arange", {integer(op.start), integer(op.start + op.count * op.step), integer(op.step),
                               "dtype=torch.int32", "device=DEVICE"});
}
// PyTorch refuses a number beyond the dtype instead of writing an infinity.
std::string code(const MaskedFill& op, In in, Helpers&) {
  return call(in[0] + ".masked_fill",
              {(op.inverted ? "~" : "") + in[1], rounded_number(in.output.dtype, op.value)});
}
std::string code(const CausalMask& op, In, Helpers& helpers) {
  helpers.insert("hidden_keys");
  return call("hidden_keys", {integer(op.rows), integer(op.cols),
                              "offset=" + integer(causal_offset(op.alignment, op.rows, op.cols)),
                              "window=" + integer(op.window), "shows_future=" + flag(op.shows_future)});
}
std::string code(const Rope& op, In in, Helpers& helpers) {
  helpers.insert({"widened", "rope"});
  return call("rope", {in[0], in[1], in[2], "interleaved=" + flag(op.pairing == Rope::Pairing::interleaved),
                       "rotary_dim=" + integer(op.rotated(in.output.shape.back()))});
}
// Masks that the function cannot make itself become boolean masks. Attention with soft capping, which it
// lacks, is written as its expansion by the caller.
std::string code(const Sdpa& op, In in, Helpers& helpers) {
  const bool upcast = op.upcast && in.output.dtype != Dtype::f32;
  std::vector<std::string> arguments(in.names.begin(), in.names.begin() + 3);
  const auto widen = [&](std::string& name) {
    if (upcast) name = "widened(" + name + ")";
  };
  for (std::string& argument : arguments) widen(argument);
  const int64_t rows = in.types[0].shape.end()[-2], cols = in.types[1].shape.end()[-2];
  const bool causal = op.mask == Sdpa::Mask::causal;
  std::string mask;
  if (op.takes_mask()) {
    mask = in[3];
    if (op.mask == Sdpa::Mask::additive) widen(mask);
    if (in.types[3].shape.size() < 2) mask = call("torch.atleast_2d", {mask});
  } else if (causal && op.window == 0 && causal_offset(op.alignment, rows, cols) == 0) {
    arguments.emplace_back("is_causal=True");
  } else if (causal || op.window > 0) {
    helpers.insert("hidden_keys");
    mask = "~" + call("hidden_keys", {integer(rows), integer(cols),
                                      "offset=" + integer(causal_offset(op.alignment, rows, cols)),
                                      "window=" + integer(op.window), "shows_future=" + flag(!causal)});
  }
  if (!mask.empty()) arguments.push_back("attn_mask=" + mask);
  if (op.scale != 0) arguments.push_back("scale=" + number_text(op.scale));
  if (op.grouped_heads) arguments.emplace_back("enable_gqa=True");
  std::string attention = call("F.scaled_dot_product_attention", arguments);
  if (!mask.empty()) {
    helpers.insert("nan_without_keys");
    attention = call("nan_without_keys", {attention, mask});
  }
  if (!upcast) return attention;
  helpers.insert({"widened", "cast"});
  return call("cast", {attention, std::string(torch_dtype(in.output.dtype))});
}

// The factors of a product of codes are read as f32.
TorchOperands with_factors(const Op& op, TorchOperands operands, Helpers& helpers) {
  if (info(op).op_class != OpClass::product) return operands;
  for (size_t i = 0; i < operands.names.size(); ++i) {
    if (!is_quantized(operands.types[i].dtype)) continue;
    helpers.insert("widened");
    operands.names[i] = call("widened", {operands.names[i]});
  }
  return operands;
}

}  // namespace

std::string_view torch_dtype(Dtype dtype) {
  switch (dtype) {
    case Dtype::f32:
      return "torch.float32";
    case Dtype::f16:
      return "torch.float16";
    case Dtype::bf16:
      return "torch.bfloat16";
    case Dtype::i32:
      return "torch.int32";
    case Dtype::boolean:
      return "torch.bool";
    case Dtype::f8e4m3:
      return "torch.float8_e4m3fn";
    case Dtype::f8e5m2:
      return "torch.float8_e5m2";
    case Dtype::f8e8m0:
      return "torch.float8_e8m0fnu";
    case Dtype::f4e2m1:  // which PyTorch has no conversions to, nor to s4: a dtype with the same numbers
      return "torch.float8_e4m3fn";
    case Dtype::s8:
    case Dtype::s4:
      return "torch.int8";
  }
  return "";
}

bool has_torch_code(const Op& op) {
  const auto* attention = std::get_if<Sdpa>(&op);
  if (attention) return attention->softcap == 0 && attention->scale_on == Sdpa::ScaleOn::scores;
  return !is_defined(op) || std::visit([]<class T>(const T&) { return !spelling_of<T>().torch.empty(); }, op);
}

std::string torch_code(const Op& op, const TorchOperands& operands, std::set<std::string_view>& helpers) {
  return std::visit(
      [&]<class T>(const T& x) -> std::string {
        if constexpr (DefinedOp<T> && spelling_of<T>().torch.empty())
          return check(false, "torch_code: an op that a formula defines"), "";
        else
          return code(x, with_factors(op, operands, helpers), helpers);
      },
      op);
}

std::vector<std::string_view> torch_helper_names() {
  std::vector<std::string_view> names;
  for (const TorchHelper& helper : kHelpers) names.push_back(helper.name);
  return names;
}

std::string torch_definitions(const std::set<std::string_view>& helpers) {
  std::string text;
  for (const TorchHelper& helper : kHelpers) {
    if (helpers.contains(helper.name)) text += std::string(helper.source) + "\n\n";
  }
  return text;
}

}  // namespace fusesmith::fuzz
