"""A function of torch tensors as a Graph: torch.fx records what it calls, and aten.py says which ops these are."""

import contextlib
import logging

from .aten import LOWERINGS, Given
from .errors import Error
from .graph import Graph, Type
from .ops import description
from .vocabulary import FLOATS

PLAIN = {"f32": "float32", "f16": "float16", "bf16": "bfloat16", "i32": "int32", "bool": "bool"}
MASKS = {"where": 0, "masked_fill": 1, "sdpa": 3}  # the operand that is a mask


def torch_dtypes(torch):
    return {name: getattr(torch, torch_name) for name, torch_name in PLAIN.items()}


class Lowering:
    """Appends the ops of one call after the other to a Graph. The tensors of a trace are known by their fx nodes."""

    def __init__(self, torch):
        self.graph, self.values, self.metas = Graph(), {}, {}
        self.names = {dtype: name for name, dtype in torch_dtypes(torch).items()}
        self.called = self.meta = None

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

    def op(self, op, *inputs, meta=None, **attributes):
        """`meta`: of the result, where it is not that of the call."""
        self.check_dtypes(op, inputs)
        made = getattr(self.graph, op)(*inputs, **attributes)
        for name in (made,) if isinstance(made, str) else made:
            own = self.meta[0] if isinstance(self.meta, (list, tuple)) else self.meta
            self.metas.setdefault(name, own if meta is None else meta)
        return made

    def check_dtypes(self, op, inputs):
        """Ops compute with floats, but for masks and for what is only moved."""
        if op == "cast" or description(op)["class"] == "movement":
            return
        for position, value in enumerate(inputs):
            dtype = self.dtype_of(value) if value in self.metas else "f32"
            if dtype not in FLOATS and not (dtype == "bool" and MASKS.get(op) == position):
                raise Error(f"{op} of {dtype} has no counterpart")
            if dtype != "bool" and op in ("where", "masked_fill") and MASKS[op] == position:
                raise Error(f"{op} with a mask of {dtype} has no counterpart")

    def promoted(self, value, to=None):
        """`value` in the dtype of the call's result."""
        to = to or self.named(self.meta.dtype)
        if self.dtype_of(value) == to:
            return value
        meta = self.metas[value]
        made = self.graph.cast(value, dtype=to)
        torch_dtype = next(dtype for dtype, name in self.names.items() if name == to)
        self.metas[made] = meta.to(torch_dtype)
        return made

    def number(self, value, dtype=None):
        """A Python number as a value of one element; graphs have no other constants that are no inputs."""
        one = self.graph.cast(self.graph.arange(count=1, start=1), dtype="f32")
        made = self.graph.scale(one, factor=value)
        dtype = dtype or self.named(self.meta.dtype)
        return made if dtype == "f32" else self.graph.cast(made, dtype=dtype)

    def with_number(self, op, a, b):
        """a op b, where one of them is a Python number."""
        x, value = (a, b) if self.is_tensor(a) else (b, a)
        if op == "mul" or (op == "div" and self.is_tensor(a)):
            return self.op("scale", x, factor=float(value), inverse=op == "div")
        if op == "sub" and self.is_tensor(a):
            op, value = "add", -value
        if op in ("add", "sub") and value == 0 and self.is_tensor(a):
            return x
        wide, value = self.promoted(x, "f32"), self.number(float(value), "f32")
        made = getattr(self.graph, op)(*((wide, value) if self.is_tensor(a) else (value, wide)))
        if not self.shape:
            made = self.graph.reshape(made, shape=[])
        dtype = self.named(self.meta.dtype)
        return made if dtype == "f32" else self.graph.cast(made, dtype=dtype)


def short_name(target):
    """softmax of aten.softmax.int."""
    schema = getattr(target, "_schema", None)
    return schema.name.rpartition("::")[2] if schema else None


def arguments(node, values):
    """By the names of the schema, with fx nodes replaced by the names of our values."""
    def resolved(value):
        if isinstance(value, (list, tuple)):
            return [resolved(item) for item in value]
        try:
            return values.get(value, value)
        except TypeError:
            return value

    schema = node.target._schema.arguments
    given = Given({argument.name: argument.default_value for argument in schema})
    given.update({argument.name: resolved(value) for argument, value in zip(schema, node.args, strict=False)})
    given.update({name: resolved(value) for name, value in node.kwargs.items()})
    return given


def lower_call(lowering, node):
    name = short_name(node.target)
    lowering.called, lowering.meta = name, node.meta.get("val")
    if name is None and getattr(node.target, "__name__", "") == "getitem":
        return lowering.values[node.args[0]][node.args[1]]
    if name not in LOWERINGS:
        raise Error(f"the reference calls {node.target}, which no op of fusesmith stands for")
    try:
        return LOWERINGS[name](lowering, arguments(node, lowering.values))
    except Error as error:
        raise Error(f"the reference calls {node.target}: {error}") from None


def recorded(reference, names, types):
    """The fx graph of `reference`, with the metadata of every value; nothing is computed."""
    try:
        import torch
        from torch.fx.experimental.proxy_tensor import make_fx
    except ImportError as error:
        raise Error(f"tracing a reference needs torch: {error}") from None
    dtypes = torch_dtypes(torch)
    tensors = [torch.zeros(Type(text).dims, dtype=dtypes[Type(text).dtype]) for text in types]
    logging.disable(logging.ERROR)  # torch logs what it raises, too
    try:
        with torch.no_grad():
            return torch, make_fx(reference, pre_dispatch=True, tracing_mode="fake")(*tensors)
    except Exception as error:
        shapes = ", ".join(f"{name} {text}" for name, text in zip(names, types, strict=True))
        line = (str(error).strip() or type(error).__name__).partition("\n")[0]
        raise Error(f"the reference cannot be traced with {shapes}: {line}") from None
    finally:
        logging.disable(logging.NOTSET)


def trace(reference, names, types, fills=()):
    """A Graph with inputs of these names and concrete types that computes what `reference` does."""
    torch, module = recorded(reference, names, types)
    lowering = Lowering(torch)
    given = iter(zip(names, types, strict=True))
    for node in module.graph.nodes:
        if node.op == "placeholder":
            name, text = next(given)
            made = lowering.graph.input(name, text, dict(fills).get(name))
        elif node.op == "call_function":
            made = lower_call(lowering, node)
        elif node.op == "output":
            results = node.args[0] if isinstance(node.args[0], (list, tuple)) else [node.args[0]]
            lowering.graph.output(*(lowering.values[result] for result in results))
            break
        else:
            raise Error(f"the reference has a constant tensor ({node.target}): make it an input")
        lowering.values[node] = made
        with contextlib.suppress(KeyError):
            if isinstance(made, str):
                lowering.metas.setdefault(made, node.meta["val"])
    return lowering.graph


