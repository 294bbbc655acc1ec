"""Kernels whose batch invariance scripts/studies/invariance judges: PyTorch's, and those of batch_invariant_ops
(https://github.com/thinking-machines-lab/batch_invariant_ops), where that is installed. On a GPU if there is one."""

import torch
import torch.nn.functional as F
from fusesmith import Graph

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


def of(function, arithmetic=None):
    """The function on the device, with what it declares of its arithmetic, so that its bounds hide nothing."""
    def run(*inputs):
        return function(*(placed(one) for one in inputs)).cpu()
    if arithmetic:
        run.arithmetic = arithmetic
    return run


def rms_norm(x, weight):
    return F.rms_norm(x, x.shape[-1:], weight, EPS)


def matmul_of_products(x, weight):
    return bio.matmul_persistent(x, weight.t().contiguous())


def log_softmax_graph():
    g = Graph()
    x = g.input("x", "T[A,D]")
    g.output(g.sub(x, g.logsumexp(x, axes=[-1], keepdims=True)))
    return g


ROWS_BY_WIDTH = {"A": ROWS, "D": WIDTHS}
PRODUCT = {"A": ROWS, "K": WIDTHS, "N": [64, 128]}
ATTENTION = {"B": [1, 2, 5], "H": [2, 4], "S": [64, 100, 257], "R": [1, 17, 256], "D": [64]}

# (origin, name, function, op or graph, arguments of judge).
KERNELS = [
    ("PyTorch", "softmax", of(lambda x: F.softmax(x, -1)), "softmax", {"rank": 2, "shapes": ROWS_BY_WIDTH}),
    ("PyTorch", "log_softmax", of(lambda x: F.log_softmax(x, -1)), log_softmax_graph(), {"shapes": ROWS_BY_WIDTH}),
    ("PyTorch", "rms_norm", of(rms_norm), "rms_norm",
     {"rank": 2, "shapes": ROWS_BY_WIDTH, "inputs": 2, "eps": EPS}),
    ("PyTorch", "linear", of(F.linear), "linear", {"rank": 2, "shapes": PRODUCT, "inputs": 2}),
    ("PyTorch", "scaled_dot_product_attention", of(F.scaled_dot_product_attention), "sdpa", {"shapes": ATTENTION}),
    ("PyTorch", "mean", of(lambda x: x.mean(-1)), "reduce_mean",
     {"rank": 2, "shapes": ROWS_BY_WIDTH, "axes": [-1]}),
]
if bio and torch.cuda.is_available():
    KERNELS += [
        ("batch_invariant_ops", "matmul_persistent", of(matmul_of_products, {"tf32": True}), "linear",
         {"rank": 2, "shapes": PRODUCT, "inputs": 2}),
        ("batch_invariant_ops", "log_softmax", of(lambda x: bio.log_softmax(x, -1)), log_softmax_graph(),
         {"shapes": ROWS_BY_WIDTH}),
        ("batch_invariant_ops", "mean_dim", of(lambda x: bio.mean_dim(x, -1), {"sum": 65536}), "reduce_mean",
         {"rank": 2, "shapes": ROWS_BY_WIDTH, "axes": [-1]}),
    ]


def rows_of(width):
    return lambda m, drawn: (drawn(m, width),)


def with_weight(width, *shape):
    return lambda m, drawn: (drawn(m, width), drawn(*shape))


def batch_of_attention(m, drawn):
    return tuple(drawn(m, 4, 64, 64) for _ in range(3))


def queries_of_attention(m, drawn):
    return drawn(1, 4, m, 64), drawn(1, 4, 320, 64), drawn(1, 4, 320, 64)


WIDE = 4096 if torch.cuda.is_available() else 1024
# (origin, name, shapes, function, its inputs for m rows, the axis of the rows): the values of a row must not depend on
# m. All inputs are drawn for the largest m and cut.
SAMPLES = [
    ("PyTorch", "softmax", "[m,1000]", lambda x: F.softmax(x, -1), rows_of(1000), 0),
    ("PyTorch", "log_softmax", "[m,1000]", lambda x: F.log_softmax(x, -1), rows_of(1000), 0),
    ("PyTorch", "rms_norm", f"[m,{WIDE}]", rms_norm, with_weight(WIDE, WIDE), 0),
    ("PyTorch", "mean", f"[m,{WIDE}]", lambda x: x.mean(-1), rows_of(WIDE), 0),
    ("PyTorch", "linear", f"[m,{WIDE}] x [{WIDE},{WIDE}]", F.linear, with_weight(WIDE, WIDE, WIDE), 0),
    ("PyTorch", "matmul", f"[m,{WIDE}] x [{WIDE},{WIDE}]", torch.matmul, with_weight(WIDE, WIDE, WIDE), 0),
    ("PyTorch", "sdpa, batch", "[m,4,64,64]", F.scaled_dot_product_attention, batch_of_attention, 0),
    ("PyTorch", "sdpa, queries", "[1,4,m,64], 320 keys", F.scaled_dot_product_attention, queries_of_attention, 2),
]
if bio and torch.cuda.is_available():
    SAMPLES += [
        ("batch_invariant_ops", "matmul_persistent", f"[m,{WIDE}] x [{WIDE},{WIDE}]", bio.matmul_persistent,
         with_weight(WIDE, WIDE, WIDE), 0),
        ("batch_invariant_ops", "log_softmax", "[m,1000]", lambda x: bio.log_softmax(x, -1), rows_of(1000), 0),
        ("batch_invariant_ops", "mean_dim", f"[m,{WIDE}]", lambda x: bio.mean_dim(x, -1), rows_of(WIDE), 0),
    ]


def same_rows(sample, counts, dtype):
    """For each of the counts, ascending, whether its rows have the bits that they have among the next one's."""
    _, _, _, function, make, axis = sample
    generator = torch.Generator().manual_seed(1)
    inputs = make(counts[-1], lambda *shape: torch.randn(*shape, generator=generator).to(dtype))
    batched = len({one.shape[0] for one in inputs}) == 1 and axis == 0
    results = []
    for m in counts:
        cut = [one.narrow(axis, 0, m) if i == 0 or batched else one for i, one in enumerate(inputs)]
        results.append(function(*(placed(one.contiguous()) for one in cut)).cpu())
    return [torch.equal(after.narrow(axis, 0, m), before)
            for m, before, after in zip(counts, results, results[1:], strict=False)]
