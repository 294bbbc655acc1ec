"""Losses of elements, in the operations that torch makes of them on a CPU; then their mean or their sum."""

from .. import definitions
from ..errors import Error
from .table import lowers, only

REDUCTIONS = {0: None, 1: "reduce_mean", 2: "reduce_sum"}


def loss(*names):
    """The lowering of a loss: `function` of g, given, and both operands."""
    def add(function):
        @lowers(*names)
        def lowering(g, given):
            x, y = g.promoted(given.self), g.promoted(given.target)
            if g.shape_of(x) != g.shape_of(y):
                raise Error("a loss of operands that broadcast has no counterpart")
            return reduced(g, function(g, given, x, y), given.reduction)
        return function
    return add


def reduced(g, x, reduction):
    op, axes = REDUCTIONS[reduction], list(range(len(g.shape_of(x))))
    return g.op(op, x, axes=axes, keepdims=False) if op and axes else x


@loss("mse_loss")
def mse_loss(g, given, x, y):
    difference = g.op("sub", x, y)
    return g.op("mul", difference, difference)


@loss("l1_loss")
def l1_loss(g, given, x, y):
    return definitions.absolute(g, g.op("sub", x, y))


@loss("huber_loss", "smooth_l1_loss")
def huber_loss(g, given, x, y):
    """m m / 2 + delta (d - m) with d = |x - y| and m = min(d, delta); smooth_l1_loss divides by its beta."""
    smooth = g.called == "smooth_l1_loss"
    limit, distance = given.beta if smooth else given.delta, definitions.absolute(g, g.op("sub", x, y))
    if g.dtype_of(x) != "f32":  # torch rounds some of the operations
        raise Error(f"{g.called} of {g.dtype_of(x)} has no counterpart")
    if limit <= 0:
        raise Error(f"a limit of {limit!r} has no counterpart")
    inner = definitions.smaller(g, distance, g.number_like(limit, distance))
    square = g.op("scale", g.op("mul", inner, inner), factor=0.5)
    if smooth:
        square = g.op("scale", square, factor=limit, inverse=True)
        return g.op("add", square, g.op("sub", distance, inner))
    return g.op("add", square, definitions.scaled(g, g.op("sub", distance, inner), limit))


@loss("binary_cross_entropy_with_logits")
def binary_cross_entropy_with_logits(g, given, x, y):
    """(1 - y) x - log(sigmoid(x)), each operation rounded."""
    only(given, weight=None, pos_weight=None)
    made = g.op("mul", g.with_number("sub", 1, y), x)
    sigmoid = definitions.negated(g, definitions.softplus(g, definitions.negated(g, g.wide(x)), g.shape_of(x)))
    return g.op("sub", made, g.promoted(sigmoid))
