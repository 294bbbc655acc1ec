#!/usr/bin/env python3
"""A Python function as a worker: function_worker.py FILE.py:FUNCTION

The function gets the graph's inputs and then its states as positional arguments. It returns the graph's outputs and
then the next states, each value once: one tensor, or a tuple or list of them. Tensors are those of the library that the
file imports: torch, else jax, else numpy; torch's if it imports none of them. An attribute of the function decides
otherwise:

    def f(x, weight): ...
    f.takes = "numpy"      # or "torch", "jax"

A function with fewer parameters than the graph has inputs gets those that its parameters name: a compiled model, which
has its weights itself, takes `input_ids` alone.

numpy's bf16 is ml_dtypes.bfloat16, and so are its quantized dtypes; torch has f8e4m3 and int8 with the same numbers in
place of f4e2m1 and s4. The function gets fresh copies, which it must not change. FUNCTION may be a dotted
name.

If it has the attribute `why_not`, that is called with each graph, and returns why the function has nothing
for it, or None.

What the function may do that the graph does not say: leave out any implicit rounding, and the ARITHMETIC below;
attributes change it:

    f.arithmetic = {"variance": "moments"}      # see docs/workers.md
    f.attention = "online"                      # sdpa as flash attention computes it
    f.lowerings = ["rms_norm.weight_after"]     # Llama's norm, which rounds before the weight
    f.roundings = "products"                    # inner values are rounded for products alone
    f.rounded_inside = {"softmax": 1}           # further keys of a contract, as arithmetic_of

Inputs lie in memory as the case says; what is between their elements is NaN, -1 or true. A result that the next call
changes is wrong. If FUSESMITH_REPEAT is a number, the first call for each graph is repeated so often, for
FUSESMITH_REPEAT_SECONDS at most, and each repetition has to give the same bits; not of a function whose contract has
`order_varies`, whose runs are judged one by one. With FUSESMITH_REPEAT_FROM, so many graphs come before.

If FUSESMITH_PROGRESS names a file, a `c` is added to it for each graph, an `r` where a call
begins, and an `e` where it ends. If FUSESMITH_FUNCTION has the identity of a function (fusesmith/identity.py), another
function of that name is refused.
"""

import importlib.util
import inspect
import os
import sys
import time

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "protocol"))

import package  # noqa: F401
from fusesmith import identity
from fusesmith.kernel import default_tensors
from protocol import (
    QUANTIZED,
    Executor,
    Unavailable,
    Unsupported,
    WrongResult,
    np,
    opaque_plan,
    redirect_standard_output,
    serve,
)

# Functions with errors of at most 4 units of 2^-24, as libraries and GPU compilers have them, quotients included, and
# any mean and any variance that does not cancel.
ARITHMETIC = {
    **dict.fromkeys(("exp", "erf", "tanh", "log", "sqrt", "rsqrt", "div"), 4),
    "variance": "two_pass_or_welford",
    "means_of_quotients": True,
}

replies = redirect_standard_output()


def load_function(text):
    path, colon, name = text.rpartition(":")
    if not colon or not os.path.isfile(path):
        raise Unavailable(f'expected FILE.py:FUNCTION with a file that exists, got "{text}"')
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    sys.argv = [path]  # ours mean nothing to a script
    spec = importlib.util.spec_from_file_location("judged", path)
    module = importlib.util.module_from_spec(spec)
    judges = False
    os.environ["FUSESMITH_JUDGING"] = "1"  # ends the import where the file calls fusesmith.judge
    sys.modules["judged"] = module  # dataclasses and pickle look a module up by its name
    try:
        spec.loader.exec_module(module)
    except ModuleNotFoundError as missing:
        raise Unavailable(f"{path} imports {missing.name}, which {sys.executable} does not find: set FUSESMITH_PYTHON "
                          "to a Python that has it, or PYTHONPATH to the folder where it is") from missing
    except Exception as stopped:
        if type(stopped).__name__ != "JudgedAtImport":  # the file itself calls fusesmith.judge: what it judges is there
            raise
        judges = True
    function = module
    for part in name.split("."):
        function = getattr(function, part, None)
    if not callable(function):
        end = ' above its first call of fusesmith.judge: put calls under if __name__ == "__main__"' if judges else ""
        raise Unavailable(f"{path} has no function {name}{end}")
    wanted = os.environ.get(identity.VARIABLE)
    if wanted and not identity.is_identity_of(wanted, function):
        raise Unavailable(f"{path}: {name} is another object than the one that is to be judged: bind each kernel to a "
                          "name of its own at top level")
    return function, default_tensors(module)


def wanted_inputs(function, names):
    """The inputs of the graph that a function takes, in the order of its parameters: all, or those that it names."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # functions of C
        return names
    by_place = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    takes_any = any(p.kind == p.VAR_POSITIONAL for p in parameters)
    return by_place if not takes_any and len(by_place) < len(names) and set(by_place) <= set(names) else names


def note_progress(byte):
    if os.environ.get("FUSESMITH_PROGRESS"):
        with open(os.environ["FUSESMITH_PROGRESS"], "ab") as progress:
            progress.write(byte)


REPEAT_SECONDS = 2  # where FUSESMITH_REPEAT_SECONDS says nothing else


def stored(array, layout):
    """The array in memory of its own, as the layout says."""
    size = array.dtype.itemsize
    byte = 1 if array.dtype == np.bool_ else 255
    memory = np.full((layout["offset"] + layout["extent"]) * size + 1024, byte, dtype=np.uint8)
    beyond = layout["align"] if layout["align"] < 256 else 0
    start = -memory.ctypes.data % 512 + beyond + layout["offset"] * size
    strides = [stride * size for stride in layout["strides"]]
    view = np.ndarray(array.shape, array.dtype, memory, start, strides)
    view[...] = array
    return view


class TorchTensors:
    def __init__(self):
        import torch
        import torch_tensors

        self.torch, self.tensors = torch, torch_tensors

    def versions(self):
        return {"torch": self.torch.__version__}

    def held(self, array, kind):
        return self.tensors.held(array, kind.dtype)

    def bits(self, array, kind):
        return self.tensors.codes(array, kind.dtype)

    def make(self, array, kind):
        return self.tensors.from_array(array, kind.dtype)

    def share_memory(self, a, b):
        return (isinstance(a, self.torch.Tensor) and a.device == b.device
                and a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr())

    def read(self, tensor, kind):
        if not isinstance(tensor, self.torch.Tensor):
            raise WrongResult(f"the function returned {type(tensor).__name__}, expected torch.Tensor")
        return self.tensors.to_array(tensor, kind.dtype, "the function")


class NumpyTensors:
    def __init__(self):
        try:
            import numpy_dtypes

            self.dtypes, self.to_bits = numpy_dtypes.DTYPES, numpy_dtypes.to_bits
        except ImportError:
            self.dtypes, self.to_bits = {}, lambda array: array

    def versions(self):
        return {}

    def held(self, array, kind):
        """The array of the protocol as what `make` gives a dtype."""
        return array

    def bits(self, array, kind):
        """The array of the protocol, of one of `held`."""
        return array

    def make(self, array, kind):
        if kind.dtype == "bf16" or (kind.dtype in QUANTIZED and kind.dtype != "s8"):
            if kind.dtype not in self.dtypes:
                raise Unsupported(f"{kind.dtype} in numpy arrays needs the package ml_dtypes")
            return array.view(self.dtypes[kind.dtype])
        return array

    def share_memory(self, a, b):
        return isinstance(a, np.ndarray) and np.may_share_memory(a, b)

    def read(self, array, kind):
        got = type(array).__name__
        array = np.asarray(array)
        if array.dtype == object:
            raise WrongResult(f"the function returned {got}, expected an array")
        if array.dtype in (np.uint16, np.uint8):  # would look like the bits of another dtype
            raise WrongResult(f"the function returned {array.dtype}, which is the dtype of no result")
        if array.dtype not in self.dtypes.values():
            return array.astype(array.dtype.newbyteorder("="), copy=False)
        if array.dtype != self.dtypes.get(kind.dtype):
            expected = self.dtypes.get(kind.dtype, kind.storage)
            raise WrongResult(f"the function returned {array.dtype}, expected {expected}")
        return self.to_bits(array)


class JaxTensors(NumpyTensors):
    """Arrays on jax's default device, which nothing can change."""

    def __init__(self):
        super().__init__()
        import jax

        self.jax = jax

    def versions(self):
        return {"jax": self.jax.__version__}

    def make(self, array, kind):
        return self.jax.numpy.asarray(super().make(array, kind))

    def share_memory(self, a, b):
        return True


# Attributes of a function that are keys of its contract (docs/workers.md), beside `arithmetic`.
CONTRACT_KEYS = ("arithmetic_of", "attention", "lowerings", "rounded_inside", "roundings")
TENSORS = {"torch": TorchTensors, "numpy": NumpyTensors, "jax": JaxTensors}


class FunctionExecutor(Executor):
    def __init__(self, text):
        super().__init__()
        self.name = f"python:{text}"
        self.who = text.rpartition(":")[2]
        self.function, tensors = load_function(text)
        takes = getattr(self.function, "takes", tensors)
        if takes not in TENSORS:
            raise Unavailable(f'{text} takes "{takes}", expected one of {", ".join(TENSORS)}')
        self.tensors = TENSORS[takes]()
        self.graph = None
        self.inputs = []  # of the graph, that the function gets
        self.earlier = []  # (name, what the last call returned, its bits then)
        self.repetitions = 0  # that are due
        self.compiled = 0  # graphs

    def versions(self):
        return {**super().versions(), **self.tensors.versions()}

    def compile(self, graph):
        self.graph = graph
        self.inputs = wanted_inputs(self.function, list(graph.inputs))
        self.earlier = []
        self.compiled += 1
        is_due = self.compiled > int(os.environ.get("FUSESMITH_REPEAT_FROM") or 0)
        is_repeated = is_due and not order_varies(self.function)
        self.repetitions = int(os.environ.get("FUSESMITH_REPEAT") or 0) if is_repeated else 0
        note_progress(b"c")
        for name in graph.inputs:
            zeros = np.zeros(graph.types[name].shape, graph.types[name].storage)
            self.tensors.make(self.tensors.held(zeros, graph.types[name]), graph.types[name])
        why = getattr(self.function, "why_not", None)
        if why and (text := why(graph)):
            raise Unsupported(text)
        more = {key: getattr(self.function, key) for key in CONTRACT_KEYS if hasattr(self.function, key)}
        return opaque_plan({**ARITHMETIC, **getattr(self.function, "arithmetic", {})}, **more)

    def load(self, arrays, same_buffers):
        types = self.graph.types
        arrays = {name: self.tensors.held(array, types[name]) for name, array in arrays.items()}
        loaded = super().load(arrays, same_buffers)
        return {name: stored(array, self.graph.layouts[name]) if name in self.graph.layouts else array
                for name, array in loaded.items()}

    def run(self, loaded):
        results = self.call(loaded)
        self.check_earlier()
        bits = {name: np.array(self.read(name, tensor), order="C") for name, tensor in results.items()}
        inputs = self.made_inputs(loaded)
        self.earlier = [(name, tensor, bits[name]) for name, tensor in results.items()
                        if not any(self.tensors.share_memory(tensor, given) for given in inputs)]
        self.repeat(loaded, bits)
        return bits

    def read(self, name, tensor):
        return self.tensors.read(tensor, self.graph.types[name])

    def read_back(self, loaded):
        return {name: self.tensors.bits(array, self.graph.types[name]) for name, array in loaded.items()}

    def made_inputs(self, loaded):
        return [self.tensors.make(loaded[name], self.graph.types[name]) for name in self.inputs]

    def call(self, loaded):
        """The tensors that the function returns, by name."""
        inputs = self.made_inputs(loaded)
        note_progress(b"r")
        try:
            made = self.function(*inputs)
        finally:
            note_progress(b"e")
        made = list(made) if isinstance(made, (tuple, list)) else [made]
        names = self.graph.results()
        if len(made) != len(names):
            raise WrongResult(f"the function returned {len(made)} tensors, expected {len(names)}: {', '.join(names)}")
        return dict(zip(names, made, strict=True))

    def check_earlier(self):
        for name, tensor, bits in self.earlier:
            if not same_bits(self.read(name, tensor), bits):
                raise WrongResult(f"a call of {self.who} changed the result {name} of the call before: it returns "
                                  "memory that it uses again")

    def repeat(self, loaded, bits):
        due, self.repetitions = self.repetitions, 0
        begun, most = time.monotonic(), float(os.environ.get("FUSESMITH_REPEAT_SECONDS") or REPEAT_SECONDS)
        for count in range(2, due + 1):
            for name, tensor in self.call(loaded).items():
                again = self.read(name, tensor)
                if not same_bits(again, bits[name]):
                    raise WrongResult(f"call {count} of {self.who} on the same inputs gave other bits: "
                                      f"{difference_text(name, again, bits[name])}")
            if time.monotonic() - begun > most:
                return


def order_varies(function):
    """Whether its contract says that sums are added in another order in each call, of all ops or of one."""
    of_ops = getattr(function, "arithmetic_of", {})
    return any(isinstance(one, dict) and one.get("order_varies")
               for one in (getattr(function, "arithmetic", {}), *(of_ops.values() if isinstance(of_ops, dict) else ())))


def same_bits(a, b):
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


def difference_text(name, now, before):
    if now.shape != before.shape or now.dtype != before.dtype:
        return f"{name} has another type"
    now, before = (np.ascontiguousarray(array).reshape(-1).view(f"u{before.dtype.itemsize}") for array in (now, before))
    at = int(np.flatnonzero(now != before)[0])
    return f"the bits of {name}[{at}] are {int(now[at]):#x}, and {int(before[at]):#x} before"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    serve(lambda: FunctionExecutor(sys.argv[1]), replies)


if __name__ == "__main__":
    main()
