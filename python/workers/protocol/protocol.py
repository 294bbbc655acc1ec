"""The worker's side of docs/workers.md: frames, tensors and the loop that answers requests.

A worker script calls `redirect_standard_output()` before it imports the library that it drives, then
`serve(make_executor)`. `make_executor` imports the library, so that a missing one is answered as `unavailable`.
python/workers/ has a folder for each library: LIBRARY_worker.py is the Executor, LIBRARY_ops.py what it calls for each
op. program.py beside this file makes one function of a graph. docs/adding.md says what else a new worker needs.
Tensors are numpy arrays; those of bf16 and quantized dtypes, which numpy lacks, are arrays of their bits.
"""

import contextlib
import json
import os
import platform
import struct
import sys
import traceback

import package
from fusesmith.vocabulary import FLOATS, NARROW, QUANTIZED

# A campaign starts one worker for each of its jobs: each computes with one thread, unless the user says otherwise.
for _variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

try:
    import numpy as np
except ImportError as missing:
    sys.exit(package.without(missing))

MAGIC = b"FSM1"
PREFIX = struct.Struct("<4sIQ")
MAX_HEADER = 1 << 24
FILE_FROM = 1 << 20  # payloads of this many bytes go through a file where fusesmith offers one
STORAGE = {"f32": np.float32, "f16": np.float16, "bf16": np.uint16, "i32": np.int32, "bool": np.bool_,
           **dict.fromkeys(QUANTIZED, np.uint8), "s8": np.int8}


class Unsupported(Exception):
    """The library has no kernel for the graph: a verdict of its own, counted by this text."""


class WrongResult(Exception):
    """The program's results are not those of the graph: a defect of the program, as this text says."""


class Unavailable(Exception):
    """The worker cannot start: a mode that does not exist, a library that is missing."""


class Type:
    """`bf16[4,16]` taken apart."""

    def __init__(self, text):
        self.text = text
        self.dtype, _, dims = text.rstrip("]").partition("[")
        self.shape = tuple(int(dim) for dim in dims.split(",") if dim)

    @property
    def storage(self):
        return np.dtype(STORAGE[self.dtype])

    @property
    def nbytes(self):
        return int(np.prod(self.shape, dtype=np.int64)) * self.storage.itemsize

    @property
    def is_float(self):
        return self.dtype in FLOATS

    @property
    def is_narrow(self):
        return self.dtype in NARROW


class Graph:
    """A request to compile: the graph of a case file, the type of every value, and the options."""

    def __init__(self, request):
        graph = request["graph"]
        self.inputs = [value["name"] for value in graph.get("inputs", []) + graph.get("states", [])]
        self.nodes = graph["nodes"]
        self.types = {name: Type(text) for name, text in request["types"].items()}
        self.options = request.get("options", {})
        self.layouts = request.get("layouts", {})
        self.definitions = request.get("definitions", {})
        self.outputs = list(graph["outputs"])
        self.next_states = [state["next"] for state in graph.get("states", [])]

    def outputs_of(self, node):
        name = node["name"]
        if name in self.types:
            return [name]
        count = 0
        while f"{name}.{count}" in self.types:
            count += 1
        return [f"{name}.{i}" for i in range(count)]

    def parts_of(self, node):
        """The nodes of the formula that defines this node; none if no formula does.

        Inner values are named NODE/VALUE, and have their types.
        """
        definition = self.definitions.get(node["name"])
        if definition is None:
            return []
        inner = Graph(definition)
        names = dict(zip(inner.inputs, node["inputs"], strict=True))
        names.update(zip(inner.outputs, self.outputs_of(node), strict=True))
        parts = []
        for part in inner.nodes:
            name = names.setdefault(part["name"], f"{node['name']}/{part['name']}")
            for value in inner.outputs_of(part):
                self.types[names.setdefault(value, f"{node['name']}/{value}")] = inner.types[value]
            parts.append({**part, "name": name, "inputs": [names[value] for value in part.get("inputs", [])]})
        return parts

    def inlined(self, known):
        """The nodes, with its parts in place of one whose op is not among the `known` ones."""
        return [part for node in self.nodes
                for part in (node["op"] not in known and self.parts_of(node) or [node])]

    def all_values(self):
        return [value for node in self.nodes for value in self.outputs_of(node)]

    def results(self):
        """What an opaque program returns: graph outputs and next states, each once, no inputs."""
        inputs = set(self.inputs)
        return [value for value in dict.fromkeys(self.outputs + self.next_states) if value not in inputs]


class Executor:
    """What a worker implements. Exceptions from `run` are verdicts on the program that is judged."""

    name = "worker"
    who = "the worker"  # returned results, in messages
    device = "cpu"

    def __init__(self):
        self.buffers = {}
        self.retired = {}

    def versions(self):
        return {"python": platform.python_version(), "numpy": np.__version__}

    def compile(self, graph):
        """Returns the plan, or raises Unsupported. A run of the program belongs here if its first run compiles."""
        raise NotImplementedError

    def load(self, arrays, same_buffers):
        """Fresh copies of the inputs, for the program to read: in the buffers of the run before, or in others.

        The retired buffers stay allocated, or the allocator would hand out their addresses again.
        """
        if not same_buffers or set(self.buffers) != set(arrays):
            self.retired = self.buffers
            self.buffers = {name: np.empty_like(array) for name, array in arrays.items()}
        for name, array in arrays.items():
            self.buffers[name][...] = array
        return self.buffers

    def run(self, loaded):
        """Computes one step and returns numpy arrays by name."""
        raise NotImplementedError

    def read_back(self, loaded):
        """The inputs as they are after the run."""
        return loaded


def redirect_standard_output():
    """Returns the stream for replies. Whatever libraries print to descriptor 1 goes to standard error."""
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return replies


def read_exactly(stream, count):
    data = bytearray()
    while len(data) < count:
        part = stream.read(count - len(data))
        if not part:
            raise EOFError
        data += part
    return bytes(data)


def read_frame(stream):
    """Returns (header, payload), or raises EOFError."""
    magic, header_size, payload_size = PREFIX.unpack(read_exactly(stream, PREFIX.size))
    if magic != MAGIC or header_size > MAX_HEADER:
        raise ValueError(f"no frame: it begins with {magic!r}")
    header = json.loads(read_exactly(stream, header_size).decode("utf-8"))
    payload = read_exactly(stream, payload_size)
    if "payload_file" in header:
        with open(header["payload_file"], "rb") as file:
            payload = read_exactly(file, header["payload_bytes"])
    return header, payload


def write_frame(stream, header, payload=b"", reply_file=None):
    """`payload`: bytes, or a list of parts with a buffer of bytes, which follow each other."""
    parts = payload if isinstance(payload, list) else [payload]
    size = sum(map(len, parts))
    if reply_file and size >= FILE_FROM:
        with open(reply_file, "wb") as file:
            file.writelines(parts)
        header = {**header, "payload_file": reply_file, "payload_bytes": size}
        parts, size = [], 0
    text = json.dumps(header).encode("utf-8")
    stream.write(PREFIX.pack(MAGIC, len(text), size))
    stream.write(text)
    stream.writelines(parts)
    stream.flush()


def unpack_tensors(header, payload):
    arrays, at = {}, 0
    for tensor in header["tensors"]:
        kind = Type(tensor["type"])
        end = at + kind.nbytes
        arrays[tensor["name"]] = np.frombuffer(payload[at:end], dtype=kind.storage).reshape(kind.shape)
        at = end
    return arrays


def pack_tensors(arrays, types, who="the worker"):
    """`types` has the type that the graph gives each value; `who` returned the arrays."""
    tensors, parts = [], []
    for name, array in arrays.items():
        expected = types[name]
        if array.dtype != expected.storage or array.shape != expected.shape:
            dtype = expected.dtype if array.dtype == expected.storage else dtype_name(array.dtype)
            got = f"{dtype}[{','.join(map(str, array.shape))}]"
            raise WrongResult(f"{who} returned {got} for {name}, {expected.text} expected")
        tensors.append({"name": name, "type": expected.text})
        parts.append(np.ascontiguousarray(array).tobytes())
    return tensors, b"".join(parts)


def dtype_name(dtype):
    for name, storage in STORAGE.items():
        if np.dtype(storage) == dtype:
            return name
    return str(dtype)


def overwritten_inputs(sent, read_back):
    """One problem for each input whose bits changed, with its first changed element."""
    problems = []
    for name, before in sent.items():
        after = np.ascontiguousarray(read_back[name]).reshape(-1)
        bits = f"u{before.dtype.itemsize}"
        changed = np.flatnonzero(before.reshape(-1).view(bits) != after.view(bits))
        if changed.size:
            at = int(changed[0])
            problems.append({"kind": "source_overwritten", "value": name, "element": at,
                             "bits": int(after.view(bits)[at])})
    return problems


MOST_OF_TRACEBACK = 1 << 16  # characters
OUT_OF_MEMORY_TEXTS = ("out of memory", "can't allocate memory", "RESOURCE_EXHAUSTED", "bad allocation", "bad_alloc",
                       "Failed to allocate memory")


def is_of_worker(file):
    return os.path.dirname(os.path.dirname(os.path.abspath(file))) == package.WORKERS


def is_of_package(file):
    return os.path.dirname(os.path.abspath(file)) == os.path.join(os.path.dirname(package.WORKERS), "fusesmith")


def place_text(error):
    """Where in the judged file it happened: not in a worker or a module of ours, nor in an installed library."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        is_own = is_of_worker(frame.filename) or is_of_package(frame.filename)
        if not is_own and os.path.isfile(frame.filename) and (
                "site-packages" not in frame.filename and not frame.filename.startswith(sys.base_prefix)):
            return f" ({os.path.basename(frame.filename)}:{frame.lineno})"
    return ""


def traceback_text(error):
    """The traceback from the first frame that is not the worker's own: those before say nothing of the error."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None and is_of_worker(trace.tb_frame.f_code.co_filename):
        trace = trace.tb_next
    return "".join(traceback.format_exception(type(error), error, trace))


def first_paragraph(message):
    """What follows an empty line is advice; the traceback has all."""
    return message.split("\n\n")[0]


def error_reply(error):
    lines = traceback_text(error)
    sys.stderr.write(lines)
    message = str(error).strip()
    no_memory = isinstance(error, MemoryError) or any(text in message for text in OUT_OF_MEMORY_TEXTS)
    what = f"{type(error).__name__}: {first_paragraph(message)}{place_text(error)}"
    return {"type": "error", "kind": "out_of_memory" if no_memory else "failed", "what": one_line(what),
            "traceback": lines[-MOST_OF_TRACEBACK:]}


def one_line(text, limit=500):
    return " ".join(text.split())[:limit]


class Server:
    """Answers requests with one executor."""

    def __init__(self, make_executor):
        self.make_executor = make_executor
        self.executor = None
        self.graph = None

    def answer(self, request, payload):
        """Returns (header, payload)."""
        handlers = {"hello": self.hello, "compile": self.compile, "run": self.run}
        handler = handlers.get(request.get("type"))
        if handler is None:
            return {"type": "error", "kind": "failed", "what": f"unknown request {request.get('type')!r}"}, b""
        try:
            return handler(request, payload)
        except Exception as error:  # whatever the program raises is a verdict, and the worker goes on
            return error_reply(error), b""

    def hello(self, _request, _payload):
        try:
            self.executor = self.executor or self.make_executor()
        except (ImportError, OSError, Unavailable) as error:
            what = package.without(error) if isinstance(error, ModuleNotFoundError) else str(error)
            return {"type": "error", "kind": "unavailable", "what": one_line(what)}, b""
        ours = self.executor
        return {"type": "hello", "protocol": 1, "name": ours.name, "versions": ours.versions(),
                "device": ours.device, "files": True}, b""

    def compile(self, request, _payload):
        self.graph = Graph(request)
        self.executor.buffers = {}  # those of another graph: a name may have another type now
        try:
            plan = self.executor.compile(self.graph)
        except Unsupported as reason:
            return {"type": "unsupported", "why": one_line(str(reason), 200)}, b""
        return {"type": "plan", **plan}, b""

    def run(self, request, payload):
        try:
            return self.results(request, payload)
        except WrongResult as error:
            return {"type": "error", "kind": "wrong_result", "what": one_line(str(error))}, b""

    def results(self, request, payload):
        sent = unpack_tensors(request, payload)
        loaded = self.executor.load(sent, request.get("buffers") == "same")
        results = self.executor.run(loaded)
        problems = overwritten_inputs(sent, self.executor.read_back(loaded))
        tensors, data = pack_tensors(results, self.graph.types, self.executor.who)
        return {"type": "results", "tensors": tensors, "problems": problems}, data


def serve(make_executor, replies):
    """Answers requests until standard input ends."""
    server = Server(make_executor)
    requests = os.fdopen(os.dup(0), "rb")
    with contextlib.suppress(EOFError, BrokenPipeError):
        while True:
            request, payload = read_frame(requests)
            reply, data = server.answer(request, payload)
            write_frame(replies, reply, data, request.get("reply_file"))
    # Libraries' threads may still run; nothing of this process is needed any more.
    sys.stderr.flush()
    os._exit(0)


def measured_arithmetic(library):
    """Errors of the library's functions, as measure.py beside them found them (measured.json)."""
    path = os.path.join(package.WORKERS, "measured.json")
    with contextlib.suppress(FileNotFoundError), open(path, encoding="utf-8") as file:
        return json.load(file).get(library, {}).get("arithmetic", {})
    return {}


def input_types(graph, node):
    return [graph.types[name] for name in node.get("inputs", [])]


def arithmetic_by_op(graph, arithmetic_of):
    """For opaque_plan(arithmetic_of=...): what `arithmetic_of`, as of node_plan, returns for the nodes of each op."""
    by_op = {}
    for node in graph.nodes:
        if own := arithmetic_of(node, input_types(graph, node)):
            by_op.setdefault(node["op"], {}).update(own)
    return by_op


def opaque_plan(arithmetic, **more):
    """One region in all: a compiler may keep or drop every implicit rounding. `more`: keys of the contract, also in
    place of these."""
    return {"regions": "whole_graph", "contract": {"roundings": "any", "arithmetic": arithmetic, **more}}


def node_plan(graph, arithmetic, arithmetic_of=None, **more):
    """One region per node that keeps its rounding. `sdpa` is one kernel here, which stores no inner value.

    `arithmetic_of`: a function of (node, types of its inputs) that returns entries of the contract's arithmetic that
    differ for this node.
    """
    kept = {"roundings": "kept", "arithmetic": arithmetic, **more}
    regions, differs = [], False
    for node in graph.nodes:
        own = arithmetic_of(node, input_types(graph, node)) if arithmetic_of else {}
        roundings = "any" if node["op"] == "sdpa" else "kept"
        differs |= bool(own) or roundings != "kept"
        contract = {**kept, "roundings": roundings, "arithmetic": {**arithmetic, **own}}
        regions.append({"nodes": [node["name"]], "patterns": [], "contract": contract})
    return {"regions": regions if differs else "each_node", "contract": kept}
