"""Finds the Python package fusesmith, whose graphs and lowerings the import and the tests here use.

It lies beside this folder in the source tree and where `cmake --install` puts both, and around it in a wheel.
"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
for folder in (os.path.join(HERE, "..", "python"), os.path.join(HERE, "..", "..")):
    if os.path.isfile(os.path.join(folder, "fusesmith", "graph.py")):
        sys.path.insert(0, os.path.abspath(folder))
        break


def without(error):
    """What to say of an ImportError."""
    return (f"{sys.executable} has no {error.name}: set FUSESMITH_PYTHON to a Python that has it; "
            f"{os.path.join(HERE, 'install')} DIR makes one")
