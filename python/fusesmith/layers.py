"""Graphs of one dtype with the layers of transformer models; corpus/scenarios/ and corpus/seeds/ are made with it."""

import math
import os
import struct

from .graph import Graph, case_text


class LayerGraph(Graph):
    """Inputs have dims instead of a type; nodes get their names from their caller and are not checked here."""

    def __init__(self, dtype):
        super().__init__()
        self.dtype = dtype

    def input(self, name, dims, fill, dtype=None):
        return super().input(name, self.type(dims, dtype), fill)

    def state(self, name, dims, fill, dtype=None):
        """Its `next` is set where the value of the next step is known."""
        return super().state(name, self.type(dims, dtype), fill)

    def literal(self, name, dims, values, dtype):
        """Exact bits: i32, bool, or reals rounded to nearest even."""
        bits = b"".join(map(DIGITS[dtype], values))
        return self.input(name, dims, {"literal": {"bits": bits.hex()}}, dtype)

    def type(self, dims, dtype=None):
        return f"{dtype or self.dtype}[{','.join(map(str, dims))}]"

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


def bf16_bits(value):
    bits = struct.unpack(">I", struct.pack(">f", value))[0]
    return struct.pack(">H", (bits + 0x7FFF + (bits >> 16 & 1)) >> 16)


DIGITS = {"i32": struct.Struct(">i").pack, "bool": lambda v: bytes([v]), "f32": struct.Struct(">f").pack,
          "f16": struct.Struct(">e").pack, "bf16": bf16_bits}


def normal(stddev):
    return {"normal": {"mean": 0, "stddev": stddev}}


def uniform(width_in):
    """What torch initialises the weights of linear with."""
    bound = 1 / math.sqrt(width_in)
    return {"uniform": {"lo": -bound, "hi": bound}}


def write_case(directory, name, graph, outputs, expect, tf32=False, skip_patterns=(), **case):
    """Writes DIRECTORY/NAME.json."""
    skipped = {"skip_patterns": list(skip_patterns)} if skip_patterns else {}
    policy = {"tf32": tf32, "implicit_casts": "may_elide", **skipped}
    text = case_text({**graph.to_dict(), "outputs": outputs}, expect, policy, **case)
    with open(os.path.join(directory, f"{name}.json"), "w", encoding="utf-8") as out:
        out.write(text)
