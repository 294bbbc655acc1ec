"""The types of the results of nodes that lowerings add: (dtype, shape) from those of the operands."""

from .errors import Error
from .ops import description
from .vocabulary import QUANTIZED

NORMS = ("softmax", "layer_norm", "rms_norm", "group_norm", "rope", "dropout", "roll", "flip", "index_copy", "cast")
REDUCTIONS = ("reduce_sum", "reduce_mean", "reduce_max", "logsumexp", "var_mean")


def broadcast(shapes):
    made = []
    for shape in shapes:
        shape = [1] * (len(made) - len(shape)) + list(shape)
        made = [1] * (len(shape) - len(made)) + made
        if any(a != b and 1 not in (a, b) for a, b in zip(made, shape, strict=True)):
            raise Error(f"{made} and {shape} do not broadcast")
        made = [b if a == 1 else a for a, b in zip(made, shape, strict=True)]
    return made


def reduced(shape, attributes):
    axes = {axis % len(shape) for axis in attributes["axes"]}
    sizes = [(axis, 1 if axis in axes else size) for axis, size in enumerate(shape)]
    return [size for axis, size in sizes if axis not in axes or attributes.get("keepdims")]


def moved(op, shapes, attributes):
    shape = list(shapes[0]) if shapes else []
    axis = attributes.get("axis", 0)
    if op in ("reshape", "broadcast_to"):
        return list(attributes["shape"])
    if op == "permute":
        return [shape[d] for d in attributes["dims"]]
    if op == "unsqueeze":
        axis %= len(shape) + 1
        return [*shape[:axis], 1, *shape[axis:]]
    if op == "gather":
        return [*shapes[1], *shape[1:]]
    axis %= len(shape)
    if op == "squeeze":
        return [*shape[:axis], *shape[axis + 1:]]
    size = {"slice": lambda: len(range(attributes["start"], attributes["stop"], attributes.get("step", 1))),
            "concat": lambda: sum(other[axis] for other in shapes)}[op]()
    return [*shape[:axis], size, *shape[axis + 1:]]


def product(op, shapes, attributes):
    a, b = shapes[:2]
    if op == "linear":
        return [*a[:-1], b[0]]
    if op == "matmul":
        rows = a[-1] if attributes.get("transpose_a") else a[-2]
        columns = b[-2] if attributes.get("transpose_b") else b[-1]
        return [*broadcast([a[:-2], b[:-2]]), rows, columns]
    operands, _, result = attributes["equation"].partition("->")
    sizes = {letter: size for letters, shape in zip(operands.split(","), shapes, strict=True)
             for letter, size in zip(letters, shape, strict=True)}
    return [sizes[letter] for letter in result]


def result_types(op, types, attributes):
    """A list with the type of each result, or None of ops whose results have the type that the call says."""
    shapes = [list(shape) for _, shape in types]
    if op == "arange":
        return [("i32", [attributes["count"]])]
    if op == "causal_mask":
        return [("bool", [attributes["rows"], attributes["cols"]])]
    dtype = attributes["dtype"] if op == "cast" else types[1 if op == "where" else 0][0]
    if op in NORMS:
        return [(dtype, shapes[0])]
    if op in REDUCTIONS:
        return [(dtype, reduced(shapes[0], attributes))] * (2 if op == "var_mean" else 1)
    if op in ("linear", "matmul", "einsum"):
        dtype = "f32" if dtype in QUANTIZED else dtype
        return [(dtype, product(op, shapes, attributes))]
    if op == "sdpa":
        return [(dtype, [*shapes[0][:-1], shapes[2][-1]])]
    kind = description(op)["class"]
    if op == "chunk" or (kind == "composite" and len(shapes) > 1):
        return None
    return [(dtype, moved(op, shapes, attributes) if kind == "movement" else broadcast(shapes))]
