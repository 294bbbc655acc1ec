"""Kinds of cases that a kernel does not take: it raises for each of them, such as for more than two axes."""

import linecache
import os
import re
from dataclasses import dataclass

from .errors import Error
from .shown import passes_without_layouts, raises_for_ones

RAISED_IN_THE_FILE = re.compile(r"\((\S+\.py):(\d+)\)$")  # how the program's reason names an exception of the kernel
MULTIPLES = (2, 4, 8, 16, 32, 64, 128)
# The chance that all cases of a kind raise though the kind is not why: what is likelier than that is no refusal.
CHANCE, CHANCE_OF_LIMITS = 0.02, 0.001


@dataclass(frozen=True)
class Limit:
    """Sizes that a kernel does not take."""

    name: str
    relation: str  # ">=", "<=", or "mod": is no multiple
    number: int

    def holds(self, sizes):
        size = sizes.get(self.name)
        if size is None:
            return False
        if self.relation == "mod":
            return size % self.number != 0
        return size >= self.number if self.relation == ">=" else size <= self.number

    def __str__(self):
        relation = f"mod {self.number} != 0" if self.relation == "mod" else f"{self.relation} {self.number:,}"
        return f"{self.name} {relation}"


def outcomes(judged, cases):
    """Case -> what the kernel raised, or None."""
    by_path = {case.path: case for case in cases}
    return {by_path[entry["file"]]: entry["reason"] if is_exception(entry) else None
            for entry in judged if entry.get("file") in by_path}


def is_exception(entry):
    return entry["finding"] and entry["verdict"] == "crash" and bool(RAISED_IN_THE_FILE.search(entry["reason"]))


def refused_kinds(reasons, kernel):
    """Variant or Limit -> what the kernel said: few ones, which explain most exceptions of the kernel. Limits explain
    only what it raises by a statement of its own. `reasons`: as outcomes() has them."""
    left, refused = set(reasons), {}
    passed = {case for case in left if reasons[case] is None}
    meant = {case for case in left - passed if is_deliberate(reasons[case], kernel)}
    while raised := [case for case in reasons if case in left - passed]:
        kinds = {variant: CHANCE for case in raised for variant in case.variants}
        kinds |= dict.fromkeys(limits_between(left & meant, passed), CHANCE_OF_LIMITS)
        best, covered = None, set()
        for kind, chance in kinds.items():
            having = {case for case in left if is_of_kind(case, kind)}
            if len(having) > len(covered) and explains(having, left, passed, meant, chance):
                best, covered = kind, having
        if best is None:
            break
        refused[best] = next(reasons[case].partition(": ")[2] for case in raised if case in covered)
        left -= covered
    return refused


def is_deliberate(reason, kernel, statements=("raise", "assert")):
    """Whether one of these statements of the kernel's own raises it: an IndexError of a library is a bug and no
    limit."""
    place = RAISED_IN_THE_FILE.search(reason)
    if not place:
        return False
    name, line = place.groups()
    paths = [os.path.join(folder, name) for folder in (os.path.dirname(kernel.path), *kernel.folders)]
    found = next((path for path in paths if os.path.isfile(path)), "")
    return ": NotImplementedError" in reason or bool(
        re.search(rf"\b({'|'.join(statements)})\b", linecache.getline(found, int(line))))


def refused_alone(judged, cases, kernel, how):
    """Path -> (which case, what the kernel said), of single cases that it refuses: by a raise of its own, with any
    data, or only since inputs lie in memory as they do. Nothing if these are more than a tenth of the cases."""
    by_path, alone = {case.path: case for case in cases}, {}
    for entry in judged:
        case = by_path.get(entry.get("file"))
        if case is None or not is_exception(entry):
            continue
        layouts = [phrase for phrase in case.layouts if phrase.startswith("inputs ")]  # and no single ones
        if is_deliberate(entry["reason"], kernel, ("raise",)) and is_deliberate(
                raises_for_ones(entry["file"], how), kernel, ("raise",)):
            kind = ", ".join(f"{name} = {size:,}" for name, size in case.sizes.items()) or "these inputs"
        elif layouts and passes_without_layouts(entry["file"], how):
            kind = " and ".join(layouts)
        else:
            continue
        alone[entry["file"]] = kind, entry["reason"].partition(": ")[2]
    return alone if 10 * len(alone) <= len(judged) else {}


def is_of_kind(case, kind):
    return kind.holds(case.sizes) if isinstance(kind, Limit) else kind in case.variants


def explains(having, left, passed, meant, chance):
    """Whether the kernel raises for all cases of a kind, and it is not likely that this is an accident."""
    others = left - having
    if having & passed or not others & passed:
        return False
    if chance == CHANCE_OF_LIMITS and not (having <= meant and len(having) > 1):
        return False
    return (len(others - passed) / len(others)) ** len(having) <= chance


def limits_between(raised, passed):
    """Limits of the sizes that are only in cases for which the kernel raises."""
    for name in sorted({name for case in raised for name in case.sizes}):
        bad = [case.sizes[name] for case in raised if name in case.sizes]
        good = [case.sizes[name] for case in passed if name in case.sizes]
        if not good:
            continue
        yield from (Limit(name, "mod", multiple) for multiple in MULTIPLES)
        if max(bad) > max(good):
            yield Limit(name, ">=", min(size for size in bad if size > max(good)))
        if min(bad) < min(good):
            yield Limit(name, "<=", max(size for size in bad if size < min(good)))


def without(graphs, refused):
    return [graph for graph in graphs if graph.variant not in refused]


def of_rank(graphs, rank):
    """Those of which the first input has so many axes."""
    ranks = {graph.rank for graph in graphs}
    if rank not in ranks:
        known = " or ".join(map(str, sorted(ranks)))
        raise Error(f"rank is the number of axes of the first input, {known}, got {rank!r}")
    return [graph for graph in graphs if graph.rank == rank]
