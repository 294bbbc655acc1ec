"""Tensors of PyTorch from the arrays of the protocol, and back.

PyTorch has no conversions to f4e2m1 and s4. So f8e4m3 and int8 hold their numbers, which are among its own.
"""

import numpy as np
import torch
from protocol import STORAGE, WrongResult

DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "i32": torch.int32, "bool": torch.bool,
          "f8e4m3": torch.float8_e4m3fn, "f8e5m2": torch.float8_e5m2, "f8e8m0": torch.float8_e8m0fnu,
          "f4e2m1": torch.float8_e4m3fn, "s8": torch.int8, "s4": torch.int8}
# Those that numpy lacks, and the type of their bits.
BITS = {torch.bfloat16: torch.uint16, torch.float8_e4m3fn: torch.uint8, torch.float8_e5m2: torch.uint8,
        torch.float8_e8m0fnu: torch.uint8}

NO_CODE = 255
# The f8e4m3 codes of 0, 0.5, 1, 1.5, 2, 3, 4 and 6, whose f4e2m1 codes are 0 to 7, and of their negatives.
F8_OF_F4 = np.array([sign + code for sign in (0, 128) for code in (0, 48, 56, 60, 64, 68, 72, 76)], np.uint8)
F4_OF_F8 = np.full(256, NO_CODE, np.uint8)
F4_OF_F8[F8_OF_F4] = np.arange(16)
F4_OF_F8[[127, 255]] = 7  # NaN, for which the format has nothing


def held(array, dtype):
    """The array as numbers that a tensor can have."""
    if dtype == "f4e2m1":
        return F8_OF_F4[array]
    return (array ^ 8).view(np.int8) - np.int8(8) if dtype == "s4" else array


def codes(array, dtype):
    """The codes of what `held` gives; NO_CODE where the dtype lacks the number."""
    if dtype == "f4e2m1" and array.dtype == np.uint8:
        return F4_OF_F8[array]
    if dtype == "s4" and array.dtype == np.int8:
        return np.where(abs(array.astype(np.int16) * 2 + 1) < 16, array.view(np.uint8) & 15, np.uint8(NO_CODE))
    return array


def from_array(array, dtype):
    """A tensor that shares the memory of an array of `held`."""
    tensor = torch.from_numpy(array)
    return tensor.view(DTYPES[dtype]) if DTYPES[dtype] in BITS else tensor


def to_array(tensor, dtype, who="the worker"):
    """The tensor, which `who` returned for a value of this dtype, as the protocol has it."""
    if tensor.dtype in BITS and tensor.dtype != DTYPES[dtype]:
        raise WrongResult(f"{who} returned {tensor.dtype}, expected {DTYPES[dtype]}")
    if tensor.dtype in BITS.values():  # would look like the bits of another dtype
        raise WrongResult(f"{who} returned {tensor.dtype}, which is the dtype of no result")
    tensor = tensor.detach().resolve_conj().resolve_neg().cpu().contiguous()
    array = codes(tensor.view(BITS.get(tensor.dtype, tensor.dtype)).numpy(), dtype)
    if dtype in ("f4e2m1", "s4") and array.dtype == STORAGE[dtype] and (array == NO_CODE).any():
        raise WrongResult(f"{who} returned a number that is none of {dtype}")
    return array
