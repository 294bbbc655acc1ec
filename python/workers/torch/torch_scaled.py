"""Products of 8-bit floats by torch._scaled_mm, on GPUs whose tensor cores were measured.

Other products of quantized floats, and those on other devices, are computed in f32.
"""

import torch

# By compute capability: `accumulator` of a contract (docs/results/fp8.md), without fast accumulation.
ACCUMULATORS = {(9, 0): {"group": 32, "fraction_bits": 13, "out_bits": 13, "promote_every": 128}}
FORMATS = ("f8e4m3", "f8e5m2")

is_fast = False  # fast accumulation: accumulators are never added to a sum in f32


def accumulator(node, types):
    """That of the node's product; None if it is computed in f32.

    cuBLAS wants rows of a multiple of 16 elements, and has no product of two tensors of f8e5m2.
    """
    if node["op"] not in ("linear", "matmul") or torch.get_default_device().type != "cuda" or len(types) != 2:
        return None
    left, right = types
    formats = {left.dtype, right.dtype}
    if not formats <= set(FORMATS) or formats == {"f8e5m2"}:
        return None
    is_rows = node["op"] == "linear" or (not node["transpose_a"] and node["transpose_b"] and len(left.shape) == 2)
    if not is_rows or len(right.shape) != 2 or right.shape[0] % 16 or right.shape[1] % 16:
        return None
    unit = ACCUMULATORS.get(torch.cuda.get_device_capability())
    return {**unit, "promote_every": 0} if unit and is_fast else unit


def product(a, b):
    """a [..., k] b [n, k]^T in f32.

    Of copies, because torch._scaled_mm of operands that do not start at a multiple of 16 bytes is a misaligned address.
    """
    one = torch.ones((), device=a.device)
    rows = a.reshape(-1, a.shape[-1]).clone(memory_format=torch.contiguous_format)
    columns = b.clone(memory_format=torch.contiguous_format).t()
    y = torch._scaled_mm(rows, columns, scale_a=one, scale_b=one, out_dtype=torch.float32, use_fast_accum=is_fast)
    return y.reshape(*a.shape[:-1], b.shape[0])
