"""`judge_backward`: the gradients of a differentiable function against those of a reference, or of an op."""

import copy
import functools
import inspect
import json
import os
import sys

from . import ops
from .adapters import TRACED, in_folder, named_types
from .cases import GraphSubject, Shapes, check_dtypes
from .errors import Error, did_you_mean
from .gradient_kernel import Spec, gradient_kernel
from .graph import Graph, Type, concrete
from .joint import traced_joint, typed
from .judge import judge, refuse_at_import
from .kernel import input_count
from .program import workers
from .sizes import Draw
from .structure import structure_elsewhere, structure_of
from .templates import op_graphs
from .vocabulary import FLOATS


class JointSubject(GraphSubject):
    """A reference and its backward pass; each case is their trace at the sizes of that case."""

    most_graphs = TRACED

    def __init__(self, reference, graphs, name, is_op=False, **how):
        super().__init__(graphs, name, is_op)
        for graph in graphs:
            graph.has_gradients = True
        self.reference, self.how = reference, how
        self.note = None  # the file of the traces that a reduced case may have
        self.traces, self.has_roles = [], False
        self.structures = {}  # (variant, dtype) -> {types of a trace: its structure}
        self.traced = functools.cache(self.trace)

    def joint(self, graph, sizes, dtype):
        fills = {given["name"]: given["fill"] for given in graph.inputs if given["name"] in graph.chosen_fills}
        return self.traced(graph.variant, dtype, tuple(given["name"] for given in graph.inputs),
                           tuple(concrete(given["type"], sizes, dtype) for given in graph.inputs), json.dumps(fills))

    def trace(self, variant, dtype, names, texts, fills):
        def graph(types):
            return traced_joint(self.reference, names, types, fills=json.loads(fills), **self.how).graph

        joint = traced_joint(self.reference, names, texts, fills=json.loads(fills), **self.how)
        known = self.structures.setdefault((variant, dtype), {})
        if not known and (elsewhere := structure_elsewhere(graph, texts)):
            known[elsewhere[0]] = elsewhere[1]
        known[texts] = structure_of(joint.graph)
        self.traces.append([[Type(given["type"]).dims for given in joint.graph.inputs], joint.graph.nodes])
        self.has_roles = self.has_roles or bool(joint.roles)
        self.write_note(self.note)
        return joint

    def write_note(self, path):
        """Writes the traces to this file, also those to come."""
        self.note = path
        if path is None:
            return
        # With other sizes, the graph of a trace is that of the reference if it does not depend on them otherwise.
        one_each = all(len(known) > 1 and len(set(known.values())) == 1 for known in self.structures.values())
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"traces": None if one_each and not self.has_roles else self.traces}, file)

    def concrete(self, graph, sizes, dtype):
        made = copy.deepcopy(self.joint(graph, sizes, dtype).graph)  # the case gives it data and layouts of its own
        graph.chosen_fills |= made.chosen_fills  # data of indices are not drawn again
        return made


def judge_backward(fn, reference, inputs=None, *, wrt=None, forward=True, **arguments):
    """Judges the gradients of `fn`, given random gradients of its results, by those of `reference`.

    fn          a function that autograd differentiates, a torch.autograd.Function or its `apply`, or a pair (forward,
                backward) of functions, of which backward(*gradients of the results, *inputs) returns the gradients of
                the float inputs; forward may be None
    reference   a function of torch tensors that autograd differentiates, or the name of an op, whose attributes are
                further arguments
    inputs      types of the inputs, such as ["T[N,D]", "T[D]"], or {"x": "T[N,D]"}; i64 is for functions that take
                indices as int64. Of an op, None, or how many of its inputs the function takes
    wrt         names of the inputs whose gradients are judged (default: the float ones that have one)
    forward     whether the results of the forward pass are judged, too

    Other arguments are those of `judge`. Indices of a loss or a table are drawn in its range.
    """
    refuse_at_import()
    attributes = {key: value for key, value in arguments.items() if key not in inspect.signature(judge).parameters}
    arguments = {key: value for key, value in arguments.items() if key not in attributes}
    spec = Spec.of(fn)
    if spec.forward is None:
        forward = False
    how, wrt = {"forward": forward, "seed": arguments.get("seed", 1)}, [wrt] if isinstance(wrt, str) else wrt
    if isinstance(reference, str):
        graphs = graphs_of_op(reference, attributes, spec, inputs)
        subject = JointSubject(op_reference(reference, attributes), graphs, reference, is_op=True, wrt=wrt, **how)
    else:
        if attributes:
            raise Error(f'unknown argument "{next(iter(attributes))}": only an op given by its name has attributes')
        if not callable(reference) or inputs is None:
            raise Error("the reference is a function of torch tensors, with the types of its inputs, or the name of an "
                        f"op, got {type(reference).__name__}")
        graph, longs = typed_graph(named_types(reference, inputs))
        name = getattr(reference, "__name__", type(reference).__name__)
        subject = JointSubject(reference, [graph], "the reference" if name == "<lambda>" else name, wrt=wrt,
                               longs=longs, **how)
        spec.longs = list(longs)
    check_wrt(wrt, subject.graphs)
    known = first_joint(subject, arguments)

    def judged(folder):
        kernel = gradient_kernel(spec, subject.graphs, known, forward, folder)
        subject.write_note(kernel.note)
        return judge(kernel, subject, **{**arguments, "keep": folder})

    return in_folder(arguments.get("keep"), "fusesmith-backward-", judged)


def typed_graph(types):
    """A Graph of inputs, and which of them are int64, which the graph has as i32."""
    graph, longs = Graph(), []
    for name, text in types.items():
        if isinstance(text, str) and text.startswith("i64["):
            longs.append(name)
            text = "i32" + text[3:]
        graph.input(name, text)
    return graph, tuple(longs)


def graphs_of_op(op, attributes, spec, inputs):
    """Those of `judge`, of which the inputs alone count here."""
    low, high = ops.description(op)["arity"]
    if op == "sdpa":
        low = high = 3 if attributes.get("mask", "none") in ("none", "causal") else 4
    if inputs is not None and not ops.is_integer(inputs):
        raise Error(f"inputs of an op is how many the function takes, got {inputs!r}")
    if inputs is not None:
        ops.check_count(op, inputs)
    return op_graphs(op, attributes, input_count(spec, op, low, high, inputs))


def op_reference(op, attributes):
    """The op as the worker of PyTorch computes it."""
    folder = workers()
    if folder is None:
        raise Error("the folder of the workers is missing: set FUSESMITH_WORKERS")
    sys.path[:0] = [os.path.join(folder, name) for name in ("torch", "protocol")]
    try:
        import torch_ops
        from protocol import Type as OperandType
        from torch_tensors import DTYPES
    except ImportError as error:
        raise Error(f"tracing an op needs torch: {error}") from None
    finally:
        del sys.path[:2]
    if op not in torch_ops.LOWERINGS:
        raise Error(f"{op} has no function in PyTorch: give a reference function")
    details = ops.description(op)["attribute_details"]
    node = {**{one["name"]: one.get("default") for one in details}, **attributes}
    names = {dtype: name for name, dtype in DTYPES.items()}

    def reference(*tensors):
        return torch_ops.LOWERINGS[op](node, [OperandType(typed(x, names)) for x in tensors])(*tensors)

    return reference


def check_wrt(wrt, graphs):
    floats = [given["name"] for given in graphs[0].inputs if Type(given["type"]).dtype in (*FLOATS, "T")]
    if not floats:
        raise Error("no input is a float tensor, so there are no gradients")
    for name in wrt or ():
        if name not in floats:
            raise Error(f'wrt: no float input is called "{name}"{did_you_mean(name, floats)}; there are: '
                        f'{", ".join(floats)}')
    if wrt is not None and not wrt:
        raise Error("wrt is empty: it names the inputs whose gradients are judged")


def first_joint(subject, arguments):
    """What all traces have in common: names, and which inputs are indices of what."""
    draw = Draw(arguments.get("seed", 1))
    graph, sizes = Shapes(arguments.get("shapes", "fuzz"), subject.graphs).draw(draw, 0)
    return subject.joint(graph, sizes, check_dtypes(arguments.get("dtypes", "f32"))[0])
