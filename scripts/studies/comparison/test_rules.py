#!/usr/bin/env python3
"""Tests of the rules: against the originals where they are installed (PyTorch, NumPy, torchao), else by hand; and of a
trial.

Usage: scripts/studies/comparison/test_rules.py      (with an interpreter that has PyTorch)
FUSESMITH_BINARY names the program (default: build/release/fusesmith); without it, trials are not tested.
"""

import dataclasses
import importlib.util
import itertools
import logging
import os
import sys
import tempfile
import unittest

import numpy as np
import torch

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path[:0] = [os.path.join(ROOT, folder) for folder in
                ("scripts/studies", "python", "python/workers/protocol", "python/workers/torch")]

from comparison import counting, measuring, pages, picture, results, rules  # noqa: E402
from comparison import low_precision_rules as low  # noqa: E402
from comparison.measuring import Place, Subject, TrialError  # noqa: E402
from comparison.mixes import MIXES, has_quantized  # noqa: E402
from comparison.rules import Output  # noqa: E402
from protocol import Graph  # noqa: E402

BINARY = os.environ.get("FUSESMITH_BINARY", os.path.join(ROOT, "build/release/fusesmith"))
FLOATS = (torch.float32, torch.float16, torch.bfloat16)
SHAPES = ((), (0,), (1,), (7,), (3, 400), (2, 3, 1, 1), (2, 0, 4))
SPECIAL = [0.0, -0.0, 1.0, float("inf"), float("-inf"), float("nan"), 65504.0, 3e38, 6e-8, 1e-5, -1e-40]


def random_pairs(seed=1):
    """(got, expected, exact) of every dtype and shape: equal, near, at the tolerances, far, and with special values."""
    torch.manual_seed(seed)
    errors = [0.0, *(10.0 ** power for power in range(-8, 1)), 1.3e-6, 1.6e-2, 2e-2]
    for dtype, shape, error, scale in itertools.product(FLOATS, SHAPES, errors, (1e-3, 1.0, 300.0)):
        exact = torch.randn(shape, dtype=torch.float64) * scale
        expected = (exact * (1 + error * torch.randn(shape) * torch.rand(()))).to(dtype)
        got = (expected.double() * (1 + error * (2 * torch.rand(shape) - 1)) + error * 1e-3).to(dtype)
        yield got, expected, exact
        if exact.numel():
            yield with_special(got, expected, exact)


def with_special(got, expected, exact):
    got, expected, exact = got.clone(), expected.clone(), exact.clone()
    for tensor in (got, expected, exact):
        at = torch.randint(tensor.numel(), ())
        tensor.view(-1)[at] = SPECIAL[torch.randint(len(SPECIAL), ())]
    if torch.rand(()) < 0.5:  # the same in all
        at, value = torch.randint(exact.numel(), ()), SPECIAL[torch.randint(len(SPECIAL), ())]
        for tensor in (got, expected, exact):
            tensor.view(-1)[at] = value
    return got, expected, exact


def integer_pairs():
    for dtype, shape in itertools.product((torch.int32, torch.bool), SHAPES):
        expected = torch.randint(-3 if dtype == torch.int32 else 0, 2, shape).to(dtype)
        yield expected.clone(), expected, expected
        if expected.numel():
            other = expected.clone()
            other.view(-1)[0] = not other.view(-1)[0]
            yield other, expected, expected


def raises(check, *arguments, **options):
    try:
        check(*arguments, **options)
    except AssertionError:
        return True
    return False


class Originals(unittest.TestCase):
    """Every rule whose original is installed says the same of every pair."""

    def agree(self, rule, original):
        counts = {True: 0, False: 0}
        for got, expected, exact in (*random_pairs(), *random_pairs(2), *integer_pairs()):
            wanted = original(got, expected, exact)
            counts[wanted] += 1
            self.assertEqual(rule(Output(got, expected, exact)), wanted, (got, expected, exact))
        self.assertGreater(min(counts.values()), 100)

    def test_assert_close(self):
        self.agree(rules.assert_close,
                   lambda got, expected, _: not raises(torch.testing.assert_close, got, expected))

    def test_dynamo_same(self):
        from torch._dynamo.utils import same

        logging.getLogger("torch._dynamo").setLevel(logging.ERROR)

        def original(got, expected, exact):
            return bool(same(expected, got, fp64_ref=exact, equal_nan=True, log_error=lambda *_: None))

        self.agree(rules.dynamo_same, original)

    def test_kernel_bench(self):
        def original(got, expected, _):
            tolerance = {torch.float32: 1e-4}.get(got.dtype, 1e-2 if got.is_floating_point() else 0)
            return torch.allclose(expected, got, atol=tolerance, rtol=tolerance)

        self.agree(rules.kernel_bench, original)

    def test_nnsmith(self):
        def original(got, expected, _):
            got, expected = rules.as_numpy(got), rules.as_numpy(expected)
            with np.errstate(all="ignore"):
                return not raises(np.testing.assert_allclose, got, expected, rtol=1e-2, atol=1e-3, equal_nan=True)

        self.agree(rules.nnsmith, original)

    @unittest.skipUnless(importlib.util.find_spec("torchao"), "torchao is not installed")
    def test_torchao(self):
        from torchao.quantization.utils import compute_error

        for got, expected, _ in (*random_pairs(), *random_pairs(2)):
            error = compute_error(expected, got)
            zeros = not (got.any() or expected.any())
            for rule, limit in ((low.torchao_quantized, 25), (low.torchao_same_codes, 80)):
                self.assertEqual(rule(Output(got, expected, None)), zeros or bool(error >= limit), (got, expected))

    def test_assert_close_of_floats_of_8_bits(self):
        for name, dtype in (("f8e4m3", torch.float8_e4m3fn), ("f8e5m2", torch.float8_e5m2)):
            for got, expected in itertools.product(([1.0, 2.0], [1.125, 2.0], [-0.0, 2.0], [0.0, 2.0], [NAN, 2.0]),
                                                   repeat=2):
                pair = [torch.tensor(numbers).to(dtype) for numbers in (got, expected)]
                self.assertEqual(low.assert_close(Output(*(x.float() for x in pair), None, dtype=name)),
                                 not raises(torch.testing.assert_close, *pair), (name, got, expected))

    def test_equal_bits(self):
        zeros = Output(torch.tensor([0.0]), torch.tensor([-0.0]), None)
        self.assertFalse(rules.equal_bits(zeros))
        nan = torch.tensor(float("nan"))
        self.assertTrue(rules.equal_bits(Output(nan, nan.clone(), None)))


def output(got, expected, exact=None, dtype=torch.float32, made_by=(), ops=()):
    exact = torch.tensor(exact, dtype=torch.float64) if exact is not None else None
    return Output(torch.tensor(got, dtype=dtype), torch.tensor(expected, dtype=dtype), exact, frozenset(made_by),
                  frozenset(ops or made_by))


NAN, INF = float("nan"), float("inf")


class ByHand(unittest.TestCase):
    """Rules whose original is no Python package."""

    def test_flash_attention(self):
        check = rules.flash_attention
        self.assertTrue(check(output([1.25, 2.0], [1.125, 2.0], [1.0, 2.0])))
        self.assertFalse(check(output([1.2501, 2.0], [1.125, 2.0], [1.0, 2.0])))
        self.assertTrue(check(output([1.0, 2.25], [1.125, 2.0], [1.0, 2.0])), "the largest of all elements counts")
        self.assertFalse(check(output([1.0001], [1.0], [1.0])), "an exact baseline allows nothing")
        self.assertFalse(check(output([NAN], [NAN], [NAN])), "NaN is not at most NaN")
        self.assertTrue(check(output([1.0], [1.0], [1.001], torch.bfloat16)), "the reference is rounded to 1")
        self.assertTrue(check(output([], [], [])))

    def test_flash_attention_3(self):
        error = abs(float(torch.tensor(1.0, dtype=torch.float16) + 0.3 - 0.3) - 1.0)
        near = 1 + 2.0 ** -10
        self.assertEqual(error, 0.0)
        self.assertFalse(rules.flash_attention_3(output([near], [1.0], [1.0], torch.float16)))
        slack = abs(float(torch.tensor(0.1, dtype=torch.float16) + 0.3 - 0.3) - float(torch.tensor(0.1).half()))
        self.assertGreater(slack, 0)
        self.assertTrue(rules.flash_attention_3(output([0.1 + 2 * slack], [0.1], [0.1], torch.float16)))
        self.assertFalse(rules.flash_attention(output([0.1 + 2 * slack], [0.1], [0.1], torch.float16)))

    def test_ggml_nmse(self):
        check = rules.ggml_nmse
        # 1e-4^2 / (1 + 1) = 5e-9; 1e-3^2 / 2 = 5e-7.
        self.assertTrue(check(output([1.0001, 1.0], [1.0, 1.0])))
        self.assertFalse(check(output([1.001, 1.0], [1.0, 1.0])))
        self.assertTrue(check(output([1.001, 1.0], [1.0, 1.0], made_by=["softmax"])))
        self.assertTrue(check(output([1.03, 1.0], [1.0, 1.0], made_by=["add"], ops=["matmul", "add"])))
        self.assertFalse(check(output([1.04, 1.0], [1.0, 1.0], made_by=["matmul"])))
        self.assertTrue(check(output([1.0078125, 1.0], [1.0, 1.0], dtype=torch.bfloat16)))
        self.assertFalse(check(output([NAN, 1.0], [NAN, 1.0])))
        self.assertTrue(check(output([INF, 1.0], [INF, 1.0])), "the error is NaN, which is above no limit")
        self.assertFalse(check(output([INF, 1.0], [-INF, 1.0])))
        self.assertFalse(check(output([INF, 1.0], [1.0, 1.0])))
        self.assertTrue(check(output([0.0], [0.0])))
        self.assertFalse(check(output([1], [2], dtype=torch.int32)))

    def test_gpu_mode(self):
        check = rules.gpu_mode
        self.assertTrue(check(output([1.039], [1.0])))
        self.assertFalse(check(output([1.041], [1.0])))
        self.assertTrue(check(output([NAN, INF, -INF], [NAN, INF, -INF])))
        self.assertFalse(check(output([NAN], [1.0])))
        self.assertFalse(check(output([INF], [-INF])))
        self.assertTrue(check(output([True], [True], dtype=torch.bool)))
        self.assertFalse(check(output([True], [False], dtype=torch.bool)))
        self.assertFalse(check(output([3], [2], dtype=torch.int32)))

    def test_benchdnn(self):
        check = rules.benchdnn
        near = 1 + 2.0 ** -23
        self.assertFalse(check(output([near], [1.0], made_by=["matmul"])), "its data make products exact")
        self.assertTrue(check(output([near], [1.0], made_by=["add"])))
        self.assertFalse(check(output([1 + 2.0 ** -22], [1.0], made_by=["add"])))
        self.assertTrue(check(output([1 + 2.0 ** -20], [1.0], made_by=["softmax"])))
        self.assertTrue(check(output([1.000019], [1.0], made_by=["add"], ops=["relu", "add"])),
                        "2e-5, where the graph has an elementwise op")
        self.assertTrue(check(output([1.0078125], [1.0], dtype=torch.bfloat16, made_by=["add"])))
        self.assertFalse(check(output([1.0078125], [1.0], dtype=torch.bfloat16, made_by=["linear"])))
        self.assertFalse(check(output([NAN], [NAN], made_by=["add"])))
        self.assertTrue(check(output([NAN], [NAN], made_by=["add"], ops=["exp", "add"])))
        self.assertTrue(check(output([INF], [INF], dtype=torch.float16, made_by=["linear"])))
        one_of_many = [1.0] * 2048
        self.assertTrue(check(output([1.001, *one_of_many[1:]], one_of_many, made_by=["linear"])),
                        "in L2: 0.001 / sqrt(2048) = 2.2e-5")
        self.assertFalse(check(output([1.01, *one_of_many[1:]], one_of_many, made_by=["linear"])))
        three = [1.001] * 3 + one_of_many[3:]
        self.assertFalse(check(output(three, one_of_many, made_by=["linear"])), "more than one in 1,024")


class LowPrecisionByHand(unittest.TestCase):
    def test_flashinfer_moe(self):
        check, ones = low.flashinfer_moe, [1.0] * 23
        # 1 from 8 is 7 away; 0.1 + 0.85 * 8 is 6.9. The tolerance is relative to the result, not to the reference.
        self.assertTrue(check(output([8.0, 8.0, *ones], [1.0, 1.0, *ones])), "92 % are close")
        self.assertFalse(check(output([8.0, 8.0, 8.0, *ones[:-1]], [1.0] * 25)))
        self.assertTrue(check(output([8.0], [1.3])))
        self.assertFalse(check(output([1.3], [8.0])))
        self.assertFalse(check(output([NAN, *ones], [NAN, *ones])))
        self.assertTrue(check(output([], [])))

    def test_flashinfer_fuzzers(self):
        # 0.15 * 4 + 1e-3 + 0.85 * 1 = 1.451; 0.04 * 4 + 1e-3 + 0.05 * 1 = 0.211; 0.12 * 4 + 1e-3 + 0.1 * 1 = 0.581.
        fp4 = dataclasses.replace(output([1.58, 4.0], [1.0, 4.0]), fp4_operands=1)
        for check, near, far in ((low.flashinfer_moe_fuzzer, 2.45, 2.46), (low.flashinfer_gemm_fuzzer, 1.21, 1.22)):
            self.assertTrue(check(output([near, 4.0], [1.0, 4.0])))
            self.assertFalse(check(output([far, 4.0], [1.0, 4.0])))
            self.assertFalse(check(output([NAN, 4.0], [1.0, 4.0])))
            self.assertFalse(check(output([INF, 4.0], [1.0, 4.0])))
            self.assertTrue(check(output([5.0, NAN], [1.0, NAN])), "the tolerance is NaN")
        self.assertTrue(low.flashinfer_gemm_fuzzer(fp4))
        self.assertFalse(low.flashinfer_gemm_fuzzer(dataclasses.replace(fp4, got=torch.tensor([1.59, 4.0]))))

    def test_flashinfer_cosine(self):
        # 0.1425 / 1 is a cosine of 1 / sqrt(1 + 0.1425^2) = 0.99, 0.2506 one of 0.97.
        self.assertTrue(low.flashinfer_cosine(output([1.0, 0.142], [1.0, 0.0])))
        self.assertFalse(low.flashinfer_cosine(output([1.0, 0.143], [1.0, 0.0])))
        self.assertTrue(low.flashinfer_cosine(dataclasses.replace(output([1.0, 0.25], [1.0, 0.0]), fp4_operands=1)))
        self.assertFalse(low.flashinfer_cosine(dataclasses.replace(output([1.0, 0.252], [1.0, 0.0]), fp4_operands=1)))
        self.assertTrue(low.flashinfer_cosine(output([100.0, 200.0], [1.0, 2.0])), "a factor is not seen")
        self.assertFalse(low.flashinfer_cosine(output([0.0], [0.0])), "the cosine of zeros is 0")

    def test_deep_gemm(self):
        # (1 - 0.94)^2 / (1 + 0.94^2) = 0.0019; of 0.96, 0.00083; of 0.8, 0.0244; of 0.82, 0.0194; of 0.87, 0.0096.
        def check(value, operands=0):
            return low.deep_gemm(dataclasses.replace(output([value], [1.0]), fp4_operands=operands))

        self.assertEqual([check(0.96), check(0.94)], [True, False])
        self.assertEqual([check(0.87, 1), check(0.86, 1), check(0.82, 2), check(0.8, 2)], [True, False, True, False])
        self.assertTrue(low.deep_gemm(output([0.0], [0.0])))
        self.assertFalse(low.deep_gemm(output([NAN], [NAN])))
        rows = [1.0] * 4096
        self.assertTrue(low.deep_gemm(output([0.0] * 8 + rows[8:], rows)), "8 / 8184 = 0.00098")
        self.assertFalse(low.deep_gemm(output([0.0] * 9 + rows[9:], rows)), "9 / 8183 = 0.0011")

    def test_sol_exec_bench(self):
        check, ones = low.sol_exec_bench, [1.0] * 99
        self.assertTrue(check(output([1.019], [1.0])))
        self.assertFalse(check(output([1.021], [1.0])))
        self.assertTrue(check(output([7.0, *ones], [1.0, *ones])), "99 of 100")
        self.assertFalse(check(output([7.0, *ones[1:]], [1.0, *ones[1:]])))
        self.assertFalse(check(output([INF, *ones], [INF, *ones])))
        self.assertFalse(check(output([0.0], [1e-3])), "zeros for what is not zero")
        self.assertTrue(check(output([0.0], [0.0])))

    def test_torchao(self):
        # 20 log10(1 / 0.056) = 25.04; 20 log10(1 / 0.057) = 24.9; 2^-14 is 84.3 dB, 2^-13 78.3 dB.
        self.assertEqual([low.torchao_quantized(output([x], [1.0])) for x in (1.056, 1.057)], [True, False])
        self.assertEqual([low.torchao_same_codes(output([1 + 2.0 ** -n], [1.0])) for n in (14, 13)], [True, False])
        self.assertTrue(low.torchao_same_codes(output([1.0], [1.0])))
        self.assertTrue(low.torchao_same_codes(output([0.0], [0.0])))
        self.assertFalse(low.torchao_quantized(output([NAN], [NAN])))
        self.assertTrue(low.torchao_quantized(output([100, 1], [100, 2], dtype=torch.int8)), "codes are numbers: 40 dB")
        self.assertFalse(low.torchao_quantized(output([100, 1], [100, 2], dtype=torch.int32)))


class Results(unittest.TestCase):
    def test_numbers_of_codes(self):
        types = {"a": "f4e2m1[3]", "b": "s4[2]", "c": "f8e4m3[2]", "d": "f8e8m0[2]", "p": "f32[3,3]"}
        nodes = [{"name": "p", "op": "matmul", "inputs": ["a", "a"]}]
        tensors = [{"role": "input", "step": 0, "name": name, "type": types[name]} for name in "abcd"]
        header = {"compile": {"graph": {"inputs": [], "nodes": nodes, "outputs": []}, "types": types},
                  "tensors": tensors}
        case = results.Case(header, bytes([1, 7, 10, 7, 8, 0x7E, 0x81, 127, 126]))
        self.assertEqual([case.numbers("input", 0, name).tolist() for name in "abcd"],
                         [[0.5, 6, -1], [7, -8], [448, -(2.0 ** -9)], [1, 0.5]])
        self.assertEqual(results.fp4_operands(case.graph), 2)
        self.assertEqual(results.size_of_change(torch.tensor([7.0]), torch.tensor([6.0]), "f4e2m1"), 1 / 3)

    def test_makers_look_through_moves(self):
        nodes = [{"name": "p", "op": "matmul", "inputs": ["x", "x"]}, {"name": "r", "op": "reshape", "inputs": ["p"]},
                 {"name": "c", "op": "concat", "inputs": ["r", "s"]}, {"name": "s", "op": "softmax", "inputs": ["p"]}]
        nodes = [nodes[0], nodes[1], nodes[3], nodes[2]]
        types = dict.fromkeys(("x", "p", "r", "s", "c"), "f32[2,2]")
        made = results.makers(Graph({"graph": {"inputs": [{"name": "x"}], "nodes": nodes, "outputs": ["c"]},
                                     "types": types}))
        self.assertEqual(made["r"], {"matmul"})
        self.assertEqual(made["c"], {"matmul", "softmax"})

    def test_sizes_and_shares(self):
        same = torch.tensor([NAN, INF, 1.0])
        self.assertEqual(results.size_of_change(same, same), 0)
        self.assertEqual(results.size_of_change(torch.tensor([2.0, 1.0]), torch.tensor([2.0, 1.0 + 2.0 ** -21])), 2)
        self.assertEqual(results.size_of_change(torch.tensor([NAN]), torch.tensor([1.0])), INF)
        self.assertEqual(results.share_of_tolerance(output([NAN, INF], [NAN, INF])), 0)
        self.assertAlmostEqual(results.share_of_tolerance(output([3e-5], [0.0])), 3, places=5)


def row(case, failed=(), finding=False, candidate="a", **more):
    return {"case": case, "verdict": "identical", "finding": finding, "baseline": "b", "candidate": candidate,
            "finite": True, "failed": list(failed), "share": 0.0, "size": 0.0, **more}


class Counting(unittest.TestCase):
    def test_a_fault_is_found_by_an_alarm_that_the_clean_case_does_not_raise(self):
        clean = {0: row(0, ["nnsmith"]), 1: row(1), 2: row(2), 3: row(3, finite=False)}
        faulty = [row(0, ["nnsmith"], candidate="x"), row(1, ["ggml_nmse"], True, candidate="y"),
                  row(2, finding=True), row(3, candidate="z", size=INF)]
        entry, changed = counting.counted_fault({"name": "f", "pattern": "p"}, faulty, clean)
        self.assertEqual((entry["changed"], entry["changed_finite"], len(changed)), (3, 2, 3))
        self.assertEqual(entry["first_found"]["nnsmith"], None)
        self.assertEqual(entry["first_found"]["ggml_nmse"], 1)
        self.assertEqual(entry["flagged"]["nnsmith"], 1)
        self.assertEqual(entry["only_with_fault"]["nnsmith"], 0)
        self.assertEqual(entry["flagged"]["fusesmith"], 1)
        self.assertEqual(entry["findings_elsewhere"], 1)
        self.assertEqual([entry["changed"] for entry in counting.by_size(changed)], [2, 0, 0, 0, 0, 0, 1])
        self.assertEqual(entry["not_by_fusesmith"], dict.fromkeys(counting.ORACLES, 0))
        self.assertEqual(entry["missed_as"], {"identical": 2})

    def test_everyone_sees_a_crash(self):
        crash = {"case": 0, "verdict": "crash", "finding": True}
        self.assertEqual(counting.alarms(crash), set(counting.ORACLES))
        entry, _ = counting.counted_fault({"name": "f", "pattern": "p"}, [crash], {0: row(0)})
        self.assertEqual(set(entry["flagged"].values()), {1})

    def test_a_mix_selects_cases_and_faults(self):
        mix, graph = MIXES["low_precision"], {"inputs": [{"name": "x", "type": "f32[2]"}], "nodes": []}
        self.assertFalse(mix.selects({"graph": graph}))
        self.assertTrue(MIXES["all"].selects({"graph": graph}))
        self.assertTrue(has_quantized({"graph": {**graph, "nodes": [{"op": "cast", "dtype": "s8"}]}}))
        self.assertTrue(has_quantized({"graph": {**graph, "inputs": [{"name": "x", "type": "f8e4m3[2]"}]}}))
        self.assertEqual([mix.has_fault({"pattern": name}) for name in ("quantize", "sdpa")], [True, False])

    def test_percent_does_not_round_to_all_or_nothing(self):
        self.assertEqual([pages.percent(part, 20000) for part in (0, 1, 30, 12000, 19999, 20000)],
                         ["0 %", "0.005 %", "0.15 %", "60 %", "99.995 %", "100 %"])
        self.assertEqual(pages.percent(0, 0), "-")


@unittest.skipUnless(os.path.exists(BINARY), f"{BINARY} is not built")
class Trial(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.place = Place(BINARY, 1, folder.name)

    def test_a_clean_trial(self):
        clean = Subject("clean", "clean", "cpu", "cpu_fused", (), 65)
        self.assertTrue(measuring.run(self.place, [clean], 1, 0))
        rows = measuring.rows_of(self.place, clean)
        self.assertEqual([entry["case"] for entry in rows], list(range(65)))
        self.assertFalse([entry for entry in rows if entry["finding"] or "problem" in entry])
        self.assertTrue(any("equal_bits" in entry["failed"] for entry in rows))
        self.assertEqual(measuring.needed_parts(self.place, [clean]), [], "a second call has nothing to do")
        trial = counting.counted(self.place, clean, [], [])
        self.assertEqual(trial["clean"]["alarms"]["fusesmith"], 0)
        self.assertIn("| equal bits |", pages.tables(trial))
        self.assertIn("<circle", picture.svg(trial))

    def test_a_trial_of_quantized_values(self):
        clean = Subject("clean", "clean", "cpu", "cpu_fused", (), 20)
        place = dataclasses.replace(self.place, mix="low_precision")
        self.assertTrue(measuring.run(place, [clean], 1, 0))
        rows = measuring.rows_of(place, clean)
        self.assertTrue(0 < len(rows) < 20)
        self.assertFalse([entry for entry in rows if entry["finding"] or "problem" in entry])
        trial = counting.counted(place, clean, [], [])
        self.assertEqual(trial["oracles"][-1], "torchao_80")
        self.assertIn("| DeepGEMM", pages.tables(trial))

    def test_a_variant_and_other_programs(self):
        variant = Subject("plans", "variant", "cpu", "cpu_fused", ("--skip_patterns=sdpa",), 20)
        self.assertTrue(measuring.run(self.place, [variant], 1, 0))
        measuring.check_identity(self.place, {"program": "1", "seed": 1})
        measuring.check_identity(self.place, {"program": "1", "seed": 1})
        with self.assertRaisesRegex(TrialError, "made with program '1', not '2'"):
            measuring.check_identity(self.place, {"program": "2", "seed": 1})

    def test_what_replay_says_is_one_line(self):
        wrong = Subject("wrong", "variant", "cpu", "nobody", (), 1)
        with self.assertRaisesRegex(TrialError, "nobody"):
            measuring.run(self.place, [wrong], 1, 0)


if __name__ == "__main__":
    unittest.main()
