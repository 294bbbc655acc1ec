"""Kernels that raise for some kinds of cases, which the tests judge."""

import numpy as np
from kernels import softmax


def contiguous_rows(x):
    if x.shape[-1] > 1 and x.strides[-1] != x.itemsize:
        raise ValueError("the last axis must be contiguous")
    return softmax(x)


def aligned(x):
    if x.ctypes.data % 16:
        raise ValueError("misaligned address")
    return softmax(x)


def not_bf16(x):
    if x.dtype not in (np.float32, np.float16):
        raise TypeError("f32 or f16")
    return softmax(x)


def dense_up_to_three_axes(x):
    if x.ndim > 3 or not x.flags.c_contiguous:
        raise ValueError("three axes of dense memory")
    return softmax(x)


def multiples_of_eight(x):
    if x.shape[-1] % 8:
        raise NotImplementedError("sizes are multiples of 8")
    return softmax(x)


def up_to_a_block(x):
    assert x.shape[-1] <= 1024, "one block has 1024 threads"
    return softmax(x)


def no_rows_of_97(x):
    if x.shape[-1] == 97:
        raise ValueError("not 97")
    return softmax(x)


def no_transposed_matrices(x):
    """As a library that has no kernel for some layouts: nothing in the file says so."""
    np.empty(0 if x.ndim == 2 and x.strides[0] < x.strides[1] else 1, x.dtype)[0] = 0
    return softmax(x)


def no_matrices_at_odd_addresses(x):
    np.empty(0 if x.ndim == 2 and x.ctypes.data % 16 else 1, x.dtype)[0] = 0
    return softmax(x)


def index_error_beyond_hundred(x):
    table = np.ones(100, x.dtype)
    return softmax(x) * table[x.shape[-1] - 1]


def doubled_beyond_hundred(x):
    y = contiguous_rows(x)
    return y * y.dtype.type(2) if x.shape[-1] > 100 else y


def sum_with_dense(x, y):
    if not y.flags.c_contiguous:
        raise ValueError("y must be dense")
    return x + y


def not_nan(x):
    if np.isnan(x.astype(np.float32)).any():
        raise ValueError("no NaN")
    return softmax(x)
