"""What fusesmith's ops make of ATen's: LOWERINGS has one function for each operator, by its name.

Each takes a Lowering (trace.py) and the arguments of the call by name, and returns the value of the result, or a tuple
of them, in which None is a result without counterpart. What the operators compute, also of NaN and infinities, is that
of PyTorch; `Error` says why a call has no counterpart.
"""

from . import (  # noqa: F401 (they fill the table)
    cells,
    gradients,
    indexed,
    lists,
    losses,
    moves,
    pointwise,
    sums,
    windows,
)
from .table import LOWERINGS, Given

__all__ = ["LOWERINGS", "Given"]
