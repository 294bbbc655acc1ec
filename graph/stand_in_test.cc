// Stand-ins in case files: written and read back, and refused where they would not say which bits are
// compared.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/case.h"

namespace fusesmith::graph {
namespace {

using testing::HasSubstr;

// y and z are outputs of one type, w of another; y is also read by w.
Case three_outputs(std::vector<StandIn> stand_ins) {
  Builder b;
  const ValueId x = b.input("x", {Dtype::f32, {4}}, Normal{});
  const ValueId y = b.node(Relu{}, {x}, "y"), z = b.node(Silu{}, {x}, "z");
  b.output(y);
  b.output(z);
  b.output(b.node(Cast{Dtype::f16}, {y}, "w"));
  Case test_case;
  test_case.graph = *b.build();
  test_case.stand_ins = std::move(stand_ins);
  return test_case;
}

std::string problem_with_stand_in(const StandIn& pair) {
  const auto problem = stand_in_problem(three_outputs({pair}));
  return problem ? problem->what : "";
}

TEST(StandIn, ReadsBackAsItIsWritten) {
  const Case test_case = three_outputs({{"z", "y"}});
  const std::string text = to_json(test_case);
  EXPECT_THAT(text, HasSubstr(R"({"value": "z", "by": "y"})"));
  const auto back = parse_case(text);
  ASSERT_TRUE(back) << back.problem();
  EXPECT_EQ(*back, test_case);
  EXPECT_EQ(to_json(*back), text);
}

TEST(StandIn, SaysWhatItCannotCompare) {
  EXPECT_EQ(problem_with_stand_in({"z", "y"}), "");
  EXPECT_THAT(problem_with_stand_in({"y", "z"}), HasSubstr("stand_ins[0].value: expected a node's output"));
  EXPECT_THAT(problem_with_stand_in({"x", "y"}), HasSubstr("stand_ins[0].value"));
  EXPECT_THAT(problem_with_stand_in({"none", "y"}), HasSubstr("got \"none\""));
  EXPECT_THAT(problem_with_stand_in({"z", "w"}),
              HasSubstr("stand_ins[0].by: expected another output of type f32[4]"));
  EXPECT_THAT(problem_with_stand_in({"z", "z"}), HasSubstr("stand_ins[0].by"));
  EXPECT_THAT(problem_with_stand_in({"z", "x"}), HasSubstr("stand_ins[0].by"));
  const auto twice = parse_case(to_json(three_outputs({{"z", "y"}, {"z", "y"}})));
  ASSERT_FALSE(twice);
  EXPECT_THAT(twice.problem(), HasSubstr("stand_ins[1].value: expected a node's output, named once"));
}

}  // namespace
}  // namespace fusesmith::graph
