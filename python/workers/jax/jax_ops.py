"""Every op of docs/ops.md in JAX.

LOWERINGS maps an op to a function of (node, types of its inputs) that returns a function of arrays. What jax.nn and
jax.numpy compose of several operations rounds after each of them in 16 bits, and so does lax.logistic on the CPU; the
op rounds once. So these compute in f32 (`in_f32`), as JAX's users do who want that, unless `native_16_bit` is set.
Norms are in none of JAX's own modules.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np
from fusesmith.vocabulary import QUANTIZED, spelled, spelled_functions
from jax import lax
from jax_casts import DTYPES, cast
from program import number, simple

__all__ = ["DTYPES", "LOWERINGS"]
native_16_bit = False  # set by the worker before it lowers a graph: functions get their 16-bit operands as they are


def in_f32(function):
    """Computes in f32 and rounds the result once to the dtype of the first operand."""
    def run(x, *others):
        if native_16_bit:
            return function(x, *others).astype(x.dtype)
        wide = [other.astype(jnp.float32) for other in (x, *others)]
        return function(*wide).astype(x.dtype)

    return run


def matmul(node, types):
    flip_a, flip_b = node["transpose_a"], node["transpose_b"]
    return product(lambda a, b: jnp.matmul(a.mT if flip_a else a, b.mT if flip_b else b), types)


def product(function, types):
    """Of quantized factors, whose numbers are exact in f32; the bias of linear is f32."""
    if types[0].dtype not in QUANTIZED:
        return function
    return lambda *operands: function(*(x.astype(jnp.float32) for x in operands))


def linear(_node, types):
    if types[0].dtype in QUANTIZED:
        return product(lambda x, weight, *bias: sum(bias, jnp.matmul(x, weight.T)), types)
    if len(types) == 2:
        return lambda x, weight: jnp.matmul(x, weight.T)
    return in_f32(lambda x, weight, bias: jnp.matmul(x, weight.T) + bias)


def scale(node, _types):
    # A Python number would be rounded to the dtype of x first.
    factor = np.float32(node["factor"])
    return in_f32((lambda x: x / factor) if node["inverse"] else (lambda x: x * factor))


def gelu(node, _types):
    return in_f32(lambda x: jax.nn.gelu(x, approximate=node["form"] == "tanh"))


def softcap(node, _types):
    cap = np.float32(node["cap"])
    return in_f32(lambda x: cap * jnp.tanh(x / cap))


def softmax(node, _types):
    return in_f32(lambda x: jax.nn.softmax(x, axis=node["axis"]))


def normalized(x, axes, eps):
    mean = jnp.mean(x, axes, keepdims=True)
    return (x - mean) * lax.rsqrt(jnp.var(x, axes, keepdims=True) + np.float32(eps))


def layer_norm(node, _types):
    def run(x, weight=None, bias=None):
        y = normalized(x, -1, node["eps"])
        y = y if weight is None else y * weight
        return y if bias is None else y + bias

    return in_f32(run)


def rms_norm(node, _types):
    def run(x, weight=None):
        y = x * lax.rsqrt(jnp.mean(jnp.square(x), -1, keepdims=True) + np.float32(node["eps"]))
        return y if weight is None else y * weight

    return in_f32(run)


def group_norm(node, types):
    shape = types[0].shape
    per_channel = (1, shape[1]) + (1,) * (len(shape) - 2)

    def run(x, weight=None, bias=None):
        y = normalized(x.reshape(shape[0], node["groups"], -1), -1, node["eps"]).reshape(shape)
        y = y if weight is None else y * weight.reshape(per_channel)
        return y if bias is None else y + bias.reshape(per_channel)

    return in_f32(run)


def reduction(function):
    return lambda node, _types: lambda x: function(x, axis=tuple(node["axes"]), keepdims=node["keepdims"])


def logsumexp(node, _types):
    axes, keepdims = tuple(node["axes"]), node["keepdims"]
    return in_f32(lambda x: jax.nn.logsumexp(x, axis=axes, keepdims=keepdims))


def var_mean(node, _types):
    axes, keepdims, correction = tuple(node["axes"]), node["keepdims"], node["correction"]
    return lambda x: (jnp.var(x, axes, correction=correction, keepdims=keepdims), jnp.mean(x, axes, keepdims=keepdims))


def masked_fill(node, _types):
    value = number(node["value"])

    def run(x, mask):
        fill = jnp.asarray(np.float64(value), jnp.float32).astype(x.dtype)
        return jnp.where(mask, x, fill) if node["inverted"] else jnp.where(mask, fill, x)

    return run


def slice_(node, types):
    index = [slice(None)] * len(types[0].shape)
    index[node["axis"]] = slice(node["start"], node["stop"], node["step"])
    return lambda x: x[tuple(index)]


def index_copy(node, types):
    before = (slice(None),) * (node["axis"] % len(types[0].shape))
    return lambda x, index, source: x.at[(*before, index)].set(source)


def arange(node, _types):
    stop = node["start"] + node["count"] * node["step"]
    return lambda: jnp.arange(node["start"], stop, node["step"], dtype=jnp.int32)


def hidden_keys(rows, cols, alignment, window, shows_future):
    own = jnp.arange(rows)[:, None] + (cols - rows if alignment == "bottom_right" else 0)
    key = jnp.arange(cols)[None, :]
    hidden = jnp.zeros((rows, cols), bool) if shows_future else key > own
    return hidden | (key <= own - window) if window else hidden


def causal_mask(node, _types):
    given = [node[key] for key in ("rows", "cols", "alignment", "window", "shows_future")]
    return lambda: hidden_keys(*given)


def rope(node, _types):
    def half(x, cos, sin):
        a, b = jnp.split(x, 2, -1)
        return jnp.concatenate((a * cos - b * sin, b * cos + a * sin), -1)

    def interleaved(x, cos, sin):
        a, b = x[..., 0::2], x[..., 1::2]
        return jnp.stack((a * cos - b * sin, b * cos + a * sin), -1).reshape(x.shape)

    turned = half if node["pairing"] == "half" else interleaved
    rotary_dim = node["rotary_dim"]

    def part(x, cos, sin):
        return jnp.concatenate((turned(x[..., :rotary_dim], cos, sin), x[..., rotary_dim:]), -1)

    return in_f32(part if rotary_dim else turned)


def sdpa(node, types):
    """jax.nn.dot_product_attention where it has what the node asks for, else its definition.

    It has no f16 on the CPU ("The precision 'F16_F16_F32' is not supported by dot_general").
    """
    q, k, v = types[:3]
    fits = len(q.shape) <= 4 and k.shape == v.shape and q.dtype != "f16" and not node["softcap"]
    run = dot_product_attention(node, types) if fits else composed_attention(node, types)
    if not node["upcast"] or not q.is_narrow:
        return run

    def widened(*operands):
        wide = [x.astype(jnp.float32) if x.dtype == operands[0].dtype else x for x in operands]
        return run(*wide).astype(operands[0].dtype)

    return widened


def static_mask(node, types):
    """The keys that the node's own mask hides, or None."""
    if node["mask"] != "causal" and not node["window"]:
        return None
    return hidden_keys(types[0].shape[-2], types[1].shape[-2], node["alignment"], node["window"],
                       node["mask"] == "none")


def dot_product_attention(node, types):
    """Its operands are [batch, time, heads, width]. It gives a query that no key is shown to an average; the op says
    NaN."""
    lead = types[0].shape[:-2]

    def four_axes(x):
        return x.reshape((1,) * (4 - x.ndim) + x.shape)

    def run(q, k, v, given=None):
        hidden = static_mask(node, types)
        given = None if given is None else jnp.broadcast_to(given, (*lead, q.shape[-2], k.shape[-2]))
        shown = given if node["mask"] == "boolean" else None if hidden is None else ~hidden
        options = {} if shown is None else {"mask": four_axes(shown)}
        if node["mask"] == "additive":
            options["bias"] = four_axes(given)
            shown = given != -jnp.inf
        operands = [four_axes(x).swapaxes(1, 2) for x in (q, k, v)]
        y = jax.nn.dot_product_attention(*operands, scale=node["scale"] or None, **options)
        y = y.swapaxes(1, 2).reshape((*lead, q.shape[-2], v.shape[-1]))
        return y if shown is None else jnp.where(shown.any(-1, keepdims=True), y, jnp.nan)

    return run


def composed_attention(node, types):
    """The ops of the definition, in f32."""
    factor = np.float32(node["scale"] or 1 / math.sqrt(types[0].shape[-1]))

    def run(q, k, v, given=None):
        dtype = q.dtype
        q, k, v = (x.astype(jnp.float32) for x in (q, k, v))
        if node["grouped_heads"]:
            times = q.shape[-3] // k.shape[-3]
            k, v = jnp.repeat(k, times, -3), jnp.repeat(v, times, -3)
        scores = jnp.matmul(q, k.mT) * factor
        if node["softcap"]:
            scores = np.float32(node["softcap"]) * jnp.tanh(scores / np.float32(node["softcap"]))
        hidden = ~given if node["mask"] == "boolean" else static_mask(node, types)
        if hidden is not None:
            scores = jnp.where(hidden, -jnp.inf, scores)
        if node["mask"] == "additive":
            scores = scores + given.astype(jnp.float32)
        return jnp.matmul(jax.nn.softmax(scores, -1), v).astype(dtype)

    return run


SPELLED = spelled_functions("jax", {"jnp": jnp, "lax": lax, "jax": jax})

LOWERINGS = {
    **{op: simple(in_f32(function) if spelled("jax")[op].startswith("jax.nn.") else function)
       for op, function in SPELLED.items()},
    "einsum": lambda node, _types: lambda a, b: jnp.einsum(node["equation"], a, b),
    "matmul": matmul,
    "linear": linear,
    "scale": scale,
    "relu": simple(jax.nn.relu),
    "relu_backward": simple(lambda dy, x: jnp.where(x <= 0, jnp.zeros_like(dy), dy)),
    "gelu": gelu,
    "softcap": softcap,
    "softmax": softmax,
    "log_softmax": lambda node, _types: in_f32(lambda x: jax.nn.log_softmax(x, node["axis"])),
    "layer_norm": layer_norm,
    "rms_norm": rms_norm,
    "group_norm": group_norm,
    "reduce_sum": reduction(jnp.sum),
    "reduce_mean": reduction(jnp.mean),
    "reduce_max": reduction(jnp.max),
    "var_mean": var_mean,
    "logsumexp": logsumexp,
    "dropout": simple(lambda x: x),
    "cast": cast,
    "reshape": lambda node, _types: lambda x: x.reshape(node["shape"]),
    "permute": lambda node, _types: lambda x: jnp.transpose(x, node["dims"]),
    "unsqueeze": lambda node, _types: lambda x: jnp.expand_dims(x, node["axis"]),
    "squeeze": lambda node, _types: lambda x: jnp.squeeze(x, node["axis"]),
    "broadcast_to": lambda node, _types: lambda x: jnp.broadcast_to(x, node["shape"]),
    "slice": slice_,
    "chunk": lambda node, _types: lambda x: jnp.split(x, node["chunks"], node["axis"]),
    "concat": lambda node, _types: lambda *parts: jnp.concatenate(parts, node["axis"]),
    "roll": lambda node, _types: lambda x: jnp.roll(x, node["shift"], node["axis"]),
    "flip": lambda node, _types: lambda x: jnp.flip(x, node["axes"]),
    "gather": simple(lambda table, indices: jnp.take(table, indices, axis=0)),
    "index_copy": index_copy,
    "arange": arange,
    "masked_fill": masked_fill,
    "causal_mask": causal_mask,
    "rope": rope,
    "sdpa": sdpa,
}
