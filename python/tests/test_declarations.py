"""What is to be declared suffices for all failed cases, or is said of one."""

import unittest

from fusesmith.declarations import declared_for_all
from support import fusesmith, kernel, why_not

MISSING = why_not("numpy", "ml_dtypes")


def finding(*declared):
    return {"regions": [{"arithmetic": [{"declaration": one} for one in declared]}, {}]}


def exp(number):
    return f'arithmetic = {{"exp": {number}}}'


class Declared(unittest.TestCase):
    def check(self, expected, said, *findings):
        self.assertEqual(declared_for_all(f"Wrong, unless so (declare {said}): y[0]", findings),
                         f"Wrong, unless so ({expected}): y[0]")

    def test_the_largest_number_rounded_up(self):
        self.check(f"for all failed cases, declare {exp(8)}", exp(5), finding(exp(5)), finding(exp(7)))
        self.check(f"for all failed cases, declare {exp(8)}", exp(8), finding(exp(7)))

    def test_cases_that_need_something_else(self):
        self.check(f"for this case, declare {exp(5)}, which is not enough for 2 of the 4 failed cases", exp(5),
                   finding(exp(5)), finding(exp(3)), finding(), finding('arithmetic = {"log": 5}'))

    def test_what_has_no_number(self):
        tf32 = 'arithmetic = {"tf32": True}'
        self.check(f"declare {tf32}", tf32, finding(tf32), finding(tf32))
        self.check(f"for this case, declare {tf32}, which is not enough for 1 of the 2 failed cases", tf32,
                   finding(tf32), finding(exp(5)))

    def test_the_case_that_is_shown_needs_something_else(self):
        self.check(f"for all failed cases, declare {exp(8)}", 'arithmetic = {"log": 9}', finding(exp(7)))
        self.check(f"for all failed cases, declare {exp(8)}", 'arithmetic = {"tf32": True}', finding(exp(7)))

    def test_nothing_to_declare(self):
        self.assertEqual(declared_for_all("The kernel is incorrect.", [finding()]), "The kernel is incorrect.")


@unittest.skipIf(MISSING, MISSING)
class Judged(unittest.TestCase):
    def test_what_is_said_suffices(self):
        arguments = {"dtypes": "f32", "fills": ["uniform"], "runs": 60}
        result = fusesmith.judge(kernel("coarse_sqrt"), "sqrt", **arguments)
        self.assertIn('(for all failed cases, declare arithmetic = {"sqrt": 16})', result.sentence)
        again = fusesmith.judge(kernel("declared_coarse_sqrt"), "sqrt", **arguments)
        self.assertTrue(again.ok, str(again))

    def test_roundings_for_products(self):
        graph = fusesmith.Graph()
        q, k, v = (graph.input(name, "T[N,D]") for name in "qkv")
        exponentials = graph.exp(graph.matmul(q, k, transpose_b=True))
        graph.output(graph.div(graph.matmul(exponentials, v), graph.reduce_sum(exponentials, axes=[1], keepdims=True)))

        def judged(name):
            return fusesmith.judge(kernel(name), graph, shapes={"N": [32], "D": [128]}, fills=["normal"], runs=6,
                                   dtypes="bf16")
        right = judged("weighted")
        self.assertIn('roundings = "products"', str(right))
        self.assertTrue(right.ok, str(right))
        self.assertTrue(judged("declared_weighted").ok)
        self.assertEqual(judged("coarsely_weighted").verdict, "defect")
        self.assertEqual(judged("declared_coarsely_weighted").verdict, "defect")

    def test_orders_that_vary(self):
        arguments = {"axes": [-1], "dtypes": "f32", "shapes": [(7, 400)], "runs": 20}
        result = fusesmith.judge(kernel("sums_in_any_order"), "reduce_sum", **arguments)
        self.assertEqual(result.verdict, "nondeterministic", str(result))
        self.assertIn('declare arithmetic = {"order_varies": True}', result.sentence)
        again = fusesmith.judge(kernel("declared_sums_in_any_order"), "reduce_sum", **arguments)
        self.assertTrue(again.ok, str(again))

    def test_a_lost_term_is_no_order(self):
        result = fusesmith.judge(kernel("sums_that_lose_a_term"), "reduce_sum", axes=[-1], dtypes="f32",
                                 shapes=[(7, 400)], runs=20)
        self.assertEqual(result.verdict, "defect", str(result))


if __name__ == "__main__":
    unittest.main()
