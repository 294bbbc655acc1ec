"""The table of lowerings, and how they are added to it."""

import math

from ..errors import Error
from ..vocabulary import spelled

LOWERINGS = {}


def lowers(*names):
    def add(function):
        LOWERINGS.update(dict.fromkeys(names, function))
        return function
    return add


class Given(dict):
    """The arguments of a call by name; those that are left out have the defaults of the schema."""

    def __getattr__(self, name):
        return self[name]


def only(given, **expected):
    """Arguments that have no counterpart must have these values."""
    for name, values in expected.items():
        values = values if isinstance(values, tuple) else (values,)
        if given.get(name) not in values:
            raise Error(f"{name}={given.get(name)!r} has no counterpart")


def axes_of(g, given):
    dim = given.get("dim")
    if dim is None or dim == []:
        return list(range(len(g.shape_of(given.self))))
    return list(dim) if isinstance(dim, (list, tuple)) else [dim]


def infinity_or(value):
    return ("inf" if value > 0 else "-inf") if math.isinf(value) else value


def positional(op):
    """The lowering of an operator whose tensors are the operands of the op, in their order."""
    return lambda g, given: g.op(op, *filter(g.is_tensor, given.values()))


for _op, _function in spelled("torch").items():
    LOWERINGS[_function.rpartition(".")[2]] = positional(_op)
