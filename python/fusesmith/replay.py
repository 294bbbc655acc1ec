"""Runs `fusesmith replay` once over a folder of cases: one worker, which stays warm, judges all of them."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass

from .errors import Error
from .identity import VARIABLE
from .program import binary, environment

DEFAULT_TIMEOUT = 10  # what the program itself has
POLL_SECONDS = 0.05
START_SECONDS = 30  # for the program and the worker to start
CALLS_ALONE = 4  # of the kernel, for a case that is judged alone, before it is minimized
REPEAT_SECONDS = 2
LAST_WORDS = 2  # seconds that the program has to end after it was asked to

SKIPPED = re.compile(r": skipped \d+ other files?$")  # what replay says of a folder, which is no problem of a case


# What judge may require of a function, as policy.metamorphic of a case names it.
INVARIANCES = {"batch_invariant": "batch_invariance", "position_invariant": "position_invariance"}


@dataclass(frozen=True)
class How:
    """What the program is to judge cases with."""

    candidate: str
    baseline: str = "cpu"
    policy: str | None = None
    run_timeout: float = DEFAULT_TIMEOUT
    sample: str = "auto"
    identity: str | None = None  # of the function: the worker refuses another one of its name
    repeat: int = 0  # calls of a Python function, on the inputs of the first call, that have to give the same bits
    repeat_from: int = 0  # after so many cases of one process
    required: tuple = ()  # those of INVARIANCES that are required of the function
    folders: tuple = ()  # where the worker finds the modules that the kernel's file imports
    kept: tuple = ()  # inputs whose data the caller described: smaller cases have it, too
    keeps_sizes: bool = False  # no smaller cases: their graphs would be others

    @property
    def repeat_seconds(self):
        """All calls together are one run for the program."""
        return min(REPEAT_SECONDS, self.run_timeout / 2)

    def arguments(self, path):
        strict = ["--policy=strict"] if self.policy == "strict" else []
        timeout = [f"--run_timeout={self.run_timeout:g}"] if self.run_timeout != DEFAULT_TIMEOUT else []
        sample = [f"--sample={self.sample}"] if self.sample != "auto" else []
        return ["replay", path, f"--baseline={self.baseline}", f"--candidate={self.candidate}", *timeout, *sample,
                *strict]

    def minimize_arguments(self, path):
        kept = [f"--keep_data={','.join(self.kept)}"] if self.kept else []
        sizes = ["--keep_sizes"] if self.keeps_sizes else []
        return ["minimize", *self.arguments(path)[1:], *kept, *sizes]

    def environment(self):
        return {**environment(self.folders), "FUSESMITH_CALLER": str(os.getpid()),
                **({VARIABLE: self.identity} if self.identity else {}),
                **({"FUSESMITH_REPEAT": str(self.repeat), "FUSESMITH_REPEAT_SECONDS": f"{self.repeat_seconds:g}"}
                   if self.repeat else {}),
                **({"FUSESMITH_REPEAT_FROM": str(self.repeat_from)} if self.repeat_from else {})}


class Progress:
    """A line on a terminal. The worker adds a `c` to the file `path` for each case, an `r` where a call of the kernel
    begins, and an `e` where it ends."""

    def __init__(self, path, name, count):
        self.path, self.name, self.count = path, name, count
        self.shows = sys.stderr.isatty()
        self.seen, self.longest = b"", 0.0  # the longest time of a call
        self.started = self.changed = time.monotonic()

    def update(self):
        with contextlib.suppress(FileNotFoundError), open(self.path, "rb") as file:
            seen = file.read()
            if seen != self.seen:
                self.note(seen)

    def note(self, seen):
        now = time.monotonic()
        if self.seen.endswith(b"r"):
            self.longest = max(self.longest, now - self.changed)
        self.seen, self.changed = seen, now
        if self.shows:
            print(f"\r{self.name}: case {seen.count(b'c')} of {self.count}, {now - self.started:.0f} s ", end="",
                  file=sys.stderr, flush=True)

    def close(self):
        if self.shows:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def run(folder, how, count, time_limit):
    """The list `cases` of the program's JSON; why there are fewer than `count`: the time was up, a kernel hung, or the
    program refused some; and how many it refused: none, and not all were run, where it was stopped."""
    scratch = os.path.join(folder, "run")  # its files have no ending .json
    os.makedirs(scratch, exist_ok=True)
    progress = Progress(os.path.join(scratch, "progress"), how.candidate.removeprefix("python:"), count)
    environment_of_run = {**how.environment(), "FUSESMITH_PROGRESS": progress.path}
    command = [binary(), *how.arguments(folder), "--json"]
    with open(os.path.join(scratch, "out"), "w+") as out, open(os.path.join(scratch, "err"), "w+") as err:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=environment_of_run,
                                   start_new_session=True)
        try:
            stopped = watch(process, progress, how.run_timeout, time_limit)
        finally:
            stop(process)
            progress.close()
        for file in (out, err):
            file.seek(0)
        try:
            cases, problem = parsed(out.read(), err.read(), process.returncode)
        except Error:
            if stopped:
                raise Error(f"no case was judged, because {stopped}; run_timeout= and time_limit= allow more") from None
            raise
        return cases, stopped or problem, 0 if stopped else count - len(cases)


def watch(process, progress, run_timeout, time_limit):
    """Returns when the program has ended; asks it to end after the case at hand when the time is up, or after the
    first run that took longer than it may: each further one would cost as much. Returns which, or None. The first case
    has START_SECONDS more to begin, so that one is judged on a busy machine too."""
    deadline, asked = time.monotonic() + time_limit, None
    while process.poll() is None:
        time.sleep(POLL_SECONDS)
        progress.update()
        hung = progress.longest > run_timeout
        is_over = time.monotonic() > deadline + (0 if progress.seen else START_SECONDS)
        if not asked and (hung or is_over):
            process.send_signal(signal.SIGINT)
            asked = f"a run took more than {run_timeout:g} s" if hung else f"{time_limit:g} s were over"
    return asked


def stop(process):
    """After an exception in this process, such as KeyboardInterrupt."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
            process.send_signal(signal.SIGINT)
            process.wait(LAST_WORDS)
        if process.poll() is None:
            process.kill()
            process.wait()


def parsed(out, err, status):
    try:
        cases = json.loads(out)["cases"]
    except (ValueError, KeyError, TypeError):
        cases = []
    lines = [line for line in err.splitlines() if line.strip() and not SKIPPED.search(line)]
    if not cases:
        raise Error(lines[0] if lines else f"fusesmith replay ended with {status} and printed nothing")
    return cases, lines[0] if lines else None


def minimized(path, how, output, seconds):
    """The smallest case that fails like that of `path`, in the file `output`: what `minimize --json` says of it. None
    if the case does not fail when it is judged alone, or if the program had to be ended."""
    command = [binary(), *how.minimize_arguments(path), f"--output={output}", f"--max_seconds={seconds:g}", "--json"]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                               text=True, env=how.environment(), start_new_session=True)
    try:
        out, _ = process.communicate(timeout=2 * seconds + CALLS_ALONE * how.run_timeout)
        reply = json.loads(out)
    except (subprocess.TimeoutExpired, ValueError):
        return None
    finally:
        stop(process)
    return reply if reply.get("reproduced") and os.path.isfile(output) else None


def sentence(path, how):
    """Judges one case alone: (verdict, the program's sentence), or (None, why not)."""
    command = [binary(), *how.arguments(path)]
    ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                           env=how.environment())
    lines = ended.stdout.splitlines()
    if len(lines) < 2 or not lines[0].startswith(f"{path}: "):
        return None, ended.stderr.strip().partition("\n")[0]
    return lines[0].removeprefix(f"{path}: "), lines[1].strip()
