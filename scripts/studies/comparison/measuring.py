"""Runs the cases of a trial, part by part, and keeps what was found of each part in a file of the work directory.

A part is some generated cases of one subject: the clean pair, the pair with one fault, or a benign variant. Parts
that are there already are not run again, so that a trial goes on where it was ended.
"""

import concurrent.futures
import dataclasses
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings

from comparison.mixes import MIXES

PART = 250  # cases, of most subjects
METAMORPHIC = 64  # a campaign checks one in so many generated cases metamorphically
CHECKS = ["scaling", "exchange"]
ALL_JUDGED = (0, 77, 70, 71)  # exit codes of replay
WRONG_USAGE, DEVICE_FAILED = 1, 76


@dataclasses.dataclass(frozen=True)
class Subject:
    """What is judged: a pair of backends with flags. `kind`: clean, fault or variant."""

    name: str
    kind: str
    baseline: str
    candidate: str
    flags: tuple = ()
    cases: int = 0
    part: int = PART

    def parts(self):
        return [(first, min(self.part, self.cases - first)) for first in range(0, self.cases, self.part)]


class TrialError(Exception):
    """One line."""


@dataclasses.dataclass(frozen=True)
class Place:
    """The program, the seed and the work directory of a trial, and its mix."""

    binary: str
    seed: int
    workdir: str
    mix: str = "all"

    def part_file(self, subject, first):
        return os.path.join(self.workdir, "parts", subject.name.replace(":", "_"), f"{first:06}.json")


def call(command):
    try:
        return subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    except OSError as error:
        raise TrialError(f"{command[0]}: {error.strerror}") from error


def said(done, command):
    lines = done.stderr.strip().splitlines()
    return TrialError(f"{command[1]}: " + (lines[-1] if lines else f"ended with {done.returncode}"))


def write_json(path, value):
    """Whole or not at all."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(f"{path}.{os.getpid()}", "w", encoding="utf-8") as file:
        json.dump(value, file)
    os.replace(file.name, path)


def read_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def generate(place, first, count, folder):
    """The files of the cases that the mix selects, as a campaign would judge them: one in METAMORPHIC asks for its
    checks."""
    command = [place.binary, "generate", f"--seed={place.seed}", f"--first={first}", f"--count={count}",
               "--engine=random", f"--output={folder}"]
    done = call(command)
    if done.returncode:
        raise said(done, command)
    files, mix = [], MIXES[place.mix]
    for number in range(first, first + count):
        file = os.path.join(folder, f"{place.seed}-0-{number}.json")
        case = read_json(file)
        if not mix.selects(case):
            continue
        files.append(file)
        if number % METAMORPHIC == 0:
            case.setdefault("policy", {})["metamorphic"] = CHECKS
            write_json(file, case)
    return files


def replay(place, subject, files, values, clean):
    """The rows of the files. A case that ends the program, or after which the GPU fails, is a crash, and the others run
    without it. `clean`: rows without a fault, by case."""
    from comparison.results import judged, number_of, read_cases

    rows = []
    while files:
        command = [place.binary, "replay", f"--baseline={subject.baseline}", f"--candidate={subject.candidate}",
                   f"--values={values}", *subject.flags, *files]
        done = call(command)
        cases = read_cases(values) if os.path.exists(values) else ()
        found = [judged(case, clean.get(number_of(case.header["file"])), place.mix) for case in cases]
        rows += found
        files = files[len(found):]
        if done.returncode in ALL_JUDGED and not files:
            break
        if not files or (done.returncode >= 0 and done.returncode != DEVICE_FAILED):
            raise said(done, command)
        rows.append({"case": number_of(files[0]), "verdict": "crash", "finding": True})
        files = files[1:]
    return rows


def run_part(place, subject, first, count):
    import torch

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")  # such as those of torch.var_mean about groups of one element
    clean = place.part_file(Subject("clean", "clean", "", ""), first)
    clean = read_json(clean) if subject.kind == "fault" and os.path.exists(clean) else []
    with tempfile.TemporaryDirectory(prefix="trial-") as scratch:
        files = generate(place, first, count, os.path.join(scratch, "cases"))
        rows = replay(place, subject, files, os.path.join(scratch, "values"), {row["case"]: row for row in clean})
    write_json(place.part_file(subject, first), rows)


def needed_parts(place, subjects):
    return [(subject, first, count) for subject in subjects for first, count in subject.parts()
            if not os.path.exists(place.part_file(subject, first))]


class Progress:
    """A line on standard error now and then."""

    def __init__(self, total, wanted):
        self.total, self.wanted, self.done = total, wanted, 0
        self.start = self.last = time.monotonic()

    def add(self):
        self.done += 1
        now = time.monotonic()
        if self.wanted and (now - self.last > 5 or self.done == self.total):
            self.last = now
            left = (now - self.start) / self.done * (self.total - self.done)
            print(f"trial: {self.done} of {self.total} parts, {left:.0f} s left", file=sys.stderr, flush=True)


def check_identity(place, identity):
    """Parts of another program, or of other cases, do not belong in one table."""
    path = os.path.join(place.workdir, "trial.json")
    if not os.path.exists(path):
        write_json(path, identity)
    elif (there := read_json(path)) != identity:
        different = next(key for key in identity if there.get(key) != identity[key])
        raise TrialError(f"{place.workdir}: made with {different} {there.get(different)!r}, not "
                         f"{identity[different]!r}; choose another --workdir")


def run(place, subjects, jobs, seconds):
    """Runs the parts that are missing; returns whether all are there. seconds: start no part after this time."""
    missing = needed_parts(place, subjects)
    end = time.monotonic() + seconds if seconds else float("inf")
    progress = Progress(len(missing), bool(missing))
    with concurrent.futures.ProcessPoolExecutor(jobs) as pool:
        waiting, running = iter(missing), set()
        while True:
            while len(running) < jobs and time.monotonic() < end and (part := next(waiting, None)):
                running.add(pool.submit(run_part, place, *part))
            if not running:
                break
            done, running = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
            try:
                for part in done:
                    part.result()
                    progress.add()
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
    return progress.done == len(missing)


def rows_of(place, subject):
    return [row for first, _ in subject.parts() for row in read_json(place.part_file(subject, first))]
