#!/usr/bin/env python3
"""Writes the graph of a case as lines of Python that use JAX alone, for the report of a finding.

The request on standard input is a frame (protocol.py) with the header of a request to compile. The header of the reply
has a function graph(*arguments) as `code`: the primitives that the worker traces, so that what fails in the worker
fails there, too. It is empty if a primitive or a parameter cannot be written as text.
"""

import enum
import math
import os
import sys

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "protocol"))

import package

try:
    from program import Program
    from protocol import Graph, Unsupported, one_line, read_frame, redirect_standard_output, write_frame
except ImportError as missing:
    sys.exit(package.without(missing))

CALLS = ("jaxpr", "call_jaxpr", "fun_jaxpr")  # parameters of primitives that call another program
MOST_ELEMENTS = 64  # of a constant


class NotText(Exception):
    """A value that has no text."""


class Writer:
    """The lines of a traced program."""

    def __init__(self):
        os.environ.setdefault("JAX_PLATFORMS", "cpu")
        import jax
        import numpy as np

        self.jax, self.np = jax, np
        self.lines, self.count = [], 0

    def write(self, jaxpr, consts, inputs):
        """Adds the lines; returns the expressions of its results."""
        known = dict(zip(jaxpr.constvars, map(self.value, consts), strict=True))
        known |= zip(jaxpr.invars, inputs, strict=True)

        def read(variable):
            literal = type(variable).__name__ == "Literal"
            return self.value(self.np.asarray(variable.val, variable.aval.dtype)) if literal else known[variable]

        for step in jaxpr.eqns:
            inner = next((step.params[key] for key in CALLS if key in step.params), None)
            operands = [read(variable) for variable in step.invars]
            made = (self.write(inner.jaxpr, inner.consts, operands) if inner is not None
                    else self.call(step, operands))
            known |= zip(step.outvars, made, strict=True)
        return [read(variable) for variable in jaxpr.outvars]

    def call(self, step, operands):
        if step.primitive.name == "stop_gradient":
            return operands
        primitive = f"{step.primitive.name}_p"
        if not hasattr(self.jax.lax, primitive):
            raise NotText(primitive)
        names = [f"v{self.count + i}" for i in range(len(step.outvars))]
        self.count += len(names)
        params = [f"{key}={self.value(value)}" for key, value in step.params.items()]
        targets = f"[{', '.join(names)}]" if step.primitive.multiple_results else names[0]
        self.lines.append(f"{targets} = lax.{primitive}.bind({', '.join(operands + params)})")
        return names

    def value(self, x):
        x = x.item() if isinstance(x, self.np.generic) else x
        if isinstance(x, float) and not math.isfinite(x):
            return f'float("{x}")'
        if x is None or (isinstance(x, (bool, int, float, str)) and not isinstance(x, enum.Enum)):
            return repr(x)
        if type(x) in (tuple, list):
            return f"({', '.join(map(self.value, x))}{',' if len(x) == 1 else ''})"
        if isinstance(x, self.np.dtype):
            return f"jnp.dtype({x.name!r})"
        kind = type(x).__name__
        if hasattr(x, "shape"):
            return self.array(self.np.asarray(x))
        if not hasattr(self.jax.lax, kind):
            raise NotText(kind)
        if isinstance(x, enum.Enum):
            return f"lax.{kind}.{x.name}"
        fields = getattr(x, "_fields", None) or list(getattr(x, "__dataclass_fields__", ()))
        given = ", ".join(f"{field}={self.value(getattr(x, field))}" for field in fields)
        return f"lax.{kind}({given})"

    def array(self, x):
        if x.size > MOST_ELEMENTS:
            raise NotText("a constant")
        numbers = str(x.astype(float).tolist() if x.dtype.kind not in "bi" else x.tolist())
        text = numbers.replace("inf", "jnp.inf").replace("nan", "jnp.nan")
        return f"jnp.array({text}, {x.dtype.name!r})"


def code_of(request):
    import jax_ops

    graph, writer = Graph(request), Writer()
    jax_ops.native_16_bit = bool(request.get("native"))
    program = Program(graph, graph.results(), jax_ops.LOWERINGS)
    shapes = [writer.jax.ShapeDtypeStruct(graph.types[name].shape, jax_ops.DTYPES[graph.types[name].dtype])
              for name in graph.inputs]
    traced = writer.jax.make_jaxpr(program)(*shapes)
    results = writer.write(traced.jaxpr, traced.consts, [f"arguments[{i}]" for i in range(len(shapes))])
    lines = ["def graph(*arguments):", *(f"    {line}" for line in writer.lines), f"    return ({', '.join(results)},)"]
    return "\n".join(lines) + "\n"


def answer(request):
    try:
        return {"code": code_of(request)}
    except NotText:
        return {"code": ""}
    except Unsupported as reason:
        return {"error": one_line(f"no code: {reason}")}
    except ImportError as error:
        return {"error": one_line(package.without(error))}


def main():
    replies = redirect_standard_output()
    write_frame(replies, answer(read_frame(sys.stdin.buffer)[0]), b"")


if __name__ == "__main__":
    main()
