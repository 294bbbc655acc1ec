"""Judges a function against a reference function of torch, and a solution of a KernelBench problem."""

import contextlib
import copy
import functools
import importlib.util
import inspect
import json
import os
import shutil
import sys
import tempfile

from .cases import GraphSubject
from .errors import Error, JudgedAtImport
from .graph import Graph, concrete
from .judge import judge
from .kernel import Kernel
from .structure import follows_sizes
from .trace import PLAIN, trace

TRACED = 40  # graphs of different sizes: each is traced again, which takes longer than to judge it


class TracedSubject(GraphSubject):
    """A reference function; each case is its trace at the sizes of that case."""

    most_graphs = TRACED

    def __init__(self, reference, types, name, fills=None):
        graph = Graph()
        for given, text in types.items():
            graph.input(given, text, (fills or {}).get(given))
        super().__init__([graph], name)
        self.traced = functools.cache(lambda texts: trace(reference, list(types), texts, fills or {}))

    def concrete(self, graph, sizes, dtype):
        traced = self.traced(tuple(concrete(given["type"], sizes, dtype) for given in graph.inputs))
        return copy.deepcopy(traced)  # the case gives it data and layouts of its own

    def depends_on_sizes(self, case):
        with open(case.path, encoding="utf-8") as file:
            inputs = json.load(file)["graph"]["inputs"][:len(self.graphs[0].inputs)]
        return not follows_sizes(self.traced, tuple(given["type"] for given in inputs))


def named_types(reference, inputs):
    """Input name -> type; the names are those of the reference's parameters where `inputs` is a list."""
    if isinstance(inputs, dict):
        return inputs
    if isinstance(inputs, str) or not all(isinstance(text, str) for text in inputs):
        raise Error(f'inputs is a list of types such as ["T[N,D]", "T[D]"], got {inputs!r}')
    try:
        names = [p.name for p in inspect.signature(reference).parameters.values()
                 if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    except (TypeError, ValueError):
        names = []
    names += [f"x{i}" for i in range(len(names), len(inputs))]
    return dict(zip(names, inputs, strict=False))


def judge_against(fn, reference, inputs, **arguments):
    """Judges `fn` as an implementation of `reference`, a function of torch tensors whose calls are ops of fusesmith.

    inputs: types of the inputs, such as ["T[N,D]", "T[D]"], or {"x": "T[N,D]"}; sizes that are names are drawn.
    Other arguments are those of `judge`. `reference` is traced, not run: its roundings and its order of operations do
    not matter more than those of `fn`.
    """
    if not callable(reference):
        raise Error(f"the reference is a function of torch tensors, got {type(reference).__name__}")
    name = getattr(reference, "__name__", type(reference).__name__)
    return judge(fn, TracedSubject(reference, named_types(reference, inputs), name), **arguments)


def loaded_file(path, *names):
    """The module of a file, which has to define these names. What the file itself judges is defined by then."""
    if not os.path.isfile(path):
        raise Error(f"{path}: no such file")
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    module_name = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(module_name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    with contextlib.suppress(JudgedAtImport):
        spec.loader.exec_module(module)
    for name in names:
        if not hasattr(module, name):
            raise Error(f"{path} does not define {name}")
    return module


def type_of(tensor):
    """The type of a tensor of the problem; f32 ones get the dtype that is drawn."""
    names = {torch_name: name for name, torch_name in PLAIN.items()}
    name = names.get(str(tensor.dtype).removeprefix("torch."))
    if name is None:
        raise Error(f"an input of {tensor.dtype} has no counterpart")
    return f"{'T' if name == 'f32' else name}[{','.join(map(str, tensor.shape))}]"


def fill_of(tensor):
    """Data like these parameters."""
    mean, stddev = tensor.float().mean().item(), tensor.float().std(correction=0).item()
    if stddev == 0:
        return {"constant": {"value": mean}}
    return {"normal": {"mean": mean, "stddev": stddev}}


KERNEL_FILE = '''"""{solution} as a function of its inputs and parameters; made by fusesmith.kernelbench."""
from fusesmith.adapters import solution_kernel

kernel = solution_kernel({problem!r}, {solution!r}, {parameters!r})
'''


def kernelbench(problem, solution, get_inputs=None, dtypes=("f32",), runs=20, keep=None, **arguments):
    """Judges `ModelNew` of the file `solution` by `Model` of the file `problem`.

    Both get the same parameters, which are drawn like those that Model initialises, so they have to have the same
    names. `get_inputs`: a function that returns smaller inputs than the problem's own. Other arguments are those of
    `judge`.
    """
    problem, solution = os.path.abspath(problem), os.path.abspath(solution)
    module = loaded_file(problem, "Model", "get_inputs", "get_init_inputs")
    if not os.path.isfile(solution):
        raise Error(f"{solution}: no such file")
    from torch.func import functional_call

    model = module.Model(*module.get_init_inputs()).eval()
    tensors = (get_inputs or module.get_inputs)()
    types = {f"x{i}": type_of(tensor) for i, tensor in enumerate(tensors)}
    state = {name: tensor for name, tensor in model.state_dict().items() if tensor.is_floating_point()}
    fills = {name: fill_of(tensor) for name, tensor in state.items()}
    types |= {name: type_of(tensor) for name, tensor in state.items()}

    def reference(*values):
        inputs, parameters = values[:len(tensors)], values[len(tensors):]
        return functional_call(model, dict(zip(state, parameters, strict=True)), inputs)

    subject = TracedSubject(reference, types, os.path.basename(problem), fills)

    def judged(folder):
        path = os.path.join(folder, "kernel.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(KERNEL_FILE.format(problem=problem, solution=solution, parameters=list(state)))
        return judge(Kernel(path, "kernel"), subject, dtypes, runs=runs, keep=folder, **arguments)

    return in_folder(keep, "fusesmith-kernelbench-", judged)


def in_folder(keep, prefix, judged):
    """The Result of judged(folder), which writes a kernel to the folder: `keep`, or a new one that is removed if no
    failing case is kept in it."""
    folder = os.path.abspath(keep or tempfile.mkdtemp(prefix=prefix))
    os.makedirs(folder, exist_ok=True)
    result = None
    try:
        result = judged(folder)
        return result
    finally:
        if not keep and (result is None or not result.case):
            shutil.rmtree(folder, ignore_errors=True)


def solution_kernel(problem, solution, parameters):
    """ModelNew as a function; runs in the worker."""
    import torch

    init_inputs = loaded_file(problem, "get_init_inputs").get_init_inputs()
    torch.manual_seed(0)
    model = loaded_file(solution, "ModelNew").ModelNew(*init_inputs).eval()
    own = [name for name, tensor in model.state_dict().items() if tensor.is_floating_point()]
    if own != parameters and set(own) != set(parameters):
        raise Error(f"ModelNew has the parameters {own}, expected those of Model: {parameters}")

    def kernel(*values):
        inputs, state = values[:len(values) - len(parameters)], values[len(values) - len(parameters):]
        model.to(inputs[0].dtype)
        model.load_state_dict(dict(zip(parameters, state, strict=True)), strict=False)
        with torch.no_grad():
            return model(*inputs)

    kernel.takes = "torch"
    return kernel
