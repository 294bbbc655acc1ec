"""Other orders and arithmetics for products that are not equal to their emulation."""

import math
import time

import numpy as np


def chains(prober, K):
    """Parts of K with sums of their own, promoted at other intervals: (name, blocks, tree)."""
    for parts in (1, 2, 3, 4, 5, 6, 8):
        for every in (0, 32, 64, 128, 256, 512, 1024, 2048):
            length, blocks = math.ceil(math.ceil(K / 128) / parts) * 128, {}
            for group in prober.groups(K):
                part = int(group[0]) // length
                block = (int(group[0]) - part * length) // every if every else 0
                blocks.setdefault((part, block), []).append(group)
            tree, first = None, 0
            for part in sorted({key[0] for key in blocks}):
                last = first + sum(key[0] == part for key in blocks)
                inner = first
                for leaf in range(first + 1, last):
                    inner = (inner, leaf)
                tree, first = inner if tree is None else (tree, inner), last
            yield f"promote {every or 'never'}, {parts} parts of K", list(blocks.values()), tree


def arithmetics(spec):
    """Neighbours of the arithmetic `spec`, without repetition."""
    near = [spec._replace(F=F, Fo=Fo, Fa=F) for F in range(max(spec.F - 2, 1), spec.F + 3)
            for Fo in sorted({spec.F, spec.Fo, 23, spec.Fo - 1, spec.Fo + 1})]
    near += [spec._replace(pexp=pexp, sub=sub) for pexp in ("sum", "norm") for sub in ("raw", "norm")]
    near += [spec._replace(term=term, out=out) for term in ("rz", "floor", "rne") for out in ("rz", "floor", "rne")]
    return dict.fromkeys(near)


def tries(prober, spec, K, n):
    """(name, blocks, tree, arithmetic) of each alternative."""
    blocks, tree = prober.blocks(K, n)
    yield from ((*order, spec) for order in chains(prober, K))
    for other in arithmetics(spec):
        yield " ".join(f"{key} {value}" for key, value in other._asdict().items()), blocks, tree, other
    for size in (8, 16, 32, 64):
        grid = [np.arange(k, min(k + size, K)) for k in range(0, K, size)]
        regrouped = [[group for group in grid if int(block[0][0]) <= group[0] <= max(int(x.max()) for x in block)]
                     for block in blocks]
        if all(regrouped):
            yield f"groups of {size}", regrouped, tree, spec


def search(prober, spec, unequal, deadline):
    """Prints the alternative that gives most elements of each (product, equal elements)."""
    found = []
    for product, equal in unequal:
        best = equal, "as measured"
        for name, blocks, tree, other in tries(prober, spec, product.K, product.n):
            if time.time() > deadline:
                break
            count = max(product.equal(blocks, tree, other).values())
            if count > best[0]:
                best = count, name
            if count == product.n ** 2:
                break
        found.append(f"{product}: {best[1]} ({best[0]} of {product.n ** 2})")
    prober.report.say("    best alternative: " + "; ".join(found))
