#!/usr/bin/env python3
"""Tests of `import` and `export --to=onnx`: every op there and back, judged by fusesmith, and models that are broken.

Usage: FUSESMITH_BINARY=build/release/fusesmith python/tests/workers/test_models.py     (needs onnx and onnxruntime)
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

import workers  # finds the modules of the workers

# isort: split
import export_onnx
import numpy as np
import onnx
import onnx_runner
import package  # noqa: F401 (finds fusesmith)
from fusesmith.graph import Graph
from fusesmith.vocabulary import FLOATS
from import_case import DataFiles, as_dtype, literal
from import_model import walk
from onnx import TensorProto, helper, numpy_helper
from onnx_import import IMPORTS
from onnx_reader import prepared
from protocol import Type
from recorded_cases import LAWFUL, judged, program, write_recorded
from test_workers import SAMPLES, sample_data


def sample_graph(number, op, attributes, inputs, outputs, dtype):
    """(Graph with literal data, arrays, types) of a sample of test_workers.py."""
    random = np.random.default_rng(1)
    name = f"y{number}"
    results = [name] if len(outputs) == 1 else [f"{name}.{i}" for i in range(len(outputs))]
    types = {f"x{i}": text.replace("T", dtype) for i, text in enumerate(inputs)}
    arrays = {value: sample_data(text, random) for value, text in types.items()}
    graph = Graph()
    for value, text in types.items():
        graph.input(value, text, literal(arrays[value]))
    graph.node(name, op, list(types), **attributes)
    graph.outputs = results
    return graph, arrays, {**types, **dict(zip(results, (text.replace("T", dtype) for text in outputs), strict=True))}


class RoundTrip(unittest.TestCase):
    """Results of ONNX Runtime on the exported model lie within the bounds of the case, and of its import."""

    def check(self, dtype):
        with tempfile.TemporaryDirectory() as folder:
            paths = {}
            for number, (op, attributes, inputs, outputs, _) in enumerate(SAMPLES):
                graph, arrays, types = sample_graph(number, op, attributes, inputs, outputs, dtype)
                model = export_onnx.export({"graph": graph.to_dict(), "types": types})
                results = onnx_runner.run(model, list(arrays.values()), "off", "CPUExecutionProvider")
                dtypes = {name: Type(text).dtype for name, text in types.items()}
                if dtypes[graph.outputs[0]] not in FLOATS:
                    continue  # constants
                paths[write_recorded(graph, results, dtypes, folder)] = op
                imported = self.imported_case(model, arrays, types, results, folder)
                if imported:
                    paths[imported] = f"imported {op}"
            verdicts = judged(program(), list(paths), folder, "onnxruntime")
            for path, what in paths.items():
                with self.subTest(what=what, dtype=dtype):
                    self.assertIn(verdicts[path]["verdict"], LAWFUL, verdicts[path].get("signature"))

    def imported_case(self, model, arrays, types, results, folder):
        """The import of the model, with its outputs renamed, so that they are recorded apart."""
        model = onnx.ModelProto.FromString(model)
        names = {output.name: f"z{output.name}" for output in model.graph.output}
        renamed(model.graph, names)
        data = {name: as_dtype(array, "f32") if Type(types[name]).dtype == "bf16" else array
                for name, array in arrays.items()}
        data = {name: bf16_values(arrays[name]) if Type(types[name]).dtype == "bf16" else array
                for name, array in data.items()}
        importer, _ = walk(prepared(model, {}), data)
        self.assertEqual(importer.unmapped_table(), [])
        if not importer.parts:  # a roll by nothing
            return None
        graph = importer.graph([node for part in importer.parts for node in part], [])
        graph.outputs = [importer.names[name] for name in names.values()]
        results = {importer.names[new]: results[old] for old, new in names.items()}
        return write_recorded(graph, results, importer.dtypes, folder)

    def test_f32(self):
        self.check("f32")

    def test_f16(self):
        self.check("f16")

    def test_bf16(self):
        self.check("bf16")


def bf16_values(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


def renamed(graph, names):
    for node in graph.node:
        for field in (node.input, node.output):
            for i, name in enumerate(field):
                field[i] = names.get(name, name)
    for value in [*graph.output, *graph.value_info]:
        value.name = names.get(value.name, value.name)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def model_of(nodes, inputs, outputs, initializers=(), opset=21):
    """A model whose values are floats of these shapes."""
    def described(shapes):
        return [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()]

    tensors = [numpy_helper.from_array(array, name) for name, array in dict(initializers).items()]
    graph = helper.make_graph([helper.make_node(*node[:3], **(node[3] if len(node) > 3 else {})) for node in nodes],
                              "model", described(inputs), described(outputs), tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


class Command(unittest.TestCase):
    """`fusesmith import` and `export` as users call them."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.output = os.path.join(self.folder, "out.json")

    def run_program(self, *arguments):
        environment = {**os.environ, "FUSESMITH_PYTHON": sys.executable,
                       "FUSESMITH_WORKERS": workers.WORKERS}
        return subprocess.run([program(), *arguments], capture_output=True, text=True, env=environment, check=False)

    def saved(self, model, name="model.onnx"):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(model if isinstance(model, bytes) else model.SerializeToString())
        return path

    def import_model(self, model, *flags):
        """(the case, the reply of --json)."""
        done = self.run_program("import", self.saved(model), f"--output={self.output}", "--json", *flags)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        with open(self.output, encoding="utf-8") as file:
            return json.load(file), json.loads(done.stdout)

    def check_refused(self, expected, path, *flags):
        before = sorted(os.listdir(self.folder))
        done = self.run_program("import", path, f"--output={self.output}", *flags)
        self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertIn(expected, done.stderr)
        self.assertEqual(sorted(os.listdir(self.folder)), before)

    RELU = [("Relu", ["x"], ["y"])]

    def test_operators_without_counterpart_are_named_and_their_results_are_inputs(self):
        model = model_of([("Relu", ["x"], ["a"]), ("Sin", ["a"], ["b"]), ("Sin", ["x"], ["c"]),
                          ("Add", ["b", "c"], ["d"]), ("Exp", ["d"], ["y"])], {"x": [2, 3]}, {"y": [2, 3]})
        case, reply = self.import_model(model)
        self.assertEqual(reply["unmapped"], [{"op": "Sin", "count": 2, "why": "no op stands for it", "nodes": [
            {"node": name, "module": "", "line": ""} for name in ("b", "c")]}])
        self.assertEqual([given["name"] for given in case["graph"]["inputs"]], ["x", "b", "c"])
        self.assertEqual([node["op"] for node in case["graph"]["nodes"]], ["relu", "add", "exp"])
        self.assertEqual(case["graph"]["outputs"], ["y", "a"])

    def test_constants(self):
        small, large = np.array([1, np.inf, -0.0], np.float32), np.arange(3 * 4096, dtype=np.float32).reshape(4096, 3)
        huge = np.arange(1 << 22, dtype=np.float32).reshape(-1, 4096) / 1e4
        equal = np.full((4096, 4096), 0.25, np.float32)
        model = model_of([("Add", ["x", "small"], ["a"]), ("MatMul", ["large", "a"], ["b"]),
                          ("MatMul", ["huge", "b"], ["c"]), ("MatMul", ["equal", "b"], ["d"])],
                         {"x": [3]}, {"c": [1024], "d": [4096]},
                         {"small": small, "large": large, "huge": huge, "equal": equal})
        case, reply = self.import_model(model)
        fills = {given["name"]: given["fill"] for given in case["graph"]["inputs"]}
        self.assertEqual(fills["small"], {"literal": {"bits": "3f8000007f80000080000000"}})
        self.assertEqual(fills["large"], literal(large))
        self.assertEqual(fills["equal"], {"constant": {"value": 0.25}})
        self.assertEqual((list(fills["huge"]), reply["approximated"]), (["file"], []))
        with open(os.path.join(self.folder, "data", fills["huge"]["file"]["sha256"]), "rb") as file:
            self.assertEqual(file.read(), huge.tobytes())
        case, reply = self.import_model(model, "--data=drawn")
        fills = {given["name"]: given["fill"] for given in case["graph"]["inputs"]}
        self.assertEqual(fills["large"], literal(large))
        self.assertAlmostEqual(fills["huge"]["normal"]["mean"], huge.mean(), places=1)
        self.assertAlmostEqual(fills["huge"]["normal"]["stddev"], huge.std(), places=1)
        self.assertEqual(reply["approximated"], ["huge"])

    def test_data_in_files_is_that_of_each_array(self):
        files = DataFiles()
        for value in (0, 0, 1, 1, 2, 2):  # an array that goes leaves its place in memory to the next one
            name = files.fill(np.full(4096, value, np.float32))["file"]["sha256"]
            self.assertEqual(set(files.arrays[name]), {value})
        self.assertEqual(len(files.arrays), 3)

    def test_data_of_inputs(self):
        model = model_of([("Gather", ["table", "i"], ["a"]), ("Relu", ["x"], ["y"])], {"x": [2], "i": [3]},
                         {"a": [3, 2], "y": [2]}, {"table": np.ones((5, 2), np.float32)})
        model.graph.input[1].type.tensor_type.elem_type = TensorProto.INT64
        path = os.path.join(self.folder, "inputs.npz")
        x = np.array([1.5, -2], np.float32)
        np.savez(path, x=x, i=np.array([4, 0, 2]))
        case, _ = self.import_model(model, f"--data={path}")
        fills = {given["name"]: given["fill"] for given in case["graph"]["inputs"]}
        self.assertEqual((fills["x"], fills["i"]), (literal(x), literal(np.array([4, 0, 2], np.int32))))
        saved = self.saved(model)
        for arrays, why in (({"z": x}, 'no input "z"; it has i, x'), ({"x": x[:1]}, '"x" is float32[1], and'),
                            ({"i": np.zeros(3, np.int32)}, '"i" is int32[3], and')):
            np.savez(path, **arrays)
            self.check_refused(why, saved, f"--data={path}")
        np.save(path + ".npy", x)
        for content in (b"no archive", read(path + ".npy"), read(path)[:-60]):
            with open(path, "wb") as file:
                file.write(content)
            self.check_refused("expected a file of numpy.savez", saved, f"--data={path}")
        self.check_refused("No such file", saved, f"--data={path}.npz")

    def test_a_node_that_is_no_node_of_a_case_is_an_input(self):
        """Eps of 1e-12 in f32, which is less than the 1e-12 of f64, and an eps that no norm of ours has."""
        weights = {"one": np.ones(8, np.float32)}
        model = model_of([("Relu", ["x"], ["a"]),
                          ("LayerNormalization", ["a", "one"], ["b"], {"epsilon": 1e-12}),
                          ("LayerNormalization", ["b", "one"], ["c"], {"epsilon": 1e-13}),
                          ("Tanh", ["c"], ["y"])], {"x": [4, 8]}, {"y": [4, 8]}, weights)
        case, reply = self.import_model(model)
        self.assertEqual([node["op"] for node in case["graph"]["nodes"]], ["relu", "layer_norm", "tanh"])
        self.assertEqual(case["graph"]["nodes"][1]["eps"], 1e-12)
        self.assertEqual([(entry["op"], entry["nodes"][0]["node"]) for entry in reply["unmapped"]],
                         [("LayerNormalization", "c")])
        self.assertIn("eps lies between 1e-12 and 1", reply["unmapped"][0]["why"])

    def test_sizes_by_name(self):
        model = model_of([("Relu", ["x"], ["a"]), ("Flatten", ["a"], ["y"])], {"x": ["batch", 2, None]},
                         {"y": ["batch", None]})
        path = self.saved(model)
        self.check_refused("add --dim batch=VALUE, --dim x.2=VALUE", path)
        self.check_refused("add --dim x.2=VALUE", path, "--dim=batch=4")
        self.check_refused('no input has a size named "bach"', path, "--dim=batch=4,x.2=3,bach=1")
        self.check_refused("--dim=batch=0: expected NAME=VALUE", path, "--dim=batch=0")
        case, _ = self.import_model(model, "--dim=batch=4,x.2=5")
        self.assertEqual(case["graph"]["inputs"][0]["type"], "f32[4,2,5]")
        self.assertEqual(case["graph"]["nodes"][1]["shape"], [4, 10])

    def test_broken_models(self):
        good = model_of(self.RELU, {"x": [2, 3]}, {"y": [2, 3]}, {"w": np.ones(4000, np.float32)})
        self.check_refused("truncated or has another format", self.saved(good.SerializeToString()[:-4100]))
        self.check_refused("no graph or no opset", self.saved(b""))
        self.check_refused("truncated or has another format", self.saved(b"\x00" * 100))
        self.check_refused("cannot be read: No such file", os.path.join(self.folder, "none.onnx"))
        self.check_refused("cannot be read: Is a directory", self.folder)
        for opset in (16, 24):
            model = model_of(self.RELU, {"x": [2, 3]}, {"y": [2, 3]}, opset=opset)
            self.check_refused(f"opset {opset}, expected 17 to 23", self.saved(model))
        cyclic = model_of([("Add", ["x", "y"], ["a"]), ("Relu", ["a"], ["y"])], {"x": [2]}, {"y": [2]})
        self.check_refused("no valid ONNX model", self.saved(cyclic))
        empty = model_of(self.RELU, {"x": [0, 3]}, {"y": [0, 3]})
        self.check_refused('input "x": axis 0 has size 0', self.saved(empty))
        self.check_refused("nothing of the model has a counterpart: Sin",
                           self.saved(model_of([("Sin", ["x"], ["y"])], {"x": [2]}, {"y": [2]})))

    def test_missing_external_data(self):
        model = model_of([("Add", ["x", "w"], ["y"])], {"x": [2]}, {"y": [2]}, {"w": np.ones(2, np.float32)})
        onnx.external_data_helper.convert_model_to_external_data(model, location="weights.bin", size_threshold=0)
        path = os.path.join(self.folder, "model.onnx")
        onnx.save(model, path)
        self.assertEqual(self.run_program("import", path, f"--output={self.output}").returncode, 0)
        os.unlink(self.output)
        os.unlink(os.path.join(self.folder, "weights.bin"))
        self.check_refused('the external data of "w" is missing: weights.bin', path)

    def test_parts_of_a_model(self):
        nodes = [("Tanh", [f"v{i}"], [f"v{i + 1}"]) for i in range(10)]
        path = self.saved(model_of(nodes, {"v0": [2, 3]}, {"v10": [2, 3]}))
        folder = os.path.join(self.folder, "parts")
        done = self.run_program("import", path, f"--output={folder}", "--split=4", "--json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(sorted(os.listdir(folder)), ["model-0.json", "model-1.json", "model-2.json"])
        judged_parts = self.run_program("replay", folder, "--baseline=cpu", "--candidate=cpu_fused")
        self.assertEqual(judged_parts.returncode, 0, judged_parts.stdout)

    def test_documentation_has_every_operator(self):
        with open(os.path.join(workers.ROOT, "docs", "export.md"), encoding="utf-8") as file:
            text = file.read().split("\n## Importing models\n")[1]
        self.assertEqual([name for name in IMPORTS if f"`{name}`" not in text], [])

    def test_gelu_of_exporters(self):
        root, half, one = (np.array(v, np.float32) for v in (2**0.5, 0.5, 1))
        numbers = {"root": root, "half": half, "one": one}
        inner = [("Div", ["x", "root"], ["a"]), ("Erf", ["a"], ["b"]), ("Add", ["b", "one"], ["c"])]
        for last in ([("Mul", ["x", "c"], ["d"]), ("Mul", ["d", "half"], ["y"])],
                     [("Mul", ["x", "half"], ["d"]), ("Mul", ["d", "c"], ["y"])],
                     [("Mul", ["c", "half"], ["d"]), ("Mul", ["x", "d"], ["y"])]):
            with self.subTest(last=last):
                case, _ = self.import_model(model_of(inner + last, {"x": [4]}, {"y": [4]}, numbers, opset=17))
                self.assertEqual([node["op"] for node in case["graph"]["nodes"]], ["gelu"])
        other = [("Mul", ["x", "c"], ["d"]), ("Mul", ["d", "one"], ["y"])]
        case, _ = self.import_model(model_of(inner + other, {"x": [4]}, {"y": [4]}, numbers))
        ops = [node["op"] for node in case["graph"]["nodes"]]
        self.assertEqual((ops.count("erf"), ops.count("gelu")), (1, 0))

    def test_exported_files_run_without_fusesmith(self):
        g = Graph()
        g.input("x", "bf16[4,8]")
        g.node("p", "softcap", ["x"], cap=3)
        g.node("q", "softmax", ["p"], axis=-1)
        g.outputs = ["q"]
        g.save(os.path.join(self.folder, "case.json"))
        done = self.run_program("export", os.path.join(self.folder, "case.json"), "--to=onnx",
                                f"--output={self.folder}/out.onnx")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(sorted(os.listdir(self.folder)), ["case.json", "out.npz", "out.onnx", "out.py"])
        ran = subprocess.run([sys.executable, f"{self.folder}/out.py"], capture_output=True, text=True, check=False,
                             cwd="/", env={"PATH": os.environ["PATH"]})
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual(ran.stdout.count(": q float32[4, 8]: "), 4, ran.stdout)
        again = self.run_program("import", f"{self.folder}/out.onnx", f"--output={self.output}")
        self.assertEqual(again.returncode, 0, again.stderr)
        with open(self.output, encoding="utf-8") as file:
            nodes = json.load(file)["graph"]["nodes"]
        self.assertEqual([node["op"] for node in nodes], ["softcap", "softmax"])

    PROGRAM = """
import sys, torch, torch.nn as nn
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.norm, self.linear = nn.Embedding(50, 32), nn.LayerNorm(32), nn.Linear(32, 256)
    def forward(self, tokens):
        x = self.norm(self.table(tokens))
        return nn.functional.gelu(self.linear(torch.sin(x) + x)).softmax(-1)
class Wide(nn.Module):
    def forward(self, x):
        return x.relu()
torch.manual_seed(1)
torch.export.save(torch.export.export(Block().eval(), (torch.zeros(2, 7, dtype=torch.int64),)), sys.argv[1])
torch.export.save(torch.export.export(Wide(), (torch.ones(3, 4),), dynamic_shapes=({0: torch.export.Dim("n")},)),
                  sys.argv[2])
"""

    def test_exported_files_have_the_results_on_demand(self):
        g = Graph()
        g.input("a/b-c", "f32[4,8]")
        g.node("y", "softmax", ["a/b-c"], axis=-1)
        g.outputs = ["y"]
        g.save(os.path.join(self.folder, "case.json"))
        done = self.run_program("export", os.path.join(self.folder, "case.json"), "--to=onnx", "--with_results",
                                "--baseline=cpu", "--candidate=cpu_fused", f"--output={self.folder}/out.onnx")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        ran = subprocess.run([sys.executable, f"{self.folder}/out.py"], capture_output=True, text=True, check=False)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertGreaterEqual(ran.stdout.count(", inside of "), 4, ran.stdout)
        self.assertNotIn("OUTSIDE", ran.stdout)

    def test_the_reference_of_onnx_decides_what_onnx_runtime_leaves_open(self):
        for dtype, bits in (("f16", [0x3555, 0x4200]), ("bf16", [0x3eab, 0x4040])):  # 1/3 and 3
            with self.subTest(dtype):
                g = Graph()
                g.input("x", f"{dtype}[2]")
                g.node("wide", "cast", ["x"], dtype="f32")
                g.node("y", "scale", ["wide"], factor=2)
                g.node("z", "cast", ["y"], dtype=dtype)
                g.outputs = ["z"]
                g.save(os.path.join(self.folder, "case.json"))
                path = os.path.join(self.folder, "out.onnx")
                self.assertEqual(self.run_program("export", os.path.join(self.folder, "case.json"), "--to=onnx",
                                                  f"--output={path}").returncode, 0)
                given = np.array(bits, np.uint16)
                results = onnx_runner.run_reference(path, [given.view(np.float16) if dtype == "f16" else given])
                want = onnx_runner.run(path, [given.view(np.float16) if dtype == "f16" else given], "off",
                                       "CPUExecutionProvider")
                self.assertEqual(results["z"].tolist(), want["z"].tolist(), results)
                self.assertAlmostEqual(float(results["z"][0]), 2 / 3, delta=2e-3)

    def test_programs_of_torch_export(self):
        fixed, dynamic = (os.path.join(self.folder, name) for name in ("fixed.pt2", "dynamic.pt2"))
        made = subprocess.run([sys.executable, "-c", self.PROGRAM, fixed, dynamic], capture_output=True, text=True,
                              check=False)
        if "No module named 'torch'" in made.stderr:
            self.skipTest("no torch")
        self.assertEqual(made.returncode, 0, made.stderr)
        self.check_refused('the input "x" has sizes that are not fixed', dynamic)
        self.check_refused('no input has a size named "n"', fixed, "--dim=n=3")
        self.check_refused("expected a program of torch.export.save", self.saved(b"PK", "broken.pt2"))
        done = self.run_program("import", fixed, f"--output={self.output}", "--json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        reply = json.loads(done.stdout)
        self.assertEqual([entry["op"] for entry in reply["unmapped"]], ["aten.sin.default"])
        with open(self.output, encoding="utf-8") as file:
            graph = json.load(file)["graph"]
        self.assertEqual([node["op"] for node in graph["nodes"]],
                         ["gather", "layer_norm", "add", "linear", "gelu", "softmax"])
        fills = {given["name"]: given["fill"] for given in graph["inputs"]}
        self.assertEqual(fills["tokens"], {"tokens": {"count": 50}})
        self.assertEqual(list(fills["sin"]), ["normal"])
        replayed = self.run_program("replay", self.output, "--baseline=cpu", "--candidate=cpu_fused")
        self.assertEqual(replayed.returncode, 0, replayed.stdout)


if __name__ == "__main__":
    unittest.main()
