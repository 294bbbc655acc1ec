"""Judges PyTorch's own flash attention on a GPU: python docs/python/flash_attention.py [--large] [--cpu]

Without --large, 100 cases of drawn sizes for each of two masks. With it, one case of 32 heads and 4096 tokens for each,
of which a sample of the elements is judged. --cpu judges PyTorch's flash attention for CPUs.
"""

import argparse
import sys

import fusesmith

try:
    import torch
except ImportError:
    torch = None


def attend(tensors, causal):
    from torch.nn.attention import SDPBackend, sdpa_kernel

    on_device = [tensor.to("cuda" if torch.cuda.is_available() else "cpu") for tensor in tensors]
    with torch.no_grad(), sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        return torch.nn.functional.scaled_dot_product_attention(*on_device, is_causal=causal)


def flash(q, k, v):
    return attend((q, k, v), causal=False)


def flash_causal(q, k, v):
    return attend((q, k, v), causal=True)


for kernel in (flash, flash_causal):
    kernel.takes = "torch"
    kernel.attention = "online"  # scores in f32, a running maximum, 16-bit exponentials, division at the end
    kernel.arithmetic = {"exp": 48}  # by powers of two, of arguments that are rounded after the change of base

MILD = ["normal", "small", "uniform", "lattice", "constant", "one_hot"]


def judge(function, mask, large, baseline):
    if not large:
        return fusesmith.judge(function, "sdpa", mask=mask, dtypes=("f16", "bf16"), runs=100, fills=MILD,
                               shapes={"D": [32, 64, 128]}, run_timeout=60)
    sizes = {"B": 1, "H": 32, "R": 4096, "D": 128} | ({"S": 4096} if mask == "none" else {})
    return fusesmith.judge(function, "sdpa", mask=mask, dtypes="bf16", runs=1, fills=["normal"], shapes=sizes,
                           run_timeout=120, baseline=baseline)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--cpu", action="store_true")
    options = parser.parse_args()
    if torch is None:
        return "Skipped: this example needs PyTorch."
    if not torch.cuda.is_available() and not options.cpu:
        return "Skipped: this example needs a GPU that PyTorch can use; --cpu judges the kernel for CPUs."
    baseline = "torch:eager+cuda" if torch.cuda.is_available() else "torch:eager"
    results = [judge(flash, "none", options.large, baseline), judge(flash_causal, "causal", options.large, baseline)]
    print(*results, sep="\n\n")
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    print(main())
