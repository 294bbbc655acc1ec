// `gradient`: the case that it writes, and what it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "fuzz/cli/test_support.h"
#include "graph/case.h"

namespace fusesmith::fuzz {
namespace {

using testing::HasSubstr;

class GradientCommand : public testing::Test {
 protected:
  std::string file(const std::string& name) const { return folder_ / name; }
  std::string forward(Op op, Types inputs) const {
    Builder b;
    std::vector<ValueId> ids;
    for (const TensorType& type : inputs) {
      const Fill fill = type.dtype == Dtype::i32 ? Fill(Tokens{2}) : Fill(Normal{});
      ids.push_back(b.input("x" + std::to_string(ids.size()), type, fill));
    }
    b.output(b.node(std::move(op), ids, "y"));
    Case made;
    made.seed = 5;
    made.graph = *b.build();
    EXPECT_FALSE(write_file(file("forward.json"), to_json(made)));
    return file("forward.json");
  }

  TemporaryFolder folder_;
};

TEST_F(GradientCommand, WritesACaseThatReplayJudges) {
  const std::string from = forward(LayerNorm{}, {{Dtype::f32, {6, 16}}, {Dtype::f32, {16}}});
  const Ran ran = fusesmith_command({"gradient", from, "--output=" + file("backward.json"), "--json"});
  ASSERT_EQ(ran.code, kClean) << ran.err;
  const auto json = nlohmann::json::parse(ran.out);
  EXPECT_EQ(json["gradients"].size(), 2U);
  const Ran shown = fusesmith_command({"show", file("backward.json")});
  EXPECT_THAT(shown.out, HasSubstr("d_y = normal("));
  const Ran judged =
      fusesmith_command({"replay", file("backward.json"), "--baseline=cpu", "--candidate=cpu_fused"});
  EXPECT_EQ(judged.code, kClean) << judged.out;
}

TEST_F(GradientCommand, PrintsTheCase) {
  const Ran ran = fusesmith_command({"gradient", forward(Relu{}, {{Dtype::f32, {4}}})});
  ASSERT_EQ(ran.code, kClean) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("\"relu_backward\""));
}

TEST_F(GradientCommand, RefusesInOneLine) {
  const std::string diagonal = forward(Einsum{"aab,bc->ac"}, {{Dtype::f32, {2, 2, 3}}, {Dtype::f32, {3, 4}}});
  const Ran no_rule = fusesmith_command({"gradient", diagonal});
  EXPECT_EQ(no_rule.code, kUsage);
  EXPECT_TRUE(is_one_line(no_rule.err));
  EXPECT_THAT(no_rule.err, HasSubstr("einsum: a letter twice in one operand has no rule"));
  const Ran narrow = fusesmith_command({"gradient", forward(Relu{}, {{Dtype::bf16, {4}}})});
  EXPECT_THAT(narrow.err, HasSubstr("expected f32 values, got bf16[4]"));
  EXPECT_EQ(fusesmith_command({"gradient", diagonal, "--json"}).code, kUsage);
}

}  // namespace
}  // namespace fusesmith::fuzz
