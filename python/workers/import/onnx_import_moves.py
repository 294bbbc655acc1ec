"""What fusesmith's ops make of ONNX's operators that move elements without arithmetic."""

import numpy as np
from fusesmith import definitions
from import_graph import Unmapped
from onnx_import import imports, product

MOST_CHUNKS = 64


def reshaped(g, value, shape):
    return g.move("reshape", value, shape=[int(size) for size in shape])


@imports("Reshape", "Flatten")
def reshape(g, node):
    return reshaped(g, g.value(node.inputs[0]), g.shape(node.outputs[0]))


@imports("Unsqueeze", "Squeeze")
def unsqueeze(g, node):
    """One axis is the op of that name, several are a reshape."""
    axes = g.integers(node.given(1), "axes") if node.given(1) else []
    if len(axes) == 1:
        return g.move(node.op.lower(), g.value(node.inputs[0]), axis=axes[0])
    return reshape(g, node)


@imports("Transpose")
def transpose(g, node):
    rank = len(g.shape(node.inputs[0]))
    dims = node.attributes.get("perm", list(range(rank))[::-1])
    return g.move("permute", g.value(node.inputs[0]), dims=list(dims))


@imports("Expand")
def expand(g, node):
    return g.move("broadcast_to", g.value(node.inputs[0]), shape=list(g.shape(node.outputs[0])))


@imports("Tile")
def tile(g, node):
    repeats = g.integers(node.inputs[1], "number of repetitions")
    return definitions.tiled(g, g.value(node.inputs[0]), g.shape(node.inputs[0]), repeats)


@imports("Slice")
def slice_(g, node):
    shape = g.shape(node.inputs[0])
    starts, ends = (g.integers(node.inputs[i], what) for i, what in ((1, "start"), (2, "end")))
    axes = g.integers(node.given(3), "axes") if node.given(3) else list(range(len(starts)))
    steps = g.integers(node.given(4), "step") if node.given(4) else [1] * len(starts)
    made = g.value(node.inputs[0])
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        size = shape[axis]
        taken = range(size)[slice(start, None if step < 0 and end < -size else end, step)]
        if taken == range(size):
            continue
        if step < 0:
            made = g.move("flip", made, axes=[axis])
            taken = range(size - 1 - taken.start, size - 1 - taken[-1] + 1, -step)
        if taken != range(size):
            made = g.move("slice", made, axis=axis, start=taken.start, stop=taken[-1] + 1, step=taken.step)
    return made


@imports("Split")
def split(g, node):
    """Equal parts are a `chunk`."""
    axis = node.attributes.get("axis", 0)
    sizes = [g.shape(name)[axis] for name in node.outputs]
    x = g.value(node.inputs[0])
    if len(sizes) == 1:
        return x
    if len(set(sizes)) == 1 and len(sizes) <= MOST_CHUNKS:
        return g.move("chunk", x, axis=axis, chunks=len(sizes))
    stops = np.cumsum(sizes)
    return [g.move("slice", x, axis=axis, start=int(stop) - size, stop=int(stop))
            for size, stop in zip(sizes, stops, strict=True)]


@imports("Concat")
def concat(g, node):
    return definitions.joined(g, list(map(g.value, node.inputs)), node.attributes["axis"])


@imports("Gather")
def gather(g, node):
    """A constant index is a slice; along another axis than the first, that one becomes the first."""
    table, indices = node.inputs
    shape, axis = g.shape(table), node.attributes.get("axis", 0)
    axis %= len(shape)
    constant = g.constant(indices)
    if constant is not None:
        constant = np.where(constant < 0, constant + shape[axis], constant)
        if constant.ndim == 0:
            part = g.move("slice", g.value(table), axis=axis, start=int(constant), stop=int(constant) + 1)
            return g.move("squeeze", part, axis=axis)
        index = g.new_constant(constant, "i32", indices)
    else:
        index = g.value(indices)
    g.limit_index(index, shape[axis])
    return definitions.taken(g, g.value(table), len(shape), index, len(g.shape(indices)), axis)


@imports("DepthToSpace", "SpaceToDepth")
def depth_to_space(g, node):
    batch, depth, height, width = g.shape(node.inputs[0])
    block, x = node.attributes["blocksize"], g.value(node.inputs[0])
    if node.op == "SpaceToDepth":
        spread = [batch, depth, height // block, block, width // block, block]
        dims = [0, 3, 5, 1, 2, 4]
    elif node.attributes.get("mode", "DCR") == "DCR":
        spread, dims = [batch, block, block, depth // block**2, height, width], [0, 3, 4, 1, 5, 2]
    else:
        spread, dims = [batch, depth // block**2, block, block, height, width], [0, 1, 4, 2, 5, 3]
    return reshaped(g, g.move("permute", reshaped(g, x, spread), dims=dims), g.shape(node.outputs[0]))


@imports("Pad")
def pad(g, node):
    """Constant values around the elements, as parts of a concat; negative sizes cut."""
    shape, pads = list(g.shape(node.inputs[0])), g.integers(node.inputs[1], "padding")
    value = g.scalar(node.given(2)) if node.given(2) else 0.0
    if node.attributes.get("mode", "constant") != "constant" or value is None or min(pads) < 0:
        raise Unmapped("another mode than constant, a value that is data, or negative padding")
    axes = g.integers(node.given(3), "axes") if node.given(3) else list(range(len(shape)))
    made, dtype = g.value(node.inputs[0]), g.dtype(node.inputs[0])
    for axis, before, after in zip(axes, pads[:len(axes)], pads[len(axes):], strict=True):
        around = []
        for size in (before, after):
            edge = [*shape[:axis % len(shape)], size, *shape[axis % len(shape) + 1:]]
            around.append([g.new_constant(np.full(edge, value), dtype, f"{g.base}.edge")]
                          if product(edge) else [])
        shape[axis] += before + after
        if before + after:
            made = g.move("concat", *around[0], made, *around[1], axis=axis)
    return made
