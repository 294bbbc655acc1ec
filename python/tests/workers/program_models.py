"""Small models with random weights, in the ways that models of libraries are written, for tests of the import of .pt2.

MODELS maps a name to a function that returns a module and the inputs that it is exported with.
"""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCABULARY, WIDTH, HEADS, LENGTH = 50, 32, 4, 7
DEPTH = WIDTH // HEADS
MODELS = {}


def model(function):
    MODELS[function.__name__] = function
    return function


def token_ids():
    return torch.arange(2 * LENGTH).view(2, LENGTH).mul(11).remainder(VOCABULARY)


def heads(x):
    return x.view(*x.shape[:2], HEADS, -1).transpose(1, 2)


def joined(x):
    return x.transpose(1, 2).contiguous().view(x.shape[0], x.shape[2], -1)


class Gpt2(nn.Module):
    """One projection for q, k and v, a causal mask in a buffer, learned positions, and the weights of the table."""

    def __init__(self):
        super().__init__()
        self.table, self.positions = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(16, WIDTH)
        self.before, self.after, self.last = (nn.LayerNorm(WIDTH) for _ in range(3))
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.register_buffer("shown", torch.tril(torch.ones(16, 16, dtype=torch.bool)).view(1, 1, 16, 16))

    def attend(self, x):
        q, k, v = (heads(part) for part in self.qkv(x).split(WIDTH, dim=2))
        scores = torch.matmul(q, k.transpose(-1, -2)) / torch.full([], math.sqrt(DEPTH))
        length = x.shape[1]
        lowest = torch.full([], torch.finfo(scores.dtype).min)
        scores = torch.where(self.shown[:, :, :length, :length], scores, lowest)
        return self.out(joined(torch.matmul(scores.softmax(-1), v)))

    def new_gelu(self, x):
        return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))

    def forward(self, tokens):
        tokens = tokens.view(-1, tokens.shape[-1])
        where = torch.arange(tokens.shape[1], dtype=torch.long, device=tokens.device).unsqueeze(0)
        x = self.table(tokens) + self.positions(where)
        x = x + self.attend(self.before(x))
        x = x + self.down(self.new_gelu(self.up(self.after(x))))
        return F.linear(self.last(x), self.table.weight)


@model
def gpt2():
    return Gpt2(), (token_ids(),)


class RmsNorm(nn.Module):
    """Computes in f32, as those of Llama do."""

    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width) + 0.5)

    def forward(self, x):
        dtype = x.dtype
        x = x.to(torch.float32)
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
        return self.weight * x.to(dtype)


def rotary_angles(length, width):
    frequencies = 1.0 / 10000 ** (torch.arange(0, width, 2, dtype=torch.int64).float() / width)
    angles = torch.arange(length)[:, None].float() * frequencies[None, :]
    return torch.cat((angles, angles), -1)


def rotated(x, cos, sin):
    a, b = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2:]
    return x * cos + torch.cat((-b, a), dim=-1) * sin


class Llama(nn.Module):
    """Rotary positions, fewer heads of keys, RMS norms, a gated MLP and an additive mask that is filled with triu."""

    def __init__(self, dtype=torch.float32):
        super().__init__()
        self.table = nn.Embedding(VOCABULARY, WIDTH)
        self.q, self.k, self.v = (nn.Linear(WIDTH, width, bias=False) for width in (WIDTH, WIDTH // 2, WIDTH // 2))
        self.o, self.gate, self.up = (nn.Linear(WIDTH, width, bias=False) for width in (WIDTH, 64, 64))
        self.down, self.head = nn.Linear(64, WIDTH, bias=False), nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.before, self.after, self.last = (RmsNorm(WIDTH) for _ in range(3))
        self.to(dtype)

    def attend(self, x, mask):
        q, k, v = (layer(x).view(*x.shape[:2], -1, DEPTH).transpose(1, 2) for layer in (self.q, self.k, self.v))
        angles = rotary_angles(x.shape[1], DEPTH)
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        q, k = rotated(q, cos, sin), rotated(k, cos, sin)
        k, v = (part[:, :, None].expand(-1, -1, 2, -1, -1).reshape(q.shape) for part in (k, v))
        scores = torch.matmul(q, k.transpose(2, 3)) * DEPTH**-0.5 + mask
        return self.o(joined(F.softmax(scores, dim=-1, dtype=torch.float32).to(q.dtype) @ v))

    def forward(self, tokens):
        x, length = self.table(tokens), tokens.shape[1]
        mask = torch.full((length, length), torch.finfo(x.dtype).min, dtype=x.dtype)
        mask = torch.triu(mask, diagonal=1)[None, None].expand(tokens.shape[0], 1, -1, -1)
        x = x + self.attend(self.before(x), mask)
        y = self.after(x)
        x = x + self.down(F.silu(self.gate(y)) * self.up(y))
        return self.head(self.last(x))


@model
def llama():
    return Llama(), (token_ids(),)


@model
def llama_bf16():
    return Llama(torch.bfloat16), (token_ids(),)


class DeepSeekAttention(nn.Module):
    """Low-rank q and keys, whose parts with and without positions have different widths: splits into unequal parts."""

    def __init__(self, plain=8, rotary=4, values=6, rank=12):
        super().__init__()
        self.plain, self.rotary, self.values, self.rank = plain, rotary, values, rank
        self.q_a, self.q_norm = nn.Linear(WIDTH, rank, bias=False), RmsNorm(rank)
        self.q_b = nn.Linear(rank, HEADS * (plain + rotary), bias=False)
        self.kv_a, self.kv_norm = nn.Linear(WIDTH, rank + rotary, bias=False), RmsNorm(rank)
        self.kv_b = nn.Linear(rank, HEADS * (plain + values), bias=False)
        self.out = nn.Linear(HEADS * values, WIDTH, bias=False)

    def forward(self, x):
        angles = rotary_angles(x.shape[1], self.rotary)
        q_plain, q_rotary = torch.split(heads(self.q_b(self.q_norm(self.q_a(x)))), [self.plain, self.rotary], dim=-1)
        compressed, k_rotary = torch.split(self.kv_a(x), [self.rank, self.rotary], dim=-1)
        k_plain, v = torch.split(heads(self.kv_b(self.kv_norm(compressed))), [self.plain, self.values], dim=-1)
        k_rotary = rotated(k_rotary[:, None], angles.cos(), angles.sin()).expand(-1, HEADS, -1, -1)
        q = torch.cat((q_plain, rotated(q_rotary, angles.cos(), angles.sin())), -1)
        k = torch.cat((k_plain, k_rotary), -1)
        v = F.pad(v, [0, self.plain + self.rotary - self.values])
        made = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(joined(made[..., : self.values]))


@model
def deepseek_attention():
    return DeepSeekAttention(), (torch.randn(2, LENGTH, WIDTH),)


class Bert(nn.Module):
    """Segments, a mask of integers that becomes an additive one, and a pooled first token."""

    def __init__(self):
        super().__init__()
        self.table, self.segments = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(2, WIDTH)
        self.positions = nn.Embedding(16, WIDTH)
        self.register_buffer("position_ids", torch.arange(16).expand((1, -1)))
        self.first, self.middle, self.last = (nn.LayerNorm(WIDTH, eps=1e-12) for _ in range(3))
        self.q, self.k, self.v, self.out, self.pool = (nn.Linear(WIDTH, WIDTH) for _ in range(5))
        self.up, self.down = nn.Linear(WIDTH, 64), nn.Linear(64, WIDTH)

    def attend(self, x, mask):
        q, k, v = (heads(layer(x)) for layer in (self.q, self.k, self.v))
        scores = q @ k.transpose(-1, -2) / math.sqrt(DEPTH) + mask
        return self.out(joined(scores.softmax(-1) @ v))

    def forward(self, tokens, mask):
        where = self.position_ids[:, : tokens.shape[1]]
        x = self.table(tokens) + self.segments(torch.zeros_like(tokens)) + self.positions(where)
        x = self.first(x)
        added = (1.0 - mask[:, None, None, :].to(x.dtype)) * torch.finfo(x.dtype).min
        x = self.middle(x + self.attend(x, added))
        x = self.last(x + self.down(F.gelu(self.up(x))))
        return x, torch.tanh(self.pool(x[:, 0]))


@model
def bert():
    mask = torch.ones(2, LENGTH, dtype=torch.int64)
    mask[1, 5:] = 0
    return Bert(), (token_ids(), mask)


class Vit(nn.Module):
    """Patches by a convolution, a token of the class, and attention of several heads from torch.nn."""

    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, WIDTH, 4, stride=4)
        self.first = nn.Parameter(torch.randn(1, 1, WIDTH))
        self.positions = nn.Parameter(torch.randn(1, 5, WIDTH))
        self.norm, self.last = nn.LayerNorm(WIDTH, eps=1e-6), nn.LayerNorm(WIDTH, eps=1e-6)
        self.attention = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 64), nn.GELU(), nn.Dropout(0.1), nn.Linear(64, WIDTH))
        self.head = nn.Linear(WIDTH, 10)

    def forward(self, image):
        x = self.patches(image).flatten(2).transpose(1, 2)
        x = torch.cat((self.first.expand(x.shape[0], -1, -1), x), dim=1) + self.positions
        y = self.norm(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        x = x + self.mlp(self.last(x))
        return self.head(x[:, 0])


@model
def vit():
    return Vit(), (torch.randn(2, 3, 8, 8),)


class T5(nn.Module):
    """Relative positions in buckets, attention without a scale, and an encoder that a decoder attends to."""

    def __init__(self):
        super().__init__()
        self.table, self.bias = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(8, HEADS)
        self.norms = nn.ModuleList(RmsNorm(WIDTH) for _ in range(3))
        self.layers = nn.ModuleList(nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(8))
        self.up, self.down = nn.Linear(WIDTH, 64, bias=False), nn.Linear(64, WIDTH, bias=False)

    def buckets(self, length):
        distance = torch.arange(length)[None, :] - torch.arange(length)[:, None]
        side = (distance > 0).to(torch.long) * 4
        distance = torch.abs(distance)
        far = 2 + (torch.log(distance.float() / 2) / math.log(8) * 2).to(torch.long)
        far = torch.min(far, torch.full_like(far, 3))
        return side + torch.where(distance < 2, distance, far)

    def attend(self, layers, x, kept, bias):
        q, k, v = heads(layers[0](x)), heads(layers[1](kept)), heads(layers[2](kept))
        scores = torch.matmul(q, k.transpose(3, 2))
        scores = scores if bias is None else scores + bias
        return layers[3](joined(F.softmax(scores.float(), dim=-1).type_as(scores) @ v))

    def forward(self, tokens, targets):
        x = self.table(tokens)
        bias = self.bias(self.buckets(tokens.shape[1])).permute([2, 0, 1]).unsqueeze(0)
        x = x + self.attend(self.layers[:4], self.norms[0](x), self.norms[0](x), bias)
        x = x + self.down(F.relu(self.up(self.norms[1](x))))
        y = self.table(targets)
        y = y + self.attend(self.layers[4:], self.norms[2](y), x, None)
        return F.linear(y * WIDTH**-0.5, self.table.weight)


@model
def t5():
    return T5(), (token_ids(), token_ids().flip(1)[:, :5])


class Mixer(nn.Module):
    """Gates over experts, a running sum, clamped logits, and reductions of integers."""

    def __init__(self):
        super().__init__()
        self.gate, self.up = nn.Linear(WIDTH, 4, bias=False), nn.Linear(WIDTH, WIDTH)

    def forward(self, x, lengths):
        weights, chosen = torch.topk(self.gate(x).softmax(-1), 2, dim=-1)
        weights = weights / weights.sum(-1, keepdim=True)
        made = self.up(x).abs().clamp(max=2.0) * weights[..., :1]
        shown = torch.arange(x.shape[1])[None, :] < lengths[:, None]
        last = lengths + 1 - 1
        made = made * shown.unsqueeze(-1).to(made.dtype)
        return torch.add(made, x, alpha=0.5), torch.cat([last]), chosen.sum(-1), made[:, :0]


@model
def mixer():
    return Mixer(), (torch.randn(2, LENGTH, WIDTH), torch.tensor([7, 4]))


class LongNames(nn.Module):
    """Names whose last 64 characters are equal."""

    def __init__(self):
        super().__init__()
        for name in ("first", "second"):
            layer = nn.Linear(WIDTH, WIDTH)
            for part in ("projection_of_the_residual_stream", "with_a_name_that_is_far_too_long"):
                layer = nn.ModuleDict({part: layer})
            self.add_module(name, layer)

    def forward(self, x):
        for name in ("first", "second"):
            layer = getattr(self, name)["with_a_name_that_is_far_too_long"]
            x = torch.tanh(layer["projection_of_the_residual_stream"](x))
        return x


@model
def long_names():
    return LongNames(), (torch.randn(2, WIDTH),)


class InPlace(nn.Module):
    """A write into a value, or into a view of it, changes what is read later by any name."""

    def __init__(self, write):
        super().__init__()
        self.write = write
        self.weight = nn.Parameter(torch.randn(8, 8))
        self.register_buffer("cache", torch.zeros(4, 8))

    def forward(self, x):
        return self.write(self, x)


def in_place(write):
    MODELS[write.__name__] = lambda: (InPlace(write), (torch.randn(4, 8),))


@in_place
def write_to_column(module, x):
    y = x.clone()
    y[:, 0] = 0
    return y @ module.weight


@in_place
def write_to_rows(module, x):
    y = x.relu()
    y[1:3] = x[:2] * 2
    return y @ module.weight


@in_place
def copy_into_view(module, x):
    y = x * 2
    part = y.view(2, 2, 8)[0]
    before = y @ module.weight
    part.copy_(x[2:])
    return before, y @ module.weight, part.exp()


@in_place
def add_to_view(module, x):
    y = x + 1
    turned = y.t()
    turned[2:5].add_(3.0, alpha=0.5)
    return turned @ x, y.sigmoid()


@in_place
def put_by_index(module, x):
    y = x.tanh()
    y.index_put_((torch.tensor([0, 2]), torch.tensor([1, 1])), torch.tensor([5.0, 6.0]))
    return y @ module.weight


@in_place
def relu_and_mul_in_place(module, x):
    y = x @ module.weight
    z = y.view(-1)
    F.relu(y, inplace=True)
    y.mul_(2.0)
    F.silu(y, inplace=True)
    return z.exp(), y + x


@in_place
def masked_fill_in_place(module, x):
    y = x @ module.weight
    y.masked_fill_(x > 0.5, -1.0)
    return y.softmax(-1)


@in_place
def write_to_buffer(module, x):
    module.cache[1:3] = x[:2]
    module.cache.mul_(0.5)
    return module.cache @ module.weight


@in_place
def write_to_input(module, x):
    y = x * 3
    x[0] = 1.0
    return x @ module.weight + y
