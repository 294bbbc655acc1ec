#!/usr/bin/env python3
"""Tests of `check` on models of PyTorch.

Usage: FUSESMITH_BINARY=build/release/fusesmith python/tests/workers/test_check.py     (needs torch)
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

import workers  # finds the modules of the workers
from recorded_cases import LAWFUL, program

try:
    import torch
    from program_models import MODELS
except ImportError:
    sys.exit("needs torch")

NAMES = ("gpt2", "bert")


WHOLE = """
import torch

program = torch.export.load({path!r}).module()


def run({name}):
    with torch.no_grad():
        return program({name})


def wrong({name}):
    return run({name}) * 1.01
"""


class Softmax(torch.nn.Module):
    """Of rows longer than the tile of the backend `demo`, which forgets the elements after the last full one."""

    def forward(self, x):
        return (x * 2).softmax(-1).tanh()


class Check(unittest.TestCase):
    def checked(self, models, *flags):
        with tempfile.TemporaryDirectory() as folder:
            files = []
            for name, (module, inputs) in models.items():
                files.append(os.path.join(folder, f"{name}.pt2"))
                torch.export.save(torch.export.export(module.eval(), inputs), files[-1])
            environment = {**os.environ, "FUSESMITH_PYTHON": sys.executable, "FUSESMITH_WORKERS": workers.WORKERS}
            done = subprocess.run([program(), "check", *files, f"--output={folder}/out", "--json", "--baseline=cpu",
                                   *flags], env=environment, capture_output=True, text=True, check=False)
            made = json.loads(done.stdout)["models"]
            return done.returncode, made, [self.report_of(model) for model in made]

    def report_of(self, model):
        """The text of the report and the ops of the smallest case, where there is a report."""
        path = model["cases"][0]["report"]
        if path is None:
            return None
        with open(path, encoding="utf-8") as report:
            text = report.read()
        cases = [os.path.join(os.path.dirname(path), name) for name in ("min.json", "case.json")]
        with open(next(filter(os.path.exists, cases)), encoding="utf-8") as file:
            return text, [node["op"] for node in json.load(file)["graph"]["nodes"]]

    def test_lawful(self):
        for candidate in ("cpu_fused", "torch:eager"):
            code, models, reports = self.checked({name: MODELS[name]() for name in NAMES}, f"--candidate={candidate}")
            self.assertEqual((code, reports), (0, [None, None]), models)
            for model in models:
                self.assertIn(model["verdict"], LAWFUL)
                self.assertEqual(model["cases"][0]["outputs"]["nan_elements"], 0)
                self.assertGreater(model["summary"]["mapped"], 10)
                self.assertLess(model["cases"][0]["worst_share"], 1)

    def test_a_bug_in_one_of_two(self):
        models = {"gpt2": MODELS["gpt2"](), "rows": (Softmax(), (torch.randn(4, 43),))}
        code, models, reports = self.checked(models, "--candidate=demo")
        self.assertEqual((code, [model["verdict"] for model in models]), (77, ["reassociation", "defect"]), models)
        self.assertEqual((reports[0], reports[1][1]), (None, ["softmax"]))
        self.assertIn("softmax", reports[1][0])


    def test_a_function_of_the_whole_model(self):
        """It has the weights itself, and gets the inputs alone."""
        with tempfile.TemporaryDirectory() as folder:
            module = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.GELU(), torch.nn.Linear(32, 8))
            inputs = (torch.randn(4, 16),)
            torch.export.save(torch.export.export(module.eval(), inputs), os.path.join(folder, "same.pt2"))
            file = os.path.join(folder, "run.py")
            with open(file, "w", encoding="utf-8") as out:
                out.write(WHOLE.format(path=os.path.join(folder, "same.pt2"), name="input"))
            given = {"perceptron": (module, inputs)}
            code, models, _ = self.checked(given, f"--candidate=python:{file}:run")
            self.assertEqual(code, 0, models)
            code, models, reports = self.checked(given, f"--candidate=python:{file}:wrong")
            self.assertEqual((code, models[0]["verdict"]), (77, "defect"), models)
            # The function has its own weights, so that the case is not changed.
            self.assertEqual(sorted(reports[0][1]), ["gelu", "linear", "linear"])


if __name__ == "__main__":
    unittest.main()
