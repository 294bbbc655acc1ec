"""A wrong argument of judge is an error of one line; axes that differ in large tensors alone get large tensors."""

import collections
import os
import pathlib
import tempfile
import unittest

import kernels
from fusesmith.result import were_judged
from fusesmith.shown import in_symbols
from support import ErrorLines, fusesmith, kernel, why_not

MISSING = why_not("numpy", "ml_dtypes")

# Op, arguments, and a part of the error.
WRONG = (
    ("softmax", {"axis": 7}, "axes that inputs of up to 3 axes do not have"),
    ("softmax", {"rank": [2]}, "rank is a number of axes, got [2]"),
    ("softmax", {"rank": True}, "rank is a number of axes, got True"),
    ("softmax", {"seed": [1]}, "seed is an integer"),
    ("softmax", {"shapes": {"D": None}}, "the sizes of D are integers of 1 or more, got None"),
    ("softmax", {"shapes": 5}, "shapes is"),
    ("softmax", {"shapes": [(2, "a")]}, "a shape is a list of integers of 1 or more, got (2, 'a')"),
    ("softmax", {"shapes": [(2, 1.5)]}, "a shape is a list of integers"),
    ("softmax", {"shapes": [None]}, "a shape is a list of integers"),
    ("softmax", {"shapes": [[[2, 3]]]}, "a shape is a list of integers"),
    ("softmax", {"shapes": [(2, 0)]}, "expected 1 or more"),
    ("softmax", {"dtypes": None}, "dtypes is a dtype or a list of dtypes"),
    ("softmax", {"fills": 3}, "fills is a kind of data or a list of kinds"),
    ("softmax", {"fills": []}, "fills is a kind of data or a list of kinds, got []"),
    ("softmax", {"run_timeout": "5"}, "run_timeout is a number of seconds"),
    ("softmax", {"time_limit": None}, "time_limit is a number of seconds"),
    ("softmax", {"time_limit": 0}, "time_limit is a number of seconds"),
    ("softmax", {"inputs": "2"}, "inputs is a number of inputs"),
    ("softmax", {"inputs": 9}, "softmax has 1 input, got 9"),
    ("matmul", {"inputs": -1}, "matmul has 2 inputs, got -1"),
    ("softmax", {"keep": "/etc/passwd"}, "keep is a folder"),
    ("softmax", {"keep": "/etc/passwd/in"}, "keep is a folder"),
    ("sdpa", {"mask": "caussal"}, 'mask is one of "none", "causal"'),
    ("reduce_sum", {"axes": ["a"]}, "axes is a list of integers, got ['a']"),
    ("reduce_sum", {"axes": [0, 0]}, "or one axis twice"),
    ("rope", {"rotary_dim": "a"}, "rotary_dim is an integer, got 'a'"),
    ("chunk", {"chunks": "D"}, "chunks is an integer, got 'D'"),
    ("group_norm", {"groups": "2"}, "groups is an integer, got '2'"),
)


@unittest.skipIf(MISSING, MISSING)
class Arguments(ErrorLines):
    def test_wrong_ones(self):
        for op, named, expected in WRONG:
            with self.subTest(op=op, named=named):
                self.check_error(expected, fusesmith.judge, kernel("softmax"), op, runs=5, **named)

    def test_rank_of_a_graph(self):
        graph = fusesmith.Graph()
        graph.output(graph.softmax(graph.input("x", "T[N,D]")))
        self.check_error("rank is of an op that is given by its name", fusesmith.judge, kernel("softmax"), graph,
                         rank=2)

    def test_a_declaration(self):
        self.check_error('what the kernel declares is wrong: arithmetic: unknown key "expp"', fusesmith.judge,
                         kernel("misspelt"), "softmax", runs=5)

    def test_a_path(self):
        self.check_error('expected "FILE.py:FUNCTION", got the path kernels.py', fusesmith.judge,
                         pathlib.Path("kernels.py"), "softmax")

    def test_assertions_as_pytest_writes_them(self):
        """They are other code than what a child process finds in the file."""
        function = kernels.with_assertion
        code = function.__code__
        self.addCleanup(setattr, function, "__code__", code)
        function.__code__ = code.replace(co_names=(*code.co_names, "@pytest_ar"))
        result = fusesmith.judge(function, "softmax", runs=5, dtypes="f32")
        self.assertEqual(sum(result.cases.values()), 5, str(result))

    def test_a_folder_that_does_not_exist_yet(self):
        with tempfile.TemporaryDirectory() as folder:
            keep = os.path.join(folder, "new", "one")
            result = fusesmith.judge(kernel("zeros"), "softmax", runs=5, keep=keep)
            self.assertEqual(os.path.dirname(result.case), keep)

    def test_axes_that_are_one_in_small_tensors(self):
        result = fusesmith.judge(kernel("sum_of_first_and_last"), "reduce_sum", axes=[0, -1], runs=40, dtypes="f32")
        self.assertEqual((result.ok, sum(result.cases.values())), (True, 40), str(result))


class Rules(unittest.TestCase):
    def test_have_the_names_of_the_types(self):
        rule = "Fails iff N >= 2, where N is x axis 1 (3 here).\nFails for N = 4 alone, where N is m axis 0 (4 here)."
        self.assertEqual(in_symbols(rule, {("x", 0): "N", ("x", 1): "D"}),
                         "Fails iff D >= 2, where D is x axis 1 (3 here).\n"
                         "Fails for N = 4 alone, where N is m axis 0 (4 here).")


class WereJudged(unittest.TestCase):
    def test_nine_tenths_or_all_but_one(self):
        for right, inconclusive, expected in ((4, 1, True), (2, 1, False), (36, 5, False), (36, 4, True)):
            counts = collections.Counter(reassociation=right, inconclusive=inconclusive)
            self.assertEqual(were_judged(counts, 0, 0), expected, counts)
        self.assertFalse(were_judged(collections.Counter(reassociation=4, out_of_memory=1), 0, 0))


if __name__ == "__main__":
    unittest.main()
