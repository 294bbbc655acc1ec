"""Declares operators of other libraries that a file calls, so that PyTorch reads the file: they are never run."""

import torch
from torch.library import Library

SCALARS = {"as_int": "int", "as_float": "float", "as_bool": "bool", "as_string": "str", "as_tensor": "Tensor",
           "as_tensors": "Tensor[]", "as_ints": "int[]", "as_floats": "float[]", "as_bools": "bool[]",
           "as_optional_tensors": "Tensor?[]", "as_scalar_type": "ScalarType", "as_device": "Device"}
declared = []  # libraries, whose operators go with them


def is_known(library, name, overload):
    try:
        getattr(getattr(getattr(torch.ops, library), name), overload)
    except (AttributeError, RuntimeError):
        return False
    return True


def schema_of(name, overload, calls):
    """By the arguments of the calls; None where they are more than tensors, numbers and lists of them."""
    kinds = {}
    for call in calls:
        for given in call["inputs"]:
            kinds.setdefault(given["name"], set()).update(given["arg"])
    made = [next(iter(result)) for result in calls[0]["outputs"]]
    arguments = []
    for argument, found in kinds.items():
        types = {SCALARS.get(kind) for kind in found - {"as_none"}} or {"Tensor"}
        if len(types) != 1 or None in types or not argument.isidentifier():
            return None
        # None, or left out in some calls
        may_lack = "as_none" in found or any(all(given["name"] != argument for given in call["inputs"])
                                             for call in calls)
        arguments.append(f"{types.pop()}{'? ' if may_lack else ' '}{argument}{'=None' if may_lack else ''}")
    if any(kind not in ("as_tensor", "as_tensors") for kind in made):
        return None
    results = ", ".join(SCALARS[kind] for kind in made)
    full = name if overload == "default" else f"{name}.{overload}"
    return f"{full}({', '.join(arguments)}) -> {results if len(made) == 1 else f'({results})'}"


def declare_missing(calls):
    """`calls`: nodes of the file whose operators are not PyTorch's own."""
    by_target = {}
    for call in calls:
        by_target.setdefault(call["target"], []).append(call)
    for target, found in by_target.items():
        library, name, overload = target.removeprefix("torch.ops.").split(".")
        schema = None if is_known(library, name, overload) else schema_of(name, overload, found)
        if schema:
            declared.append(Library(library, "FRAGMENT"))
            declared[-1].define(schema)
