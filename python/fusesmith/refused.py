"""Variants of an op that a kernel does not take: it raises for each case of them, such as for more than two axes."""

import collections
import re

from .errors import Error

RAISED_IN_THE_FILE = re.compile(r"\(\S+\.py:\d+\)$")  # how the program's reason names an exception of the kernel


def refused_variants(judged, cases):
    """Variant -> what the kernel said. Empty unless each failed case is one of them, and others are left."""
    by_path = {case.path: case for case in cases}
    counts, failed, reasons, failures, left = collections.Counter(), collections.Counter(), {}, [], 0
    for entry in judged:
        variants = by_path[entry["file"]].variants if entry.get("file") in by_path else ()
        counts.update(variants)
        if not entry["finding"]:
            left += 1
            continue
        if entry["verdict"] != "crash" or not RAISED_IN_THE_FILE.search(entry["reason"]):
            return {}
        failed.update(variants)
        failures.append(set(variants))
        for variant in variants:
            reasons.setdefault(variant, entry["reason"].partition(": ")[2])
    refused = {variant: reasons[variant] for variant, count in failed.items() if count == counts[variant]}
    return refused if left and all(variants & set(refused) for variants in failures) else {}


def without(graphs, refused):
    return [graph for graph in graphs if graph.variant not in refused]


def of_rank(graphs, rank):
    """Those of which the first input has so many axes."""
    ranks = {graph.rank for graph in graphs}
    if rank not in ranks:
        known = " or ".join(map(str, sorted(ranks)))
        raise Error(f"rank is the number of axes of the first input, {known}, got {rank!r}")
    return [graph for graph in graphs if graph.rank == rank]
