"""Collects the nodes of a case while import_model.py goes through a model, and what has no counterpart."""

import re

import numpy as np
import package  # noqa: F401 (finds fusesmith)
from fusesmith.errors import Error
from fusesmith.ops import check_attributes
from fusesmith.vocabulary import FLOATS
from import_case import as_dtype, case_graph, cut, fills_of, made_by, type_text

LONGEST_NAME = 64
# Operators whose results are never negative: as inputs of a part, they are not normally distributed.
NOT_NEGATIVE = ("Exp", "Relu", "Sigmoid", "Softmax", "Sqrt", "Abs", "ReduceSumSquare", "ReduceL2", "ReduceL1")
TAKE_MASKS = ("where", "masked_fill", "sdpa")
ODD = re.compile(r"[^A-Za-z0-9_.\-/]")


class Unmapped(Exception):
    """Why a node has no counterpart."""


class Node:
    """A node of the model: attributes as Python values."""

    def __init__(self, proto, attributes):
        self.proto, self.attributes = proto, attributes
        self.inputs, self.outputs = list(proto.input), list(proto.output)
        self.op = f"{proto.domain}.{proto.op_type}" if proto.domain not in ("", "ai.onnx") else proto.op_type

    def given(self, index):
        """The name of an input, or None where it is left out."""
        return self.inputs[index] if index < len(self.inputs) and self.inputs[index] else None

    def wants(self, index):
        return index < len(self.outputs) and bool(self.outputs[index])


class Importer:
    """`data`: arrays by name of the model's inputs, for cases with these values and no others.

    `refused`: why operators cannot be nodes of a case, by the names of their first results. `files`: as fills_of
    takes it.
    """

    def __init__(self, values, data=None, refused=None, files=None):
        self.files = files
        self.known, self.data, self.refused = values, data or {}, refused or {}
        self.names = {}  # values of the model -> of the case
        self.types, self.dtypes = {}, {}  # by name in the case
        self.fills, self.index_roots, self.index_limits = {}, {}, {}
        self.arrays, self.sources = {}, {}  # constants by input of the case; results of the model by node of the case
        self.counts = dict.fromkeys(("nodes", "mapped", "folded", "made_inputs"), 0)
        self.parts, self.part = [], []  # the nodes of one operator each
        self.used, self.unmapped, self.approximated = set(), {}, []
        self.producers = {}  # values of the model -> operator

    # --- what the lowerings of onnx_import.py call

    def type(self, name):
        found = self.known.types.get(name)
        why = "its type is not known" if found is None else found.why_not
        if why:
            raise Unmapped(f"{why} (a value that it reads or makes)")
        return found

    def shape(self, name):
        return self.type(name).shape

    def dtype(self, name):
        return self.type(name).dtype

    def constant(self, name):
        return self.known.constants.get(name) if name else None

    def integers(self, name, what):
        """A constant list of integers."""
        array = self.constant(name)
        if array is None:
            raise Unmapped(f"its {what} is not constant")
        return [int(v) for v in np.asarray(array).reshape(-1)]

    def scalar(self, name, like=None):
        """The number that a constant of one element is, or None. `like`: a value that it must not enlarge."""
        array = self.constant(name)
        if array is None or array.size != 1 or (like and array.ndim > len(self.shape(like))):
            return None
        return float(np.asarray(array).reshape(-1)[0])

    def value(self, name):
        if name not in self.names:
            self.type(name)
            array = self.known.constants.get(name, self.data.get(name))
            if array is not None:
                self.names[name] = self.new_constant(array, self.dtype(name), name)
            else:
                self.names[name] = self.new_input(name, self.dtype(name), self.shape(name))
        return self.names[name]

    def new_constant(self, array, dtype, name="constant"):
        stored = as_dtype(array, dtype)
        made = self.new_input(name, dtype, stored.shape)
        self.arrays[made] = stored
        return made

    def number_like(self, value, x):
        """A constant of one element in the dtype of a value of the case."""
        return self.new_constant(np.full((), value), self.dtypes[x], f"{self.base}.number")

    def new_input(self, name, dtype, shape):
        made = self.unique(name)
        self.types[made], self.dtypes[made] = type_text(dtype, shape), dtype
        if dtype in FLOATS and self.producers.get(name) in NOT_NEGATIVE:
            self.fills[made] = {"uniform": {"lo": 0, "hi": 1}}
        if dtype == "i32":
            self.index_roots[made] = made
        return made

    def op(self, op, *inputs, **attributes):
        """A node that takes floats: all but the operands that move."""
        for value in inputs:
            dtype = self.dtypes[value]
            if dtype not in FLOATS and not (dtype == "bool" and op in TAKE_MASKS):
                raise Unmapped(f"{op} of {dtype} has no counterpart")
        return self.add(op, inputs, attributes)

    def move(self, op, *inputs, **attributes):
        """A node that takes any dtype."""
        return self.add(op, inputs, attributes)

    def cast(self, value, dtype):
        return value if self.dtypes[value] == dtype else self.add("cast", [value], {"dtype": dtype})

    def add(self, op, inputs, attributes):
        try:
            check_attributes(op, attributes)
        except Error as error:
            raise Unmapped(str(error)) from None
        node = {"name": self.unique(f"{self.base}.{op}", attributes.get("chunks", 2)), "op": op,
                "inputs": list(inputs), **attributes}
        self.part.append(node)
        made = made_by(node)
        dtype = {"cast": attributes.get("dtype"), "causal_mask": "bool", "arange": "i32"}.get(op)
        if dtype is None:
            dtype = self.dtypes[inputs[1 if op == "where" else 0]]
        for value in made:
            self.dtypes[value] = dtype
            if dtype == "i32" and inputs and inputs[0] in self.index_roots:
                self.index_roots[value] = self.index_roots[inputs[0]]
        return made[0] if len(made) == 1 else made

    def limit_index(self, value, rows):
        """The value selects among so many rows, which its data must respect."""
        root = self.index_roots.get(value)
        if root:
            self.index_limits[root] = min(rows, self.index_limits.get(root, rows))

    # --- the walk

    def unique(self, name, parts=2):
        text = ODD.sub("_", name)[-LONGEST_NAME + 8:] or "value"
        for count in range(1 << 20):
            made = f"{text}_{count}" if count else text
            own = {made, *(f"{made}.{i}" for i in range(parts))}
            if not own & self.used:
                self.used |= {made} if parts == 2 else own
                return made
        raise Unmapped("no name is left")

    def visit(self, node, lowering):
        """`lowering` is None where the table has no line."""
        for name in node.outputs:
            self.producers[name] = node.op
        self.part, self.base = [], next((name for name in node.outputs if name), "node")
        kept = (set(self.used), dict(self.names), dict(self.fills), dict(self.arrays))
        self.counts["nodes"] += 1
        try:
            if self.base in self.refused:
                raise Unmapped(self.refused[self.base])
            if lowering is None:
                raise Unmapped("no op stands for it")
            self.type(node.outputs[0])
            made = self.lowered(node, lowering)
            self.check(node, made)
        except Unmapped as reason:
            self.used, self.names, self.fills, self.arrays = kept
            self.unmapped.setdefault((node.op, str(reason)), []).append(
                {"node": self.base, "module": node.proto.name, "line": ""})
            self.counts["made_inputs"] += 1
            return False
        self.counts["mapped"] += 1
        for name, value in zip(node.outputs, made, strict=False):
            if name and value is not None:
                self.names[name] = self.renamed(value, name)
                self.types[self.names[name]] = type_text(self.dtypes[self.names[name]], self.shape(name))
        if self.part:
            self.parts.append(self.part)
            self.sources.update((made["name"], self.base) for made in self.part)
        return True

    def lowered(self, node, lowering):
        """Its results. Lowerings rely on the specification, which the checker of ONNX does not enforce as a whole."""
        try:
            made = lowering(self, node)
        except Error as error:
            raise Unmapped(str(error)) from None
        except (AttributeError, IndexError, KeyError, TypeError, ValueError, ZeroDivisionError) as error:
            raise Unmapped(f"it is not as the operator is specified ({type(error).__name__})") from error
        return list(made) if isinstance(made, (list, tuple)) else [made]

    def check(self, node, made):
        for name, value in zip(node.outputs, made, strict=False):
            if name and value is not None and self.dtype(name) != self.dtypes[value]:
                raise Unmapped(f"it makes {self.dtype(name)}, its counterpart {self.dtypes[value]}")

    def renamed(self, value, name):
        """A node of the current part gets the name that its result has in the model."""
        node = next((node for node in self.part if node["name"] == value), None)
        if node is None or value in self.names.values():
            return value
        new = self.unique(name)
        for other in self.part:
            other["inputs"] = [new if source == value else source for source in other["inputs"]]
        node["name"] = new
        self.dtypes[new] = self.dtypes.pop(value)
        if value in self.index_roots:
            self.index_roots[new] = self.index_roots[value]
        return new

    # --- what is made of it

    def sections(self, most):
        return cut(self.parts, most)

    def graph(self, nodes, wanted):
        graph = case_graph(nodes, self.types, self.fills, [self.names[name] for name in wanted if name in self.names])
        inputs = [given["name"] for given in graph.inputs]
        whole = {name for name in inputs if any(self.names.get(source) == name for source in self.data)}
        fills, approximated = fills_of({name: self.arrays[name] for name in inputs if name in self.arrays},
                                       self.files, whole)
        self.approximated += [name for name in approximated if name not in self.approximated]
        for given in graph.inputs:
            name = given["name"]
            if name in fills:
                given["fill"] = fills[name]
            elif name in self.index_limits and name not in self.fills:
                given["fill"] = {"tokens": {"count": self.index_limits[name]}}
        return graph

    def source_of(self, name):
        """The operator of the model that a node of the case belongs to, by its first result."""
        return self.sources[name]

    def unmapped_table(self):
        return [{"op": op, "count": len(nodes), "why": why, "nodes": nodes}
                for (op, why), nodes in sorted(self.unmapped.items())]
