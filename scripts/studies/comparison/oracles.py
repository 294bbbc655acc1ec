#!/usr/bin/env python3
"""What other comparisons say of recorded results: oracles.py FILE...      (FILE: written by record.py)

One line of JSON for each recorded graph, in order: its `nodes`, the `versions` of the worker, and whether the results
pass
  assert_close   torch.testing.assert_close with its default tolerances, against PyTorch's result in f64, rounded
  same           torch._dynamo.utils.same, which compares the distances of the results and of eager PyTorch's results
                 from the result in f64
or why there is no answer.
"""

import base64
import json
import os
import sys

sys.path[1:1] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../python/workers", folder)
                 for folder in ("protocol", "torch")]

import package  # noqa: E402,F401 (finds fusesmith)
import torch  # noqa: E402
import torch_ops  # noqa: E402
from program import Program  # noqa: E402
from protocol import Graph, unpack_tensors  # noqa: E402


def unpacked(record):
    header = {"tensors": [{"name": name, "type": text} for name, text in record["types"].items()]}
    return unpack_tensors(header, bytearray(base64.b64decode(record["bits"])))


def tensors_of(record, graph):
    """name -> torch tensor."""
    made = {}
    for name, array in unpacked(record).items():
        bits = torch.from_numpy(array)
        made[name] = bits.view(torch.bfloat16) if graph.types[name].dtype == "bf16" else bits
    return made


def widened(tensor):
    return tensor.double() if tensor.is_floating_point() else tensor


def computed(graph, tensors, results):
    """`results` by PyTorch's ops, from tensors in the order of the graph's inputs."""
    with torch.no_grad():
        return Program(graph, results, torch_ops.LOWERINGS)(*tensors)


def passes(check, *arguments):
    """check() returns a bool, or raises AssertionError."""
    try:
        return check(*arguments) is not False
    except AssertionError:
        return False


def views(line):
    graph = Graph(line["compile"])
    inputs, given = tensors_of(line["inputs"], graph), tensors_of(line["results"], graph)
    names = graph.results()
    got, operands = [given[name] for name in names], [inputs[name] for name in graph.inputs]
    exact = [x.double() for x in computed(graph, [widened(x) for x in operands], names)]
    eager = list(computed(graph, operands, names))
    rounded = [x.to(y.dtype) for x, y in zip(exact, got, strict=True)]
    from torch._dynamo.utils import same

    return {"assert_close": passes(torch.testing.assert_close, got, rounded),
            "same": passes(lambda: same(eager, got, fp64_ref=exact))}


def main():
    torch.set_num_threads(1)
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            for line in map(json.loads, file):
                try:
                    found = views(line)
                except Exception as error:  # the page says so
                    found = {"problem": f"{type(error).__name__}: {error}"}
                print(json.dumps({"nodes": [node["name"] for node in line["compile"]["graph"]["nodes"]],
                                  "versions": line["versions"], **found}))


if __name__ == "__main__":
    main()
