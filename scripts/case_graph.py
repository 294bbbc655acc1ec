"""The JSON of case files, for scripts that write them: graphs node by node, fills, and the whole file."""
import json
import math
import os


class Graph:
    """Collects the JSON of inputs and nodes; every method returns the new value's name."""

    def __init__(self, dtype):
        self.dtype, self.inputs, self.nodes, self.states = dtype, [], [], []

    def input(self, name, dims, fill, dtype=None):
        text = ",".join(str(d) for d in dims)
        self.inputs.append({"name": name, "type": f"{dtype or self.dtype}[{text}]", "fill": fill})
        return name

    def state(self, name, dims, fill):
        """Its `next` is set where the value of the next step is known."""
        text = ",".join(str(d) for d in dims)
        self.states.append({"name": name, "type": f"{self.dtype}[{text}]", "fill": fill, "next": None})
        return name

    def node(self, name, op, inputs, **attributes):
        self.nodes.append({"name": name, "op": op, "inputs": list(inputs), **attributes})
        return name

    def norm(self, name, x, width):
        weight = self.input(f"{name}_weight", [width], {"constant": {"value": 1}})
        bias = self.input(f"{name}_bias", [width], {"constant": {"value": 0}})
        return self.node(name, "layer_norm", [x, weight, bias], eps=1e-5)

    def linear(self, name, x, width_in, width_out):
        fill = uniform(width_in)
        weight = self.input(f"{name}_weight", [width_out, width_in], fill)
        bias = self.input(f"{name}_bias", [width_out], fill)
        return self.node(name, "linear", [x, weight, bias])

    def projection(self, name, x, width_in, width_out, dtype):
        """linear without bias, as torch initialises it, in `dtype`; x is cast where autocast would."""
        weight = self.input(f"{name}_weight", [width_out, width_in], uniform(width_in), dtype)
        return self.node(name, "linear", [self.cast(f"{name}_x", x, dtype), weight])

    def cast(self, name, x, dtype):
        """x itself where everything is f32 anyway."""
        return x if dtype == "f32" else self.node(name, "cast", [x], dtype=dtype)

    def scalar(self, name, value):
        return self.input(name, [], {"constant": {"value": value}})


def normal(stddev):
    return {"normal": {"mean": 0, "stddev": stddev}}


def uniform(width_in):
    """What torch initialises the weights of linear with."""
    bound = 1 / math.sqrt(width_in)
    return {"uniform": {"lo": -bound, "hi": bound}}


def render(graph, outputs, expect, tf32=False, steps=1, skip_patterns=(), stand_ins=(), seed=42):
    """One line per input and node, as fusesmith itself writes case files."""

    def block(items, margin="    "):
        return "[\n" + ",\n".join(f"{margin}  " + json.dumps(item) for item in items) + f"\n{margin}]"

    states = block(graph.states) if graph.states else "[]"
    skipped = f', "skip_patterns": {json.dumps(list(skip_patterns))}' if skip_patterns else ""
    stand_ins = f'  "stand_ins": {block(stand_ins, "  ")},\n' if stand_ins else ""
    return (
        f'{{\n  "fusesmith": 1,\n  "seed": {seed},\n  "steps": {steps},\n'
        f'  "policy": {{"tf32": {json.dumps(tf32)}, "implicit_casts": "may_elide"{skipped}}},\n'
        f'  "graph": {{\n    "inputs": {block(graph.inputs)},\n    "states": {states},\n'
        f'    "nodes": {block(graph.nodes)},\n    "outputs": {json.dumps(outputs)}\n  }},\n{stand_ins}'
        f'  "expect": {json.dumps(expect)}\n}}\n'
    )


def write_case(directory, name, graph, outputs, expect, **case):
    """Writes DIRECTORY/NAME.json."""
    with open(os.path.join(directory, f"{name}.json"), "w", encoding="utf-8") as out:
        out.write(render(graph, outputs, expect, **case))
