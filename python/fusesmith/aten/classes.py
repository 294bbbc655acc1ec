"""Losses and gradients of tables at indices that each case draws: masks say which element an index names.

Of a loss, the index 0 stands for a row that is ignored, and c + 1 for the class c. Where classes are many, those of
larger numbers are not drawn, so that the mask of every class stays small.
"""

from .. import definitions
from ..errors import Error
from .losses import reduced
from .table import LOWERINGS, only

MOST_SHOWN = 1 << 22  # elements of the mask of every class
MOST_COLUMNS = 1 << 16  # of a causal_mask
MOST_SUMMED = 1 << 24  # elements of what becomes of the gradient of a table


def drawn_classes(width):
    """How many indices a target has, with that of ignored rows."""
    return 1 + min(width, max(1, MOST_SHOWN // (width + 1)))


def others(g, target, width):
    """A mask [..., width] that is false at the class of each row."""
    rows, columns = drawn_classes(width), min(width + 1, MOST_COLUMNS)
    table = g.op("causal_mask", rows=rows, cols=columns, window=1)  # false on the diagonal
    made = g.op("slice", table, axis=1, start=1, stop=columns)
    if columns <= width:  # its last columns are true
        made = g.op("concat", made, g.op("slice", table, axis=1, start=2 * columns - width - 1, stop=columns), axis=1)
    return g.op("gather", made, target)


def is_ignored(g, target, width, inverted=False):
    rows = drawn_classes(width)
    how = {} if inverted else {"alignment": "bottom_right", "window": rows - 1}
    table = g.op("causal_mask", rows=1, cols=rows, **how)  # false, or true, at 0 alone
    return g.op("gather", g.op("reshape", table, shape=[rows]), target)


def rows_of(g, given):
    if len(g.shape_of(given.self)) != 2:
        raise Error("a loss of classes that is not of a matrix has no counterpart")
    only(given, weight=None)
    return g.shape_of(given.self)


def counted(g, mask):
    """How many elements are false."""
    size = g.shape_of(mask)[0]
    ones = g.op("broadcast_to", g.number(1.0, g.narrow), shape=[size])
    return g.op("reduce_sum", g.op("masked_fill", ones, mask, value=0), axes=[0], keepdims=False)


def nll_loss_forward(g, given):
    """The loss, and how many rows count."""
    metas, (_, width) = g.meta, rows_of(g, given)
    g.meta = metas[0]
    picked = g.op("masked_fill", g.wide(given.self), others(g, given.target, width), value="-inf")
    picked = definitions.negated(g, g.op("reduce_max", picked, axes=[1], keepdims=False))
    ignored = is_ignored(g, given.target, width)
    picked = g.op("masked_fill", picked, ignored, value=0)
    count = counted(g, ignored) if given.reduction == 1 or 1 in g.read else None
    made = reduced(g, picked, 2 if given.reduction else 0)
    made = g.promoted(g.op("div", made, count) if given.reduction == 1 else made)
    return made, count and g.promoted(count, g.named(metas[1].dtype))


def nll_loss_backward(g, given):
    """Zeros, but for the class of each row that counts."""
    count, width = rows_of(g, given)
    made = definitions.negated(g, g.wide(given.grad_output))
    if given.reduction == 1:
        made = g.op("div", made, g.wide(given.total_weight))
    elif given.reduction == 0:
        made = g.op("reshape", made, shape=[count, 1])
    made = g.op("broadcast_to", made, shape=[count, width])
    return g.promoted(g.op("masked_fill", made, others(g, given.target, width), value=0))


def embedding_dense_backward(g, given):
    """Of each row of the table, the sum of what was read from it."""
    only(given, padding_idx=-1, scale_grad_by_freq=False)
    rows, width = g.shape
    shape = g.shape_of(given.indices)
    count = 1
    for size in shape:
        count *= size
    if count * rows * width > MOST_SUMMED:
        raise Error(f"the gradient of {rows} rows of {width} of which {count} are read has no counterpart")
    index = g.op("reshape", given.indices, shape=[count])
    elsewhere = g.op("gather", g.op("causal_mask", rows=rows, cols=rows, window=1), index)
    dy = g.op("reshape", g.wide(given.grad_output), shape=[count, 1, width])
    dy = g.op("broadcast_to", dy, shape=[count, rows, width])
    dy = g.op("masked_fill", dy, g.op("unsqueeze", elsewhere, axis=2), value=0)
    return g.promoted(g.op("reduce_sum", dy, axes=[0], keepdims=False))


def eq(g, given):
    """Which rows are ignored: the only comparison that has a counterpart."""
    role = g.roles.get(g.source.get(given.self))
    if role is None or role.ignored is None or given.other != role.ignored:
        raise Error("a comparison has no counterpart")
    made = is_ignored(g, given.self, role.count)
    g.compared[made] = is_ignored(g, given.self, role.count, inverted=True)
    return made


def inverted(g, given):
    if given.self not in g.compared:
        raise Error("the inverse of a mask has no counterpart")
    made = g.compared[given.self]
    g.compared[made] = given.self
    return made


def summed(g, given):
    """Of such a mask, how many rows it has."""
    if given.self not in g.compared or given.get("dim"):
        return LOWERINGS["sum"](g, given)
    return counted(g, g.compared[given.self])


OWN = {"nll_loss_forward": nll_loss_forward, "nll_loss_backward": nll_loss_backward, "eq": eq, "sum": summed,
       "embedding_dense_backward": embedding_dense_backward, "bitwise_not": inverted, "logical_not": inverted}
