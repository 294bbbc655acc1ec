"""What fusesmith's ops make of ONNX's operators that sum: products, reductions, norms, softmax and attention."""

import math

import numpy as np
from fusesmith.definitions import absolute, negated
from fusesmith.vocabulary import smallest_normal
from import_graph import Unmapped
from onnx_import import epsilon_of, imports, number_like, product, scaled


@imports("MatMul")
def matmul(g, node):
    """Vectors are matrices for as long as the product takes."""
    a, b = (g.value(name) for name in node.inputs)
    ranks = [len(g.shape(name)) for name in node.inputs]
    a = g.move("unsqueeze", a, axis=0) if ranks[0] == 1 else a
    b = g.move("unsqueeze", b, axis=1) if ranks[1] == 1 else b
    made = g.op("matmul", a, b)
    return g.move("reshape", made, shape=list(g.shape(node.outputs[0]))) if 1 in ranks else made


@imports("Gemm")
def gemm(g, node):
    """alpha A B + beta C; a `linear` where it is one."""
    a, b, c = g.value(node.inputs[0]), g.value(node.inputs[1]), node.given(2)
    alpha, beta = (node.attributes.get(name, 1.0) for name in ("alpha", "beta"))
    flip_a, flip_b = (bool(node.attributes.get(name, 0)) for name in ("transA", "transB"))
    width = g.shape(node.outputs[0])[1]
    if alpha == 1 and beta == 1 and flip_b and not flip_a and (not c or product(g.shape(c)) == width):
        bias = [g.value(c)] if c else []
        if c and g.shape(c) != (width,):
            bias = [g.move("reshape", bias[0], shape=[width])] if len(g.shape(c)) < 2 or g.shape(c)[0] == 1 else None
        if bias is not None:
            return g.op("linear", a, b, *bias)
    made = g.op("matmul", a, b, transpose_a=flip_a, transpose_b=flip_b)
    made = made if alpha == 1 else scaled(g, made, alpha)
    if not c:
        return made
    return g.op("add", made, g.value(c) if beta == 1 else scaled(g, g.value(c), beta))


@imports("Einsum")
def einsum(g, node):
    equation = node.attributes["equation"].replace(" ", "")
    if len(node.inputs) != 2 or "." in equation or not equation.replace("->", "").replace(",", "").isalpha():
        raise Unmapped("one operand, three, or an ellipsis")
    if "->" not in equation:
        letters = equation.replace(",", "")
        equation += "->" + "".join(sorted(letter for letter in set(letters) if letters.count(letter) == 1))
    if equation != equation.lower():
        raise Unmapped("upper-case letters")
    return g.op("einsum", *map(g.value, node.inputs), equation=equation)


@imports("Conv")
def pointwise_conv(g, node):
    """Kernels of one element, without strides, padding and groups, are products of the channels."""
    kernel = g.shape(node.inputs[1])[2:]
    plain = (set(kernel) == {1} and node.attributes.get("group", 1) == 1
             and set(node.attributes.get("strides", [1])) == {1} and set(node.attributes.get("pads", [0])) == {0})
    if not plain or len(kernel) > 3:
        raise Unmapped("kernels of more than one element, strides, padding or groups")
    places = "xyz"[:len(kernel)]
    weight = g.move("reshape", g.value(node.inputs[1]), shape=list(g.shape(node.inputs[1])[:2]))
    made = g.op("einsum", g.value(node.inputs[0]), weight, equation=f"nc{places},oc->no{places}")
    if node.given(2):
        made = g.op("add", made, channels(g, node.given(2), len(kernel) + 2))
    return made


def channels(g, name, rank):
    """[c] as [c, 1, ...], beside x [n, c, ...]."""
    return g.move("reshape", g.value(name), shape=[product(g.shape(name)), *[1] * (rank - 2)])


# --- reductions

def axes_of(g, node):
    """(axes, keepdims); None: nothing is reduced."""
    rank = len(g.shape(node.inputs[0]))
    axes = node.attributes.get("axes")
    if node.given(1):
        axes = g.integers(node.given(1), "axes")
    if not axes and node.attributes.get("noop_with_empty_axes", 0):
        return None, True
    return axes or list(range(rank)), bool(node.attributes.get("keepdims", 1))


@imports("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceLogSumExp", "ReduceSumSquare", "ReduceL1",
         "ReduceL2")
def reduction(g, node):
    axes, keepdims = axes_of(g, node)
    x = g.value(node.inputs[0])
    op = {"ReduceMean": "reduce_mean", "ReduceMax": "reduce_max", "ReduceMin": "reduce_max",
          "ReduceLogSumExp": "logsumexp"}.get(node.op, "reduce_sum")
    if node.op == "ReduceMin":
        x = negated(g, x)
    elif node.op == "ReduceL1":
        x = absolute(g, x)
    elif node.op in ("ReduceL2", "ReduceSumSquare"):
        x = g.op("mul", x, x)
    if axes:
        x = g.op(op, x, axes=axes, keepdims=keepdims)
    if node.op == "ReduceMin":
        return negated(g, x)
    return g.op("sqrt", x) if node.op == "ReduceL2" else x


@imports("GlobalAveragePool", "GlobalMaxPool")
def global_pool(g, node):
    op = "reduce_mean" if node.op == "GlobalAveragePool" else "reduce_max"
    return g.op(op, g.value(node.inputs[0]), axes=list(range(2, len(g.shape(node.inputs[0])))), keepdims=True)


@imports("Softmax", "LogSoftmax")
def softmax(g, node):
    x, axis = g.value(node.inputs[0]), node.attributes.get("axis", -1)
    return g.op("softmax" if node.op == "Softmax" else "log_softmax", x, axis=axis)


@imports("LpNormalization")
def lp_normalization(g, node):
    """A row of zeros stays one: its size is raised to the smallest normal number."""
    x, axis = g.value(node.inputs[0]), node.attributes.get("axis", -1)
    two = node.attributes.get("p", 2) == 2
    parts = g.op("mul", x, x) if two else absolute(g, x)
    size = g.op("reduce_sum", parts, axes=[axis], keepdims=True)
    smallest = number_like(g, smallest_normal(g.dtypes[x]), node.inputs[0])
    size = g.op("maximum", g.op("sqrt", size) if two else size, smallest)
    return g.op("div", x, size)


# --- norms

def weights(g, names, shape):
    """Weights of a norm as one row of `shape`'s elements."""
    made = []
    for name in names:
        value = g.value(name)
        if g.shape(name) != tuple(shape):
            value = g.move("broadcast_to", value, shape=list(shape))
        made.append(g.move("reshape", value, shape=[product(shape)]) if len(shape) > 1 else value)
    return made


@imports("LayerNormalization", "RMSNormalization")
def norm(g, node):
    """Over the last axes, as one."""
    x, shape = g.value(node.inputs[0]), g.shape(node.inputs[0])
    axis = node.attributes.get("axis", -1) % len(shape)
    rows = shape[axis:]
    eps = epsilon_of(node)
    given = [name for name in node.inputs[1:] if name]
    if len(rows) > 1:
        x = g.move("reshape", x, shape=[*shape[:axis], product(rows)])
    if node.op == "RMSNormalization":
        made = [g.op("rms_norm", x, *weights(g, given, rows), eps=eps)]
    else:
        made = [g.op("layer_norm", x, *weights(g, given, rows), eps=eps), *statistics(g, node, x, eps)]
    if len(rows) > 1:
        made[0] = g.move("reshape", made[0], shape=list(shape))
    return made


def statistics(g, node, x, eps):
    """Mean and 1 / sqrt(var + eps), where they are wanted."""
    if not (node.wants(1) or node.wants(2)):
        return []
    variance, mean = g.op("var_mean", g.cast(x, "f32"), axes=[-1], correction=0, keepdims=True)
    inverse = g.op("rsqrt", g.op("add", variance, g.new_constant(np.full((), eps), "f32", f"{g.base}.eps")))
    return [g.move("reshape", value, shape=list(g.shape(name))) if name else None
            for value, name in zip((mean, inverse), node.outputs[1:], strict=False)]


@imports("GroupNormalization", "InstanceNormalization")
def group_norm(g, node):
    shape, count = g.shape(node.inputs[0]), product(g.shape(node.inputs[1]))
    groups = shape[1] if node.op == "InstanceNormalization" else node.attributes["num_groups"]
    if count != shape[1]:
        raise Unmapped("before opset 21, weights belong to groups and not to channels")
    eps = epsilon_of(node)
    return g.op("group_norm", *map(g.value, node.inputs[:3]), groups=groups, eps=eps)


@imports("BatchNormalization")
def batch_norm(g, node):
    """(x - mean) / sqrt(var + eps) * scale + bias, in inference."""
    if node.attributes.get("training_mode", 0):
        raise Unmapped("training mode")
    rank = len(g.shape(node.inputs[0]))
    weight, bias, mean, variance = (channels(g, name, rank) for name in node.inputs[1:5])
    eps = number_like(g, node.attributes.get("epsilon", 1e-5), node.inputs[4])
    root = g.op("sqrt", g.op("add", variance, eps))
    centred = g.op("sub", g.value(node.inputs[0]), mean)
    return [g.op("add", g.op("mul", g.op("div", centred, root), weight), bias), *[None] * 4]


# --- attention

@imports("RotaryEmbedding")
def rotary(g, node):
    """rope of [b, h, s, d], or of [b, s, h d]; the tables are rows of a cache where positions are given."""
    shape, heads = g.shape(node.inputs[0]), node.attributes.get("num_heads", 0)
    x, flat = g.value(node.inputs[0]), len(shape) == 3
    if flat:
        shape = (*shape[:2], heads, shape[2] // heads)
        x = g.move("reshape", x, shape=list(shape))
    width = node.attributes.get("rotary_embedding_dim", 0) or shape[-1]
    tables = []
    for name in node.inputs[1:3]:
        table, positions = g.value(name), node.given(3)
        if positions:
            g.limit_index(g.value(positions), g.shape(name)[0])
            table = g.move("gather", table, g.value(positions))
        tables.append(g.move("unsqueeze", table, axis=2 if flat else 1))
    pairing = "interleaved" if node.attributes.get("interleaved", 0) else "half"
    made = g.op("rope", x, *tables, pairing=pairing, rotary_dim=0 if width == shape[-1] else width)
    return g.move("reshape", made, shape=list(g.shape(node.inputs[0]))) if flat else made


def split_heads(g, name, heads):
    """[b, s, h d] -> [b, h, s, d]; four axes stay as they are."""
    shape, value = g.shape(name), g.value(name)
    if len(shape) == 4:
        return value, shape
    if not heads:
        raise Unmapped("the number of heads is not given")
    batch, length, width = shape
    value = g.move("reshape", value, shape=[batch, length, heads, width // heads])
    return g.move("permute", value, dims=[0, 2, 1, 3]), (batch, heads, length, width // heads)


@imports("Attention")
def attention(g, node):
    attributes, mask, causal = node.attributes, node.given(3), bool(node.attributes.get("is_causal", 0))
    cap = attributes.get("softcap", 0.0)
    if cap and (mask or causal):
        raise Unmapped("soft capping together with a mask")
    if node.wants(3) or node.given(6):
        raise Unmapped("the scores as an output, or lengths of padding")
    q, q_shape = split_heads(g, node.inputs[0], attributes.get("q_num_heads"))
    made = [split_heads(g, name, attributes.get("kv_num_heads")) for name in node.inputs[1:3]]
    (k, k_shape), (v, v_shape) = made
    before = 0
    if node.given(4):
        before = g.shape(node.given(4))[2]
        k, v = (g.move("concat", g.value(node.given(i)), value, axis=2) for i, value in ((4, k), (5, v)))
    keys = before + k_shape[2]
    options = {"scale_on": "both", "mask": "none", "scale": float(attributes.get("scale", 0)), "softcap": cap,
               "grouped_heads": q_shape[1] != k_shape[1]}
    inputs = [q, k, v]
    if mask:
        options["mask"] = "boolean" if g.dtype(mask) == "bool" else "additive"
        inputs.append(masked(g, mask, (q_shape[2], keys), before) if causal else g.value(mask))
        options["mask"] = "additive" if causal else options["mask"]
    elif causal:
        options |= {"mask": "causal", "alignment": "bottom_right" if before else "top_left"}
    y = g.op("sdpa", *inputs, **options)
    if len(g.shape(node.inputs[0])) == 3:
        y = g.move("reshape", g.move("permute", y, dims=[0, 2, 1, 3]), shape=list(g.shape(node.outputs[0])))
    return [y, k if before and node.wants(1) else None, v if before and node.wants(2) else None]


def masked(g, mask, scores, before):
    """The mask, with -inf added where causality hides a key."""
    rows, keys = scores
    hidden = np.arange(keys)[None, :] > np.arange(rows)[:, None] + before
    dtype = "f32" if g.dtype(mask) == "bool" else g.dtype(mask)
    causal = g.new_constant(np.where(hidden, -math.inf, 0), dtype, f"{g.base}.causal")
    if g.dtype(mask) != "bool":
        return g.op("add", causal, g.value(mask))
    causal = g.move("broadcast_to", causal, shape=[*g.shape(mask)[:-2], rows, keys])
    return g.op("masked_fill", causal, g.value(mask), value="-inf", inverted=True)
