"""A function of torch tensors as a Graph: torch.fx records what it calls, and aten/ says which ops these are."""

import contextlib
import logging
import math

from . import definitions
from .aten import LOWERINGS, Given
from .aten.table import infinity_or
from .errors import Error
from .graph import Graph, Type
from .ops import description
from .result_types import result_types
from .vocabulary import FLOATS

PLAIN = {"f32": "float32", "f16": "float16", "bf16": "bfloat16", "i32": "int32", "bool": "bool",
         "f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2"}
LARGEST_FACTOR = 1e30  # of the op scale
NO_OPS = ("_set_grad_enabled",)  # what torch.no_grad() leaves in a trace
MASKS = {"where": 0, "masked_fill": 1, "sdpa": 3}  # the operand that is a mask


def torch_dtypes(torch):
    return {name: getattr(torch, torch_name) for name, torch_name in PLAIN.items()}


class Lowering:
    """Appends the ops of one call after the other to a Graph. The tensors of a trace are known by their fx nodes."""

    own = {}  # functions of operators that come before those of LOWERINGS

    def __init__(self, torch):
        self.torch, self.graph, self.values, self.metas = torch, Graph(), {}, {}
        self.names = {dtype: name for name, dtype in torch_dtypes(torch).items()}
        self.called = self.meta = None
        self.read = set()  # of a call with several results: which ones are read

    def enter(self, node):
        self.called, self.meta = short_name(node.target), node.meta.get("val")
        self.read = {user.args[1] for user in node.users if getattr(user.target, "__name__", "") == "getitem"}

    def known(self, value, of_inputs=True):
        """The tensor that a value is, where that is known; None of what a trace has. `of_inputs`: also where it follows
        from the data of inputs."""

    def constant(self, tensor):
        """An input with these indices or this mask."""
        raise Error("a constant has no counterpart")

    def is_tensor(self, value):
        return isinstance(value, str)

    def dtype_of(self, value):
        return self.named(self.metas[value].dtype)

    def named(self, dtype):
        if dtype not in self.names:
            raise Error(f"{dtype} has no counterpart")
        return self.names[dtype]

    def shape_of(self, value):
        return tuple(self.metas[value].shape)

    @property
    def shape(self):
        return tuple(self.meta.shape)

    @property
    def shapes(self):
        return [tuple(meta.shape) for meta in self.meta]

    def op(self, op, *inputs, **attributes):
        self.check_dtypes(op, inputs)
        made = getattr(self.graph, op)(*inputs, **attributes)
        names = [made] if isinstance(made, str) else made
        types = result_types(op, [(self.dtype_of(value), self.shape_of(value)) for value in inputs], attributes)
        metas = self.meta if isinstance(self.meta, (list, tuple)) else [self.meta] * len(names)
        if types is not None:
            metas = [self.meta_of(dtype, shape) for dtype, shape in types]
        self.metas.update(zip(names, metas, strict=False))
        return made

    move = op

    def meta_of(self, dtype, shape):
        """What a value of this type is to torch."""
        return self.torch.empty(shape, dtype=getattr(self.torch, PLAIN[dtype]), device="meta")

    def check_dtypes(self, op, inputs):
        """Ops compute with floats, but for masks and for what is only moved."""
        if op == "cast" or description(op)["class"] == "movement":
            return
        for position, value in enumerate(inputs):
            dtype = self.dtype_of(value)
            if dtype not in FLOATS and not (dtype == "bool" and MASKS.get(op) == position):
                raise Error(f"{op} of {dtype} has no counterpart")
            if dtype != "bool" and op in ("where", "masked_fill") and MASKS[op] == position:
                raise Error(f"{op} with a mask of {dtype} has no counterpart")

    def promoted(self, value, to=None):
        """`value` in the dtype of the call's result."""
        to = to or self.named(self.meta.dtype)
        return value if self.dtype_of(value) == to else self.op("cast", value, dtype=to)

    def wide(self, value):
        """In f32, in which torch computes what it rounds once."""
        return self.promoted(value, "f32")

    def number(self, value, dtype=None):
        """A Python number as a value of one element; graphs have no other constants that are no inputs."""
        if math.isnan(value):
            raise Error("a number that is NaN has no counterpart")
        made = self.op("cast", self.op("arange", count=1, start=1), dtype="f32")
        if abs(value) <= LARGEST_FACTOR:
            made = self.op("scale", made, factor=value)
        else:
            shown = self.op("slice", self.op("causal_mask", rows=1, cols=2), axis=1, start=1, stop=2)
            made = self.op("masked_fill", made, self.op("reshape", shown, shape=[1]), value=infinity_or(value))
        return self.promoted(made, dtype)

    def number_like(self, value, x):
        made = self.number(float(value), self.dtype_of(x))
        return made if self.shape_of(x) else self.op("reshape", made, shape=[])

    def with_number(self, op, a, b):
        """a op b, where one of them is a Python number."""
        x, value = (a, b) if self.is_tensor(a) else (b, a)
        if self.named(self.meta.dtype) not in FLOATS:
            raise Error(f"{op} of {self.named(self.meta.dtype)} has no counterpart")
        if abs(value) <= LARGEST_FACTOR and (op == "mul" or (op == "div" and self.is_tensor(a))):
            return self.op("scale", self.promoted(x), factor=float(value), inverse=op == "div")
        if op == "sub" and self.is_tensor(a):
            op, value = "add", -value
        if op in ("add", "sub") and value == 0 and self.is_tensor(a):
            return self.promoted(x)
        wide = self.wide(x)
        value = self.number_like(value, wide)
        made = definitions.smaller(self, wide, value) if op == "minimum" else self.op(
            op, *((wide, value) if self.is_tensor(a) else (value, wide)))
        return self.promoted(made)


def short_name(target):
    """softmax of aten.softmax.int."""
    schema = getattr(target, "_schema", None)
    return schema.name.rpartition("::")[2] if schema else None


def is_empty(node):
    meta = getattr(node, "meta", {}).get("val")
    return hasattr(meta, "numel") and not meta.numel()


def arguments(node, values):
    """By the names of the schema, with fx nodes replaced by the names of our values."""
    def resolved(value):
        if isinstance(value, (list, tuple)):
            return [resolved(item) for item in value if not (joins and is_empty(item))]
        try:
            return values.get(value, value)
        except TypeError:
            return value

    joins = short_name(node.target) in ("cat", "concat")  # tensors without elements add nothing
    schema = node.target._schema.arguments
    given = Given({argument.name: argument.default_value for argument in schema})
    given.update({argument.name: resolved(value) for argument, value in zip(schema, node.args, strict=False)})
    given.update({name: resolved(value) for name, value in node.kwargs.items()})
    return given


def lower_call(lowering, node):
    name = short_name(node.target)
    lowering.enter(node)
    if name is None and getattr(node.target, "__name__", "") == "getitem":
        return lowering.values[node.args[0]][node.args[1]]
    function = lowering.own.get(name) or LOWERINGS.get(name)
    if function is None:
        raise Error(f"the reference calls {node.target}, which no op of fusesmith stands for")
    try:
        return function(lowering, arguments(node, lowering.values))
    except Error as error:
        raise Error(f"the reference calls {node.target}: {error}") from None


def example_tensors(torch, names, types):
    """Tensors of these types, whose data do not matter."""
    dtypes = torch_dtypes(torch)
    for name, text in zip(names, types, strict=True):
        if Type(text).dtype not in dtypes:
            raise Error(f"the reference cannot be traced with {name} {text}: it may have inputs of {', '.join(PLAIN)}")
    return [torch.zeros(Type(text).dims, dtype=dtypes[Type(text).dtype]) for text in types]


@contextlib.contextmanager
def traced_errors(names, types):
    """What torch raises becomes one line."""
    logging.disable(logging.ERROR)  # torch logs what it raises, too
    try:
        yield
    except Error:
        raise
    except Exception as error:
        shapes = ", ".join(f"{name} {text}" for name, text in zip(names, types, strict=True))
        line = (str(error).strip() or type(error).__name__).partition("\n")[0]
        raise Error(f"the reference cannot be traced with {shapes}: {line}") from None
    finally:
        logging.disable(logging.NOTSET)


def imported_torch():
    try:
        import torch
    except ImportError as error:
        raise Error(f"tracing a reference needs torch: {error}") from None
    return torch


def recorded(torch, reference, names, types):
    """The fx graph of `reference`, with the metadata of every value; nothing is computed."""
    from torch.fx.experimental.proxy_tensor import make_fx

    tensors = example_tensors(torch, names, types)
    with traced_errors(names, types), torch.no_grad():
        return make_fx(reference, pre_dispatch=True, tracing_mode="fake")(*tensors)


def trace(reference, names, types, fills=()):
    """A Graph with inputs of these names and concrete types that computes what `reference` does."""
    torch = imported_torch()
    module, lowering = recorded(torch, reference, names, types), Lowering(torch)
    lowering.graph.output(*lower(lowering, module, names, types, fills))
    return lowering.graph


def lower(lowering, module, names, types, fills=()):
    """Adds what an fx graph computes to the graph of `lowering`; returns the values of its results."""
    given = iter(zip(names, types, strict=True))
    for node in module.graph.nodes:
        if node.op == "placeholder":
            name, text = next(given)
            made = lowering.graph.input(name, text, dict(fills).get(name))
        elif node.op == "call_function" and getattr(node.target, "__name__", "") in NO_OPS:
            continue
        elif node.op == "call_function":
            made = lower_call(lowering, node)
        elif node.op == "output":
            results = node.args[0] if isinstance(node.args[0], (list, tuple)) else [node.args[0]]
            return [lowering.values[result] for result in results]
        else:
            raise Error(f"the reference has a constant tensor ({node.target}): make it an input")
        lowering.values[node] = made
        with contextlib.suppress(KeyError):
            if isinstance(made, str):
                lowering.metas.setdefault(made, node.meta["val"])
    raise Error("the reference returns nothing")
