"""Programs of torch.export beside what the import makes of them: PyTorch's own value of every value of the case."""

import os
import subprocess

import workers  # noqa: F401 (finds the modules of the workers)

# isort: split
import numpy as np
import package  # noqa: F401 (finds fusesmith)
import torch
from fusesmith.vocabulary import FLOATS
from import_case import DataFiles, as_dtype, case_graph, literal, made_by, type_text
from import_model import accepted_cases
from import_torch import walk
from protocol import read_frame, unpack_tensors
from recorded_cases import judged, program, write_recorded
from torch_program import loaded

LIBRARY = "torch"


class Recorded(torch.fx.Interpreter):
    """`values`: what every node of the program is, for PyTorch."""

    def __init__(self, exported):
        super().__init__(exported.graph_module)
        self.exported, self.values = exported, {}

    def run_node(self, node):
        made = super().run_node(node)
        # A copy: were there a write in place, the value must be that of the time when it was made.
        self.values[node.name] = made.clone() if isinstance(made, torch.Tensor) else made
        return made

    def given(self, entry, samples):
        if hasattr(entry.arg, "value"):  # a number or None, which is part of the program
            return entry.arg.value
        held = self.exported.state_dict.get(entry.target, self.exported.constants.get(entry.target))
        return (samples[entry.arg.name] if held is None else held).clone()

    def results(self, samples):
        """The outputs of the program by name, as the model returns them."""
        signature = self.exported.graph_signature
        made = self.run(*(self.given(entry, samples) for entry in signature.input_specs), enable_io_processing=False)
        names = [spec.arg.name for spec in signature.output_specs]
        wanted = set(signature.user_outputs)
        return [value for name, value in zip(names, made, strict=True) if name in wanted]


def array_of(tensor, dtype):
    tensor = tensor.detach().contiguous()
    return as_dtype((tensor.float() if tensor.dtype == torch.bfloat16 else tensor).numpy(), dtype)


class ImportedProgram:
    """A program that was saved, the case that the import makes of it, and PyTorch's values of its nodes."""

    def __init__(self, path):
        os.environ.setdefault("FUSESMITH_BINARY", program())
        self.program, self.samples = loaded(path, {})
        self.files = DataFiles()
        self.importer, [(_, self.case)] = accepted_cases(
            lambda refused: walk(self.program, self.samples, refused, self.files), "program", 0)
        self.recorded = Recorded(self.program)
        with torch.no_grad():
            self.results = self.recorded.results(self.samples)
        self.lowering = self.importer.lowering
        self.nodes = {}  # of the program, by value of the case
        for node, value in self.lowering.values.items():
            for name, part in ([(value, None)] if isinstance(value, str) else
                               [(name, i) for i, name in enumerate(value) if name]):
                self.nodes.setdefault(name, (node.name, part))

    def value(self, name):
        """PyTorch's value of a value of the case, in the case's dtype."""
        if name in self.importer.constants:
            return array_of(self.importer.constants[name], self.dtype(name))
        node, part = self.nodes[name]
        made = self.recorded.values[node]
        return array_of(made if part is None else made[part], self.dtype(name))

    def dtype(self, name):
        return self.lowering.named(self.lowering.metas[name].dtype)

    def type(self, name):
        return type_text(self.dtype(name), self.lowering.metas[name].shape)

    def part_case(self, part, folder):
        """The case of the nodes that one node of the program became, on PyTorch's own operands."""
        made = {name for node in part for name in made_by(node)}
        read = [name for name in dict.fromkeys(v for node in part for v in node["inputs"]) if name not in made]
        results = {name: self.value(name) for name in sorted(made) if name in self.nodes}
        graph = case_graph(part, {name: self.type(name) for name in read},
                           {name: literal(self.value(name)) for name in read}, ())
        graph.outputs = list(results)
        return write_recorded(graph, results, {name: self.dtype(name) for name in results}, folder)

    def judged_parts(self, folder):
        """(nodes of the case, what `replay --json` says of PyTorch's result) of each node of the program."""
        paths = {self.part_case(part, folder): part for part in self.importer.parts}
        verdicts = judged(program(), list(paths), folder, LIBRARY)
        return [(part, verdicts[path]) for path, part in paths.items()]

    def nan_outputs(self, folder):
        """Outputs of the whole case, as the backend cpu computes them, that are NaN where PyTorch's are not."""
        case, values = (os.path.join(folder, f"whole.{kind}") for kind in ("json", "values"))
        with open(case, "w", encoding="utf-8") as file:
            file.write(self.case)
        os.makedirs(os.path.join(folder, "data"), exist_ok=True)
        for name, array in self.files.arrays.items():
            array.tofile(os.path.join(folder, "data", name))
        subprocess.run([program(), "replay", case, "--baseline=cpu", "--candidate=cpu", f"--values={values}"],
                       capture_output=True, check=False)
        with open(values, "rb") as file:
            header, payload = read_frame(file)
        arrays, found = unpack_tensors(header, payload), []
        for name in header["compile"]["graph"]["outputs"]:
            if name in self.nodes and self.dtype(name) in FLOATS:
                expected = self.value(name)
                found += [name] if (np.isnan(arrays[name].view(expected.dtype)) & ~np.isnan(expected)).any() else []
        return found
