"""Facts about ONNX Runtime on the CPU: one function per row (scripts/studies/gallery_facts).

Models are made with onnx.helper. What is expected is computed with NumPy in f64, and rounded once.
"""

import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

BF16, F16, F32 = TensorProto.BFLOAT16, TensorProto.FLOAT16, TensorProto.FLOAT
LEVELS = onnxruntime.GraphOptimizationLevel


def model(nodes, inputs, outputs, constants=()):
    """nodes: (op, inputs, output, attributes); inputs, outputs: name -> (dtype, shape); opset 23."""
    made = [helper.make_node(op, source, [name], **attributes) for op, source, name, attributes in nodes]
    ends = [[helper.make_tensor_value_info(name, *kind) for name, kind in side.items()] for side in (inputs, outputs)]
    constants = [onnx.numpy_helper.from_array(np.asarray(value), name) for name, value in constants]
    graph = helper.make_graph(made, "fact", *ends, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10)


def session(proto, level=LEVELS.ORT_ENABLE_ALL, optimized=""):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level, options.log_severity_level, options.intra_op_num_threads = level, 3, 1
    options.optimized_model_filepath = optimized
    return onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])


def optimized(proto, feed, level):
    """The first result, and the ops of the model that runs: Cast:10 casts to f16, Cast:16 to bf16."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onnx")
        result = session(proto, level, path).run(None, feed)[0]
        nodes = onnx.load(path).graph.node
    return result, [f"{n.op_type}:{n.attribute[0].i}" if n.op_type == "Cast" else n.op_type for n in nodes]


def ort_cast_skipped_before_relu():
    x = np.array([1.0001, 2.0003, 0.1, -1], np.float32)
    nodes = [("Cast", ["x"], "half", {"to": F16}), ("Relu", ["half"], "r", {}), ("Cast", ["r"], "y", {"to": F32})]
    proto = model(nodes, {"x": (F32, [4])}, {"y": (F32, [4])})
    found = [optimized(proto, {"x": x}, level) for level in (LEVELS.ORT_DISABLE_ALL, LEVELS.ORT_ENABLE_ALL)]
    holds = all((y == np.maximum(x, 0)).all() and "Cast:10" not in ops for y, ops in found)
    return holds, f"runs {found[1][1]}, without optimizations {found[0][1]}; relu of 0.1 is {found[1][0][2]:.9g}"


def ort_two_casts_become_one():
    value = -0.22449
    nodes = [("Cast", ["x"], "b", {"to": BF16}), ("Cast", ["b"], "f", {"to": F16}),
             ("Einsum", ["f", "w"], "y", {"equation": "abk,kn->abn"}), ("Where", ["mask", "zero", "u"], "m", {})]
    one, flag = (F16, [1, 1, 1]), (TensorProto.BOOL, [1, 1, 1])
    proto = model(nodes, {"x": (F32, [1, 1, 1]), "w": (F16, [1, 1]), "u": one, "mask": flag}, {"y": one, "m": one},
                  [("zero", np.float16(0))])
    feed = {"x": np.full((1, 1, 1), value, np.float32), "w": np.ones((1, 1), np.float16),
            "u": np.zeros((1, 1, 1), np.float16), "mask": np.zeros((1, 1, 1), bool)}
    (y, ops), (plain, _) = (optimized(proto, feed, level) for level in (LEVELS.ORT_ENABLE_ALL, LEVELS.ORT_DISABLE_ALL))
    rounded = np.float32(-0.224609375)  # -0.22449 in bf16, which f16 represents
    holds = y[0, 0, 0] == np.float16(value) and plain[0, 0, 0] == rounded and "Cast:16" not in ops
    return bool(holds), f"{y[0, 0, 0]:.9g} for {rounded:.9g}, which it is without optimizations; runs {ops}"


def ort_reduce_max_loses_nan():
    largest = session(model([("ReduceMax", ["x"], "y", {"keepdims": 0})], {"x": (F32, ["n"])}, {"y": (F32, [])}))
    counts = range(2, 33)

    def lost(count, place):
        x = np.where(np.arange(count) == place, np.nan, 0).astype(np.float32)
        return not np.isnan(largest.run(None, {"x": x})[0])

    first = sum(lost(count, 0) for count in counts)
    others = [lost(count, place) for count in counts for place in range(1, count)]
    text = f"of 2 to 32 elements, {sum(others)} of {len(others)} NaNs after the first are lost, and {first} first ones"
    return not first and all(others), text


def ort_sigmoid_f32():
    x = np.linspace(-100, 100, 1000001).astype(np.float32)
    y = session(model([("Sigmoid", ["x"], "y", {})], {"x": (F32, ["n"])}, {"y": (F32, ["n"])})).run(None, {"x": x})[0]
    error = abs(y - 1 / (1 + np.exp(-x.astype(np.float64))))
    relative = error / (1 / (1 + np.exp(-x.astype(np.float64))))
    near = relative[(x > -15) & (x < -10)].max()
    holds = error.max() < 4 * 2**-24 and near > 0.1 and not y[x < -18].any()
    text = (f"largest error {error.max() * 2**24:.1f} units of 2^-24, relative to the result up to {near:.2g} in -15 "
            f"to -10; 0 below {x[y != 0].min():.4g}")
    return bool(holds), text


def ort_attention_with_hidden_nan():
    shapes = {"q": [1, 1, 1, 4], "k": [1, 1, 2, 4], "v": [1, 1, 2, 1]}
    proto = model([("Attention", ["q", "k", "v"], "y", {"is_causal": 1})],
                  {name: (F32, shape) for name, shape in shapes.items()}, {"y": (F32, [1, 1, 1, 1])})
    feed = {name: np.ones(shape, np.float32) for name, shape in shapes.items()}
    without = session(proto).run(None, feed)[0].item()
    feed["k"][0, 0, 1, 0] = np.nan
    got = session(proto).run(None, feed)[0].item()
    return np.isnan(got) and without == 1, f"attention of a causally hidden NaN gives {got}, without it {without}"


def ort_group_norm_of_near_values():
    kinds = [(F32, [1, 3, 1]), (F32, [3]), (F32, [3])]
    proto = model([("GroupNormalization", ["x", "s", "b"], "y", {"num_groups": 1})],
                  dict(zip("xsb", kinds, strict=True)), {"y": kinds[0]})
    x = np.float32([500, 500.01, 500.02]).reshape(1, 3, 1)
    y = session(proto).run(None, {"x": x, "s": np.ones(3, np.float32), "b": np.zeros(3, np.float32)})[0].ravel()
    types = [helper.make_tensor_type_proto(*kind).SerializeToString() for kind in kinds]
    schema = onnx.defs.get_schema("GroupNormalization", 21)
    body = schema.get_context_dependent_function_with_opset_version(21, proto.graph.node[0].SerializeToString(), types)
    definition = [node for node in onnx.FunctionProto.FromString(body).node if node.output[0] == "Var"]
    moments = [list(node.input) for node in definition] == [["MeanOfSquare", "SquareOfMean"]]
    mean, squares = x.mean(dtype=np.float32), (x * x).mean(dtype=np.float32)
    text = f"{y} for (-1.14, 0, 1.14); ONNX's definition has E[x^2] - E[x]^2: {squares - mean * mean:.3g} in f32"
    return bool(np.isnan(y).all() and moments), text


def crash():
    """What ort_transpose_cast_matmul runs in a process of its own."""
    proto = model([("Transpose", ["x"], "t", {"perm": [1, 2, 0]}), ("Cast", ["t"], "c", {"to": F32}),
                   ("MatMul", ["c", "w"], "y", {})],
                  {"x": (F16, [1, 1, 1]), "w": (F32, [1, 1])}, {"y": (F32, [1, 1, 1])})
    session(proto, LEVELS.ORT_DISABLE_ALL)
    print("without optimizations: a session", flush=True)
    session(proto)


def ort_transpose_cast_matmul():
    done = subprocess.run([sys.executable, __file__], capture_output=True, text=True, check=False, timeout=120)
    holds = done.returncode == -11 and "a session" in done.stdout
    return holds, f"{done.stdout.splitlines()[-1]}; with all of them: exit code {done.returncode}"


FACTS = {function.__name__: function for function in (
    ort_attention_with_hidden_nan, ort_cast_skipped_before_relu, ort_group_norm_of_near_values,
    ort_reduce_max_loses_nan, ort_sigmoid_f32, ort_transpose_cast_matmul, ort_two_casts_become_one)}

if __name__ == "__main__":
    crash()
