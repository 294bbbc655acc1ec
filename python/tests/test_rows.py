"""What a row may know of others: isolation, and batch invariance where it is declared."""

import subprocess
import unittest

from support import fusesmith, kernel, why_not

MISSING = why_not("numpy")


def replayed(command):
    """The exit code of a command that a result names."""
    return subprocess.run(command, shell=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False,
                          timeout=60).returncode


@unittest.skipIf(MISSING, MISSING)
class Rows(unittest.TestCase):
    def test_a_row_must_not_see_nan_of_another(self):
        """Ordinary data does not show it: 0 times the sum of all elements is 0."""
        result = fusesmith.judge(kernel("softmax_that_sees_all"), "softmax", runs=60, fills=["normal"], dtypes=["f32"],
                                 rank=2)
        self.assertGreater(result.findings, 0, str(result))
        self.assertIn("depends on elements that it is not computed from", result.sentence)
        self.assertIn(" in x[", result.sentence)
        self.assertNotEqual(result.got, result.other)
        self.assertEqual(result.snippet.count("print("), 2, result.snippet)
        self.assertIn("in the first result, and ", result.snippet)

    def test_an_order_by_the_number_of_rows_is_lawful_unless_it_is_declared(self):
        how = {"runs": 40, "fills": ["normal"], "dtypes": ["f32"], "rank": 2, "axes": [-1],
               "shapes": {"A": [3, 7, 20], "D": [33, 100]}}
        self.assertTrue(fusesmith.judge(kernel("sum_by_number_of_rows"), "reduce_sum", **how).ok)
        result = fusesmith.judge(kernel("sum_by_number_of_rows"), "reduce_sum", batch_invariant=True, **how)
        self.assertFalse(result.ok)
        self.assertIn("is not batch invariant, as it has to be: ", result.sentence)
        self.assertEqual(replayed(result.repro), 77, result.repro)

    def test_an_order_by_the_place_is_lawful_unless_it_is_declared(self):
        how = {"runs": 40, "fills": ["normal"], "dtypes": ["f32"], "rank": 2, "axes": [-1],
               "shapes": {"A": [3, 7, 20], "D": [33, 100]}}
        self.assertTrue(fusesmith.judge(kernel("sum_by_place"), "reduce_sum", **how).ok)
        result = fusesmith.judge(kernel("sum_by_place"), "reduce_sum", position_invariant=True, **how)
        self.assertFalse(result.ok)
        self.assertIn("does not change as required if elements along a batch axis are exchanged", result.sentence)
        self.assertIn("what was at place", result.sentence)
        self.assertEqual(replayed(result.repro), 77, result.repro)
        self.assertTrue(fusesmith.judge(kernel("sum_by_number_of_rows"), "reduce_sum", position_invariant=True,
                                        **how).ok)

    def test_a_kernel_of_single_rows_is_invariant(self):
        result = fusesmith.judge(kernel("softmax"), "softmax", runs=40, batch_invariant=True, position_invariant=True)
        self.assertEqual(result.findings, 0, str(result))
        self.assertGreater(result.checks["subset"], 0)
        self.assertIn("among fewer rows", str(result))


if __name__ == "__main__":
    unittest.main()
