"""Reads a program that torch.export.save wrote, for import_model.py. python/fusesmith/aten.py has the table."""

import logging
from collections import Counter

import package  # noqa: F401 (finds fusesmith)
import torch
from fusesmith.aten import LOWERINGS
from fusesmith.errors import Error
from fusesmith.trace import Lowering, arguments, short_name
from import_case import ImportFailed, as_dtype, case_graph, constant_fill, cut, type_text
from pt2_archive import NOT_FIXED, checked_copy, safe_loading

NUMBERS = (torch.SymInt, torch.SymFloat, torch.SymBool)


class Values(dict):
    """Values of the case by node of the program; one that nothing makes is an input."""

    def __init__(self, importer):
        super().__init__()
        self.importer = importer

    def get(self, node, otherwise=None):
        if isinstance(node, torch.fx.Node) and node not in self:
            self[node] = self.importer.new_input(node)
        return super().get(node, otherwise)

    def __getitem__(self, node):
        return self.get(node)


class ProgramLowering(Lowering):
    def named(self, dtype):
        """Integers of 64 bits are indices: i32 in a case."""
        return "i32" if dtype == torch.int64 else super().named(dtype)


class TorchImporter:
    """What cases_of in import_model.py asks for, as Importer in import_graph.py has it."""

    def __init__(self, program):
        self.lowering = ProgramLowering(torch)
        self.lowering.values = Values(self)
        self.constants = constants_of(program)
        self.fills, self.types, self.rows = {}, {}, {}
        self.parts, self.approximated, self.unmapped = [], [], Counter()
        self.names = {}

    def new_input(self, node):
        meta = node.meta.get("val")
        if not isinstance(meta, torch.Tensor):
            raise Error("it reads a value that is no tensor")
        if not meta.numel():
            raise Error("it reads a value without elements")
        dtype = self.lowering.named(meta.dtype)
        fill = None
        if node.name in self.constants:
            fill, whole = constant_fill(as_dtype(self.constants[node.name].detach().float().numpy(), dtype), dtype)
            self.approximated += [] if whole else [node.name]
        name = self.lowering.graph.input(node.name, type_text(dtype, meta.shape), fill)
        if fill:
            self.fills[name] = fill
        self.lowering.metas[name] = meta
        return name

    def visit(self, node):
        """A call of an operator; what it adds before it fails is taken back."""
        graph, lowering = self.lowering.graph, self.lowering
        before = (len(graph.nodes), len(graph.inputs), set(graph._values), dict(lowering.values))
        try:
            lowering.called, lowering.meta = short_name(node.target), node.meta.get("val")
            made = self.made_by(node)
        except Error as why:
            del graph.nodes[before[0]:], graph.inputs[before[1]:]
            graph._values = before[2]
            lowering.values.clear()
            lowering.values.update(before[3])
            self.unmapped[str(node.target), str(why)] += 1
            return
        lowering.values[node] = made
        if isinstance(made, str):
            lowering.metas.setdefault(made, node.meta["val"])
        if len(graph.nodes) > before[0]:
            self.parts.append(graph.nodes[before[0]:])
            self.limit_indices(self.parts[-1])

    def made_by(self, node):
        name = self.lowering.called
        if name is None and getattr(node.target, "__name__", "") == "getitem":
            parts = self.lowering.values.get(node.args[0]) if node.args[0] in self.lowering.values else None
            if not isinstance(parts, (tuple, list)):
                raise Error("it takes a part of a result that has no counterpart")
            return parts[node.args[1]]
        if name not in LOWERINGS:
            raise Error("no op stands for it")
        return LOWERINGS[name](self.lowering, arguments(node, self.lowering.values))

    def limit_indices(self, nodes):
        for node in nodes:
            if node["op"] == "gather":
                rows = self.lowering.shape_of(node["inputs"][0])[0]
                self.rows[node["inputs"][1]] = min(rows, self.rows.get(node["inputs"][1], rows))

    def sections(self, most):
        return cut(self.parts, most)

    def graph(self, nodes, wanted):
        types = {name: type_text(self.lowering.named(meta.dtype), meta.shape)
                 for name, meta in self.lowering.metas.items()}
        tokens = {name: {"tokens": {"count": rows}} for name, rows in self.rows.items() if name not in self.fills}
        return case_graph(nodes, types, {**self.fills, **tokens},
                          {self.names[name] for name in wanted if name in self.names})

    def unmapped_table(self):
        return [{"op": op, "count": count, "why": why} for (op, why), count in sorted(self.unmapped.items())]


def constants_of(program):
    """Parameters, buffers and constants by the name of their placeholder."""
    signature, found = program.graph_signature, {}
    for entry in signature.input_specs:
        target = entry.target
        tensor = program.state_dict.get(target, program.constants.get(target)) if target else None
        if isinstance(tensor, torch.Tensor):
            found[entry.arg.name] = tensor
    return found


def loaded(path):
    logging.disable(logging.ERROR)  # torch logs what it raises, too
    try:
        with checked_copy(path) as archive, safe_loading():
            return torch.export.load(archive)
    except (ImportFailed, MemoryError):
        raise
    except OSError as error:
        raise ImportFailed(f"cannot be read: {error.strerror or error}") from None
    except Exception as error:  # a zip file, JSON or a schema that is broken
        if "can't allocate memory" in str(error):
            raise MemoryError from None
        line = (str(error).strip() or type(error).__name__).partition("\n")[0]
        raise ImportFailed(f"expected a program of torch.export.save: {line}") from None
    finally:
        logging.disable(logging.NOTSET)


def check_sizes(program, sizes):
    if sizes:
        raise ImportFailed(f'no input has a size named "{next(iter(sizes))}": sizes of programs are fixed')
    for node in program.graph.nodes:
        shape = getattr(node.meta.get("val"), "shape", ())
        if node.op == "placeholder" and any(isinstance(size, NUMBERS) for size in shape):
            raise ImportFailed(f'the input "{node.name}" {NOT_FIXED}')


def import_torch(path, sizes):
    """The importer after its walk through the program, and the names of the results."""
    program = loaded(path)
    check_sizes(program, sizes)
    importer, results = TorchImporter(program), []
    for node in program.graph.nodes:
        if node.op == "call_function":
            importer.visit(node)
        elif node.op == "output":
            results = [arg for arg in node.args[0] if isinstance(arg, torch.fx.Node)]
    for node, value in importer.lowering.values.items():
        if isinstance(value, str):
            importer.names[node.name] = value
    return importer, [node.name for node in results]
