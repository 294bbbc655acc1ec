"""Whether the graph of a reference, which is traced at certain sizes, is that of the reference at others as well.

A trace has numbers where the reference computes with sizes: a mean is `x.sum(-1) / 16` in a graph that was traced with
16 elements, and another function with any other number of them.
"""

import json

from .graph import Type

# Attributes that follow from the sizes. Those of a slice do not: reductions move the second half of an axis.
SIZES = {"shape", "count", "rows", "cols"}


def structure_of(graph):
    """What does not depend on sizes."""
    return json.dumps([{key: value for key, value in node.items() if key not in SIZES} for node in graph.nodes])


def other_sizes(texts):
    """Lists of types like these, each with other sizes; equal sizes stay equal. The multiples are for references that
    split an axis into parts."""
    for change in (lambda size: size + 1, lambda size: 2 * size, lambda size: 3 * size):
        yield tuple(f"{parsed.dtype}[{','.join(str(change(size)) for size in parsed.dims)}]"
                    for parsed in map(Type, texts))


def structure_elsewhere(trace, texts):
    """The types and the structure of a trace with other sizes than those of `texts`; None if there is none. `trace`
    gives the graph for types."""
    for others in other_sizes(texts):
        try:
            return others, structure_of(trace(others))
        except Exception:  # whatever code of others raises
            continue
    return None


def follows_sizes(trace, texts):
    """Whether the graph for these types is that of the reference at other sizes, too, as far as one trace shows."""
    elsewhere = structure_elsewhere(trace, texts)
    return elsewhere is not None and elsewhere[1] == structure_of(trace(texts))
