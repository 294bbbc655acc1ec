"""Finds what several ONNX operators compute together where no single one has a counterpart: gelu around Erf.

Exporters write gelu(x) as x * 0.5 * (1 + erf(x / sqrt(2))), with the factors in any order.
"""

import math
from collections import defaultdict

import numpy as np
from onnx import helper
from onnx_reader import array_of


class Uses:
    """Who makes and who reads each value, and the constants of one element."""

    def __init__(self, graph):
        self.makers = {name: node for node in graph.node for name in node.output}
        self.readers = defaultdict(list)
        for node in graph.node:
            for name in node.input:
                self.readers[name].append(node)
        for value in graph.output:
            self.readers[value.name].append(None)
        self.numbers = {tensor.name: number_of(tensor) for tensor in graph.initializer}
        for node in graph.node:
            if node.op_type == "Constant" and node.attribute and node.attribute[0].name == "value":
                self.numbers[node.output[0]] = number_of(node.attribute[0].t)

    def is_number(self, name, value):
        number = self.numbers.get(name)
        return number is not None and math.isclose(number, value, rel_tol=1e-3)

    def other(self, node, op, value):
        """The operand beside the constant `value` of a commutative operator, or None."""
        if node is None or node.op_type != op:
            return None
        a, b = node.input
        return a if self.is_number(b, value) else b if self.is_number(a, value) else None

    def only_reader(self, name):
        readers = self.readers[name]
        return readers[0] if len(readers) == 1 else None


def number_of(tensor):
    array = array_of(tensor) if np.prod(tensor.dims, dtype=object) == 1 else np.zeros(0)
    return float(array.reshape(-1)[0]) if array.size == 1 and array.dtype.kind in "fV" else None


def gelu_of(erf, uses):
    """(the last node of a gelu around this Erf, the value it is of), or None."""
    inner = uses.makers.get(erf.input[0])
    x = uses.other(inner, "Mul", math.sqrt(0.5))
    if x is None and inner is not None and inner.op_type == "Div" and uses.is_number(inner.input[1], math.sqrt(2)):
        x = inner.input[0]
    plus_one = uses.only_reader(erf.output[0])
    if x is None or uses.other(plus_one, "Add", 1) is None:
        return None
    product = uses.only_reader(plus_one.output[0])
    if product is None or product.op_type != "Mul":
        return None
    beside = next((name for name in product.input if name != plus_one.output[0]), None)
    if beside == x:  # x (1 + erf) times 0.5
        last = uses.only_reader(product.output[0])
        return (last, x) if uses.other(last, "Mul", 0.5) else None
    if uses.other(uses.makers.get(beside), "Mul", 0.5) == x:  # (0.5 x) (1 + erf)
        return product, x
    if uses.is_number(beside, 0.5):  # (0.5 (1 + erf)) x
        last = uses.only_reader(product.output[0])
        return (last, x) if last is not None and last.op_type == "Mul" and x in last.input else None
    return None


def gelus(graph):
    """Name of the result of a gelu -> the value it is of, and the names of the values that only it reads."""
    uses = Uses(graph)
    found = {}
    for node in graph.node:
        made = gelu_of(node, uses) if node.op_type == "Erf" else None
        if made:
            found[made[0].output[0]] = made[1]
    return found


def recognise(model):
    """Replaces the last node of each gelu by the operator Gelu of opset 20, and drops the nodes that nobody reads."""
    graph = model.graph
    found = gelus(graph)
    if not found:
        return
    nodes = [helper.make_node("Gelu", [found[node.output[0]]], [node.output[0]], node.name)
             if node.output and node.output[0] in found else node for node in graph.node]
    wanted = {value.name for value in graph.output}
    kept = []
    for node in reversed(nodes):
        if wanted & set(node.output):
            kept.append(node)
            wanted |= set(node.input)
    graph.ClearField("node")
    graph.node.extend(reversed(kept))
