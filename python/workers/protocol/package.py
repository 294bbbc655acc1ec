"""Finds the folder of the workers, and the Python package fusesmith, whose graphs and lowerings some of them use.

The package lies beside the workers in the source tree, in `python` beside them where `cmake --install` puts both, and
around them in a wheel.
"""

import os
import sys

WORKERS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BESIDE = os.path.dirname(WORKERS)
for folder in (BESIDE, os.path.join(BESIDE, "python"), os.path.dirname(BESIDE)):
    if os.path.isfile(os.path.join(folder, "fusesmith", "graph.py")):
        sys.path.insert(0, folder)
        break


def without(error):
    """What to say of an ImportError."""
    return (f"{sys.executable} has no {error.name}: set FUSESMITH_PYTHON to a Python that has it; "
            f"{os.path.join(WORKERS, 'install')} DIR makes one")
