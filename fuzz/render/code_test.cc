#include "fuzz/render/code.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fuzz/render/dot.h"
#include "graph/case.h"

namespace fusesmith::fuzz {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Graph attention() {
  Builder b;
  const ValueId scores = b.input("scores", {Dtype::f32, {4, 16}}, Normal{});
  const ValueId old = b.state("cache", {Dtype::bf16, {16, 8}}, Constant{0});
  const ValueId p = b.node(Softmax{}, {scores}, "p");
  const ValueId wide = b.node(Cast{Dtype::f32}, {old}, "wide");
  const ValueId out = b.node(Einsum{"qk,kd->qd"}, {p, wide}, "out");
  const ValueId parts = b.node(Chunk{0, 2}, {old}, "parts");
  const ValueId next = b.node(Concat{0}, {parts + 1, parts}, "next");
  b.next_state(0, next);
  b.output(out);
  return *b.build();
}

TEST(Code, PrintsOneCallForEachNode) {
  EXPECT_EQ(code_text(code_lines(attention())),
            "scores = normal(mean=0, stddev=1)                  # f32[4,16]\n"
            "cache = state(constant(value=0))                   # bf16[16,8], in the next step next\n"
            "p = softmax(scores, axis=-1)                       # f32[4,16]\n"
            "wide = cast(cache, dtype=\"f32\")                    # f32[16,8]\n"
            "out = einsum(p, wide, equation=\"qk,kd->qd\")        # f32[4,8]\n"
            "parts_0, parts_1 = chunk(cache, axis=0, chunks=2)  # bf16[8,8], bf16[8,8]\n"
            "next = concat(parts_1, parts_0, axis=0)            # bf16[16,8]\n"
            "return out\n");
}

TEST(Code, NamesAttributesThatTellMore) {
  EXPECT_EQ(attributes_text(Matmul{}, Attributes::telling), "");
  EXPECT_EQ(attributes_text(Matmul{false, true}, Attributes::telling), "transpose_b=True");
  EXPECT_EQ(attributes_text(Matmul{}, Attributes::all), "transpose_a=False, transpose_b=False");
  EXPECT_EQ(attributes_text(Softmax{}, Attributes::telling), "axis=-1");
  EXPECT_EQ(attributes_text(ReduceSum{{1}, false}, Attributes::telling), "axes=(1,)");
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(attributes_text(MaskedFill{-infinity}, Attributes::telling), "value=-inf");
}

TEST(Code, NamesEpsAndElementsInDecimal) {
  EXPECT_EQ(attributes_text(LayerNorm{}, Attributes::telling), "eps=1e-05");
  EXPECT_EQ(fill_text(Literal{"3e00"}, {Dtype::f16, {1}}), "literal(1.5)");
  EXPECT_EQ(fill_text(Literal{"3fc07fc0"}, {Dtype::bf16, {2}}), "literal(1.5, nan)");
  EXPECT_EQ(fill_text(Literal{std::string(5 * 8, '0')}, {Dtype::f32, {5}}),
            "literal(\"" + std::string(32, '0') + "...\")");
}

TEST(Code, IdentifiersAreUniqueAndNoKeywords) {
  Builder b;
  for (const char* name : {"a.b", "a_b", "a/b", "lambda", "0", "np", "-"})
    b.output(b.input(name, {Dtype::f32, {1}}, Normal{}));
  const auto built = b.build();
  ASSERT_TRUE(built.ok()) << built.problem();
  const Graph& graph = *built;
  const std::string_view taken[] = {"np"};
  const Identifiers names(graph, taken);
  EXPECT_THAT(names.of(graph.outputs()), ElementsAre("a_b", "a_b_", "a_b_2", "lambda_", "v0", "np_", "_"));
}

TEST(Code, TextsCannotLeaveTheirPlace) {
  EXPECT_EQ(python_quoted("a\"b\\c\n\xc3\xa9"), "\"a\\\"b\\\\c\\x0a\\xc3\\xa9\"");
  EXPECT_EQ(comment_text("one\r\nimport os\x7f"), "one  import os ");
  EXPECT_EQ(comment_text("a\xE2\x80\xAE\xFF\xC3\xA9"), "a  \xC3\xA9") << "Python reads UTF-8 alone";
}

TEST(Dot, QuotesTextAndMarksTheFailingRegion) {
  const FailureMark mark{{0, 2}, attention().nodes()[2].first_output, "defect \"here\""};
  const std::string text = dot_text(attention(), "x\";}\\n{<b>\n", &mark);
  EXPECT_THAT(text, HasSubstr("label=\"x\\\";}\\\\n{<b> : defect \\\"here\\\"\";"));
  EXPECT_THAT(text, HasSubstr("n2 [label=\"out\\neinsum\\nequation=\\\"qk,kd->qd\\\"\", style=filled, "
                              "fillcolor=\"#ffd9d2\", color=\"#b3261e\", penwidth=3];"));
  EXPECT_THAT(text, HasSubstr("n0 -> n2 [label=\"f32[4,16]\"];"));
  EXPECT_THAT(text, Not(HasSubstr("n1 [label=\"wide\\ncast\\ndtype=\\\"f32\\\"\", style")));
  EXPECT_THAT(dot_text(attention(), "x", nullptr), Not(HasSubstr("filled")));
}

}  // namespace
}  // namespace fusesmith::fuzz
