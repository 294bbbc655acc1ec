#!/usr/bin/env python3
"""Tests of `import` with files that want to run code, or to use up memory and time: one line, and nothing happens.

Usage: FUSESMITH_BINARY=build/release/fusesmith python/tests/workers/test_hostile_models.py
Needs onnx, and torch for .pt2.
"""

import io
import json
import os
import pickle
import subprocess
import sys
import tempfile
import unittest
import zipfile

import numpy as np
import workers
from onnx import TensorProto, helper
from recorded_cases import program

try:
    import torch
except ImportError:
    torch = None

USAGE, OUT_OF_MEMORY, TIMEOUT = 1, 71, 70


class Import(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.trace = os.path.join(self.folder, "trace")
        self.output = os.path.join(self.folder, "out.json")

    def path(self, name):
        return os.path.join(self.folder, name)

    def run_import(self, path, *flags):
        environment = {**os.environ, "FUSESMITH_PYTHON": sys.executable,
                       "FUSESMITH_WORKERS": workers.WORKERS}
        return subprocess.run([program(), "import", path, f"--output={self.output}", *flags], capture_output=True,
                              text=True, env=environment, check=False)

    def expect_refused(self, path, words, *flags, code=USAGE):
        done = self.run_import(path, *flags)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn(words, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertFalse(os.path.exists(self.output))
        self.assertFalse(os.path.exists(self.trace), "it ran code of the file")


class Touch:
    """Makes a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (self.path, "w")


def pickled_by_torch(made):
    buffer = io.BytesIO()
    torch.save(made, buffer)
    return buffer.getvalue()


@unittest.skipIf(torch is None, "no torch")
class Programs(Import):
    """Of torch.export: a good file in which one thing is changed."""

    def setUp(self):
        super().setUp()

        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.linear = torch.nn.Linear(4, 4)

            def forward(self, given):
                return self.linear(given["x"]).relu()

        torch.manual_seed(1)
        self.good = self.path("good.pt2")
        self.exported = torch.export.export(Model().eval(), ({"x": torch.ones(3, 4)},))
        torch.export.save(self.exported, self.good)

    def changed(self, changes, packed=zipfile.ZIP_STORED):
        """`changes`: new bytes of members by the end of their name, or functions of the bytes, or of the JSON."""
        path = self.path("bad.pt2")
        left = dict(changes)
        with zipfile.ZipFile(self.good) as source, zipfile.ZipFile(path, "w", packed) as target:
            for member in source.namelist():
                data = source.read(member)
                for end in [end for end in left if member.endswith(end)]:
                    change = left.pop(end)
                    if callable(change):
                        tree = json.loads(data)
                        change(tree)
                        data = json.dumps(tree).encode()
                    else:
                        data = change
                target.writestr(member, data)
            for name, data in left.items():
                target.writestr("good/" + name, data)
        return path

    def expect_trace_of_torch(self, path):
        """That the file is one that torch.export.load runs: otherwise the test shows nothing."""
        subprocess.run([sys.executable, "-c", "import sys, torch; torch.export.load(sys.argv[1])", path],
                       capture_output=True, check=False)
        self.assertTrue(os.path.exists(self.trace), "PyTorch does not run this any more")
        os.remove(self.trace)

    def expect_imported(self, path):
        done = self.run_import(path)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        with open(self.output, encoding="utf-8") as file:
            self.assertEqual([node["op"] for node in json.load(file)["graph"]["nodes"]], ["linear", "relu"])
        self.assertFalse(os.path.exists(self.trace), "it ran code of the file")

    def test_good_files_are_loaded(self):
        self.expect_imported(self.good)

    def test_sample_inputs_are_not_read(self):
        path = self.changed({"sample_inputs/model.pt": pickled_by_torch(((Touch(self.trace),), {}))})
        self.expect_trace_of_torch(path)
        self.expect_imported(path)

    def test_operators_that_open_files_are_not_run(self):
        """An import computes constants, and rewrites programs that write in place, both by running operators."""
        class Model(torch.nn.Module):
            def forward(self, x):
                y = x + torch.ones(4)
                return y.relu_() * 2

        torch.export.save(torch.export.export(Model(), (torch.ones(3, 4),)), self.good)

        def open_file(model, rewritten):
            nodes = model["graph_module"]["graph"]["nodes"]
            made = next(node for node in nodes if node["target"] == "torch.ops.aten.ones.default")
            values = {"filename": {"as_string": self.trace}, "shared": {"as_bool": True}, "size": {"as_int": 4}}
            made["target"] = "torch.ops.aten.from_file.default"
            made["inputs"] = [{"name": name, "arg": value, "kind": 1} for name, value in values.items()]
            if not rewritten:
                written = next(node for node in nodes if node["target"] == "torch.ops.aten.relu_.default")
                written["target"] = "torch.ops.aten.relu.default"

        path = self.changed({"models/model.json": lambda model: open_file(model, False)})
        subprocess.run([sys.executable, "-c", "import sys, torch; p = torch.export.load(sys.argv[1]); "
                        "torch.fx.Interpreter(p.graph_module).run(torch.ones(3, 4))", path],
                       capture_output=True, check=False)
        self.assertTrue(os.path.exists(self.trace), "PyTorch does not run this any more")
        os.remove(self.trace)
        self.assertEqual(self.run_import(path).returncode, 0)
        self.assertFalse(os.path.exists(self.trace), "it ran an operator of the file")
        os.remove(self.output)
        path = self.changed({"models/model.json": lambda model: open_file(model, True)})
        self.expect_refused(path, "aten.relu_.default (relu_: ")

    def test_weights_are_tensors_alone(self):
        def use_pickle(config):
            for entry in config["config"].values():
                entry["use_pickle"] = True

        path = self.changed({"model_weights_config.json": use_pickle,
                             "weights/weight_0": pickled_by_torch(Touch(self.trace)),
                             "weights/weight_1": pickled_by_torch(torch.ones(4))})
        self.expect_trace_of_torch(path)
        self.expect_refused(path, "expected a program of torch.export.save")

    def test_sizes_are_no_code(self):
        def add_size(model):
            sizes = model["graph_module"]["graph"]["tensor_values"]["relu"]["sizes"]
            sizes[0] = {"as_expr": {"expr_str": f"open({self.trace!r}, 'w')", "hint": {"as_int": 3}}}

        path = self.changed({"models/model.json": add_size})
        self.expect_trace_of_torch(path)
        self.expect_refused(path, "is not fixed")

    def test_containers_import_nothing(self):
        with open(self.path("touches.py"), "w", encoding="utf-8") as file:
            file.write(f"open({self.trace!r}, 'w').close()\n")

        def add_key(model):
            signature = model["graph_module"]["module_call_graph"][0]["signature"]
            version, spec = json.loads(signature["in_spec"])
            spec["children_spec"][0]["children_spec"][0]["context"] = json.dumps(
                [{"__enum__": True, "fqn": "touches:E", "name": "x"}])
            signature["in_spec"] = json.dumps([version, spec])

        path = self.changed({"models/model.json": add_key})
        os.environ["PYTHONPATH"] = self.folder
        self.addCleanup(os.environ.pop, "PYTHONPATH")
        self.expect_trace_of_torch(path)
        self.expect_refused(path, "keys that are no strings or numbers")

    def test_targets_are_operators(self):
        def call(model):
            model["graph_module"]["graph"]["nodes"][0]["target"] = "torch.os.system"

        self.expect_refused(self.changed({"models/model.json": call}), "is the name of no operator")

    def test_compiled_libraries_and_objects_are_not_loaded(self):
        self.expect_imported(self.changed({"data/aotinductor/model/model.wrapper.so": b"\x7fELF"}))
        os.remove(self.output)
        self.expect_refused(self.changed({"data/constants/custom_obj_0": b"PK"}), "custom object")

    def test_files_of_older_versions(self):
        artifact = torch._export.serde.serialize.serialize(self.exported)

        def saved(name, state):
            path = self.path(name)
            with zipfile.ZipFile(path, "w") as target:
                target.writestr("version", ".".join(map(str, torch._export.serde.schema.SCHEMA_VERSION)))
                target.writestr("serialized_exported_program.json", artifact.exported_program)
                target.writestr("serialized_state_dict.pt", state)
                target.writestr("serialized_constants.pt", artifact.constants)
                target.writestr("serialized_example_inputs.pt", pickle.dumps(Touch(self.trace)))
            return path

        self.expect_imported(saved("older.pt2", artifact.state_dict))
        os.remove(self.output)
        path = saved("evil.pt2", pickled_by_torch({"linear.weight": Touch(self.trace)}))
        self.expect_trace_of_torch(path)
        self.expect_refused(path, "expected a program of torch.export.save")

    def test_members_that_are_packed_zeros(self):
        path = self.changed({"weights/weight_0": bytes(50 << 20)}, zipfile.ZIP_DEFLATED)
        self.expect_refused(path, "52428800 bytes, packed into")

    def test_memory(self):
        self.expect_refused(self.good, "out of memory: the model needs more than --rss_limit_mb=300 allows",
                            "--rss_limit_mb=300", "--timeout=200", code=OUT_OF_MEMORY)


def model_of(nodes, functions=(), domains=()):
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [3]) for name in "xy")
    opsets = [helper.make_opsetid("", 20), *(helper.make_opsetid(domain, 1) for domain in domains)]
    return helper.make_model(helper.make_graph(nodes, "g", [x], [y]), functions=list(functions), opset_imports=opsets,
                             ir_version=10)


class Models(Import):
    """Of ONNX."""

    def saved(self, model):
        with open(self.path("model.onnx"), "wb") as file:
            file.write(model.SerializeToString())
        return self.path("model.onnx")

    def nested(self, levels, calls_itself=False):
        """Functions that each call the one before twice."""
        opsets = [helper.make_opsetid("", 20), helper.make_opsetid("d", 1)]
        functions = []
        for level in range(levels):
            called = ("Relu", "") if level == 0 else (f"f{level - 1}", "d")
            called = (f"f{levels - 1}", "d") if level == 0 and calls_itself else called
            body = [helper.make_node(called[0], [a], [b], domain=called[1]) for a, b in (("x", "a"), ("a", "y"))]
            functions.append(helper.make_function("d", f"f{level}", ["x"], ["y"], body, opsets))
        return model_of([helper.make_node(f"f{levels - 1}", ["x"], ["y"], domain="d")], functions, ["d"])

    def test_nested_functions_are_counted(self):
        for levels in (18, 40, 3000):
            self.expect_refused(self.saved(self.nested(levels)), "more than 131072 nodes", "--timeout=60")
        self.expect_refused(self.saved(self.nested(3, calls_itself=True)), "calls itself")
        self.assertEqual(self.run_import(self.saved(self.nested(4))).returncode, 0)

    def test_regular_expressions_are_not_tried(self):
        text = helper.make_node("Constant", [], ["s"], value_strings=["a" * 60 + "b"])
        expression = helper.make_node("RegexFullMatch", ["s"], ["r"], pattern="(a+)+")
        chosen = helper.make_node("Where", ["r", "x", "x"], ["y"])
        done = self.run_import(self.saved(model_of([text, expression, chosen])), "--timeout=60")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("RegexFullMatch", done.stdout)

    def test_memory_and_time(self):
        shape = helper.make_node("Constant", [], ["n"], value_ints=[1 << 14, 1 << 12])
        large = helper.make_node("ConstantOfShape", ["n"], ["zeros"])
        product = helper.make_node("MatMul", ["zeros", "other"], ["p"])
        other = helper.make_node("Constant", [], ["other"], value=helper.make_tensor(
            "t", TensorProto.FLOAT, [1 << 12, 1], np.zeros(1 << 12, np.float32)))
        total = helper.make_node("ReduceSum", ["p"], ["sum"], keepdims=0)
        added = helper.make_node("Add", ["x", "sum"], ["y"])
        path = self.saved(model_of([shape, large, other, product, total, added]))
        self.assertEqual(self.run_import(path).returncode, 0)
        os.remove(self.output)
        self.expect_refused(path, "out of memory", "--rss_limit_mb=1", code=OUT_OF_MEMORY)
        self.expect_refused(path, "no reply within the time limit", "--timeout=0.05", code=TIMEOUT)


if __name__ == "__main__":
    unittest.main()
