#!/usr/bin/env python3
"""A worker with a fault of one's choice, for the tests of fusesmith: what each does must end in the right verdict.

usage: faulty_worker.py FAULT

Computes graphs of `relu` and `add` over f32 tensors of one shape, exactly, in plain Python. FAULT is a name of FAULTS
below, or `none`.
"""
import json
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time

OUT = sys.stdout.buffer


def send(header, payload=b"", magic=b"FSM1", lengths=None, times=1):
    text = json.dumps(header).encode()
    header_length, payload_length = lengths or (len(text), len(payload))
    # At once: what follows a reply is noticed only if it is there when the reply has been read.
    OUT.write((magic + struct.pack("<IQ", header_length, payload_length) + text + payload) * times)
    OUT.flush()


def receive():
    start = sys.stdin.buffer.read(16)
    if len(start) < 16:
        sys.exit(0)
    header_length, payload_length = struct.unpack("<IQ", start[4:])
    header = json.loads(sys.stdin.buffer.read(header_length))
    return header, sys.stdin.buffer.read(payload_length)


def floats(data):
    return list(struct.unpack(f"<{len(data) // 4}f", data))


def compute(graph, inputs):
    """Values of all nodes, by name."""
    values = dict(inputs)
    for node in graph["nodes"]:
        operands = [values[name] for name in node["inputs"]]
        if node["op"] == "relu":
            values[node["name"]] = [max(x, 0.0) for x in operands[0]]
        else:
            pairs = zip(operands[0], operands[1], strict=True)
            values[node["name"]] = [struct.unpack("<f", struct.pack("<f", a + b))[0] for a, b in pairs]
    return {node["name"]: values[node["name"]] for node in graph["nodes"]}


def is_first():
    """Whether no worker came here before; the folder of temporary files knows."""
    try:
        os.mkdir(os.path.join(tempfile.gettempdir(), "not-the-first"))
    except FileExistsError:
        return False
    return True


def burn(seconds):
    """Computes until this process has had so much time of a CPU."""
    begun = time.process_time()
    while time.process_time() - begun < seconds:
        pass


class Worker:
    def __init__(self, fault):
        self.fault, self.graph, self.types, self.runs, self.first, self.last = fault, None, None, 0, None, None

    def hello(self):
        if self.fault == "exits_at_hello":
            sys.exit("no such device")
        if self.fault == "hangs_at_hello":
            time.sleep(3600)
        if self.fault == "prints_to_standard_output":
            print("loading the library ...", flush=True)
        if self.fault == "floods_standard_error":
            sys.stderr.write("a line of a log\n" * 100000)
        if self.fault == "leaves_a_child":  # which keeps the worker's standard output open
            subprocess.Popen(["sleep", "3600"])
        protocol = 2 if self.fault == "other_protocol" else 1
        return {"type": "hello", "protocol": protocol, "name": "faulty", "versions": {"faulty": "1.4.2"},
                "device": "cpu"}

    def compile(self, request):
        self.graph, self.types = request["graph"], request["types"]
        if self.fault == "differs_after_six_runs":
            self.runs = 0
        if self.fault == "hangs_at_compile" or (self.fault == "hangs_once" and is_first()):
            time.sleep(3600)
        if self.fault == "burns_at_compile":
            burn(2)
        if self.fault == "stops_at_compile" or (self.fault == "stops_once" and is_first()):
            os.kill(os.getpid(), signal.SIGSTOP)
        if self.fault == "leaves_half_a_file":
            library = os.path.join(os.environ["TORCHINDUCTOR_CACHE_DIR"], "main.so")
            if os.path.exists(library):
                sys.exit("main.so: file too short")
            os.makedirs(os.path.dirname(library), exist_ok=True)
            with open(library, "wb"):
                time.sleep(3600)
        if self.fault == "ends_by_signal_at_compile":
            os.kill(os.getpid(), signal.SIGSEGV)
        names = [node["name"] for node in self.graph["nodes"]]
        regions = {"plan_without_a_node": [{"nodes": names[:-1]}],
                   "plan_with_a_node_twice": [{"nodes": names}, {"nodes": names[-1:]}],
                   "plan_with_an_unknown_node": [{"nodes": [*names, "no_such_node"]}],
                   "plan_out_of_order": [{"nodes": [name]} for name in reversed(names)]}.get(self.fault, "each_node")
        return {"type": "plan", "regions": regions}

    def run(self, inputs):
        """Results by name, after the fault."""
        self.runs += 1
        results = compute(self.graph, inputs)
        if self.first is None:
            self.first = results
        last, self.last = self.last, results
        if self.fault == "zeros":
            return {name: [0.0] * len(x) for name, x in results.items()}
        if self.fault == "nan_everywhere":
            return {name: [float("nan")] * len(x) for name, x in results.items()}
        if self.fault == "first_answer_again":
            return self.first
        if self.fault == "answer_of_the_call_before":
            return last or {name: [0.0] * len(x) for name, x in results.items()}
        if self.fault == "first_run_differs" and self.runs == 1:
            return {name: [y + 1.0 for y in x] for name, x in results.items()}
        if self.fault == "differs_after_six_runs" and self.runs > 6:
            return {name: [x[0] + 2.0 ** -20, *x[1:]] for name, x in results.items()}
        if self.fault == "differs_from_run_to_run" and self.runs % 4 == 0:
            return {name: [x[0] + 2.0 ** -20, *x[1:]] for name, x in results.items()}
        return results

    def answer(self, request, payload):
        size = len(payload) // len(request["tensors"])
        inputs = {tensor["name"]: floats(payload[i * size:(i + 1) * size])
                  for i, tensor in enumerate(request["tensors"])}
        results = self.run(inputs)
        tensors = [{"name": name, "type": self.types[name]} for name in results]
        data = b"".join(struct.pack(f"<{len(x)}f", *x) for x in results.values())
        header = {"type": "results", "tensors": tensors, "problems": []}
        self.misreport(header, data)
        send(header, data)

    def misreport(self, header, data):
        """Sends another reply than the right one and ends, or changes the header."""
        tensors, fault = header["tensors"], self.fault
        if fault == "exits_at_run":
            sys.exit(3)
        if fault == "hangs_at_run":
            time.sleep(3600)
        if fault == "starts_a_large_process":
            subprocess.Popen([sys.executable, "-c", "import time; x = b'1' * (900 << 20); time.sleep(3600)"])
            time.sleep(3600)
        if fault == "overwrites_an_input":
            header["problems"] = [{"kind": "source_overwritten", "value": "x", "element": 1}]
        if fault == "writes_around_an_output":
            header["problems"] = [{"kind": "guard_overwritten", "value": tensors[-1]["name"], "element": 0}]
        if fault == "unknown_problem":
            header["problems"] = [{"kind": "bad_mood", "value": "x"}]
        if fault == "problems_are_no_list":
            header["problems"] = {"kind": "source_overwritten"}
        if fault == "other_shape":
            tensors[-1]["type"] = "f32[" + str(len(data) // 4 // len(tensors)) + ",1]"
        if fault == "other_dtype":
            tensors[-1]["type"] = tensors[-1]["type"].replace("f32", "i32")
        if fault == "unknown_tensor":
            tensors[-1]["name"] = "no_such_value"
        bad = {"sends_twice": lambda: send(header, data, times=2),
               "missing_tensor": lambda: send(dict(header, tensors=tensors[:-1]), data[:len(data) // len(tensors)]
                                              * (len(tensors) - 1)),
               "too_few_bytes": lambda: send(header, data[:-4]),
               "too_many_bytes": lambda: send(header, data + b"\0\0\0\0"),
               "huge_header": lambda: send(header, data, lengths=(2 ** 31, 0)),
               "huge_payload": lambda: send(header, data, lengths=(len(json.dumps(header)), 2 ** 60)),
               "deep_header": lambda: OUT.write(b"FSM1" + struct.pack("<IQ", 2 ** 24, 0) + b"[" * 2 ** 24),
               "no_json": lambda: OUT.write(b"FSM1" + struct.pack("<IQ", 4, 0) + b"{{{{"),
               "unknown_reply": lambda: send({"type": "greetings"}),
               "raises": lambda: send({"type": "error", "kind": "failed", "traceback": "line 3\nRuntimeError\n",
                                       "what": f"RuntimeError: {'no kernel image ' * 60}"}),
               "wrong_result": lambda: send({"type": "error", "kind": "wrong_result", "what": "'y' is missing"}),
               "runs_out_of_memory": lambda: send({"type": "error", "kind": "out_of_memory", "what": "2 TB asked"}),
               "unknown_error": lambda: send({"type": "error", "kind": "sadness", "what": ""})}
        if fault in bad:
            bad[fault]()
            OUT.flush()
            return serve(self)
        if fault == "truncated_frame":
            text = json.dumps(header).encode()
            OUT.write(b"FSM1" + struct.pack("<IQ", len(text), len(data)) + text + data[:5])
            OUT.flush()
            sys.exit(0)
        return None


def serve(worker):
    while True:
        request, payload = receive()
        if request["type"] == "hello":
            send(worker.hello())
        elif request["type"] == "compile":
            if any(node["op"] not in ("relu", "add") for node in request["graph"]["nodes"]):
                send({"type": "unsupported", "why": "only relu and add"})
            else:
                send(worker.compile(request))
        elif request["type"] == "run":
            worker.answer(request, payload)
        else:
            send({"type": "error", "kind": "failed", "what": "unknown request " + request["type"]})


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    serve(Worker(sys.argv[1]))
