"""Operators of backward passes, as autograd calls them.

PyTorch computes those of one element in f32 and rounds once.
"""

import math

from .moves import limits, padded
from .sums import attention
from .table import Given, lowers, only

# --- of one element

def one_dtype(g, *values):
    """As they are where they have the dtype of the result, else in f32."""
    dtype = g.named(g.meta.dtype)
    return values if all(g.dtype_of(x) == dtype for x in values) else tuple(g.wide(x) for x in values)


@lowers("gelu_backward")
def gelu_backward(g, given):
    form = "tanh" if given.approximate == "tanh" else "erf"
    return g.promoted(g.op("gelu_backward", *one_dtype(g, given.grad_output, given.self), form=form))


@lowers("threshold_backward")
def threshold_backward(g, given):
    only(given, threshold=0)
    return g.promoted(g.op("relu_backward", *one_dtype(g, given.grad_output, given.self)))


# --- of softmax

@lowers("_softmax_backward_data", "_log_softmax_backward_data")
def softmax_backward(g, given):
    op = "softmax_backward" if g.called == "_softmax_backward_data" else "log_softmax_backward"
    return g.promoted(g.op(op, *one_dtype(g, given.grad_output, given.output), axis=given.dim))


# --- of norms

@lowers("native_layer_norm_backward")
def layer_norm_backward(g, given):
    """rstd (v - mean(v) - n mean(v n)), where n = (x - mean) rstd and v = dy weight; sums over rows of dy n and dy."""
    shape, count = g.shape_of(given.input), len(given.normalized_shape)
    dtype, wanted = g.dtype_of(given.input), given.output_mask
    inner, rows = list(range(len(shape) - count, len(shape))), list(range(len(shape) - count))
    dy, rstd = g.wide(given.grad_out), g.wide(given.rstd)
    normed = g.op("mul", g.op("sub", g.wide(given.input), g.wide(given.mean)), rstd)
    made = [None, None, None]
    if wanted[0]:
        v = dy if given.weight is None else g.op("mul", dy, g.wide(given.weight))
        mean, slope = (g.op("reduce_mean", x, axes=inner, keepdims=True) for x in (v, g.op("mul", v, normed)))
        v = g.op("sub", g.op("sub", v, mean), g.op("mul", normed, slope))
        made[0] = g.promoted(g.op("mul", rstd, v), dtype)
    for i in (1, 2):
        if wanted[i]:
            x = g.op("mul", dy, normed) if i == 1 else dy
            x = g.op("reduce_sum", x, axes=rows, keepdims=False) if rows else x
            made[i] = g.promoted(x, g.dtype_of(given.weight if i == 1 or given.bias is None else given.bias))
    return tuple(made)


# --- of views: zeros where nothing was read

@lowers("slice_backward")
def slice_backward(g, given):
    axis, step, made = given.dim % len(g.shape), given.step, given.grad_output
    start, _ = limits(given, g.shape[axis])
    count = g.shape_of(made)[axis]
    if step > 1:  # zeros behind each element
        made = padded(g, g.op("unsqueeze", made, axis=axis + 1), axis + 1, 0, step - 1)
        made = g.op("reshape", made, shape=[*g.shape[:axis], count * step, *g.shape[axis + 1:]])
    return padded(g, made, axis, start, g.shape[axis] - start - count * step)


@lowers("select_backward")
def select_backward(g, given):
    axis = given.dim % len(g.shape)
    size = g.shape[axis]
    index = given.index % size
    return padded(g, g.op("unsqueeze", given.grad_output, axis=axis), axis, index, size - index - 1)


# --- attention on the CPU

@lowers("_scaled_dot_product_flash_attention_for_cpu")
def flash_attention(g, given):
    """The second result is logsumexp of the scores, for the backward pass."""
    metas, given = g.meta, Given(given)
    g.meta, given["enable_gqa"] = metas[0], group_size(g, given) > 1
    made = attention(g, given)
    if 1 not in g.read:
        return made, None
    g.meta = metas[1]
    key = spread_heads(g, given["key"], group_size(g, given))
    return made, g.promoted(g.op("logsumexp", scores(g, given, key), axes=[-1], keepdims=False))


def group_size(g, given):
    """How many heads of queries share one of keys."""
    return g.shape_of(given["query"])[1] // g.shape_of(given["key"])[1]


def spread_heads(g, x, size):
    if size == 1:
        return x
    batch, heads, *rest = g.shape_of(x)
    x = g.op("broadcast_to", g.op("unsqueeze", x, axis=2), shape=[batch, heads, size, *rest])
    return g.op("reshape", x, shape=[batch, heads * size, *rest])


def gathered_heads(g, x, size):
    """The sum of what belongs to one head of keys."""
    if size == 1:
        return x
    batch, heads, *rest = g.shape_of(x)
    x = g.op("reshape", x, shape=[batch, heads // size, size, *rest])
    return g.op("reduce_sum", x, axes=[2], keepdims=False)


def scores(g, given, key):
    """In f32: scale q k^T, and the mask."""
    query, key = g.wide(given["query"]), g.wide(key)
    rows, columns = g.shape_of(query)[-2], g.shape_of(key)[-2]
    made = g.op("scale", g.op("matmul", query, key, transpose_b=True), factor=scale_of(g, given))
    mask = given["attn_mask"]
    if given["is_causal"]:
        return g.op("masked_fill", made, g.op("causal_mask", rows=rows, cols=columns), value="-inf")
    if mask is None:
        return made
    if g.dtype_of(mask) == "bool":
        return g.op("masked_fill", made, mask, value="-inf", inverted=True)
    return g.op("add", made, g.wide(mask))


def scale_of(g, given):
    return given["scale"] or 1 / math.sqrt(g.shape_of(given["query"])[-1])


@lowers("_scaled_dot_product_flash_attention_for_cpu_backward")
def flash_attention_backward(g, given):
    """Probabilities and their gradients have the dtype of the operands where they are multiplied."""
    only(given, dropout_p=0)
    dtype, size, dy = g.dtype_of(given["query"]), group_size(g, given), given.grad_out
    key, value = (spread_heads(g, given[name], size) for name in ("key", "value"))
    total = g.op("unsqueeze", g.wide(given.logsumexp), axis=-1)
    shown = g.op("exp", g.op("sub", scores(g, given, key), total))
    inner = g.wide(g.op("matmul", dy, value, transpose_b=True))
    delta = g.op("reduce_sum", g.op("mul", g.wide(dy), g.wide(given.out)), axes=[-1], keepdims=True)
    slope = g.promoted(g.op("mul", shown, g.op("sub", inner, delta)), dtype)
    scale, shown = scale_of(g, given), g.promoted(shown, dtype)
    to_q = g.op("scale", g.op("matmul", slope, key), factor=scale)
    to_k = g.op("scale", g.op("matmul", slope, given["query"], transpose_a=True), factor=scale)
    to_v = g.op("matmul", shown, dy, transpose_a=True)
    return to_q, gathered_heads(g, to_k, size), gathered_heads(g, to_v, size)
