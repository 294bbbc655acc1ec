"""Declares operators of other libraries that a file calls, so that PyTorch reads the file: they are never run."""

import torch
from torch import library as registry

SCALARS = {"as_int": "int", "as_float": "float", "as_bool": "bool", "as_string": "str", "as_tensor": "Tensor",
           "as_tensors": "Tensor[]", "as_ints": "int[]", "as_floats": "float[]", "as_bools": "bool[]",
           "as_optional_tensors": "Tensor?[]", "as_scalar_type": "ScalarType", "as_device": "Device"}
declared = []  # libraries, whose operators go with them
results = {}  # of the operators declared here: types of their results by types of their operands, in the last program


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
            declared.append(registry.Library(library, "FRAGMENT"))
            declared[-1].define(schema)
            operator = getattr(getattr(getattr(torch.ops, library), name), overload)
            results[operator] = {}
            registry.register_fake(operator.name(), rule_of(operator))


# --- shapes, where PyTorch traces the program again

def kind(value):
    if isinstance(value, torch.Tensor):
        return f"{value.dtype}{list(value.shape)}"
    return f"({', '.join(map(kind, value))})" if isinstance(value, (list, tuple)) else repr(value)


def kinds(operator, args, kwargs):
    """Of all arguments, those with their default value too."""
    given = {argument.name: argument.default_value for argument in operator._schema.arguments}
    given.update(zip(given, args, strict=False))
    return kind(list({**given, **kwargs}.values()))


def is_fixed(meta):
    return isinstance(meta, torch.Tensor) and all(type(size) is int for size in (*meta.shape, *meta.stride()))


def add_shape_rules(program):
    """An operator that is declared here makes what the program says of a call with operands of the same types."""
    for known in results.values():
        known.clear()
    for module in program.graph_module.modules():
        for node in getattr(getattr(module, "graph", None), "nodes", ()):
            if node.op == "call_function" and node.target in results:
                add_result(node)


def add_result(node):
    args, kwargs = torch.fx.node.map_arg((node.args, dict(node.kwargs)), lambda source: source.meta.get("val"))
    made = node.meta.get("val")
    if all(map(is_fixed, torch.utils._pytree.tree_leaves(made))):
        results[node.target].setdefault(kinds(node.target, args, kwargs), []).append(made)


def rule_of(operator):
    def like(meta):
        if isinstance(meta, (list, tuple)):
            return type(meta)(map(like, meta))
        return torch.empty_strided(meta.shape, meta.stride(), dtype=meta.dtype, device=meta.device)

    def rule(*args, **kwargs):
        found = results[operator].get(kinds(operator, args, kwargs), [])
        if len({kind(made) for made in found}) != 1:
            raise NotImplementedError(f"the sizes of what {operator} makes are not known")
        return like(found[0])
    return rule
