#!/usr/bin/env python3
"""A worker that hands every request to another one, and keeps what that computes: record.py FILE SCRIPT MODE

FILE gets one line of JSON for each graph: `versions` of the other worker, the request `compile`, and `tensors` with the
bits (base64) of the inputs and the results of the run that fusesmith judges: the second one of each graph.
scripts/studies/gallery reads it.
"""

import base64
import contextlib
import json
import os
import sys

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../python/workers/protocol"))

from client import Worker
from protocol import read_frame, redirect_standard_output, write_frame

JUDGED_RUN = 2  # docs/workers.md: the first run of a graph is on other data


def encoded(header, payload):
    return {"types": {tensor["name"]: tensor["type"] for tensor in header["tensors"]},
            "bits": base64.b64encode(payload).decode("ascii")}


class Recorder:
    def __init__(self, path, worker):
        self.path, self.worker = path, worker
        self.compiled, self.runs = None, 0

    def answer(self, request, payload):
        if request["type"] == "hello":
            return {**self.worker.hello, "files": False}, b""
        reply, results = self.worker.exchange(request, payload)
        if request["type"] == "compile":
            self.compiled, self.runs = request, 0
        elif request["type"] == "run":
            self.runs += 1
            if self.runs == JUDGED_RUN and reply["type"] == "results":
                self.keep(encoded(request, payload), encoded(reply, results))
        return reply, results

    def keep(self, inputs, results):
        line = {"versions": self.worker.hello["versions"], "compile": self.compiled, "inputs": inputs,
                "results": results}
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    replies = redirect_standard_output()
    recorder = Recorder(sys.argv[1], Worker(sys.argv[2], sys.argv[3]))
    requests = os.fdopen(os.dup(0), "rb")
    with contextlib.suppress(EOFError, BrokenPipeError):
        while True:
            write_frame(replies, *recorder.answer(*read_frame(requests)))
    recorder.worker.close()


if __name__ == "__main__":
    main()
