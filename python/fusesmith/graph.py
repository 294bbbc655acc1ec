"""The graphs of case files: a builder whose methods are the ops, and the file as JSON (docs/case.md).

    g = Graph()
    x = g.input("x", "bf16[4,128]")
    y = g.softmax(x, axis=-1)
    g.output(y)

A value is its name. Sizes of inputs may be symbols, `T[N,2*D]`, and the dtype `T`: `judge` draws them.
"""

import json
import math
import re

from . import ops
from .errors import Error, did_you_mean, quoted
from .vocabulary import DTYPES

TYPE = re.compile(r"(\w+)\[([\w+*/ ,-]*)\]$")
NAME = re.compile(r"[A-Za-z0-9_.\-/]{1,64}$")
FILLS = {"i32": {"constant": {"value": 0}}, "bool": {"bernoulli": {"p": 0.5}}}


class Type:
    """`bf16[4,2*D]` taken apart; dims are integers, or texts where they hold symbols."""

    def __init__(self, text):
        match = TYPE.match(text) if isinstance(text, str) else None
        if not match:
            raise Error(f'expected a type like "bf16[4,16]" or "T[N,D]", got {text!r}')
        self.dtype = match[1]
        if self.dtype not in (*DTYPES, "T"):
            raise Error(f'{text}: unknown dtype "{self.dtype}"{did_you_mean(self.dtype, DTYPES)}; expected one of '
                        f'{quoted(DTYPES)}, or T for a dtype that is drawn')
        dims = [dim.strip() for dim in match[2].split(",")] if match[2].strip() else []
        if not all(dims):
            raise Error(f"{text}: a size is missing")
        self.dims = [int(dim) if dim.isdecimal() else dim for dim in dims]

    @property
    def symbols(self):
        return [name for dim in self.dims if isinstance(dim, str) for name in symbols_of(dim)]


def symbols_of(text):
    return re.findall(r"[A-Za-z_]\w*", text)


def evaluate(dim, sizes):
    """The size that `2*D` is with {"D": 3}."""
    if not isinstance(dim, str):
        return dim
    missing = [name for name in symbols_of(dim) if name not in sizes]
    if missing:
        raise Error(f'the size "{missing[0]}" is not known{did_you_mean(missing[0], sizes)}')
    try:
        size = eval(dim, {"__builtins__": {}}, dict(sizes))
    except (SyntaxError, TypeError, ArithmeticError):
        raise Error(f'"{dim}" is no size') from None
    if not ops.is_integer(size) or size < 1:
        raise Error(f'the size "{dim}" is {size!r} with {sizes}, expected 1 or more')
    return size


class Graph:
    """Collects inputs, states, nodes and outputs; every method returns the name of the new value."""

    def __init__(self):
        self.inputs, self.states, self.nodes, self.outputs = [], [], [], []
        self._values = set()
        self.chosen_fills = set()  # inputs whose data the caller described
        self.variant = ""  # what distinguishes it from other graphs of one op
        self.has_gradients = False  # among its outputs, which `judge_backward` adds

    def _define(self, name):
        if not isinstance(name, str) or not NAME.match(name):
            raise Error(f"{name!r} is no name: expected 1 to 64 letters, digits, _, -, . or /")
        if name in self._values:
            raise Error(f'the name "{name}" is used already')
        self._values.add(name)
        return name

    def input(self, name, type, fill=None):
        """A tensor that every step gets anew; `fill` describes its data (docs/case.md)."""
        dtype = Type(type).dtype
        self._define(name)
        if fill:
            self.chosen_fills.add(name)
        self.inputs.append({"name": name, "type": type, "fill": fill or default_fill(dtype)})
        return name

    def state(self, name, type, fill=None):
        """A tensor that one step leaves to the next; `next_state` says which value."""
        dtype = Type(type).dtype
        self._define(name)
        self.states.append({"name": name, "type": type, "fill": fill or default_fill(dtype), "next": None})
        return name

    def next_state(self, state, value):
        for known in self.states:
            if known["name"] == state:
                known["next"] = self._known(value)
                return
        raise Error(f'no state "{state}"{did_you_mean(state, [s["name"] for s in self.states])}')

    def _known(self, value):
        if value not in self._values:
            raise Error(f'no value "{value}" yet{did_you_mean(value, self._values)}')
        return value

    def node(self, name, op, inputs, **attributes):
        """A node as it stands in the file; the methods named after ops check it first."""
        self._define(name)
        count = ops.output_count(op, attributes)
        self._values.update(f"{name}.{i}" for i in range(count) if count > 1)
        self.nodes.append({"name": name, "op": op, "inputs": list(inputs), **attributes})
        return name

    def __getattr__(self, op):
        if op.startswith("_"):
            raise AttributeError(op)
        ops.description(op)

        def add(*inputs, name=None, **attributes):
            inputs = [self._known(value) for value in inputs]
            ops.check_count(op, len(inputs))
            ops.check_attributes(op, attributes, ["name"])
            made = self.node(name or self._fresh(op), op, inputs, **attributes)
            count = ops.output_count(op, attributes)
            return made if count == 1 else tuple(f"{made}.{i}" for i in range(count))

        add.__name__, add.__doc__ = op, ops.description(op)["doc"]
        return add

    def __dir__(self):
        return [*super().__dir__(), *ops.ops()]

    def _fresh(self, op):
        """softmax, softmax2, softmax3, ..."""
        taken = (f"{op}{count or ''}" for count in [0, *range(2, 5000)])
        return next(name for name in taken if name not in self._values)

    def output(self, *values):
        self.outputs += [self._known(value) for value in values]

    def symbols(self):
        """The names of the sizes that are not numbers, in the order of the inputs."""
        return list(dict.fromkeys(s for given in self.inputs + self.states for s in Type(given["type"]).symbols))

    @property
    def rank(self):
        """Axes of the first input."""
        return len(Type(self.inputs[0]["type"]).dims) if self.inputs else 0

    def with_sizes(self, sizes, dtype):
        """A graph without symbols: those of types, of attributes and of the counts of fills, and the dtype T."""
        made = Graph()
        made._values, made.outputs = set(self._values), list(self.outputs)

        def substituted(value):
            if isinstance(value, dict):
                return {key: substituted(item) for key, item in value.items()}
            if isinstance(value, (list, tuple)):
                return [substituted(item) for item in value]
            is_symbolic = isinstance(value, str) and symbols_of(value) and all(s in sizes for s in symbols_of(value))
            return evaluate(value, sizes) if is_symbolic else value

        def typed(given):
            return {**given, "type": concrete(given["type"], sizes, dtype), "fill": substituted(given["fill"])}

        made.inputs, made.states = list(map(typed, self.inputs)), list(map(typed, self.states))
        for node in self.nodes:
            kept = {"name": node["name"], "op": node["op"], "inputs": list(node["inputs"])}
            attributes = {key: value for key, value in node.items() if key not in kept}
            free = {"equation"} & set(attributes)
            kept |= {key: value if key in free else substituted(value) for key, value in attributes.items()}
            if kept.get("dtype") == "T":
                kept["dtype"] = dtype
            made.nodes.append(kept)
        return made

    def to_dict(self):
        return {"inputs": self.inputs, "states": self.states, "nodes": self.nodes, "outputs": self.outputs}

    def to_json(self, **case):
        """The text of a case file; `seed`, `steps`, `policy` and `expect` as in docs/case.md."""
        return case_text(self.to_dict(), **case)

    def save(self, path, **case):
        with open(path, "w", encoding="utf-8") as out:
            out.write(self.to_json(**case))


def default_fill(dtype):
    return FILLS.get(dtype, {"normal": {"mean": 0, "stddev": 1}})


def concrete(text, sizes, dtype):
    """`T[N,2*D]` -> `bf16[4,32]`."""
    taken_apart = Type(text)
    dims = ",".join(str(evaluate(dim, sizes)) for dim in taken_apart.dims)
    return f"{dtype if taken_apart.dtype == 'T' else taken_apart.dtype}[{dims}]"


def elements(text):
    return math.prod(Type(text).dims)


def case_text(graph, expect=None, policy=None, steps=1, stand_ins=(), seed=42, comment=None):
    """One line per input and node, as fusesmith itself writes case files."""

    def block(items, margin="    "):
        return "[\n" + ",\n".join(f"{margin}  " + json.dumps(item) for item in items) + f"\n{margin}]"

    policy = {"tf32": False, "implicit_casts": "may_elide", **(policy or {})}
    states = block(graph["states"]) if graph["states"] else "[]"
    stand_ins = f',\n  "stand_ins": {block(stand_ins, "  ")}' if stand_ins else ""
    expected = f',\n  "expect": {json.dumps(expect)}' if expect else ""
    comment = f',\n  "comment": {json.dumps(comment)}' if comment else ""
    return (
        f'{{\n  "fusesmith": 1,\n  "seed": {seed},\n  "steps": {steps},\n  "policy": {json.dumps(policy)},\n'
        f'  "graph": {{\n    "inputs": {block(graph["inputs"])},\n    "states": {states},\n'
        f'    "nodes": {block(graph["nodes"])},\n    "outputs": {json.dumps(graph["outputs"])}\n  }}{stand_ins}'
        f'{comment}{expected}\n}}\n'
    )
