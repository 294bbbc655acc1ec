#!/usr/bin/env python3
"""Tests of the workers: every op in every float dtype, and the protocol. A worker whose library is missing is skipped.

Usage: python/tests/workers/test_workers.py      (with the interpreter that has the libraries)
Errors are judged by fusesmith itself (docs/workers.md); the comparisons here find a wrong mapping of an op.
"""

import os
import subprocess
import tempfile
import textwrap
import unittest

import workers  # finds the modules of the workers

# isort: split
import numpy as np
from client import Worker, to_f64, to_storage
from fusesmith.vocabulary import FLOATS
from protocol import Type

ATTENTION = {"scale_on": "scores", "upcast": False, "mask": "none", "alignment": "top_left", "scale": 0,
             "grouped_heads": False, "window": 0, "softcap": 0}
QKV = ["T[2,2,4,8]", "T[2,2,6,8]", "T[2,2,6,8]"]
MASK = {"rows": 4, "cols": 6, "alignment": "bottom_right", "window": 2, "shows_future": False}


def erf(x):
    import math

    return np.vectorize(math.erf)(x)


def softmax(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def layer_norm(x, weight=1.0, bias=0.0):
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * weight + bias


def group_norm(x, weight=1.0, bias=0.0):
    return layer_norm(x.reshape(2, 2, -1)).reshape(x.shape) * np.reshape(weight, (-1, 1)) + np.reshape(bias, (-1, 1))


def attention(q, k, v, hidden=False, add=0.0, cap=0.0):
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    scores = (cap * np.tanh(scores / cap) if cap else scores) + add
    return softmax(np.where(hidden, -1e30, scores), -1) @ v


def rope(x, cos, sin):
    a, b = x[..., :4], x[..., 4:]
    return np.concatenate((a * cos - b * sin, b * cos + a * sin), -1)


def rope_interleaved(x, cos, sin):
    a, b = x[..., 0::2], x[..., 1::2]
    return np.stack((a * cos - b * sin, b * cos + a * sin), -1).reshape(x.shape)


def index_copied(x, index, source):
    y = x.copy()
    y[:, index.astype(int)] = source
    return y


# op, attributes, types of the inputs, types of the outputs, and what it computes, in f64. T is a float dtype.
SAMPLES = [
    ("einsum", {"equation": "bid,bdh->bih"}, ["T[2,3,4]", "T[2,4,5]"], ["T[2,3,5]"],
     lambda a, b: np.einsum("bid,bdh->bih", a, b)),
    ("einsum", {"equation": "ii,ij->j"}, ["T[3,3]", "T[3,5]"], ["T[5]"], lambda a, b: np.einsum("ii,ij->j", a, b)),
    ("matmul", {"transpose_a": True, "transpose_b": True}, ["T[2,4,3]", "T[5,4]"], ["T[2,3,5]"],
     lambda a, b: a.swapaxes(1, 2) @ b.T),
    ("linear", {}, ["T[3,4]", "T[5,4]", "T[5]"], ["T[3,5]"], lambda x, w, b: x @ w.T + b),
    ("linear", {}, ["T[2,3,4]", "T[5,4]", "T[5]"], ["T[2,3,5]"], lambda x, w, b: x @ w.T + b),
    ("linear", {}, ["T[4]", "T[5,4]"], ["T[5]"], lambda x, w: x @ w.T),
    ("add", {}, ["T[3,4]", "T[4]"], ["T[3,4]"], np.add),
    ("sub", {}, ["T[3,4]", "T[3,1]"], ["T[3,4]"], np.subtract),
    ("mul", {}, ["T[3,4]", "T[]"], ["T[3,4]"], np.multiply),
    ("div", {}, ["T[3,4]", "T[4]"], ["T[3,4]"], np.divide),
    ("maximum", {}, ["T[3,4]", "T[4]"], ["T[3,4]"], np.maximum),
    ("scale", {"factor": 0.3, "inverse": False}, ["T[3,4]"], ["T[3,4]"], lambda x: x * np.float64(np.float32(0.3))),
    ("scale", {"factor": 8, "inverse": True}, ["T[3,4]"], ["T[3,4]"], lambda x: x / 8),
    ("relu", {}, ["T[3,4]"], ["T[3,4]"], lambda x: np.maximum(x, 0)),
    ("relu_backward", {}, ["T[3,4]", "T[4]"], ["T[3,4]"], lambda dy, x: np.where(x <= 0, 0, dy)),
    ("gelu", {"form": "erf"}, ["T[3,40]"], ["T[3,40]"], lambda x: x * (1 + erf(x / np.sqrt(2))) / 2),
    ("gelu", {"form": "tanh"}, ["T[3,40]"], ["T[3,40]"],
     lambda x: x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3))) / 2),
    ("silu", {}, ["T[3,40]"], ["T[3,40]"], lambda x: x / (1 + np.exp(-x))),
    ("sigmoid", {}, ["T[3,40]"], ["T[3,40]"], lambda x: 1 / (1 + np.exp(-x))),
    ("tanh", {}, ["T[3,40]"], ["T[3,40]"], np.tanh),
    ("erf", {}, ["T[3,40]"], ["T[3,40]"], erf),
    ("exp", {}, ["T[3,40]"], ["T[3,40]"], np.exp),
    ("log", {}, ["T[3,4]"], ["T[3,4]"], np.log),
    ("sqrt", {}, ["T[3,4]"], ["T[3,4]"], np.sqrt),
    ("rsqrt", {}, ["T[3,4]"], ["T[3,4]"], lambda x: 1 / np.sqrt(x)),
    ("softcap", {"cap": 3}, ["T[3,4]"], ["T[3,4]"], lambda x: 3 * np.tanh(x / 3)),
    ("softmax", {"axis": 0}, ["T[3,4]"], ["T[3,4]"], lambda x: softmax(x, 0)),
    ("layer_norm", {"eps": 1e-5}, ["T[3,16]"], ["T[3,16]"], layer_norm),
    ("layer_norm", {"eps": 1e-5}, ["T[3,16]", "T[16]", "T[16]"], ["T[3,16]"], layer_norm),
    ("rms_norm", {"eps": 1e-6}, ["T[3,16]", "T[16]"], ["T[3,16]"],
     lambda x, w: x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * w),
    ("group_norm", {"groups": 2, "eps": 1e-5}, ["T[2,4,8]", "T[4]", "T[4]"], ["T[2,4,8]"], group_norm),
    ("group_norm", {"groups": 2, "eps": 1e-5}, ["T[2,4]"], ["T[2,4]"], None),
    ("reduce_sum", {"axes": [0, -1], "keepdims": False}, ["T[3,4,5]"], ["T[4]"], lambda x: x.sum((0, 2))),
    ("reduce_mean", {"axes": [1], "keepdims": True}, ["T[3,4]"], ["T[3,1]"], lambda x: x.mean(1, keepdims=True)),
    ("reduce_max", {"axes": [1], "keepdims": False}, ["T[3,4]"], ["T[3]"], lambda x: x.max(1)),
    ("var_mean", {"axes": [1], "correction": 1, "keepdims": False}, ["T[3,8]"], ["T[3]", "T[3]"],
     lambda x: (x.var(1, ddof=1), x.mean(1))),
    ("logsumexp", {"axes": [1], "keepdims": False}, ["T[3,8]"], ["T[3]"], lambda x: np.log(np.exp(x).sum(1))),
    ("dropout", {"p": 0}, ["T[3,4]"], ["T[3,4]"], lambda x: x),
    ("cast", {"dtype": "f32"}, ["T[3,4]"], ["f32[3,4]"], lambda x: x),
    ("cast", {"dtype": "bf16"}, ["T[3,4]"], ["bf16[3,4]"], lambda x: x),
    ("cast", {"dtype": "f16"}, ["i32[6]"], ["f16[6]"], lambda x: x),
    ("reshape", {"shape": [2, 6]}, ["T[3,4]"], ["T[2,6]"], lambda x: x.reshape(2, 6)),
    ("permute", {"dims": [2, 0, 1]}, ["T[2,3,4]"], ["T[4,2,3]"], lambda x: x.transpose(2, 0, 1)),
    ("unsqueeze", {"axis": -1}, ["T[3,4]"], ["T[3,4,1]"], lambda x: x[..., None]),
    ("squeeze", {"axis": 1}, ["T[3,1,4]"], ["T[3,4]"], lambda x: x[:, 0]),
    ("broadcast_to", {"shape": [2, 3, 4]}, ["T[3,1]"], ["T[2,3,4]"], lambda x: np.broadcast_to(x, (2, 3, 4))),
    ("slice", {"axis": -1, "start": 1, "stop": 6, "step": 2}, ["T[3,6]"], ["T[3,3]"], lambda x: x[:, 1:6:2]),
    ("chunk", {"axis": 1, "chunks": 2}, ["T[3,4]"], ["T[3,2]", "T[3,2]"], lambda x: (x[:, :2], x[:, 2:])),
    ("concat", {"axis": 1}, ["T[3,4]", "T[3,2]"], ["T[3,6]"], lambda a, b: np.concatenate((a, b), 1)),
    ("roll", {"axis": 1, "shift": -5}, ["T[3,4]"], ["T[3,4]"], lambda x: np.roll(x, -5, 1)),
    ("roll", {"axis": 1, "shift": 4}, ["T[3,4]"], ["T[3,4]"], lambda x: x),
    ("flip", {"axes": [0, -1]}, ["T[3,4]"], ["T[3,4]"], lambda x: x[::-1, ::-1]),
    ("gather", {}, ["T[6,4]", "i32[2,3]"], ["T[2,3,4]"], lambda x, i: x[i.astype(int)]),
    ("gather", {}, ["T[6]", "i32[2,3]"], ["T[2,3]"], lambda x, i: x[i.astype(int)]),
    ("index_copy", {"axis": 1}, ["T[2,8,3]", "i32[4]", "T[2,4,3]"], ["T[2,8,3]"], index_copied),
    ("arange", {"count": 5, "start": 2, "step": 3}, [], ["i32[5]"], lambda: np.arange(2, 17, 3)),
    ("where", {}, ["bool[4]", "T[3,4]", "T[]"], ["T[3,4]"], np.where),
    ("masked_fill", {"value": "-inf", "inverted": False}, ["T[3,4]", "bool[4]"], ["T[3,4]"],
     lambda x, m: np.where(m, -np.inf, x)),
    ("masked_fill", {"value": 1e30, "inverted": True}, ["T[3,4]", "bool[3,1]"], ["T[3,4]"], None),
    ("causal_mask", MASK, [], ["bool[4,6]"],
     lambda: np.array([[j > i + 2 or j <= i for j in range(6)] for i in range(4)])),
    ("rope", {"pairing": "half", "rotary_dim": 0}, ["T[2,3,8]", "T[3,4]", "T[3,4]"], ["T[2,3,8]"], rope),
    ("rope", {"pairing": "interleaved", "rotary_dim": 0}, ["T[2,3,8]", "T[3,4]", "T[3,4]"], ["T[2,3,8]"],
     rope_interleaved),
    ("rope", {"pairing": "half", "rotary_dim": 8}, ["T[2,3,11]", "T[3,4]", "T[3,4]"], ["T[2,3,11]"],
     lambda x, cos, sin: np.concatenate((rope(x[..., :8], cos, sin), x[..., 8:]), -1)),
    ("rope", {"pairing": "interleaved", "rotary_dim": 6}, ["T[2,3,8]", "T[3,3]", "T[3,3]"], ["T[2,3,8]"],
     lambda x, cos, sin: np.concatenate((rope_interleaved(x[..., :6], cos, sin), x[..., 6:]), -1)),
    ("sdpa", ATTENTION, QKV, ["T[2,2,4,8]"], attention),
    ("sdpa", {**ATTENTION, "mask": "causal"}, QKV, ["T[2,2,4,8]"],
     lambda q, k, v: attention(q, k, v, np.triu(np.ones((4, 6)), 1) > 0)),
    ("sdpa", {**ATTENTION, "mask": "causal", "alignment": "bottom_right", "upcast": True}, QKV, ["T[2,2,4,8]"],
     lambda q, k, v: attention(q, k, v, np.triu(np.ones((4, 6)), 3) > 0)),
    ("sdpa", {**ATTENTION, "mask": "additive"}, [*QKV, "T[4,6]"], ["T[2,2,4,8]"],
     lambda q, k, v, m: attention(q, k, v, add=m)),
    ("sdpa", {**ATTENTION, "mask": "boolean"}, [*QKV, "bool[6]"], ["T[2,2,4,8]"],
     lambda q, k, v, m: attention(q, k, v, ~m.astype(bool))),
    ("sdpa", {**ATTENTION, "softcap": 2, "mask": "causal", "window": 2}, QKV, ["T[2,2,4,8]"],
     lambda q, k, v: attention(q, k, v, np.triu(np.ones((4, 6)), 1) + np.tril(np.ones((4, 6)), -2) > 0, cap=2)),
    ("sdpa", {**ATTENTION, "grouped_heads": True}, ["T[2,4,3,8]", "T[2,2,6,8]", "T[2,2,6,8]"], ["T[2,4,3,8]"],
     lambda q, k, v: attention(q, np.repeat(k, 2, 1), np.repeat(v, 2, 1))),
    ("sdpa", {**ATTENTION, "scale": 0.35355339059327373}, ["T[4,8]", "T[6,8]", "T[6,3]"], ["T[4,3]"], attention),
]
TOLERANCE = {"f32": 1e-5, "f16": 4e-3, "bf16": 3e-2}


def sample_data(text, random):
    """Positive numbers (sqrt), distinct indices, and a mask that is not all of one kind."""
    kind = Type(text)
    count = int(np.prod(kind.shape))
    if kind.dtype == "i32":
        return random.permutation(count)[:count].astype(np.int32).reshape(kind.shape)
    if kind.dtype == "bool":
        return (np.arange(count) % 2 == 0).reshape(kind.shape)
    return to_storage(random.uniform(0.1, 2, kind.shape), kind.dtype)


class WorkerTest:
    """Tests of one worker; the classes below name it."""

    script = mode = None
    refused = ()  # (op, dtype) that the library has no kernel for

    @classmethod
    def setUpClass(cls):
        cls.log = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the worker)
        cls.worker = Worker(cls.script, cls.mode, cls.log)
        if cls.worker.hello["type"] == "error":
            cls.worker.close()
            raise unittest.SkipTest(cls.worker.hello["what"])

    @classmethod
    def tearDownClass(cls):
        status = cls.worker.close()
        cls.log.close()
        assert status == 0, "a worker exits with 0 at the end of its input"

    def check_sample(self, op, attributes, inputs, outputs, reference, dtype):
        random = np.random.default_rng(1)
        names = [f"x{i}" for i in range(len(inputs))]
        results = ["y"] if len(outputs) == 1 else [f"y.{i}" for i in range(len(outputs))]
        texts = [text.replace("T", dtype) for text in [*inputs, *outputs]]
        types = dict(zip([*names, *results], texts, strict=True))
        attributes = {key: dtype if value == "T" else value for key, value in attributes.items()}
        plan = self.worker.compile([{"name": "y", "op": op, "inputs": names, **attributes}], types, names, results)
        if plan["type"] == "unsupported":
            self.assertIn((op, dtype), self.refused, plan)
            return
        self.assertEqual(plan["type"], "plan", plan)
        arrays = {name: sample_data(types[name], random) for name in names}
        reply, got = self.worker.run(arrays, types)
        self.assertEqual(reply["type"], "results", reply)
        self.assertEqual({tensor["name"]: tensor["type"] for tensor in reply["tensors"]},
                         {name: types[name] for name in results})
        self.assertEqual(reply["problems"], [])
        if reference is None:
            return
        operands = [to_f64(arrays[name], Type(types[name]).dtype) for name in names]
        operands = [x > 0 if types[name].startswith("bool") and op == "where" else x
                    for name, x in zip(names, operands, strict=True)]
        expected = reference(*operands)
        for name, exact in zip(results, expected if isinstance(expected, tuple) else (expected,), strict=True):
            made = to_f64(got[name], Type(types[name]).dtype)
            tolerance = max(TOLERANCE.get(kind, 1e-5) for kind in (dtype, Type(types[name]).dtype))
            np.testing.assert_allclose(made, np.asarray(exact, np.float64), rtol=tolerance, atol=tolerance)

    def test_every_op(self):
        for op, attributes, inputs, outputs, reference in SAMPLES:
            for dtype in FLOATS:
                with self.subTest(op=op, dtype=dtype, inputs=inputs, attributes=attributes):
                    self.check_sample(op, attributes, inputs, outputs, reference, dtype)

    def test_every_declared_op_has_a_sample(self):
        path = os.path.join(workers.ROOT, "docs", "ops.md")
        with open(path, encoding="utf-8") as file:
            rows = [line.split("|") for line in file if line.startswith("| `")]
        # `check-worker` compares ops that a formula defines with their formulas.
        declared = {op.split("`")[1] for _, op, _, kind, *_ in rows if kind.strip() != "composite" or "sdpa" in op}
        self.assertEqual(declared, {sample[0] for sample in SAMPLES})

    def test_states_and_repeated_outputs(self):
        types = {"x": "f32[4]", "s": "f32[4]", "y": "f32[4]"}
        node = {"name": "y", "op": "add", "inputs": ["x", "s"]}
        self.worker.compile([node], types, ["x"], ["y"], [{"name": "s", "type": "f32[4]", "next": "y"}])
        arrays = {name: np.arange(4, dtype=np.float32) for name in ("x", "s")}
        for buffers in ("new", "same", "new"):
            _, got = self.worker.run(arrays, types, buffers)
            np.testing.assert_array_equal(got["y"], [0, 2, 4, 6])

    def test_bad_requests_do_not_end_the_worker(self):
        self.assertEqual(self.worker.ask({"type": "dance"})["kind"], "failed")
        self.assertEqual(self.worker.ask({"type": "hello", "protocol": 1})["type"], "hello")


class TorchEagerTest(WorkerTest, unittest.TestCase):
    script, mode = "torch/torch_worker.py", "eager"


class OrtOpByOpTest(WorkerTest, unittest.TestCase):
    script, mode = "onnx/ort_worker.py", "op_by_op"


class OrtOffTest(WorkerTest, unittest.TestCase):
    script, mode = "onnx/ort_worker.py", "off"


class OrtAllTest(WorkerTest, unittest.TestCase):
    script, mode = "onnx/ort_worker.py", "all"


class JaxOpByOpTest(WorkerTest, unittest.TestCase):
    script, mode = "jax/jax_worker.py", "op_by_op"


class JaxJitTest(WorkerTest, unittest.TestCase):
    script, mode = "jax/jax_worker.py", "jit"


class JaxCodeTest(unittest.TestCase):
    """The lines of a report compute what the worker computes."""

    def test_every_op(self):
        try:
            import jax
            import jax.numpy as jnp
            from jax import lax
        except ImportError as missing:
            self.skipTest(str(missing))
        import export_jax
        import jax_ops
        from program import Program
        from protocol import Graph

        random = np.random.default_rng(3)
        for op, attributes, inputs, outputs, _ in SAMPLES:
            for dtype in FLOATS:
                names = [f"x{i}" for i in range(len(inputs))]
                results = ["y"] if len(outputs) == 1 else [f"y.{i}" for i in range(len(outputs))]
                texts = [text.replace("T", dtype) for text in [*inputs, *outputs]]
                types = dict(zip([*names, *results], texts, strict=True))
                request = {"graph": {"inputs": [{"name": name} for name in names], "outputs": results,
                                     "nodes": [{"name": "y", "op": op, "inputs": names, **attributes}]}, "types": types}
                if op not in jax_ops.LOWERINGS:
                    continue
                with self.subTest(op=op, dtype=dtype, attributes=attributes):
                    known = {"jnp": jnp, "lax": lax}
                    exec(export_jax.code_of(request), known)
                    arrays = [self.array(types[name], random) for name in names]
                    graph = Graph(request)
                    expected = jax.jit(Program(graph, graph.results(), jax_ops.LOWERINGS))(*arrays)
                    for made, exact in zip(jax.jit(known["graph"])(*arrays), expected, strict=True):
                        np.testing.assert_array_equal(np.asarray(made, np.float64), np.asarray(exact, np.float64))

    @staticmethod
    def array(text, random):
        import jax.numpy as jnp
        import numpy_dtypes

        return jnp.asarray(numpy_dtypes.from_bits(sample_data(text, random), Type(text).dtype))


class ModesTest(unittest.TestCase):
    """A small graph in every mode of every library."""

    MODES = {"torch/torch_worker.py": ["eager+math", "aot_eager", "aot_eager_decomp_partition",
                                 "inductor+emulate_precision_casts"],  # a switch of inductor
             "onnx/ort_worker.py": ["op_by_op", "off", "basic", "extended", "all", "all-ConstantFolding"],
             "jax/jax_worker.py": ["op_by_op", "jit", "jit+native", "jit+without_ynn"]}
    NODES = [{"name": "h", "op": "linear", "inputs": ["x", "w"]}, {"name": "g", "op": "gelu", "inputs": ["h"],
                                                                   "form": "erf"},
             {"name": "y", "op": "softmax", "inputs": ["g"], "axis": -1}]
    TYPES = {"x": "f16[3,8]", "w": "f16[5,8]", "h": "f16[3,5]", "g": "f16[3,5]", "y": "f16[3,5]"}

    def start(self, script, mode):
        worker = Worker(script, mode, subprocess.DEVNULL)
        self.addCleanup(worker.close)
        return worker

    def test_every_mode(self):
        random = np.random.default_rng(2)
        arrays = {name: random.standard_normal(Type(self.TYPES[name]).shape).astype(np.float16) for name in "xw"}
        h = arrays["x"].astype(np.float64) @ arrays["w"].astype(np.float64).T
        expected = softmax(h * (1 + erf(h / np.sqrt(2))) / 2, -1)
        for script, modes in self.MODES.items():
            for mode in modes:
                with self.subTest(script=script, mode=mode):
                    worker = self.start(script, mode)
                    if worker.hello.get("kind") == "unavailable":
                        continue
                    plan = worker.compile(self.NODES, self.TYPES, ["x", "w"], ["y"])
                    self.assertEqual(plan["type"], "plan", plan)
                    _, got = worker.run(arrays, self.TYPES)
                    np.testing.assert_allclose(got["y"].astype(np.float64), expected, atol=4e-3)

    def test_unknown_modes_are_unavailable(self):
        for script, mode in (("torch/torch_worker.py", "egaer"), ("torch/torch_worker.py", "eager+fast"),
                             ("onnx/ort_worker.py", "most"), ("jax/jax_worker.py", "jti")):
            self.assertEqual(self.start(script, mode).hello["kind"], "unavailable")


class FunctionTest(unittest.TestCase):
    """A Python function, with numpy arrays, so that no library is needed."""

    def start(self, body):
        with tempfile.NamedTemporaryFile("w", suffix=".py", delete=False) as file:
            file.write(textwrap.dedent(body) + "\nf.takes = 'numpy'\n")
        self.addCleanup(os.unlink, file.name)
        worker = Worker("function/function_worker.py", f"{file.name}:f", subprocess.DEVNULL)
        self.addCleanup(worker.close)
        self.types = {"x": "f32[4]", "y": "f32[4]"}
        worker.compile([{"name": "y", "op": "relu", "inputs": ["x"]}], self.types, ["x"], ["y"])
        return worker

    def run_one(self, worker):
        return worker.run({"x": np.array([-1, 2, -3, 4], np.float32)}, self.types)

    def test_result(self):
        reply, got = self.run_one(self.start("import numpy\ndef f(x): print('noise'); return numpy.maximum(x, 0)"))
        np.testing.assert_array_equal(got["y"], [0, 2, 0, 4])
        self.assertEqual(reply["problems"], [])

    def test_overwritten_input_is_told(self):
        reply, _ = self.run_one(self.start("def f(x): x[2] = 0; return x.clip(0)"))
        self.assertEqual(reply["problems"], [{"kind": "source_overwritten", "value": "x", "element": 2, "bits": 0}])

    def test_exception_is_failed(self):
        worker = self.start("def f(x): raise KeyError('no')")
        self.assertEqual(self.run_one(worker)[0]["kind"], "failed")
        self.assertEqual(self.run_one(worker)[0]["kind"], "failed")

    def test_no_memory_is_told_apart(self):
        self.assertEqual(self.run_one(self.start("def f(x): raise MemoryError"))[0]["kind"], "out_of_memory")

    def test_wrong_results_are_named(self):
        for body, what in (("x[:2].astype('float64')", "f returned float64[2] for y, f32[4] expected"),
                           ("x.astype('float16')", "f returned f16[4] for y, f32[4] expected"),
                           ("None", "the function returned NoneType, expected an array"),
                           ("(x, x)", "the function returned 2 tensors, expected 1: y")):
            reply, _ = self.run_one(self.start(f"def f(x): return {body}"))
            self.assertEqual((reply["kind"], reply["what"]), ("wrong_result", what))

    def test_an_exception_has_its_place(self):
        reply, _ = self.run_one(self.start("import numpy\ndef f(x):\n    return numpy.zeros(3) + x"))
        self.assertRegex(reply["what"], r"^ValueError: operands could not be broadcast .*\(tmp.*\.py:3\)$")
        self.assertRegex(reply["traceback"], r"(?s)^Traceback .*line 3, in f.*\nValueError: operands")
        self.assertNotIn("protocol.py", reply["traceback"], "frames of the worker say nothing about the function")

    def test_advice_below_a_message_is_left_out(self):
        reply, _ = self.run_one(self.start("def f(x):\n    raise KeyError('buf3') from None"))
        self.assertRegex(reply["what"], r"^KeyError: 'buf3' \(tmp")
        reply, _ = self.run_one(self.start("def f(x):\n    raise ValueError('no buf3\\n\\nSet VERBOSE=1')"))
        self.assertRegex(reply["what"], r"^ValueError: no buf3 \(tmp")
        self.assertIn("Set VERBOSE=1", reply["traceback"])

    def test_payload_in_files(self):
        worker = self.start("def f(x): return x + 1")
        count = 1 << 19
        types = dict.fromkeys("xy", f"f32[{count}]")
        worker.compile([{"name": "y", "op": "relu", "inputs": ["x"]}], types, ["x"], ["y"])
        sent = np.arange(count, dtype=np.float32)
        with tempfile.NamedTemporaryFile() as request, tempfile.NamedTemporaryFile() as reply:
            request.write(sent.tobytes())
            request.flush()
            header, payload = worker.exchange({
                "type": "run", "buffers": "new", "tensors": [{"name": "x", "type": types["x"]}],
                "payload_file": request.name, "payload_bytes": sent.nbytes, "reply_file": reply.name})
        self.assertEqual((header["payload_file"], header["payload_bytes"]), (reply.name, sent.nbytes))
        np.testing.assert_array_equal(np.frombuffer(payload, np.float32), sent + 1)

    def test_missing_function_is_unavailable(self):
        worker = Worker("function/function_worker.py", f"{__file__}:nowhere", subprocess.DEVNULL)
        self.addCleanup(worker.close)
        self.assertEqual(worker.hello["kind"], "unavailable")


if __name__ == "__main__":
    unittest.main()
