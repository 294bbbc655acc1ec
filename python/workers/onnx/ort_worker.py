#!/usr/bin/env python3
"""ONNX Runtime as a worker, on its CPU provider: ort_worker.py LEVEL[-OPTIMIZER...]

LEVEL is a graph optimization level: off, basic, extended or all; or op_by_op, which runs every node of the graph as a
model of its own, without optimizations. OPTIMIZER names an optimizer to leave out, as `disabled_optimizers` of
InferenceSession takes it (all-GeluFusionL2).

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


def own_variance(node, _types):
    return {"variance": VARIANCES[node["op"]]} if node["op"] in VARIANCES else {}


class OrtExecutor(Executor):
    def __init__(self, text):
        super().__init__()
        level, *disabled = text.split("-")
        if level not in LEVELS:
            raise Unavailable(f'unknown level "{level}", expected one of {", ".join(LEVELS)}')
        self.name = f"ort:{text}"
        self.by_node = level == "op_by_op"
        self.disabled = disabled
        import onnx_model
        import onnxruntime

        self.ort, self.onnx_model = onnxruntime, onnx_model
        self.session_options = onnxruntime.SessionOptions()
        self.session_options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, LEVELS[level])
        self.session_options.log_severity_level = 3
        # Idle threads that spin take the processor from other workers; no result depends on it.
        self.session_options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self.in_f32 = {(op, "bf16") for op in REPLACED_WITHOUT_KERNEL}  # (op, dtype) that no kernel has
        self.graph = None
        self.sessions = []  # (session, names of its inputs, names of its results), in the order to run them

    def versions(self):
        import onnx

        return {**super().versions(), "onnxruntime": self.ort.__version__, "onnx": onnx.__version__}

    def compile(self, graph):
        self.graph = graph
        arithmetic = measured_arithmetic("onnxruntime")
        if not self.by_node:
            self.sessions = [self.make_session(graph.nodes, graph.inputs, graph.results())]
            return opaque_plan(arithmetic, arithmetic_of=arithmetic_by_op(graph, own_variance))
        self.sessions = []
        for node in graph.nodes:
            inputs = list(dict.fromkeys(node.get("inputs", [])))
            self.sessions.append(self.make_session([node], inputs, graph.outputs_of(node)))
        return node_plan(graph, arithmetic, own_variance)

    def make_session(self, nodes, inputs, results):
        """Tries again with an op in f32 for each (op, dtype) that has no kernel."""
        while True:
            model = self.onnx_model.build(self.graph, nodes, inputs, results, self.in_f32)
            try:
                session = self.ort.InferenceSession(model.SerializeToString(), self.session_options,
                                                    providers=["CPUExecutionProvider"],
                                                    disabled_optimizers=self.disabled)
                return session, inputs, results
            except Exception as error:
                self.note_missing_kernel(error)

    def note_missing_kernel(self, error):
        found = NO_KERNEL.search(str(error)) or NO_TYPE.search(str(error))
        if not found:
            raise error
        node = next(node for node in self.graph.nodes if node["name"] == found["node"])
        dtypes = [self.graph.types[name].dtype for name in node.get("inputs", [])]
        narrow = next((dtype for dtype in dtypes if dtype in NARROW), None)
        if narrow is None or (node["op"], narrow) in self.in_f32:
            raise Unsupported(f"{found['op']} in {dtypes[0] if dtypes else 'i32'} has no CPU kernel") from error
        self.in_f32.add((node["op"], narrow))

    def run(self, loaded):
        """Outputs are read from ONNX Runtime's own memory: numpy has no bf16 to return them in."""
        values = {name: self.to_ort(name, loaded[name]) for name in self.graph.inputs}
        made = {}
        for session, inputs, results in self.sessions:
            outputs = session.run_with_ort_values(results, {name: values[name] for name in inputs})
            made.update(zip(results, outputs, strict=True))
            values.update(made)
        return {name: self.to_numpy(name, value) for name, value in made.items()}

    def to_ort(self, name, array):
        """Shares memory with the buffer."""
        kind = self.graph.types[name]
        if kind.dtype not in WITHOUT_NUMPY:
            return self.ort.OrtValue.ortvalue_from_numpy(array)
        onnx_type = self.onnx_model.ONNX_TYPES[kind.dtype]
        return self.ort.OrtValue.ortvalue_from_numpy_with_onnx_type(array, onnx_type)

    def to_numpy(self, name, value):
        kind = self.graph.types[name]
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
