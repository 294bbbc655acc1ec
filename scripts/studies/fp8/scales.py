"""The orders in which a kernel can multiply a sum by two scales: scales of the whole sum, or of each block of K."""

import numpy as np
from fp8.arrays import fma32

OF_SUMS = {"ab": "sum * fl(sa sb)", "a_b": "fl(sum sa) * sb", "b_a": "fl(sum sb) * sa",
           "exact": "sum sa sb, rounded once"}
OF_BLOCKS = {"fma_ab": "main = fma(acc, fl(sa sb), main)", "mul_ab": "main = main + fl(acc fl(sa sb))",
             "mul_a_b": "main = main + fl(fl(acc sa) sb)", "mul_b_a": "main = main + fl(fl(acc sb) sa)",
             "fma_a_b": "main = fma(fl(acc sa), sb, main)", "fma_b_a": "main = fma(fl(acc sb), sa, main)"}


def is_blockwise(mode):
    return mode.startswith("block:")


def block_rows(mode):
    """(rows of A, columns of B) that share a scale, of "block:ROWS:COLUMNS"; a block has 128 of K."""
    return tuple(int(word) for word in mode.split(":")[1:])


def shapes(mode, rows, columns, K):
    """The shapes of both scales."""
    if mode == "tensor":
        return (), ()
    if mode == "row":
        return (rows, 1), (1, columns)
    of_a, of_b = block_rows(mode)
    return (-(-rows // of_a), -(-K // 128)), (-(-K // 128), -(-columns // of_b))


def apply_to_sum(arrays, total, sa, sb):
    """The f32 results of all orders of OF_SUMS."""
    exact = arrays.f64(total) * arrays.f64(sa) * arrays.f64(sb)
    return {"ab": total * (sa * sb), "a_b": (total * sa) * sb, "b_a": (total * sb) * sa, "exact": arrays.f32(exact)}


def apply_to_block(arrays, order, main, acc, sa, sb):
    """The f32 sum `main` of the blocks so far, None before the first one, after the block with the sum `acc`."""
    kind, _, first = order.partition("_")
    if first == "ab":
        x, y = acc, sa * sb
    elif first == "a_b":
        x, y = acc * sa, sb
    else:
        x, y = acc * sb, sa
    if main is None:
        return x * y
    return fma32(arrays, x, y, main) if kind == "fma" else main + x * y


def expanded(rows, columns, sa, sb):
    """Scales of blocks as [rows, K/128] and [K/128, columns]."""
    sa, sb = np.asarray(sa, np.float32), np.asarray(sb, np.float32)
    return (sa if sa.shape[0] == rows else np.repeat(sa, 128, axis=0)[:rows],
            sb if sb.shape[1] == columns else np.repeat(sb, 128, axis=1)[:, :columns])
