"""Calls of single operators that several ops stand for, for tests of the import of .pt2.

GROUPS maps a name to calls by name: functions of the inputs that `inputs` makes of a group. Each group is one program.
"""

import math

import torch
import torch.nn.functional as F

GROUPS = {}
HUBER = ("huber", "huber_each", "smooth", "smooth_each")
# Calls that PyTorch's kernels for the CPU round more often than once in these dtypes.
ROUNDED_MORE = {
    # The logarithm, mean and deviation, before the bias, parts of a loss.
    torch.float16: ("log_softmax", "instance_norm", "transposed", *HUBER),
    torch.bfloat16: ("log_softmax", "instance_norm", "transposed", *HUBER),
}


def group(function):
    GROUPS[function.__name__] = function()
    return function


class Calls(torch.nn.Module):
    def __init__(self, calls):
        super().__init__()
        self.calls = calls

    def forward(self, *given):
        return tuple(call(*given) for call in self.calls.values())


def special(dtype):
    """Numbers of every size, with the infinities and NaN."""
    numbers = torch.tensor([math.inf, -math.inf, math.nan, 0.0, 100.0, -100.0, 30.0, 20.5, 1e30, -1e30, 3.0, -3.0])
    return torch.cat([numbers, torch.randn(52) * 3]).view(4, 16).to(dtype)


def inputs(name, dtype):
    if name == "pointwise":
        return special(dtype), torch.randn(4, 16).to(dtype), torch.rand(4, 16) < 0.5
    if name in ("rows", "moves"):
        x = torch.randn(4, 6, 16)
        if name == "rows":
            x[0, 0], x[0, 1, :4], x[1, 0, 3], x[1, 2, 5] = -math.inf, -math.inf, math.inf, math.nan
        return x.to(dtype), torch.randn(4, 6, 16).to(dtype), torch.tensor([3, 1, 3, 0])
    if name == "losses":
        return torch.randn(4, 16).to(dtype), torch.randn(4, 16).to(dtype)
    if name == "cells":
        return tuple(torch.randn(*shape).to(dtype) for shape in ((3, 5), (3, 6), (3, 6), (24, 5), (24, 6), (24,)))
    if name == "norms":
        return torch.randn(2, 4, 6, 6).add(0.5).to(dtype), (torch.rand(4) + 0.5).to(dtype), torch.randn(4).to(dtype)
    if name == "products":
        return tuple(torch.randn(*shape).to(dtype) for shape in ((3, 4, 5), (3, 5, 6), (3, 4, 6), (5,), (6,)))
    if name == "images":
        return tuple(torch.randn(*shape).to(dtype) for shape in (
            (2, 4, 12, 12), (6, 4, 3, 3), (6,), (4, 1, 3, 3), (4, 3, 2, 2), (6, 2, 4, 4)))
    return tuple(torch.randn(*shape).to(dtype) for shape in ((2, 4, 15), (6, 4, 3), (6,), (4, 1, 4)))


@group
def pointwise():
    return {
        "abs": lambda x, y, mask: x.abs(), "minimum": lambda x, y, mask: torch.minimum(x, y),
        "clamp": lambda x, y, mask: x.clamp(-1.3, 2.7), "clamp_max": lambda x, y, mask: x.clamp(max=0.3),
        "clamp_min": lambda x, y, mask: x.clamp_min(0.3), "clamp_tensor": lambda x, y, mask: x.clamp(min=y),
        "clamp_large": lambda x, y, mask: x.clamp(
            min=torch.finfo(x.dtype).min), "relu6": lambda x, y, mask: F.relu6(x),
        "cube": lambda x, y, mask: x.pow(3), "inverse": lambda x, y, mask: y.pow(-1),
        "inverse_square": lambda x, y, mask: x.pow(-2), "fourth": lambda x, y, mask: x.pow(4),
        "softplus": lambda x, y, mask: F.softplus(x), "softplus_2": lambda x, y, mask: F.softplus(x, 2.0),
        "elu": lambda x, y, mask: F.elu(x), "elu_2": lambda x, y, mask: F.elu(x, 0.3),
        "celu": lambda x, y, mask: F.celu(x, 0.5), "selu": lambda x, y, mask: F.selu(x),
        "leaky_relu": lambda x, y, mask: F.leaky_relu(x, 0.2), "hardtanh": lambda x, y, mask: F.hardtanh(x, -2, 0.5),
        "hardsigmoid": lambda x, y, mask: F.hardsigmoid(x), "log_sigmoid": lambda x, y, mask: F.logsigmoid(x),
        "glu": lambda x, y, mask: F.glu(y * 9, 1), "glu_first": lambda x, y, mask: F.glu(y, 0),
        "expm1": lambda x, y, mask: x.expm1(), "prelu": lambda x, y, mask: F.prelu(x, y[0]),
        "alpha": lambda x, y, mask: torch.add(x, y, alpha=0.3), "sub_alpha": lambda x, y, mask: x.sub(y, alpha=3),
        "rsub": lambda x, y, mask: torch.rsub(x, y, alpha=2), "addcmul": lambda x, y, mask: y.addcmul(x, y, value=0.3),
        "addcdiv": lambda x, y, mask: y.addcdiv(y, x, value=0.3),
        "where_number": lambda x, y, mask: torch.where(mask, x, -3.3e38 if x.dtype != torch.float16 else -6e4),
        "number_where": lambda x, y, mask: torch.where(mask, 0.3, x), "spread": lambda x, y, mask: torch.where(
            mask, y[0], -math.inf),
        "masked_fill": lambda x, y, mask: x.masked_fill(mask, y[0, 0]), "of_bool": lambda x, y, mask: mask.to(x.dtype),
        "bool_mul": lambda x, y, mask: y * mask, "type_as": lambda x, y, mask: x.float().type_as(y),
        "fill": lambda x, y, mask: torch.fill(x, 0.3), "lowest": lambda x, y, mask: torch.full_like(
            y, torch.finfo(y.dtype).min) + y * 0,
    }


@group
def rows():
    return {
        "log_softmax": lambda x, y, i: x.log_softmax(-1), "log_softmax_1": lambda x, y, i: y.log_softmax(1),
        "decomposed": lambda x, y, i: F.scaled_dot_product_attention(y, y, y, y[:, :, :6]),
        "one_head": lambda x, y, i: F.scaled_dot_product_attention(y[None], y[:1], y[:1]),
        "safe_softmax": lambda x, y, i: torch.ops.aten._safe_softmax(x * 9, -1),
        "cumsum": lambda x, y, i: x.cumsum(-1), "cumsum_1": lambda x, y, i: y.cumsum(1),
        "amin": lambda x, y, i: x.amin(-1), "min": lambda x, y, i: x.min(1).values, "std": lambda x, y, i: y.std(-1),
        "all_max": lambda x, y, i: y.max(), "var_mean": lambda x, y, i: torch.var_mean(y, -1, correction=0)[0],
        "norm": lambda x, y, i: torch.linalg.vector_norm(y, dim=-1, keepdim=True),
        "norm_1": lambda x, y, i: torch.linalg.vector_norm(y, 1, dim=(1, 2)),
    }


@group
def moves():
    return {
        "stack": lambda x, y, i: torch.stack([x, y], 1), "stack_last": lambda x, y, i: torch.stack([x, y], -1),
        "unbind": lambda x, y, i: x.unbind(1)[2] * 2, "repeat": lambda x, y, i: x.repeat(2, 1, 1, 3),
        "interleave": lambda x, y, i: x.repeat_interleave(3, 1), "index_select": lambda x, y, i: x.index_select(1, i),
        "gather": lambda x, y, i: x.gather(1, i[None, :, None]), "gather_last": lambda x, y, i: y.gather(
            -1, i.expand(2, 3, 4)), "gather_first": lambda x, y, i: y.gather(0, i.view(1, 4, 1).expand(2, 4, 3)),
        "index": lambda x, y, i: x[:, i], "index_first": lambda x, y, i: x[i], "index_last": lambda x, y, i: x[..., i],
        "pad": lambda x, y, i: F.pad(x, (1, 2, 0, 3), value=0.3), "cut": lambda x, y, i: F.pad(x, (-1, -2, 1, 0)),
        "pad_inf": lambda x, y, i: F.pad(x, (1, 0), value=-math.inf),
        "reflect": lambda x, y, i: F.pad(x, (2, 3), "reflect"),
        "circular": lambda x, y, i: F.pad(x, (2, 3), "circular"),
        "replicate": lambda x, y, i: F.pad(x, (2, 3), "replicate"), "movedim": lambda x, y, i: x.movedim(0, 2),
        "cat_empty": lambda x, y, i: torch.cat([x[:, :0], y, x.new_zeros(0)], 1),
        "cat_many": lambda x, y, i: torch.cat([x] * 20, 1), "narrow": lambda x, y, i: x.narrow(1, 1, 3) + 1,
        "slice_scatter": lambda x, y, i: torch.slice_scatter(x, y[:, :2], 1, 3, 5),
        "slice_first": lambda x, y, i: torch.slice_scatter(x, y[:, :2], 1, 0, 2),
        "slice_step": lambda x, y, i: torch.slice_scatter(x, y[:, :2], 1, 1, 6, 3),
        "select_scatter": lambda x, y, i: torch.select_scatter(x, y[..., 0], -1, -1),
        "copy": lambda x, y, i: torch.ops.aten.copy(x, y[0, 0]), "unfold": lambda x, y, i: x.unfold(2, 4, 3),
        "shuffle": lambda x, y, i: F.pixel_shuffle(x.view(4, 6, 4, 4)[:, :4], 2),
        "unshuffle": lambda x, y, i: F.pixel_unshuffle(x.view(4, 6, 4, 4), 2),
    }


@group
def losses():
    each = {"reduction": "none"}
    return {
        "mse": lambda x, y: F.mse_loss(x, y), "mse_each": lambda x, y: F.mse_loss(x, y, **each),
        "l1": lambda x, y: F.l1_loss(x, y, reduction="sum"), "huber": lambda x, y: F.huber_loss(x, y, delta=0.7),
        "huber_each": lambda x, y: F.huber_loss(x, y, delta=1.3, **each),
        "smooth": lambda x, y: F.smooth_l1_loss(x, y), "smooth_each": lambda x, y: F.smooth_l1_loss(
            x, y, beta=0.3, **each),
        "logits": lambda x, y: F.binary_cross_entropy_with_logits(x, y.sigmoid()),
        "logits_each": lambda x, y: F.binary_cross_entropy_with_logits(x * 30, y.sigmoid(), **each),
    }


@group
def cells():
    return {
        "lstm": lambda x, h, c, w, u, b: torch.lstm_cell(x, [h, c], w, u, b, b)[0],
        "lstm_state": lambda x, h, c, w, u, b: torch.lstm_cell(x, [h, c], w, u)[1],
        "gru": lambda x, h, c, w, u, b: torch.gru_cell(x, h, w[:18], u[:18], b[:18], b[:18]),
        "tanh": lambda x, h, c, w, u, b: torch.rnn_tanh_cell(x, h, w[:6], u[:6], b[:6], b[:6]),
        "relu": lambda x, h, c, w, u, b: torch.rnn_relu_cell(x, h, w[:6], u[:6]),
    }


@group
def norms():
    return {
        "batch_norm": lambda x, w, b: F.batch_norm(x, b, w, w, b), "plain": lambda x, w, b: F.batch_norm(x, b, w),
        "group_norm": lambda x, w, b: F.group_norm(x, 2, w, b), "instance_norm": lambda x, w, b: F.instance_norm(
            x, weight=w, bias=b),
        "bias_only": lambda x, w, b: F.layer_norm(x.transpose(1, 3), [4], None, b),
        "layer_norm": lambda x, w, b: F.layer_norm(x.transpose(1, 3), [4], w, b),
        "two_axes": lambda x, w, b: F.layer_norm(x, [6, 6], x[0, 0], x[0, 1]),
    }


@group
def products():
    return {
        "baddbmm": lambda a, b, c, v, w: torch.baddbmm(c, a, b, beta=0.3, alpha=0.7),
        "beta_0": lambda a, b, c, v, w: torch.baddbmm(c * math.inf, a, b, beta=0),
        "addmm": lambda a, b, c, v, w: torch.addmm(c[0], a[0], b[0]),
        "addmm_bias": lambda a, b, c, v, w: torch.addmm(w, a[0], b[0]),
        "vector": lambda a, b, c, v, w: a @ v, "vector_first": lambda a, b, c, v, w: v @ b,
        "mv": lambda a, b, c, v, w: torch.mv(a[0], v), "dot": lambda a, b, c, v, w: torch.dot(v, v * 2),
        "einsum": lambda a, b, c, v, w: torch.einsum("bij,bjK->bKi", a, b),
    }


@group
def images():
    return {
        "conv": lambda x, w, b, d, t, g: F.conv2d(x, w, b),
        "conv_padded": lambda x, w, b, d, t, g: F.conv2d(x, w, b, stride=2, padding=1),
        "dilated": lambda x, w, b, d, t, g: F.conv2d(x, w, dilation=2),
        "same": lambda x, w, b, d, t, g: F.conv2d(x, w, b, padding="same"),
        "patches": lambda x, w, b, d, t, g: F.conv2d(x, w, b, stride=3),
        "depthwise": lambda x, w, b, d, t, g: F.conv2d(x, d, b[:4], padding=1, groups=4),
        "from_bias": lambda x, w, b, d, t, g: F.conv2d(x, d, b[:4] * 1000, padding=1, groups=4),
        "groups": lambda x, w, b, d, t, g: F.conv2d(x, g, b, stride=(2, 1), groups=2),
        "transposed": lambda x, w, b, d, t, g: F.conv_transpose2d(x, t, b[:3], stride=2),
        "max_pool": lambda x, w, b, d, t, g: F.max_pool2d(x - 9, 3, 2, 1),
        "max_pool_2": lambda x, w, b, d, t, g: F.max_pool2d(x, 2),
        "avg_pool": lambda x, w, b, d, t, g: F.avg_pool2d(x, 3, 2),
        "avg_padded": lambda x, w, b, d, t, g: F.avg_pool2d(x, 3, 1, 1),
        "avg_inside": lambda x, w, b, d, t, g: F.avg_pool2d(x, 3, 1, 1, count_include_pad=False),
        "adaptive": lambda x, w, b, d, t, g: F.adaptive_avg_pool2d(x, 1),
        "adaptive_3": lambda x, w, b, d, t, g: F.adaptive_avg_pool2d(x, (3, 4)),
        "upsample": lambda x, w, b, d, t, g: F.interpolate(x, scale_factor=2),
    }


@group
def sequences():
    return {
        "conv": lambda x, w, b, d: F.conv1d(x, w, b, padding=1),
        "causal": lambda x, w, b, d: F.conv1d(x, d, padding=3, groups=4)[..., :15],
        "strided": lambda x, w, b, d: F.conv1d(x, w, stride=2), "average": lambda x, w, b, d: F.avg_pool1d(x, 3),
        "largest": lambda x, w, b, d: F.max_pool1d(x, 3, 2), "adaptive": lambda x, w, b, d: F.adaptive_avg_pool1d(x, 5),
        "volume": lambda x, w, b, d: F.conv3d(x.view(2, 4, 3, 5, 1), w.view(6, 4, 3, 1, 1), b),
    }
