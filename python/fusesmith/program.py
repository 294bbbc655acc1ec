"""Where the program fusesmith, its workers and their interpreter are.

The program: FUSESMITH_BINARY, else the one in this package, else `fusesmith` in PATH. The workers: FUSESMITH_WORKERS,
else those in this package, else those beside it. The interpreter: FUSESMITH_PYTHON, else the one that runs.
"""

import functools
import importlib.util
import json
import os
import shlex
import shutil
import subprocess
import sys

from .errors import Error

PACKAGE = os.path.dirname(os.path.abspath(__file__))
PACKAGED = os.path.join(PACKAGE, "bin", "fusesmith")


def is_program(path):
    return os.path.isfile(path) and os.access(path, os.X_OK)


def starts_python(path):
    """The console script of this package is no program to start: it starts the program."""
    with open(path, "rb") as file:
        return file.read(2) == b"#!"


def binary():
    named = os.environ.get("FUSESMITH_BINARY")
    if named:
        if not is_program(named):
            raise Error(f"FUSESMITH_BINARY={named}: expected a program")
        return named
    if is_program(PACKAGED):
        return PACKAGED
    found = shutil.which("fusesmith")
    if found and not starts_python(found):
        return found
    raise Error("the program fusesmith is missing: set FUSESMITH_BINARY to build/release/fusesmith, or pip install it")


def workers():
    """None where the program has to find them itself."""
    beside = os.path.dirname(PACKAGE)
    folders = [os.path.join(folder, "workers") for folder in (PACKAGE, beside, os.path.dirname(beside))]
    named = os.environ.get("FUSESMITH_WORKERS")
    return named or next((f for f in folders if os.path.isdir(os.path.join(f, "protocol"))), None)


def interpreter():
    return os.environ.get("FUSESMITH_PYTHON") or sys.executable


def check_interpreter():
    """The worker needs numpy; without it every case would be a crash."""
    if interpreter() == sys.executable and importlib.util.find_spec("numpy") is None:
        raise Error("the worker that runs kernels needs numpy: pip install numpy, or set FUSESMITH_PYTHON to a Python "
                    "that has it")


def additions():
    """What the program's environment needs beyond ours."""
    added = {"FUSESMITH_PYTHON": interpreter()}
    if workers():
        added["FUSESMITH_WORKERS"] = workers()
    if not is_program(PACKAGED):  # a source tree, which the kernel's file imports fusesmith from
        paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
        if os.path.dirname(PACKAGE) not in paths:
            added["PYTHONPATH"] = os.pathsep.join([os.path.dirname(PACKAGE), *paths])
    return added


def environment():
    return {**os.environ, **additions()}


def shell_command(arguments):
    """A line to paste into a shell. Where the package is installed, its console script sets the environment."""
    if is_program(PACKAGED) and not os.environ.get("FUSESMITH_BINARY"):
        script = os.path.join(os.path.dirname(sys.executable), "fusesmith")
        in_path = shutil.which("fusesmith") == script
        return shlex.join([*(["fusesmith"] if in_path else [sys.executable, "-m", "fusesmith"]), *arguments])
    changed = {name: value for name, value in additions().items() if os.environ.get(name) != value}
    settings = [f"{name}={shlex.quote(value)}" for name, value in changed.items()]
    return " ".join([*settings, shlex.join([binary(), *arguments])])


@functools.cache
def listed_ops(program):
    """The ops of `fusesmith list ops --json`: name -> description."""
    try:
        listed = subprocess.run([program, "list", "ops", "--json"], capture_output=True, text=True, check=True)
        return {op["name"]: op for op in json.loads(listed.stdout)["ops"]}
    except (OSError, subprocess.CalledProcessError, ValueError, KeyError) as error:
        raise Error(f"{program} list ops --json failed: {error}") from None


def ops():
    return listed_ops(binary())
