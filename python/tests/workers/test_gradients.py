#!/usr/bin/env python3
"""Gradients of ops, as `fusesmith gradient` derives them, against PyTorch's autograd in f64.

Usage: FUSESMITH_BINARY=build/release/fusesmith python/tests/workers/test_gradients.py     (needs torch)
"""
import json
import os
import subprocess
import tempfile
import unittest

import numpy as np
import torch
import torch.nn.functional as F
from recorded_cases import program


def rotated(x, cos, sin):
    a, b = x.chunk(2, -1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), -1)


def swapped(x, index, source):
    return x.index_copy(1, index.long(), source)


def layer_norm_backward(dy, x, w):
    b = torch.zeros_like(w, requires_grad=True)
    return torch.autograd.grad(F.layer_norm(x, w.shape, w, b), (x, w, b), dy, create_graph=True)


def rms_norm_backward(dy, x, w):
    return torch.autograd.grad(F.rms_norm(x, w.shape, w, 1e-6), (x, w), dy, create_graph=True)


def silu_backward(dy, x):  # that of aten has no gradient
    s = torch.sigmoid(x)
    return dy * (s * (1 + x * (1 - s)))


# op, attributes, shapes of the f32 inputs (i32 and bool ones with their dtype), and the op in PyTorch. Inputs are
# positive, so that roots and logarithms have gradients.
SAMPLES = [
    ("einsum", {"equation": "bid,bdh->bih"}, ["2,3,4", "2,4,5"], lambda a, b: torch.einsum("bid,bdh->bih", a, b)),
    ("einsum", {"equation": "ij,kj->ki"}, ["3,4", "5,4"], lambda a, b: b @ a.T),
    ("matmul", {"transpose_a": True, "transpose_b": True}, ["2,4,3", "5,4"], lambda a, b: a.mT @ b.T),
    ("linear", {}, ["2,3,4", "5,4", "5"], lambda x, w, b: F.linear(x, w, b)),
    ("add", {}, ["3,4", "4"], lambda a, b: a + b),
    ("sub", {}, ["3,4", "3,1"], lambda a, b: a - b),
    ("mul", {}, ["3,4", "1"], lambda a, b: a * b),
    ("div", {}, ["3,4", "4"], lambda a, b: a / b),
    ("maximum", {}, ["3,4", "4"], lambda a, b: torch.maximum(a, b)),
    ("scale", {"factor": 0.25}, ["3,4"], lambda x: x * 0.25),
    ("relu", {}, ["3,4"], lambda x: F.relu(x)),
    ("relu_backward", {}, ["3,4", "3,4"], lambda dy, x: torch.where(x <= 0, 0.0, dy)),
    ("gelu", {"form": "erf"}, ["3,4"], lambda x: F.gelu(x)),
    ("gelu", {"form": "tanh"}, ["3,4"], lambda x: F.gelu(x, approximate="tanh")),
    ("silu", {}, ["3,4"], lambda x: F.silu(x)),
    ("sigmoid", {}, ["3,4"], lambda x: torch.sigmoid(x)),
    ("tanh", {}, ["3,4"], lambda x: torch.tanh(x)),
    ("erf", {}, ["3,4"], lambda x: torch.erf(x)),
    ("exp", {}, ["3,4"], lambda x: torch.exp(x)),
    ("log", {}, ["3,4"], lambda x: torch.log(x)),
    ("sqrt", {}, ["3,4"], lambda x: torch.sqrt(x)),
    ("rsqrt", {}, ["3,4"], lambda x: torch.rsqrt(x)),
    ("softcap", {"cap": 3}, ["3,4"], lambda x: 3 * torch.tanh(x / 3)),
    ("mish", {}, ["3,4"], lambda x: F.mish(x)),
    ("hardswish", {}, ["3,4"], lambda x: F.hardswish(x)),
    ("silu_backward", {}, ["3,4", "3,4"], silu_backward),
    ("sigmoid_backward", {}, ["3,4", "3,4"], lambda dy, y: dy * (1 - y) * y),
    ("tanh_backward", {}, ["3,4", "3,4"], lambda dy, y: dy * (1 - y * y)),
    ("gelu_backward", {"form": "erf"}, ["3,4", "3,4"], lambda dy, x: torch.ops.aten.gelu_backward(dy, x)),
    ("gelu_backward", {"form": "tanh"}, ["3,4", "3,4"],
     lambda dy, x: torch.ops.aten.gelu_backward(dy, x, approximate="tanh")),
    ("softmax", {"axis": 0}, ["3,4"], lambda x: F.softmax(x, 0)),
    ("softmax_backward", {"axis": 1}, ["3,4", "3,4"], lambda dy, y: y * (dy - (dy * y).sum(1, keepdim=True))),
    ("log_softmax", {"axis": 1}, ["3,4"], lambda x: F.log_softmax(x, 1)),
    ("log_softmax_backward", {"axis": 1}, ["3,4", "3,4"], lambda dy, y: dy - y.exp() * dy.sum(1, keepdim=True)),
    ("layer_norm", {"eps": 1e-5}, ["3,16", "16", "16"], lambda x, w, b: F.layer_norm(x, (16,), w, b)),
    ("rms_norm", {"eps": 1e-6}, ["3,16", "16"], lambda x, w: F.rms_norm(x, (16,), w, 1e-6)),
    ("layer_norm_backward", {"eps": 1e-5}, ["2,3,16", "2,3,16", "16"], layer_norm_backward),
    ("rms_norm_backward", {"eps": 1e-6}, ["2,3,16", "2,3,16", "16"], rms_norm_backward),
    ("group_norm", {"groups": 2, "eps": 1e-5}, ["2,4,8", "4", "4"], lambda x, w, b: F.group_norm(x, 2, w, b)),
    ("reduce_sum", {"axes": [0, -1], "keepdims": False}, ["3,4,5"], lambda x: x.sum((0, 2))),
    ("reduce_mean", {"axes": [1], "keepdims": True}, ["3,4"], lambda x: x.mean(1, keepdim=True)),
    ("reduce_max", {"axes": [1], "keepdims": False}, ["3,4"], lambda x: x.amax(1)),
    ("var_mean", {"axes": [0, 2], "correction": 1}, ["3,4,5"], lambda x: torch.var_mean(x, (0, 2), correction=1)),
    ("var_mean", {"axes": [-1], "correction": 0, "keepdims": True}, ["3,8"],
     lambda x: torch.var_mean(x, -1, correction=0, keepdim=True)),
    ("logsumexp", {"axes": [1], "keepdims": False}, ["3,8"], lambda x: torch.logsumexp(x, 1)),
    ("dropout", {}, ["3,4"], lambda x: F.dropout(x, 0.0)),
    ("cast", {"dtype": "f32"}, ["3,4"], lambda x: x.clone()),
    ("reshape", {"shape": [2, 6]}, ["3,4"], lambda x: x.reshape(2, 6)),
    ("permute", {"dims": [2, 0, 1]}, ["2,3,4"], lambda x: x.permute(2, 0, 1)),
    ("unsqueeze", {"axis": 1}, ["3,4"], lambda x: x.unsqueeze(1)),
    ("squeeze", {"axis": -2}, ["3,1,4"], lambda x: x.squeeze(-2)),
    ("broadcast_to", {"shape": [2, 3, 4]}, ["3,1"], lambda x: x.expand(2, 3, 4)),
    ("slice", {"axis": -1, "start": 1, "stop": 6, "step": 2}, ["3,6"], lambda x: x[:, 1:6:2]),
    ("chunk", {"axis": 1, "chunks": 3}, ["2,6"], lambda x: x.chunk(3, 1)),
    ("concat", {"axis": 1}, ["3,4", "3,2"], lambda a, b: torch.cat((a, b), 1)),
    ("roll", {"axis": 1, "shift": 3}, ["3,4"], lambda x: torch.roll(x, 3, 1)),
    ("flip", {"axes": [0]}, ["3,4"], lambda x: torch.flip(x, (0,))),
    ("gather", {}, ["8,3", "i32 4"], lambda table, index: table[index.long()]),
    ("index_copy", {"axis": 1}, ["2,8,3", "i32 4", "2,4,3"], swapped),
    ("where", {}, ["bool 3,4", "3,4", "3,4"], lambda c, a, b: torch.where(c, a, b)),
    ("masked_fill", {"value": 2}, ["3,4", "bool 3,4"], lambda x, m: x.masked_fill(m, 2)),
    ("rope", {"pairing": "half"}, ["2,3,8", "3,4", "3,4"], rotated),
    ("sdpa", {"mask": "none"}, ["2,4,8", "2,6,8", "2,6,3"], lambda q, k, v: F.scaled_dot_product_attention(q, k, v)),
    ("sdpa", {"mask": "causal"}, ["2,6,8", "2,6,8", "2,6,8"],
     lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True)),
    ("sdpa", {"grouped_heads": True}, ["1,4,3,8", "1,2,6,8", "1,2,6,8"],
     lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True)),
]
OUTPUTS = {"chunk": 3, "var_mean": 2, "layer_norm_backward": 3, "rms_norm_backward": 2}  # of ops that have several


def input_of(number, text):
    dtype, _, shape = text.rpartition(" ")
    fill = {"i32": {"literal": {"bits": "".join(f"{i:08x}" for i in range(4))}}, "bool": {"bernoulli": {"p": 0.5}}}
    return {"name": f"x{number}", "type": f"{dtype or 'f32'}[{shape}]",
            "fill": fill.get(dtype, {"uniform": {"lo": 0.25, "hi": 2}})}


def forward_case(op, attributes, inputs):
    names = [f"x{i}" for i in range(len(inputs))]
    outputs = [f"y.{i}" for i in range(OUTPUTS[op])] if op in OUTPUTS else ["y"]
    return {"fusesmith": 1, "seed": 3,
            "graph": {"inputs": [input_of(i, text) for i, text in enumerate(inputs)],
                      "nodes": [{"name": "y", "op": op, "inputs": names, **attributes}], "outputs": outputs}}


class GradientTest(unittest.TestCase):
    def derived(self, folder, op, attributes, inputs):
        """The data of the backward case, and the name of the gradient of each float input."""
        paths = [os.path.join(folder, name) for name in ("forward.json", "backward.json", "data.npz")]
        with open(paths[0], "w", encoding="utf-8") as file:
            json.dump(forward_case(op, attributes, inputs), file)
        made = subprocess.run([program(), "gradient", paths[0], f"--output={paths[1]}", "--json"], capture_output=True,
                              text=True, check=False)
        self.assertEqual(made.returncode, 0, made.stderr)
        written = subprocess.run([program(), "export", paths[1], "--to=npz", "--with_results", "--baseline=cpu",
                                  "--candidate=cpu_fused", f"--output={paths[2]}"], capture_output=True, text=True,
                                 check=False)
        self.assertEqual(written.returncode, 0, written.stderr)
        with np.load(paths[2]) as data:
            return dict(data), json.loads(made.stdout)["gradients"]

    def test_every_sample(self):
        for op, attributes, inputs, function in SAMPLES:
            with self.subTest(op=op, **attributes), tempfile.TemporaryDirectory() as folder:
                data, gradients = self.derived(folder, op, attributes, inputs)
                operands = [torch.tensor(data[f"input.x{i}"]) for i in range(len(inputs))]
                operands = [x.double().requires_grad_() if x.dtype == torch.float32 else x for x in operands]
                made = function(*operands)
                made = made if isinstance(made, tuple) else (made,)
                upstream = [name for name in data if name.startswith("input.d_y")]
                self.assertEqual(len(upstream), OUTPUTS.get(op, 1))
                torch.autograd.backward(made, [torch.tensor(data[name]).double() for name in sorted(upstream)])
                self.assertEqual(list(gradients), [f"x{i}" for i, x in enumerate(operands) if x.requires_grad])
                for name, gradient in gradients.items():
                    operand = operands[int(name[1:])]
                    wanted = (torch.zeros_like(operand) if operand.grad is None else operand.grad).detach().numpy()
                    got = data["baseline.got." + "".join(c if c.isalnum() or c == "_" else "_" for c in gradient)]
                    np.testing.assert_allclose(got, wanted, rtol=2e-5, atol=2e-5 * max(1, abs(wanted).max()))

    def test_every_op_with_a_gradient_has_a_sample(self):
        listed = subprocess.run([program(), "list", "ops", "--json"], capture_output=True, text=True, check=True).stdout
        ops = {op["name"] for op in json.loads(listed)["ops"]}
        without = {"arange", "causal_mask"}  # no inputs
        self.assertEqual(ops - without, {op for op, *_ in SAMPLES})


if __name__ == "__main__":
    unittest.main()
