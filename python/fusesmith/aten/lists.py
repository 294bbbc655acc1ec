"""Operators on lists of tensors (`_foreach_add`), which optimizers call: each element is a call of its own."""

from ..errors import Error
from .table import LOWERINGS, Given, lowers

PREFIX = "_foreach_"
# Name -> what its second operand is called where the tensors are no list. Lists call it by what it is.
OPERANDS = {"add": "other", "sub": "other", "mul": "other", "div": "other", "maximum": "other", "minimum": "other",
            "pow": "exponent", "clamp_min": "min", "clamp_max": "max", "lerp": "weight", "addcmul": "value",
            "addcdiv": "value", "copy": "src", "abs": "", "exp": "", "neg": "", "reciprocal": "", "rsqrt": "",
            "sigmoid": "", "sqrt": "", "tanh": "", "linalg_vector_norm": "ord"}
OF_LISTS = {"scalar", "scalars", "tensor", "weights"}


@lowers(*(PREFIX + ("norm" if name == "linalg_vector_norm" else name) for name in OPERANDS))
def each(g, given):
    name, metas = g.called.removeprefix(PREFIX), g.meta
    name = "linalg_vector_norm" if name == "norm" else name
    made = []
    try:
        g.called = name
        for number, meta in enumerate(metas):
            g.meta = meta
            made.append(LOWERINGS[name](g, element(name, given, number)))
    finally:
        g.called, g.meta = PREFIX + name, metas
    return tuple(made)


def element(name, given, number):
    found = Given()
    for key, value in given.items():
        key = OPERANDS[name] if key in OF_LISTS else {"tensors1": "end"}.get(key, key)
        if isinstance(value, (list, tuple)) and len(value) <= number:
            raise Error(f"{key} has {len(value)} elements")
        found[key] = value[number] if isinstance(value, (list, tuple)) else value
    return found
