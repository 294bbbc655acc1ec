"""Tests of `score`: what is right gets 1, and what is wrong in any call 0, however it is wrong.

Usage: FUSESMITH_BINARY=build/release/fusesmith python/tests/test_score.py     (needs libfusesmith and numpy)
"""

import unittest

from support import ErrorLines, fusesmith
from test_tensors import WHY_NOT, drawn, np, softmax, torch


def draws(count=3):
    return [[drawn(5, 64, seed=seed)] for seed in range(count)]


def scored(kernel, **arguments):
    return fusesmith.score(kernel, "softmax", draws(), axis=-1, **arguments)


class Stale:
    """Computes once for each address."""

    def __init__(self):
        self.results = {}

    def __call__(self, x):
        return self.results.setdefault(x.ctypes.data, softmax(x))


class Reused:
    """Returns the same memory each time."""

    def __init__(self):
        self.y = np.zeros((5, 64), np.float32)

    def __call__(self, x):
        self.y[...] = softmax(x)
        return self.y


def overwriting(x):
    x[...] = softmax(x)
    return x


def one_wrong(x):
    y = softmax(x)
    y[2, 3] *= 1.01
    return y


@unittest.skipIf(WHY_NOT, WHY_NOT)
class Scores(ErrorLines):
    def test_right_kernels_get_1(self):
        for kernel in (softmax, Reused(), lambda x: [softmax(x)]):
            score = scored(kernel)
            self.assertEqual((score.value, float(score), len(score.verdicts)), (1, 1, 3), score)

    def test_wrong_kernels_get_0(self):
        for kernel, said in ((np.zeros_like, "call 0: defect"), (lambda x: x, "call 0: defect"),
                             (one_wrong, "1 of 320 elements outside"), (Stale(), "call 1: defect"),
                             (lambda x: x[0], "output"), (lambda x: None, "output"),
                             (lambda x: softmax(x).astype(np.float64), "output 0: expected"),
                             (lambda x: 1 // 0, "call 0: ZeroDivisionError"), (lambda x: exit(3), "SystemExit"),
                             (overwriting, "call 0: the kernel wrote to its input 0")):
            score = scored(kernel)
            self.assertEqual(score.value, 0, score)
            self.assertIn(said, score.sentence)

    def test_a_kernel_may_be_allowed_to_write(self):
        self.assertEqual(scored(overwriting, in_place=True).value, 1)

    def test_only_results_that_are_right_count(self):
        def cancelling(seed):
            x = drawn(5, 4096, seed=seed) * 1e4
            return [x if seed else np.abs(x)]
        score = fusesmith.score(lambda x: x.sum(-1), "reduce_sum", [cancelling(0), cancelling(1)], axes=[1],
                                keepdims=False, contract={"arithmetic": {"sum": 65536}})
        self.assertEqual({verdict.verdict for verdict in score.verdicts} & {"inconclusive"}, {"inconclusive"}, score)
        self.assertLess(score.value, 1)
        self.assertIn("inconclusive", score.sentence)

    @unittest.skipIf(torch is None, "needs torch")
    def test_tensors_of_torch(self):
        inputs = [[torch.randn(4, 32).t()] for _ in range(2)]
        score = fusesmith.score(lambda x: torch.softmax(x, -1), "softmax", inputs, axis=-1)
        self.assertEqual(score.value, 1, score)
        self.assertEqual(fusesmith.score(lambda x: x.mul_(0), "softmax", inputs, axis=-1).value, 0)

    def test_mistakes_of_the_caller_are_errors(self):
        for given, said in ((draws(1), "draws: expected at least 2 lists of inputs, got 1"),
                            ([draws()[0], [drawn(5, 63)]], "draw 1, input 0: expected a tensor of the type"),
                            ([draws()[0], []], "draw 1: expected 1 inputs, as draw 0 has, got 0"),
                            (None, "draws: expected lists of inputs, got NoneType"),
                            ([{"x": 1}] * 2, "draw 0: expected a list of inputs, got a dict")):
            with self.assertRaisesRegex(fusesmith.Error, said):
                fusesmith.score(softmax, "softmax", given, axis=-1)
        with self.assertRaisesRegex(fusesmith.Error, "kernel: expected a function, got int"):
            fusesmith.score(3, "softmax", draws(), axis=-1)
        with self.assertRaisesRegex(fusesmith.Error, "sofmax"):
            fusesmith.score(softmax, "sofmax", draws(), axis=-1)


if __name__ == "__main__":
    unittest.main()
