"""A kernel that leaves out a rounding, and a script that judges it whenever it is imported."""

import fusesmith
import numpy as np


def scaled_softmax(x):
    wide = x.astype(np.float32) * np.float32(0.3)
    e = np.exp(wide - wide.max(-1, keepdims=True))
    return (e / e.sum(-1, keepdims=True)).astype(x.dtype)


graph = fusesmith.Graph()
graph.output(graph.softmax(graph.scale(graph.input("x", "T[N,D]"), factor=0.3)))
print(fusesmith.judge(scaled_softmax, graph, runs=20))
