"""Judges kernels written in Python, or called from it, without a tolerance: docs/python.md.

    import fusesmith
    print(fusesmith.judge(my_softmax, "softmax"))
"""

from .adapters import judge_against, kernelbench
from .errors import Error
from .graph import Graph
from .judge import judge
from .result import Result

__all__ = ["Error", "Graph", "Result", "judge", "judge_against", "kernelbench"]
