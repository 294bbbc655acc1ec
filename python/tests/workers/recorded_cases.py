"""Cases with recorded results, for recorded_worker.py, and what fusesmith says of them."""

import json
import os
import shlex
import subprocess
import sys

import workers  # finds the modules of the workers

# isort: split
import numpy as np
from fusesmith.vocabulary import DTYPES
from import_case import as_dtype

HERE = os.path.dirname(os.path.abspath(__file__))
LAWFUL = ("identical", "reassociation", "precision_policy")
BATCH = 200  # cases of one call of replay


def program():
    return os.environ.get("FUSESMITH_BINARY") or os.path.join(workers.ROOT, "build/release/fusesmith")


def literal_bits(given):
    """The bits of an input of a case, or None where its data are no literal."""
    digits = given["fill"].get("literal", {}).get("bits")
    width = DTYPES[given["type"].partition("[")[0]]["bytes"]
    return None if digits is None else np.frombuffer(bytes.fromhex(digits), f">u{width}").astype(f"u{width}")


def write_recorded(graph, results, dtypes, folder):
    """Writes the case file and what the worker answers; the first output names both. Returns the path of the case."""
    path = os.path.join(folder, f"{graph.outputs[0]}.json")
    graph.save(path, seed=1)
    stored = {f"in.{given['name']}": literal_bits(given) for given in graph.inputs}
    for name, array in results.items():
        array = as_dtype(array, dtypes[name])
        stored[f"out.{name}"] = array.view(np.uint16) if dtypes[name] == "bf16" else array
    np.savez(path.removesuffix(".json") + ".npz", **stored)
    return path


def judged(binary, paths, folder, library=""):
    """File -> the case of `replay --json`. `library`: whose arithmetic the results have (measured.json)."""
    found = {}
    worker = [sys.executable, os.path.join(HERE, "recorded_worker.py"), folder, *([library] if library else [])]
    command = [binary, "replay", "--baseline=cpu", "--json", f"--candidate=remote:{shlex.join(worker)}"]
    for start in range(0, len(paths), BATCH):
        done = subprocess.run([*command, *paths[start:start + BATCH]], capture_output=True, text=True, check=False)
        if not done.stdout.strip():
            raise RuntimeError(done.stderr.strip())
        answer = json.loads(done.stdout)
        found.update({case["file"]: case for case in answer.get("cases", [answer])})
    return found
