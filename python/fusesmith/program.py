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
import sysconfig

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


def user_folders():
    """The folders of sys.path that the interpreter does not have by itself: of a script, of pytest, and the like."""
    own = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "scripts")]
    found = [os.path.abspath(path) for path in sys.path if isinstance(path, str) and os.pathsep not in path]
    return [path for path in found if os.path.isdir(path) and not {"site-packages", "dist-packages"} & set(
        path.split(os.sep)) and not any(path == folder or path.startswith(folder + os.sep) for folder in own)]


def additions(folders=()):
    """What the program's environment needs beyond ours, where workers are to import modules of these folders."""
    added = {"FUSESMITH_PYTHON": interpreter()}
    if workers():
        added["FUSESMITH_WORKERS"] = workers()
    package = [] if is_program(PACKAGED) else [os.path.dirname(PACKAGE)]  # the kernel's file imports fusesmith
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    more = [path for path in dict.fromkeys([*package, *folders]) if path not in paths]
    if more:
        added["PYTHONPATH"] = os.pathsep.join([*more, *paths])
    return added


def environment(folders=()):
    return {**os.environ, **additions(folders)}


def shell_command(arguments, folders=()):
    """A line to paste into a shell. Where the package is installed, its console script sets the environment."""
    changed = {name: value for name, value in additions(folders).items() if os.environ.get(name) != value}
    program = [binary()]
    if is_program(PACKAGED) and not os.environ.get("FUSESMITH_BINARY"):
        script = os.path.join(os.path.dirname(sys.executable), "fusesmith")
        program = ["fusesmith"] if shutil.which("fusesmith") == script else [sys.executable, "-m", "fusesmith"]
        changed = {name: value for name, value in changed.items() if name == "PYTHONPATH"}
    settings = [f"{name}={shlex.quote(value)}" for name, value in changed.items()]
    return " ".join([*settings, shlex.join([*program, *arguments])])


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
