"""The op cast in JAX, which converts to the nearest number, and does not saturate but to float4_e2m1fn."""

import jax.numpy as jnp
from fusesmith.vocabulary import DTYPES as ROWS
from fusesmith.vocabulary import FLOATS
from jax import lax
from numpy_dtypes import DTYPES as ML_DTYPES
from protocol import Unsupported

DTYPES = {"f32": jnp.float32, "f16": jnp.float16, "i32": jnp.int32, "bool": jnp.bool_, "s8": jnp.int8, **ML_DTYPES}
ROUND = {"nearest": jnp.round, "down": jnp.floor, "up": jnp.ceil}


def on_grid(x, row, rounding):
    """f32 rounded to the precision of the dtype; there is no largest number."""
    _, exponent = jnp.frexp(x)
    exponent = jnp.maximum(exponent, row["min_exponent"] + 1) - row["precision"]
    return jnp.where(jnp.isfinite(x), jnp.ldexp(ROUND[rounding](jnp.ldexp(x, -exponent)), exponent), x)


def power_of_two(x, rounding):
    """f32 rounded down or up to f8e8m0, by its bits: XLA on CPUs computes with subnormal numbers as zeros."""
    bits = lax.bitcast_convert_type(x, jnp.uint32)
    exponent, digits = bits >> 23 & 255, bits & 0x7FFFFF
    exact = jnp.where(exponent == 0, 0x400000, 0)  # the smallest power, 2^-127, is a subnormal number of f32
    code = exponent + (digits > exact) if rounding == "up" else exponent
    code = jnp.where(exponent == 255, 255, code).astype(jnp.uint8)
    return lax.bitcast_convert_type(code, DTYPES["f8e8m0"])


def clamped(x, row):
    """NaN stays. Selected and not clipped, because XLA makes zeros of subnormal numbers that it clips."""
    x = x.astype(jnp.float32)
    x = jnp.where(x > row["max_finite"], row["max_finite"], x)
    return jnp.where(x < row["lowest"], row["lowest"], x) if row["lowest"] < 0 else x


def cast(node, types):
    name, target = node["dtype"], DTYPES[node["dtype"]]
    if name in FLOATS:
        return lambda x: x.astype(target)
    row, rounding = ROWS[name], node["rounding"]
    saturates = node["overflow"] == "saturate" or name in ("s8", "s4")
    if name == "f8e8m0" and types[0].dtype == "i32":
        raise Unsupported("f8e8m0 of i32 would be rounded to f32 first")

    def run(x):
        if name in ("s8", "s4"):
            return clamped(ROUND[rounding](x.astype(jnp.float32)), row).astype(target)
        if rounding == "nearest":
            return (clamped(x, row) if saturates else x).astype(target)
        if name == "f8e8m0":
            wide = x.astype(jnp.float32)
            return power_of_two(clamped(wide, row) if saturates else wide, rounding)
        wide = on_grid(x.astype(jnp.float32), row, rounding)
        return (clamped(wide, row) if saturates else wide).astype(target)

    return run
