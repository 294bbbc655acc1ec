#!/usr/bin/env python3
"""Tests of the rules: against the originals where they are installed (PyTorch, NumPy), else by hand; and of a trial.

Usage: scripts/studies/comparison/test_rules.py      (with an interpreter that has PyTorch)
FUSESMITH_BINARY names the program (default: build/release/fusesmith); without it, trials are not tested.
"""

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
                ("scripts/studies", "python/workers/protocol", "python/workers/torch")]

from comparison import counting, measuring, pages, picture, results, rules  # noqa: E402
from comparison.measuring import Place, Subject, TrialError  # noqa: E402
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


class Results(unittest.TestCase):
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
