"""Facts about JAX on the CPU: one function per row of docs/results/gallery.json (scripts/studies/gallery_facts).

What is expected is known without JAX: literals, or NumPy in f64, rounded once.
"""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np

BF16 = ml_dtypes.bfloat16


def jax_attention_of_one_key_bf16():
    def compiles(dtype, keys):
        x = jnp.zeros((1, keys, 1, 8), dtype)
        try:
            jax.jit(jax.nn.dot_product_attention)(x, x, x).block_until_ready()
        except Exception as error:
            return "ALG_DOT_BF16_BF16_F32" not in str(error)
        return True

    one, two, f32 = compiles(jnp.bfloat16, 1), compiles(jnp.bfloat16, 2), compiles(jnp.float32, 1)
    return not one and two and f32, f"compiles with one key: bf16 {one}, f32 {f32}; with two: bf16 {two}"


def jax_einsum_sums_in_16_bits():
    same, wrong = [], []
    for seed in range(50):
        x = np.random.default_rng(seed).standard_normal((1, 8, 2, 1)).astype(BF16)
        got = np.asarray(jnp.einsum("abcd,ax->dcxa", x, np.ones((1, 1), BF16))).ravel()
        total = np.zeros(2, BF16)
        for row in x[0, :, :, 0]:
            total = (total.astype(np.float32) + row.astype(np.float32)).astype(BF16)
        same.append((got == total).all())
        wrong.append((got != x.astype(np.float64).sum(1).ravel().astype(np.float32).astype(BF16)).mean())
    text = f"all of 50 equal a sum that is bf16 after each term; {100 * np.mean(wrong):.0f} % are wrong"
    return bool(np.all(same)), text


def jax_max_loses_nan():
    def lost(elements):
        x = np.zeros((elements // 64, 64), np.float32)
        x[:, 5] = np.nan
        return [int((~np.isnan(np.asarray(jax.jit(f)(x)))).sum()) for f in (lambda x: x.max(1), lambda x: x.min(1))]

    small, large = lost(4032), lost(4096)
    return small == [0, 0] and large == [64, 64], f"rows of 64 that lose NaN (max, min): {large}; of 63: {small}"


def jax_max_of_sigmoid_bf16():
    def chain(x):
        doubled = (x.astype(jnp.float32) * np.float32(2)).astype(jnp.bfloat16)
        return jax.nn.sigmoid(doubled.astype(jnp.float32)).astype(jnp.bfloat16)

    wrong = []
    for reduce, want in ((jnp.max, 0.5), (jnp.sum, 1.5)):
        reduced = jax.jit(lambda x, reduce=reduce: reduce(chain(x), axis=0)).lower(
            jax.ShapeDtypeStruct((3, 1366), jnp.bfloat16)).compile()
        for seed in range(50):
            x = np.random.default_rng(seed).standard_normal((3, 1366)).astype(BF16)
            np.asarray(reduced(jax.device_put(x)))
            wrong.append((np.asarray(reduced(jnp.zeros((3, 1366), jnp.bfloat16))) != np.array(want, BF16)).any())
    fused = "ynn_fusion" in reduced.as_text()
    text = f"{sum(wrong)} of 100 maxima and sums of sigmoid(0) are wrong; YNNPACK computes them: {fused}"
    return sum(wrong) > 0 and fused, text


def jax_quotient_of_quotient():
    divide, found = jax.jit(lambda x, y: (x / y) / y), {}
    for dtype, exponent in ((np.float16, -13), (np.float32, -80)):
        x = np.full(64, 2.0**exponent, dtype)
        found[dtype] = divide(x, x)[0].item()
    return all(np.isinf(value) for value in found.values()), (
        f"(x / x) / x of 2^-13 in f16 is {found[np.float16]} for 2^13, of 2^-80 in f32 {found[np.float32]} for 2^80")


def jax_softmax_of_masked_row():
    def masked(x, value):
        return jnp.where(jnp.arange(12)[:, None] < 11, value, x)

    def all_nan(function, columns):
        compiled = jax.jit(function)
        return all(np.isnan(np.asarray(compiled(np.zeros((12, columns), np.float32)))[:11]).all() for _ in range(5))

    softmax = [all_nan(lambda x: jax.nn.softmax(masked(x, -np.inf), axis=-1), columns) for columns in (1, 4)]
    exponential = all_nan(lambda x: jnp.exp(masked(x, np.nan)), 4)
    return not softmax[0] and softmax[1] and not exponential, (
        f"NaN where it must be: softmax of rows of one key {softmax[0]}, of four {softmax[1]}; "
        f"exp(where(mask, nan, x)) {exponential}")


def jax_softmax_of_products():
    x = np.array([0x3EB872D0], np.uint32).view(np.float32)
    y = np.zeros((2, 13), np.float32)
    y[:, 12] = np.array([0x5E000123], np.uint32).view(np.float32)
    got = np.asarray(jax.jit(lambda y, x: jax.nn.softmax(y * x, axis=-1))(y, x))[0, 12].item()
    product = np.float64(x[0]) * np.float64(y[0, 12])
    apart = product - np.float64(np.float32(product))
    text = f"softmax gives {got} for 1; the exact product is {apart:.3g} above its f32, and exp(89) is infinite in f32"
    return bool(np.isnan(got) and apart > 89), text


def jax_6553_masked_sum():
    mask = np.concatenate([np.ones((1000, 1000), np.float32), np.zeros((1000, 1000), np.float32)], 1)
    differ, far = 0, 0
    for seed in range(10):
        matrix = np.random.default_rng(seed).random((1000, 2000), np.float32)
        exact = matrix[:, :1000].astype(np.float64).sum()
        sums = [float(jnp.sum(matrix[:, :1000])), float(jnp.sum(matrix * mask))]
        differ += sums[0] != sums[1]
        far = max(far, *(abs(value - exact) / exact for value in sums))
    return differ > 0 and far < 1e-5, f"{differ} of 10 pairs of sums differ; the largest relative error is {far:.2g}"


FACTS = {function.__name__: function for function in (
    jax_attention_of_one_key_bf16, jax_einsum_sums_in_16_bits, jax_max_loses_nan, jax_max_of_sigmoid_bf16,
    jax_quotient_of_quotient, jax_softmax_of_masked_row, jax_softmax_of_products, jax_6553_masked_sum)}
