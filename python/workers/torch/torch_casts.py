"""The op cast in PyTorch: its own conversion where it has one, because that is what is judged.

Its conversions to formats of 8 bits round to nearest and do not saturate. It has none to f4e2m1 and s4, which
torch_tensors.py holds as f8e4m3 and int8.
"""

import torch
from fusesmith.vocabulary import DTYPES as ROWS
from fusesmith.vocabulary import FLOATS
from protocol import Unsupported
from torch_tensors import DTYPES

ROUND = {"nearest": torch.round, "down": torch.floor, "up": torch.ceil}


def on_grid(x, row, rounding):
    """f32 rounded to the precision of the dtype; there is no largest number."""
    exponent = (x.view(torch.int32) >> 23 & 255).clamp(min=row["min_exponent"] + 127)
    unit = (exponent - (row["precision"] - 1) << 23).view(torch.float32)
    return ROUND[rounding](x / unit) * unit


def power_of_two(x, rounding):
    """f32 rounded down or up to a number of f8e8m0, of which the smallest, 2^-127, is a subnormal number of f32."""
    bits = x.view(torch.int32)
    exponent, digits = bits >> 23 & 255, bits & 0x7FFFFF
    if rounding == "up":
        exponent = exponent + (digits > torch.where(exponent == 0, 0x400000, 0))
    return torch.where(torch.isfinite(x), torch.where(exponent == 0, 0x400000, exponent << 23).view(torch.float32), x)


def to_integer(x, row, rounding):
    x = x.float()
    if row["name"] == "s4":
        x = x.nan_to_num()  # PyTorch makes any int8 of NaN
    return ROUND[rounding](x).clamp(row["lowest"], row["max_finite"]).to(torch.int8)


def to_f4(x, row, rounding):
    y = on_grid(x.float(), row, rounding).nan_to_num(nan=row["max_finite"])
    return y.clamp(row["lowest"], row["max_finite"]).to(DTYPES["f4e2m1"])


def cast(node, types):
    name, target = node["dtype"], DTYPES[node["dtype"]]
    if name in FLOATS:
        return lambda x: x.to(target)
    row, saturates, rounding = ROWS[name], node["overflow"] == "saturate", node["rounding"]
    if name in ("s8", "s4", "f4e2m1"):
        convert = to_f4 if name == "f4e2m1" else to_integer
        return lambda x: convert(x, row, rounding)
    if name == "f8e8m0" and types[0].dtype == "i32":
        raise Unsupported("f8e8m0 of i32 would be rounded to f32 first")
    if rounding == "nearest" and not saturates:
        return lambda x: x.to(target)

    def run(x):
        x = x.float()
        if rounding != "nearest":
            x = power_of_two(x, rounding) if name == "f8e8m0" else on_grid(x, row, rounding)
        if saturates:
            x = x.clamp(row["lowest"] if row["lowest"] < 0 else None, row["max_finite"])
        return x.to(target)

    return run
