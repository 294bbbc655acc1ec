"""The graph of a case as an ONNX model. Every value keeps its name."""

import json

import numpy as np
import onnx_ops
import onnx_quantized
from onnx import TensorProto, helper
from protocol import Unsupported

OPSET = 23
OPSET_OF_F8E8M0 = 24  # the first one with this dtype; known files and reports are of the other
IR_VERSION = 11
OUR_DOMAIN = "fusesmith"  # of functions for ops that are several operators
NAMES = {"f32": "FLOAT", "f16": "FLOAT16", "bf16": "BFLOAT16", "i32": "INT32", "bool": "BOOL",
         "f8e4m3": "FLOAT8E4M3FN", "f8e5m2": "FLOAT8E5M2", "f8e8m0": "FLOAT8E8M0", "s8": "INT8",
         "s4": "INT8"}  # values of s4: hardly any operator has INT4
# Old versions of onnx lack some.
ONNX_TYPES = {dtype: TensorProto.DataType.Value(name) for dtype, name in NAMES.items()
              if name in TensorProto.DataType.keys()}  # noqa: SIM118 (no dict)


def bf16_bits(values):
    """f32 values rounded to bf16, to nearest even; NaN stays NaN."""
    values = np.asarray(values, np.float32)
    bits = values.view(np.uint32)
    rounded = ((bits.astype(np.uint64) + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    return np.where(np.isnan(values), np.uint16(0x7FC0), rounded).astype(np.uint16)


def stored(values, dtype):
    """Numbers as the storage of a float dtype."""
    with np.errstate(over="ignore"):
        return bf16_bits(values) if dtype == "bf16" else np.asarray(values, {"f32": "f4", "f16": "f2"}[dtype])


class Builder:
    """Collects nodes and constants. Names that it makes contain a colon, which no name of a case does.

    `constants`: arrays of inputs of the case that are no inputs of the model.
    """

    int4 = TensorProto.INT4

    def __init__(self, constants=None):
        self.made = []  # [op, inputs, outputs, attributes, name of the node]
        self.initializers = []
        self.constants = constants or {}
        self.owner = ""  # the node of the case that is being lowered

    def nodes(self, op, inputs, count, **attributes):
        outputs = [f"{self.owner}:{len(self.made)}.{i}" for i in range(count)]
        self.made.append([op, list(inputs), outputs, attributes, f"{self.owner}:{len(self.made)}"])
        return outputs

    def node(self, op, inputs, **attributes):
        return self.nodes(op, inputs, 1, **attributes)[0]

    def tensor(self, onnx_type, shape, data):
        name = f"{self.owner}:c{len(self.initializers)}"
        self.initializers.append(helper.make_tensor(name, onnx_type, shape, data.tobytes(), raw=True))
        return name

    def constant(self, array):
        return self.tensor(helper.np_dtype_to_tensor_dtype(array.dtype), array.shape, array)

    def full(self, shape, value, dtype):
        return self.tensor(ONNX_TYPES[dtype], shape, stored(np.full(shape, value, np.float64), dtype))

    def number(self, value, dtype):
        return self.full([], value, dtype)

    def onnx_type(self, dtype):
        return ONNX_TYPES[dtype]

    def cast(self, name, dtype):
        return self.node("Cast", [name], to=ONNX_TYPES[dtype])

    def rename(self, since, names):
        for made in self.made[since:]:
            made[1] = [names.get(name, name) for name in made[1]]
            made[2] = [names.get(name, name) for name in made[2]]


def factor_is_exact(node, dtype):
    """Whether the factor, rounded to f32 as the op says, is a number of the dtype."""
    factor = np.float32(node["factor"])
    narrow = stored(factor, dtype)
    widened = (narrow.astype(np.uint32) << 16).view(np.float32) if dtype == "bf16" else np.float32(narrow)
    return widened == factor


def rounds_in_between(node, dtype, types):
    """Whether the lowering in 16 bits would round more than once."""
    if node["op"] == "scale":
        return not factor_is_exact(node, dtype)
    if node["op"] == "linear":
        return len(types) == 3 and len(types[0].shape) != 2
    return node["op"] in onnx_ops.SEVERAL_ROUNDINGS


def lower(b, graph, node, in_f32):
    """Adds the node; `in_f32` has the (op, dtype) that compute in f32 because no kernel has the dtype."""
    if node["op"] not in onnx_ops.LOWERINGS:
        parts = graph.parts_of(node)
        if not parts:
            raise Unsupported(f"no kernel for {node['op']}")
        for part in parts:
            lower(b, graph, part, in_f32)
        return
    names = node.get("inputs", [])
    types = [graph.types[name] for name in names]
    targets = graph.outputs_of(node)
    b.owner, since = node["name"], len(b.made)
    narrow = next((kind.dtype for kind in types if kind.is_narrow), None)
    composed = narrow and (node.get("upcast") or node["name"] in graph.definitions or
                           rounds_in_between(node, narrow, types))
    wide = node["op"] != "cast" and (composed or (node["op"], narrow) in in_f32)
    if wide:
        names = [b.cast(name, "f32") if kind.is_narrow else name for name, kind in zip(names, types, strict=True)]
    dtype = "f32" if wide or not narrow else narrow
    made = onnx_ops.LOWERINGS[node["op"]](b, node, names, types, dtype)
    if wide:
        made = [b.cast(name, narrow) for name in made]
    own = {name for entry in b.made[since:] for name in entry[2]}
    made = [name if name in own else b.node("Identity", [name]) for name in made]
    b.rename(since, dict(zip(made, targets, strict=True)))


def opset_of(graph):
    return OPSET_OF_F8E8M0 if any(kind.dtype == "f8e8m0" for kind in graph.types.values()) else OPSET


def check_dtypes(graph):
    for kind in graph.types.values():
        if kind.dtype == "f4e2m1":
            raise Unsupported("ONNX has two elements of f4e2m1 in a byte")
        if kind.dtype not in ONNX_TYPES:
            raise Unsupported(f"this version of onnx has no {kind.dtype}")


def made_nodes(b):
    return [helper.make_node(op, sources, targets, name=name, **attributes)
            for op, sources, targets, attributes, name in b.made]


def function_of(b, graph, node, name):
    """What was lowered as a function of the model, with its constants in it, and the node that calls it."""
    constants = [helper.make_node("Constant", [], [tensor.name], value=tensor) for tensor in b.initializers]
    sources = list(dict.fromkeys(node.get("inputs", [])))
    attributes = {key: value for key, value in node.items() if key not in ("name", "op", "inputs")}
    opsets = [helper.make_opsetid("", opset_of(graph))]
    results = graph.outputs_of(node)
    function = helper.make_function(OUR_DOMAIN, name, sources, results, constants + made_nodes(b), opsets,
                                    ["op", "attributes", "operands"])
    operands = [sources.index(source) for source in node.get("inputs", [])]
    call = helper.make_node(name, sources, results, name=node["name"], domain=OUR_DOMAIN, op=node["op"],
                            attributes=json.dumps(attributes), **({"operands": operands} if operands else {}))
    return function, call


def with_functions(graph, nodes, in_f32):
    """(nodes, functions, constants): an op that is one operator of ONNX is that, any other calls a function.

    So does an op without inputs, which readers would replace by its result.
    """
    made, functions, constants = [], [], []
    for node in nodes:
        b = Builder()
        lower(b, graph, node, in_f32)
        if len(b.made) == 1 and node.get("inputs"):
            made += made_nodes(b)
            constants += b.initializers
            continue
        name = f"{node['op']}_{len(functions)}"
        function, call = function_of(b, graph, node, name)
        functions.append(function)
        made.append(call)
    return made, functions, constants


def lower_all(b, graph, nodes, results, in_f32, with_pairs):
    """Adds all nodes, and the constants that they read as they are."""
    pairs = onnx_quantized.Finder(graph, nodes, results).pairs() if with_pairs else {}
    inner = {name for pair in pairs.values() for name in pair.inner}
    for node in nodes:
        if node["name"] in pairs:
            onnx_quantized.lower(b, graph, pairs, pairs[node["name"]])
        elif node["name"] not in inner:
            lower(b, graph, node, in_f32)
    read = {name for made in b.made for name in made[1]}
    for name, array in b.constants.items():
        if name in read:
            kind = graph.types[name]
            b.initializers.append(helper.make_tensor(name, ONNX_TYPES[kind.dtype], kind.shape, array.tobytes(),
                                                     raw=True))


def build(graph, nodes, inputs, results, in_f32, functions=False, with_pairs=True, constants=None):
    """A model of these nodes of the graph. With `functions`, each of its nodes is one of the case.

    `with_pairs`: quantized values are those of QuantizeLinear and DequantizeLinear (onnx_quantized.py), but not with
    `functions`. `constants`: arrays for the inputs that are initializers.
    """
    check_dtypes(graph)
    if functions:
        made, called, initializers = with_functions(graph, nodes, in_f32)
    else:
        b = Builder(constants)
        lower_all(b, graph, nodes, results, in_f32, with_pairs)
        made, called, initializers = made_nodes(b), [], b.initializers

    def described(names):
        return [helper.make_tensor_value_info(name, ONNX_TYPES[graph.types[name].dtype], graph.types[name].shape)
                for name in names]

    inputs = [name for name in inputs if name not in (constants or {})]
    inner = described([name for name in graph.all_values() if name not in results] if functions else [])
    body = helper.make_graph(made, "case", described(inputs), described(results), initializers, value_info=inner)
    opsets = [helper.make_opsetid("", opset_of(graph)), *([helper.make_opsetid(OUR_DOMAIN, 1)] if called else [])]
    return helper.make_model(body, opset_imports=opsets, ir_version=IR_VERSION, functions=called)
