"""Reads an ONNX file for import_model.py: what cannot be read is an ImportFailed of one line."""

import os

import onnx
from import_case import ImportFailed
from import_limits import allow_for
from onnx import TensorProto, helper, inliner, numpy_helper

OPSETS = range(17, 24)
OUR_DOMAIN = "fusesmith"  # of the functions in models that `fusesmith export` writes
MOST_BYTES = 2**31 - 1  # protobuf's limit
MOST_NODES = 1 << 17  # with those of the functions that the model calls


def first_line(error):
    return (str(error).strip() or type(error).__name__).partition("\n")[0]


def read_model(path, sizes):
    """The model with every input of a known size. `sizes`: values of --dim by name."""
    model = parsed(path)
    check_opset(model)
    check_functions(model)
    load_external_data(model, os.path.dirname(os.path.abspath(path)))
    return prepared(model, sizes)


def prepared(model, sizes):
    bind_sizes(model, sizes)
    try:
        onnx.checker.check_model(model)
        foreign = [(function.domain, function.name) for function in model.functions if function.domain != OUR_DOMAIN]
        return inliner.inline_selected_functions(model, foreign) if foreign else model
    except MemoryError:
        raise
    except Exception as error:  # ValidationError, and what else the C++ code behind it raises
        raise ImportFailed(f"no valid ONNX model: {first_line(error)}") from None


def parsed(path):
    try:
        size = os.path.getsize(path)
        if size > MOST_BYTES:
            raise ImportFailed(f"{size} bytes, expected at most {MOST_BYTES}; keep the weights in external data")
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise ImportFailed(f"cannot be read: {error.strerror}") from None
    model = onnx.ModelProto()
    try:
        model.ParseFromString(data)
    except MemoryError:
        raise
    except Exception:
        raise ImportFailed("expected an ONNX model; the file is truncated or has another format") from None
    if not model.HasField("graph") or not model.opset_import:
        raise ImportFailed("expected an ONNX model; the file has no graph or no opset")
    return model


def array_of(tensor):
    try:
        return numpy_helper.to_array(tensor)
    except MemoryError:
        raise
    except Exception as error:  # an unknown type, or fewer bytes than its shape has
        raise ImportFailed(f'the constant "{tensor.name}" cannot be read: {error}') from None


def opset_of(model):
    return next((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")), None)


def check_opset(model):
    version = opset_of(model)
    if version not in OPSETS:
        raise ImportFailed(f"opset {version}, expected {OPSETS[0]} to {OPSETS[-1]}; "
                           "onnx.version_converter.convert_version changes it")


def all_nodes(nodes):
    """With those of subgraphs."""
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        yield node
        for attribute in node.attribute:
            for graph in (attribute.g, *attribute.graphs):
                waiting += graph.node


def check_functions(model):
    """Functions that call others twice double the nodes with each level: they are counted before they are inlined."""
    functions = {(function.domain, function.name): function for function in model.functions}
    counts, begun = {}, set()

    def count(nodes):
        return min(sum(counts.get((node.domain, node.op_type), 1) for node in all_nodes(nodes)), MOST_NODES + 1)

    for key in functions:
        waiting = [key]
        while waiting:
            called = {(node.domain, node.op_type) for node in all_nodes(functions[waiting[-1]].node)}
            missing = [other for other in called if other in functions and other not in counts]
            if not missing:
                key = waiting.pop()
                counts[key] = count(functions[key].node)
                continue
            if any(other in begun for other in missing) or waiting[-1] in missing:
                raise ImportFailed(f'the function "{waiting[-1][1]}" calls itself')
            begun.add(waiting[-1])
            waiting += missing[:1]
    if count(model.graph.node) > MOST_NODES:
        raise ImportFailed(f"more than {MOST_NODES} nodes, with those of the functions that it calls")


def load_external_data(model, folder):
    sizes = {}
    for tensor in model.graph.initializer:
        if tensor.data_location != TensorProto.EXTERNAL:
            continue
        where = {entry.key: entry.value for entry in tensor.external_data}.get("location", "")
        if not os.path.isfile(os.path.join(folder, where)):
            raise ImportFailed(f'the external data of "{tensor.name}" is missing: {where}')
        sizes[where] = os.path.join(folder, where)
    allow_for(sizes.values())
    try:
        onnx.load_external_data_for_model(model, folder)
    except MemoryError:
        raise
    except Exception as error:
        raise ImportFailed(f"external data: {first_line(error)}") from None


def input_types(model):
    """(dtype of numpy, shape) of the inputs that have no data in the model, by name. Their sizes are known."""
    initialized = {tensor.name for tensor in model.graph.initializer}
    types = {value.name: value.type.tensor_type for value in model.graph.input if value.name not in initialized}
    return {name: (helper.tensor_dtype_to_np_dtype(found.elem_type), [dim.dim_value for dim in found.shape.dim])
            for name, found in types.items()}


def bind_sizes(model, sizes):
    """Sizes by name, in inputs and in the declared types of other values."""
    initialized = {tensor.name for tensor in model.graph.initializer}
    missing, used = {}, set()
    for value in model.graph.input:
        if value.name in initialized or not value.type.HasField("tensor_type"):
            continue
        for axis, dim in enumerate(value.type.tensor_type.shape.dim):
            name = size_name(value.name, axis, dim)
            if name in sizes:
                used.add(name)
                dim.dim_value = sizes[name]
            elif not dim.HasField("dim_value") or dim.dim_value < 0:
                missing[name] = None
            elif dim.dim_value == 0:
                raise ImportFailed(f'input "{value.name}": axis {axis} has size 0; set it with --dim {name}=VALUE')
    unknown = sorted(set(sizes) - used)
    if missing:
        named = ", ".join(f"--dim {name}=VALUE" for name in missing)
        raise ImportFailed(f"sizes of inputs are not known: add {named}")
    if unknown:
        raise ImportFailed(f'no input has a size named "{unknown[0]}"')
    for value in [*model.graph.value_info, *model.graph.output]:
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param in sizes:
                dim.dim_value = sizes[dim.dim_param]


def size_name(value, axis, dim):
    """The model's own name of a size, else VALUE.AXIS."""
    own = dim.dim_param if dim.HasField("dim_param") else ""
    return own if own and own != "?" else f"{value}.{axis}"
