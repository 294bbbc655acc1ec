"""The failing case that a result shows: reduced to the smallest one, with the evidence and lines that run."""

import json
import os
import re
import shutil
import tempfile

from . import replay
from .program import shell_command
from .report import CORRECT
from .snippet import as_called, shown_snippet

MINIMIZE_SECONDS = 5
CALLS = 5  # of the kernel, for one case

# Symptoms of which the evidence is two values of one element: in one run, or before it, and in another, or after it.
TWO_VALUES = ("repeat_differs", "production_differs", "depends_on_unwritten_memory", "source_overwritten",
              "scaling_differs", "exchange_differs", "depends_on_neighbours", "depends_on_batch")


def number(value):
    """JSON has no NaN: the program writes texts."""
    return float(value) if isinstance(value, str) else value


def show_case(result, kernel, shown, keep, how):
    """Copies the failing case out of the folder that is removed, and judges it alone, as its reader will: smaller and
    smaller ones, as long as they fail in the same way. `shown`: what the program says of the case."""
    folder = keep or tempfile.mkdtemp(prefix=f"fusesmith-{kernel.name}-failing-")
    os.makedirs(folder, exist_ok=True)
    result.case = os.path.join(os.path.abspath(folder), f"{kernel.name}-{shown['verdict']}.json")
    shutil.copyfile(shown["file"], result.case)
    if not take_smallest(result, shown, how, kernel):
        add_evidence(result, shown)
        judge_alone(result, shown, how)
    with open(result.case, encoding="utf-8") as file:
        inputs = json.load(file)["graph"]["inputs"]
    result.inputs = [f"{given['name']} {given['type']}, {described(given['fill'])}" + layout_text(given)
                     for given in inputs]
    if any("layout" in given for given in inputs) and passes_without_layouts(result.case, how):
        result.rule = "\n".join(["Passes if all inputs are contiguous and aligned.", *result.rule.splitlines()])
    arguments = how.arguments(result.case)
    repeated = f"FUSESMITH_REPEAT={how.repeat} " if how.repeat else ""
    result.repro = repeated + shell_command(arguments, kernel.folders)
    result.reduce = shell_command(how.minimize_arguments(result.case), kernel.folders)


def in_symbols(rule, symbols):
    """The rule with the caller's names of sizes, where these are known: (input, axis) -> name."""
    lines = []
    for line in rule.splitlines():
        found = re.search(r"\bN is (\w+) axis (\d+)", line)
        symbol = found and symbols.get((found[1], int(found[2])))
        lines.append(re.sub(r"\bN\b", symbol, line) if symbol else line)
    return "\n".join(lines)


def judged_with(path, change, how):
    """What the program says of the case after `change` of each of its inputs; None if nothing."""
    with open(path, encoding="utf-8") as file:
        case = json.load(file)
    case.pop("expect", None)
    for given in case["graph"]["inputs"]:
        change(given)
    with tempfile.TemporaryDirectory() as folder:
        changed = os.path.join(folder, "changed.json")
        with open(changed, "w", encoding="utf-8") as file:
            json.dump(case, file)
        judged = replay.run(folder, how, 1, how.run_timeout * CALLS)[0]
    return judged[0] if judged else None


def passes_without_layouts(path, how):
    """Whether the case does with the same data in dense memory."""
    judged = judged_with(path, lambda given: given.pop("layout", None), how)
    return judged is not None and not judged["finding"] and judged["verdict"] in CORRECT


def raises_for_ones(path, how):
    """The reason, if the kernel raises for the same case with all data 1."""
    def fill(given):
        if not given["type"].startswith("i32"):
            given["fill"] = {"constant": {"value": 1}}

    judged = judged_with(path, fill, how)
    return judged["reason"] if judged and judged["verdict"] == "crash" else ""


def take_smallest(result, shown, how, kernel):
    """False where the case is not made smaller: it passes alone or fails in another way, or each run takes too long."""
    if shown["verdict"] == "timeout":
        return False
    output = result.case + ".smallest"
    smallest = replay.minimized(result.case, how, output, MINIMIZE_SECONDS)
    if not smallest or smallest["judged"]["verdict"] != shown["verdict"]:
        if os.path.exists(output):
            os.remove(output)
        return False
    os.replace(output, result.case)
    rate = smallest["failure_rate"]
    result.sentence = smallest["sentence"] + (
        f" It fails in {rate['failed']} of {rate['runs']} runs." if smallest["flaky"] else "")
    result.rule = smallest["neighbours"]["summary"].strip()
    result.smallest = not smallest["exhausted"]
    judged = smallest["judged"]
    add_evidence(result, {**judged, "regions": judged["candidate"]["regions"],
                          "baseline_regions": judged["baseline"]["regions"]})
    result.snippet = shown_snippet(kernel.rewritten(as_called(smallest["snippet"].rstrip(), kernel.parameters)),
                                   result, smallest["flaky"], (os.path.dirname(kernel.path), *kernel.folders))
    return True


def judge_alone(result, shown, how):
    verdict, result.sentence = replay.sentence(result.case, how)
    if verdict != shown["verdict"]:
        alone = f"it gets the verdict {verdict}" if verdict else f"it cannot be judged: {result.sentence}"
        why = ("It is slow now and then, for example when it compiles." if shown["verdict"] == "timeout" else
               "The function keeps something from one call to the next, or its results vary.")
        result.sentence = (f"{shown['verdict']} {shown['reason']}".strip() + f". This case fails after others; alone, "
                           f"{alone}. {why}")


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
    if worst and region["symptom"] in TWO_VALUES:
        result.value, result.element = worst["value"], worst["element"]
        result.got, result.other = number(worst["got"]), number(worst["want"])
    elif worst:
        result.value, result.element = worst["value"], worst["element"]
        result.got, result.exact, result.bound = (number(worst[key]) for key in ("got", "want", "bound"))
        result.allowed = number(worst["lo"]), number(worst["hi"])


def described(fill):
    name, attributes = next(iter(fill.items()))
    values = ", ".join(f"{key} {value}" for key, value in attributes.items())
    return f"{name}({values if len(values) <= 60 else values[:57] + '...'})"


def layout_text(given):
    layout = given.get("layout")
    return f", in memory with {', '.join(f'{key} {value}' for key, value in layout.items())}" if layout else ""
