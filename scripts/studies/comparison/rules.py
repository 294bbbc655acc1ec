"""Rules by which other projects decide whether a result is right, from their published definitions.

A rule says of one case whether its results pass. It sees what a user of that rule would compare: the outputs of the
graph, as a list of `Output`. RULES is the one list. Each rule names its source, with the version that was read.
Arithmetic is that of the original: where it compares f16 tensors in f16, so does the rule. test_rules.py holds the
rules whose original can be installed against it, and the others against values computed by hand.
"""

import dataclasses
import math
from collections.abc import Callable

import numpy as np
import torch

EPSILON = {torch.float32: 2.0**-23, torch.float16: 2.0**-10, torch.bfloat16: 2.0**-7}
DIGITS = {torch.float32: 24, torch.float16: 11, torch.bfloat16: 8}
F32_MIN = float(np.finfo(np.float32).tiny)
F32_MAX = float(np.finfo(np.float32).max)


@dataclasses.dataclass
class Output:
    """One output of the graph. `expected` is the result of the baseline, the unfused program; `exact` the result of
    the graph in f64, or None. `made_by`: the ops whose results the output has, beyond ops that only move elements;
    `ops`: all ops of the graph. `dtype`: as the graph has it. `fp4_operands`: the most operands of f4e2m1 that a
    product has; 1 if f4e2m1 is elsewhere."""

    got: torch.Tensor
    expected: torch.Tensor
    exact: torch.Tensor | None
    made_by: frozenset = frozenset()
    ops: frozenset = frozenset()
    dtype: str = ""
    fp4_operands: int = 0


@dataclasses.dataclass
class Rule:
    name: str
    title: str
    short: str  # in wide tables
    source: str
    passes: Callable[[Output], bool]


def is_close(value, other, rtol, atol, equal_nan=False):
    """torch.isclose, as its documentation defines it: equal, or |value - other| <= atol + rtol |other|, where an error
    that is no number or infinite is too large. In the dtype of the tensors; integers are compared as f32."""
    same = value == other
    if equal_nan and value.is_floating_point():
        same |= value.isnan() & other.isnan()
    if rtol == 0 and atol == 0:
        return same
    if not value.is_floating_point():
        value, other = value.float(), other.float()
    error = (value - other).abs()
    return same | (error.isfinite() & (error <= atol + (rtol * other).abs()))


def all_close(value, other, rtol, atol, equal_nan=False):
    return bool(is_close(value, other, rtol, atol, equal_nan).all())


def equal_bits(output):
    got, expected = (x.reshape(-1).view(torch.uint8) for x in (output.got, output.expected))
    return torch.equal(got, expected)


ASSERT_CLOSE = {torch.float32: (1.3e-6, 1e-5), torch.float16: (1e-3, 1e-5), torch.bfloat16: (1.6e-2, 1e-5)}


def assert_close(output):
    return all_close(output.got, output.expected, *ASSERT_CLOSE.get(output.got.dtype, (0, 0)))


SAME_TOLERANCE = 1e-4
SAME_LOOSE_TOLERANCE = 4e-2


def root_mean_square(error):
    return torch.sqrt(torch.mean(torch.square(error))).item()


def dynamo_same(output):
    """The tensors are close within 1e-4, or the root mean square error against f64 is at most 2 times that of the
    baseline (3 times for 16-bit dtypes, below 1,000 elements and for 1 x 1 images) plus a tenth of the tolerance.
    Where only the baseline has NaN, 4e-2 from f64 is enough."""
    got, expected, exact = output.got, output.expected, output.exact
    if got.dtype == torch.bool:
        got, expected = got.to(torch.uint8), expected.to(torch.uint8)
    if all_close(expected, got, SAME_TOLERANCE, SAME_TOLERANCE, equal_nan=True):
        return True
    if exact is None or exact.dtype != torch.float64:
        return False
    only_baseline_has_nan = expected.isnan().any() and not got.isnan().any() and not exact.isnan().any()
    if only_baseline_has_nan and all_close(exact.to(got.dtype), got, SAME_LOOSE_TOLERANCE, SAME_LOOSE_TOLERANCE, True):
        return True
    error, allowed = root_mean_square(exact - got), root_mean_square(exact - expected)
    if math.isnan(error) and math.isnan(allowed):
        return True
    one_by_one = expected.dim() == 4 and expected.shape[-1] == expected.shape[-2] == 1
    small = exact.numel() < 1000 or one_by_one
    factor = 3 if small or got.dtype in (torch.float16, torch.bfloat16) else 2
    return error <= factor * allowed + SAME_TOLERANCE / 10


def distance(a, b):
    """The largest |a - b|, in the dtype of the tensors; NaN where one is NaN."""
    return (a - b).abs().max().item()


def flash_attention(output, atol_factor=0):
    """The largest distance from the reference, which is computed in higher precision and rounded, is at most twice
    that of the unfused result. What is no float has to be equal."""
    got, expected = output.got, output.expected
    if not got.is_floating_point() or output.exact is None:
        return torch.equal(got, expected)
    if not got.numel():
        return True
    reference = output.exact.to(got.dtype)
    slack = atol_factor * (reference + 0.3 - 0.3 - reference).abs().max().item() if atol_factor else 0
    return distance(got, reference) <= 2 * distance(expected, reference) + slack


def flash_attention_3(output):
    """The same with an absolute term: twice the largest error of adding 0.3 to the reference and subtracting it."""
    return flash_attention(output, 2)


PRODUCTS = frozenset({"matmul", "linear", "einsum", "sdpa"})
GGML_FUSED_CHAIN = {torch.float32: 1e-7, torch.float16: 5e-5, torch.bfloat16: 5e-3}


def ggml_limit(output):
    """The largest limit that its tests have for something in the graph: 1e-7, for chains that are fused 5e-5 (f16) and
    5e-3 (bf16), for softmax 1e-6, and for products and attention 5e-4."""
    limit = GGML_FUSED_CHAIN.get(output.got.dtype, 0)
    if output.got.is_floating_point() and "softmax" in output.ops:
        limit = max(limit, 1e-6)
    return max(limit, 5e-4) if output.got.is_floating_point() and output.ops & PRODUCTS else limit


def ggml_nmse(output):
    """The mean square of the difference, relative to the mean square of the baseline, is at most a limit. No element
    may be NaN; an infinity, or the largest f32, needs one of the same sign on the other side."""
    got, expected = (x.reshape(-1).float().numpy() for x in (output.got, output.expected))
    if np.isnan(got).any() or np.isnan(expected).any():
        return False
    huge = np.abs(expected) >= F32_MAX
    if not np.array_equal(huge, np.abs(got) >= F32_MAX) or (np.signbit(got) != np.signbit(expected))[huge].any():
        return False
    with np.errstate(all="ignore"):
        error = np.square(expected - got).sum(dtype=np.float64)
        size = np.square(expected).sum(dtype=np.float64)
        return not error / size > ggml_limit(output)


def as_numpy(tensor):
    """NumPy has no bf16: f32, as a user would convert it."""
    return (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).numpy()


def nnsmith(output):
    """numpy.testing.assert_allclose with rtol 1e-2 and atol 1e-3, NaN equal to NaN: |got - expected| <= atol + rtol
    |expected|, in the dtype of the arrays; integers and booleans as f64."""
    got, expected = as_numpy(output.got), as_numpy(output.expected)
    if got.dtype.kind != "f":
        got, expected = got.astype(np.float64), expected.astype(np.float64)
    with np.errstate(all="ignore"):
        near = (np.abs(got - expected) <= 1e-3 + 1e-2 * np.abs(expected)) & np.isfinite(expected)
    return bool((near | (got == expected) | (np.isnan(got) & np.isnan(expected))).all())


KERNEL_BENCH = {torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 1e-2}


def kernel_bench(output):
    """torch.allclose of the baseline and the result with rtol and atol of 1e-4 (f32) or 1e-2 (16 bits). The second
    argument is the result, so that the tolerance is relative to it. What is no float has to be equal."""
    tolerance = KERNEL_BENCH.get(output.got.dtype, 0)
    return all_close(output.expected, output.got, tolerance, tolerance)


def gpu_mode(output, tolerance=2e-2):
    """|got - expected| <= 2e-2 + 2e-2 |expected|, the difference in f32, the tolerance in the dtype of the baseline;
    NaN and each infinity at the same elements."""
    got, expected = output.got, output.expected
    error = (got.float() - expected.float()).abs()
    wrong = error > tolerance + tolerance * expected.abs() if expected.dtype != torch.bool else got != expected
    for test in (torch.isnan, torch.isposinf, torch.isneginf):
        wrong = wrong | (test(got) ^ test(expected))
    return not wrong.any()


ELTWISE = frozenset({"relu", "gelu", "silu", "sigmoid", "tanh", "exp", "sqrt", "rsqrt", "softcap", "scale", "dropout"})
ELTWISE_LESS_ACCURATE = frozenset({"gelu", "silu", "tanh", "softcap"})
BINARY = frozenset({"add", "sub", "mul", "div", "maximum", "where", "masked_fill", "rope"})
REDUCTIONS = frozenset({"reduce_sum", "reduce_mean", "reduce_max", "var_mean"})
GIVES_NAN = frozenset({"exp", "sqrt", "rsqrt"})


def benchdnn_threshold(op, dtype):
    """Of the driver that tests the op; what has none is copied, and has to be equal."""
    epsilon, is_f32 = EPSILON[dtype], dtype == torch.float32
    more = 2.0 ** (24 - DIGITS[dtype])
    if op in ELTWISE:
        return (4e-5 if op in ELTWISE_LESS_ACCURATE else 4e-6) if is_f32 else epsilon
    if op in BINARY or op in REDUCTIONS:
        return epsilon
    if op in ("softmax", "logsumexp"):
        return 10 * epsilon * (5 if op == "logsumexp" else 1) if is_f32 else 0
    return {"layer_norm": 5e-7, "rms_norm": 5e-7, "group_norm": 6e-7}.get(op, 0) * more


def benchdnn_errors(output):
    """Which elements are wrong: the relative difference (the absolute one, where the baseline is at most 1e-5) is above
    the threshold, and no exception holds."""
    dtype = output.got.dtype
    got, expected = output.got.reshape(-1).float(), output.expected.reshape(-1).float()
    threshold = max((benchdnn_threshold(op, dtype) for op in output.made_by), default=0)
    difference, size = (expected - got).abs(), expected.abs()
    relative = difference / torch.where(size > F32_MIN, size, 1)
    good = (difference == 0) | (torch.where(size > 1e-5, relative, difference) <= threshold)
    if dtype == torch.float16 or output.ops & GIVES_NAN:
        infinite = expected.isinf() & got.isinf() & (expected.signbit() == got.signbit())
        good |= infinite | (expected.isnan() & got.isnan())
    if output.made_by & {"softmax"}:
        good |= difference < EPSILON[torch.float32]
    if output.ops & ELTWISE:
        epsilon = EPSILON[dtype]
        good |= (difference <= max(epsilon, 2e-5)) | (relative <= max(epsilon, 8e-6))
    return ~good


def benchdnn(output):
    """Its graph driver: every element, by the threshold of the driver of the op; if at most one in 1,024 is wrong, the
    distance in L2, relative to the baseline, may be 1e-4."""
    if not output.got.is_floating_point():
        return torch.equal(output.got, output.expected)
    wrong = int(benchdnn_errors(output).sum())
    if wrong == 0 or wrong > output.got.numel() // 1024:
        return wrong == 0
    got, expected = output.got.double(), output.expected.double()
    kept = ~expected.isinf()
    size, error = expected[kept].norm().item(), (expected - got)[kept].norm().item()
    return error == 0 if size == 0 else error / size <= 1e-4


RULES = [
    Rule("equal_bits", "equal bits", "bits", "every bit of the baseline", equal_bits),
    Rule("assert_close", "`torch.testing.assert_close`", "assert_close",
         "PyTorch 2.11, torch/testing/_comparison.py: the default tolerances of each dtype", assert_close),
    Rule("dynamo_same", "`torch._dynamo.utils.same`, `fp64_ref`", "same",
         "PyTorch 2.11, torch/_dynamo/utils.py: tol 1e-4, equal_nan as the benchmarks of torch.compile call it",
         dynamo_same),
    Rule("flash_attention", "FlashAttention 2: 2x", "FA 2",
         "FlashAttention v2.8.3, tests/test_flash_attn.py: `out`", flash_attention),
    Rule("flash_attention_3", "FlashAttention 3: 2x + atol", "FA 3",
         "FlashAttention v2.8.3, hopper/test_flash_attn.py: `out`, rtol 2 and fwd_atol", flash_attention_3),
    Rule("ggml_nmse", "ggml: NMSE", "ggml",
         "ggml v0.21.0, tests/test-backend-ops.cpp: `test_case::eval` and `max_nmse_err`", ggml_nmse),
    Rule("nnsmith", "NNSmith: allclose", "NNSmith",
         "NNSmith bc0af42, nnsmith/difftest.py and nnsmith/backends/factory.py: rtol 1e-2, atol 1e-3, equal_nan",
         nnsmith),
    Rule("kernel_bench", "KernelBench: 1e-4, 1e-2", "KernelBench",
         "KernelBench 423217d, src/kernelbench/eval.py: `get_tolerance_for_precision`", kernel_bench),
    Rule("gpu_mode", "gpu-mode: 2e-2", "gpu-mode",
         "gpu-mode reference-kernels f83cb92, problems/bioml/trimul: `verbose_allclose`, rtol and atol 2e-2", gpu_mode),
    Rule("benchdnn", "benchdnn: graph driver", "benchdnn",
         "oneDNN 3.8 (515bfba), tests/benchdnn: utils/compare.cpp, graph/ref_primitive.cpp, `setup_cmp` of each driver",
         benchdnn),
]


def failed_rules(outputs, rules=RULES):
    """The names of the rules that a case fails: one output that does not pass is enough."""
    return [rule.name for rule in rules if not all(rule.passes(output) for output in outputs)]
