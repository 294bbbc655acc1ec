#!/usr/bin/env python3
"""Tests of training_programs, and of the import of what it writes: every value is the one that PyTorch computes.

Usage: FUSESMITH_BINARY=build/release/fusesmith python/tests/workers/test_training.py     (needs torch)

--list prints how many operators of each program are mapped, and judges nothing.
"""

import os
import sys
import tempfile
import unittest
import warnings

import workers  # noqa: F401 (finds the modules of the workers)

# isort: split
import package  # noqa: F401 (finds fusesmith)
from fusesmith.errors import Error
from fusesmith.training import training_programs

try:
    import torch
    import torch.nn.functional as F
    from import_torch import constants_of
    from imported_program import ImportedProgram
    from program_models import Gpt2, Llama, token_ids
    from test_programs import Programs
    from torch._inductor.decomposition import select_decomp_table
except ImportError:
    sys.exit("needs torch")

MOST_UNMAPPED = 0.05


def next_tokens(logits):
    return F.cross_entropy(logits[:, :-1].flatten(0, 1).float(), token_ids()[:, 1:].flatten())


def single(parameters):
    return torch.optim.AdamW(parameters, lr=1e-3, foreach=False)


def foreach(parameters):
    return torch.optim.AdamW(parameters, lr=1e-3, foreach=True)


class Calls(torch.nn.Module):
    """A sum of what each call gives of a parameter, where no gradients cancel."""

    def __init__(self, calls, shape, dtype=torch.float32):
        super().__init__()
        self.calls, self.weight = calls, torch.nn.Parameter(torch.randn(shape).to(dtype))

    def forward(self, *given):
        made = [call(self.weight, *given).float() for call in self.calls]
        return sum((value * torch.arange(value.numel()).mul(7).remainder(5).view(value.shape)).sum() for value in made)


def targets():
    """Some rows are ignored, and some have the same class."""
    return torch.tensor([3, -100, 0, 3, 11, -100, 7, 7])


LOSSES = (
    lambda x, t: F.cross_entropy(x, t), lambda x, t: F.cross_entropy(x, t, reduction="sum"),
    lambda x, t: F.cross_entropy(x, t, reduction="none"), lambda x, t: F.cross_entropy(x, t, label_smoothing=0.1),
    lambda x, t: F.cross_entropy(x, t, torch.linspace(0.5, 2, 12)), lambda x, t: F.nll_loss(x, t, ignore_index=-100),
)
VIEWS = (
    lambda x, i: x[1:6, 2:11:3], lambda x, i: x[-1], lambda x, i: x[:, 3], lambda x, i: x[i], lambda x, i: x[:, i[:2]],
    lambda x, i: x[i, i], lambda x, i: torch.gather(x, 1, i[:, None]), lambda x, i: F.embedding(i, x, padding_idx=2),
    lambda x, i: x.index_put((i,), x[:4] * 2, accumulate=True), lambda x, i: x.scatter_add(0, i[None], x[:1, :4] * 3),
    lambda x, i: x.scatter(1, i[:, None], 0.5), lambda x, i: x.index_put((i[:2], i[1:3]), x[0, :2]),
)
SCALARS = (
    lambda x: x.tanh(), lambda x: x.sigmoid(), lambda x: F.gelu(x, approximate="tanh"), lambda x: F.silu(x),
    lambda x: x.softmax(-1), lambda x: x.log_softmax(0), lambda x: F.layer_norm(x, [12]), lambda x: x * x.exp(),
    lambda x: x.pow(2).mean(-1, keepdim=True).rsqrt() * x, lambda x: torch.lerp(x, x * x, 0.7),
)
ATTENTION = (
    lambda x: F.scaled_dot_product_attention(x, x * 2, x + 1, is_causal=True),
    lambda x: F.scaled_dot_product_attention(x, x, x, torch.arange(6)[None] < torch.arange(1, 7)[:, None]),
    lambda x: F.scaled_dot_product_attention(x[:, :, :4], x, x, x[0, 0, :4, :6].detach(), scale=0.3),
)


def calls(given, shape, inputs=(), dtype=torch.float32):
    return lambda: (Calls(given, shape, dtype), inputs, None, None)


STEPS = {
    "gpt2": lambda: (Gpt2(), (token_ids(),), next_tokens, single),
    "llama": lambda: (Llama(), (token_ids(),), next_tokens, foreach),
    "llama_bf16": lambda: (Llama(torch.bfloat16), (token_ids(),), next_tokens, foreach),
    "losses": calls(LOSSES, (8, 12), (targets(),)),
    "views": calls(VIEWS, (8, 12), (torch.tensor([3, 0, 3, 2]),)),
    "scalars": calls(SCALARS, (8, 12)),
    "scalars_bf16": calls(SCALARS, (8, 12), dtype=torch.bfloat16),
    "attention": calls(ATTENTION, (2, 3, 6, 8)),
}


def core():
    """Without attention, whose second result would be the probabilities, and not the logarithm of their sum."""
    made = torch._decomp.core_aten_decompositions()
    made.pop(torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default)
    return made


DECOMPOSED = {
    "default": {}, "none": {"decompositions": {}, "partition": "default"}, "core": {"decompositions": core()},
    "inductor": {"decompositions": select_decomp_table()},
}


def written(name, folder, **how):
    torch.manual_seed(1)
    model, inputs, loss, optimizer = STEPS[name]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model, training_programs(model, inputs, folder, loss, optimizer, **how)


def gradients(name):
    """Of PyTorch without a compiler, by parameter."""
    torch.manual_seed(1)
    model, inputs, loss, _ = STEPS[name]()
    made = model(*inputs)
    (loss(made) if loss else made).backward()
    return {name: parameter.grad for name, parameter in model.named_parameters()}


class Training(Programs):
    """As they are decomposed by default, as autograd calls operators, and into core ATen."""

    def check(self, form, names=tuple(STEPS)):
        how = DECOMPOSED[form]
        for name in names:
            with self.subTest(step=name), tempfile.TemporaryDirectory() as folder:
                _, paths = written(name, folder, **how)
                imported = {os.path.basename(path).partition("-")[0]: ImportedProgram(path) for path in paths}
                self.assertEqual(len(imported), len(paths))
                for kind, program in imported.items():
                    with self.subTest(kind=kind):
                        self.check_unmapped(program)
                        self.check_parts(program, folder)
                        self.check_accepted(next(path for path in paths if f"/{kind}-" in path), folder)
                self.check_boundary(imported["forward"], imported["backward"])
                self.check_gradients(imported, gradients(name))

    def check_unmapped(self, imported):
        counts = imported.importer.counts
        self.assertLessEqual(counts["made_inputs"], MOST_UNMAPPED * counts["nodes"], imported.importer.unmapped_table())

    def check_boundary(self, forward, backward):
        """What the backward pass reads is what the forward pass read or made, but for the gradient of the loss."""
        for name, value in backward.samples.items():
            if not name.startswith("tangents"):
                torch.testing.assert_close(forward.recorded.values[name], value, rtol=0, atol=0)

    def check_gradients(self, imported, expected):
        names = [name for name in constants_of(imported["forward"].program) if name.startswith("p_")]
        results = imported["backward"].results
        self.assertEqual(len(names), len(results))
        wanted = {f"p_{name.replace('.', '_')}": value for name, value in expected.items()}
        for name, value in zip(names, results, strict=True):
            close = {"rtol": 0.1, "atol": 0.05} if value.dtype == torch.bfloat16 else {}
            torch.testing.assert_close(value, wanted[name], **close)

    def test_default(self):
        self.check("default")

    def test_as_autograd_calls(self):
        self.check("none")

    def test_core(self):
        self.check("core", ("gpt2", "losses", "views", "scalars_bf16", "attention"))


class Arguments(unittest.TestCase):
    def test_errors(self):
        layer, x = torch.nn.Linear(2, 2), torch.ones(2)
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaisesRegex(Error, "partition is one of min_cut, default"):
                training_programs(layer, (x,), folder, partition="none")
            with self.assertRaisesRegex(Error, "the model returns no loss"):
                training_programs(layer, (x,), folder)
            with self.assertRaisesRegex(Error, "an optimizer needs a model with parameters"):
                training_programs(lambda x: x.sum(), (x.requires_grad_(),), folder, optimizer=single)

    def test_the_model_stays_as_it_is(self):
        layer = torch.nn.Linear(2, 2)
        before = layer.weight.clone()
        with tempfile.TemporaryDirectory() as folder:
            paths = training_programs(layer, {"input": torch.ones(3, 2)}, folder, torch.sum, single)
        self.assertEqual([os.path.basename(path) for path in paths],
                         ["forward-0.pt2", "backward-0.pt2", "optimizer-0.pt2"])
        self.assertTrue(torch.equal(layer.weight, before))
        self.assertIsNone(layer.weight.grad)


def print_counts():
    for form, how in DECOMPOSED.items():
        for name in STEPS:
            with tempfile.TemporaryDirectory() as folder:
                for path in written(name, folder, **how)[1]:
                    counts = ImportedProgram(path).importer.counts
                    print(f"{form:9}{name:14}{os.path.basename(path):16}{counts}", flush=True)


if __name__ == "__main__":
    if "--list" in sys.argv:
        print_counts()
    else:
        unittest.main()
