"""The graph builder: what it writes, what the program reads, and what it refuses."""

import json
import math
import os
import subprocess
import tempfile
import unittest

from support import ErrorLines, binary, fusesmith, ops, why_not
from support import sizes as drawing
from support import templates as graphs

MISSING = why_not()
ALONE = {"reshape", "squeeze", "broadcast_to", "slice", "index_copy"}  # ops whose sizes are not drawn
REQUIRED = {"einsum": {"equation": "bik,bkj->bij"}, "cast": {"dtype": "f32"}, "permute": {"dims": [1, 2, 0]},
            "arange": {"count": 5}, "causal_mask": {"rows": 3, "cols": 4}}


@unittest.skipIf(MISSING, MISSING)
class Builder(ErrorLines):
    def test_file_is_what_the_program_writes(self):
        g = fusesmith.Graph()
        x = g.input("x", "bf16[4,128]")
        y = g.softmax(x, axis=-1)
        g.output(y)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "case.json")
            g.save(path, seed=7)
            with open(path, encoding="utf-8") as file:
                text = file.read()
            judged = subprocess.run([binary(), "replay", path, "--json", "--baseline=cpu", "--candidate=cpu_fused"],
                                    capture_output=True, text=True)
        self.assertEqual(text, g.to_json(seed=7))
        self.assertEqual(json.loads(text)["graph"]["nodes"],
                         [{"name": "softmax", "op": "softmax", "inputs": ["x"], "axis": -1}])
        self.assertEqual(len(json.loads(judged.stdout)["cases"]), 1, judged.stderr)

    def test_names_and_several_outputs(self):
        g = fusesmith.Graph()
        x = g.input("x", "f32[6,8]")
        self.assertEqual([g.relu(x), g.relu(x), g.relu(x, name="third")], ["relu", "relu2", "third"])
        self.assertEqual(g.chunk(x, axis=0, chunks=2), ("chunk.0", "chunk.1"))
        self.assertEqual(g.var_mean(x, axes=[0]), ("var_mean.0", "var_mean.1"))
        self.assertIn("softmax", dir(g))

    def test_states(self):
        g = fusesmith.Graph()
        cache = g.state("cache", "f32[4]")
        g.next_state(cache, g.relu(cache))
        self.assertEqual(g.to_dict()["states"][0]["next"], "relu")
        self.check_error('no state "cach" (did you mean "cache"?)', g.next_state, "cach", cache)

    def test_symbols(self):
        g = fusesmith.Graph()
        x = g.input("x", "T[N,2*D]")
        g.output(g.reshape(x, shape=["N", 2, "D"]))
        made = g.with_sizes({"N": 3, "D": 5}, "f16")
        self.assertEqual((made.inputs[0]["type"], made.nodes[0]["shape"]), ("f16[3,10]", [3, 2, 5]))
        self.check_error('the size "D" is not known', g.with_sizes, {"N": 3}, "f16")

    def test_errors(self):
        g = fusesmith.Graph()
        x = g.input("x", "f32[4]")
        for expected, call in {
            'unknown op "sofmax" (did you mean "softmax"?)': lambda: g.sofmax(x),
            'unknown attribute "axs" (did you mean "axis"?)': lambda: g.softmax(x, axs=1),
            "softmax has 1 input, got 0": lambda: g.softmax(),
            "axis is an integer": lambda: g.softmax(x, axis=1.5),
            'form is one of "erf", "tanh", got \'tan\' (did you mean "tanh"?)': lambda: g.gelu(x, form="tan"),
            "eps lies between": lambda: g.layer_norm(x, eps=7),
            'the attribute "axes" is required': lambda: g.reduce_sum(x),
            'no value "z" yet': lambda: g.relu("z"),
            'the name "x" is used already': lambda: g.input("x", "f32[4]"),
            'unknown dtype "f31" (did you mean "f32"?)': lambda: g.input("y", "f31[4]"),
            'expected a type like "bf16[4,16]"': lambda: g.input("y", "f32(4)"),
            "is no name": lambda: g.input("a b", "f32[4]"),
        }.items():
            self.check_error(expected, call)


@unittest.skipIf(MISSING, MISSING)
class Draws(unittest.TestCase):
    def test_every_op_has_sizes_that_the_program_accepts(self):
        with tempfile.TemporaryDirectory() as folder:
            count = 0
            for op in ops():
                if op in ALONE:
                    with self.assertRaises(fusesmith.Error):
                        graphs.op_graphs(op, {}, None)
                    continue
                for graph in graphs.op_graphs(op, REQUIRED.get(op, {}), None):
                    sizes = drawing.Draw(3).sizes(graph, {})
                    small = graph.with_sizes({name: min(size, 9) for name, size in sizes.items()}, "f16")
                    small.save(os.path.join(folder, f"{count:03}.json"))
                    count += 1
            judged = subprocess.run([binary(), "replay", folder, "--json", "--baseline=cpu", "--candidate=cpu"],
                                    capture_output=True, text=True)
        self.assertEqual(judged.stderr, "")
        cases = json.loads(judged.stdout)["cases"]
        self.assertEqual(len(cases), count)
        self.assertFalse([case for case in cases if case["finding"]])

    def test_same_seed_same_draws(self):
        graph = graphs.op_graphs("matmul", {}, None)[1]
        drawn = [[drawing.Draw(seed).sizes(graph, {}) for _ in range(5)] for seed in (1, 1, 2)]
        self.assertEqual(drawn[0], drawn[1])
        self.assertNotEqual(drawn[0], drawn[2])

    def test_sizes_are_awkward_and_bounded(self):
        self.assertLess({1, 2, 127, 128, 129, 257, 293, 300}, set(drawing.AWKWARD) | {0})
        draw, graph = drawing.Draw(1), graphs.op_graphs("sdpa", {}, None)[0]
        for _ in range(200):
            sizes = draw.sizes(graph, {"D": [64]})
            self.assertLessEqual(math.prod(sizes.values()), drawing.MANY_PRODUCTS)
            self.assertEqual(sizes["D"], 64)

    def test_sizes_that_models_have(self):
        draw, norm = drawing.Draw(1), graphs.op_graphs("layer_norm", {}, None)[1]
        rows = [draw.sizes(norm, {}) for _ in range(200)]
        self.assertGreater(sum(sizes["D"] > 512 for sizes in rows), 5)
        self.assertGreater(sum(sizes["D"] == sizes["A"] for sizes in rows), 5)
        attention = graphs.op_graphs("sdpa", {}, None)
        drawn = [draw.sizes(draw.random.choice(attention), {}) for _ in range(300)]
        self.assertLess({40, 64, 80, 128}, {sizes["D"] for sizes in drawn})
        self.assertGreater(sum(sizes["R"] > 64 and sizes["S"] > 64 and sizes["D"] > 32 for sizes in drawn), 5)
        self.assertGreater(sum(sizes.get("E", sizes["D"]) != sizes["D"] for sizes in drawn), 5)
        self.assertEqual(draw.sizes(attention[-1], {"D": [64]})["E"], 64)  # who names one size means both

    def test_forms_of_attention(self):
        grouped = {graph.variant for graph in graphs.op_graphs("sdpa", {"grouped_heads": True}, None)}
        self.assertIn("12 query heads for each of k and v", grouped)
        masks = {graph.inputs[3]["type"] for graph in graphs.op_graphs("sdpa", {"mask": "boolean"}, None)}
        self.assertEqual(masks, {"bool[R,S]", "bool[B,1,R,S]", "bool[1,H,R,S]", "bool[B,H,R,S]"})

    def test_shape_of_the_first_input(self):
        graph = graphs.op_graphs("rope", {}, None)[0]
        self.assertEqual(drawing.sizes_of_shape(graph, (3, 8)), {"R": 3, "D": 4})
        self.assertIsNone(drawing.sizes_of_shape(graph, (3, 7)))


if __name__ == "__main__":
    unittest.main()
