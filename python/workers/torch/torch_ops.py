"""Every op of docs/ops.md in PyTorch: the native op where there is one, because that is what is judged.

LOWERINGS maps an op to a function of (node, types of its inputs) that returns a function of tensors. PyTorch has no
native op for `rope` and `softcap`: they compute in f32 and round once, as docs/ops.md says.
"""

import math

import numpy as np
import torch
import torch.nn.functional as F
from fusesmith.vocabulary import QUANTIZED, spelled_functions
from program import number, simple
from torch_casts import cast
from torch_scaled import accumulator
from torch_scaled import product as scaled_product
from torch_tensors import BITS, DTYPES

MODULES = {"torch": torch, "F": F, "aten": torch.ops.aten}


def wide(x):
    """In f32; f64, in which references are computed, stays."""
    return x if x.dtype == torch.float64 else x.float()


def in_f32(function):
    """Computes in f32 and rounds the result once to the dtype of the first operand."""
    return lambda x, *others: function(wide(x), *map(wide, others)).to(x.dtype)


def product(function, node, types):
    """Of quantized factors, whose numbers are exact in f32; the bias of linear is f32."""
    if accumulator(node, types):
        return scaled_product
    return (lambda *operands: function(*(x.float() for x in operands))) if types[0].dtype in QUANTIZED else function


def matmul(node, types):
    flip_a, flip_b = node["transpose_a"], node["transpose_b"]
    return product(lambda a, b: torch.matmul(a.mT if flip_a else a, b.mT if flip_b else b), node, types)


def einsum(node, _types):
    equation = node["equation"]
    return lambda a, b: torch.einsum(equation, a, b)


def scale(node, _types):
    factor = float(np.float32(node["factor"]))  # as the op says; PyTorch on GPUs inverts an f64 before it rounds
    return (lambda x: x / factor) if node["inverse"] else (lambda x: x * factor)


def gelu(node, _types):
    form = "none" if node["form"] == "erf" else "tanh"
    return lambda x: F.gelu(x, approximate=form)


def gelu_backward(node, _types):
    form = "none" if node["form"] == "erf" else "tanh"
    return lambda dy, x: torch.ops.aten.gelu_backward(dy, x, approximate=form)


def log_softmax_backward(node, _types):
    return lambda dy, y: torch.ops.aten._log_softmax_backward_data(dy, y, node["axis"], y.dtype)


def softmax_backward(node, _types):
    return lambda dy, y: torch.ops.aten._softmax_backward_data(dy, y, node["axis"], y.dtype)


def softcap(node, _types):
    cap = float(np.float32(node["cap"]))
    return in_f32(lambda x: cap * torch.tanh(x / cap))


def layer_norm(node, types):
    eps, width = node["eps"], types[0].shape[-1:]
    return lambda x, weight=None, bias=None: F.layer_norm(x, width, weight, bias, eps)


def layer_norm_backward(node, types):
    """With mean and rstd as the forward pass of PyTorch saves them, on CPUs in the dtype of the weight."""
    eps, width = node["eps"], types[1].shape[-1:]

    def run(dy, x, weight):
        _, mean, rstd = torch.ops.aten.native_layer_norm(x, width, weight, None, eps)
        bias = weight  # its shape alone counts
        return torch.ops.aten.native_layer_norm_backward(dy, x, width, mean, rstd, weight, bias, [True, True, True])

    return run


def rms_norm(node, types):
    eps, width = node["eps"], types[0].shape[-1:]
    return lambda x, weight=None: F.rms_norm(x, width, weight, eps)


def group_norm(node, _types):
    groups, eps = node["groups"], node["eps"]
    # Not F.group_norm: it refuses groups of one element, which the op itself computes.
    return lambda x, weight=None, bias=None: torch.group_norm(x, groups, weight, bias, eps)


def reduction(function):
    def lower(node, _types):
        axes, keepdims = tuple(node["axes"]), node["keepdims"]
        return lambda x: function(x, axes, keepdims)

    return lower


def var_mean(node, _types):
    axes, keepdims, correction = tuple(node["axes"]), node["keepdims"], node["correction"]
    return lambda x: torch.var_mean(x, axes, correction=correction, keepdim=keepdims)


def masked_fill(node, types):
    # Rounded here, because masked_fill refuses a number beyond the dtype instead of writing an infinity.
    value = torch.tensor(number(node["value"]), dtype=torch.float64, device="cpu").to(DTYPES[types[0].dtype]).item()
    inverted = node["inverted"]
    return lambda x, mask: x.masked_fill(~mask if inverted else mask, value)


def slice_(node, _types):
    axis, where = node["axis"], slice(node["start"], node["stop"], node["step"])

    def run(x):
        index = [slice(None)] * x.dim()
        index[axis] = where
        return x[tuple(index)]

    return run


def gather(_node, types):
    if len(types[0].shape) == 2 and types[0].is_float:
        return lambda table, indices: F.embedding(indices, table)
    return lambda table, indices: table[indices]


def index_copy(node, _types):
    axis = node["axis"]
    return lambda x, index, source: torch.index_copy(x, axis, index.long(), source)


def arange(node, _types):
    start, step = node["start"], node["step"]
    stop = start + node["count"] * step
    device = torch.get_default_device()  # torch.compile does not see the default in its graph
    return lambda: torch.arange(start, stop, step, dtype=torch.int32, device=device)


def hidden_keys(rows, cols, alignment, window, shows_future, device=None):
    """True where docs/ops.md's causal_mask hides a key."""
    own = torch.arange(rows, device=device)[:, None] + (cols - rows if alignment == "bottom_right" else 0)
    key = torch.arange(cols, device=device)[None, :]
    hidden = torch.zeros((rows, cols), dtype=torch.bool, device=device) if shows_future else key > own
    return hidden | (key <= own - window) if window else hidden


def causal_mask(node, _types):
    given = [node[key] for key in ("rows", "cols", "alignment", "window", "shows_future")]
    device = torch.get_default_device()
    return lambda: hidden_keys(*given, device)


def rope(node, _types):
    def half(x, cos, sin):
        a, b = x.chunk(2, -1)
        return torch.cat((a * cos - b * sin, b * cos + a * sin), -1)

    def interleaved(x, cos, sin):
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack((a * cos - b * sin, b * cos + a * sin), -1).flatten(-2)

    turned = half if node["pairing"] == "half" else interleaved
    rotary_dim = node["rotary_dim"]

    def part(x, cos, sin):
        return torch.cat((turned(x[..., :rotary_dim], cos, sin), x[..., rotary_dim:]), -1)

    return in_f32(part if rotary_dim else turned)


def nan_without_key(out, no_key):
    """PyTorch's attention returns 0 for a query that no key is shown to (torch._safe_softmax); the op says NaN."""
    return out.masked_fill(no_key, math.nan)


def sdpa(node, types):
    """F.scaled_dot_product_attention. Masks that it cannot make itself become boolean masks."""
    queries, keys, mask = types[0].shape[-2], types[1].shape[-2], node["mask"]
    if node["softcap"]:
        return composed_attention(node, types)
    options = {"scale": node["scale"] or None, "enable_gqa": node["grouped_heads"]}
    static = mask == "causal" or node["window"]
    if mask == "causal" and not node["window"] and (node["alignment"] == "top_left" or queries == keys):
        options["is_causal"] = True
        static = False

    def run(q, k, v, shown=None):
        if static:
            shown = ~hidden_keys(queries, keys, node["alignment"], node["window"], mask == "none", q.device)
        if shown is None:
            return F.scaled_dot_product_attention(q, k, v, **options)
        shown = shown[(None,) * (2 - shown.dim())] if shown.dim() < 2 else shown
        no_key = ~shown.any(-1, keepdim=True) if shown.dtype == torch.bool else (shown == -math.inf).all(-1, True)
        return nan_without_key(F.scaled_dot_product_attention(q, k, v, attn_mask=shown, **options), no_key)

    return in_f32_if_asked(run, node, types)


def in_f32_if_asked(run, node, types):
    if not node["upcast"] or types[0].dtype == "f32":
        return run
    dtype = DTYPES[types[0].dtype]

    def widened(q, *others):
        return run(*(x.float() if x.dtype == dtype else x for x in (q, *others))).to(q.dtype)

    return widened


def composed_attention(node, types):
    """Attention with soft capping, which scaled_dot_product_attention lacks: the ops of its definition one by one."""
    factor = node["scale"] or 1 / math.sqrt(types[0].shape[-1])
    cap = float(np.float32(node["softcap"]))
    queries, keys, mask = types[0].shape[-2], types[1].shape[-2], node["mask"]

    def run(q, k, v, given=None):
        if node["grouped_heads"]:
            times = q.shape[-3] // k.shape[-3]
            k, v = k.repeat_interleave(times, -3), v.repeat_interleave(times, -3)
        if node["scale_on"] == "both":
            scores = torch.matmul(q * math.sqrt(factor), (k * math.sqrt(factor)).mT)
        else:
            scores = torch.matmul(q, k.mT) * factor
        scores = (cap * torch.tanh(wide(scores) / cap)).to(scores.dtype)
        if mask == "additive":
            scores = scores + given
        elif mask == "boolean":
            scores = scores.masked_fill(~given, -math.inf)
        elif mask == "causal" or node["window"]:
            hidden = hidden_keys(queries, keys, node["alignment"], node["window"], mask == "none", q.device)
            scores = scores.masked_fill(hidden, -math.inf)
        return torch.matmul(F.softmax(scores, -1), v)

    return in_f32_if_asked(run, node, types)


def on_bits(lower):
    """For what PyTorch has no kernels for formats of 8 bits for."""
    def lowered(node, types):
        run, dtype = lower(node, types), DTYPES[types[0].dtype]
        bits = BITS.get(dtype)
        if types[0].dtype not in QUANTIZED or bits is None:
            return run
        return lambda *given: run(*(x.view(bits) if x.dtype == dtype else x for x in given)).view(dtype)

    return lowered


LOWERINGS = {
    **{op: simple(function) for op, function in spelled_functions("torch", MODULES).items()},
    "einsum": einsum,
    "matmul": matmul,
    "linear": lambda node, types: product(F.linear, node, types),
    "scale": scale,
    "relu_backward": simple(lambda dy, x: torch.where(x <= 0, 0.0, dy)),
    "gelu": gelu,
    "gelu_backward": gelu_backward,
    "softcap": softcap,
    "softmax": lambda node, _types: lambda x: F.softmax(x, node["axis"]),
    "log_softmax": lambda node, _types: lambda x: F.log_softmax(x, node["axis"]),
    "softmax_backward": softmax_backward,
    "log_softmax_backward": log_softmax_backward,
    "layer_norm": layer_norm,
    "layer_norm_backward": layer_norm_backward,
    "rms_norm": rms_norm,
    "group_norm": group_norm,
    "reduce_sum": reduction(torch.sum),
    "reduce_mean": reduction(torch.mean),
    "reduce_max": reduction(torch.amax),
    "var_mean": var_mean,
    "logsumexp": reduction(torch.logsumexp),
    "dropout": simple(lambda x: F.dropout(x, 0.0)),
    "cast": cast,
    "reshape": lambda node, _types: lambda x: x.reshape(node["shape"]),
    "permute": lambda node, _types: lambda x: x.permute(node["dims"]),
    "unsqueeze": lambda node, _types: lambda x: x.unsqueeze(node["axis"]),
    "squeeze": lambda node, _types: lambda x: x.squeeze(node["axis"]),
    "broadcast_to": lambda node, _types: lambda x: x.expand(node["shape"]),
    "slice": slice_,
    "chunk": lambda node, _types: lambda x: x.chunk(node["chunks"], node["axis"]),
    "concat": lambda node, _types: lambda *parts: torch.cat(parts, node["axis"]),
    "roll": lambda node, _types: lambda x: torch.roll(x, node["shift"], node["axis"]),
    "flip": on_bits(lambda node, _types: lambda x: torch.flip(x, node["axes"])),
    "gather": gather,
    "index_copy": on_bits(index_copy),
    "arange": arange,
    "masked_fill": masked_fill,
    "causal_mask": causal_mask,
    "rope": rope,
    "sdpa": sdpa,
}
