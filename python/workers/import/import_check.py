"""Asks the program whether it reads a case, so that one node that it does not accept does not lose the model."""

import json
import os
import re
import subprocess
import tempfile

import package  # noqa: F401 (finds fusesmith)
from fusesmith.program import binary

IN_FILE = re.compile(r'{"file": *{"sha256": *"[0-9a-f]*"}}')
PLACE = re.compile(r"graph\.nodes\[(\d+)\][^:]*: (.*)")
SECONDS = 120


def refusal(importer, text):
    """(the name in the model of the node that the program does not accept, why), or None."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "case.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write(IN_FILE.sub('{"constant": {"value": 0}}', text))  # no data decides what a node is
        done = subprocess.run([binary(), "show", path], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              check=False, timeout=SECONDS)
    found = PLACE.search(done.stderr) if done.returncode else None
    if found is None:
        return None
    node = json.loads(text)["graph"]["nodes"][int(found[1])]["name"]
    why = found[2].strip()
    return importer.source_of(node), why.removeprefix(f"{node}: ")
