"""The forward pass and the backward pass of a function of torch as one Graph: autograd runs inside of what is traced.

Operators of autograd that no op stands for are decomposed into core ATen, and those that write in place become others.
Indices are drawn: which numbers they may be follows from the table or the loss that reads them.
"""

import math
import random
from dataclasses import dataclass

from .aten.classes import OWN, drawn_classes
from .errors import Error
from .graph import Graph, Type
from .trace import (
    LARGEST_FACTOR,
    PLAIN,
    Lowering,
    example_tensors,
    imported_torch,
    lower,
    short_name,
    traced_errors,
)
from .training import default_decompositions
from .vocabulary import FLOATS

MOVES = ("view", "reshape", "_unsafe_view", "unsqueeze", "squeeze", "expand", "slice", "select", "permute", "transpose",
         "t", "detach", "alias", "clone", "contiguous", "_to_copy", "lift_fresh_copy")
TABLES = {"embedding": (1, 0, 0), "index_select": (2, 0, None), "embedding_dense_backward": (1, None, None)}
SHARE_IGNORED = 0.2


@dataclass(frozen=True)
class Role:
    """What indices are: below `count`, or, of classes of which rows of the class `ignored` do not count, c + 1 for the
    class c and 0 for `ignored`."""

    count: int
    ignored: int | None = None


@dataclass
class Joint:
    """A graph whose outputs are the results of the forward pass and then gradients, and what it is made of."""

    graph: Graph
    results: tuple  # names of the results
    gradients: tuple  # names of those of float results, which are inputs
    wanted: tuple  # names of the inputs whose gradients are outputs
    roles: dict  # input -> Role


class JointLowering(Lowering):
    """Values have the dtype of what they are computed from. A cast between floats is left out, as is the f32 inside of
    an operator of 16 bits: a graph has explicit roundings otherwise, which a fused kernel must not leave out."""

    own = OWN

    def __init__(self, torch, roles, narrow):
        super().__init__(torch)
        self.narrow = narrow  # the dtype of values that follow from indices alone
        self.roles, self.compared = roles, {}
        self.source = {name: name for name in roles}  # input by what is moved from it

    def op(self, op, *inputs, **attributes):
        dtypes = {self.dtype_of(value) for value in inputs} & set(FLOATS)
        if op == "cast" and dtypes and attributes["dtype"] in FLOATS:
            return inputs[0]
        if len(dtypes) > 1:
            inputs = [self.rounded(value, "f32") for value in inputs]
        made = super().op(op, *inputs, **attributes)
        if inputs and inputs[0] in self.source and isinstance(made, str) and op != "gather":
            self.source[made] = self.source[inputs[0]]
        return made

    move = op

    def rounded(self, value, dtype):
        """A cast that the graph has."""
        of = self.dtype_of(value)
        return value if of == dtype or of not in FLOATS else super().op("cast", value, dtype=dtype)

    def promoted(self, value, to=None):
        return value if self.dtype_of(value) in FLOATS else super().promoted(value, to)

    def number(self, value, dtype=None):
        """Rounded implicitly, as every value."""
        if math.isnan(value) or abs(value) > LARGEST_FACTOR:
            return super().number(value, dtype)
        dtype = dtype or self.named(self.meta.dtype)
        one = super().op("cast", super().op("arange", count=1, start=1), dtype=dtype)
        return one if value == 1 else super().op("scale", one, factor=value)

    def named(self, dtype):
        return "i32" if dtype == self.torch.int64 else super().named(dtype)


def roles_of(module, names):
    """Role by name of an input of integers."""
    inputs = dict(zip([node for node in module.graph.nodes if node.op == "placeholder"], names, strict=True))
    roles = {}
    for node in module.graph.nodes:
        found = role_of(node)
        if found is None:
            continue
        index, role = found
        while short_name(index.target) in MOVES if index.op == "call_function" else False:
            index = index.args[0]
        name = inputs.get(index)
        if name and roles.setdefault(name, role) != role:
            raise Error(f"the reference uses the indices {name} in two ways")
    return roles


def role_of(node):
    """(node of the indices, Role) of a call that reads at indices."""
    name = short_name(node.target) if node.op == "call_function" else None
    if name == "nll_loss_forward":
        return node.args[1], Role(node.args[0].meta["val"].shape[-1], node.args[4])
    if name == "embedding":
        return node.args[1], Role(node.args[0].meta["val"].shape[0])
    if name == "index_select":
        return node.args[2], Role(node.args[0].meta["val"].shape[node.args[1]])
    return None


def fill_of(role, text, seed):
    """Indices; of classes, in most cases with a share of ignored rows."""
    drawn = random.Random(f"{text} {seed}")
    count = role.count if role.ignored is None else drawn_classes(role.count)
    if role.ignored is None or drawn.random() < 0.3:
        return {"tokens": {"count": count}}
    size = 1
    for dim in Type(text).dims:
        size *= dim
    values = [0 if drawn.random() < SHARE_IGNORED else drawn.choice((drawn.randrange(1, count), count - 1, 1))
              for _ in range(size)]
    return {"literal": {"bits": "".join(f"{value:08x}" for value in values)}}


def tuple_of(made):
    return tuple(made) if isinstance(made, (tuple, list)) else (made,)


def typed(tensor, names):
    return f"{names[tensor.dtype]}[{','.join(map(str, tensor.shape))}]"


def result_types(torch, reference, tensors):
    """Types of the results of the reference, which is not run."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    known = {getattr(torch, torch_name): name for name, torch_name in PLAIN.items()}
    mode = FakeTensorMode()
    with mode, torch.no_grad():
        made = tuple_of(reference(*(mode.from_tensor(tensor) for tensor in tensors)))
    for result in made:
        if not isinstance(result, torch.Tensor) or known.get(result.dtype) not in FLOATS:
            what = result.dtype if isinstance(result, torch.Tensor) else type(result).__name__
            raise Error(f"a result of the reference is {what}: it returns float tensors")
    return [typed(result, known) for result in made]


def fresh(names, name):
    while name in names:
        name += "_"
    return name


def traced_joint(reference, names, types, wrt=None, forward=True, longs=(), fills=(), seed=1):
    """A Joint. types: concrete ones; `longs`: inputs that the reference gets as int64; `wrt`: names of inputs, None for
    all float ones that have a gradient."""
    torch = imported_torch()
    tensors = [tensor.long() if name in longs else tensor
               for name, tensor in zip(names, example_tensors(torch, names, types), strict=True)]
    with traced_errors(names, types):
        made = result_types(torch, reference, tensors)
        results = tuple(fresh(names, "out" if len(made) == 1 else f"out{i}") for i in range(len(made)))
        gradients = tuple(fresh((*names, *results), f"d_{name}") for name in results)
        floats = [name for name in names if Type(types[names.index(name)]).dtype in FLOATS]
        module, wanted = recorded_joint(torch, reference, names, [*tensors, *example_tensors(torch, gradients, made)],
                                        floats if wrt is None else list(wrt), wrt is not None)
    return lowered_joint(torch, module, (names, types), (results, gradients, made), wanted, forward, fills, seed)


def recorded_joint(torch, reference, names, tensors, wanted, is_named):
    """The fx graph of results and gradients, and the names of those whose gradients it has."""
    from torch.fx.experimental.proxy_tensor import make_fx

    have = []

    def joint(*values):
        inputs = [value.detach().requires_grad_(name in wanted) for name, value in
                  zip(names, values[:len(names)], strict=True)]
        with torch.enable_grad():
            made = tuple_of(reference(*inputs))
        pairs = [(result, dy) for result, dy in zip(made, values[len(names):], strict=True) if result.requires_grad]
        if not pairs:
            raise Error(f"the reference has no gradient of {', '.join(wanted)}")
        found = torch.autograd.grad([result for result, _ in pairs], [inputs[names.index(name)] for name in wanted],
                                    [dy for _, dy in pairs], allow_unused=True)
        have[:] = [name for name, gradient in zip(wanted, found, strict=True) if gradient is not None]
        return *(result.detach() for result in made), *(gradient for gradient in found if gradient is not None)

    module = make_fx(joint, decomposition_table=default_decompositions(), tracing_mode="fake")(*tensors)
    if is_named and (missing := [name for name in wanted if name not in have]):
        raise Error(f"the reference has no gradient of {missing[0]}")
    with torch.no_grad():
        module = make_fx(torch.func.functionalize(module, remove="mutations"), tracing_mode="fake")(*tensors)
    module.graph.eliminate_dead_code()
    return module, have


def lowered_joint(torch, module, given, made, wanted, forward, fills, seed):
    (names, types), (results, gradients, result_texts) = given, made
    roles = roles_of(module, [*names, *gradients])
    floats = [Type(text).dtype for text in types if Type(text).dtype in FLOATS]
    lowering = JointLowering(torch, roles, floats[0] if len(set(floats)) == 1 else "f32")
    fills = {**dict(fills), **{name: fill_of(role, types[names.index(name)], seed) for name, role in roles.items()}}
    values = lower(lowering, module, [*names, *gradients], [*types, *result_texts], fills)
    dtypes = [Type(text).dtype for text in (*result_texts, *(types[names.index(name)] for name in wanted))]
    values = [lowering.rounded(value, dtype) for value, dtype in zip(values, dtypes, strict=True)]
    outputs = [*results, *(fresh((*names, *results, *gradients), f"d_{name}") for name in wanted)]
    chosen = list(zip(outputs, values, strict=True))
    chosen = chosen if forward else chosen[len(results):]
    graph = lowering.graph
    graph.has_gradients = True
    graph.chosen_fills -= set(names) - set(fills)
    named_outputs(lowering, [name for name, _ in chosen], [value for _, value in chosen])
    return Joint(graph, results, gradients, tuple(wanted), roles)


def named_outputs(lowering, names, values):
    """Outputs with these names: nodes that have no other name yet, or else copies."""
    graph, nodes = lowering.graph, {node["name"]: node for node in lowering.graph.nodes}
    made = {}
    for name, value in zip(names, values, strict=True):
        if value in nodes and value not in made:
            made[value] = name
            continue
        copy = lowering.op("reshape", value, shape=list(lowering.shape_of(value)))
        made[copy] = name
    for node in graph.nodes:
        node["name"] = made.get(node["name"], node["name"])
        node["inputs"] = [made.get(value, value) for value in node["inputs"]]
    graph._values |= set(names)
    graph.output(*names)
