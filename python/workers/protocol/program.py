"""A graph as one Python function of its inputs, which torch.compile and jax.jit can trace."""

import math

from protocol import Unsupported


def simple(function):
    """The lowering of an op without attributes."""
    return lambda _node, _types: function


def number(value):
    """An attribute of a case file as a number: infinities are text there."""
    return {"inf": math.inf, "-inf": -math.inf}.get(value, value)


class Program:
    """`lowerings` maps an op to a function of (node, types of its inputs) that returns a function of tensors."""

    def __init__(self, graph, results, lowerings):
        self.inputs, self.results = graph.inputs, results
        self.nodes, self.steps = graph.inlined(lowerings), []
        for node in self.nodes:
            if node["op"] not in lowerings:
                raise Unsupported(f"no kernel for {node['op']}")
            sources = tuple(node.get("inputs", []))
            step = lowerings[node["op"]](node, [graph.types[name] for name in sources])
            self.steps.append((step, sources, tuple(graph.outputs_of(node))))

    def __call__(self, *inputs):
        values = dict(zip(self.inputs, inputs, strict=True))
        for step, sources, targets in self.steps:
            made = step(*[values[source] for source in sources])
            values.update(zip(targets, made if isinstance(made, (tuple, list)) else (made,), strict=True))
        return tuple(values[name] for name in self.results)
