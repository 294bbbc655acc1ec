"""Facts about eager PyTorch on the CPU: one function per row (scripts/studies/gallery_facts).

Each function returns whether the sentence of its row is true here, and the figures. What is expected is computed with
NumPy or Python's math in f64, and rounded once.
"""

import math

import numpy as np
import torch
import torch.nn.functional as F

INF = math.inf


def draw(*shape, dtype=torch.float32, seed=0, deviation=1.0):
    made = np.random.default_rng(seed).standard_normal(shape) * deviation
    return torch.from_numpy(made.astype(np.float32)).to(dtype)


def f64(tensor):
    return tensor.double().numpy()


def to(dtype, array):
    """f64, rounded once to a dtype of 16 bits: f32 in between, to odd, so that it does not round twice."""
    array = np.asarray(array, np.float64)
    near = array.astype(np.float32)
    inexact, even = near.astype(np.float64) != array, near.view(np.uint32) % 2 == 0
    other = np.nextafter(near, np.where(array > near, INF, -INF).astype(np.float32))
    return f64(torch.from_numpy(np.where(inexact & even, other, near)).to(dtype))


def share(wrong):
    return f"{100 * np.mean(wrong):.2g} %"


def torch_sqrt_f32():
    x = np.arange(0x3F800000, 0x40800000, dtype=np.uint32).view(np.float32)
    wrong = torch.sqrt(torch.from_numpy(x)).numpy() != np.sqrt(x.astype(np.float64)).astype(np.float32)
    return bool(wrong.any()), f"{share(wrong)} of all f32 in [1, 4) are not correctly rounded"


def torch_rsqrt_bf16():
    found = {}
    for count in (32, 40):
        x = torch.abs(draw(200, count)).add(0.01).bfloat16()
        got = np.stack([f64(torch.rsqrt(row.clone())) for row in x])
        once = to(torch.bfloat16, 1 / np.sqrt(f64(x)))
        twice = to(torch.bfloat16, 1 / to(torch.bfloat16, np.sqrt(f64(x))))
        found[count] = (got != once).mean(0), (got == twice).all(0)
    right = not found[32][0].any() and not found[40][0][:32].any()
    holds = right and found[40][0][32:].all() and found[40][1][32:].all()
    return bool(holds), f"of 40 elements, the last 8 equal 1 / bf16(sqrt(x)), and {share(found[40][0][32:])} are wrong"


def torch_softmax_bf16():
    wrong = {}
    for columns in (64, 8):
        x = draw(64, columns, dtype=torch.bfloat16, deviation=1.0)
        weights = np.exp(f64(x) - f64(x).max(0))
        exact = to(torch.bfloat16, weights / weights.sum(0))
        wrong[columns] = f64(torch.softmax(x, 0)) != exact
    rounded = to(torch.bfloat16, weights)
    same = f64(torch.softmax(x, 0)) == to(torch.bfloat16, rounded / rounded.sum(0))
    text = (f"not correctly rounded: {share(wrong[64])} with 64 columns, {share(wrong[8])} with 8, of which "
            f"{share(same)} equal a softmax with exponentials rounded to bf16")
    return bool(wrong[64].mean() < 0.01 and wrong[8].mean() > 0.1 and same.mean() > 0.9), text


def torch_logsumexp_f16():
    def half(array):
        return to(torch.float16, array)

    x = draw(500, 2, dtype=torch.float16)
    got = f64(torch.stack([torch.logsumexp(row, 0) for row in x]))
    wide = f64(x)
    top = wide.max(1)
    steps = half(half(np.log(half(half(np.exp(half(wide - top[:, None]))).sum(1)))) + top)
    wrong = got != half(np.logaddexp(wide[:, 0], wide[:, 1]))
    text = f"all of 500 equal rounding after each step; {share(wrong)} are wrong"
    return bool((got == steps).all() and wrong.any()), text


def torch_einsum_bf16():
    same, wrong = [], []
    for seed in range(200):
        x, y = draw(1, 2, dtype=torch.bfloat16, seed=seed), draw(2, 2, 2, dtype=torch.bfloat16, seed=1000 + seed)
        got = f64(torch.einsum("id,dhw->ih", x, y))
        first = to(torch.bfloat16, f64(y).sum(-1))
        same.append((got == to(torch.bfloat16, f64(x) @ first)).all())
        wrong.append((got != to(torch.bfloat16, np.einsum("id,dhw->ih", f64(x), f64(y)))).any())
    return bool(np.all(same) and np.any(wrong)), f"all of 200 equal x @ bf16(y.sum(-1)); {share(wrong)} are wrong"


def torch_linear_bf16():
    found = {}
    for permuted in (False, True):
        once, twice = [], []
        for seed in range(200):
            x = draw(2, 2, 1, dtype=torch.bfloat16, seed=seed).permute(1, 2, 0)
            weight = draw(1, 2, dtype=torch.bfloat16, seed=seed + 1000)
            bias = draw(1, dtype=torch.bfloat16, seed=seed + 2000)
            got = f64(F.linear(x if permuted else x.contiguous(), weight, bias))
            product = f64(x) @ f64(weight).T
            once.append((got == to(torch.bfloat16, product + f64(bias))).all())
            twice.append((got == to(torch.bfloat16, to(torch.bfloat16, product) + f64(bias))).all())
        found[permuted] = np.mean(once), np.mean(twice)
    right = [f"{100 * found[permuted][0]:.0f} %" for permuted in (False, True)]
    text = f"correctly rounded in {right[0]} with a contiguous input, in {right[1]} with a permuted one"
    return bool(found[False][0] == 1 and found[True][1] == 1 and found[True][0] < 1), text


def norm_of_one_value(normalize, dtype):
    """Results where every element is the mean, whose norm is 0."""
    return f64(torch.cat([normalize(x.reshape(1, 1, 1)).flatten() for x in draw(500, dtype=dtype)]))


def torch_layer_norm_f16():
    got = norm_of_one_value(lambda x: F.layer_norm(x, (1,)), torch.float16)
    x, scale = f64(draw(500, dtype=torch.float16)), np.float64(np.float32(1 / np.sqrt(np.float32(1e-5))))
    shift = np.float32(x * scale).astype(np.float64)
    fused = to(torch.float16, np.float32(x * scale - shift))
    text = (f"{share(got != 0)} of rows of one element are not 0, at most {abs(got).max():.2g}; all equal "
            "fma(x, rstd, -mean * rstd)")
    return bool((got == fused).all() and (got != 0).any()), text


def torch_layer_norm_backward_bf16():
    def gradient_of_bias(rows, dtype):
        x, weight, bias = (torch.ones(size, dtype=dtype).requires_grad_() for size in ((rows, 2), 2, 2))
        return torch.autograd.grad(F.layer_norm(x, (2,), weight, bias).sum(), bias)[0][0].item()

    threads, narrow = torch.get_num_threads(), gradient_of_bias(1 << 17, torch.bfloat16)
    few, wide = gradient_of_bias(4096, torch.bfloat16), gradient_of_bias(1 << 17, torch.float32)
    text = f"131,072 rows of ones: {narrow:g} with {threads} threads, in f32 {wide:g}; 4,096 rows: {few:g}"
    return narrow <= 256 * threads and few == min(4096, 256 * threads), text


def torch_group_norm_bf16():
    one = torch.ones(1, dtype=torch.bfloat16)
    got = norm_of_one_value(lambda x: F.group_norm(x.expand(1, 1, 8), 1, one), torch.bfloat16)
    plain = norm_of_one_value(lambda x: F.group_norm(x.expand(1, 1, 8), 1), torch.bfloat16)
    text = (f"of constant groups, {share(got != 0)} are not 0 with a weight, at most {abs(got).max():.2g}; without "
            f"weight {share(plain != 0)}")
    return bool((got != 0).mean() > 0.5 and not plain.any() and abs(got).max() < 1e-4), text


def torch_layer_norm_of_one_element():
    def is_nan(value, count):
        return bool(F.layer_norm(torch.full((1, count), value), (count,)).isnan().any())

    below = float(np.nextafter(np.float32(2**64), np.float32(0)))
    counts = [count for count in range(1, 65) if is_nan(2.0**64, count)]
    holds = counts == [*range(1, 9), *range(16, 65, 8)] and not any(is_nan(below, count) for count in range(1, 65))
    return holds, f"constant rows of 2^64 give NaN with {counts} elements; those of the number below 2^64 do not"


def torch_gelu_of_infinity():
    nans = {count: int(F.gelu(torch.full((count,), INF)).isnan().sum()) for count in (1, 2, 16, 33)}
    return all(nans[count] == count for count in (2, 16, 33)) and not nans[1], f"elements: NaNs {nans}"


def torch_gelu_of_transposed():
    x = draw(200, 2, deviation=0.05)
    exact = np.vectorize(lambda v: v / 2 * (1 + math.erf(v / math.sqrt(2))))(f64(x.t()))
    units = [float((abs(f64(F.gelu(t)) - exact) / abs(exact)).max() * 2**24) for t in (x.t().contiguous(), x.t())]
    return units[0] < 3 < units[1], f"largest relative error: {units[0]:.1f} units of 2^-24, transposed {units[1]:.1f}"


def torch_var_mean_of_infinity():
    def mean(*values):
        return torch.var_mean(torch.tensor(values), 0)[1].item()

    first, last = mean(INF, 0.0, 0.0), mean(0.0, 0.0, INF)
    return math.isnan(first) and last == INF, f"mean of (inf, 0, 0) is {first}, of (0, 0, inf) {last}"


FACTS = {function.__name__: function for function in (
    torch_einsum_bf16, torch_gelu_of_infinity, torch_gelu_of_transposed,
    torch_group_norm_bf16, torch_layer_norm_backward_bf16, torch_layer_norm_f16,
    torch_layer_norm_of_one_element, torch_linear_bf16, torch_logsumexp_f16, torch_rsqrt_bf16, torch_softmax_bf16,
    torch_sqrt_f32, torch_var_mean_of_infinity)}
