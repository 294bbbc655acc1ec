"""Operators that slide a window over images or sequences [n, c, ...]: convolutions and pools.

The elements at one place of all windows are a slice with steps. Slices of all places, side by side along the channels,
make a convolution one product.
"""

from .. import definitions
from ..errors import Error
from .moves import padded, part_of
from .table import lowers, only

MOST_ELEMENTS = 1 << 26  # of the windows


def each(value, count, otherwise=None):
    """One number for every axis; an empty list is `otherwise`."""
    if not isinstance(value, (list, tuple)):
        return [value] * count
    value = list(value) or otherwise
    return value * count if len(value) == 1 else value


def size_of(shape):
    product = 1
    for size in shape:
        product *= size
    return product


def places(g, x, axis, kernel, stride, dilation):
    """For each element of the kernel along an axis, the elements that it meets."""
    reach = (kernel - 1) * dilation + 1
    count = (g.shape_of(x)[axis] - reach) // stride + 1
    return [part_of(g, x, axis, i * dilation, i * dilation + (count - 1) * stride + 1, stride) for i in range(kernel)]


def columns(g, x, kernel, stride, dilation):
    """[n, places of the last axis, ..., places of the first axis, c, ...] with the places and c as one axis."""
    count = size_of(kernel)
    for i, (k, s, d) in enumerate(zip(kernel, stride, dilation, strict=True)):
        x = definitions.joined(g, places(g, x, i + 2, k, s, d), 1)
        if size_of(g.shape_of(x)) > MOST_ELEMENTS:
            raise Error(f"windows of {count} elements of so large an image have no counterpart")
    return x


def padded_images(g, x, padding, mode="constant"):
    for i, size in enumerate(padding):
        before, after = size if isinstance(size, tuple) else (size, size)
        x = padded(g, x, i + 2, before, after, mode) if before or after else x
    return x


# --- convolutions

@lowers("conv1d", "conv2d", "conv3d", "convolution")
def convolution(g, given):
    shape, rank = g.shape_of(given.input), len(g.shape_of(given.weight)) - 2
    stride, dilation = each(given.stride, rank), each(given.dilation, rank)
    if len(shape) != rank + 2:
        raise Error("a convolution without an axis of the batch has no counterpart")
    if given.get("transposed"):
        only(given, groups=1)
        plain = stride == list(g.shape_of(given.weight)[2:]) and not any(given.output_padding) and set(dilation) == {1}
        if not plain or any(given.padding):
            raise Error("a transposed convolution whose windows overlap has no counterpart")
        return spread_windows(g, given, rank)
    kernel = g.shape_of(given.weight)[2:]
    padding = each(given.padding, rank)
    if given.padding in ("same", "valid"):
        around = [d * (k - 1) if given.padding == "same" else 0 for k, d in zip(kernel, dilation, strict=True)]
        padding = [(size // 2, size - size // 2) for size in around]
    x = padded_images(g, given.input, padding)
    if given.groups == 1:
        return one_group(g, x, given, stride, dilation)
    return groups(g, x, given, stride, dilation)


def one_group(g, x, given, stride, dilation):
    """A linear of the windows, whose bias is rounded together with the product."""
    out, depth, *kernel = g.shape_of(given.weight)
    rank, places_of = len(kernel), list(g.shape_of(x)[2:])
    result = list(g.shape[2:])
    if list(stride) == kernel and all(size % k == 0 for size, k in zip(places_of, kernel, strict=True)) \
            and set(dilation) == {1}:  # windows beside each other
        spread = [size for count, k in zip(result, kernel, strict=True) for size in (count, k)]
        made = g.op("reshape", x, shape=[g.shape[0], depth, *spread])
        made = g.op("permute", made, dims=[0, *range(2, 2 + 2 * rank, 2), 1, *range(3, 3 + 2 * rank, 2)])
        made = g.op("reshape", made, shape=[g.shape[0], *result, depth * size_of(kernel)])
        weight = given.weight
    else:
        made = columns(g, x, kernel, stride, dilation)
        made = g.op("permute", made, dims=[0, *range(2, 2 + rank), 1])
        weight = g.op("permute", given.weight, dims=[0, *range(1 + rank, 1, -1), 1])
    weight = g.op("reshape", weight, shape=[out, depth * size_of(kernel)])
    made = g.op("linear", made, weight, *([given.bias] if given.bias is not None else []))
    return g.op("permute", made, dims=[0, 1 + rank, *range(1, 1 + rank)])


def groups(g, x, given, stride, dilation):
    """For each group of channels, a product of the windows. The bias is a term of it: torch may start with that."""
    out, depth, *kernel = g.shape_of(given.weight)
    count, rank, letters = given.groups, len(kernel), "xyz"[:len(kernel)]
    result, size, batch = list(g.shape[2:]), size_of(kernel), g.shape[0]
    made = g.op("reshape", columns(g, x, kernel, stride, dilation), shape=[batch, size, count, depth, *result])
    made = g.op("permute", made, dims=[0, 2, 1, 3, *range(4, 4 + rank)])
    made = g.wide(g.op("reshape", made, shape=[batch, count, size * depth, *result]))
    weight = g.op("permute", given.weight, dims=[0, *range(1 + rank, 1, -1), 1])
    weight = g.wide(g.op("reshape", weight, shape=[count, out // count, size * depth]))
    if given.bias is not None:
        ones = g.op("broadcast_to", g.number_like(1, made), shape=[batch, count, 1, *result])
        made = g.op("concat", made, ones, axis=2)
        bias = g.op("reshape", g.wide(given.bias), shape=[count, out // count, 1])
        weight = g.op("concat", weight, bias, axis=2)
    made = g.op("einsum", made, weight, equation=f"ngk{letters},gok->ngo{letters}")
    return g.promoted(g.op("reshape", made, shape=[batch, out, *result]))


def with_bias(g, made, given, rank):
    if given.bias is not None:
        bias = g.op("reshape", g.wide(given.bias), shape=[g.shape[1], *[1] * rank])
        made = g.op("add", made, bias)
    return g.promoted(made)


def spread_windows(g, given, rank):
    """Each element becomes a window of its own."""
    _, out, *kernel = g.shape_of(given.weight)
    letters, inner = "xyz"[:rank], "ijk"[:rank]
    mixed = "".join(a + b for a, b in zip(letters, inner, strict=True))
    made = g.op("einsum", g.wide(given.input), g.wide(given.weight), equation=f"nc{letters},co{inner}->no{mixed}")
    return with_bias(g, g.op("reshape", made, shape=list(g.shape)), given, rank)


@lowers("conv_transpose1d", "conv_transpose2d")
def transposed(g, given):
    rank = len(g.shape_of(given.weight)) - 2
    only(given, groups=1)
    stride, kernel = each(given.stride, rank), list(g.shape_of(given.weight)[2:])
    dilation = each(given.dilation, rank)
    if stride != kernel or any(each(given.padding, rank)) or any(each(given.output_padding, rank)) \
            or set(dilation) != {1}:
        raise Error("a transposed convolution whose windows overlap has no counterpart")
    return spread_windows(g, given, rank)


# --- pools

def pool_arguments(g, given, rank):
    kernel = each(given.kernel_size, rank)
    stride = each(given.get("stride") or kernel, rank, kernel)
    padding, dilation = each(given.padding, rank), each(given.get("dilation", 1), rank)
    meta = g.meta[0] if isinstance(g.meta, (list, tuple)) else g.meta
    shape = g.shape_of(given.self)
    if len(shape) != rank + 2:
        raise Error("a pool without an axis of the batch has no counterpart")
    counts = [(size + 2 * p - d * (k - 1) - 1) // s + 1
              for size, p, d, k, s in zip(shape[2:], padding, dilation, kernel, stride, strict=True)]
    if counts != list(meta.shape[2:]):
        raise Error("a pool with windows beyond the padding has no counterpart")
    return kernel, stride, padding, dilation


@lowers("max_pool1d", "max_pool2d", "max_pool3d", "max_pool2d_with_indices", "max_pool3d_with_indices")
def max_pool(g, given):
    """What is beyond an edge is the element at the edge, which is in the same window."""
    rank = int(g.called[8])
    kernel, stride, padding, dilation = pool_arguments(g, given, rank)
    if any(padding) and set(dilation) != {1}:
        raise Error("a pool with padding and gaps in its windows has no counterpart")
    made = padded_images(g, given.self, padding, "replicate")
    for i in range(rank):
        first, *others = places(g, made, i + 2, kernel[i], stride[i], dilation[i])
        for other in others:
            first = g.op("maximum", first, other)
        made = first
    return (made, None) if "indices" in g.called else made


@lowers("avg_pool1d", "avg_pool2d", "avg_pool3d")
def avg_pool(g, given):
    rank = int(g.called[8])
    kernel, stride, padding, _ = pool_arguments(g, given, rank)
    if given.get("divisor_override"):
        raise Error("a divisor that is given has no counterpart")
    x = g.wide(given.self)
    made = window_sums(g, padded_images(g, x, padding), kernel, stride)
    if any(padding) and not given.count_include_pad:
        one = g.op("broadcast_to", g.number_like(1, x), shape=[1, 1, *g.shape_of(x)[2:]])
        return g.promoted(g.op("div", made, window_sums(g, padded_images(g, one, padding), kernel, stride)))
    return g.promoted(g.op("scale", made, factor=size_of(kernel), inverse=True))


def window_sums(g, x, kernel, stride):
    made, channels = columns(g, x, kernel, stride, [1] * len(kernel)), g.shape_of(x)[1]
    shape = g.shape_of(made)
    made = g.op("reshape", made, shape=[shape[0], size_of(kernel), channels, *shape[2:]])
    return g.op("reduce_sum", made, axes=[1], keepdims=False)


@lowers("adaptive_avg_pool1d", "adaptive_avg_pool2d", "_adaptive_avg_pool2d", "adaptive_avg_pool3d")
def adaptive_avg_pool(g, given):
    """Of windows that do not overlap."""
    shape, result = list(g.shape_of(given.self)), list(g.shape)
    if any(size % count for size, count in zip(shape, result, strict=True)):
        raise Error("an adaptive pool whose windows overlap has no counterpart")
    rank = int(g.called[-2])
    spread, axes = shape[:-rank], []
    for size, count in zip(shape[-rank:], result[-rank:], strict=True):
        axes.append(len(spread) + 1)
        spread += [count, size // count]
    return g.op("reduce_mean", g.op("reshape", given.self, shape=spread), axes=axes, keepdims=False)


@lowers("upsample_nearest1d", "upsample_nearest2d")
def upsample(g, given):
    """By whole factors."""
    x = given.get("self", given.get("input"))
    shape, result = list(g.shape_of(x)), list(g.shape)
    if any(count % size for size, count in zip(shape, result, strict=True)):
        raise Error("another factor than a whole number has no counterpart")
    spread, wide = shape[:2], shape[:2]
    for size, count in zip(shape[2:], result[2:], strict=True):
        spread, wide = [*spread, size, 1], [*wide, size, count // size]
    made = g.op("broadcast_to", g.op("reshape", x, shape=spread), shape=wide)
    return g.op("reshape", made, shape=result)


@lowers("unfold")
def unfold(g, given):
    """Windows along one axis, which become the last one."""
    axis = given.dimension % len(g.shape_of(given.self))
    parts = places(g, given.self, axis, given.size, given.step, 1)
    return definitions.joined(g, [g.op("unsqueeze", part, axis=-1) for part in parts], -1)
