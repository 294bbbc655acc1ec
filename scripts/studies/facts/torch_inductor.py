"""Facts about torch.compile on the CPU: one function per row (scripts/studies/gallery_facts).

Each compares the compiled function with the same ops in f64, which torch.compile does not see.
"""

import numpy as np
import torch
import torch.nn.functional as F


def draw(*shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape).astype(np.float32))


def compiled(function, *operands):
    torch._dynamo.reset()
    with torch.no_grad():
        return torch.compile(function)(*operands)


def far(function, *operands, least=0.05):
    """Whether the compiled result is far from the one in f64, while the eager one is near."""
    exact = function(*(x.double() if x.is_floating_point() else x for x in operands))
    made = compiled(function, *operands), function(*operands)
    wrong, eager = ((result.double() - exact).abs().max().item() for result in made)
    return wrong > least > eager, f"largest error {wrong:.2g}, that of eager PyTorch {eager:.2g}"


def heads(*shape):
    return [draw(*shape, seed=seed) for seed in range(3)]


def torch_inductor_attention_divisor_f32():
    def attention(q, k, v, mask):
        return torch.softmax(q @ k.mT / 5.0 + mask, -1) @ v

    return far(attention, *heads(1, 1, 3, 8), draw(3, 3, seed=3))


def torch_inductor_attention_scale_f16():
    def attention(q, k, v):
        q, k, v = (x.permute(0, 2, 1, 3) for x in (q, k, v))
        return torch.softmax(q @ k.permute(0, 1, 3, 2) / 2, -1) @ v

    return far(attention, *(x.half() for x in heads(2, 4, 2, 8)))


def torch_inductor_attention_permuted_key_f32():
    return far(lambda q, k, v: torch.softmax(q @ k.permute(0, 1, 2, 3) * 0.5, -1) @ v, *heads(1, 2, 4, 4))


def torch_inductor_attention_softmax_axis_f32():
    return far(lambda q, k, v: torch.softmax(q @ k.mT * 0.5, -2) @ v, *heads(1, 2, 4, 4))


def torch_inductor_index_copy_f32():
    def scaled(x, rows, u):
        copied = x.index_copy(1, torch.arange(1, 2), rows) * 0.5
        return copied, copied + F.layer_norm(u, (32,))

    x, rows, u = draw(4, 3, 32), draw(4, 1, 32, seed=1), draw(4, 3, 32, seed=2)
    got, want = compiled(scaled, x, rows, u)[0], torch.cat([x[:, :1], rows, x[:, 2:]], 1) * 0.5
    stale = (got != want).sum().item()
    return stale > 0, f"{stale} of {want.numel()} elements of an exact product are wrong"


def torch_inductor_difference_from_max_f16():
    def below_maximum(x):
        y = F.layer_norm(x, x.shape[-1:])
        return y - y.amax(-1, keepdim=True)

    def scaled_below_maximum(x, scale):
        y = (x * scale).half()
        return y - y.amax(-1, keepdim=True)

    calls = (below_maximum, draw(4, 8).half()), (scaled_below_maximum, draw(4, 8), draw(4, 1, seed=1))
    dtypes = [(function(*x).dtype, compiled(function, *x).dtype) for function, *x in calls]
    text = f"eager and compiled dtypes after layer_norm {dtypes[0]}, after a product that is cast {dtypes[1]}"
    return all(pair == (torch.float16, torch.float32) for pair in dtypes), text


def torch_inductor_index_copy_beside_layer_norm():
    x, place = torch.zeros(2, 1, 8), torch.zeros(1, dtype=torch.int64)
    try:
        compiled(lambda x, place: (x.index_copy(1, place, x), F.layer_norm(x, (8,))), x, place)
    except Exception as error:
        message = str(error).partition("\n")[0]
        return "KeyError: 'buf" in message, message
    return False, "compiles"


def three_ways(function, *operands):
    """In f64: the exact, the eager and the compiled result."""
    exact = function(*(x.double() for x in operands))
    return exact.numpy(), function(*operands).double().numpy(), compiled(function, *operands).double().numpy()


def pytorch_118090_huber_l1():
    def loss(x, target, other):
        return (other - F.huber_loss(x, target)).abs()

    differ, largest = 0, 0.0
    for seed in range(5):
        x, target, other = (draw(7, 6, 6, 2, 5, seed=3 * seed + i) * 1e5 + 5e5 * (i > 0) for i in range(3))
        exact, eager, made = three_ways(loss, x, target, other)
        differ += bool((eager != made).any())
        largest = max(largest, abs(eager - exact).max(), abs(made - exact).max())
    bound = 2520 * 2.0**-24 * 1e6  # of any order of adding 2520 numbers, whose mean is below 1e6
    text = f"the losses differ for {differ} of 5 inputs; largest error of both {largest:.2g}, bound {bound:.2g}"
    return differ > 0 and largest < bound, text


def pytorch_159239_rope_bf16():
    def rope(q, cos, sin):
        half = q.shape[-1] // 2
        return q * cos + torch.cat((-q[..., half:], q[..., :half]), -1) * sin

    exact, eager, made = three_ways(rope, *(x.bfloat16() for x in (draw(2, 4, 16, 32), *heads(1, 1, 16, 32)[1:])))
    errors = [np.sqrt(np.mean((result - exact) ** 2)) for result in (eager, made)]
    text = f"differ by {abs(eager - made).max():.2g}; mean errors: eager {errors[0]:.2g}, compiled {errors[1]:.2g}"
    return bool((eager != made).any() and errors[1] < errors[0]), text


FACTS = {function.__name__: function for function in (
    pytorch_118090_huber_l1, pytorch_159239_rope_bf16,
    torch_inductor_attention_divisor_f32, torch_inductor_attention_permuted_key_f32, torch_inductor_attention_scale_f16,
    torch_inductor_attention_softmax_axis_f32, torch_inductor_difference_from_max_f16,
    torch_inductor_index_copy_beside_layer_norm, torch_inductor_index_copy_f32)}
