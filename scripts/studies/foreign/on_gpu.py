"""Judges the kernels of gpu.py, and writes docs/results/kernels_gpu.md. `scripts/studies/kernels --gpu` is the program.

Each kernel is judged as its users would judge it, without any declaration. Where gpu.py knows of attributes that it
needs, it is judged once more with these.
"""

import concurrent.futures
import json
import os
import re
import tempfile
import time

import fusesmith
import gpu
import torch
import triton

HERE = os.path.dirname(os.path.abspath(__file__))
PLACE = re.compile(r" \(\S+\.py:\d+\)$")  # in this study's files
# A GPU's first call takes seconds, and so does a kernel that is compiled.
LIMITS = {"run_timeout": 60, "time_limit": 150}


def write_module(folder):
    """The functions by names that a worker can find."""
    path = os.path.join(folder, "kernels_on_gpu.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"import sys\nsys.path.insert(0, {HERE!r})\nimport torch\nimport gpu\n")
        for i, kernel in enumerate(gpu.KERNELS):
            file.write(f"kernel_{i} = gpu.KERNELS[{i}].function\n")
            if kernel.declares:
                file.write(f"declared_{i} = gpu.declared(gpu.KERNELS[{i}])\n")
    return path


def judged(path, number, is_declared, options):
    kernel, name = gpu.KERNELS[number], f"{'declared' if is_declared else 'kernel'}_{number}"
    row = {"number": number, "origin": kernel.origin, "name": kernel.name, "declared": is_declared}
    keep, begin = os.path.join(options.keep, name) if options.keep else None, time.monotonic()
    try:
        result = fusesmith.judge(f"{path}:{name}", kernel.subject(), runs=options.runs, keep=keep, **LIMITS,
                                 **kernel.arguments)
    except fusesmith.Error as error:
        return {**row, "outcome": "not judged", "error": str(error), "named": [], "sentence": ""}
    if keep:
        os.makedirs(keep, exist_ok=True)
        with open(os.path.join(keep, "report.txt"), "w", encoding="utf-8") as file:
            file.write(f"{kernel.origin}: {kernel.name}, {kernel.arguments}, {kernel.declares}\n{result}\n")
    return {**row, "outcome": outcome(result), "error": "", "named": [text for _, text in result.arithmetic],
            "sentence": result.sentence, "refused": result.refused, "failed": failed_by(result),
            "seconds": round(time.monotonic() - begin)}


def outcome(result):
    judged_cases = sum(result.cases.values())
    if result.findings:
        return f"{result.findings} of {judged_cases} failed"
    if result.ok:
        return "right"
    undecided = ", ".join(f"{count} {verdict}" for verdict, count in result.cases.items()
                          if verdict not in ("identical", "reassociation", "precision_policy"))
    return f"undecided ({undecided or result.left})"


def failed_by(result):
    return "; ".join(", ".join(f"{name} {failed}/{count}" for name, (failed, count) in sorted(table.items()) if failed)
                     for table in result.failures_by.values()) if result.findings else ""


def told(row):
    """What the program says of the failure: its last sentence names the arithmetic."""
    if row["error"] or not row["sentence"]:
        return row["error"] or "-"
    text = re.sub(r"python:\S*:(kernel|declared)_\d+(_gradients)?", "the function", row["sentence"])
    return text.replace("No correct execution gives this result: ", "").replace("|", "\\|")


def page(rows, runs):
    plain = [row for row in rows if not row["declared"]]
    with_attributes = {row["number"]: row for row in rows if row["declared"]}
    lines = [
        "# Kernels of others on a GPU", "",
        "Kernels that others published, judged without any declaration and, where one is known, once more with it:",
        f"{runs} cases each. `scripts/studies/kernels --gpu` writes this; the kernels, what they compute, their sizes",
        "and their data are in `foreign/gpu.py` and `foreign/tutorials.py` beside it.",
        "", "Undecided: no case failed, but fewer than nine in ten are right; the bounds of the others are too wide to",
        "tell. Without a declaration each rounding inside attention may be left out or not, which widens them. In one",
        "case of ten, inputs have gaps, axes in another order, or odd addresses: Liger's kernels get them as they are,",
        "those of the tutorials get contiguous copies, as they want, and PyTorch's attention gets the order of axes.",
        "", f"{torch.cuda.get_device_name() if torch.cuda.is_available() else 'No GPU'}, PyTorch {torch.__version__}, "
        f"Triton {triton.__version__}, {liger_version()}.", "",
        "| from | kernel | without declarations | named | with its declaration | declaration |",
        "|---|---|---|---|---|---|"]
    for row in plain:
        again, kernel = with_attributes.get(row["number"]), gpu.KERNELS[row["number"]]
        declares = ", ".join(f"`{key} = {value!r}`" for key, value in kernel.declares.items())
        named = ", ".join(f"`{text}`" for text in row["named"]) or "-"
        lines.append(f"| {row['origin']} | {row['name']} | {row['outcome']} | {named} | "
                     f"{again['outcome'] if again else '-'} | {declares or '-'} |")
    lines += ["", "## What is said of those that failed", "", "| kernel | failed | what is said |", "|---|---|---|"]
    lines += [f"| {row['origin']}: {row['name']}{', declared' if row['declared'] else ''} | {row['failed']} | "
              f"{told(row)} |" for row in rows if row["sentence"]]
    lines += ["", "## Inputs that are left out", "", "A kernel raises for each case with them.", "",
              "| kernel | inputs | what it says |", "|---|---|---|"]
    lines += [f"| {row['origin']}: {row['name']} | {variant.removeprefix('inputs ')} | {PLACE.sub('', reason)} |"
              for row in plain for variant, reason in row.get("refused", {}).items()]
    failed = [f"{row['origin']}: {row['name']}" for row in plain if row["sentence"]]
    shown = {name: any(one.startswith(name) for one in failed) for name in gpu.FINDINGS}
    for title, is_shown in (("What these kernels do", True), ("Found with other cases than these", False)):
        rest = [f"| {name} | {text} |" for name, text in gpu.FINDINGS.items() if shown[name] == is_shown]
        lines += ["", f"## {title}", "", "| kernels | what they do |", "|---|---|", *rest] if rest else []
    return "\n".join(lines) + "\n"


def liger_version():
    if not gpu.liger:
        return "without Liger"
    from importlib.metadata import version
    return f"Liger {version('liger_kernel')}"


def keep_rows(folder, rows):
    if folder:
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "rows.json"), "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)


def study(options):
    chosen = [int(text) for text in options.only.split(",")] if options.only else range(len(gpu.KERNELS))
    work = [(number, is_declared) for is_declared in (False, True) for number in chosen
            if not is_declared or gpu.KERNELS[number].declares]
    with tempfile.TemporaryDirectory(prefix="fusesmith-kernels-") as folder:
        path = write_module(folder)
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            jobs = [pool.submit(judged, path, *item, options) for item in work]
            for job in concurrent.futures.as_completed(jobs):
                row = job.result()
                keep_rows(options.keep, [one.result() for one in jobs if one.done()])  # for what a time limit leaves
                print(f"{row['number']:3}{' declared' if row['declared'] else ''} {row['origin']}: {row['name']}: "
                      f"{row['outcome']} {row['named'] or ''} {told(row)} {row.get('failed', '')} "
                      f"{row.get('seconds', '')}", flush=True)
            rows = [job.result() for job in jobs]
    if options.page:
        with open(options.page, "w", encoding="utf-8") as file:
            file.write(page(rows, options.runs))
    return 1 if any(row["error"] for row in rows) else 0
