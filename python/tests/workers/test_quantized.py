#!/usr/bin/env python3
"""Tests of the workers with quantized dtypes: casts, products, ops that move elements, and functions.

Usage: python/tests/workers/test_quantized.py      (with the interpreter that has the libraries)
test_casts.py holds the numbers of casts against other implementations, and test_onnx_quantized.py operators of ONNX.
"""

import importlib.util
import os
import subprocess
import tempfile
import unittest

import test_workers
import workers  # noqa: F401 (finds the modules of the workers)

# isort: split
import numpy as np
from client import Worker
from fusesmith.vocabulary import QUANTIZED

QUANTIZED_FLOATS = ("f8e4m3", "f8e5m2", "f4e2m1")
SATURATING = {"overflow": "saturate", "rounding": "nearest"}


def itself(x):
    return x


# As in test_workers.py, for T a quantized dtype, beside what moves elements.
CASTS = [
    ("cast", {"dtype": "f32"}, ["T[3,4]"], ["f32[3,4]"], itself),
    ("cast", {"dtype": "bf16"}, ["T[3,4]"], ["bf16[3,4]"], itself),
    *(("cast", {"dtype": "T", "overflow": overflow, "rounding": rounding}, ["T[3,4]"], ["T[3,4]"], itself)
      for overflow in ("special", "saturate") for rounding in ("nearest", "down", "up")),
]
PRODUCTS = [  # of quantized floats
    ("matmul", {"transpose_a": False, "transpose_b": True}, ["T[2,3,4]", "T[5,4]"], ["f32[2,3,5]"],
     lambda a, b: a @ b.T),
    ("matmul", {"transpose_a": True, "transpose_b": False}, ["T[4,3]", "f8e5m2[4,5]"], ["f32[3,5]"],
     lambda a, b: a.T @ b),
    ("linear", {}, ["T[3,4]", "T[5,4]"], ["f32[3,5]"], lambda x, w: x @ w.T),
    ("linear", {}, ["T[2,3,4]", "T[5,4]", "f32[5]"], ["f32[2,3,5]"], lambda x, w, b: x @ w.T + b),
]
MOVE = ("reshape", "permute", "unsqueeze", "squeeze", "broadcast_to", "slice", "chunk", "concat", "roll", "flip",
        "gather", "index_copy")
MOVES = [sample for sample in test_workers.SAMPLES if sample[0] in MOVE]
OPS = (*MOVE, "cast", "matmul", "linear")


class QuantizedTest(test_workers.WorkerTest):
    test_every_op = test_every_declared_op_has_a_sample = None
    test_states_and_repeated_outputs = test_bad_requests_do_not_end_the_worker = None

    def test_samples(self):
        for dtype in QUANTIZED:
            for sample in [*MOVES, *CASTS, *(PRODUCTS if dtype in QUANTIZED_FLOATS else [])]:
                with self.subTest(dtype=dtype, sample=sample):
                    self.check_sample(*sample, dtype)


class TorchTest(QuantizedTest, unittest.TestCase):
    script, mode = "torch/torch_worker.py", "eager"


class OrtTest(QuantizedTest, unittest.TestCase):
    """Of the floats of 8 bits, ONNX Runtime has conversions, reshape and permute; s4 is held as integers of 8 bits."""

    script, mode = "onnx/ort_worker.py", "off"
    refused = [*((op, "f4e2m1") for op in OPS),
               *((op, dtype) for dtype in ("f8e4m3", "f8e5m2", "f8e8m0") for op in (*MOVE, "cast"))]


class OrtOpByOpTest(OrtTest):
    mode = "op_by_op"


class JaxTest(QuantizedTest, unittest.TestCase):
    script, mode = "jax/jax_worker.py", "jit"


class FunctionTest(unittest.TestCase):
    """A Python function gets the numbers, also of dtypes that its library lacks."""

    TYPES = {"x": "f4e2m1[3]", "s": "s8[]", "y": "s4[3]", "z": "f4e2m1[3]"}
    NODES = [{"name": "y", "op": "cast", "inputs": ["x"], "dtype": "s4", **SATURATING},
             {"name": "z", "op": "cast", "inputs": ["x"], "dtype": "f4e2m1", **SATURATING}]

    def run_body(self, library, body):
        """Of y = x s and z = -x; x is -6, 0.5 and 1, and s is 1."""
        if not importlib.util.find_spec(library):
            self.skipTest(f"no {library}")
        with tempfile.NamedTemporaryFile("w", suffix=".py", delete=False) as file:
            file.write(f"import {library} as lib\nimport numpy\ndef f(x, s):\n    {body}\n"
                       f"f.takes = '{'torch' if library == 'torch' else 'numpy'}'\n")
        self.addCleanup(os.unlink, file.name)
        worker = Worker("function/function_worker.py", f"{file.name}:f", subprocess.DEVNULL)
        self.addCleanup(worker.close)
        plan = worker.compile(self.NODES, self.TYPES, ["x", "s"], ["y", "z"])
        self.assertEqual(plan["type"], "plan", plan)
        return worker.run({"x": np.array([15, 1, 2], np.uint8), "s": np.array(1, np.int8)}, self.TYPES)

    def check(self, reply, got):
        self.assertEqual(reply.get("problems"), [], reply)
        np.testing.assert_array_equal(got["y"], [10, 0, 1])
        np.testing.assert_array_equal(got["z"], [7, 9, 10])

    def test_arrays(self):
        self.check(*self.run_body("ml_dtypes", "return (x.astype(numpy.float32) * s).astype(lib.int4), -x"))

    def test_tensors(self):
        self.check(*self.run_body("torch", "return (x.float() * s).to(lib.int8), (-x.float()).to(lib.float8_e4m3fn)"))

    def test_numbers_that_the_dtype_lacks(self):
        reply, _ = self.run_body("torch", "return (x.float() * 9).to(lib.int8), x")
        self.assertEqual(reply["what"], "the function returned a number that is none of s4")
        reply, _ = self.run_body("torch", "return x.to(lib.int8), (x.float() * 3).to(lib.float8_e4m3fn)")
        self.assertEqual(reply["what"], "the function returned a number that is none of f4e2m1")

    def test_another_dtype(self):
        reply, _ = self.run_body("torch", "return x.to(lib.int8), x.to(lib.float8_e5m2)")
        self.assertEqual(reply["what"], "the function returned torch.float8_e5m2, expected torch.float8_e4m3fn")
        reply, _ = self.run_body("ml_dtypes", "return x, x")
        self.assertEqual(reply["what"], "the function returned float4_e2m1fn, expected int4")

    def test_an_input_that_is_overwritten(self):
        reply, _ = self.run_body("torch", "x[1] = 1.5; return x.to(lib.int8), x")
        self.assertEqual(reply["problems"], [{"kind": "source_overwritten", "value": "x", "element": 1, "bits": 3}])


if __name__ == "__main__":
    unittest.main()
