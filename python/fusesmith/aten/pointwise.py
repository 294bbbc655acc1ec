"""What fusesmith's ops make of ATen's: one function for each operator, of a Lowering and its arguments by name.

Python numbers: torch computes `x + 0.1` in f32 and rounds once, so that such a node becomes casts and an f32 sum.
"""

import math

from .errors import Error
from .vocabulary import epsilon, spelled

LOWERINGS = {}


def lowers(*names):
    def add(function):
        LOWERINGS.update(dict.fromkeys(names, function))
        return function
    return add


class Given(dict):
    """The arguments of a call by name; those that are left out have the defaults of the schema."""

    def __getattr__(self, name):
        return self[name]


def only(given, **expected):
    """Arguments that have no counterpart must have these values."""
    for name, values in expected.items():
        values = values if isinstance(values, tuple) else (values,)
        if given.get(name) not in values:
            raise Error(f"{name}={given.get(name)!r} has no counterpart")


@lowers("contiguous", "clone", "alias", "detach", "lift_fresh_copy", "_unsafe_view_same")
def identity(g, given):
    return given.self


@lowers("dropout", "native_dropout", "feature_dropout")
def dropout(g, given):
    if given.get("train") and given.p:
        raise Error("dropout in training mode draws random numbers: call .eval()")
    return given.input


@lowers("gelu")
def gelu(g, given):
    return g.op("gelu", given.self, form="tanh" if given.approximate == "tanh" else "erf")


@lowers("neg")
def neg(g, given):
    return g.op("scale", given.self, factor=-1)


@lowers("reciprocal")
def reciprocal(g, given):
    return g.with_number("div", 1, given.self)


@lowers("pow")
def power(g, given):
    x = given.self
    if given.exponent == 2:
        return g.op("mul", x, x)
    if given.exponent in (0.5, -0.5):
        return g.op("sqrt" if given.exponent > 0 else "rsqrt", x)
    raise Error(f"exponent={given.exponent!r} has no counterpart")


@lowers("square")
def square(g, given):
    return g.op("mul", given.self, given.self)


@lowers("add", "sub", "rsub", "mul", "div", "maximum", "true_divide")
def binary(g, given):
    only(given, alpha=(None, 1), rounding_mode=None)
    a, b = (given.other, given.self) if g.called == "rsub" else (given.self, given.other)
    op = {"rsub": "sub", "true_divide": "div"}.get(g.called, g.called)
    if not (g.is_tensor(a) and g.is_tensor(b)):
        return g.with_number(op, a, b)
    return g.op(op, g.promoted(a), g.promoted(b))


@lowers("clamp", "clamp_min")
def clamp(g, given):
    only(given, min=0, max=None)
    return g.op("relu", given.self)


@lowers("softmax", "_softmax")
def softmax(g, given):
    return g.op("softmax", g.promoted(given.self), axis=given.dim)


@lowers("logsumexp")
def logsumexp(g, given):
    return g.op("logsumexp", given.self, axes=axes_of(g, given), keepdims=given.keepdim)


@lowers("layer_norm")
def layer_norm(g, given):
    return g.op("layer_norm", *norm_inputs(g, given), eps=given.eps)


@lowers("rms_norm")
def rms_norm(g, given):
    eps = given.eps
    if eps is None:  # torch takes the epsilon of the dtype that it computes in
        eps = epsilon(g.dtype_of(given.input))
    return g.op("rms_norm", *norm_inputs(g, given), eps=eps)


def norm_inputs(g, given):
    if len(given.normalized_shape) != 1:
        raise Error("norms over several axes have no counterpart")
    weights = [value for value in (given.weight, given.get("bias")) if value is not None]
    if given.weight is None and weights:
        raise Error("a norm with a bias and no weight has no counterpart")
    return [given.input, *weights]


@lowers("group_norm")
def group_norm(g, given):
    weights = [value for value in (given.weight, given.bias) if value is not None]
    return g.op("group_norm", given.input, *weights, groups=given.num_groups, eps=given.eps)


def axes_of(g, given):
    dim = given.get("dim")
    if dim is None or dim == []:
        return list(range(len(g.shape_of(given.self))))
    return list(dim) if isinstance(dim, (list, tuple)) else [dim]


@lowers("sum", "mean", "amax")
def reduction(g, given):
    op = {"sum": "reduce_sum", "mean": "reduce_mean", "amax": "reduce_max"}[g.called]
    return g.op(op, g.promoted(given.self), axes=axes_of(g, given), keepdims=bool(given.get("keepdim")))


@lowers("max")
def largest(g, given):
    if "other" in given:
        return g.op("maximum", given.self, given.other)
    made = g.op("reduce_max", given.self, axes=axes_of(g, given), keepdims=bool(given.get("keepdim")))
    return made if "dim" not in given else (made, None)


@lowers("var")
def variance(g, given):
    correction = given.get("correction", int(given.get("unbiased", True)))
    made = g.op("var_mean", given.self, axes=axes_of(g, given), keepdims=bool(given.get("keepdim")),
                correction=1 if correction is None else int(correction))
    return made[0]


@lowers("to", "_to_copy")
def to(g, given):
    return g.promoted(given.self)


@lowers("view", "reshape", "_unsafe_view", "flatten", "unflatten")
def reshape(g, given):
    return g.op("reshape", given.self, shape=list(g.shape))


@lowers("permute")
def permute(g, given):
    rank = len(g.shape)
    return g.op("permute", given.self, dims=[d % rank for d in given.dims])


@lowers("transpose", "t", "mT", "numpy_T")
def transpose(g, given):
    dims = list(range(len(g.shape)))
    a, b = (given.dim0, given.dim1) if "dim0" in given else (-1, -2) if len(dims) > 1 else (0, 0)
    dims[a], dims[b] = dims[b], dims[a]
    return g.op("permute", given.self, dims=dims)


@lowers("unsqueeze")
def unsqueeze(g, given):
    return g.op("unsqueeze", given.self, axis=given.dim)


@lowers("squeeze")
def squeeze(g, given):
    return g.op("reshape", given.self, shape=list(g.shape))


@lowers("expand", "broadcast_to", "expand_as")
def expand(g, given):
    return g.op("broadcast_to", given.self, shape=list(g.shape))


@lowers("slice")
def slice_(g, given):
    size = g.shape_of(given.self)[given.dim]
    start, stop = (min(size, max(0, v + size if v < 0 else v)) if v is not None else otherwise
                   for v, otherwise in ((given.start, 0), (given.end, size)))
    if (start, stop, given.step) == (0, size, 1):
        return given.self
    return g.op("slice", given.self, axis=given.dim, start=start, stop=stop, step=given.step)


@lowers("select")
def select(g, given):
    index = given.index % g.shape_of(given.self)[given.dim]
    part = g.op("slice", given.self, axis=given.dim, start=index, stop=index + 1)
    return g.op("squeeze", part, axis=given.dim)


@lowers("chunk", "split", "split_with_sizes")
def split(g, given):
    axis, start, parts = given.dim, 0, []
    for meta in g.meta:
        size = meta.shape[axis]
        whole = tuple(meta.shape) == g.shape_of(given.self)
        parts.append(given.self if whole else
                     g.op("slice", given.self, axis=axis, start=start, stop=start + size, meta=meta))
        start += size
    return tuple(parts)


@lowers("cat", "concat")
def cat(g, given):
    return g.op("concat", *map(g.promoted, given.tensors), axis=given.dim)


@lowers("roll")
def roll(g, given):
    made = given.self
    for axis, shift in zip(given.dims, given.shifts, strict=True):
        made = g.op("roll", made, axis=axis, shift=shift)
    return made


@lowers("flip")
def flip(g, given):
    return g.op("flip", given.self, axes=list(given.dims))


@lowers("where")
def where(g, given):
    a, b = (g.promoted(v) if g.is_tensor(v) else g.number(v) for v in (given.self, given.other))
    return g.op("where", given.condition, a, b)


@lowers("masked_fill")
def masked_fill(g, given):
    value = given.value
    if not isinstance(value, (int, float)):
        raise Error("masked_fill with a tensor as value has no counterpart")
    return g.op("masked_fill", given.self, given.mask, value=infinity_or(value))


def infinity_or(value):
    return ("inf" if value > 0 else "-inf") if math.isinf(value) else value


@lowers("matmul", "mm", "bmm")
def matmul(g, given):
    a, b = given.self, given.get("other", given.get("mat2"))
    if min(len(g.shape_of(a)), len(g.shape_of(b))) < 2:
        raise Error("a product with a vector has no counterpart")
    return g.op("matmul", a, b)


@lowers("linear")
def linear(g, given):
    return g.op("linear", given.input, given.weight, *([given.bias] if given.bias is not None else []))


@lowers("addmm")
def addmm(g, given):
    only(given, alpha=1, beta=1)
    if len(g.shape_of(given.self)) != 1:
        raise Error("addmm with a matrix as bias has no counterpart")
    return g.op("linear", given.mat1, g.op("permute", given.mat2, dims=[1, 0]), given.self)


@lowers("einsum")
def einsum(g, given):
    return g.op("einsum", *given.tensors, equation=given.equation.replace(" ", ""))


@lowers("scaled_dot_product_attention")
def attention(g, given):
    only(given, dropout_p=0)
    mask, inputs = "none", [given.query, given.key, given.value]
    if given.attn_mask is not None:
        inputs.append(given.attn_mask)
        mask = "boolean" if g.dtype_of(given.attn_mask) == "bool" else "additive"
    elif given.is_causal:
        mask = "causal"
    return g.op("sdpa", *inputs, mask=mask, scale=given.scale or 0, grouped_heads=bool(given.enable_gqa))


@lowers("embedding")
def embedding(g, given):
    only(given, scale_grad_by_freq=False, sparse=False)
    return g.op("gather", given.weight, given.indices)


def positional(op):
    """The lowering of an operator whose tensors are the operands of the op, in their order."""
    return lambda g, given: g.op(op, *filter(g.is_tensor, given.values()))


for _op, _function in spelled("torch").items():
    LOWERINGS.setdefault(_function.rpartition(".")[2], positional(_op))
