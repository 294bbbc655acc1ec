"""The other side of the protocol, for scripts that start workers: tests, and the record of another worker's results."""

import os
import subprocess
import sys

import numpy as np
import package
from protocol import QUANTIZED, STORAGE, Type, pack_tensors, read_frame, unpack_tensors, write_frame


class Worker:
    """A worker process, and requests to it. `script`: its path in the folder of workers, such as jax/jax_worker.py."""

    def __init__(self, script, mode, log=None):
        command = [sys.executable, os.path.join(package.WORKERS, script), mode]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log)
        self.hello = self.ask({"type": "hello", "protocol": 1})

    def ask(self, header, payload=b""):
        return self.exchange(header, payload)[0]

    def exchange(self, header, payload=b""):
        write_frame(self.process.stdin, header, payload)
        return read_frame(self.process.stdout)

    def compile(self, nodes, types, inputs, outputs, states=()):
        graph = {"inputs": [{"name": name, "type": types[name]} for name in inputs], "states": list(states),
                 "nodes": nodes, "outputs": outputs}
        return self.ask({"type": "compile", "graph": graph, "types": types, "options": {"tf32": False}})

    def run(self, arrays, types, buffers="new"):
        """Returns (reply, results by name)."""
        tensors, payload = pack_tensors(arrays, {name: Type(types[name]) for name in arrays})
        reply, data = self.exchange({"type": "run", "buffers": buffers, "tensors": tensors}, payload)
        readable = reply["type"] == "results" and all(t["type"].split("[")[0] in STORAGE for t in reply["tensors"])
        return reply, unpack_tensors(reply, data) if readable else {}

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=30)
        self.process.stdout.close()
        return self.process.returncode


def to_bf16(values):
    """Bits of the nearest bf16 of finite f32 values."""
    bits = np.asarray(values, np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def to_storage(values, dtype):
    if dtype == "bf16":
        return to_bf16(values)
    if dtype in QUANTIZED:
        import numpy_dtypes

        return numpy_dtypes.to_bits(np.asarray(values, np.float32).astype(numpy_dtypes.DTYPES.get(dtype, np.int8)))
    with np.errstate(over="ignore"):
        return np.asarray(values).astype({"f32": np.float32, "f16": np.float16, "i32": np.int32, "bool": bool}[dtype])


def to_f64(array, dtype):
    if dtype == "bf16":
        array = (array.astype(np.uint32) << 16).view(np.float32)
    if dtype in QUANTIZED:
        import numpy_dtypes

        array = numpy_dtypes.from_bits(array, dtype)
    return array.astype(np.float64)
