"""References in torch, KernelBench problems, and the pytest plugin."""

import os
import subprocess
import sys
import tempfile
import textwrap
import unittest

from support import HERE, environment, interpreter, kernel, why_not

MISSING = why_not("numpy", "torch")
NO_PYTEST = why_not("numpy", "pytest")


def run_python(text, folder=None, **variables):
    """Runs a script with the interpreter that has torch: (status, output)."""
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(folder or scratch, "script.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(text))
        ended = subprocess.run([interpreter(), path], capture_output=True, text=True, cwd=HERE,
                               env={**environment(), **variables})
    return ended.returncode, ended.stdout + ended.stderr


@unittest.skipIf(MISSING, MISSING)
class References(unittest.TestCase):
    SCRIPT = """
        import torch
        import torch.nn.functional as F
        import fusesmith

        def reference(x, weight, bias):
            return F.silu(F.linear(x, weight, bias)) * 2.0 + 1

        def cumulative(x, weight, bias):
            return torch.cumprod(x, 0)

        def fused(x, weight, bias):
            y = x.float() @ weight.float().T + bias.float()
            return (y * torch.sigmoid(y) * 2 + 1).to(x.dtype)

        def without_bias(x, weight, bias):
            return fused(x, weight, torch.zeros_like(bias))

        try:
            print(fusesmith.judge_against({kernel}, {reference}, ["T[N,K]", "T[M,K]", "T[M]"], runs=30,
                                          fills=["normal", "lattice"]))
        except fusesmith.Error as error:
            print("Error:", error)
        """

    def judged(self, name, reference="reference"):
        return run_python(self.SCRIPT.replace("{kernel}", name).replace("{reference}", reference))[1]

    def test_right_and_wrong(self):
        self.assertIn("fused is right for reference in 30 cases", self.judged("fused"))
        self.assertIn("without_bias is wrong for reference", self.judged("without_bias"))

    def test_op_without_counterpart(self):
        output = self.judged("fused", "cumulative")
        self.assertIn("Error: the reference calls aten.cumprod.default, which no op of fusesmith stands for", output)


@unittest.skipIf(MISSING, MISSING)
class Sizes(unittest.TestCase):
    """A graph that has a size in it, as that of a mean, is not the reference's at other sizes."""

    SCRIPT = """
        import torch
        import torch.nn.functional as F
        import fusesmith

        def mean(x):
            return x.sum(-1) / x.shape[-1]

        def wrong_mean(x):
            return x.sum(-1) / (x.shape[-1] + 1)

        def doubled(x):
            return torch.relu(x) * 2

        def wrong_doubled(x):
            return torch.relu(x) * 2.1

        def norm(x):
            return F.rms_norm(x, x.shape[-1:], None, 1e-6)

        class WrongNorm(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return norm(x)

            @staticmethod
            def backward(ctx, dy):
                x, = ctx.saved_tensors
                r = torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6)
                return r * dy

        if __name__ == "__main__":
            how = {"dtypes": "f32", "runs": 6, "shapes": [(4, 16)]}
            for result in (fusesmith.judge_against(wrong_mean, mean, ["T[N,D]"], **how),
                           fusesmith.judge_against(wrong_doubled, doubled, ["T[N,D]"], **how),
                           fusesmith.judge_backward(WrongNorm, norm, ["T[N,D]"], **how)):
                print(result.verdict, result.inputs[0].split(",")[:2], ", where N is" in result.rule)
        """

    def test_are_kept_where_the_graph_depends_on_them(self):
        status, text = run_python(self.SCRIPT)
        self.assertEqual(status, 0, text)
        of_mean, of_doubled, of_norm = text.splitlines()
        self.assertEqual(of_mean, "defect ['x f32[4', '16]'] False")
        self.assertTrue(of_doubled.startswith("defect ['x f32[1', '1]']"), of_doubled)
        self.assertTrue(of_norm.startswith("defect ['x f32[4', '16]']"), of_norm)


@unittest.skipIf(MISSING, MISSING)
class Refusals(unittest.TestCase):
    SCRIPT = """
        import torch
        import fusesmith

        def reference(x):
            return torch.relu(x) * 2

        def dense_f32_alone(x):
            if not x.is_contiguous() or x.dtype != torch.float32:
                raise ValueError("dense f32 alone")
            return torch.relu(x) * 2

        if __name__ == "__main__":
            result = fusesmith.judge_against(dense_f32_alone, reference, ["T[N,D]"], runs=120)
            print(result.ok, sorted(result.refused))
        """

    def test_a_reference_is_still_traced_without_what_a_kernel_refuses(self):
        status, text = run_python(self.SCRIPT)
        self.assertEqual(status, 0, text)
        self.assertIn("True ['inputs of bf16', 'inputs of f16', 'inputs whose memory is not contiguous']", text)


@unittest.skipIf(MISSING, MISSING)
class KernelBench(unittest.TestCase):
    PROBLEM = """
        import torch
        import torch.nn as nn

        class Model(nn.Module):
            def __init__(self, width_in, width_out):
                super().__init__()
                self.linear = nn.Linear(width_in, width_out)

            def forward(self, x):
                return torch.relu(self.linear(x))

        def get_inputs():
            return [torch.rand(4, 12)]

        def get_init_inputs():
            return [12, 7]
        """
    SOLUTION = """
        import torch
        import torch.nn as nn

        class ModelNew(nn.Module):
            def __init__(self, width_in, width_out):
                super().__init__()
                self.linear = nn.Linear(width_in, width_out)

            def forward(self, x):
                return RESULT
        """
    SCRIPT = """
        import fusesmith
        print(fusesmith.kernelbench("{folder}/problem.py", "{folder}/solution.py", runs=10, keep="{folder}/kept"))
        """

    def judged(self, result):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("problem", self.PROBLEM), ("solution", self.SOLUTION.replace("RESULT", result))):
                with open(os.path.join(folder, f"{name}.py"), "w", encoding="utf-8") as file:
                    file.write(textwrap.dedent(text))
            return run_python(self.SCRIPT.replace("{folder}", folder))[1]

    def test_right_and_wrong(self):
        self.assertIn("is right for problem.py in 10 cases", self.judged("self.linear(x).clamp(min=0)"))
        self.assertIn("is wrong for problem.py: 10 of 10", self.judged("torch.zeros(4, 7)"))


@unittest.skipIf(NO_PYTEST, NO_PYTEST)
class Pytest(unittest.TestCase):
    TESTS = """
        import numpy as np
        import pytest

        @pytest.mark.fusesmith("softmax", runs=20)
        def test_right(x):
            wide = x.astype(np.float32)
            e = np.exp(wide - wide.max(-1, keepdims=True))
            return (e / e.sum(-1, keepdims=True)).astype(x.dtype)

        @pytest.mark.fusesmith(graph="softmax", runs=20)
        def test_wrong(x):
            return x

        @pytest.mark.skip(reason="later")
        @pytest.mark.fusesmith("relu")
        def test_skipped(x):
            return x

        @pytest.mark.fusesmith("sofmax")
        def test_misspelt(x):
            return x

        def test_without_mark():
            pass
        """

    def test_plugin(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "test_kernels.py"), "w", encoding="utf-8") as file:
                file.write(textwrap.dedent(self.TESTS))
            ended = subprocess.run([interpreter(), "-m", "pytest", "-p", "fusesmith.pytest_plugin", "-q", "-p",
                                    "no:cacheprovider", folder], capture_output=True, text=True, env=environment(),
                                   cwd=folder)
        self.assertIn("2 failed, 2 passed, 1 skipped", ended.stdout, ended.stderr)
        self.assertIn("test_kernels.py:test_wrong is wrong for softmax: 20 of 20 cases failed", ended.stdout)
        self.assertIn('unknown op "sofmax" (did you mean "softmax"?)', ended.stdout)
        self.assertNotIn("Traceback", ended.stdout)

    def test_kernels_elsewhere(self):
        """The worker and the printed command find the modules that pytest finds."""
        files = {"my_kernels.py": "import numpy as np\n\ndef half(x):\n    return x * np.float32(0.5)\n",
                 "tests/test_half.py": "import my_kernels\nimport numpy\nimport pytest\n\n"
                                       '@pytest.mark.fusesmith("scale", factor=0.5, dtypes="f32", runs=3)\n'
                                       "def test_right(x):\n    return my_kernels.half(x)\n\n"
                                       '@pytest.mark.fusesmith("relu", dtypes="f32", runs=3, keep=".")\n'
                                       "def test_wrong(x):\n    return my_kernels.half(x)\n"}
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, "tests"))
            for name, text in files.items():
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.write(text)
            ended = subprocess.run([interpreter(), "-m", "pytest", "-p", "fusesmith.pytest_plugin", "-q", "-p",
                                    "no:cacheprovider", "tests"], capture_output=True, text=True, env=environment(),
                                   cwd=folder)
            self.assertIn("1 failed, 1 passed", ended.stdout, ended.stderr)
            command = ended.stdout.partition("Reproduce:\n")[2].partition("\n")[0]
            again = subprocess.run(command, shell=True, capture_output=True, text=True, env=environment())
            self.assertEqual(again.returncode, 77, command + again.stderr)


@unittest.skipIf(MISSING, MISSING)
class Scripts(unittest.TestCase):
    def test_script_that_judges_its_own_function(self):
        """The worker imports the script, which calls judge again."""
        ended = subprocess.run([interpreter(), kernel("", "fused.py")[:-1]], capture_output=True, text=True,
                               env=environment())
        self.assertIn("fused.py:scaled_softmax is right for a graph in ", ended.stdout, ended.stderr)

    def test_program(self):
        ended = subprocess.run([sys.executable, "-m", "fusesmith", "--help"], capture_output=True, text=True,
                               env=environment())
        self.assertIn("fusesmith COMMAND", ended.stdout + ended.stderr)


if __name__ == "__main__":
    unittest.main()
