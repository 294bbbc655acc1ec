"""Every op of docs/ops.md as ONNX nodes.

LOWERINGS maps an op to a function of (builder, node, names, types, dtype). `names` are the operands, all floats among
them of `dtype`, the dtype to compute in; `types` have their shapes. It returns the names of the results.
onnx_model.py decides where `dtype` is f32 instead of the graph's 16 bits: a lowering of several nodes that round
(SEVERAL_ROUNDINGS) must round once.
"""

import math

import numpy as np
from fusesmith.vocabulary import QUANTIZED, spelled
from onnx_casts import cast
from program import number

ALL = np.iinfo(np.int64).max


def one(onnx_op, **attributes):
    """The op is one ONNX node."""
    return lambda b, node, names, types, dtype: [b.node(onnx_op, names, **attributes)]


def ints(b, *values):
    return b.constant(np.array(values, np.int64))


def transposed(b, name, rank):
    order = list(range(rank))
    order[-2:] = order[-1], order[-2]
    return b.node("Transpose", [name], perm=order)


def decoded(b, names, types):
    """Factors; of quantized ones in f32, in which their numbers are exact. The bias of linear is f32 then."""
    return [b.cast(name, "f32") if kind.dtype in QUANTIZED else name for name, kind in zip(names, types, strict=True)]


def matmul(b, node, names, types, _dtype):
    names = decoded(b, names, types)
    flips = (node["transpose_a"], node["transpose_b"])
    operands = [transposed(b, name, len(kind.shape)) if flip else name
                for name, kind, flip in zip(names, types, flips, strict=True)]
    return [b.node("MatMul", operands)]


def linear(b, _node, names, types, _dtype):
    """Gemm where x is a matrix; as exporters do it, MatMul and Add where it has more axes."""
    names = decoded(b, names, types)
    if len(types[0].shape) == 2:
        return [b.node("Gemm", names, transB=1)]
    product = b.node("MatMul", [names[0], transposed(b, names[1], 2)])
    return [b.node("Add", [product, names[2]]) if len(names) == 3 else product]


def scale(b, node, names, _types, dtype):
    factor = b.number(float(np.float32(node["factor"])), dtype)
    return [b.node("Div" if node["inverse"] else "Mul", [names[0], factor])]


def gelu(b, node, names, _types, _dtype):
    return [b.node("Gelu", names, approximate="none" if node["form"] == "erf" else "tanh")]


def silu(b, _node, names, _types, _dtype):
    return [b.node("Mul", [names[0], b.node("Sigmoid", names)])]


def rsqrt(b, _node, names, _types, _dtype):
    return [b.node("Reciprocal", [b.node("Sqrt", names)])]


def softcap(b, node, names, _types, dtype):
    cap = b.number(float(np.float32(node["cap"])), dtype)
    return [b.node("Mul", [b.node("Tanh", [b.node("Div", [names[0], cap])]), cap])]


def affine(b, names, size, dtype, count):
    """Weight and bias that ONNX wants where the op has none."""
    defaults = [b.full([size], 1, dtype), b.full([size], 0, dtype)]
    return list(names[1:]) + defaults[len(names) - 1:count]


def layer_norm(b, node, names, types, dtype):
    operands = [names[0], *affine(b, names, types[0].shape[-1], dtype, 1)]
    return [b.node("LayerNormalization", operands, axis=-1, epsilon=float(node["eps"]))]


def rms_norm(b, node, names, types, dtype):
    operands = [names[0], *affine(b, names, types[0].shape[-1], dtype, 1)]
    return [b.node("RMSNormalization", operands, axis=-1, epsilon=float(node["eps"]))]


def group_norm(b, node, names, types, dtype):
    shape = types[0].shape
    x = names[0] if len(shape) > 2 else b.node("Unsqueeze", [names[0], ints(b, -1)])
    operands = [x, *affine(b, names, shape[1], dtype, 2)]
    y = b.node("GroupNormalization", operands, num_groups=node["groups"], epsilon=float(node["eps"]))
    return [y if len(shape) > 2 else b.node("Squeeze", [y, ints(b, -1)])]


def reduction(onnx_op):
    def lower(b, node, names, _types, _dtype):
        return [b.node(onnx_op, [names[0], ints(b, *node["axes"])], keepdims=int(node["keepdims"]))]

    return lower


def var_mean(b, node, names, types, dtype):
    axes, keep = ints(b, *node["axes"]), int(node["keepdims"])
    count = math.prod(types[0].shape[axis] for axis in node["axes"])
    mean = b.node("ReduceMean", [names[0], axes], keepdims=1)
    difference = b.node("Sub", [names[0], mean])
    squares = b.node("ReduceSum", [b.node("Mul", [difference, difference]), axes], keepdims=keep)
    variance = b.node("Div", [squares, b.number(count - node["correction"], dtype)])
    return [variance, mean if keep else b.node("Squeeze", [mean, axes])]


def with_ints(onnx_op, attribute):
    """An attribute of the op is a tensor of integers in ONNX."""
    def lower(b, node, names, _types, _dtype):
        value = node[attribute]
        return [b.node(onnx_op, [names[0], ints(b, *(value if isinstance(value, list) else [value]))])]

    return lower


def slice_axis(b, name, axis, start, stop, step=1):
    return b.node("Slice", [name, ints(b, start), ints(b, stop), ints(b, axis), ints(b, step)])


def slice_(b, node, names, _types, _dtype):
    return [slice_axis(b, names[0], node["axis"], node["start"], node["stop"], node["step"])]


def chunk(b, node, names, _types, _dtype):
    return b.nodes("Split", names, node["chunks"], axis=node["axis"], num_outputs=node["chunks"])


def roll(b, node, names, types, _dtype):
    axis = node["axis"]
    shift = node["shift"] % types[0].shape[axis]
    if shift == 0:
        return [b.node("Identity", names)]
    parts = [slice_axis(b, names[0], axis, -shift, ALL), slice_axis(b, names[0], axis, 0, -shift)]
    return [b.node("Concat", parts, axis=axis)]


def flip(b, node, names, _types, _dtype):
    axes = node["axes"]
    backwards = [ints(b, *[value] * len(axes)) for value in (-1, -ALL)]
    return [b.node("Slice", [names[0], *backwards, ints(b, *axes), ints(b, *[-1] * len(axes))])]


def index_copy(b, node, names, types, _dtype):
    x, index, source = names
    axis = node["axis"] % len(types[0].shape)
    spread = [1] * len(types[0].shape)
    spread[axis] = -1
    places = b.node("Reshape", [index, ints(b, *spread)])
    places = b.node("Expand", [places, ints(b, *types[2].shape)])
    return [b.node("ScatterElements", [x, places, source], axis=axis)]


def arange(b, node, _names, _types, _dtype):
    stop = node["start"] + node["count"] * node["step"]
    return [b.node("Range", [b.constant(np.array(v, np.int32)) for v in (node["start"], stop, node["step"])])]


def masked_fill(b, node, names, _types, dtype):
    value = b.number(number(node["value"]), dtype)
    x, mask = names
    return [b.node("Where", [mask, x, value] if node["inverted"] else [mask, value, x])]


def relu_backward(b, _node, names, _types, dtype):
    dy, x = names
    zero = b.number(0.0, dtype)
    return [b.node("Where", [b.node("LessOrEqual", [x, zero]), zero, dy])]


def hidden_keys(b, rows, cols, alignment, window, shows_future):
    own = np.arange(rows, dtype=np.int32)[:, None] + (cols - rows if alignment == "bottom_right" else 0)
    key = b.constant(np.arange(cols, dtype=np.int32)[None, :])
    parts = []
    if not shows_future:
        parts.append(b.node("Greater", [key, b.constant(own.astype(np.int32))]))
    if window:
        parts.append(b.node("LessOrEqual", [key, b.constant((own - window).astype(np.int32))]))
    return b.node("Or", parts) if len(parts) == 2 else parts[0]


def causal_mask(b, node, _names, _types, _dtype):
    return [hidden_keys(b, *[node[key] for key in ("rows", "cols", "alignment", "window", "shows_future")])]


def rope(b, node, names, types, _dtype):
    x, cos, sin = names
    size = types[0].shape[-1]
    width = node["rotary_dim"] or size
    half = node["pairing"] == "half"
    rest = [slice_axis(b, x, -1, width, size, 1)] if width < size else []
    first, second = ((0, width // 2, 1), (width // 2, width, 1)) if half else ((0, width, 2), (1, width, 2))
    left, right = slice_axis(b, x, -1, *first), slice_axis(b, x, -1, *second)
    turned = [b.node("Sub", [b.node("Mul", [left, cos]), b.node("Mul", [right, sin])]),
              b.node("Add", [b.node("Mul", [right, cos]), b.node("Mul", [left, sin])])]
    if half:
        return [b.node("Concat", turned + rest, axis=-1)]
    pairs = [b.node("Unsqueeze", [part, ints(b, -1)]) for part in turned]
    turned = b.node("Reshape", [b.node("Concat", pairs, axis=-1), ints(b, *types[0].shape[:-1], width)])
    return [b.node("Concat", [turned, *rest], axis=-1) if rest else turned]


def sdpa(b, node, names, types, dtype):
    """Attention, on operands of rank 4. Masks that it cannot make itself become boolean masks. Soft capping is
    composed: Attention caps after the mask, the op before it."""
    queries, keys, mask = types[0].shape[-2], types[1].shape[-2], node["mask"]
    wide = [four_axes(b, name, kind.shape) for name, kind in zip(names[:3], types[:3], strict=True)]
    options = {"scale": float(node["scale"])} if node["scale"] else {}
    shown = None
    if mask == "causal" and not node["window"] and (node["alignment"] == "top_left" or queries == keys):
        options["is_causal"] = 1
    elif mask == "causal" or node["window"]:
        hidden = hidden_keys(b, queries, keys, node["alignment"], node["window"], mask == "none")
        shown = b.node("Not", [hidden])
    elif mask != "none":
        full = ints(b, *types[0].shape[:-1], keys)
        shown = four_axes(b, b.node("Expand", [names[3], full]), (*types[0].shape[:-1], keys))
    if node["softcap"]:
        return [back(b, composed_attention(b, node, wide, shown, types, dtype), types)]
    y = b.node("Attention", [*wide, *([shown] if shown else [])], **options)
    if shown:
        y = nan_without_key(b, y, shown, mask == "additive", dtype)
    return [back(b, y, types)]


def four_axes(b, name, shape):
    lead = shape[:-2]
    heads = lead[-1] if lead else 1
    return b.node("Reshape", [name, ints(b, math.prod(lead[:-1]), heads, *shape[-2:])]) if len(shape) != 4 else name


def back(b, name, types):
    shape = (*types[0].shape[:-1], types[2].shape[-1])
    return b.node("Reshape", [name, ints(b, *shape)]) if len(shape) != 4 else name


def nan_without_key(b, y, shown, additive, dtype):
    """Attention gives a query that no key is shown to some finite row; the op says NaN."""
    if additive:
        shown = b.node("Not", [b.node("Equal", [shown, b.number(-math.inf, dtype)])])
    any_key = b.node("ReduceMax", [b.node("Cast", [shown], to=b.onnx_type("i32")), ints(b, -1)], keepdims=1)
    no_key = b.node("Equal", [any_key, b.constant(np.array(0, np.int32))])
    return b.node("Where", [no_key, b.number(math.nan, dtype), y])


def composed_attention(b, node, wide, shown, types, dtype):
    q, k, v = wide
    heads = types[0].shape[-3] if len(types[0].shape) > 2 else 1
    if node["grouped_heads"]:
        k, v = (repeat_heads(b, name, kind.shape, heads) for name, kind in ((k, types[1]), (v, types[2])))
    factor = node["scale"] or 1 / math.sqrt(types[0].shape[-1])
    scores = b.node("Mul", [b.node("MatMul", [q, transposed(b, k, 4)]), b.number(factor, dtype)])
    cap = b.number(float(np.float32(node["softcap"])), dtype)
    scores = b.node("Mul", [b.node("Tanh", [b.node("Div", [scores, cap])]), cap])
    if node["mask"] == "additive":
        scores = b.node("Add", [scores, shown])
    elif node["mask"] == "causal" and shown is None:
        hidden = hidden_keys(b, types[0].shape[-2], types[1].shape[-2], node["alignment"], 0, False)
        scores = b.node("Where", [hidden, b.number(-math.inf, dtype), scores])
    elif shown:
        scores = b.node("Where", [shown, scores, b.number(-math.inf, dtype)])
    return b.node("MatMul", [b.node("Softmax", [scores], axis=-1), v])


def repeat_heads(b, name, shape, heads):
    batch, fewer = math.prod(shape[:-3]), shape[-3]
    spread = b.node("Reshape", [name, ints(b, batch, fewer, 1, *shape[-2:])])
    spread = b.node("Expand", [spread, ints(b, batch, fewer, heads // fewer, *shape[-2:])])
    return b.node("Reshape", [spread, ints(b, batch, heads, *shape[-2:])])


# More than one node that rounds: in 16 bits they compute in f32 and round once.
SEVERAL_ROUNDINGS = ("silu", "rsqrt", "softcap", "var_mean", "rope")

LOWERINGS = {
    **{op: one(operator) for op, operator in spelled("onnx").items()},
    "einsum": lambda b, node, names, types, dtype: [b.node("Einsum", names, equation=node["equation"])],
    "matmul": matmul,
    "linear": linear,
    "scale": scale,
    "relu_backward": relu_backward,
    "gelu": gelu,
    "silu": silu,
    "rsqrt": rsqrt,
    "softcap": softcap,
    "softmax": lambda b, node, names, types, dtype: [b.node("Softmax", names, axis=node["axis"])],
    "log_softmax": lambda b, node, names, types, dtype: [b.node("LogSoftmax", names, axis=node["axis"])],
    "layer_norm": layer_norm,
    "rms_norm": rms_norm,
    "group_norm": group_norm,
    "reduce_sum": reduction("ReduceSum"),
    "reduce_mean": reduction("ReduceMean"),
    "reduce_max": reduction("ReduceMax"),
    "var_mean": var_mean,
    "logsumexp": reduction("ReduceLogSumExp"),
    "dropout": one("Dropout"),
    "cast": cast,
    "reshape": with_ints("Reshape", "shape"),
    "permute": lambda b, node, names, types, dtype: [b.node("Transpose", names, perm=node["dims"])],
    "unsqueeze": with_ints("Unsqueeze", "axis"),
    "squeeze": with_ints("Squeeze", "axis"),
    "broadcast_to": with_ints("Expand", "shape"),
    "slice": slice_,
    "chunk": chunk,
    "concat": lambda b, node, names, types, dtype: [b.node("Concat", names, axis=node["axis"])],
    "roll": roll,
    "flip": flip,
    "gather": one("Gather", axis=0),
    "index_copy": index_copy,
    "arange": arange,
    "masked_fill": masked_fill,
    "causal_mask": causal_mask,
    "rope": rope,
    "sdpa": sdpa,
}
