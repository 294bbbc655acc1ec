// Lines of Python for reports. scripts/studies/export_sweep runs scripts of all formats; here it is their
// text.
#include "fuzz/export/snippet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "fuzz/cli/stand_in_script.h"

namespace fusesmith::fuzz {
namespace {

using testing::HasSubstr;
using testing::Not;

Case softmax(Dtype dtype, int64_t length) {
  Builder builder;
  const ValueId x = builder.input("x", {dtype, {1, length}}, Constant{-0.0});
  builder.output(builder.node(Softmax{}, {x}, "y"));
  Case test_case;
  test_case.graph = *builder.build();
  return test_case;
}

TEST(Snippet, RunsACaseWithPyTorchAlone) {
  EXPECT_EQ(snippet(softmax(Dtype::bf16, 2), "torch:inductor"),
            "import torch\n"
            "import torch.nn.functional as F\n"
            "DEVICE = \"cpu\"\n\n\n"
            "def graph(x):\n"
            "    y = F.softmax(x, dim=-1)  # bf16[1,2]\n"
            "    return y\n\n\n"
            "def show(name, results):\n"
            "    print(f\"{name}: {results}\")\n\n\n"
            "x = torch.tensor([-0.0, -0.0], dtype=torch.bfloat16, device=DEVICE).reshape((1, 2))\n"
            "show(\"eager\", graph(x))\n"
            "show(\"inductor\", torch.compile(graph, backend=\"inductor\")(x))\n");
  EXPECT_THAT(
      snippet(softmax(Dtype::f32, 2), "torch:inductor+cuda+emulate_precision_casts"),
      testing::AllOf(HasSubstr("DEVICE = \"cuda\""), HasSubstr("config.emulate_precision_casts = True")));
  EXPECT_THAT(snippet(softmax(Dtype::f32, 2), "torch:eager"), Not(HasSubstr("torch.compile")));
}

TEST(Snippet, CallsAFunctionOnLiterals) {
  const Case test_case = softmax(Dtype::bf16, 2);
  SnippetFacts facts{ShownElement{test_case.graph.outputs()[0], 1, std::nan(""), 0.5, 0.5, 0.5}};
  EXPECT_EQ(snippet(test_case, "python:/home/me/my_softmax.py:softmax", facts),
            "import ml_dtypes\nimport numpy as np\nfrom my_softmax import softmax\n\n"
            "x = np.array([-0.0, -0.0], ml_dtypes.bfloat16).reshape((1, 2))\n"
            "print(softmax(x))\n"
            "# y[0,1] is nan; only 0.5 is correct\n");
  facts.libraries = "cpu, numpy 2.4.6, torch 2.11.0";
  EXPECT_THAT(
      snippet(test_case, "python:kernels.py:Norms.softmax", facts),
      testing::AllOf(HasSubstr("from kernels import Norms\n"), HasSubstr("print(Norms.softmax(x))"),
                     HasSubstr("x = torch.tensor([-0.0, -0.0], dtype=torch.bfloat16).reshape((1, 2))")));
  EXPECT_EQ(snippet(test_case, "python:my-kernels.py:softmax", facts), "");
  EXPECT_EQ(snippet(test_case, "plugin:softmax.so", facts), "");
}

TEST(Snippet, CallsAFunctionWithWhatIsReplacedToo) {
  Case test_case = softmax(Dtype::f32, 2);
  test_case.policy.replaced = "x[:,1] = nan";
  SnippetFacts facts;
  facts.libraries = "torch 2.11";
  EXPECT_THAT(
      snippet(test_case, "python:/kernels/mine.py:softmax", facts),
      testing::AllOf(testing::StartsWith("from math import inf, nan\n"),
                     testing::EndsWith("print(softmax(x))\n# NaN in x[:,1]:\n"
                                       "x = torch.tensor([-0.0, nan], dtype=torch.float32).reshape((1, 2))\n"
                                       "print(softmax(x))\n")));
}

TEST(Snippet, SaysWhetherAnElementIsCorrect) {
  const Case test_case = softmax(Dtype::f32, 2);
  const ValueId y = test_case.graph.outputs()[0];
  const auto lines = [&](double low, double high) {
    return snippet(test_case, "torch:eager", {ShownElement{y, 1, 1.5, 0.5, low, high}});
  };
  EXPECT_THAT(lines(0.25, 0.5),
              HasSubstr("    element = results[0,1].item()\n"
                        "    says = \"correct\" if 0.25 <= element <= 0.5 else \"WRONG\"\n"
                        "    print(f\"    y[0,1] is {element!r}: {says}, correct is 0.25 to 0.5\")\n"));
  EXPECT_THAT(lines(0.5, 0.5),
              testing::AllOf(HasSubstr("if element == 0.5 else"), HasSubstr("only 0.5 is correct")));
  const double nan = std::nan("");
  EXPECT_THAT(lines(nan, nan),
              testing::AllOf(HasSubstr("if element != element else"), HasSubstr("only nan is")));
}

TEST(Snippet, HasTheModelAsText) {
  const StandInScript script("onnx/export_onnx.py");
  script.replies(R"({"text": "<ir_version: 10> graph (float[1,2] x) => (float[1,2] y) {}\n"})", "");
  const std::string text = snippet(softmax(Dtype::f32, 2), "ort:all");
  EXPECT_THAT(text, HasSubstr("parse_model(\"\"\"\n<ir_version: 10> graph (float[1,2] x)"));
  EXPECT_THAT(text, HasSubstr("\"x\": np.array([-0.0, -0.0], np.float32).reshape((1, 2)),"));
  EXPECT_THAT(text, Not(HasSubstr("disabled_optimizers")));
  const std::string less = snippet(softmax(Dtype::f32, 2), "ort:all", {{}, {"GemmSumFusion"}});
  EXPECT_THAT(less, HasSubstr("disabled_optimizers=[\"GemmSumFusion\"])\n"));
  EXPECT_EQ(snippet(softmax(Dtype::bf16, 2), "ort:all"), "") << "NumPy has no bf16";
  script.replies(R"({"text": "\"\"\"\nimport os"})", "");
  EXPECT_EQ(snippet(softmax(Dtype::f32, 2), "ort:all"), "");
}

TEST(Snippet, HasWhatJaxTraces) {
  const StandInScript script("jax/export_jax.py");
  const char* code = R"json({"code": "def graph(*arguments):\n    return (arguments[0],)\n"})json";
  script.replies(code, "");
  const std::string text = snippet(softmax(Dtype::bf16, 2), "jax:jit");
  EXPECT_THAT(text, HasSubstr("import lax\n\n\ndef graph(*arguments):\n    return (arguments[0],)\n"));
  EXPECT_THAT(text, HasSubstr("    jnp.array([-0.0, -0.0], \"bfloat16\").reshape((1, 2)),\n"));
  EXPECT_THAT(text, HasSubstr("show(\"jit\", jax.jit(graph)(*arguments))\n"));
  script.replies(R"({"code": ""})", "");
  EXPECT_EQ(snippet(softmax(Dtype::f32, 2), "jax:jit"), "");
}

TEST(Snippet, IsOfSmallCasesOfLibraries) {
  EXPECT_EQ(snippet(softmax(Dtype::f32, kMostSnippetElements + 1), "torch:inductor"), "");
  EXPECT_EQ(snippet(softmax(Dtype::f32, 2), "cpu_fused"), "");
}

}  // namespace
}  // namespace fusesmith::fuzz
