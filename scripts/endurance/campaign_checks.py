"""What kill_campaign, disk_faults and long_campaign share: campaigns of a fixed length, their
processes, and what must hold of a work directory after any of them."""

import json
import os
import re
import subprocess

NOT_COMPARED = ("elapsed_s", "graphs_per_second", "history", "status", "gpus")
CLEAN, CANNOT_WRITE, FINDINGS = 0, 73, 77
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def stats_of(workdir):
    try:
        with open(os.path.join(workdir, "stats.json"), encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError:
        return None


def counts_of(workdir):
    """Without the findings that no case counts: they were met while another was minimized, for as long as that took."""
    counts = {key: value for key, value in stats_of(workdir).items() if key not in NOT_COMPARED}
    counts["findings"] = {signature: count for signature, count in counts["findings"].items() if count}
    return counts


def children_of(process):
    try:
        tasks = os.listdir(f"/proc/{process}/task")
        return [int(word) for task in tasks
                for word in open(f"/proc/{process}/task/{task}/children", encoding="ascii").read().split()]
    except OSError:
        return []


def workers_of(process):
    """The worker processes of a campaign, each of which is the first child of its guardian."""
    return [child for guardian in children_of(process) for child in children_of(guardian)[:1]]


def build_shim(folder):
    """failing_files.cc as a library to preload."""
    shim = os.path.join(folder, "failing_files.so")
    subprocess.run([os.environ.get("CXX", "c++"), "-std=c++20", "-O1", "-shared", "-fPIC", "-o", shim,
                    os.path.join(ROOT, "scripts/endurance/failing_files.cc"), "-ldl"], check=True)
    return shim


class Campaign:
    """`runs` cases in a work directory, over any number of calls of the command."""

    def __init__(self, program, workdir, runs, flags):
        self.program, self.workdir, self.runs, self.flags = program, workdir, runs, list(flags)

    def judged(self):
        stats = stats_of(self.workdir)
        return stats["next_counter"] if stats else 0

    def start(self, variables=None, **options):
        left = self.runs - self.judged()
        # Without cases, it only finishes its findings.
        limits = [f"--runs={left}"] if left > 0 else ["--runs=1", "--max_total_time=0.000001"]
        command = [self.program, "fuzz", f"--workdir={self.workdir}", *limits, *self.flags]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
                                env=dict(os.environ, **(variables or {})), **options)

    def unfinished(self):
        """Findings without a report, or with the one that they begin with."""
        return sorted(name for name in findings_of(self.workdir)
                      if not is_finished(os.path.join(self.workdir, "findings", name, "report.md")))

    def finish(self):
        """Goes on to the end without disturbance."""
        while self.judged() < self.runs or self.unfinished():
            process = self.start(stderr=subprocess.PIPE, text=True)
            _, errors = process.communicate()
            if process.returncode not in (CLEAN, FINDINGS):
                raise RuntimeError(f"exit code {process.returncode}: {errors[-300:]}")


def is_finished(report):
    try:
        with open(report, encoding="utf-8") as file:
            return not file.read(4096).startswith("<!-- not minimized yet")
    except FileNotFoundError:
        return False


def findings_of(workdir):
    found = os.path.join(workdir, "findings")
    if not os.path.isdir(found):
        return set()
    return {name for name in os.listdir(found) if os.path.exists(os.path.join(found, name, "case.json"))}


def announced_in(errors):
    """Signatures of which a campaign said that it found them."""
    return set(re.findall(r"finding[^:\n]*: \S*/findings/([^/\n]+)/case\.json", errors))


def damaged_file(folder, may_be_empty=()):
    """A file that is not whole; else None."""
    for path, _, names in os.walk(folder):
        for name in names:
            file = os.path.join(path, name)
            if name.startswith("."):
                continue  # locks, and temporary files, which the next start removes
            with open(file, encoding="utf-8") as stream:
                text = stream.read()
            try:
                if name.endswith(".json"):
                    json.loads(text)
            except ValueError:
                return f"{os.path.relpath(file, folder)} is not whole ({len(text)} bytes)"
            if not text and name not in may_be_empty:
                return f"{os.path.relpath(file, folder)} is empty"
            if name == "report.md" and not text.endswith("</details>\n"):
                return f"{os.path.relpath(file, folder)} is cut off"
    return None


def difference(whole, other):
    """What a campaign that was disturbed has otherwise than one that was not; None: nothing."""
    damaged = damaged_file(other)
    if damaged:
        return damaged
    wanted, counted = counts_of(whole), counts_of(other)
    differing = [key for key in wanted if wanted[key] != counted.get(key)]
    if differing:
        return "counts differ: " + ", ".join(differing)
    missing = set(wanted["findings"]) - findings_of(other)
    return f"findings are missing: {sorted(missing)}" if missing else None
