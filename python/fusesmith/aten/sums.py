"""Operators that add up: products, reductions, norms, softmax and attention."""

from .. import definitions
from ..errors import Error
from ..result_types import broadcast
from ..vocabulary import FLOATS, epsilon
from .table import axes_of, lowers, only

MOST_SUMMED = 1 << 24  # elements of what becomes of a running sum


# --- softmax

@lowers("softmax", "_softmax")
def softmax(g, given):
    return g.op("softmax", g.promoted(given.self), axis=given.dim)


@lowers("log_softmax", "_log_softmax")
def log_softmax(g, given):
    x = given.self if g.dtype_of(given.self) == g.named(g.meta.dtype) else g.wide(given.self)
    return g.promoted(g.op("log_softmax", x, axis=given.dim))


@lowers("_safe_softmax")
def safe_softmax(g, given):
    """A row of -inf is 0: its maximum is raised to the lowest number, and its sum to 1. Others have no smaller sum."""
    x = g.wide(given.self)
    most = g.op("reduce_max", x, axes=[given.dim], keepdims=True)
    most = g.op("maximum", most, g.number_like(-(2 - 2**-23) * 2.0**127, x))
    parts = g.op("exp", g.op("sub", x, most))
    total = g.op("maximum", g.op("reduce_sum", parts, axes=[given.dim], keepdims=True), g.number_like(1, x))
    return g.promoted(g.op("div", parts, total))


@lowers("logsumexp")
def logsumexp(g, given):
    return g.op("logsumexp", given.self, axes=axes_of(g, given), keepdims=given.keepdim)


# --- norms

@lowers("layer_norm", "native_layer_norm")
def layer_norm(g, given):
    x, shape, weights = norm_inputs(g, given)
    made = g.op("layer_norm", x, *weights, eps=given.eps)
    made = made if g.shape_of(made) == shape else g.op("reshape", made, shape=list(shape))
    return made if g.called == "layer_norm" else (made, *saved_moments(g, given, shape))


def saved_moments(g, given, shape):
    """The mean and 1 / the deviation, where the backward pass reads them."""
    if not g.read & {1, 2}:
        return None, None
    axes = [number - len(given.normalized_shape) for number in range(len(given.normalized_shape))]
    return moments(g, g.wide(given.input), axes, given.eps, True)


def moments(g, x, axes, eps, keepdims):
    """The mean and 1 / the deviation, in the dtype of the operator's second result."""
    variance, mean = g.op("var_mean", x, axes=axes, keepdims=keepdims, correction=0)
    variance = g.op("add", variance, g.number_like(eps, variance))
    dtype = g.named(g.meta[1].dtype)
    return g.promoted(mean, dtype), g.promoted(g.op("rsqrt", variance), dtype)


@lowers("rms_norm")
def rms_norm(g, given):
    eps = given.eps
    if eps is None:  # torch takes the epsilon of the dtype that it computes in
        eps = epsilon(g.dtype_of(given.input))
    x, shape, weights = norm_inputs(g, given)
    made = g.op("rms_norm", x, *weights, eps=eps)
    return made if g.shape_of(made) == shape else g.op("reshape", made, shape=list(shape))


def norm_inputs(g, given):
    """Several axes become one; a bias without a weight gets a weight of ones."""
    x, shape, count = given.input, g.shape_of(given.input), len(given.normalized_shape)
    width = 1
    for size in given.normalized_shape:
        width *= size
    weights = [value for value in (given.weight, given.get("bias")) if value is not None]
    if count > 1:
        x = g.op("reshape", x, shape=[*shape[:-count], width])
        weights = [g.op("reshape", value, shape=[width]) for value in weights]
    return x, shape, with_ones(g, given, weights, width)


def with_ones(g, given, weights, width):
    if given.weight is None and weights:
        weights.insert(0, g.op("broadcast_to", g.number(1.0, g.dtype_of(weights[0])), shape=[width]))
    return weights


@lowers("group_norm", "native_group_norm")
def group_norm(g, given):
    native = g.called == "native_group_norm"
    weights = [value for value in (given.weight, given.bias) if value is not None]
    weights = with_ones(g, given, weights, g.shape_of(given.input)[1])
    made = g.op("group_norm", given.input, *weights, groups=given.group if native else given.num_groups, eps=given.eps)
    return (made, *group_moments(g, given)) if native else made


def group_moments(g, given):
    """[batch, groups]: the mean of each group and 1 / its deviation, where the backward pass reads them."""
    if not g.read & {1, 2}:
        return None, None
    shape = [given.N, given.group, given.C // given.group * given.HxW]
    groups = g.op("reshape", g.wide(given.input), shape=shape)
    return moments(g, groups, [-1], given.eps, False)


@lowers("instance_norm")
def instance_norm(g, given):
    only(given, use_input_stats=True)
    weights = [value for value in (given.weight, given.bias) if value is not None]
    channels = g.shape_of(given.input)[1]
    return g.op("group_norm", given.input, *with_ones(g, given, weights, channels), groups=channels, eps=given.eps)


@lowers("batch_norm", "_native_batch_norm_legit_no_training")
def batch_norm(g, given):
    """x * slope + offset, as torch computes it in inference, with slope = weight / sqrt(var + eps)."""
    if given.get("training") or given.running_mean is None:
        raise Error("batch_norm in training mode has no counterpart: call .eval()")
    metas = g.meta if isinstance(g.meta, (list, tuple)) else [g.meta]
    variance = g.wide(given.running_var)
    slope = g.op("rsqrt", g.op("add", variance, g.number_like(given.eps, variance)))
    if given.weight is not None:
        slope = g.op("mul", g.wide(given.weight), slope)
    offset = g.op("mul", g.wide(given.running_mean), slope)
    offset = definitions.negated(g, offset) if given.bias is None else g.op("sub", g.wide(given.bias), offset)
    rank, channels = len(metas[0].shape), g.shape_of(offset)[0]
    slope, offset = (g.op("reshape", value, shape=[channels, *[1] * (rank - 2)]) for value in (slope, offset))
    made = g.op("add", g.op("mul", g.wide(given.input), slope), offset)
    made = g.promoted(made, g.named(metas[0].dtype))
    return made if g.called == "batch_norm" else (made, *[None] * (len(metas) - 1))


# --- reductions

@lowers("sum", "mean", "amax", "amin")
def reduction(g, given):
    op = {"sum": "reduce_sum", "mean": "reduce_mean", "amax": "reduce_max", "amin": "reduce_max"}[g.called]
    how = {"axes": axes_of(g, given), "keepdims": bool(given.get("keepdim"))}
    x = g.promoted(given.self)
    if not g.shape_of(x):
        return x
    if g.called == "amin":
        return definitions.negated(g, g.op(op, definitions.negated(g, x), **how))
    return g.op(op, x, **how)


@lowers("max", "min")
def extreme(g, given):
    def turned(x):
        return definitions.negated(g, x) if g.called == "min" else x

    if "other" in given:
        return turned(g.op("maximum", turned(given.self), turned(given.other)))
    made = turned(g.op("reduce_max", turned(given.self), axes=axes_of(g, given), keepdims=bool(given.get("keepdim"))))
    return made if "dim" not in given else (made, None)


@lowers("var", "var_mean", "std")
def variance(g, given):
    correction = given.get("correction", int(given.get("unbiased", True)))
    x = g.wide(given.self) if g.called == "std" else given.self
    made = g.op("var_mean", x, axes=axes_of(g, given), keepdims=bool(given.get("keepdim")),
                correction=1 if correction is None else int(correction))
    if g.called == "var_mean":
        return made
    return made[0] if g.called == "var" else g.promoted(g.op("sqrt", made[0]))


@lowers("linalg_vector_norm", "norm")
def vector_norm(g, given):
    order = given.get("ord", given.get("p"))
    if order not in (1, 2):
        raise Error(f"a norm of the order {order!r} has no counterpart")
    x, how = g.wide(given.self), {"axes": axes_of(g, given), "keepdims": bool(given.get("keepdim"))}
    if order == 1:
        return g.promoted(g.op("reduce_sum", definitions.absolute(g, x), **how))
    return g.promoted(g.op("sqrt", g.op("reduce_sum", g.op("mul", x, x), **how)))


@lowers("cumsum")
def cumsum(g, given):
    """Sums of rows of a square whose later elements are 0, so that an infinity does not reach what is before it."""
    if g.named(g.meta.dtype) not in FLOATS:
        raise Error("cumsum of integers has no counterpart")
    rank, x = len(g.shape), g.wide(given.self)
    if not rank:
        return g.promoted(x)
    axis = given.dim % rank
    size, count = g.shape[axis], 1
    for length in g.shape:
        count *= length
    if count * size > MOST_SUMMED:
        raise Error(f"a running sum of {count} elements along {size} has no counterpart")
    order = [*(i for i in range(rank) if i != axis), axis]
    shape = [g.shape[i] for i in order]
    rows = g.op("unsqueeze", g.op("permute", x, dims=order), axis=-2)
    rows = g.op("broadcast_to", rows, shape=[*shape, size])
    rows = g.op("masked_fill", rows, g.op("causal_mask", rows=size, cols=size), value=0)
    made = g.op("reduce_sum", rows, axes=[-1], keepdims=False)
    return g.promoted(g.op("permute", made, dims=[order.index(i) for i in range(rank)]))


# --- products

@lowers("matmul", "mm", "bmm", "mv", "dot")
def matmul(g, given):
    """Vectors are matrices for as long as the product takes."""
    a, b = given.self, given.get("other", given.get("mat2", given.get("vec", given.get("tensor"))))
    ranks = [len(g.shape_of(value)) for value in (a, b)]
    a = g.op("unsqueeze", a, axis=0) if ranks[0] == 1 else a
    b = g.op("unsqueeze", b, axis=1) if ranks[1] == 1 else b
    made = g.op("matmul", a, b)
    return g.op("reshape", made, shape=list(g.shape)) if 1 in ranks else made


@lowers("linear")
def linear(g, given):
    return g.op("linear", given.input, given.weight, *([given.bias] if given.bias is not None else []))


@lowers("addmm", "baddbmm")
def addmm(g, given):
    """beta self + alpha a b, rounded once. Where beta is 0, torch does not read self."""
    a, b = (given.mat1, given.mat2) if g.called == "addmm" else (given.batch1, given.batch2)
    if (given.alpha, given.beta) == (1, 1) and len(g.shape_of(given.self)) == 1 and g.called == "addmm":
        columns = g.shape_of(b)[1]
        bias = given.self
        if g.shape_of(bias) != (columns,):
            bias = g.op("broadcast_to", bias, shape=[columns])
        return g.op("linear", a, g.op("permute", b, dims=[1, 0]), bias)
    made = definitions.scaled(g, g.op("matmul", g.wide(a), g.wide(b)), given.alpha)
    if given.beta != 0:
        made = g.op("add", definitions.scaled(g, g.wide(given.self), given.beta), made)
    return g.promoted(made)


@lowers("einsum")
def einsum(g, given):
    equation, ranks = given.equation.replace(" ", ""), [len(g.shape_of(value)) for value in given.tensors]
    operands, arrow, result = equation.partition("->")
    if "." in equation or len(ranks) != 2:
        raise Error("an einsum of one operand, of three, or with an ellipsis has no counterpart")
    letters = operands.replace(",", "")
    if not arrow:
        result = "".join(sorted(letter for letter in set(letters) if letters.count(letter) == 1))
    names = dict(zip(dict.fromkeys(letters), "abcdefghijklmnopqrstuvwxyz", strict=False))
    if equation == equation.lower():
        names = {letter: letter for letter in letters}
    return g.op("einsum", *given.tensors,
                equation="".join(names.get(c, c) for c in f"{operands}->{result}"))


@lowers("scaled_dot_product_attention")
def attention(g, given):
    only(given, dropout_p=0)
    mask, inputs = "none", [given.query, given.key, given.value]
    leading = [g.shape_of(value)[:-2] for value in inputs]
    if len(set(leading)) > 1 and not given.enable_gqa:
        common = broadcast(leading)
        inputs = [value if list(g.shape_of(value)[:-2]) == common else
                  g.op("broadcast_to", value, shape=[*common, *g.shape_of(value)[-2:]]) for value in inputs]
    if given.attn_mask is not None:
        inputs.append(given.attn_mask)
        mask = "boolean" if g.dtype_of(given.attn_mask) == "bool" else "additive"
    elif given.is_causal:
        mask = "causal"
    return g.op("sdpa", *inputs, mask=mask, scale=given.scale or 0, grouped_heads=bool(given.enable_gqa))
