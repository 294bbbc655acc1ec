"""Layouts in memory: every kind is drawn, its properties are named, and kernels that fail for one are found."""

import collections
import json
import tempfile
import unittest
from random import Random

from fusesmith.cases import GraphSubject, write_cases
from fusesmith.layouts import KINDS, layout_of, phrases_of, properties_of
from support import fusesmith, kernel, templates, why_not

MISSING = why_not("numpy", "ml_dtypes")


def given(type, **layout):
    return {"name": "x", "type": type, "fill": {"normal": {}}, "layout": layout}


class Properties(unittest.TestCase):
    def check(self, expected, type, **layout):
        self.assertEqual([text.partition("whose ")[2] for text in properties_of(given(type, **layout))], expected)

    def test_each_kind(self):
        self.check(["last axis is not contiguous", "axes lie in another order", "memory is not contiguous"],
                   "f32[4,5]", order=[1, 0])
        self.check(["axes lie in another order", "memory is not contiguous"], "f32[4,5,6]", order=[1, 0, 2])
        self.check(["rows lie apart", "memory is not contiguous"], "f32[4,5]", pad=[0, 3])
        self.check(["elements share memory (stride 0)", "memory is not contiguous"], "f32[4,5]", expand=[0])
        self.check([f"address is no multiple of {bytes} bytes" for bytes in (16, 32)], "f16[4]", offset=4)
        self.check([f"address is no multiple of {bytes} bytes" for bytes in (8, 16, 32)], "f32[4]", offset=1)
        self.check([], "f32[4,5]")

    def test_tensors_that_have_no_such_layout(self):
        for kind in ("transposed", "reordered"):
            self.assertIsNone(layout_of(Random(1), kind, 8, "f32", [4, 1, 1]))
        self.assertIsNone(layout_of(Random(1), "padded", 8, "f32", [1, 9]))
        self.assertIsNone(layout_of(Random(1), "expanded", 8, "i32", [9]))

    def test_names_of_inputs(self):
        graph = fusesmith.Graph()
        graph.input("x", "f32[4]")
        graph.inputs.append({**given("f32[4,5]", pad=[0, 3]), "name": "w"})
        self.assertEqual(phrases_of(graph), ("inputs whose rows lie apart", "inputs whose memory is not contiguous",
                                             "w whose rows lie apart", "w whose memory is not contiguous"))


@unittest.skipIf(MISSING, MISSING)
class Drawn(unittest.TestCase):
    def written(self, op, **arguments):
        with tempfile.TemporaryDirectory() as folder:
            subject = GraphSubject(templates.op_graphs(op, {}, None), op)
            cases = write_cases(folder, subject, ("f32", "f16"), "fuzz", 200, 1, None, None, KINDS, **arguments)
            inputs = []
            for case in cases:
                with open(case.path, encoding="utf-8") as file:
                    inputs.append(json.load(file)["graph"]["inputs"])
        return cases, inputs

    def test_each_kind_has_its_turn(self):
        for op in ("softmax", "sdpa"):
            cases, inputs = self.written(op)
            counts = collections.Counter(key for ones in inputs for key in {k for one in ones for k in one.get(
                "layout", ())})
            self.assertEqual(set(counts), {"order", "pad", "offset", "expand"})
            self.assertGreater(min(counts.values()), 5, counts)
            expanded = [one for ones in inputs for one in ones if "expand" in one.get("layout", ())]
            self.assertTrue(all(one["repeat"] == one["layout"]["expand"] for one in expanded))
            named = {variant for case in cases for variant in case.variants}
            self.assertLess({"inputs whose last axis is not contiguous", "inputs whose address is no multiple of 16 "
                             "bytes"}, named)

    def test_what_is_refused_is_not_drawn_and_data_stay(self):
        cases, inputs = self.written("softmax")
        refused = "inputs whose memory is not contiguous"
        fewer, others = self.written("softmax", refused=(refused,))
        self.assertIn(refused, {variant for case in cases for variant in case.variants})
        self.assertNotIn(refused, {variant for case in fewer for variant in case.variants})
        self.assertEqual([one[0]["fill"] for one in inputs], [one[0]["fill"] for one in others])

    def test_heads_and_rows_that_are_swapped(self):
        result = fusesmith.judge(kernel("attention_that_takes_heads_first"), "sdpa", dtypes="f32", fills=["normal"],
                                 runs=60)
        self.assertEqual((result.ok, result.verdict), (False, "defect"), str(result))
        self.assertIn("Passes if all inputs are contiguous", result.rule)


if __name__ == "__main__":
    unittest.main()
