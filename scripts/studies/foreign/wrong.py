"""Mistakes planted in kernels: for each op, what is wrong and the function that has it. All compute in f32 and round
once, so that nothing but the mistake separates their results from the right ones, unless they say otherwise.
"""

import math

import torch
import torch.nn.functional as F
from right import EPS, attention, layer_norm_gradient, norm, rotated, scale_and_shift, stored, two_pass


def without_tail(x, size):
    """The part of a row that whole vectors cover."""
    return x[..., :x.shape[-1] // size * size] if x.shape[-1] >= size else x


def softmax_of(change=lambda x: x, total=lambda e: e.sum(-1, True), top=lambda x: x.amax(-1, True)):
    def run(x):
        e = torch.exp(change(x) - top(change(x)))
        return e / total(e)
    return stored(run)


def layer_norm_of(statistics=two_pass, root=lambda v: torch.rsqrt(v + EPS), end=lambda h, w, b: h * w + b):
    def run(x, w, b):
        mean, variance = statistics(x)
        return end((x - mean) * root(variance), w, b)
    return stored(run)


def mean_and(variance):
    return lambda x: (x.mean(-1, keepdim=True), variance(x))


def rms_norm_of(square=lambda x: x.square().mean(-1, True), root=lambda v: torch.rsqrt(v + EPS),
                end=lambda h, w: h * w):
    return stored(lambda x, w: end(x * root(square(x)), w))


def attention_of(scores=lambda s: s, scale=None, p=lambda p: p, values=lambda v: v):
    def run(q, k, v):
        s = scores(q @ k.mT * (scale(q, k) if scale else 1 / math.sqrt(q.shape[-1])))
        return p(torch.softmax(s, -1)) @ values(v)
    return stored(run)


def hide(s, row, column):
    s = s.clone()
    s[..., row, column] = -math.inf
    return s


def changed(x, index, by):
    x = x.clone()
    x[..., index] = by(x[..., index])
    return x


def gradient_of(change):
    return stored(lambda dy, x, w: change(layer_norm_gradient(dy, x, w), dy, x, w))


def rows(t):
    return t.reshape(-1, t.shape[-1]).sum(0)


def sum_in_16(x):
    total = torch.zeros(x.shape[:-1], dtype=x.dtype)
    for i in range(x.shape[-1]):
        total = total + x[..., i]
    return total


WRONG = {
    "softmax": {
        "no maximum subtracted": softmax_of(top=lambda x: torch.zeros_like(x[..., :1])),
        "the mean subtracted": softmax_of(top=lambda x: x.mean(-1, True)),
        "scaled by 1.01": softmax_of(lambda x: 1.01 * x), "base 2": softmax_of(lambda x: x * math.log(2)),
        "the last term missing": softmax_of(total=lambda e: e[..., :max(1, e.shape[-1] - 1)].sum(-1, True)),
        "tail of vectors of 8 missing": softmax_of(total=lambda e: without_tail(e, 8).sum(-1, True)),
        "1e-6 in the denominator": softmax_of(total=lambda e: e.sum(-1, True) + 1e-6),
        "over the first axis": lambda x: F.softmax(x, 0), "divided by the largest": softmax_of(
            total=lambda e: e.amax(-1, True)), "terms below 1e-4 dropped": softmax_of(
                total=lambda e: torch.where(e < 1e-4, 0, e).sum(-1, True)),
        "the first term twice": softmax_of(total=lambda e: e.sum(-1, True) + e[..., :1])},
    "logsumexp": {
        "no maximum subtracted": stored(lambda x: torch.log(torch.exp(x).sum(-1))),
        "the maximum not added": stored(lambda x: torch.log(torch.exp(x - x.amax(-1, True)).sum(-1))),
        "base 2": stored(lambda x: torch.log2(torch.exp(x - x.amax(-1, True)).sum(-1)) + x.amax(-1)),
        "the last term missing": stored(lambda x: torch.logsumexp(x[..., :max(1, x.shape[-1] - 1)], -1)),
        "a mean": stored(lambda x: torch.logsumexp(x, -1) - math.log(x.shape[-1]))},
    "layer_norm": {
        "unbiased variance": layer_norm_of(mean_and(lambda x: x.var(-1, keepdim=True, correction=min(
            1, x.shape[-1] - 1)))),
        "no epsilon": layer_norm_of(root=torch.rsqrt), "epsilon outside of the root": layer_norm_of(
            root=lambda v: 1 / (torch.sqrt(v) + EPS)), "epsilon 1e-3": layer_norm_of(
                root=lambda v: torch.rsqrt(v + 1e-3)), "epsilon 1e-6": layer_norm_of(
                    root=lambda v: torch.rsqrt(v + 1e-6)),
        "no mean": layer_norm_of(lambda x: (torch.zeros_like(x[..., :1]), two_pass(x)[1])),
        "mean square for the variance": layer_norm_of(mean_and(lambda x: x.square().mean(-1, keepdim=True))),
        "mean of the first half": layer_norm_of(lambda x: (
            x[..., :(x.shape[-1] + 1) // 2].mean(-1, keepdim=True), two_pass(x)[1])),
        "no bias": layer_norm_of(end=lambda h, w, b: h * w), "no weight": layer_norm_of(end=lambda h, w, b: h + b),
        "weight + 1": layer_norm_of(end=lambda h, w, b: h * (w + 1) + b),
        "bias before the weight": layer_norm_of(end=lambda h, w, b: (h + b) * w),
        "tail of vectors of 8 missing": layer_norm_of(lambda x: two_pass(without_tail(x, 8))),
        "mean deviation": layer_norm_of(mean_and(lambda x: (x - x.mean(-1, keepdim=True)).abs().mean(
            -1, keepdim=True).square())),
        "shift without the weight": stored(lambda x, w, b: scale_and_shift(x, w, b) + (1 - w) * 0.01),
        "1 % too large": stored(lambda x, w, b: 1.01 * norm(x, w, b, two_pass))},
    "rms_norm": {
        "the mean removed": rms_norm_of(lambda x: two_pass(x)[1]), "a sum for the mean": rms_norm_of(
            lambda x: x.square().sum(-1, True)), "divided by n - 1": rms_norm_of(
                lambda x: x.square().sum(-1, True) / max(1, x.shape[-1] - 1)),
        "no epsilon": rms_norm_of(root=torch.rsqrt), "epsilon outside of the root": rms_norm_of(
            root=lambda v: 1 / (torch.sqrt(v) + EPS)), "epsilon 1e-6": rms_norm_of(
                root=lambda v: torch.rsqrt(v + 1e-6)),
        "weight + 1": rms_norm_of(end=lambda h, w: h * (w + 1)), "weight twice": rms_norm_of(
            end=lambda h, w: h * w * w), "no weight": rms_norm_of(end=lambda h, w: h),
        "tail of vectors of 8 missing": rms_norm_of(lambda x: without_tail(x, 8).square().mean(-1, True))},
    "linear": {
        "bias twice": stored(lambda x, w, b: F.linear(x, w, b) + b), "no bias": stored(lambda x, w, b: F.linear(x, w)),
        "the last product missing": stored(lambda x, w, b: F.linear(
            changed(x, -1, torch.zeros_like) if x.shape[-1] > 1 else x, w, b)),
        "tail of blocks of 8 missing": stored(lambda x, w, b: F.linear(without_tail(x, 8), without_tail(w, 8), b)),
        "bias of the next column": stored(lambda x, w, b: F.linear(x, w, b.roll(1))),
        "the last column as the one before": stored(lambda x, w, b: (lambda y: torch.cat(
            (y[..., :-1], y[..., -2:-1] if y.shape[-1] > 1 else y), -1)[..., :y.shape[-1]])(F.linear(x, w, b))),
        "0.4 % too large": stored(lambda x, w, b: 1.004 * F.linear(x, w, b)),
        "the first product twice": stored(lambda x, w, b: F.linear(x, w, b) + x[..., :1] * w[:, 0]),
        "bias scaled": stored(lambda x, w, b: F.linear(x, w, 0.99 * b))},
    "matmul": {
        "the last product missing": stored(lambda a, b: a @ b - a[..., -1:] @ b[..., -1:, :] * (a.shape[-1] > 1)),
        "b transposed": stored(lambda a, b: a @ b.mT if b.shape[-1] == b.shape[-2] else a @ b * 1.01),
        "0.4 % too small": stored(lambda a, b: 0.996 * (a @ b)), "absolute values": stored(lambda a, b: a.abs() @ b),
        "the second half of the depth missing": stored(lambda a, b: a[..., :(a.shape[-1] + 1) // 2] @
                                                      b[..., :(a.shape[-1] + 1) // 2, :]),
        "the first row for the last": stored(lambda a, b: torch.cat(((a @ b)[..., :-1, :], (a @ b)[..., :1, :]), -2))},
    "reduce_sum": {
        "the last term missing": stored(lambda x: x[..., :max(1, x.shape[-1] - 1)].sum(-1)),
        "the first term twice": stored(lambda x: x.sum(-1) + x[..., 0]),
        "tail of vectors of 8 missing": stored(lambda x: without_tail(x, 8).sum(-1)),
        "behind the 64th missing": stored(lambda x: x[..., :64].sum(-1)),
        "a mean": stored(lambda x: x.mean(-1)), "absolute values": stored(lambda x: x.abs().sum(-1)),
        "partial sums in 16 bits": lambda x: sum_in_16(x.bfloat16()).to(x.dtype)},
    "reduce_mean": {
        "divided by n - 1": stored(lambda x: x.sum(-1) / max(1, x.shape[-1] - 1)),
        "divided by n + 1": stored(lambda x: x.sum(-1) / (x.shape[-1] + 1)), "a median": stored(
            lambda x: x.median(-1).values), "the last term missing": stored(
                lambda x: x[..., :max(1, x.shape[-1] - 1)].sum(-1) / x.shape[-1])},
    "reduce_max": {
        "the last term missing": lambda x: x[..., :max(1, x.shape[-1] - 1)].amax(-1), "starts from 0": lambda x: x.amax(
            -1).clamp_min(0), "by magnitude": lambda x: x.gather(-1, x.abs().argmax(-1, keepdim=True))[..., 0],
        "behind the 64th missing": lambda x: x[..., :64].amax(-1)},
    "sigmoid": {
        "hard": stored(lambda x: (x / 6 + 0.5).clamp(0, 1)), "scaled by 1.002": stored(
            lambda x: torch.sigmoid(1.002 * x)), "1e-4 too large": stored(lambda x: torch.sigmoid(x) + 1e-4),
        "0 below -10": stored(lambda x: torch.where(x < -10, 0, torch.sigmoid(x)))},
    "silu": {
        "scaled by 1.002": stored(lambda x: x * torch.sigmoid(1.002 * x)), "without x": stored(torch.sigmoid),
        "hard": stored(F.hardswish), "0 below -8": stored(lambda x: torch.where(x < -8, 0, F.silu(x))),
        "as gelu's": stored(lambda x: x * torch.sigmoid(1.702 * x))},
    "gelu": {
        "tanh form": stored(lambda x: F.gelu(x, approximate="tanh")), "sigmoid form": stored(
            lambda x: x * torch.sigmoid(1.702 * x)), "without the half": stored(
                lambda x: x * (1 + torch.erf(x * math.sqrt(0.5)))), "x for x / sqrt(2)": stored(
                    lambda x: 0.5 * x * (1 + torch.erf(x))), "0 below -4": stored(
                        lambda x: torch.where(x < -4, 0, F.gelu(x))), "relu": stored(F.relu)},
    "tanh": {
        "a quotient of polynomials": stored(lambda x: (x * (27 + x * x) / (27 + 9 * x * x)).clamp(-1, 1)),
        "1 from 3 on": stored(lambda x: torch.where(x.abs() > 3, x.sign(), torch.tanh(x))), "0.1 % off": stored(
            lambda x: 0.999 * torch.tanh(x))},
    "exp": {
        "limited to 80": stored(lambda x: torch.exp(x.clamp(max=80))), "log2(e) of 4 digits": stored(
            lambda x: torch.exp2(1.4427 * x)), "0 below -20": stored(
                lambda x: torch.where(x < -20, 0, torch.exp(x))), "a series": stored(
                    lambda x: 1 + x + x * x / 2 + x ** 3 / 6)},
    "rsqrt": {
        "one step of Newton": stored(lambda x: (lambda r: r * (1.5 - 0.5 * x * r * r))(
            torch.rsqrt(x).bfloat16().float())), "1e-6 added": stored(lambda x: torch.rsqrt(x + 1e-6)),
        "a root": stored(torch.sqrt)},
    "mish": {
        "softplus without tanh": stored(lambda x: x * F.softplus(x).clamp(max=1)), "silu": stored(F.silu),
        "linear from 2 on": stored(lambda x: torch.where(x > 2, x, F.mish(x))), "sigmoid for tanh": stored(
            lambda x: x * torch.sigmoid(F.softplus(x)))},
    "silu_backward": {
        "without dy": stored(lambda dy, x: torch.ops.aten.silu_backward(torch.ones_like(dy), x)),
        "a sign": stored(lambda dy, x: dy * torch.sigmoid(x) * (1 - x * (1 - torch.sigmoid(x)))),
        "the first term alone": stored(lambda dy, x: dy * torch.sigmoid(x)),
        "of x s": stored(lambda dy, x: dy * torch.sigmoid(x) * (1 + x * torch.sigmoid(x)))},
    "softmax_backward": {
        "a mean": stored(lambda dy, y: y * (dy - (dy * y).mean(-1, True))), "no sum": stored(lambda dy, y: y * dy),
        "the sum of dy": stored(lambda dy, y: y * (dy - dy.sum(-1, True))), "a sign": stored(
            lambda dy, y: y * (dy + (dy * y).sum(-1, True)))},
    "layer_norm_backward": {
        "no projection": gradient_of(lambda made, dy, x, w: (made[0] + 0.01 * dy, *made[1:])),
        "dx without the weight": gradient_of(lambda made, dy, x, w: (
            layer_norm_gradient(dy, x, torch.ones_like(w))[0], *made[1:])),
        "dw of centred values": gradient_of(lambda made, dy, x, w: (
            made[0], rows(dy * (x - x.mean(-1, keepdim=True))), made[2])),
        "db of weighted values": gradient_of(lambda made, dy, x, w: (made[0], made[1], rows(dy * w))),
        "the last row missing": gradient_of(lambda made, dy, x, w: (
            made[0], made[1], made[2] - (dy.reshape(-1, dy.shape[-1])[-1] if dy.dim() > 1 else 0)))},
    "rope": {
        "a sign": stored(lambda x, cos, sin: rotated(x, cos, -sin)), "cos and sin exchanged": stored(
            lambda x, cos, sin: rotated(x, sin, cos)), "the next position": stored(
                lambda x, cos, sin: rotated(x, cos.roll(1, -2), sin.roll(1, -2))),
        "neighbours as pairs": stored(lambda x, cos, sin: torch.stack((
            x[..., 0::2] * cos - x[..., 1::2] * sin, x[..., 1::2] * cos + x[..., 0::2] * sin), -1).flatten(-2))},
    "sdpa": {
        "scaled by 1 / d": attention_of(scale=lambda q, k: 1 / q.shape[-1]), "not scaled": attention_of(
            scale=lambda q, k: 1), "scaled by the keys": attention_of(scale=lambda q, k: 1 / math.sqrt(k.shape[-2])),
        "the last key hidden": attention_of(lambda s: hide(s, slice(None), -1) if s.shape[-1] > 1 else s),
        "the last key hidden from the last query": attention_of(
            lambda s: hide(s, -1, -1) if s.shape[-1] > 1 else s),
        "causal": attention_of(lambda s: s.masked_fill(torch.ones(s.shape[-2:]).triu(1).bool(), -math.inf)),
        "probabilities 0.5 % too small": attention_of(p=lambda p: 0.995 * p), "values of the next key": attention_of(
            values=lambda v: v.roll(1, -2)), "the first head for all": stored(
                lambda q, k, v: attention(q, k[:, :1].expand_as(k), v)),
        "keys behind the 64th missing": stored(lambda q, k, v: attention(q, k[..., :64, :], v[..., :64, :])),
        "scores limited to 10": attention_of(lambda s: s.clamp(max=10)), "keys padded with zeros": attention_of(
            lambda s: F.pad(s, (0, -s.shape[-1] % 16)), values=lambda v: F.pad(v, (0, 0, 0, -v.shape[-2] % 16)))},
    "add": {"a difference": torch.sub, "the last element of a": lambda a, b: changed(a + b, -1, torch.zeros_like)},
    "maximum": {"a minimum": torch.minimum, "by magnitude": lambda a, b: torch.where(a.abs() > b.abs(), a, b),
                "NaN ignored": torch.fmax},
    "where": {"inverted": lambda c, a, b: torch.where(c, b, a), "a product": lambda c, a, b: a * c + b * ~c},
    "gather": {"the next row": lambda t, i: t[(i.long() + 1) % t.shape[0]],
               "the last row clipped": lambda t, i: t[i.long().clamp(max=max(0, t.shape[0] - 2))]},
}
