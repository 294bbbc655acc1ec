"""What a kernel raises for is left out and named by few kinds of cases; other failures are still found."""

import types
import unittest

from fusesmith.cases import Case
from fusesmith.refused import Limit, refused_kinds
from support import fusesmith, kernel, why_not

MISSING = why_not("numpy", "ml_dtypes")
OWN = "python:k.py:f: NotImplementedError: no (k.py:3)"
OTHERS = "python:k.py:f: IndexError: no (k.py:3)"
KERNEL = types.SimpleNamespace(path="/nowhere/k.py", folders=())


def reasons_of(*rows):
    """(how many cases, why they failed, variants, sizes) of each row."""
    return {Case(f"{i}-{j}", variants=variants, sizes=sizes): reason
            for i, (count, reason, variants, sizes) in enumerate(rows) for j in range(count)}


class Kinds(unittest.TestCase):
    def check(self, expected, *rows):
        self.assertEqual([str(kind) for kind in refused_kinds(reasons_of(*rows), KERNEL)], expected)

    def test_few_kinds_explain_all(self):
        self.check(["bf16", "padded"], (30, OTHERS, ("bf16",), {}), (2, OTHERS, ("bf16", "swapped"), {}),
                   (2, OTHERS, ("bf16", "padded"), {}), (4, OTHERS, ("padded",), {}), (50, None, (), {}))

    def test_a_kind_of_which_one_case_passes(self):
        self.check([], (5, OTHERS, ("padded",), {}), (1, None, ("padded",), {}), (50, None, (), {}))

    def test_all_fail(self):
        self.check([], (50, OTHERS, ("bf16",), {}))

    def test_accidents(self):
        self.check([], (50, OTHERS, (), {}), (2, OTHERS, ("padded",), {}), (50, None, (), {}))

    def test_limits(self):
        sizes = [(1, OWN if size % 8 or size > 512 else None, (), {"D": size}) for size in range(1, 1025)]
        self.check(["D mod 8 != 0", "D >= 520"], *sizes)
        self.check([], *((1, reason and OTHERS, variants, sizes) for _, reason, variants, sizes in sizes))
        self.check([], (1, OWN, (), {"D": 9}), (50, None, (), {"D": 8}))
        self.check(["D <= 7"], *((1, OWN if size < 8 else None, (), {"D": size}) for size in range(1, 50)))

    def test_which_sizes_a_limit_has(self):
        self.assertTrue(Limit("D", ">=", 8).holds({"D": 8}) and Limit("D", "mod", 8).holds({"D": 9}))
        self.assertFalse(Limit("D", "<=", 8).holds({"D": 9}) or Limit("D", "mod", 8).holds({"N": 9}))


@unittest.skipIf(MISSING, MISSING)
class Judged(unittest.TestCase):
    def judged(self, name, op="softmax", runs=200, **arguments):
        return fusesmith.judge(kernel(name, "picky.py"), op, runs=runs, **arguments)

    def test_kinds(self):
        for name, expected in (("contiguous_rows", ["inputs whose last axis is not contiguous"]),
                               ("aligned", ["inputs whose address is no multiple of 16 bytes"]),
                               ("not_bf16", ["inputs of bf16"]),
                               ("dense_up_to_three_axes", ["4 axes", "inputs whose memory is not contiguous"]),
                               ("multiples_of_eight", ["D mod 8 != 0"]),
                               ("up_to_a_block", ["D >= 1,025"])):
            for seed in (1, 2):
                result = self.judged(name, seed=seed)
                self.assertEqual((result.ok, sorted(result.refused)), (True, expected), str(result))
                self.assertEqual(sum(result.cases.values()), 200, str(result))
        self.assertIn("Cases with D >= 1,025 are left out, since each of them ended with AssertionError",
                      str(result))

    def test_one_of_the_inputs(self):
        result = self.judged("sum_with_dense", "add", dtypes="f32")
        self.assertEqual((result.ok, list(result.refused)), (True, ["x1 whose memory is not contiguous"]), str(result))

    def test_single_cases(self):
        for name, kind in (("no_rows_of_97", "D = 97"), ("no_transposed_matrices", "inputs whose "),
                           ("no_matrices_at_odd_addresses", "inputs whose address is no multiple of")):
            result = self.judged(name, runs=300, fills="normal")
            self.assertTrue(result.ok, str(result))
            self.assertGreater(result.refused_alone, 0)
            self.assertTrue(any(kind in text for text in result.refused), str(result))
            self.assertNotIn("more were not judged", str(result))

    def test_bugs_are_not_refused(self):
        for name in ("index_error_beyond_hundred", "not_nan"):
            result = self.judged(name)
            self.assertEqual((result.ok, result.verdict, result.refused), (False, "crash", {}), str(result))

    def test_a_wrong_result_is_shown_and_not_what_is_refused(self):
        result = self.judged("doubled_beyond_hundred")
        self.assertEqual((result.ok, result.verdict), (False, "defect"), str(result))
        self.assertEqual(list(result.refused), ["inputs whose last axis is not contiguous"])


if __name__ == "__main__":
    unittest.main()
