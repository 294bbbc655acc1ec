#!/usr/bin/env python3
"""ONNX Runtime as a worker, on its CPU provider: ort_worker.py LEVEL[-OPTIMIZER...][+constants[+int8_products]]

LEVEL is a graph optimization level: off, basic, extended or all; or op_by_op, which runs every node of the graph as a
model of its own, without optimizations. OPTIMIZER names an optimizer to leave out, as `disabled_optimizers` of
InferenceSession takes it (all-GeluFusionL2).

With `constants`, inputs of quantized dtypes and their scales are initializers of the model, from which ONNX Runtime
makes operators of quantized weights. They compute as accurately as the session can ask for; with `int8_products`, as
they do by default: MatMulNBits rounds its other operand to integers of 8 bits, and without VNNI instructions, products
of 8-bit integers are added in 16 bits, which saturates.

Where ONNX or the provider has no bf16 kernel of an op, the model casts to f32 and back; for f16, ONNX Runtime inserts
such casts itself, and removes pairs of them between nodes: even with `off`, roundings to f16 are dropped, also of
values that are outputs. Only op_by_op keeps them all.
"""

import ctypes
import os
import re
import sys

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "protocol"))

from protocol import (
    NARROW,
    Executor,
    Unavailable,
    Unsupported,
    arithmetic_by_op,
    measured_arithmetic,
    node_plan,
    np,
    opaque_plan,
    redirect_standard_output,
    serve,
)

replies = redirect_standard_output()

LEVELS = {"op_by_op": "ORT_DISABLE_ALL", "off": "ORT_DISABLE_ALL", "basic": "ORT_ENABLE_BASIC",
          "extended": "ORT_ENABLE_EXTENDED", "all": "ORT_ENABLE_ALL"}
# How InferenceSession says that no kernel has a dtype: the provider's kernels, or the types that ONNX allows. Nodes
# are named NODE:NUMBER (onnx_model.py).
NO_KERNEL = re.compile(r"Could not find an implementation for (?P<op>\w+)\(\d+\) node with name '(?P<node>[^':]+)")
NO_TYPE = re.compile(r"of operator \((?P<op>\w+)\) in node \((?P<node>[^():]+)")
# Without a bf16 kernel ONNX Runtime replaces these by their definitions in ONNX, whose nodes have no bf16 kernels
# either, and no names that would say which op is meant.
REPLACED_WITHOUT_KERNEL = ("gelu", "softmax", "rms_norm", "group_norm", "sdpa")

WITHOUT_NUMPY = ("bf16", "f8e4m3", "f8e5m2", "f8e8m0")

# How variances are computed. Measured: the bits of LayerNormalization are those of a running mean. A var_mean is
# several nodes in ONNX; GroupNormalization is replaced by its definition in ONNX, which is E[x^2] - E[x]^2.
VARIANCES = {"layer_norm": "welford", "var_mean": "two_pass", "group_norm": "moments"}


# What makes products of quantized weights accurate.
ACCURATE = {"session.qdq_matmulnbits_accuracy_level": "1", "session.x64quantprecision": "1"}
SWITCHES = ("constants", "int8_products")
MODE = re.compile(r"(?P<level>\w+)(?P<rest>([-+]\w+)*)")


def parse_mode(text):
    """(level, optimizers to leave out, switches)"""
    found = MODE.fullmatch(text)
    level = found["level"] if found else text
    if level not in LEVELS:
        raise Unavailable(f'unknown level "{level}", expected one of {", ".join(LEVELS)}')
    rest = re.findall(r"([-+])(\w+)", found["rest"])
    switches = {word for sign, word in rest if sign == "+"}
    for word in sorted(switches):
        if word not in SWITCHES:
            raise Unavailable(f'unknown switch "+{word}", expected one of {", ".join(SWITCHES)}')
    if level == "op_by_op" and switches:
        raise Unavailable("op_by_op has no switches, because each node is a model of its own")
    if switches == {"int8_products"}:
        raise Unavailable('the switch "+int8_products" needs "+constants"')
    return level, [word for sign, word in rest if sign == "-"], switches


def own_variance(node, _types):
    return {"variance": VARIANCES[node["op"]]} if node["op"] in VARIANCES else {}


class OrtExecutor(Executor):
    def __init__(self, text):
        super().__init__()
        level, self.disabled, switches = parse_mode(text)
        self.name = f"ort:{text}"
        self.by_node = level == "op_by_op"
        self.with_constants = "constants" in switches
        import onnx_model
        import onnx_quantized
        import onnxruntime

        self.ort, self.onnx_model, self.onnx_quantized = onnxruntime, onnx_model, onnx_quantized
        self.session_options = onnxruntime.SessionOptions()
        self.session_options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, LEVELS[level])
        self.session_options.log_severity_level = 3
        # Idle threads that spin take the processor from other workers; no result depends on it.
        self.session_options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        if switches == {"constants"}:
            for key, value in ACCURATE.items():
                self.session_options.add_session_config_entry(key, value)
        self.in_f32 = {(op, "bf16") for op in REPLACED_WITHOUT_KERNEL}  # (op, dtype) that no kernel has
        self.with_pairs = True  # False where a pair of quantized nodes has no kernel
        self.graph = None
        self.sessions = []  # (session, names of its inputs, names of its results), in the order to run them
        self.constants = []  # names of the inputs that are initializers
        self.remembered = {}  # bits of the constants -> session

    def versions(self):
        import onnx

        return {**super().versions(), "onnxruntime": self.ort.__version__, "onnx": onnx.__version__}

    def compile(self, graph):
        self.graph, self.with_pairs, self.remembered = graph, True, {}
        self.constants = self.onnx_quantized.constant_inputs(graph) if self.with_constants else []
        arithmetic = measured_arithmetic("onnxruntime")
        if not self.by_node:
            ones = {name: np.ones(graph.types[name].shape, graph.types[name].storage) for name in self.constants}
            self.sessions = [self.make_session(graph.nodes, graph.inputs, graph.results(), ones)]
            return opaque_plan(arithmetic, arithmetic_of=arithmetic_by_op(graph, own_variance))
        self.sessions = []
        for node in graph.nodes:
            inputs = list(dict.fromkeys(node.get("inputs", [])))
            self.sessions.append(self.make_session([node], inputs, graph.outputs_of(node)))
        return node_plan(graph, arithmetic, own_variance)

    def make_session(self, nodes, inputs, results, constants=None):
        """Tries again with an op in f32 for each (op, dtype) that has no kernel. `constants`: arrays by name."""
        while True:
            model = self.onnx_model.build(self.graph, nodes, inputs, results, self.in_f32, with_pairs=self.with_pairs,
                                          constants=constants)
            try:
                session = self.ort.InferenceSession(model.SerializeToString(), self.session_options,
                                                    providers=["CPUExecutionProvider"],
                                                    disabled_optimizers=self.disabled)
                return session, [given.name for given in session.get_inputs()], results
            except Exception as error:
                self.note_missing_kernel(error)

    def note_missing_kernel(self, error):
        found = NO_KERNEL.search(str(error)) or NO_TYPE.search(str(error))
        if not found:
            raise error
        if found["op"] in ("DequantizeLinear", "QuantizeLinear") and self.with_pairs:
            self.with_pairs = False
            return
        node = next(node for node in self.graph.nodes if node["name"] == found["node"])
        dtypes = [self.graph.types[name].dtype for name in node.get("inputs", [])]
        narrow = next((dtype for dtype in dtypes if dtype in NARROW), None)
        if narrow is None or (node["op"], narrow) in self.in_f32:
            raise Unsupported(f"{found['op']} in {dtypes[0] if dtypes else 'i32'} has no CPU kernel") from error
        self.in_f32.add((node["op"], narrow))

    def run(self, loaded):
        """Outputs are read from ONNX Runtime's own memory: numpy has no bf16 to return them in."""
        if self.constants:
            self.sessions = [self.session_of({name: self.held(name, loaded[name]) for name in self.constants})]
        values = {name: self.to_ort(name, loaded[name]) for name in self.graph.inputs}
        made = {}
        for session, inputs, results in self.sessions:
            outputs = session.run_with_ort_values(results, {name: values[name] for name in inputs})
            made.update(zip(results, outputs, strict=True))
            values.update(made)
        return {name: self.to_numpy(name, value) for name, value in made.items()}

    def session_of(self, constants):
        """That of the last runs with these bits, or another one."""
        bits = tuple(array.tobytes() for array in constants.values())
        if bits not in self.remembered:
            while len(self.remembered) > 1:
                del self.remembered[next(iter(self.remembered))]
            graph = self.graph
            self.remembered[bits] = self.make_session(graph.nodes, graph.inputs, graph.results(), constants)
        return self.remembered[bits]

    def held(self, name, array):
        """As the model holds the value: s4 as integers of 8 bits."""
        return (array.view(np.int8) ^ 8) - 8 if self.graph.types[name].dtype == "s4" else array

    def to_ort(self, name, array):
        """Shares memory with the buffer, but for s4."""
        kind, array = self.graph.types[name], self.held(name, array)
        if kind.dtype not in WITHOUT_NUMPY:
            return self.ort.OrtValue.ortvalue_from_numpy(array)
        onnx_type = self.onnx_model.ONNX_TYPES[kind.dtype]
        return self.ort.OrtValue.ortvalue_from_numpy_with_onnx_type(array, onnx_type)

    def to_numpy(self, name, value):
        kind = self.graph.types[name]
        if kind.dtype == "s4":
            return np.asarray(value.numpy()).view(np.uint8) & 15
        if kind.dtype not in WITHOUT_NUMPY:
            return np.asarray(value.numpy())
        shape = tuple(value.shape())
        size = int(np.prod(shape, dtype=np.int64)) * kind.storage.itemsize
        memory = (ctypes.c_uint8 * size).from_address(value.data_ptr())
        return np.array(memory, np.uint8).view(kind.storage).reshape(shape)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    serve(lambda: OrtExecutor(sys.argv[1]), replies)


if __name__ == "__main__":
    main()
