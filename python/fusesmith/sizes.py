"""Draws sizes and data for cases: sizes at which tiles end, and data on which formulas fail."""

import math
import random
import re

from .errors import Error, did_you_mean
from .graph import Type, concrete, elements, evaluate, symbols_of

MAX_SIZE = 300
MAX_ELEMENTS = 1 << 14  # of an input
MAX_PRODUCT = 1 << 17  # of all sizes, which bounds the multiplications of a product and the elements of its result
MANY_PRODUCTS = 1 << 22  # the same where an axis is long, or two or three are larger than a tile
LONG_ELEMENTS = 1 << 18  # of an input then
POWERS = [2**i for i in range(9)]
TILES = [16, 32, 48, 64, 80, 96, 112, 128, 160, 192, 256]
PRIMES = [2, 3, 5, 7, 11, 13, 23, 37, 53, 61, 97, 101, 149, 197, 211, 269, 293]
AWKWARD = sorted({size for size in [1, 6, 10, 12, 100, 200, 300, *PRIMES, *(p + d for p in POWERS for d in (-1, 0, 1)),
                                    *(t + d for t in TILES for d in (-1, 0, 1))] if 1 <= size <= MAX_SIZE})

LONG = [320, 384, 400, 448, 511, 512, 513, 768, 1000, 1024, 1025, 2048, 4095, 4096, 4097, 8192]
LONGEST = [1 << 16, (1 << 16) + 1]
ABOVE_A_TILE = [65, 80, 96, 100, 127, 128, 129, 160, 192, 257, 320]
SMALL = [1, 2, 3, 4]
BESIDE_LONG = [8, 32, 33, 64, 65, 100]
HEADS = [40, 64, 72, 80, 96, 128, 256]  # of models
BATCHES = ("A", "B", "C", "H")  # what the signatures call batches and heads
PROFILES = {"awkward": 12, "long": 4, "equal": 1, "large": 4}  # how the sizes of a case are drawn -> weight

# Name -> (weight, the fill that it draws). The names are what `fills=` of judge takes.
FILLS = {
    "normal": (5, lambda r: normal(0, 1)),
    "large_mean": (3, lambda r: normal(r.choice([-1, 1]) * r.choice([10, 100, 1000]), 1)),
    "wide": (2, lambda r: normal(0, r.choice([10, 30, 100]))),
    "small": (1, lambda r: normal(0, r.choice([1e-2, 1e-4]))),
    "uniform": (1, lambda r: {"uniform": {"lo": 0, "hi": 1}}),
    "lattice": (2, lambda r: {"lattice": {"max_abs": 8, "exponent": r.choice([-2, 0, 0, 3])}}),
    "constant": (2, lambda r: {"constant": {"value": r.choice([0, 1, -3, 0.1, 1000, "-inf"])}}),
    "one_hot": (1, lambda r: {"one_hot": {"index": 0, "value": r.choice([1, 100])}}),
    "special": (2, lambda r: {"special": {"share": 0.1, "infinities": False}}),
    "infinities": (1, lambda r: {"special": {"share": 0.05, "infinities": True}}),
}


# Of masks: usually mixed, and so sparse or so dense that whole tiles have one value.
MASKS = [0.5, 0.5, 0.5, 0.03, 0.97]


# Gradients: terms cancel, and in half of such data so far that the bounds decide nothing.
CANCELS = {"normal": 2, "uniform": 2, "lattice": 2, "large_mean": 0.3, "constant": 0.2, "infinities": 0.1}
# Those of attention: where one key has nearly all of the weight, gradients of queries and keys are what is left of
# differences.
ATTENDS = {"normal": 3, "uniform": 2, "lattice": 0.2, "large_mean": 0.05, "wide": 0.05, "constant": 0.1, "one_hot": 0.2,
           "special": 0.2, "infinities": 0.05}
REDRAWS = 10


def cancels(graph):
    return graph.has_gradients or any(node["op"].endswith("norm_backward") for node in graph.nodes)


def may_decide(graph, sizes):
    """Gradients: dx of rows of few elements is nearly 0, and sums over many rows or long ones cancel."""
    dims = Type(concrete(graph.inputs[0]["type"], sizes, "f32")).dims
    if graph.has_gradients and len(dims) > 2:
        return dims[-2] >= 4 and dims[-1] >= 4
    return not dims or (4 <= dims[-1] <= 8192 and math.prod(dims[:-1]) <= 2048)


def is_attention(graph):
    return any(node["op"] == "sdpa" for node in graph.nodes)


def normal(mean, stddev):
    return {"normal": {"mean": mean, "stddev": stddev}}


class Draw:
    """A sequence of sizes and fills that depends on the seed alone."""

    def __init__(self, seed, fills=None):
        self.random = random.Random(seed)
        fills = (fills,) if isinstance(fills, str) else fills
        unknown = [name for name in fills or () if name not in FILLS]
        if unknown:
            raise Error(f'unknown fill "{unknown[0]}"{did_you_mean(unknown[0], FILLS)}; expected some of '
                        + ", ".join(FILLS))
        self.fills = list(fills or FILLS)

    def size(self, below=MAX_SIZE):
        return self.random.choice([size for size in AWKWARD if size <= below])

    def sizes(self, graph, allowed):
        """A size for each symbol; `allowed` maps some symbols to a list of sizes. Large tensors become smaller."""
        names, given = graph.symbols(), {name: self.random.choice(sizes) for name, sizes in allowed.items()}
        given = {name: given[name] for name in names if name in given}
        if "E" in names and "D" in given and "E" not in given and is_attention(graph):
            given["E"] = given["D"]  # who names a head size does not ask for values of another one
        free = [name for name in names if name not in given]
        for _ in range(REDRAWS):
            profile = self.random.choices(list(PROFILES), PROFILES.values())[0]
            drawn = getattr(self, f"{profile}_sizes")(graph, free)
            sizes = self.fitting(graph, {**drawn, **given}, free, profile)
            if not cancels(graph) or may_decide(graph, sizes) or self.random.random() < 0.1:
                break
        return sizes

    def awkward_sizes(self, graph, free):
        sizes = {name: self.size() for name in free}
        if is_attention(graph) and "D" in free and self.random.random() < 0.5:
            sizes["D"] = self.random.choice(HEADS)
        return sizes

    def long_sizes(self, graph, free):
        """A long axis, and tiny ones beside it or a few dozen rows. In half of the cases of attention, long keys with
        heads of models and few queries, as in decoding."""
        sizes = {name: self.random.choice([1, 1, 2] if name in BATCHES else SMALL) for name in free}
        if not free:
            return sizes
        if is_attention(graph) and {"S", "D"} <= set(free) and self.random.random() < 0.5:
            few = {name: self.random.choice(SMALL[:2]) for name in free}
            return {**few, "S": self.random.choice(LONG), "D": self.random.choice(HEADS)}
        last = [name for name in Type(graph.inputs[0]["type"]).symbols if name in free][-1:] if graph.inputs else []
        long = last[0] if last and self.random.random() < 0.5 else self.random.choice(free)
        longest = self.random.random() < 0.1
        sizes[long] = self.random.choice(LONGEST if longest else LONG)
        others = [name for name in free if name != long and name not in BATCHES] or [n for n in free if n != long]
        if others and not longest and self.random.random() < 0.8:
            sizes[self.random.choice(others)] = self.random.choice(BESIDE_LONG)
        return sizes

    def equal_sizes(self, graph, free):
        size = self.size()
        return dict.fromkeys(free, size)

    def large_sizes(self, graph, free):
        """More than a tile along two axes of a product, or along queries and keys: few batches and heads instead."""
        inner = [name for name in free if name not in BATCHES]
        if len(inner) < 3:
            return self.awkward_sizes(graph, free)
        sizes = {name: self.random.choice(SMALL[:2]) for name in free}
        for name in inner:
            sizes[name] = self.size(below=48)
        count = self.random.choice([2, 3])
        above = ([name for name in ("R", "S") if name in inner] if is_attention(graph) else
                 self.random.sample(inner, min(count, len(inner))))
        for name in above:
            sizes[name] = self.random.choice(ABOVE_A_TILE)
        if is_attention(graph) and "D" in free:
            sizes["D"] = self.random.choice(HEADS[:-1])
        return sizes

    def fitting(self, graph, sizes, free, profile):
        """The sizes, of which free ones become smaller until the tensors, and their products, are small enough."""
        most_elements, most_products = ((LONG_ELEMENTS, MANY_PRODUCTS) if profile in ("long", "large") else
                                        (MAX_ELEMENTS, MAX_PRODUCT))
        while True:
            largest = max((given["type"] for given in graph.inputs), default="T[]",
                          key=lambda text: elements(concrete(text, sizes, "f32")))
            too_large = elements(concrete(largest, sizes, "f32")) > most_elements
            names = Type(largest).symbols if too_large else list(sizes)
            shrinking = [name for name in names if name in free and sizes[name] > 1]
            if not shrinking or not (too_large or math.prod(sizes.values()) > most_products):
                return sizes
            if profile == "equal":  # all of them
                size = self.size(below=max(1, sizes[shrinking[0]] // 2))
                sizes = {**sizes, **dict.fromkeys(free, size)}
                continue
            small = SMALL[-1] if profile == "long" else 8
            shrunk = self.random.choice([name for name in shrinking if sizes[name] > small] or shrinking)
            sizes[shrunk] = self.size(below=max(1, sizes[shrunk] // 2))

    def fill_inputs(self, graph, chosen):
        """Gives `graph` new data in the inputs but those of `chosen`; returns the name of the data. The first float
        input has the drawn data, others have it as often as normal data, so that not every sum overflows."""
        shares = ATTENDS if cancels(graph) and is_attention(graph) else CANCELS if cancels(graph) else {}
        weights = [FILLS[name][0] * shares.get(name, 0.5 if shares else 1) for name in self.fills]
        name = self.random.choices(self.fills, weights)[0]
        drawn = [given for given in graph.inputs
                 if given["name"] not in chosen and given["type"].partition("[")[0] not in ("i32", "bool")]
        averaged = values_in_16_bits(graph) | summed_as_a_whole(graph)
        for given in graph.inputs:
            if given["name"] not in chosen and given["type"].startswith("bool["):
                given["fill"] = {"bernoulli": {"p": self.random.choice(MASKS)}}
        for i, given in enumerate(drawn):
            given["fill"] = FILLS[name][1](self.random) if i == 0 or self.random.random() < 0.5 else normal(0, 1)
            if "special" in given["fill"] and self.random.random() < 0.75:
                thin_out(given["fill"]["special"], Type(given["type"]).dims, is_attention(graph))
            drawn_normal = given["fill"].get("normal", {})
            if given["name"] in averaged and drawn_normal.get("mean") == 0 and self.random.random() < 0.85:
                given["fill"] = normal(drawn_normal["stddev"], drawn_normal["stddev"])
        return name if drawn else "as described"


def values_in_16_bits(graph):
    """The names of the values of attention. Where their averages cancel, roundings of probabilities to 16 bits may be
    as large as the results, which decide nothing then."""
    named = {given["name"]: given["type"] for given in graph.inputs}
    return {node["inputs"][2] for node in graph.nodes if node["op"] == "sdpa"
            and named.get(node["inputs"][2], "").startswith(("f16[", "bf16["))}


def summed_as_a_whole(graph):
    """The names of the inputs that are summed along several axes: sums of so many terms of both signs cancel so far
    that their bounds decide nothing."""
    return {node["inputs"][0] for node in graph.nodes
            if node["op"] in ("reduce_sum", "reduce_mean") and len(node.get("axes", [0, 1])) > 1}


def thin_out(special, dims, attends):
    """Leaves about two special values in a row, of attention in the matrix of a head: with more of them, most results
    are NaN, or nothing is known of them."""
    row = math.prod(dims[-2:] if attends else dims[-1:])
    special["share"] = min(special["share"], 2 / max(row, 1))


def sizes_of_shape(graph, shape):
    """The sizes with which the first input has this shape; None if it cannot."""
    if not graph.inputs:
        return None
    dims, sizes = Type(graph.inputs[0]["type"]).dims, {}
    if len(dims) != len(shape):
        return None
    for dim, size in zip(dims, shape, strict=True):
        multiple = re.fullmatch(r"(?:(\d+)\*)?([A-Za-z_]\w*)", str(dim))
        if multiple:
            sizes.setdefault(multiple[2], size // int(multiple[1] or 1))
        if any(name not in sizes for name in symbols_of(str(dim))) or evaluate(dim, sizes) != size:
            return None
    return sizes
