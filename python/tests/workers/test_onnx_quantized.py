#!/usr/bin/env python3
"""Tests of the operators that quantized values have in ONNX, and of those that ONNX Runtime makes of them.

Usage: python/tests/workers/test_onnx_quantized.py      (with the interpreter that has onnx and onnxruntime)
"""

import collections
import importlib.util
import os
import subprocess
import tempfile
import unittest

import workers  # noqa: F401 (finds the modules of the workers)

# isort: split
import numpy as np
from client import Worker, to_f64, to_storage
from fusesmith.vocabulary import DTYPES
from protocol import Graph, Type

SATURATING = {"overflow": "saturate", "rounding": "nearest"}
SPECIAL = {"overflow": "special", "rounding": "nearest"}
TRANSPOSED_B = {"transpose_a": False, "transpose_b": True}


class Case:
    """A graph of `nodes` (name, op, inputs, attributes), whose last value is the result, and data for its inputs."""

    def __init__(self, types, *nodes, outputs=None):
        self.types = types
        self.nodes = [{"name": name, "op": op, "inputs": inputs, **attributes}
                      for name, op, inputs, attributes in nodes]
        made = {node["name"] for node in self.nodes}
        self.inputs = [name for name in types if name not in made]
        self.outputs = outputs or [self.nodes[-1]["name"]]

    def graph(self):
        graph = {"inputs": [{"name": name, "type": self.types[name]} for name in self.inputs], "nodes": self.nodes,
                 "outputs": self.outputs}
        return Graph({"graph": graph, "types": self.types})

    def data(self, seed=1):
        """Bits: codes over the whole range, scales that are whole numbers of 2^-6, so that sums are exact."""
        random, arrays = np.random.default_rng(seed), {}
        for name in self.inputs:
            kind = Type(self.types[name])
            if name == "s" or name.startswith("s_"):
                values = random.integers(1, 32, kind.shape) / 64
            elif kind.dtype in ("s8", "s4"):
                values = random.integers(DTYPES[kind.dtype]["lowest"], DTYPES[kind.dtype]["max_finite"] + 1, kind.shape)
            else:
                values = random.integers(-64, 64, kind.shape) / 8
            arrays[name] = to_storage(values, kind.dtype)
        return arrays

    def numbers(self, arrays):
        return {name: to_f64(array, Type(self.types[name]).dtype) for name, array in arrays.items()}


def dequantized(codes, scale, dtype, cast="f32"):
    """Codes of this type, and this type of scale."""
    shape = codes.partition("[")[2]
    return Case({"c": f"{dtype}[{shape}", "s": f"{cast}{scale}", "x": f"{cast}[{shape}", "y": f"{cast}[{shape}"},
                ("x", "cast", ["c"], {"dtype": cast, **SPECIAL}), ("y", "mul", ["x", "s"], {}))


def quantized(x, scale, dtype):
    shape = x.partition("[")[2]
    return Case({"x": f"f32[{shape}", "s": f"f32{scale}", "q": f"f32[{shape}", "y": f"{dtype}[{shape}"},
                ("q", "div", ["x", "s"], {}), ("y", "cast", ["q"], {"dtype": dtype, **SATURATING}))


def weight_product(dtype, block, cast="f32", shape="3,64", op="linear"):
    """x [.., 64] times a weight of 32 rows of codes."""
    rows = f"[32,{64 // block},{block}]"
    out = f"{shape.rpartition(',')[0]},32"
    return Case({"x": f"{cast}[{shape}]", "c": f"{dtype}{rows}", "s": f"{cast}[32,{64 // block},1]",
                 "d": f"{cast}{rows}", "e": f"{cast}{rows}", "w": f"{cast}[32,64]", "y": f"{cast}[{out}]"},
                ("d", "cast", ["c"], {"dtype": cast, **SPECIAL}), ("e", "mul", ["s", "d"], {}),
                ("w", "reshape", ["e"], {"shape": [32, 64]}),
                ("y", op, ["x", "w"], TRANSPOSED_B if op == "matmul" else {}))


def product_of_codes(op, with_result_codes):
    """Activations that are quantized and dequantized, times a weight of s8 with one scale."""
    cast = {"dtype": "f32", **SPECIAL}
    nodes = [("a", "div", ["x", "s"], {}), ("b", "cast", ["a"], {"dtype": "s8", **SATURATING}),
             ("d", "cast", ["b"], cast), ("e", "mul", ["d", "s"], {}), ("f", "cast", ["c"], cast),
             ("w", "mul", ["f", "s_w"], {}), ("y", op, ["e", "w"], TRANSPOSED_B if op == "matmul" else {})]
    types = {"x": "f32[3,8]", "s": "f32[1,1]", "c": "s8[4,8]", "s_w": "f32[1,1]", "s_y": "f32[1,1]",
             **dict.fromkeys("ade", "f32[3,8]"), "b": "s8[3,8]", **dict.fromkeys("fw", "f32[4,8]"), "y": "f32[3,4]"}
    if not with_result_codes:
        del types["s_y"]
        return Case(types, *nodes)
    nodes += [("g", "div", ["y", "s_y"], {}), ("h", "cast", ["g"], {"dtype": "s8", **SATURATING}),
              ("i", "cast", ["h"], cast), ("z", "mul", ["i", "s_y"], {})]
    return Case({**types, "g": "f32[3,4]", "h": "s8[3,4]", "i": "f32[3,4]", "z": "f32[3,4]"}, *nodes)


def operators(model):
    return collections.Counter(node.op_type for node in model.graph.node)


@unittest.skipUnless(importlib.util.find_spec("onnx"), "no onnx")
class RecognisedTest(unittest.TestCase):
    """Which operators the model has."""

    def model(self, case):
        import onnx
        import onnx_model

        graph = case.graph()
        model = onnx_model.build(graph, graph.nodes, graph.inputs, graph.results(), set())
        onnx.checker.check_model(model, full_check=True)
        return model

    def check(self, case, op, has_one=True):
        found = operators(self.model(case))
        self.assertEqual(found[op], int(has_one), found)
        other = "Mul" if op == "DequantizeLinear" else "Div"
        self.assertEqual(found[other], int(not has_one), found)

    def test_dequantized(self):
        for dtype in ("s8", "s4", "f8e4m3", "f8e5m2"):
            for cast in ("f32", "f16"):
                for shape, scale in (("[6]", "[1]"), ("[3,8]", "[1,1]"), ("[3,8]", "[3,1]"), ("[2,3,8]", "[2,3,1]")):
                    with self.subTest(dtype=dtype, cast=cast, shape=shape, scale=scale):
                        self.check(dequantized(shape, scale, dtype, cast), "DequantizeLinear")

    def test_quantized(self):
        for dtype in ("s8", "s4", "f8e4m3", "f8e5m2"):
            for shape, scale in (("[6]", "[1]"), ("[3,8]", "[1,1]"), ("[3,8]", "[3,1]"), ("[2,3,8]", "[2,3,1]")):
                with self.subTest(dtype=dtype, shape=shape, scale=scale):
                    self.check(quantized(shape, scale, dtype), "QuantizeLinear")

    def test_blocks_become_rows(self):
        model = self.model(weight_product("s4", 16))
        self.assertEqual(operators(model)["DequantizeLinear"], 1)
        node = next(node for node in model.graph.node if node.op_type == "DequantizeLinear")
        self.assertEqual(node.output, ["w"], "the reshape that merges blocks belongs to the pair")
        self.assertEqual({a.name: a.i for a in node.attribute}, {"axis": 1, "block_size": 16})

    def test_other_scales(self):
        for shape, scale in (("[3,8]", "[8]"), ("[3,8]", "[3,8]"), ("[2,3,8]", "[3,1]"), ("[3,8]", "[1,8]"),
                             ("[2,3,8]", "[2,1,1]")):
            with self.subTest(shape=shape, scale=scale):
                self.check(dequantized(shape, scale, "s8"), "DequantizeLinear", has_one=False)
                self.check(quantized(shape, scale, "s8"), "QuantizeLinear", has_one=False)

    def test_other_dtypes(self):
        self.check(dequantized("[3,8]", "[3,1]", "s8", "bf16"), "DequantizeLinear", has_one=False)
        self.check(dequantized("[3,8]", "[3,1]", "f8e8m0"), "DequantizeLinear", has_one=False)
        self.check(quantized("[3,8]", "[3,1]", "f8e8m0"), "QuantizeLinear", has_one=False)

    def test_other_readers(self):
        for values in (["x", "y"], ["y", "x"]):  # the cast is an output
            case = dequantized("[3,8]", "[3,1]", "s8")
            case.outputs = values
            self.check(case, "DequantizeLinear", has_one=False)
        case = dequantized("[3,8]", "[3,1]", "s8")
        case.types["z"] = "f32[3,8]"
        case.nodes.append({"name": "z", "op": "add", "inputs": ["x", "y"]})
        case.outputs = ["z"]
        self.check(case, "DequantizeLinear", has_one=False)
        case = quantized("[3,8]", "[3,1]", "s8")
        case.outputs = ["y", "q"]
        self.check(case, "QuantizeLinear", has_one=False)

    def test_other_roundings(self):
        for rounding in ("down", "up"):
            case = quantized("[3,8]", "[3,1]", "s8")
            case.nodes[-1]["rounding"] = rounding
            self.check(case, "QuantizeLinear", has_one=False)

    def test_a_reciprocal(self):
        """x times 1 / scale rounds twice before the cast."""
        types = {"x": "f32[3,8]", "s": "f32[3,1]", "one": "f32[1]", "r": "f32[3,1]", "q": "f32[3,8]", "y": "s8[3,8]"}
        case = Case(types, ("r", "div", ["one", "s"], {}), ("q", "mul", ["x", "r"], {}),
                    ("y", "cast", ["q"], {"dtype": "s8", **SATURATING}))
        self.assertEqual(operators(self.model(case))["QuantizeLinear"], 0)


@unittest.skipUnless(importlib.util.find_spec("onnxruntime"), "no onnxruntime")
class FusedTest(unittest.TestCase):
    """What ONNX Runtime makes of constants, and what the worker computes with it."""

    def optimized(self, case):
        import onnx
        import onnx_model
        import onnx_quantized
        import onnxruntime

        graph, arrays = case.graph(), case.data()
        constants = {name: arrays[name] for name in onnx_quantized.constant_inputs(graph)}
        constants = {name: (array.view(np.int8) ^ 8) - 8 if case.types[name].startswith("s4") else array
                     for name, array in constants.items()}
        model = onnx_model.build(graph, graph.nodes, graph.inputs, graph.results(), set(), constants=constants)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        with tempfile.TemporaryDirectory() as folder:
            options.optimized_model_filepath = os.path.join(folder, "optimized.onnx")
            onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
            return operators(onnx.load(options.optimized_model_filepath))

    def test_products_of_weights(self):
        for dtype in ("s4", "s8"):
            for block in (16, 32):
                for shape, op in (("3,64", "linear"), ("2,3,64", "linear"), ("3,64", "matmul")):
                    with self.subTest(dtype=dtype, block=block, shape=shape, op=op):
                        found = self.optimized(weight_product(dtype, block, shape=shape, op=op))
                        self.assertEqual(found, {"MatMulNBits": 1})

    def test_products_of_codes(self):
        for op, with_result_codes, made in (("matmul", False, "MatMulIntegerToFloat"),
                                            ("matmul", True, "QLinearMatMul"), ("linear", True, "QGemm")):
            with self.subTest(made=made):
                found = self.optimized(product_of_codes(op, with_result_codes))
                self.assertEqual(found[made], 1, found)

    def test_small_blocks_are_not_fused(self):
        self.assertEqual(self.optimized(weight_product("s4", 8))["MatMulNBits"], 0)


@unittest.skipUnless(importlib.util.find_spec("onnxruntime"), "no onnxruntime")
class ComputedTest(unittest.TestCase):
    """Results are those of the pairs' definitions; the data make products exact."""

    @classmethod
    def setUpClass(cls):
        cls.workers = {mode: Worker("onnx/ort_worker.py", mode, subprocess.DEVNULL)
                       for mode in ("off", "all", "all+constants")}

    @classmethod
    def tearDownClass(cls):
        for worker in cls.workers.values():
            worker.close()

    def results(self, mode, case, seeds=(1,)):
        worker = self.workers[mode]
        plan = worker.compile(case.nodes, case.types, case.inputs, case.outputs)
        self.assertEqual(plan["type"], "plan", plan)
        for seed in seeds:
            arrays = case.data(seed)
            reply, got = worker.run(arrays, case.types)
            self.assertEqual((reply["type"], reply.get("problems")), ("results", []), reply)
            yield case.numbers(arrays), case.numbers(got)

    def check(self, case, expected, modes=("off", "all", "all+constants"), seeds=(1,)):
        for mode in modes:
            for given, got in self.results(mode, case, seeds):
                np.testing.assert_array_equal(got[case.outputs[0]], expected(**given), err_msg=mode)

    def test_dequantized(self):
        for dtype in ("s8", "s4", "f8e4m3", "f8e5m2"):
            for shape, scale in (("[5]", "[1]"), ("[3,7]", "[3,1]"), ("[2,3,8]", "[2,3,1]")):
                with self.subTest(dtype=dtype, shape=shape):
                    self.check(dequantized(shape, scale, dtype), lambda c, s: c * s)

    def test_quantized(self):
        for dtype in ("s8", "s4"):
            low, high = DTYPES[dtype]["lowest"], DTYPES[dtype]["max_finite"]
            for shape, scale in (("[5]", "[1]"), ("[3,7]", "[3,1]"), ("[2,3,8]", "[2,3,1]")):
                with self.subTest(dtype=dtype, shape=shape):
                    self.check(quantized(shape, scale, dtype),
                               lambda x, s, low=low, high=high: np.clip(np.rint(np.float32(x / s)), low, high))

    def test_quantized_floats(self):
        for dtype in ("f8e4m3", "f8e5m2"):
            largest = DTYPES[dtype]["max_finite"]

            def expected(x, s, dtype=dtype, largest=largest):
                return to_f64(to_storage(np.clip(np.float32(x / s), -largest, largest), dtype), dtype)

            for shape, scale in (("[5]", "[1]"), ("[3,7]", "[3,1]"), ("[2,3,8]", "[2,3,1]")):
                with self.subTest(dtype=dtype, shape=shape):
                    self.check(quantized(shape, scale, dtype), expected)

    def test_constants_that_change(self):
        def expected(x, c, s):
            return x @ (c * s).reshape(32, 64).T

        for dtype in ("s4", "s8"):
            self.check(weight_product(dtype, 16), expected, ("all+constants",), (1, 2, 1, 3, 2))

    def test_modes(self):
        for mode, what in (("most", 'unknown level "most"'), ("all+fast", 'unknown switch "+fast"'),
                           ("op_by_op+constants", "op_by_op has no switches"),
                           ("all+int8_products", 'the switch "+int8_products" needs "+constants"')):
            worker = Worker("onnx/ort_worker.py", mode, subprocess.DEVNULL)
            self.addCleanup(worker.close)
            self.assertEqual(worker.hello["kind"], "unavailable")
            self.assertIn(what, worker.hello["what"])
        worker = Worker("onnx/ort_worker.py", "all-ConstantFolding+constants+int8_products-GeluFusionL2",
                        subprocess.DEVNULL)
        self.addCleanup(worker.close)
        self.assertEqual(worker.hello["type"], "hello")


if __name__ == "__main__":
    unittest.main()
