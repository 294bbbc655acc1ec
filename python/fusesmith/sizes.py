"""Draws sizes and data for cases: sizes at which tiles end, and data on which formulas fail."""

import math
import random
import re

from .errors import Error, did_you_mean
from .graph import Type, concrete, elements, evaluate, symbols_of

MAX_SIZE = 300
MAX_ELEMENTS = 1 << 14  # of an input
MAX_PRODUCT = 1 << 17  # of all sizes, which bounds the multiplications of a product and the elements of its result
POWERS = [2**i for i in range(9)]
TILES = [16, 32, 48, 64, 80, 96, 112, 128, 160, 192, 256]
PRIMES = [2, 3, 5, 7, 11, 13, 23, 37, 53, 61, 97, 101, 149, 197, 211, 269, 293]
AWKWARD = sorted({size for size in [1, 6, 10, 12, 100, 200, 300, *PRIMES, *(p + d for p in POWERS for d in (-1, 0, 1)),
                                    *(t + d for t in TILES for d in (-1, 0, 1))] if 1 <= size <= MAX_SIZE})

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
        sizes = {name: self.random.choice(allowed[name]) if name in allowed else self.size()
                 for name in graph.symbols()}
        while True:
            largest = max((given["type"] for given in graph.inputs), default="T[]",
                          key=lambda text: elements(concrete(text, sizes, "f32")))
            too_large = elements(concrete(largest, sizes, "f32")) > MAX_ELEMENTS
            names = Type(largest).symbols if too_large else list(sizes)
            free = [name for name in names if name not in allowed and sizes[name] > 1]
            if not free or not (too_large or math.prod(sizes.values()) > MAX_PRODUCT):
                return sizes
            shrunk = self.random.choice([name for name in free if sizes[name] > 8] or free)
            sizes[shrunk] = self.size(below=max(1, sizes[shrunk] // 2))

    def fill_inputs(self, graph, chosen):
        """Gives `graph` new data in the inputs but those of `chosen`; returns the name of the data. The first float
        input has the drawn data, others have it as often as normal data, so that not every sum overflows."""
        weights = [FILLS[name][0] for name in self.fills]
        name = self.random.choices(self.fills, weights)[0]
        drawn = [given for given in graph.inputs
                 if given["name"] not in chosen and given["type"].partition("[")[0] not in ("i32", "bool")]
        for given in graph.inputs:
            if given["name"] not in chosen and given["type"].startswith("bool["):
                given["fill"] = {"bernoulli": {"p": self.random.choice(MASKS)}}
        for i, given in enumerate(drawn):
            given["fill"] = FILLS[name][1](self.random) if i == 0 or self.random.random() < 0.5 else normal(0, 1)
        return name if drawn else "as described"


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
