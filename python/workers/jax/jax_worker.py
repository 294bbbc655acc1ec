#!/usr/bin/env python3
"""JAX as a worker, on the CPU: jax_worker.py MODE[+SWITCH...]

MODE is op_by_op (every node is compiled by itself) or jit (the graph is compiled as a whole). Switches:
  native       functions that JAX composes of several operations (softmax, gelu, sigmoid, ...) get 16-bit operands as
               they are, and round in between; else they compute in f32
  without_ynn  XLA compiles products and reductions itself instead of calling YNNPACK
"""

import json
import os
import sys

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "protocol"))

from program import Program
from protocol import (
    Executor,
    Unavailable,
    measured_arithmetic,
    node_plan,
    np,
    opaque_plan,
    redirect_standard_output,
    serve,
)

replies = redirect_standard_output()

MODES = ("op_by_op", "jit")
SWITCHES = ("native", "without_ynn")
MOST_COMPILED = 4096  # compiled nodes that are kept


class JaxExecutor(Executor):
    def __init__(self, text):
        super().__init__()
        mode, *switches = text.split("+")
        if mode not in MODES or not set(switches) <= set(SWITCHES):
            raise Unavailable(f'unknown mode "{text}", expected one of {", ".join(MODES)}, and after + one of '
                              f'{", ".join(SWITCHES)}')
        self.name = f"jax:{text}"
        self.by_node = mode == "op_by_op"
        os.environ.setdefault("JAX_PLATFORMS", "cpu")
        if "without_ynn" in switches:
            os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_cpu_experimental_ynn_fusion_type="
        import jax
        import jax_ops
        import numpy_dtypes

        self.jax, self.ops, self.dtypes = jax, jax_ops, numpy_dtypes
        jax_ops.native_16_bit = "native" in switches
        self.program = self.graph = self.results = None
        self.compiled = {}  # nodes by their op, attributes and types: cases share many

    def versions(self):
        import jaxlib

        return {**super().versions(), "jax": self.jax.__version__, "jaxlib": jaxlib.__version__}

    def compile(self, graph):
        self.graph = graph
        self.results = graph.all_values() if self.by_node else graph.results()
        self.program = Program(graph, self.results, self.ops.LOWERINGS)
        arithmetic = {**measured_arithmetic("jax"), "variance": "two_pass", "div": 2, "flushes_subnormals": True}
        lowerings = ["einsum.sum_first_in_16_bits"]
        if self.by_node:
            self.compile_nodes()
            return node_plan(graph, arithmetic, lowerings=[*lowerings, "div.reciprocal"])
        self.program = self.jax.jit(self.program).lower(*self.shapes(graph.inputs)).compile()
        # (a / b) / c becomes a / (b c), with b c in the dtype; a / b may be a product with 1 / b in the dtype.
        return opaque_plan(arithmetic, lowerings=lowerings, rounded_inside={"div": 2})

    def shapes(self, names):
        types = [self.graph.types[name] for name in names]
        return [self.jax.ShapeDtypeStruct(kind.shape, self.ops.DTYPES[kind.dtype]) for kind in types]

    def compile_nodes(self):
        steps = []
        for node, (step, sources, targets) in zip(self.program.nodes, self.program.steps, strict=True):
            attributes = {key: value for key, value in node.items() if key not in ("name", "inputs")}
            key = json.dumps([attributes, [self.graph.types[name].text for name in sources]], sort_keys=True)
            if key not in self.compiled:
                self.compiled[key] = self.jax.jit(step).lower(*self.shapes(sources)).compile()
            steps.append((self.compiled[key], sources, targets))
        self.program.steps = steps
        while len(self.compiled) > MOST_COMPILED:
            self.compiled.pop(next(iter(self.compiled)))

    def run(self, loaded):
        arrays = [self.to_jax(name, loaded[name]) for name in self.graph.inputs]
        made = self.program(*arrays)
        return {name: self.dtypes.to_bits(np.asarray(array)) for name, array in zip(self.results, made, strict=True)}

    def to_jax(self, name, array):
        """A copy: JAX's arrays never change, so that it may keep what it gets without one."""
        return self.jax.device_put(self.dtypes.from_bits(array, self.graph.types[name].dtype).copy())


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    serve(lambda: JaxExecutor(sys.argv[1]), replies)


if __name__ == "__main__":
    main()
