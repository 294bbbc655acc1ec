"""The op cast in ONNX, whose Cast rounds to nearest in formats of 8 bits, and to f8e8m0 in any direction."""

import math

from fusesmith.vocabulary import DTYPES, FLOATS
from protocol import Unsupported

ROUND = {"nearest": "Round", "down": "Floor", "up": "Ceil"}


def in_f32(b, name, kind):
    return name if kind.dtype == "f32" else b.cast(name, "f32")


def to_integer(b, node, x):
    name = node["dtype"]
    limits = [b.number(DTYPES[name][key], "f32") for key in ("lowest", "max_finite")]
    return b.cast(b.node("Clip", [b.node(ROUND[node["rounding"]], [x]), *limits]), name)


def to_f8e8m0(b, node, x):
    """Without saturation, ONNX says NaN also of numbers that round to the largest one, so that NaN is put in before."""
    if node["overflow"] == "special":
        largest = DTYPES["f8e8m0"]["max_finite"]
        compare, limit = {"nearest": ("GreaterOrEqual", 1.5 * largest), "up": ("Greater", largest),
                          "down": ("Equal", math.inf)}[node["rounding"]]
        is_beyond = b.node(compare, [x, b.number(limit, "f32")])
        x = b.node("Where", [is_beyond, b.number(math.nan, "f32"), x])
    return b.node("Cast", [x], to=b.onnx_type("f8e8m0"), round_mode=node["rounding"])


def cast(b, node, names, types, _dtype):
    name = node["dtype"]
    if name in FLOATS:
        return [b.cast(names[0], name)]
    if name in ("s8", "s4"):
        return [to_integer(b, node, in_f32(b, names[0], types[0]))]
    if name == "f8e8m0":
        if types[0].dtype == "i32":
            raise Unsupported("f8e8m0 of i32 would be rounded to f32 first")
        return [to_f8e8m0(b, node, in_f32(b, names[0], types[0]))]
    if node["rounding"] != "nearest":
        raise Unsupported(f"ONNX rounds to {name} to nearest alone")
    x = in_f32(b, names[0], types[0]) if types[0].dtype == name else names[0]  # else infinities would stay
    return [b.node("Cast", [x], to=b.onnx_type(name), saturate=int(node["overflow"] == "saturate"))]
