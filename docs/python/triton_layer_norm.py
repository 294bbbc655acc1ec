"""Judges a LayerNorm written in Triton, on a GPU: python docs/python/triton_layer_norm.py [--bug]

With --bug, the kernel does not mask the elements behind the end of a row when it sums the variance, so that it is wrong
for all rows whose length is not a power of two.
"""

import argparse
import sys

import fusesmith

try:
    import torch
    import triton
    import triton.language as tl
except ImportError:
    triton = None

EPS = 1e-5

if triton:

    @triton.jit
    def layer_norm_kernel(x, weight, bias, y, columns, eps, BLOCK: tl.constexpr, MASKS_TAIL: tl.constexpr):
        at = tl.arange(0, BLOCK)
        inside = at < columns
        start = tl.program_id(0) * columns
        row = tl.load(x + start + at, mask=inside, other=0.0).to(tl.float32)
        apart = row - tl.sum(row, axis=0) / columns
        if MASKS_TAIL:
            apart = tl.where(inside, apart, 0.0)
        scale = 1 / tl.sqrt(tl.sum(apart * apart, axis=0) / columns + eps)
        w = tl.load(weight + at, mask=inside, other=0.0).to(tl.float32)
        b = tl.load(bias + at, mask=inside, other=0.0).to(tl.float32)
        tl.store(y + start + at, apart * scale * w + b, mask=inside)


def launch(x, weight, bias, masks_tail):
    x, weight, bias = (tensor.cuda().contiguous() for tensor in (x, weight, bias))
    y = torch.empty_like(x)
    columns = x.shape[-1]
    block = triton.next_power_of_2(columns)
    layer_norm_kernel[(x.numel() // columns,)](x, weight, bias, y, columns, EPS, BLOCK=block, MASKS_TAIL=masks_tail)
    return y


def layer_norm(x, weight, bias):
    return launch(x, weight, bias, masks_tail=True)


def layer_norm_with_bug(x, weight, bias):
    return launch(x, weight, bias, masks_tail=False)


for kernel in (layer_norm, layer_norm_with_bug):
    kernel.takes = "torch"
    kernel.arithmetic = {"variance": "two_pass", "div": 4, "rsqrt": 8}  # Triton's division and root are approximate


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bug", action="store_true")
    options = parser.parse_args()
    if triton is None:
        return "Skipped: this example needs PyTorch and Triton."
    if not torch.cuda.is_available():
        return "Skipped: this example needs a GPU that PyTorch can use."
    function = layer_norm_with_bug if options.bug else layer_norm
    # Few sizes, since Triton compiles the kernel again for some of them.
    result = fusesmith.judge(function, "layer_norm", eps=EPS, dtypes=("f32", "bf16"), runs=100, run_timeout=60,
                             shapes=[(7, 64), (5, 100), (3, 127), (2, 1000), (4, 1024), (4096, 4096)])
    print(result)
    sys.exit(0 if result else 1)


if __name__ == "__main__":
    print(main())
