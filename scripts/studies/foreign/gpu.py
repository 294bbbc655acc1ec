"""Kernels for GPUs that others published: Liger's forward kernels, Triton's tutorials, and PyTorch's attention.

KERNELS lists what each has to compute, at which sizes and on which data. Those of Liger are left out where it is not
installed. A kernel copies its inputs to the GPU.
"""

from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
import tutorials
from torch.nn.attention import SDPBackend, sdpa_kernel

try:
    from liger_kernel import ops as liger
    from liger_kernel.ops.experimental.embedding import LigerEmbeddingFunction
except ImportError:
    liger = None

EPS = 1e-6
# Few sizes, since Triton compiles a kernel again for some of them, and for all where the size is a constant of it.
WIDTHS = [1, 17, 64, 100, 127, 256, 1000, 1025]
FEW = [17, 64, 127, 256]
MILD = ["normal", "small", "uniform", "lattice", "one_hot"]
HEADS = [8, 16, 32, 40, 64, 72, 80, 96, 128]
LENGTHS = [2, 7, 16, 33, 64, 100, 129, 200]
HALVES = ("f16", "bf16")


@dataclass(frozen=True)
class Kernel:
    """`computes`: an op, or a function that makes a graph. A second judgement gets the attributes `declares` of the
    function, where the first needs them."""

    origin: str
    name: str
    function: Any
    computes: Any
    arguments: dict = field(default_factory=dict)  # of judge
    declares: dict = field(default_factory=dict)

    def subject(self):
        return self.computes if isinstance(self.computes, str) else self.computes()


def declared(kernel):
    """The function with the attributes that it needs."""
    def run(*inputs):
        return kernel.function(*inputs)
    vars(run).update(kernel.declares)
    return run


def placed(tensor):
    """On the GPU, with the same strides and alignment: .cuda() would close the gaps between padded rows."""
    if not tensor.numel():
        return tensor.cuda()
    first = tensor.data_ptr() % 16 // tensor.element_size()
    last = first + sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
    memory = torch.empty(last + 1, dtype=tensor.dtype, device="cuda")
    return memory.as_strided(tensor.shape, tensor.stride(), first).copy_(tensor)


def on_gpu(function, place=placed):
    def run(*inputs):
        with torch.no_grad():
            return function(*map(place, inputs))
    return run


def graph(inputs, build):
    """A function that makes a graph: `inputs` are names and types, `build` gets the graph and the names."""
    def make():
        import fusesmith
        g = fusesmith.Graph()
        made = build(g, *(g.input(name, *described) for name, described in inputs.items()))
        g.output(*([made] if isinstance(made, str) else made))
        return g
    return make


def liger_norm(mode):
    return on_gpu(lambda x, w: liger.LigerRMSNormFunction.apply(x, w, EPS, 0.0, mode, False))


def liger_added_norm(mode):
    return on_gpu(lambda x, r, w: liger.LigerFusedAddRMSNormFunction.apply(x, r, w, EPS, 0.0, mode, False))


def liger_rope(table):
    """Liger wants cos and sin twice along the last axis."""
    def run(q, k, cos, sin):
        twice = [torch.cat((t, t), -1)[None].to(table or t.dtype) for t in (cos, sin)]
        return liger.LigerRopeFunction.apply(q, k, *twice)
    return on_gpu(run)


def liger_cross_entropy(x):
    """The class of row i is i, as in contrastive losses."""
    target = torch.arange(x.shape[0], device=x.device)
    return liger.LigerCrossEntropyFunction.apply(x, target, None, -100, 0.0, 0.0, "none")[0]


def cross_entropy(g, x):
    """A row with an infinity is NaN, as in PyTorch: the largest element is subtracted from itself."""
    width = "N+E"
    largest = g.reduce_max(x, axes=[-1])
    diagonal = g.slice(g.reshape(x, shape=[f"N*({width})"]), axis=0, start=0, stop=f"(N-1)*({width}+1)+1",
                       step=f"{width}+1")
    return g.add(g.sub(g.logsumexp(x, axes=[-1]), diagonal), g.sub(largest, largest))


def rope_of_products(g, q, k, cos, sin):
    """As Llama defines it: both products are rounded, then their sum."""
    def rotated(x):
        a, b = g.chunk(x, axis=-1, chunks=2)
        turned = g.concat(g.scale(b, factor=-1), a, axis=-1)
        cosines, sines = (g.concat(t, t, axis=-1) for t in (cos, sin))
        return g.add(g.mul(x, cosines), g.mul(turned, sines))
    return rotated(q), rotated(k)


def added_norm(g, x, r, w):
    s = g.add(x, r)
    return g.rms_norm(s, w, eps=EPS), s


def kl_div(g, x, target):
    """Of logarithms; the result is in f32."""
    x, target = g.cast(x, dtype="f32"), g.cast(target, dtype="f32")
    return g.mul(g.exp(target), g.sub(target, x))


WEIGHT = {"normal": {"mean": 1, "stddev": 0.1}}
ANGLE = {"uniform": {"lo": -1, "hi": 1}}
TWO = {"a": ["T[N,D]"], "b": ["T[N,D]"]}
HEADS_AND_ANGLES = {"q": ["T[B,H,R,2*D]"], "k": ["T[B,G,R,2*D]"], "cos": ["T[R,D]", ANGLE], "sin": ["T[R,D]", ANGLE]}
ADDED = {"x": ["T[N,D]"], "r": ["T[N,D]"], "w": ["T[D]", WEIGHT]}
ROPE_SIZES = {"B": [1, 2], "H": [1, 4], "G": [1, 2], "R": [1, 2, 33], "D": [4, 13, 32]}
AFTER = {"lowerings": ["rms_norm.weight_after"]}


def of_liger():
    def kernel(name, function, computes, declares=None, **arguments):
        return Kernel("Liger", name, function, computes, arguments, declares or {})

    wide, few = {"shapes": {"D": WIDTHS}}, {"shapes": {"D": FEW}}
    norm = {"eps": EPS, **wide}
    gelu = graph(TWO, lambda g, a, b: g.mul(g.gelu(a, form="tanh"), b))
    rotations = graph(HEADS_AND_ANGLES, lambda g, q, k, c, s: (g.rope(q, c, s), g.rope(k, c, s)))
    added = graph(ADDED, added_norm)
    tanh = graph({"x": ["T[N,D]"], "a": ["T[1]"], "w": ["T[D]", WEIGHT], "b": ["T[D]"]},
                 lambda g, x, a, w, b: g.add(g.mul(g.tanh(g.mul(a, x)), w), b))
    return [
        kernel("softmax", on_gpu(liger.LigerSoftmaxFunction.apply), "softmax", **wide),
        kernel("rms_norm, as Llama", liger_norm("llama"), "rms_norm", AFTER, inputs=2, **norm),
        kernel("rms_norm, as Gemma", liger_norm("gemma"), "rms_norm", inputs=2, **norm),
        kernel("rms_norm, no casts", liger_norm("none"), "rms_norm", {"rounded_inside": {"rms_norm": 4}}, inputs=2,
               **norm),
        kernel("layer_norm", on_gpu(lambda x, w, b: liger.LigerLayerNormFunction.apply(x, w, b, EPS)), "layer_norm",
               **norm),
        kernel("group_norm", on_gpu(lambda x, w, b: liger.LigerGroupNormFunction.apply(x, w, b, x.shape[1], 2, EPS)),
               "group_norm", {"arithmetic": {"variance": "moments"}}, groups=2, eps=EPS),
        kernel("geglu", on_gpu(liger.LigerGELUMulFunction.apply), gelu, **few),
        kernel("swiglu", on_gpu(liger.LigerSiLUMulFunction.apply),
               graph(TWO, lambda g, a, b: g.mul(g.silu(a), b)), **few),
        kernel("rope", liger_rope(None), rotations, {"lowerings": ["rope.of_products"]}, shapes=ROPE_SIZES),
        kernel("rope, as Llama's definition", liger_rope(None), graph(HEADS_AND_ANGLES, rope_of_products),
               shapes=ROPE_SIZES),
        kernel("rope, tables in f32", liger_rope(torch.float32), rotations, shapes=ROPE_SIZES),
        kernel("cross_entropy", on_gpu(liger_cross_entropy), graph({"x": ["T[N,N+E]"]}, cross_entropy)),
        kernel("fused_add_rms_norm, as Llama", liger_added_norm("llama"), added, AFTER, **wide),
        kernel("fused_add_rms_norm, as Gemma", liger_added_norm("gemma"), added, **wide),
        kernel("dyt", on_gpu(liger.LigerDyTFunction.apply), tanh, shapes={"D": [100]}),
        kernel("relu_squared", on_gpu(liger.LigerReLUSquaredFunction.apply),
               graph({"x": ["T[N,D]"]}, lambda g, x: (lambda r: g.mul(r, r))(g.relu(x))), **few),
        kernel("kl_div of logarithms", on_gpu(lambda x, t: liger.LigerKLDivLossFunction.apply(x, t, "none", True)),
               graph(TWO, kl_div), **wide),
        kernel("embedding", on_gpu(LigerEmbeddingFunction.apply), "gather", **few),
    ]


def of_tutorials():
    def kernel(name, function, computes, declares=None, **arguments):
        return Kernel("Triton's tutorials", name, function, computes, arguments, declares or {})

    pair = {"a": ["T[M,K]"], "b": ["T[K,N]"]}
    product = graph(pair, lambda g, a, b: g.matmul(a, b))

    def leaky(g, a, b):
        y = g.matmul(a, b)
        return g.maximum(y, g.scale(y, factor=0.01))

    two = graph({**pair, "c": ["T[P,Q]"], "d": ["T[Q,R]"]}, lambda g, a, b, c, d: (g.matmul(a, b), g.matmul(c, d)))
    heads = {"shapes": {"D": [16, 32, 64, 128]}, "dtypes": HALVES, "fills": MILD}
    online = {"attention": "online", "arithmetic": {"exp": 48}}
    return [
        kernel("vector add", tutorials.vector_add, "add"),
        kernel("fused softmax", tutorials.fused_softmax, "softmax", shapes={"D": WIDTHS}),
        kernel("matmul", tutorials.matmul, product, dtypes=HALVES),
        kernel("matmul, leaky relu", tutorials.matmul_leaky, graph(pair, leaky), dtypes=HALVES),
        kernel("matmul of f32, tf32", tutorials.matmul, product, {"arithmetic": {"tf32": True}}, dtypes="f32"),
        kernel("matmul of f32, three tf32", tutorials.matmul_three_tf32, product, dtypes="f32"),
        kernel("matmul of f32, ieee", tutorials.matmul_ieee, product, dtypes="f32"),
        kernel("grouped matmul", tutorials.grouped_products, two, dtypes=HALVES),
        kernel("layer_norm", tutorials.layer_norm, "layer_norm", eps=tutorials.EPS, shapes={"D": WIDTHS}),
        kernel("attention", tutorials.attention, "sdpa", online, **heads),
        kernel("attention, causal", tutorials.attention_causal, "sdpa", online, mask="causal", **heads),
    ]


def attention(backend, causal=False):
    """An error of a GPU's address, as of a vector load between padded rows, would end the process: so .cuda()."""
    def run(q, k, v, mask=None):
        with sdpa_kernel(backend):
            return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal)
    return on_gpu(run, torch.Tensor.cuda)


def of_torch():
    online = {"attention": "online", "arithmetic": {"exp": 48}}
    both = {"lowerings": ["sdpa.scale_on_both"]}
    every = ("none", "causal", "boolean")
    for backend, dtypes, masks, declares in (
            (SDPBackend.FLASH_ATTENTION, HALVES, ("none", "causal"), online),
            (SDPBackend.EFFICIENT_ATTENTION, HALVES, every, online),
            (SDPBackend.EFFICIENT_ATTENTION, ("f32",), every, {"arithmetic": {"tf32x3": True}}),
            (SDPBackend.CUDNN_ATTENTION, HALVES, every, online),
            (SDPBackend.MATH, HALVES, every, {}),
            (SDPBackend.MATH, ("f32",), every, both)):
        for mask in masks:
            sizes = {"D": HEADS}
            if backend == SDPBackend.CUDNN_ATTENTION:  # has no kernel for one query or one key
                sizes |= dict.fromkeys(("R",) if mask == "causal" else ("R", "S"), LENGTHS)
            name = f"{backend.name.lower()}, {'f32' if 'f32' in dtypes else '16 bits'}, mask {mask}"
            yield Kernel("PyTorch", name, attention(backend, mask == "causal"), "sdpa",
                         {"mask": mask, "inputs": 4 if mask == "boolean" else 3, "dtypes": dtypes, "fills": MILD,
                          "shapes": sizes}, declares if mask != "boolean" else with_empty_rows(declares))


def with_empty_rows(declares):
    """PyTorch gives 0 where a query has no key."""
    return {**declares, "arithmetic": {**declares.get("arithmetic", {}), "empty_rows_are_zero": True}}


# What is known of them, by the beginning of the name: what makes them fail, or why one is called so.
FINDINGS = {
    "Liger: rms_norm, no casts": (
        "In 16 bits, the squares are rounded, and they are summed in 16 bits. In f16 the sum is infinite above 65504, "
        "and the result 0."),
    "Liger: group_norm": (
        "In 16 bits, the squares are rounded, and both sums of E[x^2] - E[x]^2 are in 16 bits. In f32, the difference "
        "loses digits where the mean is large: right with the declaration."),
    "Liger: rope": (
        "With one position and several batches and heads, the kernel takes the stride of the axis of positions, which "
        "is then that of the heads, and computes later batches from the wrong rows."),
    "Liger: relu_squared": "NaN becomes 0: Triton's maximum ignores NaN.",
    "Triton's tutorials: matmul of f32, tf32": (
        "The matrix units read the upper 19 bits of each operand: tl.dot cuts the others off and does not round."),
    "PyTorch: cudnn_attention, 16 bits, mask boolean": (
        "A query without a key gets a mean of the values (1 where each is 1), as if hidden scores were finite numbers. "
        "By definition it is NaN; efficient and math attention give 0."),
}

KERNELS = [*(of_liger() if liger else []), *of_tutorials(), *of_torch()]
