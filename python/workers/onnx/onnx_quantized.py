"""Pairs of nodes that are DequantizeLinear or QuantizeLinear in ONNX, where these compute the same.

A `cast` of codes to f32 or f16 and the `mul` with their scale is DequantizeLinear; a `div` by a scale and the `cast` to
codes is QuantizeLinear. The scale is one number, or has one for each row of the last axis, which may be a block. Where
a `reshape` merges the blocks of dequantized codes to rows, it belongs to the pair.
"""

import math
from collections import Counter
from typing import NamedTuple

import numpy as np
from fusesmith.vocabulary import QUANTIZED

CODES = ("s8", "s4", "f8e4m3", "f8e5m2")
SCALES = ("f32", "f16")  # what ONNX Runtime's kernels for the CPU take


class Pair(NamedTuple):
    """`inner` has no reader but the nodes of the pair, the last of which makes `result`.

    `shape` is that of the codes in ONNX, and `block` the number of elements of its last axis for each number of the
    scale; 0 if the scale is one number. `is_weight`: the only reader multiplies by the transposed result.
    """

    op: str
    inner: list
    result: str
    source: str
    scale: str
    shape: tuple
    block: int
    cast: dict
    is_weight: bool


def block_of(shape, scale):
    """How many elements of the last axis share a number of the scale; None if ONNX has no such scale."""
    if math.prod(shape) == 0 or len(scale) > len(shape):
        return None
    if math.prod(scale) == 1:
        return 0
    return shape[-1] if scale == (*shape[:-1], 1) else None


class Finder:
    """Finds the pairs among nodes of the graph; `results` are values that have to be computed."""

    def __init__(self, graph, nodes, results):
        self.types = graph.types
        self.nodes = nodes
        self.results = set(results)
        self.makers = {node["name"]: node for node in nodes}
        self.uses = Counter(name for node in nodes for name in node.get("inputs", []))

    def is_inner(self, name):
        return self.uses[name] == 1 and name not in self.results

    def only_reader(self, name):
        return next(node for node in self.nodes if name in node.get("inputs", [])) if self.is_inner(name) else None

    def made_by(self, name, op):
        """The node that makes this value for one reader, if it is such a node."""
        node = self.makers.get(name)
        return node if node and node["op"] == op and self.is_inner(name) else None

    def dequantized(self, node):
        """The pair that ends with this `mul`, if there is one."""
        for codes, scale in (node["inputs"], node["inputs"][::-1]):
            cast = self.made_by(codes, "cast")
            if cast is None:
                continue
            source = cast["inputs"][0]
            shape, kind = self.types[source].shape, self.types[scale]
            block = block_of(shape, kind.shape)
            if self.types[source].dtype in CODES and cast["dtype"] in SCALES and kind.dtype == cast["dtype"] and (
                    block is not None):
                return self.merged(Pair("DequantizeLinear", [cast["name"]], node["name"], source, scale, shape, block,
                                        cast, False))
        return None

    def merged(self, pair):
        """With the `reshape` that makes rows of its blocks, and whether it is the weight of a product then."""
        reader = self.only_reader(pair.result)
        rows = (*pair.shape[:-2], math.prod(pair.shape[-2:]))
        if reader and reader["op"] == "reshape" and len(pair.shape) > 2 and self.types[reader["name"]].shape == rows:
            pair = pair._replace(inner=[*pair.inner, pair.result], result=reader["name"], shape=rows)
            reader = self.only_reader(pair.result)
        is_factor = reader and len(pair.shape) == 2 and reader["inputs"][1:2] == [pair.result] and (
            reader["op"] == "linear" or reader["op"] == "matmul" and reader["transpose_b"])
        return pair._replace(is_weight=bool(is_factor))

    def quantized(self, cast):
        """The pair that ends with this `cast`, if there is one."""
        div = self.made_by(cast["inputs"][0], "div")
        if div is None or cast["dtype"] not in CODES or cast["rounding"] != "nearest":
            return None
        source, scale = (self.types[name] for name in div["inputs"])
        block = block_of(source.shape, scale.shape)
        if source.dtype not in SCALES or scale.dtype != source.dtype or block is None:
            return None
        return Pair("QuantizeLinear", [div["name"]], cast["name"], *div["inputs"], source.shape, block, cast, False)

    def pairs(self):
        """result -> pair"""
        tries = {"mul": self.dequantized, "cast": self.quantized}
        found = [tries[node["op"]](node) for node in self.nodes if node["op"] in tries]
        return {pair.result: pair for pair in found if pair}


def constant_inputs(graph):
    """Inputs that `+constants` makes initializers: codes, and the scales of pairs. Not states, which steps change."""
    pairs = Finder(graph, graph.nodes, graph.results()).pairs().values()
    scales = {pair.scale for pair in pairs}
    inputs = graph.inputs[:len(graph.inputs) - len(graph.next_states)]
    return [name for name in inputs if name in scales or graph.types[name].dtype in QUANTIZED]


def packed(array):
    """Integers of 4 bits, two in a byte; the first one is in the lower half."""
    halves = np.append(array.reshape(-1).view(np.uint8) & 15, np.zeros(array.size % 2, np.uint8))
    return halves[0::2] | halves[1::2] << 4


def operand(b, name, kind, shape, flips):
    """The value in this shape, s4 as INT4. With `flips`, a constant is stored transposed."""
    if name in b.constants:
        array = b.constants[name].reshape(shape)
        array = array.T.copy() if flips else array
        if kind.dtype == "s4":
            return b.tensor(b.int4, array.shape, packed(array))
        return b.tensor(b.onnx_type(kind.dtype), array.shape, array)
    if kind.shape != shape:
        name = b.node("Reshape", [name, b.constant(np.array(shape, np.int64))])
    return b.node("Cast", [name], to=b.int4) if kind.dtype == "s4" else name


def scale_of(b, pair, kind, flips):
    """The scale as ONNX wants it, its shape, and the attributes that say what it belongs to."""
    last = len(pair.shape) - 1
    if pair.block == 0:
        shape, attributes, flips = (), {}, False
    elif last == 1 and pair.block == pair.shape[1]:
        shape, attributes, flips = pair.shape[:1], {"axis": 1 if flips else 0}, False
    else:
        shape = (*pair.shape[:-1], pair.shape[-1] // pair.block)
        attributes = {"axis": 0 if flips else last, "block_size": pair.block}
    return operand(b, pair.scale, kind, shape, flips), shape[::-1] if flips else shape, attributes


def zeros(b, shape):
    return b.constant(np.zeros(shape, np.int8))


def lower_quantized(b, graph, pair):
    dtype = graph.types[pair.result].dtype
    scale, shape, attributes = scale_of(b, pair, graph.types[pair.scale], False)
    if dtype == "s8":  # ONNX Runtime fuses products of integers where these have a zero point
        return b.node("QuantizeLinear", [pair.source, scale, zeros(b, shape)], **attributes)
    attributes["output_dtype"] = b.int4 if dtype == "s4" else b.onnx_type(dtype)
    if dtype != "s4":
        attributes["saturate"] = int(pair.cast["overflow"] == "saturate")
    codes = b.node("QuantizeLinear", [pair.source, scale], **attributes)
    return b.cast(codes, "s4") if dtype == "s4" else codes


def lower_dequantized(b, graph, pair, of_pair):
    """A constant weight [n, k] is stored as [k, n], from which ONNX Runtime makes MatMulNBits.

    `of_pair`: QuantizeLinear makes the codes. Integers have a zero point where ONNX Runtime wants one to fuse products,
    and constants with several scales: to these it adds one itself, of a wrong shape (session.x64quantprecision).
    """
    kind = graph.types[pair.source]
    flips = pair.is_weight and pair.source in b.constants and pair.scale in b.constants
    codes = operand(b, pair.source, kind, pair.shape, flips)
    scale, shape, attributes = scale_of(b, pair, graph.types[pair.scale], flips)
    is_constant = pair.source in b.constants
    with_zeros = kind.dtype == "s8" and (of_pair or is_constant and (pair.is_weight or pair.block > 0))
    y = b.node("DequantizeLinear", [codes, scale, *([zeros(b, shape)] if with_zeros else [])], **attributes)
    return b.node("Transpose", [y], perm=[1, 0]) if flips else y


def lower(b, graph, pairs, pair):
    """Adds the operators of one of the pairs, and names the result."""
    b.owner, since = pair.result, len(b.made)
    if pair.op == "QuantizeLinear":
        made = lower_quantized(b, graph, pair)
    else:
        made = lower_dequantized(b, graph, pair, pair.source in pairs)
    b.rename(since, {made: pair.result})
