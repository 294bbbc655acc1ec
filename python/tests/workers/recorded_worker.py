#!/usr/bin/env python3
"""A worker that answers with results that were computed elsewhere: recorded_worker.py FOLDER [LIBRARY]

FOLDER has a file NAME.npz for each case whose first output is NAME, with the inputs as `in.VALUE` and the results as
`out.VALUE`. To other inputs, such as those of the first run of each graph, it answers with zeros.

Its contract is that of a program which computes in f32 or better, in any order and with functions within 4 units in the
last place of f32, and rounds its results once; or that of a LIBRARY of measured.json.
"""

import os
import sys

import workers  # noqa: F401 (finds the modules of the workers)

# isort: split
import numpy as np
from protocol import Executor, Unsupported, measured_arithmetic, opaque_plan, redirect_standard_output, serve

ARITHMETIC = {"exp": 4, "erf": 4, "tanh": 4, "log": 4, "rsqrt": 4, "variance": "two_pass"}


class RecordedExecutor(Executor):
    name = "recorded"

    def __init__(self, folder, arithmetic):
        super().__init__()
        self.arithmetic = arithmetic
        self.folder, self.graph, self.recorded = folder, None, {}

    def compile(self, graph):
        path = os.path.join(self.folder, f"{graph.outputs[0].replace('/', '_')}.npz")
        if not os.path.isfile(path):
            raise Unsupported(f"no results are recorded for {graph.outputs[0]}")
        self.graph = graph
        with np.load(path) as file:
            self.recorded = dict(file)
        return opaque_plan(self.arithmetic)

    def run(self, loaded):
        asked = all(f"in.{name}" in self.recorded and
                    np.array_equal(self.recorded[f"in.{name}"].reshape(-1).view(np.uint8),
                                   array.reshape(-1).view(np.uint8))
                    for name, array in loaded.items())
        types = self.graph.types
        return {name: self.recorded[f"out.{name}"] if asked else np.zeros(types[name].shape, types[name].storage)
                for name in self.graph.results()}


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    replies = redirect_standard_output()
    arithmetic = {"variance": "welford", **measured_arithmetic(sys.argv[2])} if len(sys.argv) == 3 else ARITHMETIC
    serve(lambda: RecordedExecutor(sys.argv[1], arithmetic), replies)


if __name__ == "__main__":
    main()
