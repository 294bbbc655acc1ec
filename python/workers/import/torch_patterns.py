"""Rewrites what PyTorch makes of one operator when it decomposes it, where no op of ours stands for the parts."""

import math

import torch
from fusesmith.trace import short_name

SAFE_SOFTMAX = torch.ops.aten._safe_softmax.default


def called(node, *names):
    return isinstance(node, torch.fx.Node) and node.op == "call_function" and short_name(node.target) in names


def safe_softmax_of(node):
    """(x, axis) of where(not any(not x == -inf), 0, softmax(x)), or None."""
    if not (called(node, "where") and len(node.args) == 3):
        return None
    hidden, zero, softmax = node.args
    if not (called(softmax, "_softmax") and called(zero, "full_like", "zeros_like", "full", "scalar_tensor")):
        return None
    x, axis = softmax.args[:2]
    number = [arg for arg in zero.args if isinstance(arg, (int, float))]
    shown = hidden.args[0] if called(hidden, "logical_not") else None
    every = shown.args[0] if called(shown, "any") else None
    lowest = every.args[0] if called(every, "logical_not") else None
    if (not called(lowest, "eq") or tuple(lowest.args) != (x, -math.inf) or any(number)
            or tuple(shown.args[1:]) != (axis, True) or node.meta["val"].dtype != x.meta["val"].dtype):
        return None
    return x, axis


def recognise(program):
    """The program itself, in whose graph attention decomposed has one operator for its softmax."""
    graph = program.graph_module.graph
    found = [(node, safe_softmax_of(node)) for node in graph.nodes]
    for node, operands in found:
        if operands:
            with graph.inserting_before(node):
                made = graph.call_function(SAFE_SOFTMAX, operands)
            made.meta = dict(node.meta)
            node.replace_all_uses_with(made)
    if any(operands for _, operands in found):
        graph.eliminate_dead_code()
    return program
