"""Kernels whose batch invariance scripts/studies/invariance judges: PyTorch's, and those of batch_invariant_ops
(https://github.com/thinking-machines-lab/batch_invariant_ops), where that is installed. On a GPU if there is one."""

import torch
import torch.nn.functional as F

try:
    import batch_invariant_ops as bio
except ImportError:
    bio = None

EPS = 1e-6
MILD = ["normal", "uniform"]
ROWS = [1, 2, 16, 17, 255, 256, 257, 300]
WIDTHS = [64, 100, 257, 1000, 1024]


def placed(tensor):
    return tensor.cuda() if torch.cuda.is_available() else tensor


def of(function):
    def run(*inputs):
        return function(*(placed(one) for one in inputs)).cpu()
    return run


def rms_norm(x, weight):
    return F.rms_norm(x, x.shape[-1:], weight, EPS)


def matmul_of_products(x, weight):
    return bio.matmul_persistent(x, weight.t().contiguous())


ROWS_BY_WIDTH = {"A": ROWS, "D": WIDTHS}
PRODUCT = {"A": ROWS, "K": WIDTHS, "N": [64, 128]}
ATTENTION = {"B": [1, 2, 5], "H": [2, 4], "S": [64, 100, 257], "R": [1, 17, 256], "D": [64]}

# (origin, name, function, op, arguments of judge).
KERNELS = [
    ("PyTorch", "softmax", of(lambda x: F.softmax(x, -1)), "softmax", {"rank": 2, "shapes": ROWS_BY_WIDTH}),
    ("PyTorch", "rms_norm", of(rms_norm), "rms_norm",
     {"rank": 2, "shapes": ROWS_BY_WIDTH, "inputs": 2, "eps": EPS}),
    ("PyTorch", "linear", of(F.linear), "linear", {"rank": 2, "shapes": PRODUCT, "inputs": 2}),
    ("PyTorch", "scaled_dot_product_attention", of(F.scaled_dot_product_attention), "sdpa", {"shapes": ATTENTION}),
    ("PyTorch", "mean", of(lambda x: x.mean(-1)), "reduce_mean",
     {"rank": 2, "shapes": ROWS_BY_WIDTH, "axes": [-1]}),
]
if bio and torch.cuda.is_available():
    KERNELS += [
        ("batch_invariant_ops", "matmul_persistent", of(matmul_of_products), "linear",
         {"rank": 2, "shapes": PRODUCT, "inputs": 2}),
        ("batch_invariant_ops", "mean_dim", of(lambda x: bio.mean_dim(x, -1)), "reduce_mean",
         {"rank": 2, "shapes": ROWS_BY_WIDTH, "axes": [-1]}),
    ]
