"""The lines that a result shows print the failure when they run."""

import os
import subprocess
import unittest

from support import HERE, environment, fusesmith, interpreter, kernel, why_not

MISSING = why_not("numpy", "ml_dtypes")


@unittest.skipIf(MISSING, MISSING)
class Snippets(unittest.TestCase):
    def judged(self, name, op="softmax", runs=60, **arguments):
        result = fusesmith.judge(kernel(name), op, runs=runs, **arguments)
        self.assertFalse(result.ok, str(result))
        return result

    def printed(self, result):
        self.assertTrue(result.snippet, str(result))
        ran = subprocess.run([interpreter(), "-c", result.snippet], capture_output=True, text=True, cwd=HERE,
                             env=environment())
        self.assertEqual(ran.returncode, 0, ran.stderr)
        half = len(ran.stdout.splitlines()) // 2
        return ran.stdout.splitlines()[:half], ran.stdout.splitlines()[half:]

    def test_an_input_that_is_overwritten(self):
        result = self.judged("overwrites", dtypes="f32")
        before, after = self.printed(result)
        self.assertNotEqual(before, after)
        self.assertIn(f"# x[0] was {result.other!r}, and is {result.got!r}", result.snippet)

    def test_memory_that_is_used_again(self):
        before, after = self.printed(self.judged("returns_one_buffer"))
        self.assertNotEqual(before, after)

    def test_no_lines_where_they_would_show_nothing(self):
        for name in ("first_answer", "seldom_wrong"):
            self.assertEqual(self.judged(name, dtypes="f32").snippet, "")

    def test_data_that_a_graph_declares_and_inputs_that_a_function_leaves_out(self):
        graph = fusesmith.Graph()
        x = graph.input("x", "f32[N]")
        scale = graph.input("scale", "f32[1]", fill={"constant": {"value": 0.25}})
        graph.output(graph.mul(x, scale))
        result = self.judged("half", graph)
        self.assertIn("scale f32[1], constant(value 0.25)", result.inputs)
        self.assertIn("\nprint(half(x))", result.snippet)
        self.printed(result)

    def test_inputs_that_are_not_contiguous(self):
        result = self.judged("relu_that_ignores_strides", "relu", runs=100, dtypes="f32")
        self.assertEqual(result.rule.splitlines()[0], "Passes if all inputs are contiguous and aligned.")
        self.assertIn("Passes if all inputs are contiguous", str(result))

    def test_a_layout_that_is_not_why(self):
        self.assertNotIn("contiguous", self.judged("zeros", runs=20).rule)
        self.assertTrue(os.path.isfile(self.judged("zeros", runs=20).case))


if __name__ == "__main__":
    unittest.main()
