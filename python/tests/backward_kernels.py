"""Fused kernels with hand-written gradients in torch, which compute in f32 and round once, and planted mistakes."""

import math
from functools import partial

import torch
import torch.nn.functional as F

EPS = 1e-5


def wide(*tensors):
    return [x.float() for x in tensors]


def like(x, *tensors):
    return tuple(value.to(x.dtype) for value in tensors)


# --- layer norm and RMS norm

def layer_norm(x, w, b):
    return F.layer_norm(x, x.shape[-1:], w, b, EPS)


def layer_norm_forward(x, w, b):
    return layer_norm(*wide(x, w, b)).to(x.dtype)


def layer_norm_backward(dy, x, w, b, mistake=""):
    of, (dy, x, w) = x, wide(dy, x, w)
    if mistake == "row 0 for all rows":
        dy = dy[:1].expand_as(dy)
    centred = x - x.mean(-1, keepdim=True)
    eps = 0 if mistake == "no eps" else EPS
    rstd = (centred.square().mean(-1, keepdim=True) + eps).rsqrt()
    normed, v = centred * rstd, dy * w
    mean = 0 if mistake == "no mean" else v.mean(-1, keepdim=True)
    dx = rstd * (v - mean - normed * (v * normed).mean(-1, keepdim=True))
    rows = slice(None, -1 if mistake == "last row lost" and len(dy) > 1 else None)
    dw = (dy * (x if mistake == "dw of x" else normed))[rows].sum(0)
    return like(of, dx, dw, dy[rows].sum(0))


def layer_norm_backward_of_any_rank(dy, x, w, b):
    width = x.shape[-1]
    dx, dw, db = layer_norm_backward(dy.reshape(-1, width), x.reshape(-1, width), w, b)
    return dx.reshape(x.shape), dw, db


layer_norm_of_row_0 = partial(layer_norm_backward, mistake="row 0 for all rows")
layer_norm_without_eps = partial(layer_norm_backward, mistake="no eps")
layer_norm_without_mean = partial(layer_norm_backward, mistake="no mean")
layer_norm_without_last_row = partial(layer_norm_backward, mistake="last row lost")
layer_norm_with_dw_of_x = partial(layer_norm_backward, mistake="dw of x")


def group_norm(x, w, b):
    return F.group_norm(x, 2, w, b, EPS)


def group_norm_backward(dy, x, w, b, axes=(2, 3), first=0):
    """`axes` of [batch, groups, channels of a group, rest]: those of one group."""
    of, shape = x, (x.shape[0], 2, x.shape[1] // 2, -1)
    dy, x, w = (value.reshape(shape) for value in wide(dy, x, w[:, None].expand(x.shape)))
    centred = x - x.mean(axes, keepdim=True)
    rstd = (centred.square().mean(axes, keepdim=True) + EPS).rsqrt()
    normed, v = centred * rstd, dy * w
    dx = rstd * (v - v.mean(axes, keepdim=True) - normed * (v * normed).mean(axes, keepdim=True))
    dw, db = (value[first:].sum((0, 3)).reshape(-1) for value in (dy * normed, dy))
    return like(of, dx.reshape(of.shape), dw, db)


group_norm_of_each_channel = partial(group_norm_backward, axes=(3,))
group_norm_with_dw_of_last = partial(group_norm_backward, first=-1)


def layer_norm_of_dense_dy(dy, x, w, b):
    """Reads the memory of dy as if its rows followed each other."""
    dense = dy.t().reshape(dy.shape) if dy.stride(0) < dy.stride(1) else dy
    return layer_norm_backward(dense, x, w, b)


def layer_norm_of_none(dy, x, w, b):
    dx, _, db = layer_norm_backward(dy, x, w, b)
    return dx, None, db


def layer_norm_of_other_shape(dy, x, w, b):
    dx, dw, db = layer_norm_backward(dy, x, w, b)
    return dx, dw[None], db


def layer_norm_of_other_dtype(dy, x, w, b):
    dx, dw, db = layer_norm_backward(dy, x, w, b)
    return dx, dw.double(), db


class LayerNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w, b):
        ctx.save_for_backward(x, w, b)
        return layer_norm_forward(x, w, b)

    @staticmethod
    def backward(ctx, dy):
        return layer_norm_backward_of_any_rank(dy, *ctx.saved_tensors)


class LayerNormWithoutDw(LayerNorm):
    @staticmethod
    def backward(ctx, dy):
        dx, _, db = layer_norm_backward_of_any_rank(dy, *ctx.saved_tensors)
        return dx, None, db


def rms_norm(x, w):
    return F.rms_norm(x, x.shape[-1:], w, EPS)


def rms_norm_backward(dy, x, w, mistake=""):
    of, (dy, x, w) = x, wide(dy, x, w)
    r = (x.square().mean(-1, keepdim=True) + EPS).rsqrt()
    v = dy if mistake == "no weight" else dy * w
    projection = 0 if mistake == "no projection" else x * r * (v * x * r).mean(-1, keepdim=True)
    return like(of, r * (v - projection), (dy * x * r).sum(0))


rms_norm_without_weight = partial(rms_norm_backward, mistake="no weight")
rms_norm_without_projection = partial(rms_norm_backward, mistake="no projection")


def rms_norm_of_offset(x, w):
    return F.rms_norm(x, x.shape[-1:], 1 + w, EPS)


def rms_norm_of_offset_backward(dy, x, w):
    return rms_norm_backward(dy, x, 1 + w)


def add_rms_norm(x, residual, w):
    h = x + residual
    return h, rms_norm(h, w)


def add_rms_norm_backward(dh, dy, x, residual, w):
    h, (dh_wide,) = x.float() + residual.float(), wide(dh)
    dx, dw = rms_norm_backward(dy.float(), h, w.float())
    return *like(x, dx + dh_wide, dx + dh_wide), dw.to(x.dtype)


def add_rms_norm_without_dh(dh, dy, x, residual, w):
    return add_rms_norm_backward(torch.zeros_like(dh), dy, x, residual, w)


# --- softmax and losses

def softmax(x):
    return F.softmax(x, -1)


def softmax_backward(dy, x):
    y, dy = F.softmax(x.float(), -1), dy.float()
    return (y * (dy - (y * dy).sum(-1, keepdim=True))).to(x.dtype)


def softmax_without_sum(dy, x):
    return (F.softmax(x.float(), -1) * dy.float()).to(x.dtype)


def scaled_softmax(x):
    return F.softmax(x * 0.125, -1)


def scaled_softmax_backward(dy, x, scale=0.125):
    return softmax_backward(dy.float(), x.float() * 0.125).mul(scale).to(x.dtype)


scaled_softmax_without_scale = partial(scaled_softmax_backward, scale=1)


def log_softmax(x):
    return F.log_softmax(x, -1)


def log_softmax_backward(dy, x):
    dy = dy.float()
    return (dy - F.softmax(x.float(), -1) * dy.sum(-1, keepdim=True)).to(x.dtype)


def log_softmax_of_columns(dy, x):
    dy = dy.float()
    return (dy - F.softmax(x.float(), -1) * dy.sum(0, keepdim=True)).to(x.dtype)


def cross_entropy(x, target):
    return F.cross_entropy(x, target)


def smooth_cross_entropy(x, target):
    return F.cross_entropy(x, target, label_smoothing=0.1)


def cross_entropy_forward(x, target):
    return F.cross_entropy(x.float(), target).to(x.dtype)


def smooth_cross_entropy_forward(x, target):
    return F.cross_entropy(x.float(), target, label_smoothing=0.1).to(x.dtype)


def cross_entropy_unshifted(x, target):
    """Overflows."""
    x, kept = x.float(), target != -100
    losses = x.exp().sum(-1).log() - x.gather(1, target.clamp(min=0)[:, None])[:, 0]
    return (losses[kept].sum() / kept.sum()).to(x.dtype)


def cross_entropy_backward(dy, x, target, mistake="", smoothing=0.0):
    kept = target != -100
    goal = F.one_hot(target.clamp(min=0), x.shape[1]) * (1 - smoothing) + smoothing / x.shape[1]
    dx = (F.softmax(x.float(), -1) - goal) * dy.float()
    dx = dx if mistake == "ignored rows" else dx * kept[:, None]
    return (dx / (len(target) if mistake == "mean of all rows" else kept.sum())).to(x.dtype)


cross_entropy_of_all_rows = partial(cross_entropy_backward, mistake="mean of all rows")
cross_entropy_of_ignored_rows = partial(cross_entropy_backward, mistake="ignored rows")


smooth_cross_entropy_backward = partial(cross_entropy_backward, smoothing=0.1)


# --- activations and products

def swiglu(gate, x):
    return F.silu(gate) * x


def swiglu_backward(dy, gate, x):
    of, (dy, gate, x) = x, wide(dy, gate, x)
    s = torch.sigmoid(gate)
    return like(of, dy * x * s * (1 + gate * (1 - s)), dy * gate * s)


def swiglu_of_sigmoid(dy, gate, x):
    of, (dy, gate, x) = x, wide(dy, gate, x)
    s = torch.sigmoid(gate)
    return like(of, dy * x * s, dy * gate * s)


def packed_swiglu(x):
    return swiglu(*x.chunk(2, -1))


def packed_swiglu_backward(dy, x, order=1):
    return torch.cat(swiglu_backward(dy, *x.chunk(2, -1))[::order], -1)


packed_swiglu_swapped = partial(packed_swiglu_backward, order=-1)


def gelu(x):
    return F.gelu(x)


def gelu_backward(dy, x):
    of, (dy, x) = x, wide(dy, x)
    density = torch.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    return (dy * ((1 + torch.erf(x / math.sqrt(2))) / 2 + x * density)).to(of.dtype)


def gelu_without_density(dy, x):
    of, (dy, x) = x, wide(dy, x)
    return (dy * (1 + torch.erf(x / math.sqrt(2))) / 2).to(of.dtype)


def gelu_of_tanh(dy, x):
    return torch.ops.aten.gelu_backward(dy, x, approximate="tanh")


def dropout(x, dropped):
    """With p = 0.25, of a given mask."""
    return x.masked_fill(dropped, 0) / 0.75


def dropout_backward(dy, x, dropped):
    return (dy.float().masked_fill(dropped, 0) / 0.75).to(x.dtype)


def dropout_without_scale(dy, x, dropped):
    return dy.masked_fill(dropped, 0)


def dropout_without_mask(dy, x, dropped):
    return dy / 0.75


def rope(x, cos, sin):
    a, b = x.chunk(2, -1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), -1)


def rope_backward(dy, x, cos, sin, sign=1):
    of, (dy, x, cos, sin) = x, wide(dy, x, cos, sin)
    (da, db), (a, b) = dy.chunk(2, -1), x.chunk(2, -1)
    dx = torch.cat((da * cos + sign * db * sin, db * cos - sign * da * sin), -1)
    return like(of, dx, da * a + db * b, db * a - da * b)


rope_of_forward_sign = partial(rope_backward, sign=-1)


def softcap(x):
    return 30 * torch.tanh(x / 30)


def softcap_backward(dy, x):
    t = torch.tanh(x.float() / 30)
    return (dy.float() * (1 - t * t)).to(x.dtype)


def softcap_without_factor(dy, x):
    return dy.clone()


def linear(x, w, b):
    return F.linear(x, w, b)


def linear_backward(dy, x, w, b):
    of, (dy, x, w) = x, wide(dy, x, w)
    return like(of, dy @ w, dy.t() @ x, dy.sum(0))


def linear_with_mean_of_db(dy, x, w, b):
    dx, dw, db = linear_backward(dy, x, w, b)
    return dx, dw, db / len(x)


BUFFER = {}


def linear_that_accumulates(dy, x, w, b):
    """Adds to what the call before left in a buffer."""
    dx, dw, db = linear_backward(dy, x, w, b)
    BUFFER[w.shape, w.dtype] = dw + BUFFER.get((w.shape, w.dtype), 0)
    return dx, BUFFER[w.shape, w.dtype].clone(), db


def embedding(tokens, table):
    return F.embedding(tokens, table)


def embedding_backward(dy, tokens, table):
    made = torch.zeros(table.shape)
    return made.index_add_(0, tokens, dy.float()).to(table.dtype)


def embedding_that_overwrites(dy, tokens, table):
    made = torch.zeros_like(table)
    made[tokens] = dy
    return made


# --- attention

def attention(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)


def attention_backward(dy, q, k, v, mistake="", narrow=False):
    """With `narrow`, probabilities and their gradients are rounded before they are multiplied, as on tensor cores."""
    of, size, (dy, q, k, v) = q, q.shape[1] // k.shape[1], wide(dy, q, k, v)
    k, v = k.repeat_interleave(size, 1), v.repeat_interleave(size, 1)
    scale, heads, rows = q.shape[-1] ** -0.5, (len(q), -1, size, *k.shape[-2:]), k.shape[2]
    scores = q @ k.mT * scale
    if mistake != "no mask":
        scores = scores.masked_fill(torch.ones(scores.shape[-2:]).triu(1).bool(), -math.inf)
    p = scores.softmax(-1)
    dp = dy @ v.mT
    ds = p * (dp - (0 if mistake == "no delta" else (p * dp).sum(-1, keepdim=True))) * scale
    if narrow:
        p, ds = p.to(of.dtype).float(), ds.to(of.dtype).float()
    dq, dk, dv = ds @ k * (scale if mistake == "scaled twice" else 1), ds.mT @ q, p.mT @ dy
    if mistake == "last tile lost":
        dq = ds[..., :rows // 16 * 16] @ k[..., :rows // 16 * 16, :]
    if mistake == "other heads":
        dk = dk.unflatten(1, (size, -1)).transpose(1, 2)
    dk, dv = dk.reshape(heads), dv.reshape(heads)
    dk = dk[:, :, 0] if mistake == "one head" else dk.sum(2)
    return like(of, dq, dk, dv.sum(2))


narrow_attention_backward = partial(attention_backward, narrow=True)


attention_without_mask = partial(attention_backward, mistake="no mask")
attention_without_delta = partial(attention_backward, mistake="no delta")
attention_scaled_twice = partial(attention_backward, mistake="scaled twice")
attention_of_one_head = partial(attention_backward, mistake="one head")
attention_of_other_heads = partial(attention_backward, mistake="other heads")
attention_without_last_tile = partial(attention_backward, mistake="last tile lost")
