"""Writes the case files of one call of `judge`: what is judged, at which sizes, on which data."""

import copy
import json
import os
import random
from dataclasses import dataclass, field

from .errors import Error, did_you_mean
from .graph import Graph, elements
from .kernel import input_count
from .layouts import lay_out, phrases_of
from .ops import check_count, description, is_integer
from .refused import Limit
from .sizes import Draw, sizes_of_shape
from .templates import check_op, op_graphs
from .vocabulary import FLOATS

MOST_ATTEMPTS = 500  # draws of sizes for a case that the kernel takes
EACH_ISOLATED = 4  # one case of so many


class GraphSubject:
    """A graph, or several of which each case takes one: those of an op with different numbers of axes."""

    most_graphs = None  # how many graphs of different sizes a call makes; None: one for each case

    def __init__(self, graphs, name, is_op=False):
        self.graphs, self.name, self.is_op = graphs, name, is_op

    def concrete(self, graph, sizes, dtype):
        return graph.with_sizes(sizes, dtype)

    def depends_on_sizes(self, case):  # noqa: ARG002
        """Whether the graph of a case is another one at other sizes, so that no smaller case can be made of it."""
        return False

    def with_graphs(self, graphs):
        """The same, of some of its graphs."""
        fewer = copy.copy(self)
        fewer.graphs = graphs
        return fewer


def op_subject(op, attributes, kernel, inputs):
    check_op(op, attributes)
    low, high = description(op)["arity"]
    if attributes.get("mask", "none") in ("none", "causal") and op == "sdpa":
        high = 3
    elif op == "sdpa":
        low = 4
    if inputs is not None:
        check_count(op, inputs)
    graphs = op_graphs(op, attributes, input_count(kernel, op, low, high, inputs))
    return GraphSubject(graphs, op, is_op=True)


def graph_subject(graph):
    if not graph.outputs:
        raise Error("the graph has no output: call g.output(value)")
    return GraphSubject([graph], "a graph")


def subject_of(what, attributes, kernel, inputs):
    """A subject from the second argument of `judge`, or the path of a case file."""
    if isinstance(what, Graph):
        taken = graph_subject(what)
    elif isinstance(what, os.PathLike) or (isinstance(what, str) and what.endswith(".json")):
        taken = os.fspath(what)
        if not os.path.isfile(taken):
            raise Error(f"{taken}: no such file")
    elif isinstance(what, str):
        return op_subject(what, attributes, kernel, inputs)
    elif hasattr(what, "graphs"):
        taken = what
    else:
        raise Error(f"expected the name of an op, a fusesmith.Graph or the path of a case file, got "
                    f"{type(what).__name__}")
    if attributes:
        raise Error(f'unknown argument "{next(iter(attributes))}": only an op given by its name has attributes')
    return taken


def check_dtypes(dtypes):
    dtypes = (dtypes,) if isinstance(dtypes, str) else tuple(dtypes)
    for dtype in dtypes:
        if dtype not in FLOATS:
            raise Error(f'unknown dtype "{dtype}"{did_you_mean(dtype, FLOATS)}; expected some of {", ".join(FLOATS)}')
    if not dtypes:
        raise Error("dtypes is empty")
    return dtypes


class Shapes:
    """`shapes` of judge: "fuzz", a list of shapes of the first input or of sizes by symbol, or lists by symbol."""

    def __init__(self, shapes, graphs):
        self.graphs, self.allowed, self.listed = graphs, {}, None
        if not isinstance(shapes, (dict, str, list, tuple)):
            raise Error(f'shapes is "fuzz", a list of shapes or a dict of sizes, got {shapes!r}')
        if isinstance(shapes, dict):
            for name, sizes in shapes.items():
                if not is_integer(sizes) and not isinstance(sizes, (list, tuple)):
                    raise Error(f"the sizes of {name} are integers of 1 or more, got {sizes!r}")
            self.allowed = {name: [sizes] if is_integer(sizes) else list(sizes) for name, sizes in shapes.items()}
            self.check_names(self.allowed)
        elif shapes != "fuzz":
            if isinstance(shapes, str) or not shapes:
                raise Error(f'shapes is "fuzz", a list of shapes or a dict of sizes, got {shapes!r}')
            if all(is_integer(size) for size in shapes):
                raise Error(f"shapes is a list of shapes, got {shapes!r}: write [{tuple(shapes)!r}] for one shape")
            self.listed = [self.located(shape) for shape in shapes]

    def check_names(self, sizes):
        known = list(dict.fromkeys(name for graph in self.graphs for name in graph.symbols()))
        for name, listed in sizes.items():
            if name not in known:
                raise Error(f'no size is called "{name}"{did_you_mean(name, known)}; there are: '
                            f'{", ".join(known) or "none, all sizes are numbers"}')
            sizes_listed = [listed] if is_integer(listed) else listed
            if not sizes_listed or not all(is_integer(size) and size > 0 for size in sizes_listed):
                raise Error(f"the sizes of {name} are integers of 1 or more, got {listed!r}")

    def located(self, shape):
        """The graph and the sizes that a shape of the list means."""
        if isinstance(shape, dict):
            self.check_names(shape)
            fitting = [(graph, shape) for graph in self.graphs if set(shape) <= set(graph.symbols())]
            return fitting[0]
        if not isinstance(shape, (list, tuple)) or not all(map(is_integer, shape)):
            raise Error(f"a shape is a list of integers of 1 or more, got {shape!r}")
        for graph in self.graphs:
            sizes = sizes_of_shape(graph, shape)
            if sizes is not None:
                return graph, sizes
        types = ", ".join(graph.inputs[0]["type"] for graph in self.graphs if graph.inputs)
        raise Error(f"the shape {list(shape)} does not fit the first input, {types}")

    def draw(self, draw, index):
        if self.listed:
            graph, sizes = self.listed[index % len(self.listed)]
            allowed = {name: [size] for name, size in sizes.items()}
        else:
            graph = draw.random.choice(self.graphs)
            allowed = self.allowed
        return graph, draw.sizes(graph, allowed)


@dataclass(frozen=True)
class Case:
    """A case file that was written, and what distinguishes it from the others."""

    path: str
    dtype: str = ""
    data: str = ""
    variants: tuple = ()  # what the kernel may not take: "3 axes", "inputs of bf16", and what lies so in memory
    sizes: dict = field(default_factory=dict, hash=False)  # by symbol
    elements: int = 0  # of all inputs
    layouts: tuple = ()  # of the variants, those that say how inputs lie in memory


def write_cases(folder, subject, dtypes, shapes, runs, seed, policy, fills, layouts=(), refused=()):
    """Writes NNNN.json in `folder` and returns the Cases. All draws follow from `seed`. `layouts`: how inputs
    of some lie in memory, of layouts.KINDS. `refused`: variants and Limits of which none are drawn."""
    if isinstance(subject, str):
        return copy_case(folder, subject, runs, seed, policy)
    draw, chosen = Draw(seed, fills), Shapes(shapes, subject.graphs)
    limits = [one for one in refused if isinstance(one, Limit)]
    cases, drawn = [], []
    for i in range(runs):
        if len(drawn) < (subject.most_graphs or runs):
            graph, sizes = drawn_within(chosen, draw, i, limits)
            drawn.append((graph, sizes, dtypes[i % len(dtypes)]))
        graph, sizes, dtype = drawn[i % len(drawn)]
        if any(limit.holds(sizes) for limit in limits):
            continue
        made = subject.concrete(graph, sizes, dtype)
        data = draw.fill_inputs(made, graph.chosen_fills)
        lay_out(made, layouts, seed, i, refused)  # sizes and data do not depend on it
        path = os.path.join(folder, f"{i:04}.json")
        made.save(path, seed=draw.random.getrandbits(32), policy=policy_of(i, policy), comment=data)
        drawn_dtype = dtype if is_drawn(graph) else ""
        named = (graph.variant, f"inputs of {drawn_dtype}" if drawn_dtype else "")
        phrases = phrases_of(made)
        variants = (*filter(None, named), *phrases)
        count = sum(elements(given["type"]) for given in made.inputs)
        cases.append(Case(path, drawn_dtype, data, variants, sizes, count, phrases))
    return cases


def policy_of(index, policy):
    """In one of four cases, whether rows know of each other (docs/invariance.md)."""
    checks = [*(policy or {}).get("metamorphic", ()), *(["isolation"] if index % EACH_ISOLATED == 0 else ())]
    return {**(policy or {}), "metamorphic": checks} if checks else policy


def drawn_within(chosen, draw, index, limits):
    """A graph and sizes, of which no limit holds if some such sizes are soon drawn."""
    for attempt in range(MOST_ATTEMPTS):
        graph, sizes = chosen.draw(draw, index + attempt)
        if not any(limit.holds(sizes) for limit in limits):
            break
    return graph, sizes


def is_drawn(graph):
    return any(given["type"].startswith("T[") for given in graph.inputs)


def copy_case(folder, path, runs, seed, policy):
    """The case of a file, then the same with other seeds of its data."""
    try:
        with open(path, encoding="utf-8") as file:
            case = json.load(file)
    except (OSError, ValueError) as error:
        raise Error(f"{path}: {error}") from None
    if not isinstance(case, dict) or "graph" not in case:
        raise Error(f'{path}: expected a case file, which has the key "graph"')
    case.pop("expect", None)
    case["policy"] = {**case.get("policy", {}), **(policy or {})}
    random_data = random.Random(seed)
    cases = []
    for i in range(runs):
        cases.append(Case(os.path.join(folder, f"{i:04}.json")))
        with open(cases[-1].path, "w", encoding="utf-8") as out:
            json.dump(case, out)
        case["seed"] = random_data.getrandbits(32)
    return cases
