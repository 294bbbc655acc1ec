"""Correct kernels of varied algorithms, in PyTorch: for each op, a name and the function.

The result must be right in f32 and in bf16. CUSTOMARY has those whose arithmetic is not the op's own, with the name of
it in oracle/known_arithmetic.cc; RIGHT those that need no declaration.
"""

import math

import torch
import torch.nn.functional as F

EPS = 1e-5


def stored(f):
    """Computes in f32 and rounds the results once."""
    def run(*inputs):
        made = f(*(x.float() if x.is_floating_point() else x for x in inputs))
        return tuple(y.to(inputs[0].dtype) for y in made) if isinstance(made, tuple) else made.to(inputs[0].dtype)
    return run


def blocks(x, size):
    return torch.split(x, size, -1)


def softmax_online(x):
    """Blocks of 16 with a running maximum; two passes."""
    top, total = torch.full(x.shape[:-1] + (1,), -math.inf), torch.zeros(x.shape[:-1] + (1,))
    for part in blocks(x, 16):
        new = torch.maximum(top, part.amax(-1, True))
        total = total * torch.exp(top - new).nan_to_num(0) + torch.exp(part - new).sum(-1, True)
        top = new
    return torch.exp(x - top) / total


def logsumexp_merged(x):
    parts = torch.stack([torch.logsumexp(part, -1) for part in blocks(x, 8)], -1)
    return torch.logsumexp(parts, -1)


def pairwise_sum(x):
    while x.shape[-1] > 1:
        if x.shape[-1] % 2:
            x = F.pad(x, (0, 1))
        x = x[..., 0::2] + x[..., 1::2]
    return x[..., 0]


def kahan_sum(x):
    total, lost = torch.zeros(x.shape[:-1]), torch.zeros(x.shape[:-1])
    for i in range(x.shape[-1]):
        y = x[..., i] - lost
        new = total + y
        total, lost = new, ((new - total) - y).nan_to_num(0, 0, 0)
    return total


def welford(x):
    """Mean and variance of rows, one element at a time."""
    mean, m2 = torch.zeros(x.shape[:-1]), torch.zeros(x.shape[:-1])
    for i in range(x.shape[-1]):
        d = x[..., i] - mean
        mean = mean + d / (i + 1)
        m2 = m2 + d * (x[..., i] - mean)
    return mean[..., None], (m2 / x.shape[-1])[..., None]


def norm(x, w, b, statistics):
    mean, variance = statistics(x)
    return (x - mean) * torch.rsqrt(variance + EPS) * w + b


def two_pass(x):
    mean = x.mean(-1, keepdim=True)
    return mean, (x - mean).square().mean(-1, keepdim=True)


def shifted(x):
    """Moments of x less its first element."""
    first = x[..., :1]
    d = x - first
    mean = d.mean(-1, keepdim=True)
    return mean + first, (d - mean).square().mean(-1, keepdim=True)


def scale_and_shift(x, w, b):
    mean, variance = two_pass(x)
    scale = w * torch.rsqrt(variance + EPS)
    return x * scale + (b - mean * scale)


def llama_norm(x, w):
    h = x.float()
    return w * (h * torch.rsqrt(h.square().mean(-1, keepdim=True) + EPS)).to(x.dtype)


def tiled_linear(x, w, b):
    """Sums over blocks of the depth."""
    total = torch.zeros(x.shape[:-1] + (w.shape[0],))
    for part, weight in zip(blocks(x, 8), blocks(w, 8), strict=True):
        total = total + part @ weight.mT
    return total + b


def split_k(x, y):
    half = x.shape[-1] // 2
    return x[..., :half] @ y[..., :half, :] + x[..., half:] @ y[..., half:, :]


def attention(q, k, v):
    return torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1) @ v


def attention_by_blocks(q, k, v):
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    top = torch.full(q.shape[:-1] + (1,), -math.inf)
    total, out = torch.zeros(q.shape[:-1] + (1,)), torch.zeros(q.shape[:-1] + (v.shape[-1],))
    for s, part in zip(blocks(scores, 16), torch.split(v, 16, -2), strict=True):
        new = torch.maximum(top, s.amax(-1, True))
        p, factor = torch.exp(s - new), torch.exp(top - new)
        total, out, top = total * factor + p.sum(-1, True), out * factor + p @ part, new
    return out / total


def flash(q, k, v):
    """The probabilities are rounded before they are normalised."""
    scores = q.float() @ k.float().mT / math.sqrt(q.shape[-1])
    p = torch.exp(scores - scores.amax(-1, True))
    return ((p.to(q.dtype).float() @ v.float()) / p.sum(-1, True)).to(q.dtype)


def rotated(x, cos, sin):
    a, b = x.chunk(2, -1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), -1)


def layer_norm_gradient(dy, x, w):
    mean, variance = two_pass(x)
    r = torch.rsqrt(variance + EPS)
    h, g = (x - mean) * r, dy * w
    dx = r * (g - g.mean(-1, keepdim=True) - h * (g * h).mean(-1, keepdim=True))
    rows = lambda t: t.reshape(-1, t.shape[-1]).sum(0)  # noqa: E731
    return dx, rows(dy * h), rows(dy)


NORM = {"eps": EPS}
ATTRIBUTES = {"layer_norm": NORM, "rms_norm": NORM, "layer_norm_backward": NORM}

RIGHT = {
    "softmax": {
        "library": lambda x: F.softmax(x, -1), "three passes": stored(lambda x: torch.exp(x - x.amax(-1, True)) /
                                                                      torch.exp(x - x.amax(-1, True)).sum(-1, True)),
        "online": stored(softmax_online), "reciprocal": stored(
            lambda x: (lambda e: e * (1 / e.sum(-1, True)))(torch.exp(x - x.amax(-1, True)))),
        "in f64": lambda x: F.softmax(x.double(), -1).to(x.dtype)},
    "logsumexp": {"library": lambda x: torch.logsumexp(x, -1), "merged": stored(logsumexp_merged),
                  "in f64": lambda x: torch.logsumexp(x.double(), -1).to(x.dtype)},
    "layer_norm": {
        "library": lambda x, w, b: F.layer_norm(x, x.shape[-1:], w, b, EPS),
        "two passes": stored(lambda x, w, b: norm(x, w, b, two_pass)),
        "Welford": stored(lambda x, w, b: norm(x, w, b, welford)),
        "shifted": stored(lambda x, w, b: norm(x, w, b, shifted)),
        "square root and quotient": stored(
            lambda x, w, b: (lambda m, v: (x - m) / torch.sqrt(v + EPS) * w + b)(*two_pass(x)))},
    "rms_norm": {
        "library": lambda x, w: F.rms_norm(x, x.shape[-1:], w, EPS),
        "by sums": stored(lambda x, w: x * torch.rsqrt(x.square().sum(-1, True) / x.shape[-1] + EPS) * w),
        "quotient": stored(lambda x, w: x / torch.sqrt(x.square().mean(-1, True) + EPS) * w),
        "vector norm": stored(lambda x, w: x * torch.rsqrt((x * x).mean(-1, True) + EPS) * w)},
    "linear": {"library": F.linear, "tiles": stored(tiled_linear),
               "reversed": stored(lambda x, w, b: x.flip(-1) @ w.flip(-1).mT + b),
               "bias first": stored(lambda x, w, b: torch.cat((x, torch.ones(x.shape[:-1] + (1,))), -1) @
                                    torch.cat((w, b[:, None]), -1).mT)},
    "matmul": {"library": torch.matmul, "split depth": stored(split_k),
               "transposed": stored(lambda a, b: (b.mT @ a.mT).mT),
               "sums of products": stored(lambda a, b: (a[..., :, :, None] * b[..., None, :, :]).sum(-2))},
    "reduce_sum": {"library": lambda x: x.sum(-1), "pairwise": stored(pairwise_sum), "Kahan": stored(kahan_sum),
                   "cumulative": stored(lambda x: x.cumsum(-1)[..., -1]),
                   "product with ones": stored(lambda x: x @ torch.ones(x.shape[-1]))},
    "reduce_mean": {"library": lambda x: x.mean(-1), "quotients first": stored(lambda x: (x / x.shape[-1]).sum(-1)),
                    "in f64": lambda x: x.double().mean(-1).to(x.dtype)},
    "reduce_max": {"library": lambda x: x.amax(-1), "sorted": lambda x: x.sort(-1).values[..., -1]},
    "sigmoid": {"library": torch.sigmoid, "quotient": stored(lambda x: 1 / (1 + torch.exp(-x))),
                "in f64": lambda x: torch.sigmoid(x.double()).to(x.dtype)},
    "silu": {"library": F.silu, "quotient": stored(lambda x: x / (1 + torch.exp(-x))),
             "product": stored(lambda x: x * torch.sigmoid(x))},
    # Not F.gelu: the error of its erf is absolute, and its results from -6 down are 0 (pytorch#187806).
    "gelu": {"erf": stored(lambda x: 0.5 * x * (1 + torch.erf(x * math.sqrt(0.5)))),
             "in f64": lambda x: F.gelu(x.double()).to(x.dtype)},
    "tanh": {"library": torch.tanh, "in f64": lambda x: torch.tanh(x.double()).to(x.dtype)},
    "exp": {"library": torch.exp, "in f64": lambda x: torch.exp(x.double()).to(x.dtype)},
    "sqrt": {"library": torch.sqrt}, "rsqrt": {"library": torch.rsqrt,
                                               "quotient": stored(lambda x: 1 / torch.sqrt(x))},
    "mish": {"library": F.mish, "by tanh": stored(lambda x: x * torch.tanh(F.softplus(x)))},
    "silu_backward": {
        "library": torch.ops.aten.silu_backward,
        "formula": stored(lambda dy, x: dy * torch.sigmoid(x) * (1 + x * (1 - torch.sigmoid(x))))},
    "softmax_backward": {"formula": stored(lambda dy, y: y * (dy - (dy * y).sum(-1, True)))},
    "layer_norm_backward": {"formula": stored(layer_norm_gradient)},
    "rope": {"formula": stored(rotated)},
    "sdpa": {"library": F.scaled_dot_product_attention, "formula": stored(attention),
             "blocks": stored(attention_by_blocks)},
    "add": {"library": torch.add}, "maximum": {"library": torch.maximum},
    "where": {"library": torch.where, "product": None}, "gather": {"library": lambda t, i: t[i.long()]},
}
del RIGHT["where"]["product"]

def scaled_queries(q, k, v):
    return torch.softmax(q * q.shape[-1] ** -0.5 @ k.mT, -1) @ v


CUSTOMARY = {
    "rms_norm": {"as Llama's definition": ("rms_norm.weight_after", llama_norm)},
    "linear": {"product, then bias": ("linear.bias_after", lambda x, w, b: x @ w.mT + b)},
    "layer_norm": {
        "moments": ("variance.welford", stored(lambda x, w, b: norm(x, w, b, lambda t: (
            t.mean(-1, keepdim=True),
            (t.square().mean(-1, keepdim=True) - t.mean(-1, keepdim=True).square()).clamp_min(0))))),
        "scale and shift": ("norms_scale_and_shift", stored(scale_and_shift))},
    "rsqrt": {"root, then quotient": ("rsqrt.of_root", lambda x: 1 / torch.sqrt(x))},
    "silu": {"sigmoid, then product": ("silu.of_sigmoid", lambda x: x * torch.sigmoid(x))},
    "softmax": {"of parts": ("softmax.of_parts", lambda x: (
        lambda e: e / e.sum(-1, True))(torch.exp(x - x.amax(-1, True))))},
    "div": {"reciprocal, then product": ("div.reciprocal", lambda a, b: a * (1 / b))},
    "exp": {"by base 2": ("exp.base_2", stored(lambda x: torch.exp2(x * math.log2(math.e))))},
    "tanh": {"by a sigmoid": ("tanh.absolute", stored(lambda x: 2 * torch.sigmoid(2 * x) - 1))},
    "sdpa": {"as FlashAttention": ("attention.online", flash),
             "scaled queries": ("sdpa.scale_on_q", scaled_queries)},
}
