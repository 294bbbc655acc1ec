#!/usr/bin/env python3
"""Measures the errors of the libraries' scalar functions and writes measured.json, which contracts are filled from.

Usage: python/workers/measure.py [LIBRARY...] [--step=N]      (torch, onnxruntime, jax; default: all; N: 1024)

Every f16 and bf16 value, and every N-th of the 2^32 f32 bit patterns, goes through each function in f32. The error is
relative to the f64 result, in units of 2^-24, beyond the absolute 2^-126 that contracts allow where a step underflows;
subnormal arguments are left out, and told in `exceptions` if they are read as zeros.

Libraries use other approximations inside of composed functions. The exponential of softmax is measured by softmax of
(x, 0), which is e / (1 + e), less two roundings of 1 unit; the erf of gelu by the error of gelu relative to x / 2, less
two roundings. `measured` has the worst error and where it is. `arithmetic` is what contracts say: the worst over all
uses, plus 1 because not every f32 value was tried, rounded up. Errors of a sigmoid beyond 4 units relative to it count
as absolute ones (`sigmoid_absolute`), as do errors of gelu for |x| < 1, which PyTorch computes by another erf where its
input is not contiguous (`erf_absolute`). `exceptions` lists the points at which contracts assume exact results and the
function has others.
"""

import json
import math
import os
import sys

import numpy as np
from scipy.special import erf, erfc

HERE = os.path.dirname(os.path.abspath(__file__))
UNIT = 2.0 ** -24
SMALLEST = 2.0 ** -126
EXACT = {"exp": np.exp, "erf": erf, "tanh": np.tanh, "log": np.log, "rsqrt": lambda x: 1 / np.sqrt(x),
         "exp_of_softmax": lambda x: np.exp(x) / (1 + np.exp(x)),
         "erf_of_gelu": lambda x: x * erfc(-x / math.sqrt(2)) / 2, "sqrt": np.sqrt,
         "sigmoid": lambda x: 1 / (1 + np.exp(-x))}
EXACT["sigmoid_absolute"] = EXACT["sigmoid"]
EXACT["erf_of_strided_gelu"] = EXACT["erf_of_gelu"]
ROUNDINGS = {"exp_of_softmax": 2, "erf_of_gelu": 2, "erf_of_strided_gelu": 2}  # that are not the function's own
# Which entry of `arithmetic` a function counts for; the others are told only.
COUNTS_FOR = {"exp": "exp", "exp_of_softmax": "exp", "erf": "erf", "erf_of_gelu": "erf", "tanh": "tanh", "log": "log",
              "rsqrt": "rsqrt", "sqrt": "sqrt", "sigmoid_absolute": "sigmoid_absolute",
              "erf_of_strided_gelu": "erf_absolute"}
# (argument, result) that contracts assume (oracle/contract.h).
POINTS = {"exp": [(0, 1), (-105, 0), (-1000, 0)], "erf": [(0, 0), (16, 1), (-16, -1)],
          "tanh": [(0, 0), (16, 1), (-16, -1)], "rsqrt": [(4.0 ** k, 2.0 ** -k) for k in range(-70, 61)],
          "sigmoid": [(-1000, 0), (1000, 1)], "log": [(1, 0), (2.0 ** -140, np.float32(np.log(2.0 ** -140)))]}


def torch_functions():
    import torch

    def call(function):
        return lambda x: function(torch.from_numpy(x)).numpy()

    functions = {name: call(getattr(torch, name)) for name in ("exp", "erf", "tanh", "log", "rsqrt", "sqrt", "sigmoid")}
    functions["erf_of_gelu"] = call(torch.nn.functional.gelu)
    functions["erf_of_strided_gelu"] = strided(torch.nn.functional.gelu, torch)
    functions["sigmoid_absolute"] = functions["sigmoid"]
    return torch.__version__, {**functions, "exp_of_softmax": of_pairs(call(lambda x: torch.softmax(x, -1)))}


def onnxruntime_functions():
    import onnxruntime
    from onnx import TensorProto, helper

    def session(*ops, rank=1):
        names = ["x", *[f"y{i}" for i in range(len(ops))]]
        nodes = [helper.make_node(op, [names[i]], [names[i + 1]]) for i, op in enumerate(ops)]
        ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None] * rank) for name in (names[0], names[-1])]
        model = helper.make_model(helper.make_graph(nodes, "f", ends[:1], ends[1:]), ir_version=11,
                                  opset_imports=[helper.make_opsetid("", 23)])
        ready = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        return lambda x: ready.run(None, {"x": x})[0]

    ops = {"exp": "Exp", "erf": "Erf", "tanh": "Tanh", "log": "Log", "sqrt": "Sqrt", "sigmoid": "Sigmoid",
           "erf_of_gelu": "Gelu"}
    functions = {name: session(op) for name, op in ops.items()}
    functions["rsqrt"] = session("Sqrt", "Reciprocal")
    functions["sigmoid_absolute"] = functions["sigmoid"]
    return onnxruntime.__version__, {**functions, "exp_of_softmax": of_pairs(session("Softmax", rank=2))}


def jax_functions():
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    import jax
    from jax import lax

    def call(function):
        return lambda x: np.asarray(function(x))

    names = ("exp", "erf", "tanh", "log", "rsqrt", "sqrt")
    functions = {name: getattr(lax, name) for name in names}
    functions["erf_of_gelu"] = lambda x: jax.nn.gelu(x, approximate=False)
    functions = {**functions, "sigmoid": lax.logistic, "sigmoid_absolute": lax.logistic,
                 "softmax": lambda x: jax.nn.softmax(x, -1)}
    compiled = {name: call(jax.jit(function)) for name, function in functions.items()}
    compiled["exp_of_softmax"] = of_pairs(compiled.pop("softmax"))
    return jax.__version__, compiled


LIBRARIES = {"torch": torch_functions, "onnxruntime": onnxruntime_functions, "jax": jax_functions}


def of_pairs(softmax):
    """softmax of (x, 0) at its first element, in rows long enough for vectors: the other elements are -inf."""
    def run(x):
        rows = np.full((x.size, 32), -np.inf, np.float32)
        rows[:, 0], rows[:, 1] = x, 0
        return softmax(rows)[:, 0]

    return run


def strided(function, torch):
    """The function of a transposed tensor."""
    def run(x):
        pairs = torch.zeros(2, x.size)
        pairs[0] = torch.from_numpy(x)
        return function(pairs.t())[:, 0].numpy()

    return run


def arguments(step):
    """Every f16 and bf16 value, and every step-th f32."""
    halves = np.arange(1 << 16, dtype=np.uint16)
    yield halves.view(np.float16).astype(np.float32)
    yield (halves.astype(np.uint32) << 16).view(np.float32)
    chunk = step << 20
    for first in range(0, 1 << 32, chunk):
        yield np.arange(first, min(first + chunk, 1 << 32), step, dtype=np.uint64).astype(np.uint32).view(np.float32)


def in_domain(name, x):
    x = x[np.isfinite(x)]
    x = x[(np.abs(x) >= SMALLEST) | (x == 0)]
    if name == "exp_of_softmax":
        return x[(x <= 0) & (x > -120)]
    if name == "erf_of_strided_gelu":
        return x[np.abs(x) < 1]
    if name in ("exp", "sigmoid", "sigmoid_absolute", "erf_of_gelu"):
        return x[np.abs(x) < 120]
    return x[x > 0] if name in ("log", "rsqrt", "sqrt") else x


def worst(name, function, step):
    """(error in units, argument)"""
    largest, where = 0.0, 0.0
    for x in arguments(step):
        x = in_domain(name, x)
        if not x.size:
            continue
        with np.errstate(all="ignore"):
            exact = EXACT[name](x.astype(np.float64))
            in_range = (exact != 0) & (np.abs(exact) < 3.4e38)
            distance = np.abs(function(x).astype(np.float64) - exact)
            allowed, scale = SMALLEST, np.abs(exact)
            if name.endswith("gelu"):
                scale = np.abs(x.astype(np.float64)) / 2
            elif name == "sigmoid_absolute":
                allowed, scale = SMALLEST + 4 * UNIT * exact, 1
            error = np.maximum(distance - allowed, 0) / scale / UNIT
        error = np.where(in_range, np.nan_to_num(error, nan=np.inf, posinf=np.inf), 0)
        at = int(np.argmax(error))
        if error[at] > largest:
            largest, where = float(error[at]), float(x[at])
    return largest, where


def exceptions(name, function):
    """Points at which the function has another result than contracts assume."""
    x = np.array([point for point, _ in POINTS.get(name, [])], np.float32)
    if not x.size:
        return []
    with np.errstate(all="ignore"):
        got = function(x)
    return [f"{name}({point:g}) = {value:g}" for (point, expected), value in zip(POINTS[name], got, strict=True)
            if value != expected]


def measure(library, step):
    version, functions = LIBRARIES[library]()
    measured, arithmetic, wrong = {}, {}, []
    for name, function in functions.items():
        error, where = worst(name, function, step)
        measured[name] = {"units": round(error, 3), "at": where}
        wrong += exceptions(name, function)
        if name in COUNTS_FOR and math.isfinite(error):
            entry = COUNTS_FOR[name]
            error = error - ROUNDINGS.get(name, 0)
            if error > 0:
                arithmetic[entry] = max(arithmetic.get(entry, 0), math.ceil(error + 1))
    return {"version": version, "step": step, "measured": measured, "arithmetic": arithmetic, "exceptions": wrong}


def main():
    step = next((int(text.partition("=")[2]) for text in sys.argv[1:] if text.startswith("--step=")), 1024)
    chosen = [text for text in sys.argv[1:] if not text.startswith("--")] or list(LIBRARIES)
    if not set(chosen) <= set(LIBRARIES):
        sys.exit(__doc__)
    path = os.path.join(HERE, "measured.json")
    table = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            table = json.load(file)
    for library in chosen:
        table[library] = measure(library, step)
        print(library, json.dumps(table[library]["measured"]), table[library]["exceptions"])
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps(table, indent=1) + "\n")


if __name__ == "__main__":
    main()
