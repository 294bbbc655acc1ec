"""The array operations of the emulation, once with NumPy and once with PyTorch, and a fused multiply-add of f32."""

import numpy as np
from fp8.numbers import NO_EXPONENT


class NumpyArrays:
    trunc, floor, rint, where, maximum, sign = np.trunc, np.floor, np.rint, np.where, np.maximum, np.sign

    @staticmethod
    def array(x):
        return np.asarray(x, np.float64)

    @staticmethod
    def f32(x):
        return np.asarray(x).astype(np.float32)

    @staticmethod
    def f64(x):
        return np.asarray(x).astype(np.float64)

    @staticmethod
    def power_of_two(exponent):
        return ((exponent.astype(np.int64) + 1023) << 52).view(np.float64)

    @staticmethod
    def exponent(x):
        return np.where(x == 0, NO_EXPONENT, np.frexp(x)[1] - 1).astype(np.int64)

    @staticmethod
    def bits(x):
        return np.ascontiguousarray(x).view(np.int64)

    @staticmethod
    def from_bits(x):
        return x.view(np.float64)

    @staticmethod
    def integer(x):
        return x.astype(np.int64)

    @staticmethod
    def largest(x):
        return x.max(-1)

    @staticmethod
    def index(x):
        return x

    @staticmethod
    def numpy(x):
        return np.asarray(x)


class TorchArrays:
    def __init__(self, torch, device):
        self.torch, self.device = torch, device
        self.trunc, self.floor, self.rint, self.sign = torch.trunc, torch.floor, torch.round, torch.sign
        self.where, self.maximum = torch.where, torch.maximum

    def array(self, x):
        return self.torch.as_tensor(np.array(x, dtype=np.float64, copy=True), device=self.device)

    def f32(self, x):
        if self.torch.is_tensor(x):
            return x.to(self.torch.float32)
        return self.torch.as_tensor(np.array(x, dtype=np.float32, copy=True), device=self.device)

    def f64(self, x):
        return x.double()

    def power_of_two(self, exponent):
        return ((exponent.long() + 1023) << 52).view(self.torch.float64)

    def exponent(self, x):
        none = self.torch.full((), NO_EXPONENT, dtype=self.torch.int64, device=x.device)
        return self.torch.where(x == 0, none, self.torch.frexp(x)[1].long() - 1)

    def bits(self, x):
        return x.contiguous().view(self.torch.int64)

    def from_bits(self, x):
        return x.view(self.torch.float64)

    def integer(self, x):
        return x.long()

    def largest(self, x):
        return x.amax(-1)

    def index(self, x):
        return self.torch.as_tensor(x, device=self.device)

    def numpy(self, x):
        return x.cpu().numpy()


def fma32(arrays, a, b, c):
    """a b + c of f32, rounded once: the product is exact in f64, and the sum is rounded to odd before it is rounded
    to f32."""
    product, c = arrays.f64(a) * arrays.f64(b), arrays.f64(c)
    total = product + c
    rest = total - product
    error = (product - (total - rest)) + (c - rest)
    bits = arrays.bits(total)
    even_and_inexact = (error != 0) & ((bits & 1) == 0)
    step = arrays.integer(arrays.sign(error) * arrays.sign(total))
    return arrays.f32(arrays.from_bits(arrays.where(even_and_inexact, bits + step, bits)))
