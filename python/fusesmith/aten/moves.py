"""Operators that move elements without arithmetic."""

from .. import definitions
from ..errors import Error
from ..vocabulary import FLOATS
from .table import lowers, only


@lowers("view", "reshape", "_unsafe_view", "flatten", "unflatten", "squeeze", "reshape_as", "view_as")
def reshape(g, given):
    return g.op("reshape", given.self, shape=list(g.shape))


@lowers("permute")
def permute(g, given):
    rank = len(g.shape)
    return g.op("permute", given.self, dims=[d % rank for d in given.dims])


@lowers("transpose", "t", "mT", "numpy_T", "swapaxes")
def transpose(g, given):
    dims = list(range(len(g.shape)))
    if not dims:
        return given.self
    a, b = given.get("dim0", given.get("axis0")), given.get("dim1", given.get("axis1"))
    a, b = (a, b) if a is not None else (-1, -2) if len(dims) > 1 else (0, 0)
    dims[a], dims[b] = dims[b], dims[a]
    return g.op("permute", given.self, dims=dims)


@lowers("movedim")
def movedim(g, given):
    rank = len(g.shape)
    sources, targets = ([d % rank for d in (v if isinstance(v, (list, tuple)) else [v])]
                        for v in (given.source, given.destination))
    left = iter(i for i in range(rank) if i not in sources)
    placed = dict(zip(targets, sources, strict=True))
    return g.op("permute", given.self, dims=[placed[i] if i in placed else next(left) for i in range(rank)])


@lowers("unsqueeze")
def unsqueeze(g, given):
    return g.op("unsqueeze", given.self, axis=given.dim)


@lowers("expand", "broadcast_to", "expand_as")
def expand(g, given):
    return g.op("broadcast_to", given.self, shape=list(g.shape))


@lowers("broadcast_tensors")
def broadcast_tensors(g, given):
    return tuple(value if g.shape_of(value) == shape else g.op("broadcast_to", value, shape=list(shape))
                 for value, shape in zip(given.tensors, g.shapes, strict=True))


@lowers("repeat", "tile")
def repeat(g, given):
    repeats, shape, x = list(given.get("repeats", given.get("dims"))), list(g.shape_of(given.self)), given.self
    repeats = [1] * (len(shape) - len(repeats)) + repeats
    if len(repeats) > len(shape):
        shape = [1] * (len(repeats) - len(shape)) + shape
        x = g.op("reshape", x, shape=shape)
    return definitions.tiled(g, x, shape, repeats)


@lowers("repeat_interleave")
def repeat_interleave(g, given):
    """Each axis d as [d, 1], broadcast to [d, repeats]."""
    if g.is_tensor(given.repeats) or given.dim is None:
        raise Error("other repetitions than of one number along one axis have no counterpart")
    shape = list(g.shape_of(given.self))
    axis = given.dim % len(shape)
    made = g.op("unsqueeze", given.self, axis=axis + 1)
    made = g.op("broadcast_to", made, shape=[*shape[:axis + 1], given.repeats, *shape[axis + 1:]])
    return g.op("reshape", made, shape=list(g.shape))


@lowers("slice")
def slice_(g, given):
    size = g.shape_of(given.self)[given.dim]
    start, stop = limits(given, size)
    if (start, stop, given.step) == (0, size, 1):
        return given.self
    return part_of(g, given.self, given.dim, start, stop, given.step)


def limits(given, size):
    return (min(size, max(0, v + size if v < 0 else v)) if v is not None else otherwise
            for v, otherwise in ((given.start, 0), (given.end, size)))


def part_of(g, x, axis, start, stop, step=1):
    return g.op("slice", x, axis=axis, start=start, stop=stop, step=step)


@lowers("narrow")
def narrow(g, given):
    if g.is_tensor(given.start):
        raise Error("a start that is data has no counterpart")
    start = given.start % g.shape_of(given.self)[given.dim]
    return part_of(g, given.self, given.dim, start, start + given.length)


@lowers("select")
def select(g, given):
    index = given.index % g.shape_of(given.self)[given.dim]
    return g.op("squeeze", part_of(g, given.self, given.dim, index, index + 1), axis=given.dim)


@lowers("slice_scatter", "select_scatter")
def slice_scatter(g, given):
    """What is before the new elements, these, and what is behind them."""
    x, src, axis = given.self, g.promoted(given.src), given.dim
    size = g.shape_of(x)[axis]
    if g.called == "select_scatter":
        start, src = given.index % size, g.op("unsqueeze", src, axis=axis % len(g.shape))
        stop = start + 1
    else:
        start, stop = limits(given, size)
    if g.called == "slice_scatter" and given.step != 1:
        index = g.op("arange", count=g.shape_of(src)[axis], start=start, step=given.step)
        return g.op("index_copy", x, index, src, axis=axis)
    if (start, stop) == (0, size):
        return src
    parts = [part_of(g, x, axis, 0, start)] if start else []
    parts += [src] if stop > start else []
    return definitions.joined(g, [*parts, *([part_of(g, x, axis, max(start, stop), size)] if stop < size else [])],
                              axis)


@lowers("chunk", "split", "split_with_sizes")
def split(g, given):
    axis, start, parts = given.dim, 0, []
    for meta in g.meta:
        size = meta.shape[axis]
        whole = tuple(meta.shape) == g.shape_of(given.self)
        parts.append(given.self if whole else part_of(g, given.self, axis, start, start + size) if size else None)
        start += size
    return tuple(parts)


@lowers("unbind")
def unbind(g, given):
    return tuple(g.op("squeeze", part_of(g, given.self, given.dim, i, i + 1), axis=given.dim)
                 for i in range(g.shape_of(given.self)[given.dim]))


@lowers("cat", "concat")
def cat(g, given):
    return definitions.joined(g, list(map(g.promoted, given.tensors)), given.dim)


@lowers("stack")
def stack(g, given):
    return definitions.joined(g, [g.op("unsqueeze", g.promoted(x), axis=given.dim) for x in given.tensors], given.dim)


@lowers("roll")
def roll(g, given):
    made = given.self
    if not given.dims:
        raise Error("a roll of all elements has no counterpart")
    for axis, shift in zip(given.dims, given.shifts, strict=True):
        made = g.op("roll", made, axis=axis, shift=shift)
    return made


@lowers("flip")
def flip(g, given):
    return g.op("flip", given.self, axes=list(given.dims))


@lowers("pixel_shuffle", "pixel_unshuffle")
def pixel_shuffle(g, given):
    *batch, depth, height, width = g.shape_of(given.self)
    first, end = list(range(len(batch))), len(batch)
    if g.called == "pixel_shuffle":
        block = given.upscale_factor
        spread, order = [depth // block**2, block, block, height, width], (0, 3, 1, 4, 2)
    else:
        block = given.downscale_factor
        spread, order = [depth, height // block, block, width // block, block], (0, 2, 4, 1, 3)
    made = g.op("reshape", given.self, shape=[*batch, *spread])
    made = g.op("permute", made, dims=[*first, *(end + i for i in order)])
    return g.op("reshape", made, shape=list(g.shape))


# --- by indices

@lowers("embedding")
def embedding(g, given):
    only(given, scale_grad_by_freq=False, sparse=False)
    return g.op("gather", given.weight, given.indices)


@lowers("index_select")
def index_select(g, given):
    rank = len(g.shape_of(given.self))
    if not rank:
        raise Error("index_select of one number has no counterpart")
    return definitions.taken(g, given.self, rank, given.index, 1, given.dim % rank)


# --- padding

@lowers("constant_pad_nd", "pad", "zero_pad2d", "replication_pad1d", "replication_pad2d", "reflection_pad1d",
        "reflection_pad2d")
def pad(g, given):
    name = g.called.partition("_")[0]
    mode = given.get("mode", {"replication": "replicate", "reflection": "reflect"}.get(name, "constant"))
    sizes, value = given.get("pad", given.get("padding")), given.get("value")
    made = given.self
    for number in range(len(sizes) // 2):
        axis = len(g.shape) - 1 - number
        made = padded(g, made, axis, sizes[2 * number], sizes[2 * number + 1], mode, float(value or 0))
    return made


def padded(g, x, axis, before, after, mode="constant", value=0.0):
    """Negative sizes cut."""
    size = g.shape_of(x)[axis]
    if min(before, after) < 0:
        x = part_of(g, x, axis, max(0, -before), size - max(0, -after))
    parts = [edge(g, x, axis, count, mode, value, first) if count > 0 else None
             for count, first in ((before, True), (after, False))]
    return definitions.joined(g, [part for part in (parts[0], x, parts[1]) if part], axis)


def edge(g, x, axis, count, mode, value, first):
    shape = list(g.shape_of(x))
    size, shape[axis] = shape[axis], count
    if mode == "constant":
        if g.dtype_of(x) not in FLOATS:
            raise Error(f"padding of {g.dtype_of(x)} has no counterpart")
        return g.op("broadcast_to", g.number(value, g.dtype_of(x)), shape=shape)
    if mode == "replicate":
        end = part_of(g, x, axis, 0, 1) if first else part_of(g, x, axis, size - 1, size)
        return g.op("broadcast_to", end, shape=shape)
    if mode == "reflect":
        inner = part_of(g, x, axis, 1, count + 1) if first else part_of(g, x, axis, size - 1 - count, size - 1)
        return g.op("flip", inner, axes=[axis])
    if mode == "circular":
        return part_of(g, x, axis, size - count, size) if first else part_of(g, x, axis, 0, count)
    raise Error(f"the padding {mode} has no counterpart")
