"""Right kernels pass, wrong ones fail with the verdict, the evidence and a command that reproduces it."""

import json
import math
import os
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

from support import ErrorLines, binary, environment, fusesmith, has_module, interpreter, kernel, replay, why_not

MISSING = why_not("numpy")
PACKAGE = os.path.dirname(os.path.dirname(fusesmith.__file__))


def wait_for(found, seconds):
    """What `found` returns, once it is true; or what it returned last."""
    end = time.monotonic() + seconds
    while not (result := found()) and time.monotonic() < end:
        time.sleep(0.05)
    return result


@unittest.skipIf(MISSING, MISSING)
class RightKernels(unittest.TestCase):
    def check_right(self, name, op, **arguments):
        result = fusesmith.judge(kernel(name), op, runs=80, **arguments)
        self.assertTrue(result.ok, str(result))
        self.assertEqual(result.findings, 0)
        self.assertEqual(sum(result.cases.values()), 80)
        self.assertIsNone(result.repro)
        return result

    def test_replay_of_a_file_that_judges_at_import(self):
        with tempfile.TemporaryDirectory() as folder:
            file, case = (os.path.join(folder, name) for name in ("mine.py", "case.json"))
            with open(file, "w", encoding="utf-8") as text:
                text.write("import fusesmith\nimport numpy as np\n\ndef f(x):\n    return np.maximum(x, 0)\n\n"
                           'fusesmith.judge(f, "relu", runs=500)\n')
            with open(case, "w", encoding="utf-8") as text:
                json.dump({"fusesmith": 1, "seed": 1, "graph": {
                    "inputs": [{"name": "x", "type": "f32[4]", "fill": {"normal": {}}}],
                    "nodes": [{"name": "y", "op": "relu", "inputs": ["x"]}], "outputs": ["y"]}}, text)
            begin = time.monotonic()
            done = subprocess.run([binary(), "replay", case, "--baseline=cpu", f"--candidate=python:{file}:f"],
                                  env=environment(), capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertLess(time.monotonic() - begin, 30)

    def test_softmax(self):
        result = self.check_right("softmax", "softmax")
        # In one case, a row of f16 with large differences, most of the results that are not 0 are subnormal numbers.
        self.assertIn("is right for softmax in 79 of 80 cases", str(result))
        self.assertGreater(result.resolution, 2**-24)
        self.assertLessEqual(result.resolution, result.coarsest_resolution)
        self.assertLessEqual(result.coarsest_resolution, 2**-6)
        self.assertIn(f"  resolution: a change of {100 * result.resolution:.3g} %", str(result))

    def test_layer_norm(self):
        self.check_right("layer_norm", "layer_norm")

    def test_a_declared_rounding_inside(self):
        result = self.check_right("declared_llama_rms_norm", "rms_norm", inputs=2, dtypes="bf16")
        self.assertIn("lower", result.granted)

    def test_a_customary_rounding_that_is_not_declared(self):
        arguments = {"inputs": 2, "dtypes": "bf16", "runs": 80}
        result = self.check_right("llama_rms_norm", "rms_norm", inputs=2, dtypes="bf16")
        (says, declaration), count = next(iter(result.arithmetic.items()))
        self.assertEqual(declaration, 'lowerings = ["rms_norm.weight_after"]')
        self.assertIn("LlamaRMSNorm", says)
        self.assertGreater(count, 10)
        self.assertIn(f"In {count} of the 80 cases, it is right if it is", str(result))
        strict = fusesmith.judge(kernel("llama_rms_norm"), "rms_norm", policy="strict", **arguments)
        self.assertFalse(strict.ok)
        self.assertEqual(strict.verdict, "precision_policy")
        self.assertIn("rms_norm.weight_after", strict.sentence)

    @unittest.skipUnless(has_module("ml_dtypes"), "bf16 in numpy needs ml_dtypes")
    def test_attention_whose_bounds_are_sharp_in_one_customary_way_alone(self):
        result = fusesmith.judge(kernel("attention_with_rounded_exponentials"), "sdpa", dtypes="bf16", runs=80,
                                 fills=["normal", "uniform", "lattice"])
        self.assertEqual(result.findings, 0, str(result))
        self.assertGreater(sum(result.cases[verdict] for verdict in ("precision_policy", "identical")), 40)
        self.assertGreater({declared: count for (_, declared), count in result.arithmetic.items()}
                           ['lowerings = ["sdpa.unnormalised"]'], 20)

    def test_several_ways_each_of_which_suffices_are_counted_as_one(self):
        """The roundings of a scale on q are often within the bounds of other ways to round, too."""
        result = fusesmith.judge(kernel("attention_with_scaled_queries"), "sdpa", dtypes="f16", runs=60,
                                 fills=["normal", "uniform", "lattice"])
        self.assertEqual(result.findings, 0, str(result))
        (_, declaration), count = next(iter(result.arithmetic.items()))
        self.assertEqual(declaration, 'lowerings = ["sdpa.scale_on_q"]')
        self.assertGreater(count, sum(result.arithmetic.values()) / 2)

    def test_gelu(self):
        self.check_right("gelu", "gelu", dtypes=("f32", "f16"))

    def test_matmul(self):
        self.check_right("matmul", "matmul", dtypes="f16")

    def test_kernel_that_prints(self):
        self.check_right("shifted_relu", "relu")

    def test_method_of_a_class(self):
        self.check_right("Kernels.softmax", "softmax")

    def test_optional_inputs_are_left_out(self):
        self.check_right("optional_weights", "layer_norm")

    def test_graph_with_symbols(self):
        graph = fusesmith.Graph()
        x = graph.input("x", "T[N,2*D]")
        graph.output(graph.softmax(x, axis=-1))
        result = self.check_right("softmax", graph, shapes={"D": [4, 8]})
        self.assertEqual(result.subject, "a graph")

    def test_sizes_that_the_program_refuses_are_left_out(self):
        graph = fusesmith.Graph()
        x = graph.input("x", "T[N,D]")
        graph.output(graph.softmax(graph.reshape(x, shape=["N", 4])))
        result = fusesmith.judge(kernel("softmax"), graph, runs=10, shapes=[(3, 4), (3, 5)])
        self.assertTrue(result.ok, str(result))
        self.assertIn("5 more were not judged: fusesmith replay", str(result))
        self.assertIn("graph.nodes[0]", str(result))

    def test_rope_of_a_part_of_each_head(self):
        self.check_right("rope", "rope", dtypes="f32", rotary_dim=8)

    def test_joined_rows(self):
        self.check_right("joined", "concat", dtypes="f32", axis=0)

    def test_bytes_in_another_order(self):
        self.check_right("big_endian_relu", "relu", dtypes="f32")

    def test_a_few_valid_cases_are_not_enough(self):
        graph = fusesmith.Graph()
        x = graph.input("x", "T[N,D]")
        graph.output(graph.softmax(graph.reshape(x, shape=["N", 4])))
        result = fusesmith.judge(kernel("softmax"), graph, runs=9, shapes=[(3, 4), (3, 5), (3, 6)])
        self.assertFalse(result.ok, str(result))
        self.assertIn("was judged in too few cases for a graph: right in 3 of 9.", str(result))

    def test_case_file(self):
        graph = fusesmith.Graph()
        graph.output(graph.softmax(graph.input("x", "bf16[3,7]")))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "case.json")
            graph.save(path)
            self.check_right("softmax", path)

    def test_samples_of_large_results(self):
        result = fusesmith.judge(kernel("softmax"), "softmax", runs=2, shapes=[(300, 8)], dtypes="f32", sample=20,
                                 fills=["normal"])
        self.assertTrue(result.ok, str(result))
        judged, every = result.sampled
        self.assertEqual(every, 2 * 300 * 8)
        self.assertLess(judged, every // 2)
        self.assertIn(f"sampled {judged:,} of 4,800 elements", str(result))
        result = fusesmith.judge(kernel("softmax"), "softmax", runs=2, shapes=[(300, 8)], dtypes="f32")
        self.assertIsNone(result.sampled)

    def test_a_kernel_that_mostly_runs_out_of_memory_is_not_right(self):
        result = fusesmith.judge(kernel("out_of_memory_for_most"), "softmax", runs=10, dtypes="f32",
                                 shapes=[(4,), (300,), (7, 9)])
        self.assertFalse(result.ok, str(result))
        self.assertEqual((result.findings, result.verdict), (0, "out_of_memory"))
        self.assertIn("was judged in too few cases", str(result))

    def test_baseline(self):
        result = self.check_right("softmax", "softmax", baseline="cpu_fused")
        self.assertEqual(result.kernel.rpartition(":")[2], "softmax")

    def test_shapes(self):
        self.check_right("softmax", "softmax", shapes=[(4, 128), (7,), (1, 2, 3)])
        self.check_right("matmul", "matmul", shapes=[{"M": 3, "N": 5, "K": 7}], dtypes="f32")


@unittest.skipIf(MISSING, MISSING)
class WrongKernels(unittest.TestCase):
    def check_wrong(self, name, verdicts, op="softmax", runs=60, **arguments):
        with tempfile.TemporaryDirectory() as folder:
            result = fusesmith.judge(kernel(name), op, runs=runs, keep=folder, **arguments)
            self.assertFalse(result.ok, str(result))
            self.assertIn(result.verdict, verdicts)
            self.assertGreater(result.findings, 0)
            self.assertTrue(os.path.isfile(result.case))
            self.assertIn(f"Reproduce:\n  {result.repro}", str(result))
            if not arguments.get("run_timeout") and name not in ("wrong_later", "first_answer"):
                self.assertEqual(subprocess.run(result.repro, shell=True, capture_output=True).returncode, 77)
        return result

    def test_overflow(self):
        result = self.check_wrong("softmax_without_max", ["exceptional"])
        self.assertTrue(math.isnan(result.got))
        self.assertTrue(result.allowed[0] <= result.exact <= result.allowed[1], result)
        self.assertEqual(result.value, "y")
        failed, judged = result.failures_by["data"]["normal"]
        self.assertEqual(failed, 0)
        self.assertGreater(judged, 0)

    def test_what_only_some_data_shows(self):
        self.check_wrong("rope_that_clears_the_rest", ["defect", "exceptional"], "rope", dtypes="f32", rotary_dim=8)
        self.check_wrong("maximum_from_lowest", ["exceptional"], "reduce_max", dtypes="f32", runs=200)
        self.check_wrong("fill_that_skips_hidden_tiles", ["exceptional", "defect"], "masked_fill", dtypes="f32",
                         runs=200)

    def test_bits_are_no_bf16(self):
        result = self.check_wrong("bits_of_bf16", ["defect"], "relu", dtypes="f16")
        self.assertIn("uint16", result.sentence)

    def test_wrong_axis(self):
        result = self.check_wrong("softmax_of_columns", ["defect"])
        self.assertIn("softmax", result.region)

    @unittest.skipUnless(has_module("ml_dtypes"), "bf16 in numpy needs ml_dtypes")
    def test_sum_in_bf16(self):
        result = self.check_wrong("softmax_with_narrow_sum", ["defect"], dtypes="bf16")
        self.assertIn("bf16", result.region)

    def test_the_smallest_case_its_rule_and_lines_that_run(self):
        begun = time.monotonic()
        result = fusesmith.judge(kernel("softmax_without_the_tail"), "softmax", dtypes="f32", fills=["normal"])
        self.assertEqual(result.verdict, "defect", str(result))
        self.assertLess(time.monotonic() - begun, 30)
        self.assertTrue(result.smallest)
        self.assertIn("Fails iff N mod 8 != 0 and N >= 9, where N is x axis", result.rule)
        self.assertIn(result.rule[:40], str(result))
        self.assertNotIn("Reduce to a smaller case", str(result))
        with open(result.case, encoding="utf-8") as file:
            nodes = json.load(file)["graph"]["nodes"]
        self.assertEqual([(node["name"], node["op"]) for node in nodes], [("y", "softmax")])
        lines = subprocess.run([interpreter(), "-c", result.snippet], capture_output=True, text=True,
                               cwd=os.path.dirname(kernel("softmax").partition(":")[0]))
        self.assertEqual(lines.returncode, 0, lines.stderr)
        self.assertIn(f"{result.got:.4f}"[:5], lines.stdout)

    def test_how_large_the_data_is(self):
        result = self.check_wrong("softmax_without_max", ["exceptional"], dtypes="f32", fills=["large_mean"])
        self.assertRegex(result.rule, r"Fails iff max \|x\| >= (88\.7|104)")

    def test_memory_that_is_used_again(self):
        result = self.check_wrong("returns_one_buffer", ["defect"])
        self.assertIn("changed the result y of the call before", result.sentence)

    def test_inputs_that_are_not_contiguous(self):
        result = self.check_wrong("relu_that_ignores_strides", ["defect"], "relu", dtypes="f32", runs=100)
        self.assertIn("in memory with", result.inputs[0])
        self.assertEqual(result.snippet, "")

    def test_one_wrong_call_of_many(self):
        result = fusesmith.judge(kernel("seldom_wrong"), "softmax", dtypes="f32", runs=3)
        self.assertFalse(result.ok)
        self.assertIn("on the same inputs gave other bits", result.sentence)
        self.assertIn("FUSESMITH_REPEAT=1000", result.repro)
        self.assertEqual(subprocess.run(result.repro, shell=True, capture_output=True).returncode, 77)
        self.assertTrue(fusesmith.judge(kernel("seldom_wrong"), "softmax", dtypes="f32", runs=3, repeat=0).ok)

    def test_a_late_call_of_the_process_that_ran_the_cases(self):
        result = fusesmith.judge(kernel("wrong_in_call_1499"), "softmax", dtypes="f32", runs=120)
        self.assertFalse(result.ok, str(result))
        self.assertIn("on the same inputs gave other bits", result.sentence)

    def test_many_calls_take_less_time_than_one_call_may(self):
        result = fusesmith.judge(kernel("slow"), "softmax", dtypes="f32", runs=5, run_timeout=0.5)
        self.assertTrue(result.ok, str(result))

    def test_evidence_of_two_values(self):
        result = self.check_wrong("overwrites", ["defect"], runs=20)
        self.assertEqual((result.allowed, result.exact), (None, None))
        self.assertNotEqual(result.got, result.other)
        self.assertIn("which should be the same", str(result))

    def test_zeros_and_nan(self):
        self.assertEqual(self.check_wrong("zeros", ["defect"]).got, 0)
        self.check_wrong("not_numbers", ["exceptional"])

    def test_a_fused_multiply_add_is_right(self):
        """pytorch#152309."""
        result = fusesmith.judge(kernel("softmax_backward_by_fma"), "softmax_backward", runs=60)
        self.assertTrue(result.ok, str(result))

    def test_answers_from_a_cache(self):
        self.check_wrong("first_answer", ["defect", "exceptional", "nondeterministic"])

    def test_wrong_from_the_thirtieth_call_on(self):
        result = self.check_wrong("wrong_later", ["defect", "nondeterministic"])
        self.assertIn("fails after others", result.sentence)

    def test_input_overwritten(self):
        self.check_wrong("overwrites", ["defect"])

    def test_shape_and_dtype(self):
        self.check_wrong("too_short", ["defect"], runs=10)
        result = self.check_wrong("wrong_dtype", ["defect"], runs=1, shapes=[(9, 256)], dtypes="f32")
        self.assertIn("wrong_dtype returned float64[1,1] for y, f32[1,1] expected", result.sentence)

    def test_exception(self):
        result = self.check_wrong("raises", ["crash"], runs=10)
        self.assertIn("supports only some sizes", str(result))

    def test_death(self):
        self.check_wrong("ends", ["crash"], runs=3)

    def test_hanging_ends_the_run(self):
        result = self.check_wrong("hangs", ["timeout"], runs=50, run_timeout=0.5)
        self.assertLess(sum(result.cases.values()), 10)
        self.assertIn("more were not judged: a run took more than 0.5 s", str(result))

    def test_nothing_stays_of_a_caller_that_is_killed(self):
        with tempfile.TemporaryDirectory() as folder:
            note = os.path.join(folder, "worker")
            script = "import sys, fusesmith; fusesmith.judge(sys.argv[1], 'softmax', runs=3, run_timeout=500)"
            caller = subprocess.Popen([sys.executable, "-c", script, kernel("says_that_it_hangs")], cwd=folder,
                                      env={**os.environ, "FUSESMITH_TEST_FILE": note, "PYTHONPATH": PACKAGE,
                                           "TMPDIR": folder})
            self.assertTrue(wait_for(lambda: os.path.exists(note) and os.path.getsize(note) > 0, 120))
            caller.kill()
            caller.wait()
            with open(note, encoding="utf-8") as file:
                worker = int(file.read())
            self.assertTrue(wait_for(lambda: not os.path.exists(f"/proc/{worker}"), 20), "the worker is still there")

    def test_a_run_that_was_stopped_is_not_right(self):
        result = fusesmith.judge(kernel("softmax"), "softmax", runs=5000, dtypes="f32", time_limit=0.5)
        self.assertEqual((result.ok, result.stopped, result.findings), (False, True, 0), str(result))
        self.assertIn("was stopped for softmax: right in ", str(result))
        self.assertIn("more were not judged: 0.5 s were over", str(result))

    def test_the_time_of_the_judge_is_not_that_of_the_kernel(self):
        progress = replay.Progress("progress", "softmax", 2)
        with unittest.mock.patch("time.monotonic") as clock:
            for seconds, notes in ((100, b"c"), (120, b"cr"), (121, b"cre"), (160, b"crec"), (190, b"crecrer")):
                clock.return_value = seconds
                progress.note(notes)
        self.assertEqual(progress.longest, 1)

    def test_what_a_kernel_does_not_take(self):
        result = fusesmith.judge(kernel("matrices_alone"), "matmul", dtypes="f32", runs=40)
        self.assertTrue(result.ok, str(result))
        self.assertEqual(sum(result.cases.values()), 40)
        self.assertIn("only matrices", result.refused["3 axes"])
        self.assertIn("Cases with 3 axes are left out, since each of them ended with ValueError", str(result))
        self.assertEqual(set(result.covered), {"M", "K", "N", "dtype"})
        ranked = fusesmith.judge(kernel("matrices_alone"), "matmul", dtypes="f32", runs=10, rank=2)
        self.assertEqual((ranked.ok, ranked.refused), (True, {}), str(ranked))
        with self.assertRaisesRegex(fusesmith.Error, "rank is the number of axes .*, 2 or 3 or 4, got 9"):
            fusesmith.judge(kernel("matrices_alone"), "matmul", rank=9)

    def test_strict_policy(self):
        graph = fusesmith.Graph()
        x = graph.input("x", "bf16[9,33]")
        graph.output(graph.softmax(graph.scale(x, factor=0.3)))
        lawful = fusesmith.judge(kernel("scaled_softmax", "fused.py"), graph, runs=20, fills=["normal"])
        self.assertEqual((lawful.ok, lawful.verdict), (True, "precision_policy"), str(lawful))
        strict = fusesmith.judge(kernel("scaled_softmax", "fused.py"), graph, runs=20, fills=["normal"],
                                 policy="strict")
        self.assertEqual((strict.ok, strict.verdict), (False, "precision_policy"), str(strict))
        self.assertIn("--policy=strict", strict.repro)


# How functions of one name are made; what is judged; and what each line of the output has.
LOOPS = (
    ("all_of = []\nfor k in (2, 1):\n    def f(x, k=k):\n        return np.maximum(x, 0) * np.float32(k)\n"
     "    all_of.append(f)\n", "all_of", ["in a loop", "in a loop"]),
    ("def f(x):\n    return x\nfirst = [f]\ndef f(x):\n    return np.maximum(x, 0)\n", "(first[0], f)",
     ["more than once", "more than once"]),
    ("all_of = [lambda x, k=k: np.maximum(x, 0) * np.float32(k) for k in (2, 1)]\n", "all_of", ["a loop", "a loop"]),
    ("def made(k):\n    def f(x):\n        return np.maximum(x, 0) * np.float32(k)\n    return f\n"
     "f1, f2 = made(2), made(1)\n", "(f1, f2)", ["inside a function", "inside a function"]),
    ("try:\n    import no_such_module\n    def g(x):\n        return x\n"
     "except ImportError:\n    def g(x):\n        return np.maximum(x, 0)\n", "(g,)", ["identical"]),
    ("def g(x, k=1 if __name__ == '__main__' else 2):\n    return np.maximum(x, 0) * np.float32(k)\n", "(g,)",
     ["g is another object"]),
    ("exec('def g(x): return np.maximum(x, ' + ('0)' if __name__ == '__main__' else '1)'))\n", "(g,)",
     ["g is another object"]),
    ("def scaled(x, k):\n    return np.maximum(x, 0) * np.float32(k)\n"
     "g = functools.partial(scaled, k=1 if __name__ == '__main__' else 2)\ng.__module__ = __name__\n", "(g,)",
     ["g is another object"]),
)


@unittest.skipIf(MISSING, MISSING)
class Errors(ErrorLines):
    def check(self, expected, *arguments, **named):
        self.check_error(expected, fusesmith.judge, *arguments, **named)

    def test_kernel(self):
        def inner(x):
            return x

        self.check("defined inside a function", inner, "softmax")
        self.check("lambda", lambda x: x, "softmax")
        self.check("no Python file", math.exp, "softmax")
        self.check("no Python file", len, "softmax")
        self.check("got int", 3, "softmax")
        self.check("FILE.py:FUNCTION", "softmax", "softmax")
        self.check("no such file", "missing.py:f", "softmax")
        self.check('defines no "sofmax" (did you mean "softmax"?)', kernel("sofmax"), "softmax")
        self.check("softmax has 1 input, but takes_two takes 2 arguments", kernel("takes_two"), "softmax")

    def test_function_that_its_name_does_not_lead_to(self):
        with tempfile.TemporaryDirectory() as folder:
            script = os.path.join(folder, "kernels_of_a_loop.py")
            for made, judged, expected in LOOPS:
                with open(script, "w", encoding="utf-8") as file:
                    file.write(f"import functools\nimport numpy as np\nimport fusesmith\n\n{made}\n"
                               f'if __name__ == "__main__":\n    for f in {judged}:\n        try:\n'
                               '            print(fusesmith.judge(f, "relu", runs=4, dtypes="f32").verdict)\n'
                               "        except fusesmith.Error as error:\n            print(error)\n")
                ran = subprocess.run([interpreter(), script], capture_output=True, text=True,
                                     env={**environment(), "FUSESMITH_BINARY": binary()})
                lines = ran.stdout.splitlines()
                self.assertEqual(len(lines), len(expected), f"{made}\n{ran.stdout}{ran.stderr}")
                for line, part in zip(lines, expected, strict=True):
                    self.assertIn(part, line, made)

    def test_subject(self):
        softmax = kernel("softmax")
        self.check('unknown op "sofmax" (did you mean "softmax"?)', softmax, "sofmax")
        self.check('unknown attribute "axs" (did you mean "axis"?)', softmax, "softmax", axs=1)
        self.check("axis is an integer", softmax, "softmax", axis=1.5)
        self.check("axis is an integer", softmax, "softmax", axis="last")
        self.check("build a fusesmith.Graph", softmax, "reshape", shape=[1])
        self.check("no such file", softmax, "missing.json")
        self.check("got int", softmax, 3)
        self.check("no output", softmax, fusesmith.Graph())
        self.check("only an op given by its name has attributes", softmax, self.graph(), axis=1)

    def graph(self):
        graph = fusesmith.Graph()
        graph.output(graph.softmax(graph.input("x", "T[N,D]")))
        return graph

    def test_arguments(self):
        softmax = kernel("softmax")
        self.check('unknown dtype "float32"', softmax, "softmax", dtypes=["float32"])
        self.check("dtypes is empty", softmax, "softmax", dtypes=[])
        self.check("runs is an integer", softmax, "softmax", runs=0)
        self.check("policy", softmax, "softmax", policy="loose")
        self.check('unknown fill "norml" (did you mean "normal"?)', softmax, "softmax", fills=["norml"])
        self.check('unknown fill "norml" (did you mean "normal"?)', softmax, "softmax", fills="norml")
        self.check('no size is called "M"', softmax, "softmax", shapes={"M": 3})
        self.check("does not fit the first input", softmax, self.graph(), shapes=[(1, 2, 3)])
        self.check('shapes is "fuzz"', softmax, "softmax", shapes="some")
        self.check("write [(4, 128)] for one shape", softmax, "softmax", shapes=(4, 128))
        self.check("integers of 1 or more", softmax, "softmax", shapes={"D": [0]})

    def test_case_that_the_program_refuses(self):
        graph = fusesmith.Graph()
        x = graph.input("x", "f32[3,4]")
        graph.output(graph.reshape(x, shape=[5]))
        self.check("graph.nodes[0]", kernel("softmax"), graph, runs=2)

    def test_program(self):
        before = os.environ.get("FUSESMITH_BINARY")
        os.environ["FUSESMITH_BINARY"] = "/nowhere/fusesmith"
        try:
            self.check("expected a program", kernel("softmax"), "softmax")
        finally:
            os.environ.pop("FUSESMITH_BINARY")
            if before:
                os.environ["FUSESMITH_BINARY"] = before

    def test_in_the_worker(self):
        os.environ["FUSESMITH_JUDGING"] = "1"
        try:
            with self.assertRaises(Exception) as caught:
                fusesmith.judge(kernel("softmax"), "softmax")
            self.assertEqual(type(caught.exception).__name__, "JudgedAtImport")
        finally:
            del os.environ["FUSESMITH_JUDGING"]


if __name__ == "__main__":
    unittest.main()
