"""What the tests share: the package of this source tree, the file of kernels, and whether both can run."""

import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

import fusesmith  # noqa: E402
from fusesmith import library, replay, sizes, templates  # noqa: E402
from fusesmith.program import binary, environment, interpreter, ops  # noqa: E402

__all__ = ["HERE", "ErrorLines", "binary", "environment", "fusesmith", "has_module", "interpreter", "kernel", "library",
           "ops", "replay", "sizes", "templates", "why_not"]


def kernel(name, file="kernels.py"):
    return f"{os.path.join(HERE, file)}:{name}"


def has_module(name):
    return subprocess.run([interpreter(), "-c", f"import {name}"], capture_output=True).returncode == 0


def why_not(*modules):
    """Why kernels cannot run here, or None."""
    try:
        binary()
    except fusesmith.Error as error:
        return str(error)
    missing = [name for name in modules if not has_module(name)]
    return f"{interpreter()} has no {missing[0]}: set FUSESMITH_PYTHON" if missing else None


class ErrorLines(unittest.TestCase):
    def check_error(self, expected, function, *arguments, **named):
        """An Error of one line that contains `expected`."""
        with self.assertRaises(fusesmith.Error) as caught:
            function(*arguments, **named)
        text = str(caught.exception)
        self.assertIn(expected, text)
        self.assertNotIn("\n", text)
