#!/usr/bin/env python3
"""Writes the graph of a case as an ONNX model for `fusesmith export`.

With the argument `text`, the header of the reply has the model that the worker `ort` makes of the graph as `text`, in
the syntax of onnx.parser.

The request on standard input is a frame (protocol.py) with the header of a request to compile. The payload of the
reply is the model, of as many bytes as the header's `model` says, and then the script that runs it (onnx_runner.py).
"""

import os
import sys

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "protocol"))

import package

try:
    from protocol import Graph, Unsupported, one_line, read_frame, redirect_standard_output, write_frame
except ImportError as missing:
    sys.exit(package.without(missing))

HERE = os.path.dirname(os.path.abspath(__file__))


def without_kernels(graph):
    """The (op, dtype) that ONNX Runtime has no kernel for; where it is not installed, those of all ops in bf16."""
    from onnx_ops import LOWERINGS

    try:
        from ort_worker import OrtExecutor

        executor = OrtExecutor("off")
    except ImportError:
        return {(op, "bf16") for op in LOWERINGS}
    executor.compile(graph)
    return executor.in_f32


def graph_of(request):
    graph = Graph(request)
    if any(graph.types[name].dtype == "s4" for name in graph.inputs):
        raise Unsupported("scripts have no data of s4")  # the model takes INT8
    return graph


def export(request):
    """The bytes of the model."""
    import onnx
    import onnx_model

    graph = graph_of(request)
    model = onnx_model.build(graph, graph.nodes, graph.inputs, graph.results(), without_kernels(graph), functions=True)
    onnx.checker.check_model(model)
    return model.SerializeToString(deterministic=True)


def numbers_of(model):
    """The bits of its constants, and the attributes of its nodes: what a text may round."""
    from onnx import helper, numpy_helper

    constants = [numpy_helper.to_array(tensor).tobytes() for tensor in model.graph.initializer]
    attributes = [(attribute.name, str(helper.get_attribute_value(attribute)))
                  for node in model.graph.node for attribute in node.attribute]
    return constants, attributes


def model_text(request):
    """Empty if the parser of ONNX does not read the same model from it."""
    import onnx
    import onnx.parser
    import onnx.printer
    import onnx_model

    graph = graph_of(request)
    model = onnx_model.build(graph, graph.nodes, graph.inputs, graph.results(), without_kernels(graph))
    text = onnx.printer.to_text(model)
    try:
        parsed = onnx.parser.parse_model(text)
        onnx.checker.check_model(parsed)
    except (onnx.parser.ParseError, onnx.checker.ValidationError):
        return ""
    is_same = onnx.printer.to_text(parsed) == text and numbers_of(parsed) == numbers_of(model)
    return text if is_same else ""


def answer(request, _payload):
    try:
        if sys.argv[1:] == ["text"]:
            return {"text": model_text(request)}, b""
        model = export(request)
    except Unsupported as reason:
        return {"error": one_line(f"no model: {reason}")}, b""
    except ImportError as error:
        return {"error": one_line(package.without(error))}, b""
    with open(os.path.join(HERE, "onnx_runner.py"), "rb") as file:
        return {"model": len(model)}, model + file.read()


def main():
    replies = redirect_standard_output()
    write_frame(replies, *answer(*read_frame(sys.stdin.buffer)))


if __name__ == "__main__":
    main()
