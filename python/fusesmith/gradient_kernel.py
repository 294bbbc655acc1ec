"""A differentiable function as a kernel: of its inputs and of gradients of its results, which returns gradients.

The worker loads it from a file that `judge_backward` writes; the lines that a report shows need torch and the user's
file alone.
"""

import inspect
import json
import os
import re
import sys
from dataclasses import dataclass, field

from .adapters import loaded_file
from .errors import Error
from .kernel import IN_A_FILE, Kernel, arguments_of, default_tensors, find_kernel

FILE = '''"""{shown} as a function that returns its gradients; made by fusesmith.judge_backward."""
from fusesmith.gradient_kernel import load_gradients

{name} = load_gradients({spec!r})
'''
KEPT = ("takes", "arithmetic", "arithmetic_of", "attention", "lowerings", "rounded_inside", "roundings")


@dataclass
class Spec:
    """What is differentiated: (file, dotted name) of a function and, if it is no part of that, of its backward."""

    forward: tuple | None
    backward: tuple | None
    required: int | None
    most: int | None
    longs: list = field(default_factory=list)  # inputs that are int64

    @classmethod
    def of(cls, fn):
        if isinstance(fn, (tuple, list)):
            if len(fn) != 2 or fn[1] is None:
                raise Error("a pair is (forward, backward), of which forward may be None")
            forward, backward = (one and find_kernel(one) for one in fn)
            counts = (forward.required, forward.most) if forward else (None, None)
            return cls(forward and (forward.path, forward.name), (backward.path, backward.name), *counts)
        if isinstance(fn, str) or not is_function_class(owner := getattr(fn, "__self__", fn)):
            found = find_kernel(fn)
            return cls((found.path, found.name), None, found.required, found.most)
        found = find_kernel(owner)
        taken = arguments_of(owner.forward)
        if not has_own_setup(owner):  # the first argument is ctx
            taken = tuple(count and count - 1 for count in taken[:2])
        return cls((found.path, f"{found.name}.apply"), None, *taken[:2])

    @property
    def name(self):
        """For messages."""
        return (self.forward or self.backward)[1]

    @property
    def shown(self):
        parts = [f"{os.path.relpath(path)}:{name}" for path, name in filter(None, (self.forward, self.backward))]
        return " with ".join(parts)


def is_function_class(value):
    torch = sys.modules.get("torch")
    return torch is not None and inspect.isclass(value) and issubclass(value, torch.autograd.Function)


def has_own_setup(owner):
    import torch

    return owner.setup_context is not torch.autograd.Function.setup_context


@dataclass(frozen=True)
class GradientKernel(Kernel):
    """`shown`: what the user gave. `lines`: a function that does the same with torch alone."""

    shown: str = ""
    lines: str = ""
    own_folders: tuple = ()

    @property
    def note(self):
        """The file that says which of the kernel's graphs are those of the reference."""
        return self.path.removesuffix(".py") + ".json"

    @property
    def folders(self):
        return tuple(dict.fromkeys((*self.own_folders, *super().folders)))

    @property
    def text(self):
        return self.shown

    def rewritten(self, snippet):
        module = os.path.splitext(os.path.basename(self.path))[0]
        snippet = snippet.replace("import torch\n", "", 1) if "import torch\n" in self.lines else snippet
        return re.sub(rf"^from {re.escape(module)} import .*$", lambda _: self.lines, snippet, count=1,
                      flags=re.MULTILINE)


def gradient_kernel(spec, graphs, joint, forward, folder):
    """Writes the kernel's file to `folder`."""
    names = [given["name"] for given in max((graph.inputs for graph in graphs), key=len)]
    base = spec.name.removesuffix(".apply").rpartition(".")[2]
    name = f"{base}_gradients"
    for path, _ in filter(None, (spec.forward, spec.backward)):
        if not os.path.isfile(path):
            raise Error(f"{path}: no such file: {IN_A_FILE}")
    given = {"forward": spec.forward, "backward": spec.backward, "names": names, "wanted": list(joint.wanted),
             "results": list(joint.results), "with_results": forward, "longs": spec.longs,
             "ignored": {key: role.ignored for key, role in joint.roles.items() if role.ignored is not None}}
    path = os.path.join(os.path.abspath(folder), f"{name}.py")
    given["note"] = path.removesuffix(".py") + ".json"
    with open(path, "w", encoding="utf-8") as file:
        file.write(FILE.format(shown=spec.shown, name=name, spec=given))
    folders = tuple(dict.fromkeys(os.path.dirname(path) for path, _ in filter(None, (spec.forward, spec.backward))))
    return GradientKernel(path, name, shown=spec.shown, own_folders=folders,
                          lines=lines_of(name, given, list(joint.gradients)))


# --- the lines of a report

def imported(path, name):
    return f"from {os.path.splitext(os.path.basename(path))[0]} import {name.partition('.')[0]}"


def call_of(found, arguments):
    return f"{found[1]}({', '.join(arguments)})"


def lines_of(name, given, gradients):
    """A function of this name with the call that a reader would write."""
    names, wanted = given["names"], given["wanted"]
    head = list(dict.fromkeys(["import torch", *(imported(*given[key]) for key in ("forward", "backward") if
                                                 given[key])]))
    lines = ["", "", f"def {name}({', '.join([*names, *gradients])}):"]
    for key in [key for key in names if key in given["longs"] or key in given["ignored"]]:
        text = f"{key}.long()" if key in given["longs"] else key
        if key in given["ignored"]:
            text = f"torch.where({key} == 0, {given['ignored'][key]}, {text} - 1)"
        lines.append(f"    {key} = {text}")
    results = ", ".join(given["results"])
    if given["backward"]:
        if given["with_results"]:
            lines.append(f"    {results} = {call_of(given['forward'], names)}")
        lines.append(f"    gradients = {call_of(given['backward'], [*gradients, *names])}")
        made = "gradients if isinstance(gradients, (tuple, list)) else (gradients,)"
        lines.append(f"    return {results}, *({made})" if given["with_results"] else "    return gradients")
    else:
        lines.append(f"    {', '.join(wanted)} = (x.detach().requires_grad_() for x in ({', '.join(wanted)}))"
                     if len(wanted) > 1 else f"    {wanted[0]} = {wanted[0]}.detach().requires_grad_()")
        lines.append(f"    {results} = {call_of(given['forward'], names)}")
        call = f"torch.autograd.grad([{results}], [{', '.join(wanted)}], [{', '.join(gradients)}], allow_unused=True)"
        lines.append(f"    return {results}, *{call}" if given["with_results"] else f"    return {call}")
    return "\n".join([*head, *lines])


# --- in the worker

def function_of(modules, found):
    """The function, or the `apply` of a class of torch.autograd.Function."""
    path, name = found
    function = modules[path]
    for part in name.split("."):
        function = getattr(function, part, None)
    if function is None:
        raise Error(f"{path} has no {name}: put calls of fusesmith under if __name__ == \"__main__\"")
    return function.apply if is_function_class(function) else function


def wrong(text):
    """An exception that the worker reports as a wrong result, without where it was raised."""
    kind = getattr(sys.modules.get("protocol"), "WrongResult", Error)
    return kind(text)


def type_text(tensor):
    return f"{str(tensor.dtype).removeprefix('torch.')}[{','.join(map(str, tensor.shape))}]"


def load_gradients(given):
    """The kernel that judge_backward judges, from what it wrote to the kernel's file."""
    modules = {path: loaded_file(path) for path in {one[0] for one in (given["forward"], given["backward"]) if one}}
    forward, backward = (one and function_of(modules, one) for one in (given["forward"], given["backward"]))
    run = explicit(given, forward, backward) if backward else differentiated(given, forward)
    run.takes = default_tensors(modules[given["backward"][0]]) if backward else "torch"
    run.why_not = lambda graph: why_not(given["note"], graph)
    for function in (forward, backward):
        owner = getattr(function, "__self__", function)
        for key in KEPT:
            if hasattr(owner, key):
                setattr(run, key, getattr(owner, key))
    return run


def why_not(note, graph):
    """Reductions of a case change its sizes: not all graphs that they make are those of the reference."""
    with open(note, encoding="utf-8") as file:
        traces = json.load(file)["traces"]
    shapes = [list(graph.types[name].shape) for name in graph.inputs]
    if traces is None or any(given == shapes and is_same(nodes, graph.nodes) for given, nodes in traces):
        return None
    return "the reference was not traced so"


def is_same(nodes, others):
    return len(nodes) == len(others) and all(
        other.get(key) == value for node, other in zip(nodes, others, strict=True) for key, value in node.items()
        if key != "dtype")


def restored(given, values):
    """Indices as the function takes them."""
    made = []
    for name, value in zip(given["names"], values, strict=False):
        if name in given["longs"]:
            value = value.long() if hasattr(value, "long") else value.astype("int64")
        if name in given["ignored"]:
            shown = value - 1
            shown[value == 0] = given["ignored"][name]
            value = shown
        made.append(value)
    return made


def taken_apart(given, values):
    """The inputs, whose number differs where that of an op's does, and the gradients of the results."""
    count = len(values) - len(given["results"])
    return restored(given, values[:count]), values[count:]


def differentiated(given, function):
    def gradients(*values):
        import torch

        inputs, upstream = taken_apart(given, values)
        wanted = [i for i, name in enumerate(given["names"]) if name in given["wanted"] and i < len(inputs)]
        inputs = [x.detach().requires_grad_() if i in wanted else x for i, x in enumerate(inputs)]
        with torch.enable_grad():
            made = function(*inputs)
        made = list(made) if isinstance(made, (tuple, list)) else [made]
        check_results(given, made, upstream)
        pairs = [(result, dy) for result, dy in zip(made, upstream, strict=True) if result.requires_grad]
        if not pairs:
            raise wrong("no result of the function requires a gradient: autograd does not see what it computes")
        # The function may have moved its inputs to a GPU; autograd moves their gradients back.
        found = torch.autograd.grad([result for result, _ in pairs], [inputs[i] for i in wanted],
                                    [dy.to(result.device) for result, dy in pairs], allow_unused=True)
        for i, gradient in zip(wanted, found, strict=True):
            check_gradient(given["names"][i], gradient, inputs[i])
        results = [result.detach() for result in made] if given["with_results"] else []
        return *results, *found

    return gradients


def check_results(given, made, upstream):
    if len(made) != len(upstream):
        raise wrong(f"the function returned {len(made)} results, expected {len(upstream)}")
    for name, result, dy in zip(given["results"], made, upstream, strict=True):
        if not hasattr(result, "requires_grad"):
            raise wrong(f"the function returned {type(result).__name__} as {name}, expected torch.Tensor")
        if type_text(result) != type_text(dy):
            raise wrong(f"the function returned {type_text(result)} as {name}, expected {type_text(dy)}")


def check_gradient(name, gradient, value):
    expected = type_text(value)
    if gradient is None:
        raise wrong(f"the function returned None as the gradient of {name}, which the reference has")
    if not hasattr(gradient, "shape"):
        raise wrong(f"the gradient of {name} is {type(gradient).__name__}, expected {expected}")
    if type_text(gradient) != expected:
        raise wrong(f"the gradient of {name} is {type_text(gradient)}, expected {expected}")


def explicit(given, forward, backward):
    def gradients(*values):
        inputs, upstream = taken_apart(given, values)
        found = backward(*upstream, *inputs)
        found = list(found) if isinstance(found, (tuple, list)) else [found]
        floats = [(name, value) for name, value in zip(given["names"], inputs, strict=False)
                  if "int" not in str(value.dtype) and "bool" not in str(value.dtype)]
        if len(found) == len(floats):
            found = [(gradient, pair) for gradient, pair in zip(found, floats, strict=True)
                     if pair[0] in given["wanted"]]
        else:
            wanted = [pair for pair in floats if pair[0] in given["wanted"]]
            if len(found) != len(wanted):
                raise wrong(f"backward returned {len(found)} gradients, expected {len(floats)}")
            found = list(zip(found, wanted, strict=True))
        for gradient, (name, value) in found:
            check_gradient(name, gradient, value)
        made = forward(*inputs) if given["with_results"] else ()
        made = list(made) if isinstance(made, (tuple, list)) else [made]
        return *made, *(gradient for gradient, _ in found)

    return gradients
