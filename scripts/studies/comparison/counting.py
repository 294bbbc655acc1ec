"""From the rows of a trial to its tables: who finds which faults, and who raises false alarms.

A changed result is a case whose outputs have other bits with the fault than without it, or that crashes. A false alarm
is a case without a fault, or of a benign variant, that the oracle fails. An oracle finds a fault if there is a case
that it fails with the fault and passes without it: an alarm that is raised in any case tells nothing. Cases are
`finite` if all outputs of the baseline are; several rules fail every case with a NaN, so that they are also counted
without these.
"""

import collections
import math

from comparison.measuring import rows_of
from comparison.mixes import MIXES

FUSESMITH = "fusesmith"
# Of all mixes. A rule that a trial does not apply raises nothing there; `oracles` of a trial has those that it applies.
ORACLES = [FUSESMITH, *dict.fromkeys(rule.name for mix in MIXES.values() for rule in mix.rules)]
NOT_JUDGED = ("unsupported", "out_of_memory", "overloaded")
# Upper ends, in units of the dtype's epsilon times the largest element.
SIZES = [1, 10, 100, 1000, math.inf]
SCALES = [10 ** (step / 4) for step in range(-12, 25)]  # of assert_close's tolerances


def is_judged(row):
    return row["verdict"] not in NOT_JUDGED


def alarms(row):
    """The oracles that fail a case. Everyone sees a crash."""
    if "failed" not in row:
        return set(ORACLES) if row["finding"] else set()
    return {*row["failed"], *([FUSESMITH] if row["finding"] else [])}


def is_finite(row):
    return row.get("finite", True)


def tally(sets):
    sets = list(sets)
    return {oracle: sum(oracle in flagged for flagged in sets) for oracle in ORACLES}


def quiet(rows):
    """What is raised over rows that are right."""
    finite = [row for row in rows if is_finite(row)]
    return {"cases": len(rows), "finite": len(finite), "alarms": tally(map(alarms, rows)),
            "alarms_finite": tally(map(alarms, finite)),
            "inconclusive": sum(row["verdict"] == "inconclusive" for row in rows),
            "without_f64": sum("problem" in row for row in rows)}


def is_changed(row, clean):
    return "candidate" not in row or row["candidate"] != clean.get("candidate")


def counted_fault(fault, rows, clean):
    """Of one fault, with its changed results: (row, clean row, oracles that fail it)."""
    rows = [row for row in rows if is_judged(row) and is_judged(clean[row["case"]])]
    every = [(row, clean[row["case"]], alarms(row)) for row in rows]
    changed = [entry for entry in every if is_changed(entry[0], entry[1])]
    finite = [entry for entry in changed if is_finite(entry[1])]
    new = [(row["case"], flagged - alarms(before)) for row, before, flagged in every]
    elsewhere = sum(FUSESMITH in flagged and not is_changed(row, before) for row, before, flagged in every)
    return {"fault": fault["name"], "pattern": fault["pattern"], "cases": len(rows), "changed": len(changed),
            "changed_finite": len(finite), "findings_elsewhere": elsewhere,
            "first_found": {oracle: next((case for case, flagged in new if oracle in flagged), None)
                            for oracle in ORACLES},
            "flagged": tally(flagged for _, _, flagged in changed),
            "flagged_finite": tally(flagged for _, _, flagged in finite),
            "only_with_fault": tally(flagged - alarms(before) for _, before, flagged in finite),
            "not_by_fusesmith": tally(flagged - alarms(before) for _, before, flagged in finite
                                      if FUSESMITH not in flagged),
            "missed_as": collections.Counter(row["verdict"] for row, _, flagged in changed
                                             if FUSESMITH not in flagged)}, changed


def summed(entries, key):
    return {oracle: sum(entry[key][oracle] for entry in entries) for oracle in ORACLES}


def found(faults):
    return {oracle: sum(fault["first_found"][oracle] is not None for fault in faults) for oracle in ORACLES}


def group(faults):
    return {"faults": len(faults), "found": found(faults), "cases": sum(fault["cases"] for fault in faults),
            **{key: sum(fault[key] for fault in faults) for key in ("changed", "changed_finite", "findings_elsewhere")},
            **{key: summed(faults, key)
               for key in ("flagged", "flagged_finite", "only_with_fault", "not_by_fusesmith")},
            "missed_as": sum((fault["missed_as"] for fault in faults), collections.Counter())}


def by_area(faults):
    areas = {}
    for fault in faults:
        areas.setdefault(fault["pattern"], []).append(fault)
    return {area: group(members) for area, members in sorted(areas.items())}


def by_size(changed):
    """How many changed results of each size are flagged; a crash has no size. First those that are no further from the
    baseline than the clean result often is: at most twice as far as the clean result of the case."""
    sized = [(row["size"], before.get("size", 0.0), flagged) for row, before, flagged in changed if "size" in row]
    noise = [flagged for size, before, flagged in sized if size <= 2 * before]
    larger = [(size, flagged) for size, before, flagged in sized if size > 2 * before]
    table, low = [{"above": None, "to": 0, "changed": len(noise), "flagged": tally(noise)}], 0
    for high in SIZES:
        members = [flagged for size, flagged in larger if low < size <= high and math.isfinite(size)]
        table.append({"above": low, "to": high if math.isfinite(high) else None, "changed": len(members),
                      "flagged": tally(members)})
        low = high
    infinite = [flagged for size, flagged in larger if not math.isfinite(size)]
    return [*table, {"above": None, "to": None, "changed": len(infinite), "flagged": tally(infinite)}]


def curve(changed, clean):
    """assert_close with its tolerances times a factor, over finite cases: recall against false alarms."""
    changed = [row["share"] for row, before, _ in changed if "share" in row and is_finite(before)]
    clean = [row["share"] for row in clean if "share" in row and is_finite(row)]
    return [{"scale": scale, "flagged": sum(share > scale for share in changed), "changed": len(changed),
             "alarms": sum(share > scale for share in clean), "clean": len(clean)} for scale in SCALES]


def counted(place, clean_subject, faults, variants):
    clean_rows = [row for row in rows_of(place, clean_subject) if is_judged(row)]
    clean = {row["case"]: row for row in rows_of(place, clean_subject)}
    each, changed = [], []
    for fault, subject in faults:
        entry, its_changed = counted_fault(fault, rows_of(place, subject), clean)
        each.append(entry)
        changed += its_changed
    table = []
    for subject in variants:
        rows = [row for row in rows_of(place, subject) if is_judged(row)]
        right = [row for row in rows if row["finding"] or not row.get("known")]
        table.append({"variant": subject.name, "baseline": subject.baseline, "candidate": subject.candidate,
                      "flags": list(subject.flags), "known_bugs": len(rows) - len(right), **quiet(right)})
    rules = MIXES[place.mix].rules
    return {"mix": place.mix, "seed": place.seed, "runs": faults[0][1].cases if faults else 0,
            "oracles": [FUSESMITH, *(rule.name for rule in rules)], "generated": clean_subject.cases,
            "rules": {rule.name: {"title": rule.title, "short": rule.short, "source": rule.source} for rule in rules},
            "clean": quiet(clean_rows), "variants": table, "all_faults": group(each), "areas": by_area(each),
            "sizes": by_size(changed), "curve": curve(changed, clean_rows), "faults": each}
