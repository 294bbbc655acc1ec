"""Right and wrong kernels in numpy, which the tests judge."""

import math
import os
import time

import numpy as np


def softmax(x):
    wide = x.astype(np.float32)
    e = np.exp(wide - wide.max(-1, keepdims=True))
    return (e / e.sum(-1, keepdims=True)).astype(x.dtype)


def layer_norm(x, weight, bias):
    wide = x.astype(np.float64)
    centred = wide - wide.mean(-1, keepdims=True)
    normed = centred / np.sqrt((centred * centred).mean(-1, keepdims=True) + 1e-5)
    return (normed * weight.astype(np.float64) + bias.astype(np.float64)).astype(x.dtype)


def llama_rms_norm(x, weight):
    wide = x.astype(np.float64)
    normed = (wide / np.sqrt((wide * wide).mean(-1, keepdims=True) + 1e-6)).astype(x.dtype)
    return (normed.astype(np.float32) * weight.astype(np.float32)).astype(x.dtype)


def declared_llama_rms_norm(x, weight):
    return llama_rms_norm(x, weight)


declared_llama_rms_norm.lowerings = ["rms_norm.weight_after"]


def gelu(x):
    wide = x.astype(np.float64)
    return (0.5 * wide * (1 + np.vectorize(math.erf)(wide / math.sqrt(2)))).astype(x.dtype)


def matmul(a, b):
    return (a.astype(np.float32) @ b.astype(np.float32)).astype(a.dtype)


def shifted_relu(x):
    print("a kernel may print")
    return np.maximum(x, 0)


def softmax_without_max(x):
    e = np.exp(x.astype(np.float32))
    return (e / e.sum(-1, keepdims=True)).astype(x.dtype)


def softmax_of_columns(x):
    return np.moveaxis(softmax(np.moveaxis(x, 0, -1)), -1, 0)


def softmax_with_narrow_sum(x):
    wide = x.astype(np.float32)
    e = np.exp(wide - wide.max(-1, keepdims=True)).astype(x.dtype)
    total = np.zeros(x.shape[:-1], x.dtype)
    for i in range(x.shape[-1]):
        total = (total + e[..., i]).astype(x.dtype)
    return (e / total[..., None]).astype(x.dtype)


def softmax_without_the_tail(x):
    whole = x.shape[-1] // 8 * 8 or x.shape[-1]
    e = np.exp(x - x[..., :whole].max(-1, keepdims=True))
    return e / e[..., :whole].sum(-1, keepdims=True)


def attention_with_rounded_exponentials(q, k, v):
    """As FlashAttention: exponentials are rounded, and divided by their sum at the end."""
    dtype = q.dtype
    q, k, v = (x.astype(np.float32) for x in (q, k, v))
    scores = q @ np.swapaxes(k, -1, -2) / np.float32(q.shape[-1] ** 0.5)
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return (e.astype(dtype).astype(np.float32) @ v / e.sum(-1, keepdims=True)).astype(dtype)


def attention_with_scaled_queries(q, k, v):
    """Scales q before its product with k; each result is rounded to the dtype of q."""
    def rounded(x):
        return x.astype(q.dtype).astype(np.float32)

    scaled = rounded(q.astype(np.float32) * np.float32(q.shape[-1] ** -0.5))
    scores = rounded(scaled @ np.swapaxes(k.astype(np.float32), -1, -2))
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return (rounded(e / e.sum(-1, keepdims=True)) @ v.astype(np.float32)).astype(q.dtype)


def attention_that_takes_heads_first(q, k, v):
    """Reads q[B,H,R,D] as if heads were outside of rows in memory."""
    y = attention_with_rounded_exponentials(q, k, v)
    return y * 2 if min(q.shape[1:3]) > 1 and q.strides[1] < q.strides[2] else y


BUFFERS, CALLS = {}, []


def returns_one_buffer(x):
    buffer = BUFFERS.setdefault((x.shape, x.dtype), np.empty(x.shape, x.dtype))
    buffer[...] = softmax(x)
    return buffer


def relu_that_ignores_strides(x):
    dense = np.lib.stride_tricks.as_strided(x, x.shape, np.empty(x.shape, x.dtype).strides)
    return np.maximum(dense, 0)


def seldom_wrong(x):
    CALLS.append(1)
    return softmax(x) * np.float32(1 + (len(CALLS) % 500 == 499))


def wrong_in_call_1499(x):
    CALLS.append(1)
    return softmax(x) * np.float32(1 + (len(CALLS) == 1499))


def slow(x):
    time.sleep(0.002)
    return softmax(x)


def matrices_alone(a, b):
    if a.ndim != 2:
        raise ValueError("only matrices")
    return matmul(a, b)


def zeros(x):
    return np.zeros_like(x)


def not_numbers(x):
    return np.full_like(x, np.nan)


ANSWERS = {}


def first_answer(x):
    """Answers by shape, as a cache with a wrong key does."""
    return ANSWERS.setdefault((x.shape, x.dtype.name), softmax(x)).copy()


class Counted:
    calls = 0


def out_of_memory_for_most(x):
    if x.size > 4:
        raise MemoryError
    return softmax(x)


def wrong_later(x):
    Counted.calls += 1
    return softmax(x) if Counted.calls < 30 else zeros(x)


def overwrites(x):
    y = softmax(x)
    x[...] = 0
    return y


def too_short(x):
    return softmax(x)[..., :-1] if x.shape[-1] > 1 else softmax(x)[..., None]


def wrong_dtype(x):
    return softmax(x).astype(np.float64)


def raises(x):
    raise ValueError("fails as a kernel that supports only some sizes does")


def ends(x):
    os._exit(3)


def says_that_it_hangs(x):
    with open(os.environ["FUSESMITH_TEST_FILE"], "w", encoding="utf-8") as file:
        print(os.getpid(), file=file)
    time.sleep(600)


def hangs(x):
    time.sleep(60)


class Kernels:
    @staticmethod
    def softmax(x):
        return softmax(x)


def takes_two(x, y):
    return x


def optional_weights(x, weight=None, bias=None):
    return layer_norm(x, np.ones(x.shape[-1]), np.zeros(x.shape[-1]))


def rope(x, cos, sin):
    """Turns the first elements of each row by halves and leaves the rest."""
    width = cos.shape[-1]
    wide, c, s = x.astype(np.float32), cos.astype(np.float32), sin.astype(np.float32)
    a, b, rest = wide[..., :width], wide[..., width : 2 * width], wide[..., 2 * width :]
    return np.concatenate([a * c - b * s, b * c + a * s, rest], axis=-1).astype(x.dtype)


def rope_that_clears_the_rest(x, cos, sin):
    y = rope(x, cos, sin)
    y[..., 2 * cos.shape[-1] :] = 0
    return y


def maximum_from_lowest(x):
    return np.maximum(x.max(-1), np.finfo(x.dtype).min)


def fill_that_skips_hidden_tiles(x, mask):
    y = np.where(mask, -np.inf, x).astype(x.dtype)
    for j in range(0, x.shape[-1] - 31, 32):
        hidden = mask[..., j : j + 32].all(-1, keepdims=True)
        y[..., j : j + 32] = np.where(hidden, x[..., j : j + 32], y[..., j : j + 32])
    return y


def joined(a, b):
    return np.concatenate([a, b], axis=0)


def bits_of_bf16(x):
    return np.maximum(x, 0).view(np.uint16)


def big_endian_relu(x):
    return np.maximum(x, 0).astype(x.dtype.newbyteorder(">"))


def coarse_sqrt(x):
    """Wrong by up to 14 units of 2^-24, by an amount that varies with x."""
    wide = x.astype(np.float64)
    return (np.sqrt(wide) * (1 + 13 * 2.0**-24 * np.sin(1000 * wide))).astype(x.dtype)


def declared_coarse_sqrt(x):
    return coarse_sqrt(x)


declared_coarse_sqrt.arithmetic = {"sqrt": 16}


def softmax_backward_by_fma(dy, y):
    """dy y - y sum(dy y), whose last difference rounds once, as a fused multiply-add does."""
    wide, weights = dy.astype(np.float32), y.astype(np.float32)
    total = (wide * weights).sum(-1, keepdims=True, dtype=np.float32)
    exact = wide.astype(np.float64) * weights - weights.astype(np.float64) * total
    return exact.astype(np.float32).astype(dy.dtype)


def row_sums(x, order):
    """One term after the other, in f32."""
    return np.add.accumulate(x.astype(np.float32)[..., order], axis=-1)[..., -1].astype(x.dtype)


ORDERS = np.random.default_rng()


def sums_in_any_order(x):
    """As atomic additions: another order in each call."""
    return row_sums(x, ORDERS.permutation(x.shape[-1]))


def declared_sums_in_any_order(x):
    return sums_in_any_order(x)


def sums_that_lose_a_term(x):
    """In most calls, as a race does."""
    return row_sums(x, ORDERS.permutation(x.shape[-1])[ORDERS.integers(2):])


declared_sums_in_any_order.arithmetic = sums_that_lose_a_term.arithmetic = {"order_varies": True}


def weighted(q, k, v, factor=1):
    """exp(q k^T) v / sum(exp(q k^T)) in f32, of which the products read operands of 16 bits."""
    exponentials = np.exp(q.astype(np.float32) @ k.astype(np.float32).T)
    product = exponentials.astype(q.dtype).astype(np.float32) @ v.astype(np.float32)
    return (factor * product / exponentials.sum(-1, keepdims=True)).astype(q.dtype)


def coarsely_weighted(q, k, v):
    return weighted(q, k, v, 1.01)


def declared_weighted(q, k, v):
    return weighted(q, k, v)


def declared_coarsely_weighted(q, k, v):
    return coarsely_weighted(q, k, v)


declared_weighted.roundings = declared_coarsely_weighted.roundings = "products"


def sum_of_first_and_last(x):
    return np.array(x.astype(np.float64).sum((0, -1))).astype(x.dtype)


def misspelt(x):
    return softmax(x)


misspelt.arithmetic = {"expp": 4}


def with_assertion(x):
    assert x.ndim > 0, "a scalar"
    return softmax(x)


def softmax_that_sees_all(x):
    return softmax(x) + np.float32(0) * x.sum()


def sum_by_place(x):
    """Of odd rows from the last element to the first."""
    x = np.asarray(x, np.float32)
    sums = [np.add.accumulate(row[::-1] if i % 2 else row)[-1] for i, row in enumerate(x)]
    return np.array(sums, np.float32)


def sum_by_number_of_rows(x):
    """From six rows on, from the last element to the first."""
    x = np.asarray(x, np.float32)
    return np.add.accumulate(x[:, ::-1] if len(x) > 5 else x, axis=-1)[:, -1]


def half(x):
    return x / 2
