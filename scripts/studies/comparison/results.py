"""What both backends computed for a case, as `fusesmith replay --values` writes it, and what each rule says of it."""

import hashlib
import itertools

import numpy as np
import torch
import torch_casts
import torch_ops
import torch_tensors
from comparison.mixes import MIXES
from comparison.rules import ASSERT_CLOSE, EPSILON, Output, failed_rules
from fusesmith.vocabulary import QUANTIZED
from fusesmith.vocabulary import epsilon as epsilon_of
from program import Program
from protocol import Graph, Type, read_frame

MOVES = frozenset({"reshape", "permute", "unsqueeze", "squeeze", "broadcast_to", "slice", "chunk", "concat", "roll",
                   "flip", "gather", "index_copy", "cast"})


PRODUCTS = ("matmul", "linear", "einsum")


def cast_in_f64(node, types):
    """A cast to a narrower float dtype is left out, as torch._dynamo.debug_utils.cast_to_fp64 does."""
    if node["dtype"] in ("s8", "s4"):
        return torch_casts.cast(node, types)
    dtype = torch_ops.DTYPES[node["dtype"]]
    return lambda x: x.to(torch.float64 if dtype.is_floating_point else dtype)


LOWERINGS_IN_F64 = {**torch_ops.LOWERINGS, "cast": cast_in_f64}


class Case:
    """A frame of the file: the header, and the tensors by (role, step, name)."""

    def __init__(self, header, payload):
        self.header = header
        self.graph = Graph(header["compile"])
        self.arrays, at = {}, 0
        for tensor in header["tensors"]:
            kind = Type(tensor["type"])
            array = np.frombuffer(payload, kind.storage, int(np.prod(kind.shape, dtype=np.int64)), at)
            at += kind.nbytes
            self.arrays[tensor["role"], tensor["step"], tensor["name"]] = array.reshape(kind.shape)

    @property
    def ran(self):
        return any(role == "candidate" for role, _, _ in self.arrays)

    @property
    def steps(self):
        return range(1 + max(step for _, step, _ in self.arrays))

    def array(self, role, step, name):
        """None where the case ended before."""
        return self.arrays.get((role, step, name))

    def tensor(self, role, step, name):
        bits = torch.from_numpy(self.arrays[role, step, name].copy())
        return bits.view(torch.bfloat16) if self.graph.types[name].dtype == "bf16" else bits

    def numbers(self, role, step, name):
        """Quantized floats as f32, quantized integers as int8; others as they are."""
        dtype = self.graph.types[name].dtype
        if dtype not in QUANTIZED:
            return self.tensor(role, step, name)
        tensor = torch_tensors.from_array(torch_tensors.held(self.arrays[role, step, name].copy(), dtype), dtype)
        return tensor.float() if tensor.is_floating_point() else tensor

    def digest(self, role):
        """Of all results of a backend; equal for equal bits."""
        digest = hashlib.blake2b(digest_size=8)
        for (its_role, step, name), array in sorted(self.arrays.items(), key=lambda item: item[0]):
            if its_role == role:
                digest.update(f"{step} {name} ".encode() + array.tobytes())
        return digest.hexdigest()


def read_cases(path):
    with open(path, "rb") as file:
        while file.peek(1):
            yield Case(*read_frame(file))


def in_f64(tensor):
    return tensor.double() if tensor.is_floating_point() else tensor


def exact_results(case):
    """(step, name) -> the result of the graph in f64, which goes on from its own states."""
    graph, exact = case.graph, {}
    names = graph.results()
    program = Program(graph, names, LOWERINGS_IN_F64)
    states = graph.inputs[len(graph.inputs) - len(graph.next_states):]
    values = {name: in_f64(case.numbers("state", 0, name)) for name in states}
    for step in case.steps:
        inputs = [name for role, at, name in case.arrays if role == "input" and at == step]
        values.update({name: in_f64(case.numbers("input", step, name)) for name in inputs})
        with torch.no_grad():
            results = dict(zip(names, program(*(values[name] for name in graph.inputs)), strict=True))
        exact.update({(step, name): result for name, result in results.items()})
        following = [results.get(name, values.get(name)) for name in graph.next_states]
        values.update(zip(states, following, strict=True))
    return exact


def makers(graph):
    """value -> the ops whose results it has, beyond ops that only move elements."""
    made = {}
    for node in graph.nodes:
        sources = frozenset().union(*(made.get(name, frozenset()) for name in node.get("inputs", [])))
        own = sources if node["op"] in MOVES else frozenset({node["op"]})
        made.update(dict.fromkeys(graph.outputs_of(node), own))
    return made


def fp4_operands(graph):
    """The most operands of f4e2m1 that a product has; 1 where f4e2m1 is elsewhere."""
    fp4 = {name for name, kind in graph.types.items() if kind.dtype == "f4e2m1"}
    counts = [sum(name in fp4 for name in node["inputs"][:2]) for node in graph.nodes if node["op"] in PRODUCTS]
    return max([*counts, min(1, len(fp4))])


def outputs_of(case, mix):
    """Every result of every step; and what kept f64 from being computed, if anything did."""
    try:
        exact, problem = exact_results(case) if mix.needs_exact else {}, ""
    except Exception as error:  # the rules do without, and the row says so
        exact, problem = {}, f"{type(error).__name__}: {error}"
    made, ops = makers(case.graph), frozenset(node["op"] for node in case.graph.nodes)
    fp4, read = fp4_operands(case.graph), case.numbers if mix.reads_numbers else case.tensor
    return [Output(read("candidate", step, name), read("baseline", step, name), exact.get((step, name)),
                   made.get(name, frozenset()), ops, case.graph.types[name].dtype, fp4)
            for step, name in itertools.product(case.steps, case.graph.results())], problem


def largest(values, default=0.0):
    """NaN counts as infinite."""
    return float(torch.nan_to_num(values, nan=float("inf"), posinf=float("inf")).max()) if values.numel() else default


def share_of_tolerance(output):
    """The largest difference to the baseline as a share of assert_close's default tolerance; NaN equals NaN."""
    got, expected = in_f64(output.got), in_f64(output.expected)
    if not got.is_floating_point() or output.dtype in QUANTIZED:
        return 0.0 if torch.equal(got, expected) else float("inf")
    rtol, atol = ASSERT_CLOSE[output.got.dtype]
    equal = (got == expected) | (got.isnan() & expected.isnan())
    return largest(torch.where(equal, 0.0, (got - expected).abs() / (atol + rtol * expected.abs())))


def size_of_change(got, other, dtype=""):
    """How far two results of one value are apart, in units of the dtype's epsilon times the largest finite element of
    the second. `dtype`: of the graph, where the tensors are numbers of a quantized one."""
    if dtype not in QUANTIZED and not got.is_floating_point():
        return 0.0 if torch.equal(got, other) else float("inf")
    unit = epsilon_of(dtype) if dtype in QUANTIZED else EPSILON[got.dtype]
    got, other = got.double(), other.double()
    scale = largest(torch.where(other.isfinite(), other.abs(), 0.0))
    equal = (got == other) | (got.isnan() & other.isnan())
    return largest(torch.where(equal, 0.0, (got - other).abs() / max(unit * scale, 1e-300)))


def is_finite(case):
    """Whether the baseline's results are."""
    return all(bool(case.numbers("baseline", step, name).isfinite().all())
               for step, name in itertools.product(case.steps, case.graph.results()))


def judged(case, clean=None, mix="all"):
    """What is kept of a case, as JSON. `failed`: the rules that it fails; what fusesmith says is `finding`. `clean`:
    the row of the case without a fault; where the bits are the same, the rules say the same."""
    header, mix = case.header, MIXES[mix]
    row = {"case": number_of(header["file"]), "verdict": header["verdict"], "finding": header["finding"]}
    if header["known"]:
        row["known"] = True
    if not case.ran:
        return row
    row.update(baseline=case.digest("baseline"), candidate=case.digest("candidate"))
    if clean and all(clean.get(role) == row[role] for role in ("baseline", "candidate")):
        return {**clean, **row}
    row["finite"] = is_finite(case)
    if row["finite"] and row["baseline"] == row["candidate"] and not mix.needs_equal:
        return {**row, "failed": [], "share": 0.0, "size": 0.0}
    outputs, problem = outputs_of(case, mix)
    row["failed"] = failed_rules(outputs, mix.rules)
    row["share"] = max((share_of_tolerance(output) for output in outputs), default=0.0)
    row["size"] = max((size_of_change(output.got, output.expected, output.dtype if mix.reads_numbers else "")
                       for output in outputs), default=0.0)
    return {**row, "problem": problem} if problem else row


def number_of(file):
    """Of a generated case, SEED-SHARD-NUMBER.json."""
    return int(file.rpartition("-")[2].removesuffix(".json"))
