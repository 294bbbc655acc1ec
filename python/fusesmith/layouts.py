"""How inputs lie in memory: the layouts that are drawn, and what a kernel may not take of them."""

import math
from random import Random

from .graph import Type
from .vocabulary import DTYPES

EVERY = 5  # of so many cases, one has an input with a layout that is not usual
TRANSPOSED, UNALIGNED, REORDERED, PADDED, EXPANDED = KINDS = (
    "transposed", "unaligned", "reordered", "padded", "expanded")
ADDRESSES = (8, 2, 16, 4)  # how unaligned inputs are aligned, in bytes
ALIGNMENTS = (2, 4, 8, 16, 32)  # that a kernel may need, in bytes


def layout_of(random, kind, address, dtype, dims):
    """Of the kind; None where a tensor of these sizes has no such layout, but a dense one."""
    wide = [axis for axis, size in enumerate(dims) if size > 1]
    order = list(range(len(dims)))
    if kind == UNALIGNED:
        return {"offset": max(1, address // DTYPES[dtype]["bytes"])}
    if kind == PADDED:
        pad = [0] * (len(dims) - 1) + [random.choice([1, 7, 8])]
        return {"pad": pad} if math.prod(dims[:-1]) > 1 else None
    if kind == EXPANDED:
        outer = [axis for axis in wide if axis + 1 < len(dims)] or wide
        return {"expand": [random.choice(outer)]} if outer and dtype != "i32" else None
    swapped = order[-2:] if kind == TRANSPOSED else order[-3:-1]  # else heads and tokens, for example
    if len(swapped) < 2 or not set(swapped) <= set(wide):
        return None
    order[swapped[0]], order[swapped[1]] = swapped[1], swapped[0]
    return {"order": order}


def lay_out(graph, kinds, seed, index, refused=()):
    """Gives each input of some graphs, or one of them, a layout of one of the kinds, which take turns. `index`: of the
    case. `refused`: phrases of `phrases_of` that no graph may have then."""
    turn, position = divmod(index, EVERY)
    random = Random(f"{seed} {turn}")
    places = [i for i, given in enumerate(graph.inputs) if Type(given["type"]).dims]
    if not places or not kinds or random.randrange(EVERY) != position:
        return
    chosen = places if random.random() < 0.5 else [random.choice(places)]
    address = ADDRESSES[turn // len(kinds) % len(ADDRESSES)]
    dense, first = list(graph.inputs), turn % len(kinds)
    for kind in (*kinds[first:], *kinds[:first]):
        for i in chosen:
            kept = Type(dense[i]["type"])
            if layout := layout_of(random, kind, address, kept.dtype, kept.dims):
                graph.inputs[i] = {**dense[i], "layout": layout}
                if kind == EXPANDED:
                    graph.inputs[i]["repeat"] = layout["expand"]
        if graph.inputs != dense and not set(phrases_of(graph)) & set(refused):
            return
        graph.inputs[:] = dense


def strides_of(dims, layout):
    """In elements, as docs/case.md has them."""
    pad, expanded = layout.get("pad", [0] * len(dims)), layout.get("expand", ())
    strides, step = [0] * len(dims), 1
    for axis in reversed(layout.get("order", range(len(dims)))):
        if axis not in expanded:
            strides[axis] = step
            step *= dims[axis] + pad[axis]
    return strides


def properties_of(given):
    """What a kernel may not take of one input; what says less comes later."""
    layout, kept = given.get("layout", {}), Type(given["type"])
    strides, dense = strides_of(kept.dims, layout), strides_of(kept.dims, {})
    wide = [axis for axis, size in enumerate(kept.dims) if size > 1]
    found = {
        "whose last axis is not contiguous": bool(wide) and wide[-1] == len(kept.dims) - 1 and strides[-1] != 1,
        "whose rows lie apart": any(layout.get("pad", ())),
        "whose axes lie in another order": "order" in layout,
        "whose elements share memory (stride 0)": "expand" in layout,
        "whose memory is not contiguous": any(strides[axis] != dense[axis] for axis in wide),
    }
    address = layout.get("offset", 0) * DTYPES[kept.dtype]["bytes"]
    found |= {f"whose address is no multiple of {bytes} bytes": address % bytes != 0 for bytes in ALIGNMENTS}
    return [name for name, holds in found.items() if holds]


def phrases_of(graph):
    """"inputs whose last axis is not contiguous", and the same of each input, if there are several."""
    found = {given["name"]: properties_of(given) for given in graph.inputs if "layout" in given}
    phrases = [f"inputs {one}" for properties in found.values() for one in properties]
    if len(graph.inputs) > 1:
        phrases += [f"{name} {one}" for name, properties in found.items() for one in properties]
    return tuple(dict.fromkeys(phrases))
