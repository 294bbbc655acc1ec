"""Gradients of right kernels pass, planted mistakes are found in an output that they change, and what is no gradient is
one line."""

import json
import os
import subprocess
import unittest

from support import HERE, environment, interpreter, why_not

MISSING = why_not("numpy", "torch")
MISTAKES = 35
BESIDE_RIGHT = 20  # mistakes that leave an output right, which could be named instead


def started(*arguments):
    return subprocess.Popen([interpreter(), *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            cwd=HERE, env=environment())


def run_lines(text):
    """The output of lines that judge kernels of backward_kernels.py in a few cases of f32."""
    head = ('import fusesmith, backward_kernels as k\nK = k.__file__ + ":"\nT = ["T[N,D]", "T[D]", "T[D]"]\n'
            'few = {"runs": 4, "dtypes": "f32", "repeat": 0}\nfusesmith.shown.MINIMIZE_SECONDS = 1\n')
    return started("-c", head + text).communicate()[0]


@unittest.skipIf(MISSING, MISSING)
class Kernels(unittest.TestCase):
    def test_right_and_wrong(self):
        """Both at once: most of the time, one process starts another."""
        both = {kind: started(os.path.join(HERE, "judge_gradients.py"), kind) for kind in ("right", "wrong")}
        found = {}
        for kind, process in both.items():
            lines = process.communicate()[0].splitlines()
            self.assertEqual([line for line in lines if not line.startswith("[")], [])
            found[kind] = [json.loads(line) for line in lines]
        self.assertGreaterEqual(len(found["wrong"]), MISTAKES)
        for name, reference, _, findings, report in found["right"]:
            with self.subTest(name=name, reference=reference):
                self.assertEqual(findings, 0, report)
        self.assertGreaterEqual(sum(ok for _, _, ok, _, _ in found["right"]), len(found["right"]) - 3)
        for name, reference, ok, findings, report, named, changed, _ in found["wrong"]:
            with self.subTest(name=name, reference=reference):
                self.assertFalse(ok, report)
                self.assertGreater(findings, 0, report)
                self.assertIn(named, changed, report)
        beside = [name for name, *_, changed, outputs in found["wrong"] if len(changed) < len(outputs)]
        self.assertGreaterEqual(len(beside), BESIDE_RIGHT)


@unittest.skipIf(MISSING, MISSING)
class Forms(unittest.TestCase):
    def test_a_function_class_and_an_op(self):
        self.assertIn("backward_kernels.py:LayerNorm.apply is right for layer_norm in 4 cases", run_lines(
            'print(fusesmith.judge_backward(k.LayerNorm, "layer_norm", inputs=3, **few))'))

    def test_what_is_no_gradient(self):
        text = run_lines('for name in ("none", "other_shape", "other_dtype"):\n'
                         '    print(fusesmith.judge_backward((None, f"{K}layer_norm_of_{name}"), k.layer_norm, T, '
                         "**few).sentence)\n")
        self.assertIn("the function returned None as the gradient of w, which the reference has", text)
        self.assertRegex(text, r"the gradient of w is float32\[1,\d+\], expected float32\[\d+\]")
        self.assertRegex(text, r"the gradient of w is float64\[\d+\], expected float32\[\d+\]")

    def test_lines_that_run(self):
        text = run_lines("import subprocess, sys\n"
                         "result = fusesmith.judge_backward(k.LayerNormWithoutDw, k.layer_norm, T, **few)\n"
                         'print(result.snippet)\nsubprocess.run([sys.executable, "-c", result.snippet])\n'
                         'print(fusesmith.judge_backward(k.LayerNormWithoutDw, k.layer_norm, T, wrt=["x", "b"], '
                         "**few).ok)\n")
        self.assertIn("LayerNormWithoutDw.apply(x, w, b)", text)
        self.assertIn(", None, tensor(", text)  # what the lines print
        self.assertTrue(text.endswith("True\n"), text)

    def test_smaller_cases_keep_halves(self):
        """Where the second half of an axis begins does not follow from the types of a graph."""
        text = run_lines("import json\n"
                         'result = fusesmith.judge_backward((None, K + "rope_of_forward_sign"), k.rope, '
                         '["T[N,2*D]", "T[N,D]", "T[N,D]"], **few)\n'
                         "graph = json.load(open(result.case))['graph']\n"
                         "size = fusesmith.graph.Type(graph['inputs'][1]['type']).dims[1]\n"
                         "print({node['start'] / size for node in graph['nodes'] if node['op'] == 'slice'})\n")
        self.assertEqual(text, "{0.0, 1.0}\n")

    def test_errors(self):
        text = run_lines(
            "def error(*arguments, **named):\n"
            "    try:\n        fusesmith.judge_backward(*arguments, **named)\n"
            '    except fusesmith.Error as found:\n        print("Error:", found)\n'
            'error(k.layer_norm, k.layer_norm, T, wrt="y")\n'
            'error(k.layer_norm, "layer_norn")\n'
            'error(k.layer_norm, k.layer_norm)\n'
            'error(k.layer_norm, lambda x, w, b: x * 1.0, T, wrt=["w"])\n')
        for line in ('Error: wrt: no float input is called "y"',
                     'Error: unknown op "layer_norn" (did you mean "layer_norm"?)',
                     "Error: the reference is a function of torch tensors, with the types of its inputs",
                     "Error: the reference has no gradient of w"):
            self.assertIn(line, text)


if __name__ == "__main__":
    unittest.main()
