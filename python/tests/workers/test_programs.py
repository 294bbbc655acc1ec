#!/usr/bin/env python3
"""Tests of `import` of torch.export: every value of a case is the one that PyTorch computes.

Usage: FUSESMITH_BINARY=build/release/fusesmith python/tests/workers/test_programs.py     (needs torch)
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

import workers  # finds the modules of the workers

# isort: split
from import_case import literal
from recorded_cases import LAWFUL, program

try:
    import torch
    from imported_program import ImportedProgram
    from program_models import MODELS
    from program_operators import GROUPS, ROUNDED_MORE, Calls, inputs
    from torch import library
except ImportError:
    sys.exit("needs torch")

def saved(model, inputs, form, folder):
    """(path, outputs of the model itself)"""
    path = os.path.join(folder, "program.pt2")
    with torch.no_grad():
        exported = torch.export.export(model.eval(), inputs)
        torch.export.save(exported if form == "plain" else exported.run_decompositions(), path)
        made = model(*(value.clone() for value in inputs))
    return path, [made] if isinstance(made, torch.Tensor) else list(made)


def imported_model(name, form, folder):
    torch.manual_seed(1)
    path, results = saved(*MODELS[name](), form, folder)
    return ImportedProgram(path), results


class Programs(unittest.TestCase):
    def check_program(self, imported, results, folder):
        self.check_results(imported, results)
        self.check_parts(imported, folder)
        self.check_accepted(os.path.join(folder, "program.pt2"), folder)

    def check_results(self, imported, results):
        """The program that the import reads computes what the model does."""
        self.assertEqual(len(imported.results), len(results))
        for found, expected in zip(imported.results, results, strict=True):
            torch.testing.assert_close(found, expected, equal_nan=True)

    def check_parts(self, imported, folder):
        for part, verdict in imported.judged_parts(folder):
            with self.subTest(nodes=part):
                self.assertIn(verdict["verdict"], LAWFUL, verdict)

    def check_inputs(self, imported):
        """Data that an input of the case has is PyTorch's value of that node."""
        kept = 0
        for given in json.loads(imported.case)["graph"]["inputs"]:
            if "literal" in given["fill"]:
                self.assertEqual(given["fill"], literal(imported.value(given["name"])), given["name"])
                kept += 1
        self.assertGreater(kept, 0)

    def check_accepted(self, path, folder):
        """The whole model is one case that the program reads."""
        environment = {**os.environ, "FUSESMITH_PYTHON": sys.executable, "FUSESMITH_WORKERS": workers.WORKERS}
        done = subprocess.run([program(), "import", path, f"--output={folder}/whole.json"], capture_output=True,
                              text=True, env=environment, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


class EveryValue(Programs):
    """For each model as it is exported, and decomposed into core ATen."""

    def check(self, form):
        for name in MODELS:
            with self.subTest(model=name, form=form), tempfile.TemporaryDirectory() as folder:
                imported, results = imported_model(name, form, folder)
                self.check_program(imported, results, folder)
                self.check_inputs(imported)

    def test_plain(self):
        self.check("plain")

    def test_decomposed(self):
        self.check("decomposed")


class EveryOperator(Programs):
    """Each call is mapped. What PyTorch makes of some of them when it decomposes them has no counterpart."""

    def check(self, dtype, form):
        for name, calls in GROUPS.items():
            calls = {key: call for key, call in calls.items() if key not in ROUNDED_MORE.get(dtype, ())}
            with self.subTest(calls=name, dtype=dtype, form=form), tempfile.TemporaryDirectory() as folder:
                torch.manual_seed(1)
                path, results = saved(Calls(calls), inputs(name, dtype), form, folder)
                imported = ImportedProgram(path)
                unmapped = imported.importer.unmapped_table()
                if form == "plain":
                    self.assertEqual(unmapped, [])
                if name == "rows":  # the softmax of attention is found among its parts
                    self.assertNotIn("aten.any.dim", [entry["op"] for entry in unmapped])
                self.check_program(imported, results, folder)

    def test_f32(self):
        self.check(torch.float32, "plain")

    def test_f32_decomposed(self):
        self.check(torch.float32, "decomposed")

    def test_f16(self):
        self.check(torch.float16, "plain")

    def test_bf16(self):
        self.check(torch.bfloat16, "plain")

    def test_bf16_decomposed(self):
        self.check(torch.bfloat16, "decomposed")


class WithIntegers(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("large", torch.tensor([1 << 40, 1, 2, 3]))
        self.register_buffer("from_the_end", torch.tensor([-1, 0]))

    def forward(self, x):
        return (x * self.large).tanh(), x[:, self.from_the_end].exp()


class Inputs(unittest.TestCase):
    """What cannot be a node of a case, or has no data, is an input, and the rest of the model is judged."""

    def said(self, path, folder):
        environment = {**os.environ, "FUSESMITH_PYTHON": sys.executable, "FUSESMITH_WORKERS": workers.WORKERS}
        done = subprocess.run([program(), "import", path, f"--output={folder}/case.json", "--json"], env=environment,
                              capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        with open(os.path.join(folder, "case.json"), encoding="utf-8") as file:
            return json.loads(done.stdout), [node["op"] for node in json.load(file)["graph"]["nodes"]]

    def test_integers_of_more_than_32_bits_and_a_node_that_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            said, ops = self.said(saved(WithIntegers(), (torch.randn(4, 4),), "plain", folder)[0], folder)
        self.assertEqual(said["approximated"], ["b_large"])
        self.assertEqual([entry["op"] for entry in said["unmapped"]], ["aten.index.Tensor"])
        self.assertIn("gather expected indices known to lie in [0, 4)", said["unmapped"][0]["why"])
        self.assertEqual(ops, ["cast", "mul", "tanh", "exp"])

    @classmethod
    def setUpClass(cls):
        cls.declared = library.Library("of_others", "DEF")  # for all tests: torch.ops keeps its operators
        cls.declared.define("halved(Tensor x, int? count=None) -> Tensor")
        cls.declared.impl("halved", lambda x, count=None: x / 2, "CompositeExplicitAutograd")
        cls.declared.define("parts(Tensor x, Tensor[] ys, float by=0.5) -> (Tensor, Tensor[])")
        cls.declared.impl("parts", lambda x, ys, by=0.5: (x[:, :2] * by, [y.t().double() for y in ys]),
                          "CompositeExplicitAutograd")

    def said_of_others(self, calls):
        with tempfile.TemporaryDirectory() as folder:
            said, ops = self.said(saved(Calls(calls), (torch.randn(4, 6),), "plain", folder)[0], folder)
        return [entry["op"] for entry in said["unmapped"]], sorted(ops)

    def test_operators_of_others(self):
        unmapped, ops = self.said_of_others({"a": lambda x: torch.ops.of_others.halved(x.relu(), 3).exp(),
                                             "b": lambda x: torch.ops.of_others.halved(x).tanh()})
        self.assertEqual((unmapped, ops), (["of_others.halved.default"], ["exp", "relu", "tanh"]))

    def test_operators_of_others_and_writes_in_place(self):
        """The program is rewritten with the types that its file gives to results of unknown operators."""
        def write(x):
            y = torch.ops.of_others.halved(x.relu())
            y[:, 0] = 0
            first, others = torch.ops.of_others.parts(y, [x[:3], y[:2]])
            return first.exp(), others[1].float().tanh()

        unmapped, ops = self.said_of_others({"a": lambda x: write(x)[0], "b": lambda x: write(x)[1]})
        self.assertEqual(unmapped, ["aten._to_copy.default", "of_others.halved.default", "of_others.parts.default"])
        self.assertEqual([ops.count(op) for op in ("relu", "exp", "tanh", "concat")], [2, 1, 1, 2])


if __name__ == "__main__":
    unittest.main()
