"""Reads a program that torch.export.save wrote, for import_model.py. python/fusesmith/aten/ has the table."""

import numpy as np
import package  # noqa: F401 (finds fusesmith)
import torch
from fusesmith.aten import LOWERINGS
from fusesmith.errors import Error
from fusesmith.graph import Graph
from fusesmith.ops import ops
from fusesmith.trace import Lowering, arguments, is_empty, short_name
from import_case import as_dtype, case_graph, cut, fills_of, made_by, read_inputs, type_text
from torch_program import loaded, origin, user_inputs
from torch_values import KnownValues, is_getitem

LONGEST_NAME = 64
CHECKS = ("_assert_tensor_metadata", "_assert_async", "_assert_scalar", "sym_constrain_range",
          "sym_constrain_range_for_size")  # operators without a result


class ProgramGraph(Graph):
    """`base`: the node of the program that new nodes of the case belong to."""

    base = "value"

    def _fresh(self, op):
        return self.unique(f"{self.base}.{op}")

    def unique(self, name):
        """The end of a long name is kept."""
        cut = name[6 - LONGEST_NAME:]
        names = (f"{cut}_{count}" if count else name[-LONGEST_NAME:] for count in range(1 << 16))
        return next(name for name in names if name not in self._values)

    def rename(self, nodes, old, new):
        for node in nodes:
            node["inputs"] = [new if value == old else value for value in node["inputs"]]
            node["name"] = new if node["name"] == old else node["name"]
        self._values = self._values - {old} | {new}


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
    def __init__(self, importer):
        super().__init__(torch)
        self.importer, self.graph, self.values = importer, ProgramGraph(), Values(importer)

    def known(self, value, of_inputs=True):
        node = next((node for node, made in self.values.items() if made == value), None)
        known = self.importer.known
        return known.get(node) if node is not None and (of_inputs or known.is_constant(node)) else None

    def constant(self, tensor):
        return self.importer.new_constant(tensor)

    def named(self, dtype):
        """Integers of 64 bits are indices: i32 in a case."""
        return "i32" if dtype == torch.int64 else super().named(dtype)


class TorchImporter:
    """What cases_of in import_model.py asks for, as Importer in import_graph.py has it.

    `refused`: why nodes of the program cannot be nodes of a case, by name. `files`: as fills_of takes it.
    """

    def __init__(self, program, samples=None, refused=None, files=None):
        self.files = files
        self.lowering = ProgramLowering(self)
        self.known = KnownValues(program, constants_of(program), samples or {})
        self.refused = refused or {}
        self.constants = {}  # tensors that lowerings made, by input of the case
        self.inputs, self.sources = {}, {}  # nodes of the program by input of the case, and by node of the case
        self.rows, self.roots = {}, {}  # by value of indices: how many there are, and the input that they come from
        self.parts, self.approximated, self.unmapped = [], [], {}
        self.counts = dict.fromkeys(("nodes", "mapped", "folded", "made_inputs"), 0)
        self.names = {}
        self.too_large = set()  # inputs whose integers have more than 32 bits

    def new_input(self, node):
        meta = node.meta.get("val")
        if not isinstance(meta, torch.Tensor):
            raise Error("it reads a value that is no tensor")
        if not meta.numel():
            raise Error("it reads a value without elements")
        name = self.lowering.graph.unique(node.name)
        self.add_input(name, meta)
        self.inputs[name] = node
        return name

    def add_input(self, name, meta):
        dtype = self.lowering.named(meta.dtype)
        self.lowering.graph.input(name, type_text(dtype, meta.shape))
        self.lowering.metas[name] = meta
        if dtype == "i32":
            self.roots[name] = name

    def new_constant(self, tensor):
        name = self.lowering.graph._fresh("index" if tensor.dtype == torch.int64 else "mask")
        self.add_input(name, tensor)
        self.constants[name] = tensor
        return name

    # --- the walk

    def visit(self, node):
        if node.op != "call_function" or short_name(node.target) in CHECKS:
            return
        self.counts["nodes"] += not is_getitem(node)
        if is_empty(node):  # nothing is computed
            self.counts["folded"] += not is_getitem(node)
            return
        constant = self.known.is_constant(node)
        if constant and node not in self.known.of_weights:
            self.counts["folded"] += not is_getitem(node)
            return
        why = self.lowered(node)
        if why and (constant or self.is_of_indices(node)):
            self.counts["folded"] += not is_getitem(node)
        elif why and not is_getitem(node):
            self.counts["made_inputs"] += 1
            self.unmapped.setdefault((str(node.target), why), []).append(origin(node))
        else:
            self.counts["mapped"] += not is_getitem(node)

    def is_of_indices(self, node):
        """Whether a value follows from integers and masks whose data the program was exported with: not a number of it
        is rounded, and no op stands for what computes it."""
        operands = [given.meta.get("val") for given in node.all_input_nodes]
        plain = all(isinstance(meta, torch.Tensor) and not meta.is_floating_point() for meta in operands)
        return plain and not is_getitem(node) and self.known.get(node) is not None

    def lowered(self, node):
        """Why nothing stands for the node, or None. What it adds before it fails is taken back."""
        graph, lowering = self.lowering.graph, self.lowering
        before = (len(graph.nodes), len(graph.inputs), set(graph._values), dict(lowering.values))
        try:
            graph.base = node.name[-48:]
            lowering.enter(node)
            made = self.made_by(node)
            self.check(node, made)
        except Error as why:
            del graph.nodes[before[0]:], graph.inputs[before[1]:]
            graph._values = before[2]
            lowering.values.clear()
            lowering.values.update(before[3])
            return str(why)
        part = graph.nodes[before[0]:]
        if isinstance(made, str) and any(made == new["name"] and made in made_by(new) for new in part):
            name = graph.unique(node.name)
            graph.rename(part, made, name)
            lowering.metas[name] = lowering.metas.pop(made, node.meta["val"])
            made = name
        lowering.values[node] = made
        if isinstance(made, str):
            lowering.metas.setdefault(made, node.meta["val"])
        if part:
            self.parts.append(part)
            self.sources.update({new["name"]: node for new in part})
            self.follow_indices(part)
        return None

    def made_by(self, node):
        if node.name in self.refused:
            raise Error(self.refused[node.name])
        name = self.lowering.called
        if is_getitem(node):
            parts = self.lowering.values.get(node.args[0]) if node.args[0] in self.lowering.values else None
            if not isinstance(parts, (tuple, list)) or parts[node.args[1]] is None:
                raise Error("it takes a part of a result that has no counterpart")
            return parts[node.args[1]]
        if name not in LOWERINGS:
            raise Error("no op stands for it")
        given = arguments(node, self.lowering.values)
        try:
            return LOWERINGS[name](self.lowering, given)
        except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
            raise Error(f"its arguments are not as expected ({type(error).__name__}: {error})") from error

    def check(self, node, made):
        """A value of the case has the type of the program's."""
        for value, meta in zip(*((v if isinstance(v, (tuple, list)) else [v]) for v in (made, node.meta.get("val"))),
                               strict=False):
            if value is None:
                continue
            if not isinstance(meta, torch.Tensor):
                raise Error("its result is no tensor")
            if not meta.numel():
                raise Error("it has no elements")
            if len(meta.shape) > 8:
                raise Error("it has more than 8 axes")
            known = self.lowering.metas.get(value, meta)
            if (known.shape, self.lowering.named(known.dtype)) != (meta.shape, self.lowering.named(meta.dtype)):
                raise Error(f"it is {type_text(self.lowering.named(meta.dtype), meta.shape)}, and its counterpart "
                            f"{type_text(self.lowering.named(known.dtype), known.shape)}")

    def follow_indices(self, part):
        for node in part:
            if node["op"] == "gather":
                rows, index = self.lowering.shape_of(node["inputs"][0])[0], node["inputs"][1]
                root = self.roots.get(index, index)
                self.rows[root] = min(rows, self.rows.get(root, rows))
            elif ops()[node["op"]]["class"] == "movement" and node["inputs"][0] in self.roots:
                self.roots.update(dict.fromkeys(made_by(node), self.roots[node["inputs"][0]]))

    # --- what is made of it

    def sections(self, most):
        return cut(self.parts, most)

    def says_nothing(self, name, node):
        """An input whose floats, or indices of rows, are all equal: a stand-in for data."""
        value = self.known.get(node) if node.op == "placeholder" and node in self.known.of_inputs else None
        if value is None or value.numel() < 2 or not (value == value.reshape(-1)[0]).all():
            return False
        return value.is_floating_point() or name in self.rows

    def array(self, name, empty):
        """The data of an input of the case, or None where it is to be random. `empty`: nodes whose data say nothing."""
        node = self.inputs.get(name)
        value = self.constants[name] if node is None else self.known.get(node)
        if value is None or (node in empty and (value.is_floating_point() or name in self.rows)):
            return None
        value = value.contiguous()
        array = (value.float() if value.dtype == torch.bfloat16 else value).numpy()
        if array.dtype == np.int64 and (array.min() < -1 << 31 or array.max() >= 1 << 31):
            self.too_large.add(name)
            return None
        return as_dtype(array, self.lowering.named(value.dtype))

    def has_value(self, node):
        """Whether the model's data give a value to the node, and the import does not compute it."""
        if node is None or node.op == "placeholder" or self.known.get(node) is not None:
            return False
        sources, seen = [node], set()
        while sources:
            source = sources.pop()
            if source.op == "placeholder" and self.known.get(source) is None:
                return False
            new = set(source.all_input_nodes) - seen
            seen |= new
            sources += new
        return True

    def graph(self, nodes, wanted):
        types = {name: type_text(self.lowering.named(meta.dtype), meta.shape)
                 for name, meta in self.lowering.metas.items()}
        graph = case_graph(nodes, types, {}, [self.names[name] for name in wanted if name in self.names])
        empty = self.known.that_follow_from(
            node for name, node in self.inputs.items() if self.says_nothing(name, node))
        given = {entry["name"]: self.array(entry["name"], empty) for entry in graph.inputs
                 if entry["name"] in self.inputs or entry["name"] in self.constants}
        fills, approximated = fills_of({name: array for name, array in given.items() if array is not None}, self.files)
        approximated += sorted(self.too_large & given.keys())
        approximated += [name for name, array in given.items()
                         if array is None and self.has_value(self.inputs.get(name))]
        self.approximated += [name for name in approximated if name not in self.approximated]
        for entry in graph.inputs:
            name = entry["name"]
            if name in fills:
                entry["fill"] = fills[name]
            elif name in self.rows:
                entry["fill"] = {"tokens": {"count": self.rows[name]}}
        return graph

    def source_of(self, name):
        """The node of the program that a node of the case belongs to."""
        return self.sources[name].name

    def unmapped_table(self):
        return [{"op": op, "count": len(nodes), "why": why, "nodes": nodes}
                for (op, why), nodes in sorted(self.unmapped.items())]


def constants_of(program):
    """Parameters, buffers and constants by the name of their placeholder."""
    signature, found = program.graph_signature, {}
    for entry in signature.input_specs:
        target = entry.target
        tensor = program.state_dict.get(target, program.constants.get(target)) if target else None
        if isinstance(tensor, torch.Tensor):
            found[entry.arg.name] = tensor.detach()
    return found


def walk(program, samples=None, refused=None, files=None):
    """The importer after its walk through the program, and the names of the results."""
    importer, results = TorchImporter(program, samples, refused, files), []
    for node in program.graph.nodes:
        importer.visit(node)
        if node.op == "output":
            results = [arg for arg in node.args[0] if isinstance(arg, torch.fx.Node)]
    for node, value in importer.lowering.values.items():
        if isinstance(value, str):
            importer.names[node.name] = value
    return importer, [node.name for node in results]


def import_torch(path, sizes, inputs=None, files=None):
    """A function that walks through the program. `inputs`: a file with data of its inputs."""
    program, samples = loaded(path, sizes)
    if inputs:
        arrays = read_inputs(inputs, types_of(program))
        samples.update((name, torch.from_numpy(array)) for name, array in arrays.items())
    return lambda refused: walk(program, samples, refused, files)


def types_of(program):
    """(dtype of numpy, shape) of the inputs, as read_inputs asks."""
    metas = {node.name: node.meta.get("val") for node in program.graph.nodes if node.op == "placeholder"}
    tensors = {name: metas[name] for name in user_inputs(program) if isinstance(metas.get(name), torch.Tensor)}
    return {name: (str(meta.dtype).removeprefix("torch."), meta.shape) for name, meta in tensors.items()}
