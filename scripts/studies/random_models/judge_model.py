#!/usr/bin/env python3
"""Judges what the import makes of a program by PyTorch's values: judge_model.py FILE.pt2

Prints one JSON object: how many nodes of the program were judged, each on PyTorch's own operands; those whose result is
outside the interval of their counterpart; the largest error as a share of its bound, and where it is; and the outputs
of the whole case that are NaN where PyTorch's are not.
"""

import importlib
import json
import os
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path.insert(1, os.path.join(ROOT, "python", "tests", "workers"))

from imported_program import ImportedProgram  # noqa: E402
from pt2_archive import Archive  # noqa: E402
from recorded_cases import LAWFUL  # noqa: E402


def register_operators(path):
    """Those of transformers, which is loaded only for files that call them."""
    with Archive(path) as archive:
        if any("transformers" in call["target"] for call in archive.calls):
            importlib.import_module("transformers.integrations.moe")


def worst_share(verdict):
    shares = [float(region["worst_share"]) for region in verdict["regions"]]
    return max(shares, default=0.0)


def main():
    register_operators(sys.argv[1])
    imported = ImportedProgram(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        found = imported.judged_parts(folder)
        outside = [{"node": imported.importer.source_of(part[0]["name"]), "ops": [node["op"] for node in part],
                    "verdict": verdict["verdict"], "signature": verdict.get("signature", "")}
                   for part, verdict in found if verdict["verdict"] not in LAWFUL]
        lawful = [(worst_share(verdict), str(imported.importer.sources[part[0]["name"]].target))
                  for part, verdict in found if verdict["verdict"] in LAWFUL]
        share, where = max(lawful, default=(0.0, ""))
        print(json.dumps({"judged": len(found), "outside": outside, "worst_share": share, "worst_in": where,
                          "nan_outputs": imported.nan_outputs(folder)}))


if __name__ == "__main__":
    main()
