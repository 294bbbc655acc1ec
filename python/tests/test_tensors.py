"""Tests of `check`, which judges tensors that exist: by ops, graphs, functions and Definitions.

Usage: FUSESMITH_BINARY=build/release/fusesmith python/tests/test_tensors.py     (needs libfusesmith and numpy)
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from support import ErrorLines, fusesmith, library

try:
    import numpy as np
except ImportError:
    np = None
try:
    import torch
except ImportError:
    torch = None
try:
    WHY_NOT = None if np is not None and library.path() else "needs numpy"
except fusesmith.Error as error:
    WHY_NOT = str(error)

DEFINITION = {
    "name": "scaled_norm",
    "axes": {"M": {"type": "var"}, "H": {"type": "const", "value": 256}},
    "inputs": {"x": {"shape": ["M", "H"], "dtype": "bfloat16"}, "w": {"shape": ["H"], "dtype": "bfloat16"},
               "eps": {"shape": None, "dtype": "float32"}},
    "outputs": {"y": {"shape": ["M", "H"], "dtype": "bfloat16"}},
    "reference": "import torch\n\n@torch.no_grad()\ndef run(x, w, eps):\n    wide = x.float()\n"
                 "    r = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + eps)\n"
                 "    return (wide * r * w.float()).to(x.dtype)\n",
}


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def drawn(*shape, seed=1):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


@unittest.skipIf(WHY_NOT, WHY_NOT)
class Arrays(ErrorLines):
    def test_a_right_result_is_right(self):
        x = drawn(5, 64)
        verdict = fusesmith.check("softmax", [x], [softmax(x)], axis=-1)
        self.assertTrue(verdict)
        self.assertEqual(verdict.verdict, "reassociation")
        self.assertEqual((verdict.elements, verdict.all_elements, verdict.outside), (320, 320, 0))
        self.assertLess(verdict.resolution, 1e-4)
        fusesmith.assert_correct("softmax", x, softmax(x), axis=-1)

    def test_a_wrong_element_is_named(self):
        x = drawn(5, 64)
        y = softmax(x)
        y[3, 7] *= 1.0005
        verdict = fusesmith.check("softmax", {"x": x}, y, axis=-1, kernel="mine")
        self.assertFalse(verdict.ok)
        self.assertTrue(verdict.finding)
        self.assertEqual((verdict.value, verdict.index, verdict.outside), ("y", (3, 7), 1))
        self.assertEqual(verdict.got, float(y[3, 7]))
        self.assertLess(verdict.allowed[1], verdict.got)
        self.assertIn("of mine: y[3,7] is", verdict.sentence)
        with self.assertRaisesRegex(AssertionError, r"^defect: .*y\[3,7\] is"):
            fusesmith.assert_correct("softmax", x, y, axis=-1)

    def test_calls_are_judged_alone_and_in_their_order(self):
        calls = []
        for i in range(40):
            x = drawn(3 + i % 2, 32, seed=i)
            y = softmax(x)
            if i % 5 == 0:
                y[i % 3] = 0
            calls.append(([x], [y]))
        verdicts = fusesmith.check_each("softmax", calls, axis=-1)
        self.assertEqual([verdict.ok for verdict in verdicts], [i % 5 != 0 for i in range(40)])
        self.assertEqual(fusesmith.check_each("softmax", [], axis=-1), [])

    def test_any_strides_are_read(self):
        a, b = drawn(64, 12, seed=2).T[::-1, ::2], drawn(9, 64, seed=3)[:, ::2].T
        self.assertTrue(fusesmith.check("matmul", [a, b], np.asfortranarray(a @ b)))
        self.assertTrue(fusesmith.check("matmul", [a, b], (a @ b)[::-1]).finding)

    def test_results_of_several_outputs_and_of_indices(self):
        x = drawn(4, 33)
        mean, variance = x.mean(-1), x.var(-1, ddof=1)
        self.assertTrue(fusesmith.check("var_mean", [x], [variance, mean], axes=[-1]))
        self.assertTrue(fusesmith.check("var_mean", [x], [mean, variance], axes=[-1]).finding)
        table, rows = drawn(10, 4), np.array([9, 1, 9])
        self.assertTrue(fusesmith.check("gather", [table, rows], table[rows]))
        rows[1] = 2
        self.assertTrue(fusesmith.check("gather", [table, rows], table[[9, 1, 9]]).finding)
        self.check_error("indices known to lie in [0, 10)", fusesmith.check, "gather", [table, rows + 2],
                         table[[9, 2, 9]])

    def test_codes_of_quantized_dtypes(self):
        graph = fusesmith.Graph()
        q = graph.input("q", "s4[8]")
        graph.output(graph.cast(q, dtype="f32"))
        codes = np.array([0, 1, 7, -8, -1, 2, 3, 4], np.int8)
        self.assertTrue(fusesmith.check(graph, [codes], codes.astype(np.float32)))
        self.assertTrue(fusesmith.check(graph, [codes], codes.astype(np.float32) + 1).finding)
        self.check_error("9 is no number of s4", fusesmith.check, graph, [codes + np.int8(9)], codes.astype(np.float32))

    def test_sizes_of_a_graph_may_be_names(self):
        graph = fusesmith.Graph()
        a, b = graph.input("a", "T[N,D]"), graph.input("b", "T[D,2*D]")
        graph.output(graph.matmul(a, b))
        a, b = drawn(3, 16), drawn(16, 32)
        self.assertTrue(fusesmith.check(graph, [a, b], a @ b))
        self.check_error("b: D is 16, got f32[8,32]", fusesmith.check, graph, [a, b[:8]], a @ b)

    def test_a_contract_grants_what_it_declares(self):
        x = drawn(4, 16)
        y = softmax(x) * np.float32(1 + 40 * 2**-24)
        self.assertTrue(fusesmith.check("softmax", [x], y, axis=-1).finding)
        self.assertTrue(fusesmith.check("softmax", [x], y, axis=-1, contract={"arithmetic": {"exp": 64}}))

    def test_long_sums_are_decided(self):
        a, b = (drawn(6, 4096, seed=seed).astype(np.float16) for seed in (1, 2))
        y = a.astype(np.float32) @ b.astype(np.float32).T
        verdict = fusesmith.check("matmul", [a, b], y.astype(np.float16), transpose_b=True)
        self.assertTrue(verdict.ok, verdict)
        self.assertTrue(verdict.json["regions"][0]["probable_sums"])
        self.assertIn("or left undecided", verdict.sentence)

    def test_a_result_that_cannot_be_decided_is_neither(self):
        a, b = drawn(2, 4096), drawn(2, 4096, seed=5)
        a[:, 2048:], b[:, 2048:] = a[:, :2048], -b[:, :2048]  # the sum is 0
        y = np.full((2, 2), 1e-6, np.float32)
        verdict = fusesmith.check("matmul", [a, b], y, transpose_b=True)
        self.assertEqual((verdict.ok, verdict.finding, verdict.verdict), (False, False, "inconclusive"))
        with self.assertRaisesRegex(AssertionError, "^inconclusive: "):
            fusesmith.assert_correct("matmul", [a, b], y, transpose_b=True)
        fusesmith.assert_correct("matmul", [a, b], y, transpose_b=True, inconclusive=True)

    def test_what_is_wrong_is_said_in_one_line(self):
        x = drawn(3, 8)
        y = softmax(x)
        for expected, arguments, attributes in (
                ('unknown op "softmx" (did you mean "softmax"?)', ("softmx", [x], y), {}),
                ('unknown key "axs" (did you mean "axis"?)', ("softmax", [x], y), {"axs": -1}),
                ("softmax expected 1 input", ("softmax", [x, x], y), {}),
                ("output y: expected f32[3,8], got f32[2,8]", ("softmax", [x], y[:2]), {}),
                ("x: expected a tensor of one of float32, ", ("softmax", [x.astype(np.float64)], y), {}),
                ("x: expected a tensor of one of float32, ", ("softmax", ["text"], y), {}),
                ("what is the name of an op, a Graph,", (3, [x], y), {}),
                ("only ops have attributes, got axis", (softmax, [x], y), {"axis": -1}),
                ("an attribute is no value of JSON", ("scale", [x], y), {"factor": object()}),
                ("the contract is no JSON", ("relu", [x], y), {"contract": {"arithmetic": object()}}),
                ('elements is "sample" or "all"', ("softmax", [x], y), {"elements": "most"}),
                ('a Definition has the members "inputs"', ({"axes": {}}, [x], y), {}),
                ("No such file", (pathlib.Path("none.json"), [x], y), {})):
            with self.subTest(expected):
                self.check_error(expected, fusesmith.check, *arguments, **attributes)

    def test_a_library_that_is_none_is_named(self):
        with tempfile.NamedTemporaryFile(suffix=".so") as file:
            code = ("import fusesmith, numpy as np\nx = np.ones(2, 'f4')\ntry: fusesmith.check('relu', [x], x)\n"
                    "except fusesmith.Error as error: print(error)")
            environment = {**os.environ, "FUSESMITH_LIBRARY": file.name, "PYTHONPATH": os.pathsep.join(sys.path)}
            ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
        self.assertIn(f"{file.name}: expected libfusesmith.so", ran.stdout, ran.stderr)


@unittest.skipIf(WHY_NOT or torch is None, WHY_NOT or "needs torch")
class Torch(ErrorLines):
    def test_tensors_of_torch(self):
        x = torch.randn(8, 64, dtype=torch.bfloat16)[:, ::2]
        self.assertTrue(fusesmith.check("softmax", [x], torch.softmax(x, -1), axis=-1))
        self.assertTrue(fusesmith.check("softmax", [x], torch.softmax(x * 1.02, -1), axis=-1).finding)
        negated = torch._neg_view(x)
        self.assertTrue(fusesmith.check("relu", [negated], torch.relu(-x)))
        self.check_error("x: expected a tensor with data", fusesmith.check, "relu", [x.to("meta")], x)
        self.check_error("call 0: expected a pair", fusesmith.check_each, "relu", [x])
        self.check_error("expected a dense tensor", fusesmith.check, "relu", [torch.eye(3).to_sparse()], torch.eye(3))

    def test_a_function_is_traced_once_for_tensors_of_the_same_types(self):
        traced = []

        def attention(q, k, v):
            traced.append(1)
            return torch.softmax(q @ k.mT / 8, -1) @ v

        calls = []
        for _ in range(3):
            q, k, v = (torch.randn(2, 16, 64) for _ in range(3))
            calls.append(((q, k, v), torch.nn.functional.scaled_dot_product_attention(q, k, v)))
        self.assertTrue(all(fusesmith.check_each(attention, calls)))
        self.assertEqual(len(traced), 1)

    def test_a_reference_with_8_bit_floats(self):
        """A code has one right value, so that a quotient that is rounded twice is found."""
        f8 = torch.float8_e4m3fn

        def quantize(x, scaled=lambda blocks, scale: blocks / scale):
            blocks = x.float().reshape(x.shape[0], -1, 32)
            scale = blocks.abs().amax(-1, keepdim=True).clamp(min=1e-12) / torch.finfo(f8).max
            return scaled(blocks, scale).to(f8).reshape(x.shape), scale.squeeze(-1)

        x = torch.randn(64, 256, generator=torch.Generator().manual_seed(3)).bfloat16()
        self.assertTrue(fusesmith.check(lambda x: quantize(x), [x], quantize(x)))
        self.assertTrue(fusesmith.check(lambda x: quantize(x), [x], quantize(x, lambda b, s: b * (1 / s))))
        wrong = fusesmith.check(lambda x: quantize(x), [x], quantize(x, lambda b, s: (b / s).half()))
        self.assertTrue(wrong.finding, wrong)

        def product(a, b, scale):
            return (a.float() @ b.float().t() * scale).bfloat16()

        a, b, scale = torch.randn(8, 64).to(f8), torch.randn(16, 64).to(f8), torch.rand(16) + 1
        self.assertTrue(fusesmith.check(product, [a, b, scale], product(a, b, scale)))
        self.assertTrue(fusesmith.check(product, [a, b, scale], product(a, b, scale.roll(1))).finding)

    def test_a_definition(self):
        x, w = torch.randn(7, 256).bfloat16(), torch.randn(256).bfloat16()
        y = torch.nn.functional.rms_norm(x.float(), (256,), w.float(), 1e-5).bfloat16()
        self.assertTrue(fusesmith.check(DEFINITION, [x, w, 1e-5], y))
        self.assertTrue(fusesmith.check(DEFINITION, {"x": x, "w": w, "eps": 1e-5}, [y]))
        self.assertTrue(fusesmith.check(DEFINITION, [x, w, 0.1], y).finding, "the number counts")
        self.assertTrue(fusesmith.check(DEFINITION, [x, w, 1e-5], torch.zeros_like(y)).finding)
        self.check_error("eps: expected a number, got list", fusesmith.check, DEFINITION, [x, w, [1e-5]], y)
        self.check_error("expected the inputs x, w, eps, got x", fusesmith.check, DEFINITION, {"x": x}, y)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "definition.json"
            path.write_text(json.dumps(DEFINITION))
            self.assertTrue(fusesmith.check(path, [x, w, 1e-5], y))

    def test_a_reference_that_does_not_run_is_an_error(self):
        x = torch.randn(2, 256)
        for reference, expected in (("def run(x:", "the reference cannot be run: SyntaxError"),
                                    ("y = 1", "the reference does not define run"),
                                    ("def run(x, w, eps): raise ValueError('no')", "cannot be traced")):
            with self.subTest(reference):
                self.check_error(expected, fusesmith.check, {**DEFINITION, "reference": reference}, [x, x[0], 1e-5], x)


if __name__ == "__main__":
    unittest.main()
