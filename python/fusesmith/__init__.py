"""Judges kernels written in Python, or called from it, without a tolerance: docs/python.md.

    import fusesmith
    print(fusesmith.judge(my_softmax, "softmax"))

judge.py goes through what `judge` does: arguments.py checks the call, kernel.py finds the function, templates.py and
graph.py make graphs, sizes.py and layouts.py draw sizes, data and layouts, cases.py writes case files, replay.py runs
the program on them, which starts python/workers/function/, and result.py and report.py say what it found. Verdicts are
the program's (oracle/). aten/, vocabulary.py and trace.py, which relate ops to PyTorch, serve import and workers too.
backward.py judges gradients: joint.py traces a reference with its backward pass, gradient_kernel.py calls the function.
structure.py tells whether the graph of a traced reference is the same at other sizes, so that smaller cases mean it.
check.py judges tensors that exist: tensors.py reads them, reference_graphs.py says what was to be computed, and
library.py calls libfusesmith, which judges. score.py calls a kernel and has its results judged so.
training.py writes a step of training as programs that `fusesmith import` reads.
"""

from .adapters import judge_against, kernelbench
from .backward import judge_backward
from .check import Verdict, assert_correct, check, check_each
from .errors import Error
from .graph import Graph
from .judge import judge
from .result import Result
from .score import Score, score
from .training import training_programs

__all__ = ["Error", "Graph", "Result", "Score", "Verdict", "assert_correct", "check", "check_each", "judge",
           "judge_against", "judge_backward", "kernelbench", "score", "training_programs"]
