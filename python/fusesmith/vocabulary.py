"""The dtypes, and how libraries spell ops: vocabulary.json, which graph_test writes from the declarations in C++.

`fusesmith list dtypes --json` and `list ops --json` say the same, but the workers have no program to ask.
"""

import json
import os

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "vocabulary.json"), encoding="utf-8") as _file:
    _VOCABULARY = json.load(_file)

DTYPES = {row["name"]: row for row in _VOCABULARY["dtypes"]}
FLOATS = tuple(name for name, row in DTYPES.items() if row["kind"] == "float")
QUANTIZED = tuple(name for name, row in DTYPES.items() if row["kind"] == "quantized")
# Less precise than f32, in which ops compute.
NARROW = tuple(name for name in FLOATS if DTYPES[name]["precision"] < DTYPES["f32"]["precision"])


def epsilon(dtype):
    """The distance from 1 to the next larger number."""
    return 2.0 ** (1 - DTYPES[dtype]["precision"])


def smallest_normal(dtype):
    return 2.0 ** DTYPES[dtype]["min_exponent"]


def spelled(library):
    """op -> its function in "torch" or "jax", or its operator in "onnx", of the op's operands in their order.

    An op with attributes, or one that the library computes otherwise, has none.
    """
    return {op: names[library] for op, names in _VOCABULARY["spellings"].items() if library in names}


def spelled_functions(library, modules):
    """op -> the function itself, with `modules` by the names that spellings begin with; without what they lack."""
    found = {}
    for op, name in spelled(library).items():
        module, *path = name.split(".")
        function = modules.get(module)
        for part in path:
            function = getattr(function, part, None)
        if function is not None:
            found[op] = function
    return found
