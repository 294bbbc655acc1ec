"""The self-test of scripts/check_tree: violations planted in a temporary tree, and what must be said of each."""

import os
import re
import tempfile

from tree import decisions, picture
from tree.sources import CPP


def body(lines):
    return "{\n" + "  f();\n" * (lines - 2) + "}\n"


# (file, text, what the report must say; "" if nothing)
PLANTED = [
    ("graph/ok.cc", '#include <vector>\n#include "graph/dtype.h"\n// #include "fuzz/run/x.h"\n'
     "#include <nlohmann/json.hpp>\n", ""),
    ("graph/up.cc", '#include "oracle/judge.h"\n', "may not include oracle/judge.h"),
    ("graph/relative.cc", '#include "ok.cc"\n', "from the repository root"),
    ("graph/log.cc", "#include <spdlog/spdlog.h>\n", "spdlog/spdlog.h may not appear"),
    ("graph/dense.cc", "#include <Eigen/Dense>\n", "Eigen/Dense may not appear"),
    ("graph/boost.cc", "#include <boost/any.hpp>\n", "in no list"),
    ("graph/gtest.cc", "#include <gtest/gtest.h>\n", "gtest/gtest.h may not appear"),
    ("graph/ok_test.cc", '#include <gtest/gtest.h>\nauto s = R"(\n#include "fuzz/run/x.h"\n)";\n', ""),
    ("oracle/json.cc", "#include <nlohmann/json.hpp>\n", "json.hpp may not appear"),
    ("oracle/up.cc", '#include "backends/backend.h"\n', "may not include backends/backend.h"),
    ("minimizer/up.cc", '#include "backends/backend.h"\n', "may not include backends/backend.h"),
    ("minimizer/cli.cc", "#include <CLI/CLI.hpp>\n", "CLI/CLI.hpp may not appear"),
    ("fuzz/cli/ok.cc", '#include <CLI/CLI.hpp>\n#include "backends/cpu/a.h"\n#include "oracle/judge.h"\n', ""),
    ("fuzz/run/cuda.cc", "#include <cuda_runtime.h>\n", "cuda_runtime.h may not appear"),
    ("fuzz/tool.py", "print()\n", "Python only under python/ and scripts/"),
    ("backends/across_test.cc", '#include "backends/cpu/run.h"\n#include "backends/cuda/run.h"\n', ""),
    ("backends/top.cc", '#include "backends/cpu/run.h"\n', "may not include backends/cpu/run.h"),
    ("backends/top.h", '#include "backends/cpu/run.h"\n', "may not include backends/cpu/run.h"),
    ("backends/cpu/ok.cc", '#include "backends/cpu/run.h"\n#include "backends/top.h"\n'
     '#include "backends/common/a.h"\n#include "oracle/plan.h"\n#include <Eigen/Dense>\n', ""),
    ("backends/cpu/ok_test.cc", '#include "oracle/judge.h"\n#include <gmock/gmock.h>\n', ""),
    ("backends/cpu/judge.cc", '#include "oracle/judge.h"\n', "may not include oracle/judge.h"),
    ("backends/cpu/sibling.cc", '#include "backends/cuda/run.h"\n', "may not include backends/cuda/run.h"),
    ("backends/cpu/rewrite.cc", '#include "backends/rewrite/rewrite.h"\n', "may not include"),
    ("backends/cpu_fused/ok.cc", '#include "backends/rewrite/rewrite.h"\n', ""),
    ("backends/cuda/ok.cu", "#include <cublas_v2.h>\n__global__ void k(int n) " + body(90), ""),
    ("backends/cuda/long.cu", "__global__ void k(int n) " + body(101), "function of 101 lines"),
    ("oracle/long.cc", "namespace fusesmith::oracle {\ntemplate <class T>\nint f(T x) " + body(60) + "}\n",
     "of 61 lines"),
    ("oracle/method.h", "struct A final {\n  int f() const " + body(61) + "};\n", "function of 61 lines"),
    ("oracle/init.cc", "A::A(T t = {}, int n = 1) : a(n), b{2} " + body(61), "function of 61 lines"),
    ("oracle/fits.cc", "namespace fusesmith::oracle {\nint f(int x = 1'000, char c = '{') " + body(60) +
     "int g() " + body(60) + "const int t[] = {\n" + "1,\n" * 80 + "};\n}\n", ""),
    ("oracle/branch.cc", "#if A\nint f() {\n#else\nint f(int) {\n#endif\n}\nint g() " + body(61),
     "function of 61 lines"),
    ("minimizer/big.cc", "\n" * 500, "501 lines, at most 500"),
    ("scripts/tool.py", "def f():\n" + "    f()\n" * 60, "function of 61 lines"),
    # subfolders
    ("fuzz/base/up.cc", '#include "fuzz/run/run_case.h"\n', "fuzz/base/ includes no other subfolder"),
    ("fuzz/run/across.cc", '#include "fuzz/generate/sketch.h"\n', "fuzz/run/ includes base"),
    ("fuzz/campaign/up.cc", '#include "fuzz/cli/command.h"\n', "may not include fuzz/cli/command.h"),
    ("fuzz/campaign/ok.cc", '#include "fuzz/base/flags.h"\n#include "fuzz/report/text.h"\n', ""),
    ("fuzz/base/free_test.cc", '#include "fuzz/cli/command.h"\n', ""),
    ("fuzz/run/test_support.h", '#include "fuzz/cli/command.h"\n', ""),
    ("fuzz/attic/a.cc", '#include "fuzz/base/flags.h"\n', "fuzz/attic/ is no subfolder"),
    ("backends/rewrite/matching/up.cc", '#include "backends/rewrite/sdpa/sdpa.h"\n', "may not include"),
    ("backends/rewrite/sdpa/ok.cc", '#include "backends/rewrite/matching/a.h"\n#include "backends/rewrite/pattern.h"\n',
     ""),
    ("backends/rewrite/all.cc", '#include "backends/rewrite/sdpa/sdpa.h"\n', ""),
    ("backends/cuda/runtime/up.cc", '#include "backends/cuda/emit/emit_node.h"\n',
     "backends/cuda/runtime/ includes kernels"),
    ("backends/cuda/kernels/up.cc", '#include "backends/cuda/cuda_backend.h"\n', "includes no other subfolder"),
    ("backends/cuda_fused/gemm/up.cc", '#include "backends/cuda_fused/emit/emit_fused.h"\n', "includes device"),
    ("backends/cuda_fused/gemm/ok.cc", '#include "backends/cuda/emit/emit_node.h"\n', ""),
    # namespaces
    ("minimizer/bare.h", "namespace {\nint f();\n}\n", "namespace {: names of this folder"),
    ("minimizer/bare_too.h", "int f();  // namespace fusesmith::minimizer\n", "no namespace fusesmith::minimizer"),
    ("minimizer/other.h", "namespace fusesmith::minimizer {}\nnamespace fusesmith::graph {}\n",
     "namespace fusesmith::graph: names of this folder"),
    ("minimizer/inner.h", "namespace spdlog {}\nnamespace fusesmith::minimizer::detail {}\n", ""),
    ("minimizer/all.h", '#include "graph/a.h"\n#define X(f) f(1)\n', ""),
    ("graph/namespaces.h", "namespace fusesmith {\nnamespace graph {}\n}\n", ""),
    # the one-definition rule
    ("oracle/first.h", "namespace fusesmith::oracle {\nstruct Twice {};\nclass Declared;\nnamespace {\n"
     "struct Local {};\n}\ninline void f() {\n  struct Inner {};\n}\n}\n", ""),
    ("oracle/second.cc", "namespace fusesmith::oracle {\nstruct Twice final : Base {\n  int n = 0;\n};\n}\n",
     "fusesmith::oracle::Twice is defined in oracle/first.h:2"),
    ("oracle/second_test.cc", "namespace fusesmith::oracle {\nnamespace {\nstruct Twice {};\n}\n"
     "void g() {\n  struct Inner {};\n}\nclass Declared {};\nstruct Local {};\n}\n", ""),
    ("graph/same.h", "namespace fusesmith::graph {\nstruct Twice {\n  enum class Kind : int { a, b };\n};\n"
     "template <>\nstruct Traits<int> {};\n}\n", ""),
    ("graph/same_too.cc", "namespace fusesmith::graph {\ntemplate <class T>\nstruct Traits<T*> {};\n"
     "enum class Kind { c };\nTwice make() { return {}; }\n}\n", ""),
    ("graph/third.cc", "namespace fusesmith::graph {\nstruct alignas(16) [[nodiscard]] Twice {};\n}\n",
     "Twice is defined"),
    ("backends/enum.h", "namespace fusesmith::backends {\nenum class Mode : int { a };\n}\n", ""),
    ("backends/enum_too.h", "namespace fusesmith::backends {\nenum class Mode { b };\n}\n", "Mode is defined in"),
    # lists of ops
    ("graph/op_list.h", "#define FUSESMITH_FOR_EACH_OP(X) \\\n" + "".join(f"  X(Op{i}) \\\n" for i in range(8)), ""),
    ("fuzz/run/six.cc", "Op ops[] = {" + "".join(f"Op{i}{{}}, " for i in range(6)) + "};\n", "names 6 ops, at most 5"),
    ("fuzz/run/five.cc", "Op ops[] = {" + "".join(f"Op{i}{{}}, " for i in range(5)) + "};  // Op5{}\n", ""),
    ("fuzz/run/six_test.cc", "Op ops[] = {" + "".join(f"Op{i}{{}}, " for i in range(6)) + "};\n", ""),
    ("oracle/reference/six.cc", "Op ops[] = {" + "".join(f"Op{i}{{}}, " for i in range(6)) + "};\n", ""),
    # columns
    ("graph/wide.cc", "//" + "x" * 119 + "\n", "121 columns, at most 120"),
    ("graph/wide_test.cc", "//" + "x" * 119 + "\n", ""),
    ("scripts/wide", "#" + "x" * 120 + "\n", "121 columns"),
    ("docs/links.md", "[a](fits.md) [b](https://x.org/y) [c](wide.md)\n```\n[d](none)\n```\n", ""),
    ("docs/headings.md", "# `A`, b\n# c\n# c\n[a](#a-b) [b](#c-1) [c](headings.md#c)\n", ""),
    ("docs/moved.md", "# A\n[a](headings.md#a)\n", "the link to headings.md#a leads to no heading"),
    ("docs/decisions.md", "| 1 | [A](#1-a) | oracle |\n## oracle\n### 1. A\n### 2. B `b`\n",
     "needs the row | 2 | [B `b`](#2-b-b) | oracle |"),
    ("docs/broken.md", "See [this](none.md#part).\n", "the link to none.md leads to nothing"),
    ("docs/wide.md", "- " + "word " * 24 + "\n", "122 columns"),
    ("docs/fits.md", "| " + "cell " * 30 + "|\n- " + "x" * 130 + "\n```\n" + "word " * 30 + "\n```\n", ""),
]


def whole(path, text):
    """The planted text, with its folder's namespace where it has none."""
    bare = re.search("namespace|#define", text) or not path.endswith(CPP)
    return text if bare else text + f"namespace fusesmith::{path.split('/')[0]} {{}}\n"


def write(root, path, text):
    os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
    with open(os.path.join(root, path), "w", encoding="utf-8") as file:
        file.write(text)


# (docs/decisions.md, what must be said of it)
DECISIONS = [
    ("| 1 | [A](#1-a) | oracle |\n## oracle\n### 1. A\n", ""),
    ("| 1 | [A](#1-a) | graph |\n## oracle\n### 1. A\n", "needs the row"),
    ("| 1 | [A](#1-a) | oracle |\n## oracle\n## 1. A\n", "entry 1 is in no group"),
    ("| 1 | [A](#1-a) | oracle |\n## oracle\n### 1. A\n### 1. A\n", "a second entry 1"),
    ("| 1 | [A](#1-a) | oracle |\n| 1 | [A](#1-a) | oracle |\n## oracle\n### 1. A\n", "a second row for entry 1"),
    ("| 1 | [A](#1-a) | oracle |\n| 2 | [B](#2-b) | oracle |\n## oracle\n### 1. A\n", "a row for entry 2"),
]


def self_test(check):
    """Plants the files above; `check` takes a folder and returns errors and a summary."""
    failures = []
    with tempfile.TemporaryDirectory() as root:
        for path, text, _ in PLANTED:
            write(root, path, whole(path, text))
        errors, _ = check(root)
        for path, _, expected in PLANTED:
            said = [e for e in errors if e.startswith(path + ":")]
            if [expected in e for e in said] != ([True] if expected else []):
                failures.append(f"{path}: expected '{expected or 'nothing'}', got {said}")
    for text, expected in DECISIONS:
        said = list(decisions.check_decisions(decisions.PATH, text))
        if [expected in e for e in said] != ([True] if expected else []):
            failures.append(f"{text!r}: expected '{expected or 'nothing'}', got {said}")
    with tempfile.TemporaryDirectory() as root:
        write(root, "fuzz/base/a.cc", "namespace fusesmith::fuzz {}\n" + "\n" * 120)
        if check(root)[0] != ["the median file has 121 lines, at most 120"]:
            failures.append("the median goes unnoticed")
    if picture.reduced({("a", "b"), ("b", "c"), ("a", "c")}) != {("a", "b"), ("b", "c")}:
        failures.append("include_graph draws an arrow that follows from others")
    try:
        picture.reduced({("a", "b"), ("b", "a")})
        failures.append("include_graph draws a circle")
    except ValueError:
        pass
    return failures, f"self-test, {len(PLANTED) + 1} planted files"
