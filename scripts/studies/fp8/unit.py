"""A simulated unit in integers, which takes the place of the GPU for tests of the probes.

It shares no code with the emulation in f64 except for the application of scales (scales.py).
"""

import collections
import dataclasses
import math

import numpy as np
from fp8 import scales
from fp8.arrays import NumpyArrays
from fp8.numbers import NO_EXPONENT, exponent_of


def bit_length(m):
    return np.where(m == 0, 0, np.frexp(np.abs(m).astype(np.float64))[1]).astype(np.int64)


def shift(m, by, mode):
    """m 2^by as an integer."""
    left = np.where(m == 0, 0, np.clip(by, 0, 55)).astype(np.int64)
    right = np.clip(-by, 0, 61).astype(np.int64)
    magnitude, sign = np.abs(m), np.sign(m)
    if mode == "rz":
        shifted = sign * (magnitude >> right)
    elif mode == "floor":
        shifted = m >> right
    elif mode == "rne":
        half = np.where(right > 0, np.left_shift(np.int64(1), np.maximum(right - 1, 0)), 0)
        shifted = sign * ((magnitude + np.where(right > 0, half - 1 + ((magnitude >> right) & 1), 0)) >> right)
    else:
        raise ValueError(mode)
    return np.where(by >= 0, m << left, shifted)


@dataclasses.dataclass
class SimulatedUnit:
    """Roundings are "rz", "floor" or "rne"."""
    F: int = 13  # the terms of one step are cut at 2^(largest exponent - F)
    g: int = 32  # products in one step
    Fo: int = 13  # fraction bits of the accumulator after a step
    promote: int = 128  # terms after which the accumulator is added to a sum in f32; 0: never
    promote_fast: int = 0  # the same with use_fast_accum
    split: int = 1  # parts of K with sums of their own
    term: str = "rz"  # rounding of a term
    out: str = "rz"  # rounding of the accumulator
    pexp: str = "sum"  # exponent of a product: "sum" of its factors' exponents, or that of the product ("norm")
    sub: str = "raw"  # exponent of a subnormal factor: -6 ("raw"), or that of its leading one ("norm")
    order: str = "ab"  # how scales are applied, of scales.OF_SUMS
    blk: str = "fma_ab"  # how scales of blocks are applied, of scales.OF_BLOCKS
    interleave: bool = False  # even and odd terms of 2 g are one step each

    f32, device_name = True, "simulated"

    def groups(self, K):
        if not self.interleave:
            return [np.arange(k, min(k + self.g, K)) for k in range(0, K, self.g)]
        found = []
        for k in range(0, K, 2 * self.g):
            window = np.arange(k, min(k + 2 * self.g, K))
            found += [x for x in (window[0::2], window[1::2]) if len(x)]
        return found

    def parts(self, K, fast):
        """For each part of K, the accumulators, each a list of groups."""
        every = self.promote_fast if fast else self.promote
        length = math.ceil(math.ceil(K / 128) / self.split) * 128
        found = collections.OrderedDict()
        for x in self.groups(K):
            part = int(x[0]) // length
            block = (int(x[0]) - part * length) // every if every else 0
            found.setdefault(part, collections.OrderedDict()).setdefault(block, []).append(x)
        return [list(blocks.values()) for blocks in found.values()]

    def decode(self, x):
        """(significand, exponent, the exponent that counts for the alignment)."""
        exponent = np.maximum(exponent_of(x), -6).astype(np.int64)
        m = np.rint(x / np.ldexp(1.0, exponent - 3)).astype(np.int64)
        if self.sub != "norm":
            return m, exponent, exponent
        return m, exponent, np.where(m == 0, exponent, exponent - 4 + bit_length(m))

    def step(self, products, exponents, product_lsb, acc, acc_lsb):
        """The accumulator acc 2^acc_lsb after one group of products."""
        largest = np.where(products == 0, NO_EXPONENT, exponents).max(-1)
        largest = np.maximum(largest, np.where(acc == 0, NO_EXPONENT, acc_lsb + bit_length(acc) - 1))
        largest = np.where(largest == NO_EXPONENT, 0, largest)
        total = shift(products, product_lsb - largest[..., None] + self.F, self.term).sum(-1)
        total = total + shift(acc, acc_lsb - largest + self.F, self.term)
        drop = np.maximum(bit_length(total) - 1 - self.Fo, 0)
        return shift(total, -drop, self.out), largest - self.F + drop

    def sums(self, A, B, K, fast, scales_of=None):
        """Sums over the last axis of A and B, which are broadcast against each other. `scales_of` gives the scales of
        a block of 128."""
        ma, ea, xa = self.decode(A)
        mb, eb, xb = self.decode(B)
        shape = np.broadcast_shapes(A.shape, B.shape)[:-1]
        total = None
        for part in self.parts(K, fast):
            main = None
            for block in part:
                acc, lsb = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
                for x in block:
                    products, product_lsb = ma[..., x] * mb[..., x], ea[..., x] + eb[..., x] - 6
                    own = product_lsb + bit_length(products) - 1
                    exponents = xa[..., x] + xb[..., x] if self.pexp == "sum" else own
                    acc, lsb = self.step(products, exponents, product_lsb, acc, lsb)
                value = np.ldexp(acc.astype(np.float64), lsb).astype(np.float32)
                if scales_of:
                    sa, sb = scales_of(int(block[0][0]) // 128)
                    main = scales.apply_to_block(NumpyArrays, self.blk, main, value, sa, sb)
                else:
                    main = value if main is None else main + value
            total = main if total is None else total + main
        return total

    def dots(self, A, B, K, mode, fast, shape):
        """For each row of A and the same row of B, their product."""
        found = [self.sums(A[i:i + 512], B[i:i + 512], K, fast) for i in range(0, len(A), 512)]
        return np.concatenate(found).astype(np.float64)

    def product(self, A, B, sa, sb, mode, fast):
        K, left, right = A.shape[1], A[:, None, :], B.T[None, :, :]
        if scales.is_blockwise(mode):
            a, b = scales.expanded(A.shape[0], B.shape[1], sa, sb)
            return self.sums(left, right, K, fast, lambda block: (a[:, block:block + 1], b[block:block + 1, :]))
        total = self.sums(left, right, K, fast)
        return scales.apply_to_sum(NumpyArrays, total, np.float32(sa), np.float32(sb))[self.order]
