#!/usr/bin/env python3
"""Runs the ONNX model beside this script on the inputs beside it, and compares optimization levels of ONNX Runtime.

Usage: NAME.py [PROVIDER]      (needs numpy and onnxruntime; PROVIDER: CPUExecutionProvider, CUDAExecutionProvider, ...)
NAME.onnx is the model. NAME.npz has its inputs as `input.0`, `input.1`, ...; bfloat16 tensors are there as uint16, and
those of 8 bits as uint8. The script prints, for each level, the first elements of each output, and where it first
differs from the result without optimizations. If NAME.npz has `shown.I`, these are elements of output I that fusesmith
judged: the script prints the exact result, the lowest and the highest value of a correct execution, and whether ONNX
Runtime's value is between them. Where it is not although nothing is optimized, the reference implementation of the
package onnx runs as well, if it is installed. fusesmith wrote this file.
"""

import ctypes
import os
import sys

import numpy as np
import onnxruntime

LEVELS = {"off": "ORT_DISABLE_ALL", "basic": "ORT_ENABLE_BASIC", "extended": "ORT_ENABLE_EXTENDED",
          "all": "ORT_ENABLE_ALL"}
INT8 = 3  # TensorProto.INT8
# Types that numpy lacks: numbers in TensorProto, names in ml_dtypes, and bytes.
WITHOUT_NUMPY = {"tensor(bfloat16)": (16, "bfloat16", 2), "tensor(float8e4m3fn)": (17, "float8_e4m3fn", 1),
                 "tensor(float8e5m2)": (19, "float8_e5m2", 1), "tensor(float8e8m0)": (24, "float8_e8m0fnu", 1)}
SHOWN = 8


def to_ort(array, kind):
    if kind in WITHOUT_NUMPY:
        number = WITHOUT_NUMPY[kind][0]
        return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(np.ascontiguousarray(array), number)
    array = array.view(np.int8) if kind == "tensor(int8)" else array
    return onnxruntime.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(array))


def to_numbers(value):
    """An output as a numpy array; what numpy lacks as float32."""
    if value.data_type() not in WITHOUT_NUMPY:
        return value.numpy()
    _, name, size = WITHOUT_NUMPY[value.data_type()]
    count = int(np.prod(value.shape(), dtype=np.int64))
    bits = np.array((ctypes.c_uint8 * (size * count)).from_address(value.data_ptr()), np.uint8)
    if name == "bfloat16":
        return (bits.view(np.uint16).astype(np.uint32) << 16).view(np.float32).reshape(value.shape())
    import ml_dtypes

    return bits.view(getattr(ml_dtypes, name)).astype(np.float32).reshape(value.shape())


def run(model, inputs, level, provider):
    """Outputs by name. `inputs` is a list in the order of the model's inputs."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, LEVELS[level])
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model, options, providers=[provider])
    feeds = {given.name: to_ort(array, given.type) for given, array in zip(session.get_inputs(), inputs, strict=True)}
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, map(to_numbers, session.run_with_ort_values(names, feeds)), strict=True))


def run_reference(model, inputs):
    """The same by onnx.reference, or why not."""
    try:
        import ml_dtypes
        from onnx.reference import ReferenceEvaluator

        evaluator = ReferenceEvaluator(model)
        names = {number: name for number, name, _ in WITHOUT_NUMPY.values()} | {INT8: "int8"}
        kinds = [names.get(value.type.tensor_type.elem_type) for value in evaluator.proto_.graph.input]
        arrays = [array.view(getattr(ml_dtypes, kind, kind)) if kind else array
                  for array, kind in zip(inputs, kinds, strict=True)]
        given = dict(zip([value.name for value in evaluator.proto_.graph.input], arrays, strict=True))
        results = dict(zip(evaluator.output_names, evaluator.run(None, given), strict=True))
    except Exception as error:  # it lacks types for some operators
        return f"not run: {type(error).__name__}: {str(error).partition(chr(10))[0]}"
    lacked = [getattr(ml_dtypes, name, None) for _, name, _ in WITHOUT_NUMPY.values()]
    return {name: array.astype(np.float32) if array.dtype in lacked else array for name, array in results.items()}


def differing(a, b):
    """The indices of the elements that differ; NaN equals NaN."""
    return np.argwhere((a != b) & ~((a != a) & (b != b)))


def report(level, results, plain):
    for name, values in results.items():
        first = ", ".join(map(str, values.reshape(-1)[:SHOWN]))
        print(f"{level}: {name} {values.dtype}{list(values.shape)}: {first}{', ...' if values.size > SHOWN else ''}")
        places = differing(plain[name], values)
        if len(places):
            at = tuple(map(int, places[0]))
            print(f"  {len(places)} of {values.size} elements differ from the level off; "
                  f"the first is {name}{list(at)}: {values[at]}, off gives {plain[name][at]}")


def report_shown(data, results):
    """Whether all elements that were judged are between their limits."""
    all_inside = True
    for number, (name, values) in enumerate(results.items()):
        for element, got, exact, low, high in data.get(f"shown.{number}", ()):
            at = [int(i) for i in np.unravel_index(int(element), values.shape)]
            value = float(values[tuple(at)])
            inside = low <= value <= high or (np.isnan(value) and np.isnan(low))
            all_inside = all_inside and inside
            print(f"  {name}{at} is {value}, {'inside' if inside else 'OUTSIDE'} of {low} to {high}; exact {exact}, "
                  f"the judged backend gave {got}")
    return all_inside


def report_reference(model, inputs, data, plain):
    results = run_reference(model, inputs)
    if isinstance(results, str):
        print(f"reference: {results}")
        return
    report("reference", results, plain)
    report_shown(data, results)


def main():
    stem = os.path.splitext(os.path.abspath(__file__))[0]
    provider = sys.argv[1] if len(sys.argv) > 1 else "CPUExecutionProvider"
    with np.load(stem + ".npz") as file:
        data = dict(file)
    inputs = [data[f"input.{i}"] for i in range(sum(key.startswith("input.") for key in data))]
    print(f"onnxruntime {onnxruntime.__version__}, {provider}")
    if "note.txt" in data:
        print(data["note.txt"].decode())
    plain = None
    for level in LEVELS:
        results = run(stem + ".onnx", inputs, level, provider)
        plain = plain or results
        report(level, results, plain)
        if not report_shown(data, results) and level == "off":
            report_reference(stem + ".onnx", inputs, data, plain)


if __name__ == "__main__":
    main()
