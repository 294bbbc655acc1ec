"""Facts about quantized values in ONNX Runtime on the CPU: one function per row (scripts/studies/gallery_facts)."""

import ml_dtypes
import numpy as np
from facts.ort import F16, F32, LEVELS, model, optimized, session
from onnx import TensorProto


def ort_reshape_of_dequantized_s8():
    codes = np.array([12, -45, 7, -3], np.int8)
    nodes = [("DequantizeLinear", ["c", "s"], "d", {}), ("Reshape", ["d", "shape"], "y", {})]
    proto = model(nodes, {}, {"y": (F32, [2, 2])},
                  [("c", codes), ("s", np.float32(0.5)), ("shape", np.array([2, 2], np.int64))])
    y, plain = (session(proto, level).run(None, {})[0].ravel()
                for level in (LEVELS.ORT_ENABLE_ALL, LEVELS.ORT_DISABLE_ALL))
    holds = (y == np.maximum(codes, 0) / 2).all() and (plain == codes / 2).all()
    return bool(holds), f"{codes} times 0.5 is {y}, without optimizations {plain}"


def ort_reshape_of_quantized_s8():
    nodes = [("QuantizeLinear", ["x", "s", "z"], "q", {}), ("DequantizeLinear", ["q", "s", "z"], "d", {}),
             ("Reshape", ["d", "shape"], "y", {})]
    constants = [("s", np.float32(0.5)), ("z", np.int8(0)), ("shape", np.array([2, 2], np.int64))]
    proto = model(nodes, {"x": (F32, [4])}, {"y": (F32, [2, 2])}, constants)
    said = []
    for level in (LEVELS.ORT_ENABLE_BASIC, LEVELS.ORT_ENABLE_ALL):
        try:
            session(proto, level)
            said.append("makes a session")
        except Exception as error:
            said.append(str(error).partition("[TypeInferenceError] ")[2] or str(error))
    holds = said[0] == "makes a session" and said[1].startswith("output_dtype INT8 does not match y_zero_point type")
    return holds, f"basic {said[0]}; all: {said[1]}"


def ort_cast_of_s4_in_place():
    x = np.arange(-7, 8, dtype=np.float32)
    nodes = [("QuantizeLinear", ["x", "s"], "q", {"output_dtype": TensorProto.INT4}),
             ("Cast", ["q"], "c", {"to": TensorProto.INT8}), ("Cast", ["c"], "y", {"to": F32})]
    proto = model(nodes, {"x": (F32, [15])}, {"y": (F32, [15])}, [("s", np.float32(1))])
    found = [session(proto, level).run(None, {"x": x})[0] for level in (LEVELS.ORT_DISABLE_ALL, LEVELS.ORT_ENABLE_ALL)]
    return bool(all(y[0] == x[0] and (y[1:] != x[1:]).any() for y in found)), f"{x} becomes {found[1]}"


def cast_and_back(dtype, x):
    nodes = [("Cast", ["x"], "q", {"to": dtype, "saturate": 0}), ("Cast", ["q"], "y", {"to": F32})]
    x = np.array(x, np.float32)
    return session(model(nodes, {"x": (F32, [len(x)])}, {"y": (F32, [len(x)])})).run(None, {"x": x})[0]


def ort_cast_f8e4m3_near_the_largest():
    x = [464, 465, 479.99, 480, 488, 495.99, 496, 512]
    y = cast_and_back(TensorProto.FLOAT8E4M3FN, x)
    expected = [448, np.nan, np.nan, 448, 448, 448, np.nan, np.nan]
    exact = np.array(x, ml_dtypes.float8_e4m3fn).astype(np.float32)
    holds = np.array_equal(y, np.float32(expected), equal_nan=True) and np.isnan(exact[1:]).all()
    return holds, f"{x} become {y}, to nearest {exact}"


def ort_cast_f8e5m2_near_the_largest():
    x = [57344, 61439, 61440, 63488, 65535, 65536, 1e6]
    y = cast_and_back(TensorProto.FLOAT8E5M2, x)
    expected = [57344, 57344, np.nan, np.nan, np.nan, np.inf, np.inf]
    exact = np.array(x, np.float32).astype(ml_dtypes.float8_e5m2).astype(np.float32)
    holds = np.array_equal(y, np.float32(expected), equal_nan=True) and (exact[2:] == np.inf).all()
    return holds, f"{x} become {y}, to nearest {exact}"


def product_with_s4(kind, dtype):
    """x, the exact product, and a model of it: 8 columns, in blocks of 16."""
    random = np.random.default_rng(1)
    codes = random.integers(-8, 8, (32, 8))
    scale = (random.integers(1, 32, (2, 8)) / 64).astype(dtype)
    x = random.standard_normal((3, 32)).astype(dtype)
    nodes = [("DequantizeLinear", ["c", "s"], "d", {"axis": 0, "block_size": 16}), ("MatMul", ["x", "d"], "y", {})]
    proto = model(nodes, {"x": (kind, [3, 32])}, {"y": (kind, [3, 8])},
                  [("c", codes.astype(ml_dtypes.int4)), ("s", scale)])
    return x, x.astype(np.float64) @ (codes * np.repeat(scale.astype(np.float64), 16, axis=0)), proto


def ort_product_with_s4_in_f16():
    x, exact, proto = product_with_s4(F16, np.float16)
    (y, ops), (other, _) = (optimized(proto, {"x": x}, level)
                            for level in (LEVELS.ORT_ENABLE_EXTENDED, LEVELS.ORT_ENABLE_ALL))
    is_right, other_is_right = (abs(values - exact).max() < 0.02 * abs(exact).max() for values in (y, other))
    holds = not is_right and other_is_right and "MatMulNBits" in ops
    return bool(holds), f"extended {y[0, :3]}, all {other[0, :3]} for {exact[0, :3]}; extended runs {ops}"


def ort_product_with_s4_rounds_activations():
    x, exact, proto = product_with_s4(F32, np.float32)
    (y, ops), (plain, _) = (optimized(proto, {"x": x}, level)
                            for level in (LEVELS.ORT_ENABLE_ALL, LEVELS.ORT_DISABLE_ALL))
    error, least = (abs(values - exact).max() / abs(exact).max() for values in (y, plain))
    holds = error > 1e-3 and least < 1e-6
    return bool(holds), f"relative error {error:.2g}, without optimizations {least:.2g}; runs {ops}"


def ort_softmax_of_quantized_s8():
    scale, found = np.float32(0.05), []
    x = np.random.default_rng(1).normal(0, 4, (100, 8)).astype(np.float32)
    codes = np.clip(np.rint(x / scale), -128, 127).astype(np.float64) * scale
    p = np.exp(codes - codes.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    for of_result in np.float32([0.4, 0.08, 1 / 64]):
        nodes = [("QuantizeLinear", ["x", "s", "z"], "q", {}), ("DequantizeLinear", ["q", "s", "z"], "d", {}),
                 ("Softmax", ["d"], "p", {"axis": -1}),
                 ("QuantizeLinear", ["p", "t", "z"], "r", {}),
                 ("DequantizeLinear", ["r", "t", "z"], "y", {})]
        proto = model(nodes, {"x": (F32, [100, 8])}, {"y": (F32, [100, 8])},
                      [("s", scale), ("t", of_result), ("z", np.int8(0))])
        y, ops = optimized(proto, {"x": x}, LEVELS.ORT_ENABLE_ALL)
        y = np.rint(y / of_result)
        wrong = abs(y - p / np.float64(of_result)) > 0.501
        found.append((wrong.sum(), (y == np.rint(p * np.floor(1 / of_result))).all() and "QLinearSoftmax" in ops))
    counts, explained = zip(*found, strict=True)
    holds = counts[0] > 0 and counts[1] > 0 and counts[2] == 0 and all(explained)
    return bool(holds), (f"{counts[0]}, {counts[1]} and {counts[2]} of {p.size} codes are wrong with scales of 0.4, "
                         f"0.08 and 1/64; all are those of probability times floor(1 / scale): {all(explained)}")


def onnxruntime_32132_qdq_add():
    random = np.random.default_rng(1)
    scales = {"a": np.float32(0.06), "b": np.float32(0.1), "y": np.float32(0.16)}
    feed = {name: random.normal(0, 4, (64, 64)).astype(np.float32) for name in "ab"}
    nodes = []
    for source, name in (("a", "a"), ("b", "b"), ("sum", "y")):
        if source == "sum":
            nodes.append(("Add", ["a_d", "b_d"], "sum", {}))
        nodes.append(("QuantizeLinear", [source, f"{name}_s", "z"], f"{name}_q", {}))
        nodes.append(("DequantizeLinear", [f"{name}_q", f"{name}_s", "z"], f"{name}_d", {}))
    kind = (F32, [64, 64])
    proto = model(nodes, dict.fromkeys("ab", kind), {"y_d": kind},
                  [("z", np.int8(0)), *((f"{name}_s", scale) for name, scale in scales.items())])
    (fused, ops), (plain, _) = (optimized(proto, feed, level)
                                for level in (LEVELS.ORT_ENABLE_ALL, LEVELS.ORT_DISABLE_ALL))
    codes = {name: np.clip(np.rint(x / scales[name]), -128, 127).astype(np.float64) for name, x in feed.items()}
    quotient = sum(codes[name] * np.float64(scales[name]) for name in "ab") / np.float64(scales["y"])
    differs = fused != plain
    from_tie = abs(quotient - np.floor(quotient) - 0.5)[differs]
    steps = abs(np.rint((fused - plain) / scales["y"]))[differs]
    holds = differs.any() and (steps == 1).all() and from_tie.max() < 1e-5 and "QLinearAdd" in ops
    return bool(holds), (f"{differs.sum()} of {differs.size} codes differ, by one step; their sums are within "
                         f"{from_tie.max():.2g} steps of a tie; runs {ops}")


FACTS = {function.__name__: function for function in (
    onnxruntime_32132_qdq_add, ort_cast_f8e4m3_near_the_largest, ort_cast_f8e5m2_near_the_largest,
    ort_cast_of_s4_in_place, ort_product_with_s4_in_f16, ort_product_with_s4_rounds_activations,
    ort_reshape_of_dequantized_s8, ort_reshape_of_quantized_s8, ort_softmax_of_quantized_s8)}
