#!/usr/bin/env python3
"""corpus/seeds/training.json is what it says: 20 steps of AdamW of a model of two layers, as PyTorch makes them.

Usage: FUSESMITH_BINARY=build/release/fusesmith python/tests/workers/test_training_seed.py     (needs torch)
"""

import os
import runpy
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import workers  # noqa: F401 (finds the modules of the workers)

# isort: split
import package  # noqa: F401 (finds fusesmith)
from fusesmith.program import binary

try:
    import torch
    import torch.nn.functional as F
except ImportError:
    sys.exit("needs torch")

SEED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../corpus/seeds/training.json")
PARAMETERS = ("gain", "bias", "w1", "b1", "w2", "b2")
WITHIN = 1e-6  # the case has the rate and the shares of the moments as f32 numbers


def exported():
    """What the exported case computes in f64: its data, and the results of each step by name."""
    with tempfile.TemporaryDirectory() as folder:
        script = os.path.join(folder, "case.py")
        subprocess.run([binary(), "export", "--to=torch", f"--output={script}", SEED], check=True,
                       stdout=subprocess.DEVNULL)
        with mock.patch.object(sys, "argv", [script, "--eager_only", "--device=cpu"]):
            case = runpy.run_path(script)
    count = len(case["LABELS"]) // case["STEPS"]
    names = [label.split(": ")[1] for label in case["LABELS"][:count]]
    results = case["reference"]
    return case, [dict(zip(names, results[at : at + count], strict=True)) for at in range(0, len(results), count)]


class TrainingSeed(unittest.TestCase):
    def test_each_step_is_that_of_pytorch(self):
        case, steps = exported()
        kept = {name: torch.nn.Parameter(case[name].double().clone()) for name in PARAMETERS}
        optimizer = torch.optim.AdamW(kept.values(), lr=0.01, betas=(0.9, 0.99), eps=1e-8, weight_decay=0.1)
        x, classes = case["x"].double(), case["classes"][0].long()
        losses = []
        for step in steps:
            normed = F.layer_norm(x, x.shape[-1:], kept["gain"], kept["bias"], 1e-5)
            hidden = F.gelu(F.linear(normed, kept["w1"], kept["b1"]), approximate="tanh")
            loss = F.cross_entropy(F.linear(hidden, kept["w2"], kept["b2"]), classes)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            self.assertLess(abs(step["loss"].item() - loss.item()), WITHIN)
            for name, value in kept.items():
                self.assertLess((step[f"{name}_next"] - value).abs().max().item(), WITHIN, name)
        self.assertEqual(len(losses), 20)
        self.assertLess(losses[-1], losses[0] / 4)


if __name__ == "__main__":
    unittest.main()
