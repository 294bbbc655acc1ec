"""Elementwise operators: one element of the result is of one element of each operand.

torch computes most of them in f32 and rounds once: in narrower dtypes they are casts around ops in f32. So is
`x + 0.1`, whose number is no value of a narrow dtype.
"""

import math

from .. import definitions
from ..errors import Error
from ..vocabulary import FLOATS, QUANTIZED
from .table import infinity_or, lowers, only


def rounded_once(*names):
    """The lowering of an operator that computes in f32: `function` of g, given and its first operand in f32."""
    def add(function):
        @lowers(*names)
        def lowering(g, given):
            if g.dtype_of(given.self) not in FLOATS:
                raise Error(f"{g.called} of {g.dtype_of(given.self)} has no counterpart")
            return g.promoted(function(g, given, g.wide(given.self)))
        return function
    return add


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
    return definitions.negated(g, given.self)


@lowers("abs")
def absolute(g, given):
    return definitions.absolute(g, given.self)


@lowers("reciprocal")
def reciprocal(g, given):
    return g.with_number("div", 1, given.self)


@lowers("pow")
def power(g, given):
    """Squares and cubes are products in the dtype, as torch computes them; the fourth power is rounded once."""
    x, exponent = given.self, given.exponent
    if not g.is_tensor(x):
        return of_base(g, x, g.wide(exponent))
    if g.is_tensor(exponent):
        raise Error("an exponent that is no number has no counterpart")
    if exponent in (0, 1):
        return x if exponent else filled(g, 1)
    made = definitions.power(g, g.promoted(x), exponent)
    if made is not None:
        return made
    if exponent in (-1, -2):
        return g.with_number("div", 1, x if exponent == -1 else g.op("mul", x, x))
    if exponent == 4:
        twice = g.op("mul", g.wide(x), g.wide(x))
        return g.promoted(g.op("mul", twice, twice))
    raise Error(f"exponent={exponent!r} has no counterpart")


def of_base(g, base, x):
    """exp(x log(base)), with the logarithm in two parts: for a small integer x, the product with the first is exact."""
    if not 0 < base < math.inf or base == 1:
        raise Error(f"a power of {base!r} has no counterpart")
    logarithm = math.log(base)
    digits = 2.0 ** (12 - math.frexp(logarithm)[1])
    first = math.trunc(logarithm * digits) / digits
    parts = [g.op("exp", g.op("scale", x, factor=part)) for part in (first, logarithm - first) if part]
    return g.promoted(g.op("mul", *parts) if len(parts) == 2 else parts[0])


@lowers("square")
def square(g, given):
    return g.op("mul", given.self, given.self)


@lowers("add", "sub", "rsub")
def add(g, given):
    a, b = (given.other, given.self) if g.called == "rsub" else (given.self, given.other)
    op = "add" if g.called == "add" else "sub"
    alpha = 1 if given.get("alpha") is None else given.alpha
    if not (g.is_tensor(a) and g.is_tensor(b)):
        if alpha != 1:
            if g.is_tensor(b):
                raise Error(f"alpha={alpha!r} of a tensor and a number has no counterpart")
            b = b * alpha
        return g.with_number(op, a, b)
    if alpha == 1:
        return of_two(g, op, a, b)
    alpha = g.torch.tensor(alpha, dtype=g.meta.dtype).item()  # as torch rounds it
    return g.promoted(g.op(op, g.wide(a), definitions.scaled(g, g.wide(b), alpha)))


@lowers("mul", "div", "maximum", "true_divide", "minimum")
def binary(g, given):
    only(given, rounding_mode=None)
    a, b = given.self, given.other
    op = {"true_divide": "div"}.get(g.called, g.called)
    if not (g.is_tensor(a) and g.is_tensor(b)):
        return g.with_number(op, a, b)
    if op == "minimum":
        return definitions.smaller(g, g.promoted(a), g.promoted(b))
    return of_two(g, op, a, b)


def of_two(g, op, a, b):
    """A number as second operand that is wider than the result is read as it is, as torch does on the CPU."""
    if g.dtype_of(b) == "f32" and not g.shape_of(b) and g.named(g.meta.dtype) in FLOATS:
        return g.promoted(g.op(op, g.wide(a), b))
    return g.op(op, g.promoted(a), g.promoted(b))


@lowers("addcmul", "addcdiv")
def addcmul(g, given):
    op = "mul" if g.called == "addcmul" else "div"
    made = definitions.scaled(g, g.op(op, g.wide(given.tensor1), g.wide(given.tensor2)), given.value)
    return g.promoted(g.op("add", g.wide(given.self), made))


@lowers("lerp")
def lerp(g, given):
    """From the nearer end."""
    if g.is_tensor(given.weight):
        raise Error("a weight that is no number has no counterpart")
    a, b, near = g.wide(given.self), g.wide(given.end), abs(given.weight) < 0.5
    weight = g.torch.tensor(given.weight, dtype=g.torch.float32)
    way = g.op("scale", g.op("sub", b, a), factor=(weight if near else weight - 1).item())
    return g.promoted(g.op("add", a if near else b, way))


@lowers("fma")
def fma(g, given):
    return g.promoted(g.op("add", g.op("mul", g.wide(given.a), g.wide(given.b)), g.wide(given.c)))


@lowers("clamp", "clamp_min", "clamp_max", "hardtanh", "relu6")
def clamp(g, given):
    low, high = {"hardtanh": ("min_val", "max_val")}.get(g.called, ("min", "max"))
    low, high = (0, 6) if g.called == "relu6" else (given.get(low), given.get(high))
    made = g.promoted(given.self)
    if low is not None:
        made = g.op("relu", made) if low == 0 and not g.is_tensor(low) else g.op("maximum", made, bound(g, made, low))
    return made if high is None else definitions.smaller(g, made, bound(g, made, high))


def bound(g, x, value):
    return g.promoted(value) if g.is_tensor(value) else g.number_like(value, x)


@rounded_once("elu", "celu", "selu")
def elu(g, given, x):
    if g.called == "selu":
        return definitions.elu(g, x, 1.67326319217681884765625, 1.05070102214813232421875)
    if g.called == "celu":
        return definitions.elu(g, x, given.alpha, inner=1 / given.alpha)
    return definitions.elu(g, x, given.alpha, given.scale, given.input_scale)


@rounded_once("leaky_relu")
def leaky_relu(g, given, x):
    return definitions.leaky_relu(g, x, given.negative_slope)


@rounded_once("prelu", "_prelu_kernel")
def prelu(g, given, x):
    """Of several weights, each belongs to a channel."""
    weight, rank = g.wide(given.weight), len(g.shape)
    if g.called == "prelu" and rank > 1:
        count = g.shape_of(weight)[0] if g.shape_of(weight) else 1
        weight = g.op("reshape", weight, shape=[count, *[1] * (rank - 2)])
    return definitions.prelu(g, x, weight)


@rounded_once("hardsigmoid")
def hardsigmoid(g, given, x):
    line = g.op("relu", g.op("add", x, g.number_like(3, x)))
    return g.op("scale", definitions.smaller(g, line, g.number_like(6, x)), factor=6, inverse=True)


@rounded_once("softplus")
def softplus(g, given, x):
    """Above the threshold, torch returns x, which is the same number in f32."""
    if given.threshold < 18:
        raise Error(f"threshold={given.threshold!r} has no counterpart")
    made = definitions.softplus(g, definitions.scaled(g, x, given.beta), g.shape)
    return made if given.beta == 1 else g.op("scale", made, factor=given.beta, inverse=True)


@rounded_once("log_sigmoid")
def log_sigmoid(g, given, x):
    return definitions.negated(g, definitions.softplus(g, definitions.negated(g, x), g.shape_of(x)))


@lowers("log_sigmoid_forward")
def log_sigmoid_forward(g, given):
    """The second result is a buffer, which is empty but for some devices."""
    if isinstance(g.meta, tuple):
        g.meta = g.meta[0]
    return g.promoted(log_sigmoid(g, given, g.wide(given.self))), None


@rounded_once("expm1")
def expm1(g, given, x):
    return g.op("sub", g.op("exp", x), g.number_like(1, x))


@rounded_once("glu")
def glu(g, given, x):
    axis, half = given.dim, g.shape[given.dim]
    a, b = (g.op("slice", x, axis=axis, start=start, stop=start + half) for start in (0, half))
    return g.op("mul", a, g.op("sigmoid", b))


@lowers("to", "_to_copy", "type_as", "convert_element_type")
def to(g, given):
    dtype, x = g.named(g.meta.dtype), given.get("self", given.get("a"))
    is_stored = dtype in QUANTIZED and g.dtype_of(x) in (*FLOATS, *QUANTIZED)
    if dtype not in FLOATS and not is_stored and g.dtype_of(x) != dtype:
        raise Error(f"a conversion of {g.dtype_of(x)} to {dtype} has no counterpart")
    return g.promoted(x)


@lowers("copy")
def copy(g, given):
    return spread(g, g.promoted(given.src))


@lowers("fill", "full_like", "zeros_like", "ones_like", "new_zeros", "new_ones", "new_full")
def fill(g, given):
    """Of the tensor that is given, the size counts alone."""
    value = {"zeros": 0, "ones": 1}.get(g.called.removeprefix("new_").removesuffix("_like"))
    value = given.get("value", given.get("fill_value")) if value is None else value
    return spread(g, g.promoted(value)) if g.is_tensor(value) else filled(g, value)


def spread(g, value):
    """In the shape of the call's result."""
    return value if g.shape_of(value) == g.shape else g.op("broadcast_to", value, shape=list(g.shape))


def filled(g, value):
    if g.named(g.meta.dtype) not in FLOATS:
        raise Error(f"a number of {g.named(g.meta.dtype)} has no counterpart")
    return g.op("broadcast_to", g.number(float(value)), shape=list(g.shape))


@lowers("where")
def where(g, given):
    """With a number, it fills a mask."""
    mask = given.condition
    if "self" not in given:
        raise Error("where of a condition alone has no counterpart")
    a, b = given.self, given.other
    if g.is_tensor(a) and g.is_tensor(b):
        return g.op("where", mask, g.promoted(a), g.promoted(b))
    if g.is_tensor(a):
        return fill_masked(g, a, mask, b, inverted=True)
    return fill_masked(g, b if g.is_tensor(b) else filled(g, b), mask, a)


@lowers("masked_fill")
def masked_fill(g, given):
    if g.is_tensor(given.value):
        return g.op("where", given.mask, g.promoted(given.value), g.promoted(given.self))
    return fill_masked(g, given.self, given.mask, given.value)


def fill_masked(g, x, mask, value, **how):
    return g.op("masked_fill", spread(g, g.promoted(x)), mask, value=infinity_or(float(value)), **how)
