"""The graph that tensors are judged by: of an op, a Graph with sizes that are names, a function of torch, or a
Definition as FlashInfer-Bench and SOL-ExecBench have it.

A Definition is a dict, or the path of a file: its `reference` is Python, which runs in this process.
"""

import functools
import inspect
import json
import os

from .errors import Error
from .graph import Graph, Type, case_text, default_fill
from .tensors import check_fits, given
from .trace import trace


class Reference:
    """`tensors` reads those of a call; `case` is the text of the case for tensors of their types."""

    def __init__(self, what, attributes):
        self.what, self.attributes = what, attributes
        self.traced = functools.cache(self.trace)
        self.definition = loaded_definition(what) if isinstance(what, (dict, os.PathLike)) else None
        if isinstance(what, str):
            return
        if not self.definition and not isinstance(what, Graph) and not callable(what):
            raise Error("what is the name of an op, a Graph, a function of torch or a Definition, got "
                        f"{type(what).__name__}")
        if attributes:
            raise Error(f"only ops have attributes, got {', '.join(attributes)}")
        self.function = entry_point(self.definition) if self.definition else what

    def tensors(self, inputs, outputs):
        """Those of a call, by DLPack, and the numbers among its inputs by name."""
        inputs, names = self.ordered(inputs)
        if not isinstance(outputs, (list, tuple)):
            outputs = [outputs]
        described = self.definition["inputs"] if self.definition else {}
        scalars = {name: value for name, value in zip(names, inputs, strict=True)
                   if name in described and described[name]["shape"] is None}
        for name, value in scalars.items():
            if not isinstance(value, (bool, int, float)):
                raise Error(f"{name}: expected a number, got {type(value).__name__}")
        made = [given(value, name) for name, value in zip(names, inputs, strict=True) if name not in scalars]
        return made, [given(value, f"output {i}") for i, value in enumerate(outputs)], scalars

    def ordered(self, inputs):
        """The inputs as a list, and their names."""
        names = self.input_names(len(inputs))
        if isinstance(inputs, dict):
            if set(inputs) != set(names):
                raise Error(f"expected the inputs {', '.join(names)}, got {', '.join(map(str, inputs))}")
            return [inputs[name] for name in names], names
        if not isinstance(inputs, (list, tuple)):
            inputs = [inputs]
            names = self.input_names(1)
        if len(inputs) != len(names):
            raise Error(f"expected {len(names)} inputs ({', '.join(names)}), got {len(inputs)}")
        return list(inputs), names

    def input_names(self, count):
        if isinstance(self.what, Graph):
            return [entry["name"] for entry in self.what.inputs + self.what.states]
        if isinstance(self.what, str):
            return [f"x{i}" if count > 1 else "x" for i in range(count)]
        if self.definition:
            return list(self.definition["inputs"])
        parameters = inspect.signature(self.function).parameters.values()
        names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        return names[:count] + [f"x{i}" for i in range(len(names), count)]

    def case(self, inputs, outputs, scalars):
        """The text of a case; indices are those of `inputs`."""
        graph = self.graph(inputs, outputs, scalars)
        entries = graph["inputs"] + graph["states"]
        for entry, tensor in zip(entries, inputs, strict=True):
            dtype = Type(entry["type"]).dtype
            check_fits(tensor, dtype, entry["name"])
            entry["fill"] = {"literal": {"bits": tensor.literal()}} if dtype == "i32" else default_fill(dtype)
            entry.pop("layout", None)
        try:
            return case_text(graph)
        except TypeError as error:
            raise Error(f"an attribute is no value of JSON: {error}") from None

    def graph(self, inputs, outputs, scalars):
        if isinstance(self.what, str):
            return graph_of_op(self.what, inputs, outputs, self.attributes)
        if isinstance(self.what, Graph):
            sizes, dtype = solved(self.what, inputs)
            return self.what.with_sizes(sizes, dtype).to_dict()
        texts = tuple(tensor.type for tensor in inputs)
        made = self.traced(texts, tuple(scalars.items())).to_dict()
        return {**made, "inputs": [dict(entry) for entry in made["inputs"]]}

    def trace(self, texts, scalars):
        names = [name for name in self.input_names(len(texts)) if name not in dict(scalars)]
        if not scalars:
            return trace(self.function, names, texts)
        order, known = list(self.definition["inputs"]), dict(scalars)

        def function(*tensors):
            by_name = {**dict(zip(names, tensors, strict=True)), **known}
            return self.function(*(by_name[name] for name in order))

        return trace(function, names, texts)


def graph_of_op(op, inputs, outputs, attributes):
    names = [f"x{i}" if len(inputs) > 1 else "x" for i in range(len(inputs))]
    node = {"name": "y", "op": op, "inputs": names, **attributes}
    made = ["y"] if len(outputs) == 1 else [f"y.{i}" for i in range(len(outputs))]
    types = [{"name": name, "type": tensor.type} for name, tensor in zip(names, inputs, strict=True)]
    return {"inputs": types, "states": [], "nodes": [node], "outputs": made}


def solved(graph, inputs):
    """The sizes that names in the types of a Graph stand for in these tensors, and the dtype T."""
    sizes, dtype = {}, None
    for entry, tensor in zip(graph.inputs + graph.states, inputs, strict=True):
        wanted = Type(entry["type"])
        if len(wanted.dims) != len(tensor.shape):
            raise Error(f"{entry['name']}: expected {entry['type']}, got {tensor.type}")
        dtype = dtype or (tensor.dtype if wanted.dtype == "T" else None)
        for dim, size in zip(wanted.dims, tensor.shape, strict=True):
            if isinstance(dim, str) and dim.isidentifier() and sizes.setdefault(dim, size) != size:
                raise Error(f"{entry['name']}: {dim} is {sizes[dim]}, got {tensor.type}")
    return sizes, dtype


def loaded_definition(what):
    if isinstance(what, os.PathLike):
        try:
            with open(what, encoding="utf-8") as file:
                what = json.load(file)
        except (OSError, ValueError) as error:
            raise Error(f"{what}: {error}") from None
    inputs = what.get("inputs") if isinstance(what, dict) else None
    if not isinstance(inputs, dict) or not isinstance(what.get("reference"), str) or not all(
            isinstance(one, dict) and "shape" in one for one in inputs.values()):
        raise Error('a Definition has the members "inputs", each with a "shape", and "reference"')
    return what


def entry_point(definition):
    """`run` of the reference."""
    names = {"__name__": "reference"}
    try:
        exec(compile(definition["reference"], f"reference of {definition.get('name', 'a Definition')}", "exec"), names)
    except Exception as error:  # whatever code of others raises
        raise Error(f"the reference cannot be run: {type(error).__name__}: {error}") from None
    if not callable(names.get("run")):
        raise Error("the reference does not define run")
    return names["run"]
