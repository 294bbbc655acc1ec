"""Operators that read or write at indices: losses of classes, gradients of tables, scatter and index_put.

A case has no integers to compute with. Where an import knows the indices, from constants or from the inputs that a
program was exported with, the places that they name are a constant of the case, and what is left is movement, and
sums of what has the same place.
"""

import math

from .. import definitions
from ..errors import Error
from ..vocabulary import FLOATS
from .moves import part_of
from .table import lowers, only

MOST_PLACES = 1 << 24  # elements of what is summed, and of a mask


def known(g, indices):
    found = g.known(indices)
    if found is None or found.is_floating_point() or found.is_complex():
        raise Error("indices that are not known have no counterpart")
    return found


def limited(count):
    if count > MOST_PLACES:
        raise Error(f"{count} elements at indices have no counterpart")


def places(g, shape):
    """The number of each element."""
    limited(math.prod(shape))
    return g.torch.arange(math.prod(shape)).view(*shape)


def zero_row(g, width, dtype):
    return g.op("broadcast_to", g.number(0.0, dtype), shape=[1, width])


def at(g, table, rows):
    return g.op("gather", table, g.constant(rows))


def is_zero(g, base):
    """A constant of zeros."""
    found = g.known(base, of_inputs=False)
    return found is not None and not found.any()


def placed(g, base, values, where, rows, accumulate=False):
    """`base` [rows, width], or zeros where it is None, with row i of `values` at the row where[i]."""
    torch, (count, width), dtype = g.torch, g.shape_of(values), g.dtype_of(values)
    limited(rows * width)
    used, group, times = torch.unique(where, return_inverse=True, return_counts=True)
    if not accumulate and int(times.max()) > 1:
        raise Error("several elements for one place have no counterpart")
    if accumulate:
        values = added(g, base, values, used, group, times)
        count, where = len(used), used
    rest = zero_row(g, width, dtype) if base is None else base
    source = torch.full((rows,), count) if base is None else torch.arange(rows) + count
    source[where] = torch.arange(count)
    if torch.equal(source, torch.arange(count)):
        return values
    return at(g, definitions.joined(g, [values, rest], 0), source)


def added(g, base, values, used, group, times):
    """For each row that is written, the sum of what it had and of what is added to it."""
    torch, (count, width), dtype = g.torch, g.shape_of(values), g.dtype_of(values)
    most = int(times.max())
    limited(len(used) * (most + 1) * width)
    order = torch.argsort(group, stable=True)
    turn = torch.arange(count) - (times.cumsum(0) - times)[group[order]]
    terms = torch.full((len(used), most), -1)
    terms[group[order], turn] = order
    parts = [values]
    if base is not None:
        terms = torch.cat([(used + count)[:, None], terms], 1)
        parts.append(base)
    if (terms < 0).any():
        terms[terms < 0] = sum(g.shape_of(part)[0] for part in parts)
        parts.append(zero_row(g, width, dtype))
    made = at(g, definitions.joined(g, parts, 0), terms)
    if terms.shape[1] == 1:
        return g.op("squeeze", made, axis=1)
    return g.op("reduce_sum", made, axes=[1], keepdims=False)


def put(g, base, values, where, axes, accumulate):
    """`where` says which element of the first `axes` axes of `base` each row of `values` goes to."""
    shape = g.shape_of(base)
    rows, width = math.prod(shape[:axes]), math.prod(shape[axes:])
    if not where.numel():
        return base
    values = g.op("reshape", g.promoted(values), shape=[where.numel(), width])
    base = None if is_zero(g, base) else g.op("reshape", base, shape=[rows, width])
    return g.op("reshape", placed(g, base, values, where.reshape(-1), rows, accumulate), shape=list(shape))


def places_along(g, shape, axis, index):
    """Of each index, the element that has this place along the axis, and the place of the index along the others."""
    if not shape:
        raise Error("one number at an index has no counterpart")
    limits = [shape[axis] if number == axis % len(shape) else size for number, size in enumerate(index.shape)]
    return places(g, shape)[tuple(map(slice, limits))].gather(axis, index)


@lowers("scatter", "scatter_add")
def scatter(g, given):
    only(given, reduce=None)
    index, shape = known(g, given.index), g.shape_of(given.self)
    where = places_along(g, shape, given.dim, index)
    source = given.get("src", given.get("value"))
    if g.is_tensor(source):
        for axis, size in enumerate(index.shape):
            if g.shape_of(source)[axis] != size:
                source = g.op("slice", source, axis=axis, start=0, stop=size)
    elif index.numel():
        source = g.op("broadcast_to", g.number(float(source), g.dtype_of(given.self)), shape=[index.numel()])
    return put(g, given.self, source, where, len(shape), g.called == "scatter_add")


@lowers("index", "_unsafe_index")
def index(g, given):
    """Of one tensor of indices, these may be anything."""
    named = [(axis, value) for axis, value in enumerate(given.indices) if value is not None]
    if any(g.dtype_of(value) != "i32" for _, value in named):
        raise Error("a mask as index has no counterpart")
    if len(named) == 1:
        axis, chosen = named[0]
        return definitions.taken(g, given.self, len(g.shape_of(given.self)), chosen, len(g.shape_of(chosen)), axis)
    where, axes = named_places(g, given)
    shape = g.shape_of(given.self)
    rows = g.op("reshape", given.self, shape=[math.prod(shape[:axes]), *shape[axes:]])
    return at(g, rows, where)


def named_places(g, given):
    """Which elements of the first axes the indices name, and how many axes these are."""
    shape, chosen = g.shape_of(given.self), list(given.indices)
    axes = len(shape) if None in chosen else len(chosen)
    chosen = tuple(slice(None) if value is None else known(g, value) for value in chosen)
    return places(g, shape[:axes])[chosen], axes


@lowers("index_put", "_unsafe_index_put")
def index_put(g, given):
    if g.dtype_of(given.self) not in FLOATS:
        raise Error(f"index_put of {g.dtype_of(given.self)} has no counterpart")
    where, axes = named_places(g, given)
    values, shape = given["values"], [*where.shape, *g.shape_of(given.self)[axes:]]
    if list(g.shape_of(values)) != shape:
        values = g.op("broadcast_to", values, shape=shape)
    return put(g, given.self, values, where, axes, bool(given.accumulate))


MOST_ROWS = 64  # of what is gathered row by row


def gather_of_rows(g, given):
    """Each row along the axis is a table of its own, so that the indices may be anything."""
    rank = len(g.shape)
    if not rank:
        raise Error("gather of one number has no counterpart")
    axis = given.dim % rank
    order = [*(i for i in range(rank) if i != axis), axis]
    x, size, count = given.self, g.shape_of(given.self)[axis], g.shape[axis]
    for other in order[:-1]:
        if g.shape_of(x)[other] != g.shape[other]:
            x = part_of(g, x, other, 0, g.shape[other])
    x, index = (g.op("permute", value, dims=order) for value in (x, given.index))
    rows = math.prod(g.shape[i] for i in order[:-1])
    if rows > MOST_ROWS:
        raise Error(f"gather from {rows} rows has no counterpart")
    x, index = g.op("reshape", x, shape=[rows, size]), g.op("reshape", index, shape=[rows, count])
    tables = ([g.op("squeeze", part_of(g, value, 0, i, i + 1), axis=0) for i in range(rows)] for value in (x, index))
    made = definitions.joined(g, [g.op("gather", *pair) for pair in zip(*tables, strict=True)], 0)
    made = g.op("reshape", made, shape=[g.shape[i] for i in order])
    return g.op("permute", made, dims=[order.index(i) for i in range(rank)])


@lowers("gather")
def gather(g, given):
    if g.known(given.index) is None:
        return gather_of_rows(g, given)
    shape = g.shape_of(given.self)
    flat = g.op("reshape", given.self, shape=[math.prod(shape)])
    return at(g, flat, places_along(g, shape, given.dim, known(g, given.index)))


@lowers("embedding_dense_backward")
def embedding_dense_backward(g, given):
    only(given, scale_grad_by_freq=False)
    where = known(g, given.indices).reshape(-1)
    width = g.shape[-1]
    values = g.op("reshape", given.grad_output, shape=[len(where), width])
    kept = (where != given.padding_idx).nonzero()[:, 0]
    if len(kept) == 0:
        raise Error("a table of which only padding is read has no counterpart")
    if len(kept) < len(where):
        values = at(g, values, kept)
    return placed(g, None, values, where[kept], g.shape[0], accumulate=True)


# --- the loss of classes

def classes(g, given):
    """Which class of which row counts: two tensors of indices, and the number of rows and of classes."""
    shape = g.shape_of(given.self)
    target = known(g, given.target).reshape(-1)
    if len(shape) not in (1, 2):
        raise Error("a loss of classes of images has no counterpart")
    kept = (target != given.ignore_index).nonzero()[:, 0]
    if len(kept) == 0:
        raise Error("a loss of no rows has no counterpart")
    return kept, target[kept], len(target), shape[-1]


@lowers("nll_loss_forward")
def nll_loss_forward(g, given):
    """The loss, and the sum of the weights of what counts."""
    metas, (rows, chosen, count, width) = g.meta, classes(g, given)
    g.meta = metas[0]
    flat = g.op("reshape", g.wide(given.self), shape=[count * width])
    picked = definitions.negated(g, at(g, flat, rows * width + chosen))
    weights = None if given.weight is None else at(g, g.wide(given.weight), chosen)
    picked = picked if weights is None else g.op("mul", picked, weights)
    if given.reduction == 0:
        column = g.op("unsqueeze", picked, axis=1)
        made = g.op("reshape", placed(g, None, column, rows, count), shape=list(g.shape))
        return g.promoted(made), None
    made = g.op("reduce_sum", picked, axes=[0], keepdims=False)
    total = None if weights is None else g.op("reduce_sum", weights, axes=[0], keepdims=False)
    if given.reduction == 1:
        made = g.op("scale", made, factor=len(rows), inverse=True) if total is None else g.op("div", made, total)
    made = g.promoted(made)
    if 1 not in g.read:
        return made, None
    g.meta = metas[1]
    total = g.op("reshape", g.number(float(len(rows))), shape=[]) if total is None else total
    return made, g.promoted(total)


@lowers("nll_loss_backward")
def nll_loss_backward(g, given):
    """Zeros, but for the class of each row that counts."""
    rows, chosen, count, width = classes(g, given)
    limited(count * width)
    shown = g.torch.zeros(count, width, dtype=g.torch.bool)
    shown[rows, chosen] = True
    made = definitions.negated(g, g.wide(given.grad_output))
    if given.reduction == 1:
        made = g.op("div", made, g.wide(given.total_weight))
    elif given.reduction == 0:
        made = g.op("reshape", made, shape=[count, 1])
    if given.weight is not None:
        weights = g.torch.zeros(count, dtype=g.torch.int64)
        weights[rows] = chosen
        made = g.op("mul", made, g.op("unsqueeze", at(g, g.wide(given.weight), weights), axis=1))
    made = g.op("broadcast_to", made, shape=[count, width])
    made = g.op("masked_fill", made, g.constant(shown), value=0, inverted=True)
    return g.promoted(g.op("reshape", made, shape=list(g.shape)))
