"""Functions that are several ops, for the imports of ONNX and of PyTorch.

`g` adds nodes: `g.op(op, *values, **attributes)` of floats, `g.move` of any dtype, `g.number_like(number, x)` a
constant that broadcasts with x, in its dtype.
"""

from .errors import Error


def negated(g, x):
    return g.op("scale", x, factor=-1)


def absolute(g, x):
    return g.op("maximum", x, negated(g, x))


def smaller(g, a, b):
    return negated(g, g.op("maximum", negated(g, a), negated(g, b)))


def scaled(g, x, factor):
    return x if factor == 1 else g.op("scale", x, factor=factor)


def elu(g, x, alpha=1.0, gamma=1.0, inner=1.0):
    """gamma (max(x, 0) + alpha (exp(inner min(x, 0)) - 1))"""
    below = g.op("exp", scaled(g, negated(g, g.op("relu", negated(g, x))), inner))
    below = g.op("scale", g.op("sub", below, g.number_like(1, x)), factor=alpha)
    return scaled(g, g.op("add", g.op("relu", x), below), gamma)


def leaky_relu(g, x, slope):
    """Of a slope 0, an infinity would be NaN."""
    if not 0 < slope <= 1:
        raise Error("a slope that is not above 0 and at most 1 has no counterpart")
    return g.op("maximum", x, g.op("scale", x, factor=slope))


def prelu(g, x, weight):
    """One of the two sums is zero."""
    return g.op("sub", g.op("relu", x), g.op("mul", g.op("relu", negated(g, x)), weight))


def softplus(g, x, shape):
    """log(exp(x) + exp(0))"""
    zero = g.move("broadcast_to", g.number_like(0, x), shape=[*shape, 1])
    pair = g.move("concat", g.move("unsqueeze", x, axis=-1), zero, axis=-1)
    return g.op("logsumexp", pair, axes=[-1], keepdims=False)


def power(g, x, exponent):
    """None where nothing stands for the exponent."""
    if exponent in (2, 3):
        square = g.op("mul", x, x)
        return square if exponent == 2 else g.op("mul", square, x)
    if exponent in (0.5, -0.5):
        return g.op("sqrt" if exponent > 0 else "rsqrt", x)
    return None


def tiled(g, x, shape, repeats):
    """Each axis d as [1, d], broadcast to [repeats, d]; axes that are not repeated stay as they are."""
    spread, wide = [], []
    for times, size in zip(repeats, shape, strict=True):
        spread += [1, size] if times != 1 else [size]
        wide += [times, size] if times != 1 else [size]
    if len(wide) > 8:
        raise Error("more than 8 axes have no counterpart")
    made = g.move("broadcast_to", g.move("reshape", x, shape=spread), shape=wide)
    return g.move("reshape", made, shape=[times * size for times, size in zip(repeats, shape, strict=True)])


def joined(g, values, axis, most=16):
    """Of more values than one concat takes."""
    while len(values) > 1:
        groups = [values[i:i + most] for i in range(0, len(values), most)]
        values = [g.move("concat", *group, axis=axis) if len(group) > 1 else group[0] for group in groups]
    return values[0]


def taken(g, table, rank, index, index_rank, axis):
    """The elements of an axis that `index` names. Along another axis than the first, that one becomes the first."""
    if axis == 0:
        return g.move("gather", table, index)
    others = [i for i in range(rank) if i != axis]
    made = g.move("gather", g.move("permute", table, dims=[axis, *others]), index)
    dims = [*range(index_rank, index_rank + axis), *range(index_rank), *range(index_rank + axis, index_rank + rank - 1)]
    return g.move("permute", made, dims=dims)
