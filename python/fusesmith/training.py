"""`training_programs`: a step of training as programs of torch.export, which `fusesmith import` reads.

torch.compile records the step, AOTAutograd derives the gradients, and its partitioner cuts forward from backward. Each
graph is saved with the data that it had: parameters, inputs, saved tensors and gradients of results.
"""

import copy
import os
import re

from .aten import LOWERINGS
from .errors import Error
from .trace import short_name

PARTITIONS = {"min_cut": "min_cut_rematerialization_partition", "default": "default_partition"}
KINDS = ("forward", "backward", "inference")


def training_programs(model, inputs, folder, loss=None, optimizer=None, *, partition="min_cut", decompositions=None):
    """Runs one step on a copy of `model`, and returns the paths of the programs that it wrote to `folder`.

    model           a module, or another function of tensors, on the CPU
    inputs          a tuple of its arguments, or a dict of them by name
    loss            a function of what the model returns; None: the model returns the loss, or has it as `.loss`
    optimizer       a function of a list of parameters, such as `lambda p: torch.optim.AdamW(p, foreach=True)`; its
                    second step is a program, too
    partition       what is computed again in the backward pass: "min_cut" as torch.compile decides, "default" nothing
    decompositions  of operators, by operator; None: PyTorch's into core ATen, of those that no op stands for

    The names are forward-0.pt2, backward-0.pt2 and optimizer-0.pt2. A number above 0 is that of a further graph, where
    torch.compile cannot record the step as one. What was compiled before in this process is compiled again.
    """
    try:
        import torch
    except ImportError as error:
        raise Error(f"training_programs needs torch: {error}") from None
    if partition not in PARTITIONS:
        raise Error(f'partition is one of {", ".join(PARTITIONS)}, got {partition!r}')
    model = copy.deepcopy(model) if isinstance(model, torch.nn.Module) else model
    named = dict(model.named_parameters()) if isinstance(model, torch.nn.Module) else {}
    tensors = [*named.values(), *torch.utils._pytree.tree_leaves(inputs)]
    if any(value.device.type != "cpu" for value in tensors if isinstance(value, torch.Tensor)):
        raise Error("the model and its inputs must be on the CPU")
    os.makedirs(folder, exist_ok=True)
    recorder = Recorder(folder, partition, default_decompositions() if decompositions is None else decompositions)
    recorder.name(named, "parameter")
    recorder.name(dict(getattr(model, "named_buffers", dict)()), "buffer")
    args, kwargs = ((), inputs) if isinstance(inputs, dict) else (tuple(inputs), {})
    recorder.compiled(with_loss(model, loss))(*args, **kwargs).backward()
    if optimizer is not None:
        record_optimizer(recorder, named, optimizer)
    return recorder.paths


def with_loss(model, loss):
    def whole(*args, **kwargs):
        made = model(*args, **kwargs)
        made = loss(made) if loss else getattr(made, "loss", made)
        if not hasattr(made, "backward") or made.numel() != 1:
            raise Error("the model returns no loss, which is one number: give `loss`, a function of its results")
        return made

    return whole


def record_optimizer(recorder, named, optimizer):
    """Of the second step: in the first one, states are zeros."""
    if not named:
        raise Error("an optimizer needs a model with parameters")
    made = optimizer(list(named.values()))
    made.step()
    recorder.kinds = dict.fromkeys(KINDS, "optimizer")
    for name, parameter in named.items():
        states = {f"{name}.{key}": value for key, value in made.state[parameter].items()}
        recorder.name(states, "parameter")
        if parameter.grad is not None:
            recorder.name({f"{name}.grad": parameter.grad}, "input")
    recorder.compiled(made.step)()


def default_decompositions():
    import torch

    core = torch._decomp.core_aten_decompositions()
    return {op: made for op, made in core.items() if short_name(op) not in LOWERINGS}


class Recorder:
    """A backend of torch.compile that saves every graph with the data of its first call, and runs it as it is."""

    def __init__(self, folder, partition, decompositions):
        self.folder, self.partition, self.decompositions = folder, PARTITIONS[partition], decompositions
        self.kinds = dict(zip(KINDS, KINDS, strict=True))
        self.places = {}  # (name, kind) by where a tensor lies
        self.saved, self.paths = {}, []  # names of results by kind and number of a graph

    def name(self, tensors, kind):
        import torch

        self.places.update({place_of(value): (name, kind) for name, value in tensors.items()
                            if isinstance(value, torch.Tensor) and value.numel()})

    def compiled(self, function):
        import torch
        from torch._dynamo.backends.common import aot_autograd
        from torch._functorch import partitioners

        torch.compiler.reset()  # what was compiled before would be run as it is
        made = {f"{short}_compiler": lambda module, _, kind=kind: self.recording(module, kind)
                for short, kind in zip(("fw", "bw", "inference"), KINDS, strict=True)}
        backend = aot_autograd(**made, decompositions=self.decompositions,
                               partition_fn=getattr(partitioners, self.partition))
        return torch.compile(function, backend=backend, dynamic=False)

    def recording(self, module, kind):
        path = self.path_of(module, self.kinds[kind])

        def run(args):
            if path not in self.paths:
                self.paths.append(path)
                self.save(module, path, args)
            return module.forward(*args)

        run._boxed_call = True
        return run

    def path_of(self, module, kind):
        """A backward graph has the number of the forward graph whose tensors it reads."""
        nodes = list(module.graph.nodes)
        read = {node.name for node in nodes if node.op == "placeholder" and not node.name.startswith("tangents")}
        numbers = range(len(self.saved) + 1)
        if kind == "backward":
            numbers = [number for number in numbers if read <= self.saved.get(("forward", number), set())] or numbers
        number = next(number for number in numbers if (kind, number) not in self.saved)
        self.saved[kind, number] = {node.name for node in nodes[-1].args[0] if hasattr(node, "name")}
        return os.path.join(self.folder, f"{kind}-{number}.pt2")

    def save(self, module, path, args):
        import torch

        given = [self.places.get(place_of(value), (None, "input")) if isinstance(value, torch.Tensor) else
                 (None, "input") for value in args]
        torch.export.save(exported(module, [value.detach().clone() for value in args], given), path)


def place_of(tensor):
    return tensor.data_ptr(), tuple(tensor.shape), tuple(tensor.stride()), tensor.dtype


def exported(module, values, given):
    """A program of torch.export. `given`: name and kind by input."""
    import torch
    from torch.export import ExportedProgram, ModuleCallEntry, ModuleCallSignature
    from torch.export.graph_signature import (
        ExportGraphSignature,
        InputKind,
        InputSpec,
        OutputKind,
        OutputSpec,
        TensorArgument,
    )

    kinds = {"parameter": InputKind.PARAMETER, "buffer": InputKind.BUFFER, "input": InputKind.USER_INPUT}
    module = copy.deepcopy(module)
    graph, state, inputs, specs, constants = module.graph, {}, [], [], {}
    placeholders = [node for node in graph.nodes if node.op == "placeholder"]
    for node, value, (name, kind) in zip(placeholders, values, given, strict=True):
        if name:
            rename(graph, node, name if kind == "input" else f"{kind[0]}_{name}")
        if kind == "input":
            inputs.append(value)
        else:
            state[name] = torch.nn.Parameter(value, value.is_floating_point()) if kind == "parameter" else value
        specs.append(InputSpec(kinds[kind], TensorArgument(node.name), None if kind == "input" else name,
                               True if kind == "buffer" else None))
    for name, node in constant_nodes(module):
        constants[name] = getattr(module, name)
        specs.insert(0, InputSpec(InputKind.CONSTANT_TENSOR, TensorArgument(node.name), name))
    for node in graph.nodes:
        plain_origin(node)
    results = only_tensors(graph)
    signature = ExportGraphSignature(specs, [OutputSpec(OutputKind.USER_OUTPUT, TensorArgument(node.name), None)
                                             for node in results])
    specs = [torch.utils._pytree.tree_flatten(tree)[1] for tree in ((tuple(inputs), {}), list(results))]
    entry = ModuleCallEntry("", ModuleCallSignature([], [], *specs))
    return ExportedProgram(module, graph, signature, state, {}, [entry], (tuple(inputs), {}),
                           constants=constants)


def constant_nodes(module):
    """(name, node) of tensors that the graph holds, in place of which it gets inputs before the others."""
    import torch

    graph = module.graph
    for node in [node for node in graph.nodes if node.op == "get_attr"]:
        value = getattr(module, node.target)
        if isinstance(value, torch.Tensor):
            first = next(iter(graph.nodes))
            with graph.inserting_before(first):
                made = graph.placeholder(f"c_{node.target.lstrip('_')}")
            made.meta["val"] = first.meta["val"].fake_mode.from_tensor(value)
            node.replace_all_uses_with(made)
            graph.erase_node(node)
            yield node.target, made


def rename(graph, node, name):
    node.name = node.target = graph._graph_namespace.create_name(re.sub(r"\W", "_", name), None)


def plain_origin(node):
    """The classes of modules as names, which a file can hold."""
    stack = node.meta.get("nn_module_stack") or {}
    node.meta["nn_module_stack"] = {key: (path, kind if isinstance(kind, str) else f"{kind.__module__}.{kind.__name__}")
                                    for key, (path, kind) in stack.items()}


def only_tensors(graph):
    """The results, of which those that are None, as gradients that nobody asks for, are left out."""
    output = next(iter(reversed(graph.nodes)))
    results = [node for node in output.args[0] if hasattr(node, "meta")]
    output.args = (tuple(results),)
    return results
