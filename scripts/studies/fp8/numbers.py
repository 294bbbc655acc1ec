"""Numbers of e4m3, and how a number is cut to some fraction bits."""

import numpy as np

NO_EXPONENT = -100000  # stands for the exponent of zero
BIG = 2.0 ** 16  # the largest power of two that is a product of two powers of two in e4m3

MODES = ("rz", "rne", "floor", "rna", "ceil")
MODE_NAMES = {"rz": "cut off (towards zero)", "rne": "rounded to nearest even", "floor": "rounded down",
              "rna": "rounded to nearest, ties away", "ceil": "rounded up"}


def round_e4m3(x):
    """To the nearest number of e4m3, ties to even; larger numbers become 448."""
    x = np.asarray(x, np.float64)
    exponent = np.maximum(np.frexp(x)[1] - 1, -6)
    unit = np.ldexp(1.0, exponent - 3)
    return np.clip(np.rint(x / unit) * unit, -448, 448)


def exponent_of(x):
    return np.frexp(x)[1] - 1


def factors(value):
    """Two numbers of e4m3 whose product is `value`; the second one is a power of two."""
    value = np.asarray(value, np.float64)
    exponent = np.where(value == 0, 0, exponent_of(value))
    second = np.ldexp(1.0, np.clip(exponent // 2, -9, 8))
    first = value / second
    assert (round_e4m3(first) == first).all(), value
    return first, second


def cut_to_unit(x, unit, mode):
    """`x` as a multiple of `unit`."""
    y = x / unit
    if mode == "rna":
        return np.sign(y) * np.floor(np.abs(y) + 0.5) * unit
    return {"rz": np.trunc, "rne": np.rint, "floor": np.floor, "ceil": np.ceil}[mode](y) * unit


def cut_to_bits(x, bits, mode):
    """`x` with `bits` fraction bits behind its leading one."""
    exponent = np.where(x == 0, 0, exponent_of(x))
    return cut_to_unit(x, np.ldexp(1.0, exponent - bits), mode)
