"""What `judge` returns: the verdict, the evidence of one failing case, and a report that says how to reproduce it."""

import collections
import json
import os
import shutil
import statistics
import tempfile
import textwrap
from dataclasses import dataclass, field

from .program import shell_command

# From harmless to serious; the verdict of a result without findings is the last of these that occurred.
CORRECT = ("identical", "reassociation", "precision_policy")
OTHERS = ("inconclusive", "unsupported", "out_of_memory", "overloaded")
COLUMNS = 100


@dataclass
class Result:
    """`ok`: no finding, not stopped, and nine tenths of the cases that the kernel supports could be judged. The fields
    from `region` on are of one failing case, the smallest of those with the most frequent failure, and None if there is
    none."""

    ok: bool
    verdict: str
    cases: dict  # verdict -> number of cases
    kernel: str
    subject: str
    runs: int
    findings: int = 0
    region: str | None = None
    value: str | None = None
    element: int | None = None  # row-major index in `value`
    got: float | None = None
    allowed: tuple | None = None  # lowest and highest value that a correct execution may give
    exact: float | None = None
    bound: float | None = None
    case: str | None = None  # path of the case file
    repro: str | None = None  # command
    reduce: str | None = None  # command
    sentence: str = ""
    inputs: list = field(default_factory=list)
    reasons: dict = field(default_factory=dict)  # why cases are unsupported or crashed -> number of cases
    failures_by: dict = field(default_factory=dict)  # "dtype" and "data" -> {name: (failed, judged)}
    left: str | None = None  # why fewer than `runs` cases were judged
    stopped: bool = False  # before all cases were run
    worst_share: float = 0.0  # largest error of all cases, as a share of its bound
    # Which relative change of the results would have been found: in half of the cases that were judged, and in each
    # that is right (docs/verdicts.md, "Resolution"). None where no result can change relatively.
    resolution: float | None = None
    coarsest_resolution: float | None = None
    sampled: tuple | None = None  # of cases of which a sample was judged: elements judged, and all elements
    # What the kernel does beyond its contract where that is customary: (what it does, what would declare it) -> number
    # of cases that are right for this reason alone.
    arithmetic: dict = field(default_factory=dict)
    granted: str = ""  # what the contract of the kernel grants beyond the usual errors (docs/workers.md)

    @property
    def lawful(self):
        return self.allowed

    def __bool__(self):
        return self.ok

    def __str__(self):
        return "\n".join(report(self))


def number(value):
    """JSON has no NaN: the program writes texts."""
    return float(value) if isinstance(value, str) else value


def make_result(kernel, subject, cases, judged, missing, keep, judge_alone, arguments):
    """`missing`: why cases were not judged, and how many are no valid graphs; `judge_alone(path)` -> (verdict,
    sentence); `arguments(path)`: those of a replay of that case."""
    by_path = {case.path: case for case in cases}
    judged = [entry for entry in judged if entry.get("file") in by_path]
    findings = [entry for entry in judged if entry["finding"]]
    left, refused = missing
    stopped = len(judged) + refused < len(cases)
    counts = collections.Counter(entry["verdict"] for entry in judged)
    result = Result(
        ok=not findings and not stopped and were_judged(counts, refused), verdict="", cases=dict(counts.most_common()),
        kernel=kernel.text, subject=subject, runs=len(cases),
        findings=len(findings), left=left, stopped=stopped, failures_by=failures_by(judged, by_path),
        reasons=dict(collections.Counter(e["reason"] for e in judged if e["reason"]).most_common(3)))
    shares = [region["worst_share"] for entry in judged for region in entry["regions"] if not entry["finding"]]
    result.worst_share = max((number(share) for share in shares), default=0.0)
    add_resolution(result, judged)
    result.arithmetic = customary_arithmetic(judged)
    result.sampled = sampled_elements(judged)
    result.granted = next((text for entry in judged for text in entry.get("granted", {}).values()), "")
    if not findings:
        order = (*reversed(CORRECT), *OTHERS) if result.ok else sorted(OTHERS, key=lambda v: -counts[v])
        result.verdict = next((v for v in order if counts[v]), "unsupported")
        return result
    most = collections.Counter(entry["verdict"] for entry in findings).most_common(1)[0][0]
    shown = min((e for e in findings if e["verdict"] == most), key=lambda e: e["output_elements"])
    result.verdict = most
    add_evidence(result, shown)
    keep_case(result, kernel, shown, keep, judge_alone, arguments)
    return result


def were_judged(counts, refused):
    """Whether nine tenths of the cases were that the kernel supports: one that now and then runs out of memory is not
    right, nor one whose sizes or attributes seldom fit together."""
    right = sum(counts[verdict] for verdict in CORRECT)
    return right >= max(1, refused) and 10 * right >= 9 * (counts.total() - counts["unsupported"])


def add_resolution(result, judged):
    """A case has the median resolution of its coarsest region."""
    cases = []
    for entry in judged:
        regions = [number(region["resolution"]["median"]) for region in entry["regions"] if "resolution" in region]
        if regions and not entry["finding"]:
            cases.append((max(regions), entry["verdict"] in CORRECT))
    if cases:
        result.resolution = statistics.median_low(resolution for resolution, _ in cases)
        result.coarsest_resolution = max((resolution for resolution, right in cases if right), default=None)


def customary_arithmetic(judged):
    counts = collections.Counter()
    for entry in judged:
        if entry["verdict"] == "precision_policy":
            counts.update({(one["says"], one["declaration"]) for region in entry["regions"]
                           for one in region.get("arithmetic", [])})
    return dict(counts.most_common())


def sampled_elements(judged):
    counts = [(sum(region["elements"] for region in entry["regions"]),
               sum(region["all_elements"] for region in entry["regions"])) for entry in judged]
    sampled = [(some, every) for some, every in counts if some < every]
    return tuple(map(sum, zip(*sampled, strict=True))) if sampled else None


def failures_by(judged, by_path):
    """How many of the cases of each dtype, and of each kind of data, are findings."""
    tables = {"dtype": {}, "data": {}}
    for entry in judged:
        for key, table in tables.items():
            name = getattr(by_path[entry["file"]], key)
            failed, count = table.get(name, (0, 0))
            table[name] = failed + entry["finding"], count + 1
    return {key: table for key, table in tables.items() if any(table)}


def add_evidence(result, shown):
    """The worst element of the region that failed."""
    failing = shown["failing_region"]
    if not failing:
        return
    regions = shown["regions"] if failing["role"] == "candidate" else shown["baseline_regions"]
    if not 0 <= failing["region"] < len(regions):
        return
    region = regions[failing["region"]]
    result.region = f"{region['name']} ({region['op']}, {region['dtype']})"
    worst = region.get("worst")
    if worst:
        result.value, result.element = worst["value"], worst["element"]
        result.got, result.exact, result.bound = (number(worst[key]) for key in ("got", "want", "bound"))
        result.allowed = number(worst["lo"]), number(worst["hi"])


def keep_case(result, kernel, shown, keep, judge_alone, arguments):
    """Copies the failing case out of the folder that is removed, and judges it alone, as its reader will."""
    folder = keep or tempfile.mkdtemp(prefix=f"fusesmith-{kernel.name}-failing-")
    os.makedirs(folder, exist_ok=True)
    result.case = os.path.join(os.path.abspath(folder), f"{kernel.name}-{shown['verdict']}.json")
    shutil.copyfile(shown["file"], result.case)
    with open(result.case, encoding="utf-8") as file:
        inputs = json.load(file)["graph"]["inputs"]
    result.inputs = [f"{given['name']} {given['type']}, {described(given['fill'])}" for given in inputs]
    result.repro = shell_command(arguments(result.case), kernel.folders)
    result.reduce = shell_command(["minimize", result.case, *arguments(result.case)[2:]], kernel.folders)
    verdict, result.sentence = judge_alone(result.case)
    if verdict != shown["verdict"]:
        alone = f"it gets the verdict {verdict}" if verdict else f"it cannot be judged: {result.sentence}"
        why = ("It is slow now and then, for example when it compiles." if shown["verdict"] == "timeout" else
               "The function keeps something from one call to the next, or its results vary.")
        result.sentence = (f"{shown['verdict']} {shown['reason']}".strip() + f". This case fails after others; alone, "
                           f"{alone}. {why}")


def described(fill):
    name, attributes = next(iter(fill.items()))
    values = ", ".join(f"{key} {value}" for key, value in attributes.items())
    return f"{name}({values if len(values) <= 60 else values[:57] + '...'})"


def report(result):
    judged = sum(result.cases.values())
    right = sum(result.cases.get(verdict, 0) for verdict in CORRECT)
    if result.findings:
        head = f"is wrong for {result.subject}: {result.findings} of {judged} cases failed, {result.verdict}"
    elif result.ok:
        others = f" of {judged} cases; the others could not be judged" if right < judged else (
            " case" if right == 1 else " cases")
        head = f"is right for {result.subject} in {right}{others}"
    elif result.stopped and right:
        head = f"was stopped for {result.subject}: right in {right} of {result.runs} cases, the others were not judged"
    elif right:
        rest = f", else {result.verdict}" if right < judged else ""
        head = f"was judged in too few cases for {result.subject}: right in {right} of {result.runs}{rest}"
    else:
        head = f"was not judged for {result.subject} in {judged} cases: {result.verdict}"
    left = result.runs - judged
    yield f"{result.kernel} {head}."
    for (says, declaration), count in result.arithmetic.items():
        yield from textwrap.wrap(f"In {count} of these it is right only if it is meant to be computed so: {says}. "
                                 f"To say so, give the function the attribute {declaration}.", COLUMNS)
    if left:
        yield from textwrap.wrap(f"{left} more were not judged: {result.left or 'unknown'}", COLUMNS)
    if result.findings:
        yield ""
        yield from textwrap.wrap(result.sentence, COLUMNS)
        yield from evidence(result)
    yield ""
    yield from ("  " + f"{verdict:18}{count:5}" for verdict, count in result.cases.items())
    for key, table in result.failures_by.items() if result.findings else ():
        parts = [f"{name} {failed}/{count}" for name, (failed, count) in sorted(table.items())]
        yield from textwrap.wrap(f"failed by {key}: {', '.join(parts)}", COLUMNS, initial_indent="  ",
                                 subsequent_indent="    ")
    if result.ok:
        yield f"  largest error: {result.worst_share:.3g} of its bound"
    if result.resolution is not None:
        yield from textwrap.wrap(resolution_text(result), COLUMNS, initial_indent="  ", subsequent_indent="    ")
    if result.sampled:
        yield f"  sampled {result.sampled[0]:,} of {result.sampled[1]:,} elements; no others were judged"
    if result.granted:
        yield from textwrap.wrap(f"granted: {result.granted}", COLUMNS, initial_indent="  ", subsequent_indent="    ")
    for reason, count in result.reasons.items():
        times = f"{count} time" if count == 1 else f"{count} times"
        yield from textwrap.wrap(f"{times}: {reason}", COLUMNS, initial_indent="  ", subsequent_indent="    ")
    if result.findings:
        yield from ["", "Reproduce:", f"  {result.repro}", "Reduce to a smaller case:", f"  {result.reduce}"]


def resolution_text(result):
    text = f"resolution: a change of {percent(result.resolution)} would have been found in half of the cases"
    if result.coarsest_resolution is not None:
        text += f", {percent(result.coarsest_resolution)} in each that is right"
    if result.cases.get("inconclusive"):
        text += "; inconclusive cases have bounds that are too large to tell"
    return text


def percent(share):
    return f"{100 * share:.3g} %"


def evidence(result):
    yield ""
    for given in result.inputs:
        yield f"  input     {given}"
    if result.value is not None:
        yield f"  element   {result.value}[{result.element}]"
        yield f"  got       {result.got!r}"
        yield f"  allowed   {result.allowed[0]!r} to {result.allowed[1]!r}"
        yield f"  exact     {result.exact!r}, error bound {result.bound:.3g}"
