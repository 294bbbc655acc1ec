"""What is known of the values of an ONNX graph: types, and the values of constants, which are computed here."""

from dataclasses import dataclass

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx_reader import array_of, opset_of

# Integers of 64 bits are indices and sizes; where they are data, the case has them as i32.
DTYPES = {TensorProto.FLOAT: "f32", TensorProto.FLOAT16: "f16", TensorProto.BFLOAT16: "bf16",
          TensorProto.INT32: "i32", TensorProto.INT64: "i32", TensorProto.BOOL: "bool"}
MOST_FOLDED = 1 << 16  # elements of a constant that is computed here
MOST_ELEMENTS = 1 << 27  # of a tensor in a case
SMALL = 1 << 12  # elements of a constant that shape inference looks into


@dataclass
class Known:
    """The type of a value: `dtype` is None where the case has none like it, `shape` None where it is not known."""

    proto: onnx.TypeProto
    dtype: str | None
    shape: tuple | None

    @property
    def why_not(self):
        """Why a case cannot have this value, or None."""
        if not self.proto.HasField("tensor_type"):
            return f"{self.proto.WhichOneof('value') or 'no type'} is no tensor"
        if self.dtype is None:
            return f"{type_name(self.proto.tensor_type.elem_type)} has no counterpart"
        if self.shape is None:
            return "its shape depends on data"
        if 0 in self.shape:
            return "it has no elements"
        if len(self.shape) > 8 or np.prod(self.shape, dtype=object) > MOST_ELEMENTS:
            return "it has too many axes or elements"
        return None


def type_name(number):
    return TensorProto.DataType.Name(number).lower() if number in TensorProto.DataType.values() else f"type {number}"


def known(proto):
    tensor = proto.tensor_type
    dims = [dim.dim_value if dim.HasField("dim_value") else None for dim in tensor.shape.dim]
    shape = None if None in dims or not tensor.HasField("shape") else tuple(dims)
    return Known(proto, DTYPES.get(tensor.elem_type), shape)


def declared_types(model):
    """Types that the model states, and those of its operators that are functions of others."""
    try:
        graph = onnx.shape_inference.infer_shapes(model).graph
    except Exception:  # a model above 2 GiB, or an operator that checks more than the types
        graph = model.graph
    return {value.name: value.type for value in [*graph.value_info, *graph.output]}


class Values:
    """Types and constants by name, filled in by `visit` from node to node."""

    def __init__(self, model):
        self.opset = opset_of(model)
        self.model = model
        self.types, self.constants = {}, {}
        self.declared = declared_types(model)
        for tensor in model.graph.initializer:
            self.add_constant(tensor.name, array_of(tensor), tensor.data_type)
        for value in model.graph.input:
            if value.name not in self.constants:
                self.types[value.name] = known(value.type)

    def add_constant(self, name, array, onnx_type=None):
        onnx_type = onnx_type or helper.np_dtype_to_tensor_dtype(array.dtype)
        self.constants[name] = array
        self.types[name] = known(helper.make_tensor_type_proto(onnx_type, array.shape))

    def visit(self, node):
        """Records the types of the outputs, and their values where these follow from constants alone."""
        for name, proto in self.inferred(node).items():
            self.types[name] = known(proto)
        folded = self.folded(node)
        for name, array in folded.items():
            self.add_constant(name, np.asarray(array))
        return bool(folded)

    def inferred(self, node):
        types = {name: self.declared.get(name, onnx.TypeProto()) for name in node.output if name}
        if any(name and name not in self.types for name in node.input):
            return types
        domain = "" if node.domain == "ai.onnx" else node.domain
        try:
            opset = max(self.opset, 20) if node.op_type == "Gelu" else self.opset  # onnx_patterns.py makes it
            schema = onnx.defs.get_schema(node.op_type, opset, domain)
            inputs = {name: self.types[name].proto for name in node.input if name}
            data = {name: numpy_helper.from_array(self.constants[name], name) for name in node.input
                    if name in self.constants and self.constants[name].size <= SMALL}
            found = onnx.shape_inference.infer_node_outputs(
                schema, node, inputs, data, opset_imports=list(self.model.opset_import),
                ir_version=self.model.ir_version)
            return {name: found[name] if name in found and known(found[name]).shape is not None else otherwise
                    for name, otherwise in types.items()}
        except Exception:  # no schema, or an operator that checks more than the types: the outputs stay unknown
            return types

    def folded(self, node):
        """Outputs by name, or nothing where an input is data or an output is large."""
        if node.op_type == "Shape" and self.types.get(node.input[0], Known(onnx.TypeProto(), None, None)).shape:
            start, end = (helper.get_node_attr_value(node, name) if any(a.name == name for a in node.attribute)
                          else None for name in ("start", "end"))
            return {node.output[0]: np.array(self.types[node.input[0]].shape[start or 0:end], np.int64)}
        if node.op_type == "Size" and self.types.get(node.input[0]) and self.types[node.input[0]].shape is not None:
            return {node.output[0]: np.array(np.prod(self.types[node.input[0]].shape, dtype=np.int64))}
        if node.op_type == "CastLike" and node.input[0] in self.constants:
            like = self.types.get(node.input[1])
            onnx_type = like.proto.tensor_type.elem_type if like else 0
            node = helper.make_node("Cast", node.input[:1], node.output, to=onnx_type)
        if any(name and name not in self.constants for name in node.input) or node.domain not in ("", "ai.onnx"):
            return {}
        shapes = [self.types[name].shape for name in node.output if name]
        if node.op_type != "Constant" and not all(
                shape is not None and np.prod(shape, dtype=object) <= MOST_FOLDED for shape in shapes):
            return {}
        return self.evaluated(node)

    def evaluated(self, node):
        if any(attribute.HasField("g") for attribute in node.attribute) or node.op_type.startswith("Random"):
            return {}
        outputs = [name for name in node.output if name]
        inputs = list(dict.fromkeys(name for name in node.input if name))
        # Operators on text have no counterpart, and a regular expression may take any time.
        if any(self.types[name].proto.tensor_type.elem_type == TensorProto.STRING for name in (*inputs, *outputs)):
            return {}
        graph = helper.make_graph(
            [node], "constant", [helper.make_value_info(name, self.types[name].proto) for name in inputs],
            [helper.make_empty_tensor_value_info(name) for name in outputs])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)])
        try:
            results = ReferenceEvaluator(model).run(outputs, {name: self.constants[name] for name in inputs})
        except MemoryError:
            raise
        except Exception:  # an operator that the evaluator lacks: the node stays
            return {}
        arrays = dict(zip(outputs, results, strict=True))
        return arrays if all(isinstance(array, (np.ndarray, np.generic)) for array in arrays.values()) else {}
