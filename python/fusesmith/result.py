"""What `judge` returns: the verdict, the evidence of one failing case, and a report that says how to reproduce it."""

import collections
import statistics
from dataclasses import dataclass, field

from .declarations import declared_for_all
from .report import CORRECT, report
from .shown import number, show_case

COARSE = 2**-6  # the resolution from which on a region is inconclusive (docs/verdicts.md)
# The verdict of a result without findings is the last of CORRECT that occurred.
LAST_SHOWN = ("crash", "timeout")  # of failures: an exception may be meant, a wrong result is not
OTHERS = ("inconclusive", "unsupported", "out_of_memory", "overloaded")


@dataclass
class Result:
    """`ok`: no finding, not stopped, and nine tenths of the cases that the kernel supports could be judged. The fields
    from `region` to `rule` are of one failing case, the smallest of those with the most frequent failure, reduced for
    some seconds, and None or empty if there is none."""

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
    other: float | None = None  # what it was before the call, or is in another run, where these should be equal
    allowed: tuple | None = None  # lowest and highest value that a correct execution may give
    exact: float | None = None
    bound: float | None = None
    case: str | None = None  # path of the case file
    repro: str | None = None  # command
    reduce: str | None = None  # command
    sentence: str = ""
    inputs: list = field(default_factory=list)
    snippet: str = ""  # lines of Python that call the kernel on the case; empty if it is too large for that
    smallest: bool = False  # whether it could not be reduced further
    rule: str = ""  # for which sizes, dtypes and data like that of the case the kernel fails: "Fails iff N >= 9, ..."
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
    # The same of inconclusive cases that fail if the kernel declares it.
    fails_with: dict = field(default_factory=dict)
    # Variants of the op that were left out, since the kernel raises for each case of them -> what it says.
    refused: dict = field(default_factory=dict)
    refused_alone: int = 0  # cases of them that are of no kind all of whose cases are refused
    # What was judged: size symbol -> its sizes; "dtype" -> {dtype: number of cases}.
    covered: dict = field(default_factory=dict)
    partly: list = field(default_factory=list)  # of inconclusive cases of which a part is right: that share of elements
    checks: dict = field(default_factory=dict)  # metamorphic checks of the kernel: name -> how many were made
    granted: str = ""  # what the contract of the kernel grants beyond the usual errors (docs/workers.md)

    @property
    def lawful(self):
        return self.allowed

    def __bool__(self):
        return self.ok

    def __str__(self):
        return "\n".join(report(self))


def make_result(kernel, subject, cases, judged, missing, keep, how):
    """`missing`: why cases were not judged, and how many are no valid graphs."""
    by_path = {case.path: case for case in cases}
    judged = [entry for entry in judged if entry.get("file") in by_path]
    findings = [entry for entry in judged if entry["finding"]]
    left, refused = missing
    stopped = len(judged) + refused < len(cases)
    counts = collections.Counter(entry["verdict"] for entry in judged)
    partly = [share for entry in judged if (share := share_judged(entry))]
    result = Result(
        ok=not findings and not stopped and were_judged(counts, refused, sum(partly)), partly=partly,
        verdict="", cases=dict(counts.most_common()),
        kernel=kernel.text, subject=subject, runs=len(cases),
        findings=len(findings), left=left, stopped=stopped, failures_by=failures_by(judged, by_path),
        reasons=dict(collections.Counter(e["reason"] for e in judged if e["reason"]).most_common(3)))
    shares = [region["worst_share"] for entry in judged for region in entry["regions"] if not entry["finding"]]
    result.worst_share = max((number(share) for share in shares), default=0.0)
    add_resolution(result, judged)
    result.arithmetic = customary_arithmetic(judged)
    result.fails_with = failing_arithmetic(judged)
    result.sampled = sampled_elements(judged)
    result.covered = covered([by_path[entry["file"]] for entry in judged if entry["verdict"] not in OTHERS])
    result.checks = dict(sum((collections.Counter(entry.get("metamorphic", {})) for entry in judged),
                             collections.Counter()))
    result.granted = next((text for entry in judged for text in entry.get("granted", {}).values()), "")
    if not findings:
        order = (*reversed(CORRECT), *OTHERS) if result.ok else sorted(OTHERS, key=lambda v: -counts[v])
        result.verdict = next((v for v in order if counts[v]), "unsupported")
        return result
    counted = collections.Counter(entry["verdict"] for entry in findings).most_common()
    most = min(counted, key=lambda one: (one[0] in LAST_SHOWN, -one[1]))[0]
    shown = min((e for e in findings if e["verdict"] == most), key=lambda e: e["output_elements"])
    result.verdict = most
    show_case(result, kernel, shown, keep, how)
    result.sentence = declared_for_all(result.sentence, findings)
    return result


def covered(cases):
    """Of the cases that were judged: the sizes of each symbol, sorted, and the number of cases of each dtype."""
    sizes = {}
    for case in cases:
        for name, size in case.sizes.items():
            sizes.setdefault(name, []).append(size)
    dtypes = collections.Counter(case.dtype for case in cases if case.dtype)
    return {**{name: sorted(listed) for name, listed in sizes.items()}, **({"dtype": dict(dtypes)} if dtypes else {})}


def were_judged(counts, refused, partly):
    """Whether nine tenths of the cases were that the kernel supports: one that now and then runs out of memory is not
    right, nor one whose sizes or attributes seldom fit together. `partly`: what was judged of inconclusive cases. A
    single one of these does not count beside three that are right, so that few cases are enough."""
    right = sum(counts[verdict] for verdict in CORRECT) + partly
    spared = 1 if counts["inconclusive"] == 1 and right >= 3 else 0
    return right >= max(1, refused) and 10 * right >= 9 * (counts.total() - counts["unsupported"] - spared)


def share_judged(entry):
    """Of an inconclusive case, the share of elements that are right: some of a scalar function, such as gelu far below
    0, are off by more than 1.6 % of themselves within the error that the contract grants it; 0 if the others are not
    judged well either."""
    regions = entry["regions"] if entry["verdict"] == "inconclusive" else []
    coarse = [region for region in regions
              if not region["uncertain"] or number(region["resolution"]["median"]) > COARSE]
    elements = sum(region["elements"] for region in regions)
    return 0 if coarse or not elements else 1 - sum(region["uncertain"] for region in regions) / elements


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
    """What the function is meant to do -> of how many cases it makes the results right. Where each of several would,
    it is the one that does so in the most cases."""
    needed, any_of = collections.Counter(), []
    for entry in judged:
        if entry["verdict"] != "precision_policy":
            continue
        for region in entry["regions"]:
            named, others = ([(one["says"], one["declaration"]) for one in region.get(key, [])]
                             for key in ("arithmetic", "alternatives"))
            if len(named) == 1:
                any_of.append((entry["file"], [*named, *others]))
            else:
                needed.update((entry["file"], one) for one in named)
    counts = collections.Counter(one for _, one in needed)
    while any_of:
        best = min(dict.fromkeys(one for _, options in any_of for one in options),
                   key=lambda one: (-counts[one] - sum(one in options for _, options in any_of)))
        counts[best] += len({file for file, options in any_of if best in options})
        any_of = [(file, options) for file, options in any_of if best not in options]
    return dict(counts.most_common())


def failing_arithmetic(judged):
    """What the function may be meant to do, but does not -> in how many inconclusive cases."""
    counts = collections.Counter()
    for entry in judged:
        if entry["verdict"] == "inconclusive":
            counts.update({(one["says"], one["declaration"])
                           for region in entry["regions"] for one in region.get("fails_with", [])})
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
