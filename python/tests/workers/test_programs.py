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
from import_case import as_dtype, case_graph, literal, made_by, type_text
from recorded_cases import LAWFUL, judged, program, write_recorded

try:
    import torch
    from import_torch import import_torch
    from program_models import MODELS
    from program_operators import GROUPS, ROUNDED_MORE, Calls, inputs
    from torch.library import Library
    from torch_program import loaded
except ImportError:
    sys.exit("needs torch")

LIBRARY = "torch"


class Recorded(torch.fx.Interpreter):
    """`values`: what every node of the program is, for PyTorch."""

    def __init__(self, exported):
        super().__init__(exported.graph_module)
        self.exported, self.values = exported, {}

    def run_node(self, node):
        made = super().run_node(node)
        # A copy: were there a write in place, the value must be that of the time when it was made.
        self.values[node.name] = made.clone() if isinstance(made, torch.Tensor) else made
        return made

    def results(self, samples):
        """The outputs of the program by name, as the model returns them."""
        signature, state = self.exported.graph_signature, self.exported.state_dict
        given = []
        for entry in signature.input_specs:
            held = state.get(entry.target, self.exported.constants.get(entry.target)) if entry.target else None
            given.append(samples[entry.arg.name].clone() if held is None else held.clone())
        made = self.run(*given, enable_io_processing=False)
        names = [spec.arg.name for spec in signature.output_specs]
        wanted = set(signature.user_outputs)
        return [value for name, value in zip(names, made, strict=True) if name in wanted]


def array_of(tensor, dtype):
    tensor = tensor.detach().contiguous()
    return as_dtype((tensor.float() if tensor.dtype == torch.bfloat16 else tensor).numpy(), dtype)


class ImportedProgram:
    """A program that was saved, what the import makes of it, and PyTorch's values of its nodes."""

    def __init__(self, path):
        self.program, self.samples = loaded(path, {})
        self.importer, self.outputs = import_torch(path, {})({})
        self.recorded = Recorded(self.program)
        with torch.no_grad():
            self.results = self.recorded.results(self.samples)
        self.lowering = self.importer.lowering
        self.nodes = {}  # of the program, by value of the case
        for node, value in self.lowering.values.items():
            for name, part in ([(value, None)] if isinstance(value, str) else
                               [(name, i) for i, name in enumerate(value) if name]):
                self.nodes.setdefault(name, (node.name, part))

    def value(self, name):
        """PyTorch's value of a value of the case, in the case's dtype."""
        if name in self.importer.constants:
            return array_of(self.importer.constants[name], self.dtype(name))
        node, part = self.nodes[name]
        made = self.recorded.values[node]
        return array_of(made if part is None else made[part], self.dtype(name))

    def dtype(self, name):
        return self.lowering.named(self.lowering.metas[name].dtype)

    def type(self, name):
        return type_text(self.dtype(name), self.lowering.metas[name].shape)

    def part_case(self, part, folder):
        """The case of the nodes that one node of the program became, on PyTorch's own operands."""
        made = {name for node in part for name in made_by(node)}
        read = [name for name in dict.fromkeys(v for node in part for v in node["inputs"]) if name not in made]
        results = {name: self.value(name) for name in sorted(made) if name in self.nodes}
        graph = case_graph(part, {name: self.type(name) for name in read},
                           {name: literal(self.value(name)) for name in read}, ())
        graph.outputs = list(results)
        return write_recorded(graph, results, {name: self.dtype(name) for name in results}, folder)


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
        parts = [part for part in imported.importer.parts
                 if any(value in imported.nodes for node in part for value in made_by(node))]
        self.assertEqual(len(parts), len(imported.importer.parts))
        paths = {imported.part_case(part, folder): part for part in parts}
        verdicts = judged(program(), list(paths), folder, LIBRARY)
        self.assertEqual(set(verdicts), set(paths))
        for path, part in paths.items():
            with self.subTest(nodes=part):
                self.assertIn(verdicts[path]["verdict"], LAWFUL, verdicts[path])

    def check_inputs(self, imported):
        """Data that an input of the case has is PyTorch's value of that node."""
        graph = imported.importer.graph([node for part in imported.importer.parts for node in part], imported.outputs)
        kept = 0
        for given in graph.inputs:
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

    def test_operators_of_others(self):
        declared = Library("of_others", "DEF")
        declared.define("halved(Tensor x, int? count=None) -> Tensor")
        declared.impl("halved", lambda x, count=None: x / 2, "CompositeExplicitAutograd")
        with tempfile.TemporaryDirectory() as folder:
            calls = Calls({"a": lambda x: torch.ops.of_others.halved(x.relu(), 3).exp(),
                           "b": lambda x: torch.ops.of_others.halved(x).tanh()})
            said, ops = self.said(saved(calls, (torch.randn(4, 4),), "plain", folder)[0], folder)
        self.assertEqual([entry["op"] for entry in said["unmapped"]], ["of_others.halved.default"])
        self.assertEqual(sorted(ops), ["exp", "relu", "tanh"])


if __name__ == "__main__":
    unittest.main()
