#include "fuzz/export/numpy_ops.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "graph/namespaces.h"

namespace fusesmith::fuzz {
namespace {

struct Definition {
  std::string_view name;
  std::string_view source;
  std::vector<std::string_view> uses = {};
};

// The one list; a function comes after those that it uses.
const Definition kDefinitions[] = {
    {"f32", R"(def f32(x):
    """x rounded to the nearest f32, as f64."""
    return np.asarray(x, np.float64).astype(np.float32).astype(np.float64)
)"},
    {"f16", R"(def f16(x):
    """x rounded to the nearest f16, as f64."""
    return np.asarray(x, np.float64).astype(np.float16).astype(np.float64)
)"},
    {"bf16", R"(def bf16(x):
    """x rounded to the nearest bf16 (8 significant bits, exponents of f32), as f64."""
    x = np.asarray(x, np.float64)
    _, exponent = np.frexp(x)
    unit = np.ldexp(1.0, np.maximum(exponent, -125) - 8)
    y = np.rint(x / unit) * unit
    return np.where(np.abs(y) >= 2.0**128, np.copysign(inf, x), y)
)"},
    {"cast_to", R"(def cast_to(x, precision, min_exponent, lowest, largest, beyond, rounding):
    """x rounded to a quantized dtype; what is beyond its range becomes `beyond`, or saturates where that is None."""
    x = np.asarray(x, np.float64)
    _, exponent = np.frexp(x)
    unit = np.ldexp(1.0, np.maximum(exponent - 1, min_exponent) - precision + 1)
    y = np.copysign({"nearest": np.rint, "down": np.floor, "up": np.ceil}[rounding](x / unit) * unit, x)
    y = np.where(np.isinf(x), x, y)
    clamped = np.clip(y, lowest, largest)
    if lowest > 0 or beyond is None:  # f8e8m0 has no smaller numbers
        y = np.where(y < lowest, lowest, y)
    return np.where(np.isnan(y) | (y == clamped), y, clamped if beyond is None else np.copysign(beyond, y))
)"},
    {"einsum", R"(def einsum(a, b, equation):
    return np.einsum(equation, a, b)
)"},
    {"matmul", R"(def matmul(a, b, transpose_a, transpose_b):
    return np.matmul(np.swapaxes(a, -1, -2) if transpose_a else a, np.swapaxes(b, -1, -2) if transpose_b else b)
)"},
    {"linear", R"(def linear(x, weight, bias=0.0):
    return np.matmul(x, weight.T) + bias
)"},
    {"add", R"(def add(a, b):
    return a + b
)"},
    {"sub", R"(def sub(a, b):
    return a - b
)"},
    {"mul", R"(def mul(a, b):
    return a * b
)"},
    {"div", R"(def div(a, b):
    return a / b
)"},
    {"maximum", R"(def maximum(a, b):
    return np.maximum(a, b)
)"},
    {"scale",
     R"(def scale(x, factor, inverse):
    factor = f32(factor)
    return x / factor if inverse else x * factor
)",
     {"f32"}},
    {"relu", R"(def relu(x):
    return np.maximum(x, 0.0)
)"},
    {"relu_backward", R"(def relu_backward(dy, x):
    return np.where(x <= 0, 0.0, dy)
)"},
    {"sigmoid", R"(def sigmoid(x):
    small = np.exp(-np.abs(x))
    return np.where(x < 0, small / (1 + small), 1 / (1 + small))
)"},
    {"gelu",
     R"(def gelu(x, form):
    if form == "tanh":
        return x * sigmoid(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))
    return 0.5 * x * np.vectorize(math.erfc, otypes=[float])(-x / math.sqrt(2))
)",
     {"sigmoid"}},
    {"silu",
     R"(def silu(x):
    return x * sigmoid(x)
)",
     {"sigmoid"}},
    {"tanh", R"(def tanh(x):
    return np.tanh(x)
)"},
    {"erf", R"(def erf(x):
    return np.vectorize(math.erf, otypes=[float])(x)
)"},
    {"exp", R"(def exp(x):
    return np.exp(x)
)"},
    {"log", R"(def log(x):
    return np.log(x)
)"},
    {"sqrt", R"(def sqrt(x):
    return np.sqrt(x)
)"},
    {"rsqrt", R"(def rsqrt(x):
    return 1 / np.sqrt(x)
)"},
    {"softcap",
     R"(def softcap(x, cap):
    cap = f32(cap)
    return cap * np.tanh(x / cap)
)",
     {"f32"}},
    {"softmax", R"(def softmax(x, axis):
    y = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return y / np.sum(y, axis=axis, keepdims=True)
)"},
    {"normalized",
     R"(def normalized(x, axes, eps):
    """(x - mean) / sqrt(variance + eps); the sum of variance and eps is an f32."""
    centred = x - np.mean(x, axis=axes, keepdims=True)
    return centred / np.sqrt(f32(np.mean(centred**2, axis=axes, keepdims=True) + f32(eps)))
)",
     {"f32"}},
    {"layer_norm",
     R"(def layer_norm(x, weight=1.0, bias=0.0, *, eps):
    return normalized(x, (-1,), eps) * weight + bias
)",
     {"normalized"}},
    {"rms_norm",
     R"(def rms_norm(x, weight=1.0, *, eps):
    return x / np.sqrt(f32(np.mean(x**2, axis=-1, keepdims=True) + f32(eps))) * weight
)",
     {"f32"}},
    {"group_norm",
     R"(def group_norm(x, weight=None, bias=None, *, groups, eps):
    y = normalized(x.reshape(x.shape[0], groups, -1), (2,), eps).reshape(x.shape)
    channels = (1, -1) + (1,) * (x.ndim - 2)
    y = y if weight is None else y * weight.reshape(channels)
    return y if bias is None else y + bias.reshape(channels)
)",
     {"normalized"}},
    {"reduce_sum", R"(def reduce_sum(x, axes, keepdims):
    return np.sum(x, axis=axes, keepdims=keepdims)
)"},
    {"reduce_mean", R"(def reduce_mean(x, axes, keepdims):
    return np.mean(x, axis=axes, keepdims=keepdims)
)"},
    {"reduce_max", R"(def reduce_max(x, axes, keepdims):
    return np.max(x, axis=axes, keepdims=keepdims)
)"},
    {"var_mean", R"(def var_mean(x, axes, correction, keepdims):
    mean = np.mean(x, axis=axes, keepdims=True)
    squares = np.sum((x - mean)**2, axis=axes, keepdims=keepdims)
    count = x.size // mean.size
    return squares / np.float64(count - correction), mean.reshape(squares.shape)
)"},
    {"logsumexp", R"(def logsumexp(x, axes, keepdims):
    largest = np.max(x, axis=axes, keepdims=True)
    largest = np.where(np.isfinite(largest), largest, 0.0)
    total = np.sum(np.exp(x - largest), axis=axes, keepdims=keepdims)
    return np.log(total) + largest.reshape(total.shape)
)"},
    {"dropout", R"(def dropout(x, p):
    return x  # p is 0
)"},
    {"reshape", R"(def reshape(x, shape):
    return np.reshape(x, shape)
)"},
    {"permute", R"(def permute(x, dims):
    return np.transpose(x, dims)
)"},
    {"unsqueeze", R"(def unsqueeze(x, axis):
    return np.expand_dims(x, axis)
)"},
    {"squeeze", R"(def squeeze(x, axis):
    return np.squeeze(x, axis)
)"},
    {"broadcast_to", R"(def broadcast_to(x, shape):
    return np.broadcast_to(x, shape)
)"},
    {"slice", R"(def slice(x, axis, start, stop, step):
    return np.take(x, range(start, stop, step), axis)
)"},
    {"chunk", R"(def chunk(x, axis, chunks):
    return np.split(x, chunks, axis)
)"},
    {"concat", R"(def concat(*parts, axis):
    return np.concatenate(parts, axis)
)"},
    {"roll", R"(def roll(x, axis, shift):
    return np.roll(x, shift, axis)
)"},
    {"flip", R"(def flip(x, axes):
    return np.flip(x, axes)
)"},
    {"gather", R"(def gather(table, indices):
    return table[indices]
)"},
    {"index_copy", R"(def index_copy(x, indices, source, axis):
    y = np.moveaxis(x, axis, 0).copy()
    y[indices] = np.moveaxis(source, axis, 0)
    return np.moveaxis(y, 0, axis)
)"},
    {"arange", R"(def arange(count, start, step):
    return start + step * np.arange(count)
)"},
    {"where", R"(def where(condition, a, b):
    return np.where(condition, a, b)
)"},
    {"masked_fill", R"(def masked_fill(x, mask, value, inverted):
    return np.where(mask != inverted, value, x)
)"},
    {"causal_mask", R"(def causal_mask(rows, cols, alignment, window, shows_future):
    """True for hidden keys."""
    own = np.arange(rows)[:, None] + (cols - rows if alignment == "bottom_right" else 0)
    key = np.arange(cols)[None, :]
    after = np.zeros((rows, cols), bool) if shows_future else key > own
    return after | (key <= own - window) if window else after
)"},
    {"rope", R"(def rope(x, cos, sin, pairing, rotary_dim):
    x, rest = np.split(x, [rotary_dim or x.shape[-1]], -1)
    half = x.shape[-1] // 2
    a, b = (x[..., :half], x[..., half:]) if pairing == "half" else (x[..., 0::2], x[..., 1::2])
    pair = a * cos - b * sin, b * cos + a * sin
    turned = np.concatenate(pair, -1) if pairing == "half" else np.stack(pair, -1).reshape(x.shape)
    return np.concatenate((turned, rest), -1)
)"},
};

const Definition* find(std::string_view name) {
  const auto found = std::find_if(std::begin(kDefinitions), std::end(kDefinitions),
                                  [&](const Definition& d) { return d.name == name; });
  return found == std::end(kDefinitions) ? nullptr : found;
}

}  // namespace

bool has_numpy_definition(std::string_view name) { return find(name) != nullptr; }

std::string numpy_definitions(const std::set<std::string, std::less<>>& names) {
  std::set<std::string_view> wanted(names.begin(), names.end());
  for (size_t i = std::size(kDefinitions); i-- > 0;) {
    const Definition& definition = kDefinitions[i];
    if (wanted.contains(definition.name)) wanted.insert(definition.uses.begin(), definition.uses.end());
  }
  std::string text;
  for (const Definition& definition : kDefinitions) {
    if (wanted.contains(definition.name))
      text += (text.empty() ? "" : "\n\n") + std::string(definition.source);
  }
  return text;
}

}  // namespace fusesmith::fuzz
