"""Lists of ops beside the op list: a file that names many ops is one that a new op must be added to.

Such files are either below, with the reason why their list cannot be derived, or an error."""

import fnmatch
import re

from tree.sources import CPP, TEST_FILE, blank

OP_LIST = "graph/op_list.h"
MAX_OPS = 5

# Where a new op is missing, the compiler, the linker or a test over every op says so.
FAMILIES = ["backends/common/movement.cc", "backends/common/scalar_step.cc", "backends/cuda/emit/emit_*.cc",
            "fuzz/export/torch_ops.cc", "fuzz/generate/pieces/free_ops.cc", "graph/gradient_rules.cc",
            "graph/op_tests/*.h", "oracle/reference/*.cc"]
# Certain graphs, which consist of these ops.
GRAPHS = ["backends/rewrite/*.cc", "backends/rewrite/*.h", "fuzz/generate/pieces/*.cc", "graph/expand.cc",
          "graph/formula.cc", "minimizer/sample_cases.h", "oracle/formula_lowerings.cc", "oracle/lowerings.cc"]
# By what these ops are computed: their divisors, weights and partial sums, and what libraries are known to do.
ARITHMETIC = ["backends/cuda/calibrate/scalar_errors.cu", "oracle/evaluate.cc", "oracle/known_arithmetic.cc"]
# What operands of these ops are called, how their sizes depend on each other, what can stand in their place.
MEANINGS = ["fuzz/findings/groups.cc", "fuzz/run/scalar_functions.cc", "minimizer/dimensions.cc",
            "minimizer/naming.cc", "minimizer/neighbours.cc"]
TESTS = re.compile(TEST_FILE.pattern + r"|_bench\.cc$")


def op_types(text):
    """The types of ops that the op list has."""
    return re.findall(r"^  X\((\w+)\)", text, re.M)


def named_ops(text, ops):
    """Which of these types the C++ text uses: constructs, takes as a parameter, or asks a variant for."""
    code = blank(text, ("comment", "text", "raw"))
    return [op for op in ops if re.search(rf"(?<![\w:.>]){op}\s*[{{>&,)]", code)]


def check_op_lists(texts):
    """`texts`: path -> text, all files of the tree."""
    ops = op_types(texts.get(OP_LIST, ""))
    allowed = FAMILIES + GRAPHS + ARITHMETIC + MEANINGS
    used = set()
    for path, text in texts.items():
        if not path.endswith(CPP) or TESTS.search(path) or path == OP_LIST or path.startswith("graph/ops/"):
            continue
        count = len(named_ops(text, ops))
        if count <= MAX_OPS:
            continue
        reasons = [pattern for pattern in allowed if fnmatch.fnmatch(path, pattern)]
        used.update(reasons)
        if not reasons:
            yield (f"{path}:1: names {count} ops, at most {MAX_OPS}: derive what it says of them from {OP_LIST}, "
                   "or give the reason in scripts/tree/op_lists.py")
    for pattern in allowed if ops else []:
        if pattern not in used:
            yield f"scripts/tree/op_lists.py:1: {pattern}: no such file names more than {MAX_OPS} ops"
