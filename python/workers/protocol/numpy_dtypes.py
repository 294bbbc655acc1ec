"""Arrays of the dtypes that numpy has from the package ml_dtypes, which JAX's arrays have, too."""

import ml_dtypes
import numpy as np

NAMES = {"bf16": "bfloat16", "f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2", "f8e8m0": "float8_e8m0fnu",
         "f4e2m1": "float4_e2m1fn", "s4": "int4"}
# Old versions of ml_dtypes lack some.
DTYPES = {name: np.dtype(getattr(ml_dtypes, long)) for name, long in NAMES.items() if hasattr(ml_dtypes, long)}


def from_bits(array, dtype):
    """An array of the protocol with the dtype that its elements have."""
    return array.view(DTYPES[dtype]) if dtype in DTYPES else array


def to_bits(array):
    """The same as the protocol has it."""
    name = next((name for name, dtype in DTYPES.items() if dtype == array.dtype), None)
    if name is None:
        return array
    bits = array.view(f"u{array.dtype.itemsize}")
    return bits & np.uint8(15) if name in ("f4e2m1", "s4") else bits
