"""Loads a program of torch.export without writes in place, and says where its nodes come from."""

import logging

import torch
from import_case import ImportFailed
from pt2_archive import NOT_FIXED, Archive, safe_loading
from torch._subclasses.fake_tensor import FakeTensor
from torch_operators import add_shape_rules, declare_missing
from torch_patterns import recognise

NUMBERS = (torch.SymInt, torch.SymFloat, torch.SymBool)
MODULE, LINE = "nn_module_stack", "stack_trace"  # keys of a node's metadata that PyTorch's passes keep


def first_line(error):
    return (str(error).strip() or type(error).__name__).partition("\n")[0]


class Unsaid(logging.Filter):
    """Keeps torch from writing what it raises, too. `errors`: those that its loader only writes."""

    def __init__(self):
        super().__init__()
        self.errors = []
        loggers = [logging.root, *map(logging.getLogger, list(logging.root.manager.loggerDict))]
        self.places = [logging.getLogger("torch.export"), logging.lastResort,
                       *{handler for logger in loggers for handler in logger.handlers}]

    def filter(self, record):
        if record.exc_info and record.exc_info[1]:
            self.errors.append(record.exc_info[1])
        return False

    def __enter__(self):
        for place in self.places:
            place.addFilter(self)
        return self

    def __exit__(self, *_):
        for place in self.places:
            place.removeFilter(self)

    def reason(self, error):
        """In one line, of the first error that led to the others."""
        error = self.errors[0] if self.errors else error
        while error.__cause__ or error.__context__:
            error = error.__cause__ or error.__context__
        return first_line(error).partition(". ")[0]


def loaded(path, sizes):
    """(program, sample inputs by name of their placeholder)"""
    unsaid = Unsaid()
    try:
        with Archive(path) as archive, unsaid, safe_loading():
            declare_missing(archive.calls)
            program = torch.export.load(archive.copy)
            samples = samples_of(program, archive.sample_inputs())
            check_sizes(program, sizes)
            name_origins(program, archive.origins)
            return recognise(functional(program)), samples
    except (ImportFailed, MemoryError):
        raise
    except OSError as error:
        raise ImportFailed(f"cannot be read: {error.strerror or error}") from None
    except Exception as error:  # a zip file, JSON or a schema that is broken
        if "can't allocate memory" in str(error):
            raise MemoryError from None
        raise ImportFailed(f"expected a program of torch.export.save: {unsaid.reason(error)}") from None


def check_sizes(program, sizes):
    if sizes:
        raise ImportFailed(f'no input has a size named "{next(iter(sizes))}": sizes of programs are fixed')
    for node in program.graph.nodes:
        shape = getattr(node.meta.get("val"), "shape", ())
        if node.op == "placeholder" and any(isinstance(size, NUMBERS) for size in shape):
            raise ImportFailed(f'the input "{node.name}" {NOT_FIXED}')


def user_inputs(program):
    kind = torch.export.graph_signature.InputKind.USER_INPUT
    return [entry.arg.name for entry in program.graph_signature.input_specs if entry.kind == kind]


def samples_of(program, given):
    """The inputs that the program was exported with, where they are tensors of its types."""
    leaves = torch.utils._pytree.tree_leaves(given)
    names = user_inputs(program)
    metas = {node.name: node.meta.get("val") for node in program.graph.nodes if node.op == "placeholder"}
    if len(leaves) != len(names):
        return {}
    return {name: leaf.detach() for name, leaf in zip(names, leaves, strict=True)
            if isinstance(leaf, torch.Tensor) and leaf.layout == torch.strided and fits(leaf, metas.get(name))}


def fits(tensor, meta):
    return isinstance(meta, torch.Tensor) and (meta.shape, meta.dtype) == (tensor.shape, tensor.dtype)


def name_origins(program, origins):
    for node in program.graph.nodes:
        module, line = origins.get(node.name, ("", ""))
        if node.op == "call_function":
            node.meta[MODULE], node.meta[LINE] = {"": (module, "")}, line


def origin(node):
    """The node of the program, its module, and the line of the source, for people."""
    stack = node.meta.get(MODULE) or {"": ("", "")}
    return {"node": node.name, "module": list(stack.values())[-1][0], "line": node.meta.get(LINE) or ""}


def said(node):
    found = origin(node)
    where = ", ".join(text for text in (found["module"], found["line"]) if text)
    return f"{node.target} ({found['node']}{': ' if where else ''}{where})"


# --- writes in place

def writes(node):
    schema = getattr(node.target, "_schema", None)
    return node.op == "call_function" and schema is not None and schema.is_mutable


def has_subgraph(node):
    return node.op == "get_attr" or isinstance(node.target, torch._ops.HigherOrderOperator)


def functional(program):
    """The program itself, or an equal one that changes no value after it is made.

    A value that is written to has other elements for whoever reads it later, also through views of it: nodes of a case
    have one value each.
    """
    found = [node for node in program.graph.nodes if writes(node)]
    if not found and not any(map(has_subgraph, program.graph.nodes)):
        return program
    without_fallbacks(program)
    add_shape_rules(program)
    try:
        program = program.run_decompositions({})
    except MemoryError:
        raise
    except Exception as error:  # an operator without a rule for shapes, or sizes that depend on data
        if not found:
            return program
        raise ImportFailed(f"{said(found[0])} writes in place, and the program cannot be rewritten without that: "
                           f"{first_line(error)}") from None
    left = next(filter(writes, program.graph.nodes), None)
    if left is not None:
        raise ImportFailed(f"{said(left)} writes in place, and PyTorch does not rewrite it")
    return program


def without_fallbacks(program):
    """An operator without a rule for shapes must not be run to find them: a file may name any operator."""
    for node in program.graph.nodes:
        if isinstance(node.meta.get("val"), FakeTensor):
            node.meta["val"].fake_mode.allow_fallback_kernels = False
