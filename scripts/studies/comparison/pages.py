"""The tables of a trial in Markdown, between marks of a page."""

import os
import textwrap

from comparison.counting import FUSESMITH
from comparison.measuring import TrialError

# Of the name of the trial: the pair, after the mix where it is not the one of all cases.
MARKS = ("<!-- trial {}: written by scripts/studies/trial -->", "<!-- end of trial {} -->")
WIDTH = 120


def percent(part, whole):
    """Two significant digits near 0 and near 100, so that what is not all is not shown as all."""
    if not whole:
        return "-"
    share = 100 * part / whole
    if part in (0, whole):
        return f"{share:.0f} %"
    edge = min(share, 100 - share)
    digits = 0 if edge >= 10 else 1 if edge >= 0.95 else 2 if edge >= 0.095 else 3
    return f"{share:.{digits}f} %"


def title_of(trial, oracle):
    return FUSESMITH if oracle == FUSESMITH else trial["rules"][oracle]["title"]


def short_of(trial, oracle):
    return FUSESMITH if oracle == FUSESMITH else trial["rules"][oracle]["short"]


def rows(header, lines):
    aligned = "|".join("---" if i == 0 else "---:" for i in range(len(header)))
    return "\n".join(["| " + " | ".join(header) + " |", f"|{aligned}|",
                      *("| " + " | ".join(map(str, line)) + " |" for line in lines)])


def overview(trial):
    everything, clean = trial["all_faults"], trial["clean"]
    header = ["oracle", f"faults found, of {everything['faults']}", "recall", "new alarms", "where fusesmith has none",
              "false alarms", "recall, all cases", "false alarms, all cases"]
    changed = everything["changed_finite"]
    return rows(header, [[title_of(trial, oracle), everything["found"][oracle],
                          percent(everything["flagged_finite"][oracle], changed),
                          percent(everything["only_with_fault"][oracle], changed),
                          percent(everything["not_by_fusesmith"][oracle], changed),
                          percent(clean["alarms_finite"][oracle], clean["finite"]),
                          percent(everything["flagged"][oracle], everything["changed"]),
                          percent(clean["alarms"][oracle], clean["cases"])] for oracle in trial["oracles"]])


def variants(trial):
    header = ["oracle", *(f"`{entry['variant']}`" for entry in trial["variants"])]
    lines = [["cases (finite)", *(f"{entry['cases']:,} ({entry['finite']:,})" for entry in trial["variants"])]]
    lines += [[title_of(trial, oracle), *(percent(entry["alarms_finite"][oracle], entry["finite"])
                                          for entry in trial["variants"])] for oracle in trial["oracles"]]
    return rows(header, lines)


def areas(trial):
    header = ["area", "faults", "changed results", *(short_of(trial, oracle) for oracle in trial["oracles"])]
    return rows(header, [[area, entry["faults"], f"{entry['changed']:,}",
                          *(f"{entry['found'][oracle]}, {percent(entry['flagged'][oracle], entry['changed'])}"
                            for oracle in trial["oracles"])] for area, entry in trial["areas"].items()])


def each_fault(trial):
    header = ["fault", "changed results", *(short_of(trial, oracle) for oracle in trial["oracles"])]
    return rows(header, [[f"`{entry['fault']}`", f"{entry['changed']:,}",
                          *(percent(entry["flagged"][oracle], entry["changed"]) for oracle in trial["oracles"])]
                         for entry in trial["faults"]])


def size_name(entry):
    if entry["above"] is None:
        return "NaN or infinity on one side" if entry["to"] is None else "as without the fault"
    if not entry["above"]:
        return f"up to {entry['to']}"
    return f"above {entry['above']}" + (f", up to {entry['to']}" if entry["to"] else "")


def sizes(trial):
    header = ["largest difference", "changed results", *(short_of(trial, oracle) for oracle in trial["oracles"])]
    return rows(header, [[size_name(entry), f"{entry['changed']:,}",
                          *(percent(entry["flagged"][oracle], entry["changed"]) for oracle in trial["oracles"])]
                         for entry in trial["sizes"]])


def pair_of(entry):
    flags = [flag for flag in entry["flags"] if flag.startswith("--skip")]
    known = f"; {entry['known_bugs']} cases with known bugs are left out" if entry["known_bugs"] else ""
    return f"- `{entry['variant']}`: `{' '.join([entry['baseline'], entry['candidate'], *flags])}`{known}"


def facts(trial):
    clean, everything = trial["clean"], trial["all_faults"]
    selected = "" if trial["mix"] == "all" else f"Of {trial['generated']:,} generated cases, "
    text = (f"{selected}{clean['cases']:,} clean cases, {clean['finite']:,} of them with finite results, "
            f"{clean['inconclusive']:,} inconclusive; {everything['cases']:,} cases with one of {everything['faults']} "
            f"faults, which changed the results of {everything['changed']:,}, of which "
            f"{everything['changed_finite']:,} have a finite baseline. fusesmith also reported "
            f"{everything['findings_elsewhere']:,} cases whose results the fault did not change.")
    missed = everything["missed_as"]
    within = everything["changed"] - everything["flagged"][FUSESMITH] - missed["inconclusive"]
    text += (f" Of the changed results that it did not report, {within:,} are within the bounds of every region, and "
             f"{missed['inconclusive']:,} are inconclusive.")
    if trial["mix"] == "all" and clean["without_f64"]:
        text += f" In {clean['without_f64']:,} clean cases, PyTorch could not compute the result in f64."
    return textwrap.fill(text, WIDTH)


def tables(trial):
    parts = [facts(trial), overview(trial)]
    if trial["variants"]:
        parts += ["Alarms on benign variants, finite cases:", "\n".join(map(pair_of, trial["variants"])),
                  variants(trial)]
    if trial["areas"]:
        parts += ["By area, faults found and recall, all cases:", areas(trial),
                  textwrap.fill("Recall by the largest difference to the baseline, all cases. The unit is the dtype's "
                                "epsilon times the largest element of the output:", WIDTH), sizes(trial)]
    if trial["mix"] != "all":
        parts += ["By fault, recall, all cases:", each_fault(trial)]
    return "\n\n".join(parts) + "\n"


def command_of(flags):
    mix = "" if flags.mix == "all" else f" --mix={flags.mix}"
    command = f"scripts/studies/trial{mix} --pair={flags.pair} --runs={flags.runs} --clean={flags.clean} "
    more = f" --variant_cases={flags.variant_cases}" if flags.variant_cases else ""
    more += f" --variants={flags.variants}" if flags.variants != "all" else ""
    return f"{command}--seed={flags.seed}{more}"


def write(path, trial, flags):
    """Replaces what is between the marks, or adds it at the end."""
    text = ""
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            text = file.read()
    name = flags.pair if flags.mix == "all" else f"{flags.mix} {flags.pair}"
    begin, end = (mark.format(name) for mark in MARKS)
    command = textwrap.fill(f"`{command_of(flags)}`:", WIDTH, break_on_hyphens=False)
    section = f"{begin}\n{command}\n\n{tables(trial)}{end}\n"
    if begin in text:
        before, _, rest = text.partition(begin)
        _, found, after = rest.partition(end + "\n")
        if not found:
            raise TrialError(f'{path}: "{begin}" without "{end}"')
        text = before + section + after
    else:
        text = text.rstrip("\n") + "\n\n" + section if text else section
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
