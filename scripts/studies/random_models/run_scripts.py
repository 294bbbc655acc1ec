#!/usr/bin/env python3
"""Runs scripts one after the other, each in a fork of this process, which has loaded PyTorch: that takes seconds.

Reads one JSON list a line, [seconds, file of the output, file of the errors, script, arguments...], and answers with a
line: its exit code, or "late" if it took longer.
"""

import contextlib
import io
import json
import os
import runpy
import signal
import sys

import torch


def load_pytorch():
    """Most of its modules only with the first program."""
    program = torch.export.export(torch.nn.ReLU(inplace=True), (torch.ones(1),))
    file = io.BytesIO()
    torch.export.save(program.run_decompositions({}), file)
    torch.export.load(file)


def become(output, errors, script, arguments):
    """Never returns."""
    code = 1
    try:
        for path, descriptor in ((os.devnull, 0), (output, 1), (errors, 2)):
            os.dup2(os.open(path, os.O_RDONLY if descriptor == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
                    descriptor)
        sys.argv[:], sys.path[0] = [script, *arguments], os.path.dirname(script)
        runpy.run_path(script, run_name="__main__")
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else bool(end.code)
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
    finally:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code or 0)


def run(seconds, output, errors, script, *arguments):
    child = os.fork()
    if child == 0:
        signal.alarm(seconds)
        become(output, errors, script, arguments)
    status = os.waitpid(child, 0)[1]
    return "late" if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM else (
        os.waitstatus_to_exitcode(status))


def main():
    load_pytorch()
    for line in sys.stdin:
        print(json.dumps(run(*json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
