#!/usr/bin/env python3
"""A Python function as a worker: function_worker.py FILE.py:FUNCTION

The function gets the graph's inputs and then its states as positional arguments. It returns the graph's outputs and
then the next states, each value once: one tensor, or a tuple or list of them. Tensors are torch's where torch can be
imported, else numpy arrays; an attribute of the function decides otherwise:

    def f(x, weight): ...
    f.takes = "numpy"      # or "torch"

numpy's bf16 is ml_dtypes.bfloat16. The function gets fresh copies, which it must not change.
"""

import importlib.util
import os
import sys

import numpy as np
from protocol import Executor, Unavailable, Unsupported, opaque_plan, redirect_standard_output, serve

replies = redirect_standard_output()


def load_function(text):
    path, colon, name = text.rpartition(":")
    if not colon or not os.path.isfile(path):
        raise Unavailable(f'expected FILE.py:FUNCTION with a file that exists, got "{text}"')
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    spec = importlib.util.spec_from_file_location("judged", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["judged"] = module  # dataclasses and pickle look a module up by its name
    spec.loader.exec_module(module)
    function = getattr(module, name, None)
    if not callable(function):
        raise Unavailable(f"{path} has no function {name}")
    return function


def default_tensors():
    return "torch" if importlib.util.find_spec("torch") else "numpy"


class TorchTensors:
    def __init__(self):
        import torch

        self.torch = torch

    def versions(self):
        return {"torch": self.torch.__version__}

    def make(self, array, kind):
        bits = self.torch.from_numpy(array)
        return bits.view(self.torch.bfloat16) if kind.dtype == "bf16" else bits

    def read(self, tensor):
        if not isinstance(tensor, self.torch.Tensor):
            raise TypeError(f"the function returned {type(tensor).__name__}, expected torch.Tensor")
        tensor = tensor.detach().cpu().contiguous()
        return (tensor.view(self.torch.uint16) if tensor.dtype == self.torch.bfloat16 else tensor).numpy()


class NumpyTensors:
    def __init__(self):
        try:
            import ml_dtypes

            self.bf16 = np.dtype(ml_dtypes.bfloat16)
        except ImportError:
            self.bf16 = None

    def versions(self):
        return {}

    def make(self, array, kind):
        if kind.dtype == "bf16" and self.bf16 is None:
            raise Unsupported("bf16 in numpy arrays needs the package ml_dtypes")
        return array.view(self.bf16) if kind.dtype == "bf16" else array

    def read(self, array):
        array = np.asarray(array)
        return array.view(np.uint16) if array.dtype == self.bf16 else array


class FunctionExecutor(Executor):
    def __init__(self, text):
        super().__init__()
        self.name = f"python:{text}"
        self.function = load_function(text)
        takes = getattr(self.function, "takes", default_tensors())
        kinds = {"torch": TorchTensors, "numpy": NumpyTensors}
        if takes not in kinds:
            raise Unavailable(f'{text} takes "{takes}", expected "torch" or "numpy"')
        self.tensors = kinds[takes]()
        self.graph = None

    def versions(self):
        return {**super().versions(), **self.tensors.versions()}

    def compile(self, graph):
        self.graph = graph
        for name in graph.inputs:
            self.tensors.make(np.zeros(graph.types[name].shape, graph.types[name].storage), graph.types[name])
        return opaque_plan({})

    def run(self, loaded):
        inputs = [self.tensors.make(loaded[name], self.graph.types[name]) for name in self.graph.inputs]
        made = self.function(*inputs)
        made = list(made) if isinstance(made, (tuple, list)) else [made]
        names = self.graph.results()
        if len(made) != len(names):
            raise ValueError(f"the function returned {len(made)} tensors, expected {len(names)}: {', '.join(names)}")
        return {name: self.tensors.read(tensor) for name, tensor in zip(names, made, strict=True)}


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    serve(lambda: FunctionExecutor(sys.argv[1]), replies)


if __name__ == "__main__":
    main()
