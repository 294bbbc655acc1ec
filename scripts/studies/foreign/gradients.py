"""Differentiable kernels for GPUs that others published, and what their gradients have to be.

KERNELS lists each with a reference that autograd differentiates, the types of its inputs and the sizes to draw. Those
of Liger are left out where it is not installed. A kernel copies its inputs to the GPU, and autograd copies their
gradients back.
"""

from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

try:
    from liger_kernel import ops as liger
except ImportError:
    liger = None

EPS = 1e-5
# Few sizes, since Triton compiles a kernel again for some of them.
ROWS = {"shapes": {"N": [1, 3, 17, 64], "D": [8, 33, 64, 256]}}
CLASSES = {"shapes": {"N": [1, 3, 17, 64], "C": [8, 33, 100, 256], "D": [16, 64]}}
CHANNELS = {"shapes": {"B": [1, 2, 3], "C": [4, 6, 8], "D": [8, 17, 64]}}
QUERIES = {"B": [1, 2], "H": [1, 2], "N": [1, 3, 17, 64, 100], "D": [16, 32, 64, 128]}
HALVES = ("f16", "bf16")


@dataclass(frozen=True)
class Kernel:
    origin: str
    name: str
    function: Any
    reference: Any
    inputs: list
    arguments: dict = field(default_factory=dict)  # of judge_backward

    def sized(self):
        """The arguments, with those sizes alone that the inputs have."""
        shapes = self.arguments.get("shapes")
        if shapes is None:
            return self.arguments
        named = {symbol for text in self.inputs for symbol in text.partition("[")[2].rstrip("]").split(",")}
        return {**self.arguments, "shapes": {symbol: of for symbol, of in shapes.items() if symbol in named}}


def on_gpu(function):
    def run(*inputs):
        return function(*(tensor.cuda() if torch.cuda.is_available() else tensor for tensor in inputs))
    return run


def compiled(function, **options):
    def run(*inputs):
        return torch.compile(function, dynamic=False, options=options or None)(*inputs)
    return on_gpu(run)


def attention(backend, causal=False):
    def run(q, k, v):
        with sdpa_kernel(backend):
            return F.scaled_dot_product_attention(q, k, v, is_causal=causal)
    return on_gpu(run)


def in_any_order(function):
    """Of a kernel that adds by atomic operations."""
    function.arithmetic = {"order_varies": True}
    return function


# --- references

def rms_norm(x, w):
    return F.rms_norm(x, x.shape[-1:], w, EPS)


def add_rms_norm(x, r, w):
    return rms_norm(x + r, w), x + r


def layer_norm(x, w, b):
    return F.layer_norm(x, x.shape[-1:], w, b)


def group_norm(x, w, b):
    return F.group_norm(x, 2, w, b)


def softmax(x):
    return F.softmax(x, -1)


def log_softmax(x):
    return F.log_softmax(x, -1)


def swiglu(a, b):
    return F.silu(a) * b


def geglu(a, b):
    return F.gelu(a, approximate="tanh") * b


def gelu(x):
    return F.gelu(x)


def gelu_tanh(x):
    return F.gelu(x, approximate="tanh")


def silu(x):
    return F.silu(x)


def relu_squared(x):
    return F.relu(x) * F.relu(x)


def cross_entropy(x, t):
    return F.cross_entropy(x, t)


def smoothed_cross_entropy(x, t):
    return F.cross_entropy(x, t, label_smoothing=0.1)


def linear_cross_entropy(x, w, t):
    return F.cross_entropy(F.linear(x, w), t)


def linear_gelu(x, w, b):
    return F.gelu(F.linear(x, w, b))


def embedding(t, w):
    return F.embedding(t, w)


def sdpa(q, k, v):
    return F.scaled_dot_product_attention(q, k, v)


def causal_sdpa(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def modulated_norms(x, table):
    """Two blocks as in PyTorch's issue 193061: each scale and shift is a part of one table."""
    scale, shift, next_scale, next_shift = table.chunk(4, 1)
    x = x + F.layer_norm(x, x.shape[-1:]) * (1 + scale) + shift
    return x + F.layer_norm(x, x.shape[-1:]) * (1 + next_scale) + next_shift


def shifted_channels(h, bias, t, w, b):
    """What follows a convolution, as in PyTorch's issue 190796: its bias, and a shift for each channel."""
    return h + bias[:, None, None] + F.linear(F.silu(t), w, b)[:, :, None, None]


def of_liger():
    def norm(mode):
        return on_gpu(lambda x, w: liger.LigerRMSNormFunction.apply(x, w, EPS, 0.0, mode, False))

    def loss(*options):
        return on_gpu(lambda x, t: liger.LigerCrossEntropyFunction.apply(x, t, None, -100, 0.0, *options)[0])

    row, pair, gain = "T[N,D]", ["T[N,D]"] * 2, ["T[N,D]", "T[D]"]
    yield "softmax", on_gpu(lambda x: liger.LigerSoftmaxFunction.apply(x)), softmax, [row], ROWS
    yield "rms_norm, as Gemma", norm("gemma"), rms_norm, gain, ROWS
    yield "rms_norm, as Llama", norm("llama"), rms_norm, gain, ROWS
    yield ("fused_add_rms_norm, as Gemma",
           on_gpu(lambda x, r, w: liger.LigerFusedAddRMSNormFunction.apply(x, r, w, EPS, 0.0, "gemma", False)),
           add_rms_norm, [*pair, "T[D]"], ROWS)
    yield ("layer_norm", on_gpu(lambda x, w, b: liger.LigerLayerNormFunction.apply(x, w, b, EPS)), layer_norm,
           [*gain, "T[D]"], ROWS)
    yield ("group_norm", on_gpu(lambda x, w, b: liger.LigerGroupNormFunction.apply(x, w, b, x.shape[1], 2, EPS)),
           group_norm, ["T[B,C,D]", "T[C]", "T[C]"], CHANNELS)
    yield "swiglu", on_gpu(lambda a, b: liger.LigerSiLUMulFunction.apply(a, b)), swiglu, pair, ROWS
    yield "geglu", on_gpu(lambda a, b: liger.LigerGELUMulFunction.apply(a, b)), geglu, pair, ROWS
    yield "relu_squared", on_gpu(lambda x: liger.LigerReLUSquaredFunction.apply(x)), relu_squared, [row], ROWS
    yield "cross_entropy", loss(), cross_entropy, ["T[N,C]", "i64[N]"], CLASSES
    yield "cross_entropy, smoothed", loss(0.1), smoothed_cross_entropy, ["T[N,C]", "i64[N]"], CLASSES
    yield ("fused_linear_cross_entropy",
           on_gpu(lambda x, w, t: liger.LigerFusedLinearCrossEntropyFunction.apply(x, w, t)[0].to(x.dtype)),
           linear_cross_entropy, ["T[N,D]", "T[C,D]", "i64[N]"], CLASSES)


def of_pytorch():
    row, heads, keys = "T[N,D]", ["T[B,H,N,D]"] * 3, ["T[B,H,N,D]", *["T[B,H,M,D]"] * 2]
    sizes = {"shapes": {**QUERIES, "M": QUERIES["N"]}}
    narrow = {**sizes, "dtypes": HALVES}
    for function, inputs, how in (
            (softmax, [row], {}), (log_softmax, [row], {}), (rms_norm, [row, "T[D]"], {}),
            (layer_norm, [row, "T[D]", "T[D]"], {}), (group_norm, ["T[B,C,D]", "T[C]", "T[C]"], CHANNELS),
            (gelu, [row], {}), (gelu_tanh, [row], {}), (silu, [row], {}), (cross_entropy, ["T[N,C]", "i64[N]"], {}),
            (linear_gelu, [row, "T[O,D]", "T[O]"], {}), (embedding, ["i64[N]", "T[V,D]"], {})):
        yield function.__name__, on_gpu(function), function, inputs, how
    yield "attention, math", attention(SDPBackend.MATH), sdpa, keys, sizes
    yield "attention, flash", attention(SDPBackend.FLASH_ATTENTION), sdpa, keys, narrow
    yield "attention, flash, causal", attention(SDPBackend.FLASH_ATTENTION, True), causal_sdpa, heads, narrow
    yield "attention, memory efficient", attention(SDPBackend.EFFICIENT_ATTENTION), sdpa, keys, sizes
    yield ("attention, memory efficient, declaring `order_varies`",
           in_any_order(attention(SDPBackend.EFFICIENT_ATTENTION)), sdpa, keys, sizes)
    yield ("attention, memory efficient, causal", attention(SDPBackend.EFFICIENT_ATTENTION, True), causal_sdpa, heads,
           sizes)
    yield "attention, cuDNN, causal", attention(SDPBackend.CUDNN_ATTENTION, True), causal_sdpa, heads, narrow


def of_inductor():
    """Sums over rows and over columns in one kernel, of sizes of any number: by default, inductor makes such kernels
    from 5 * 2**20 elements on, whose wrong results take minutes to explain."""
    few = {"dtypes": "f32", "fills": ["normal", "uniform"], "run_timeout": 300, "time_limit": 400}
    always = {"triton.mix_order_reduction_non_strict_mode": True}
    yield ("modulated_norms", compiled(modulated_norms, **always), modulated_norms, ["T[1,N,D]", "T[1,4,D]"],
           {**few, "shapes": {"N": [64, 257, 1024], "D": [32, 64, 128]}})
    yield ("shifted_channels", compiled(shifted_channels), shifted_channels,
           ["T[B,C,H,W]", "T[C]", "T[B,D]", "T[C,D]", "T[C]"],
           {**few, "runs": 4, "repeat": 1, "shapes": {"B": [128], "C": [64], "H": [32], "W": [32], "D": [128]}})


KERNELS = [*(Kernel("Liger", *one) for one in (of_liger() if liger else ())),
           *(Kernel("PyTorch", *one) for one in of_pytorch()),
           *(Kernel("torch.compile", *one) for one in of_inductor())]

# What the kernels that failed do, by the start of their names.
FINDINGS = {
    "Liger: softmax": "multiplies dy y, and adds up the products, in the dtype of the operands.",
    "Liger: group_norm": "adds up x and x^2 in the dtype of x; the variance is mean(x^2) - mean(x)^2.",
    "Liger: relu_squared": "multiplies an infinite dy by relu(x) = 0, which is NaN; autograd masks it, which gives 0.",
    "Liger: cross_entropy": "rounds the gradient of the loss to the dtype of x in the forward pass, and multiplies it "
                            "by the gradient of the result in the backward pass.",
    "PyTorch: softmax": "rounds dy y to 16 bits before the sum: with x = 0 (18 elements) and dy = [-4, 0, -3, 8, 2, "
                        "-8, -2, 4, 7, -8, -8, 1, 0, -4, 0, -7, 5, 2] in f16, round(round(dy y) - y sum(round(dy y))) "
                        "is -0.34228515625 at element 15, as the kernel gives; 1 ulp outside of a formula in f32.",
    "PyTorch: attention, memory efficient": "adds parts of the gradients of q by atomic operations, so that two runs "
                                            "differ; torch.use_deterministic_algorithms(True) warns of it.",
    "PyTorch: attention, cuDNN": "raises for some sizes.",
    "torch.compile: modulated_norms": "the gradient of a slice of the table is never written into the concatenated one "
                                      "([pytorch#193061](https://github.com/pytorch/pytorch/issues/193061)), where "
                                      "values of another run stand.",
}
