"""Rules by which projects of quantized kernels decide whether a result is right, from their published definitions.

They are rules as those of rules.py, but of an `Output` whose quantized tensors are numbers: f32 for the floats of 8 and
4 bits, int8 for the integers. Where a project has a limit for each format, a rule takes the largest one that the
project's tests have for something in the graph, as rules.py does. The originals are said of `Output.expected` as their
reference, although some of them compare with a product of operands that are not quantized.
"""

import torch
from comparison import rules
from comparison.rules import Output, Rule
from fusesmith.vocabulary import QUANTIZED


def assert_close(output):
    """The dtypes of 8 and 4 bits have no default tolerances: their numbers have to be equal, and none may be NaN."""
    if output.dtype in QUANTIZED:
        return bool((output.got == output.expected).all())
    return rules.assert_close(output)


def in_f32(output):
    return output.got.float(), output.expected.float()


def flashinfer_moe(output, atol=0.1, rtol=0.85, share=0.92):
    """At least this share of the elements is closer to the result than 0.1 + 0.85 of it, and all are finite."""
    got, expected = in_f32(output)
    if not (got.isfinite().all() and expected.isfinite().all()):
        return False
    if not got.numel():
        return True
    # The result is the second argument there, so that the tolerance is relative to it.
    return rules.is_close(expected, got, rtol, atol).float().mean().item() >= share


def within_largest(output, share, rtol):
    """Every element is within rtol of the reference plus a share of its largest element plus 1e-3. A result may only be
    NaN or infinite where the reference is; if the reference has a NaN, no other error is seen."""
    got, expected = in_f32(output)
    if not got.numel():
        return True
    if (~got.isfinite() & expected.isfinite()).any():
        return False
    atol = share * expected.abs().max().item() + 1e-3
    return not ((got - expected).abs() > atol + rtol * expected.abs()).any()


def flashinfer_moe_fuzzer(output):
    """The limits of its block-scaled FP8 variants, which are the largest."""
    return within_largest(output, 0.15, 0.85)


def flashinfer_gemm_fuzzer(output):
    """The limits of FP8, and of NVFP4 where the graph has f4e2m1."""
    return within_largest(output, 0.12, 0.1) if output.fp4_operands else within_largest(output, 0.04, 0.05)


def flashinfer_cosine(output):
    """The cosine of the flat tensors is above 0.99, or 0.97 where the graph has f4e2m1. That of zeros is 0."""
    got, expected = (x.reshape(-1) for x in in_f32(output))
    cosine = torch.nn.functional.cosine_similarity(expected, got, dim=0).item() if got.numel() else 1
    return cosine > (0.97 if output.fp4_operands else 0.99)


DEEP_GEMM_LIMITS = (0.001, 0.01, 0.02)  # with so many operands in FP4


def deep_gemm(output):
    """|x - y|^2 / (|x|^2 + |y|^2), which is 1 - 2 x.y / (|x|^2 + |y|^2), over the tensor in f64, is below a limit."""
    got, expected = output.got.double(), output.expected.double()
    sizes = (got.square() + expected.square()).sum().item()
    if sizes == 0:
        return True
    return 1 - 2 * (got * expected).sum().item() / sizes < DEEP_GEMM_LIMITS[output.fp4_operands]


def sol_exec_bench(output, tolerance=1e-2, share=0.99):
    """99 % of the elements are within 1e-2 + 1e-2 of the reference; everything is finite; a result of zeros only passes
    for a reference of zeros."""
    got, expected = in_f32(output)
    if not (got.isfinite().all() and expected.isfinite().all()):
        return False
    if expected.any() and not got.any():
        return False
    error = (got - expected).abs()
    wrong = (error > tolerance + tolerance * expected.abs()) | ~error.isfinite()
    return not got.numel() or 1 - wrong.sum().item() / got.numel() >= share


def decibels(output):
    """Signal to noise, in the dtype of the tensors. inf for equal ones, NaN for zeros."""
    noise = torch.linalg.vector_norm(output.expected - output.got)
    return (20 * torch.log10(torch.linalg.vector_norm(output.expected) / noise)).item()


def torchao(output, limit):
    """The signal to noise ratio in decibels is at least a limit. Integers and booleans have to be equal; zeros equal to
    zeros pass, as in its test of MX tensors."""
    if output.got.dtype in (torch.int32, torch.bool):
        return torch.equal(output.got, output.expected)
    if output.got.dtype == torch.int8:
        output = Output(output.got.float(), output.expected.float(), None)
    if not output.got.any() and not output.expected.any():
        return True
    return decibels(output) >= limit


def torchao_quantized(output):
    """25 dB: products of quantized operands against those of operands that are not quantized."""
    return torchao(output, 25)


def torchao_same_codes(output):
    """80 dB: two products of the same codes."""
    return torchao(output, 80)


FLASHINFER = "FlashInfer fb28d72, tests/"
LOW_PRECISION_RULES = [
    rules.RULES[0],
    Rule("assert_close", "`torch.testing.assert_close`", "assert_close", rules.RULES[1].source, assert_close),
    Rule("flashinfer_moe", "FlashInfer: 92 % within 0.1 + 0.85", "FI 92 %",
         FLASHINFER + "moe/trtllm_gen_fused_moe_utils.py: `check_accuracy`, the limits of FP4 and per-tensor FP8",
         flashinfer_moe),
    Rule("flashinfer_moe_fuzzer", "FlashInfer: MoE fuzzer", "FI MoE",
         FLASHINFER + "moe/test_unified_moe_fuzz.py: atol_frac 0.15, rtol 0.85 (block-scaled FP8)",
         flashinfer_moe_fuzzer),
    Rule("flashinfer_gemm_fuzzer", "FlashInfer: GEMM fuzzer", "FI GEMM",
         FLASHINFER + "gemm/test_unified_gemm_fuzz.py: `_QMODE` fp8 and nvfp4", flashinfer_gemm_fuzzer),
    Rule("flashinfer_cosine", "FlashInfer: cosine", "FI cosine",
         FLASHINFER + "gemm/test_bmm_fp8.py (0.99), gemm/test_mm_fp4.py (0.97)", flashinfer_cosine),
    Rule("deep_gemm", "DeepGEMM: `calc_diff`", "DeepGEMM",
         "DeepGEMM 54e2261, deep_gemm/testing/numeric.py, tests/generators.py: `max_diff`", deep_gemm),
    Rule("sol_exec_bench", "SOL-ExecBench: 99 % within 1e-2", "SOL",
         "SOL-ExecBench 8d2237d, src/sol_execbench/core/bench/correctness.py, core/data/workload.py: the defaults",
         sol_exec_bench),
    Rule("torchao_25", "torchao: SQNR of 25 dB", "25 dB",
         "torchao 36027d8, torchao/quantization/utils.py: `compute_error`; test/float8/test_base.py",
         torchao_quantized),
    Rule("torchao_80", "torchao: SQNR of 80 dB", "80 dB",
         "torchao 36027d8: the same; test/prototype/mx_formats/test_mx_mm.py", torchao_same_codes),
]
