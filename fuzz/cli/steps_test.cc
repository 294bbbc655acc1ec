// Cases of several steps: the figures are over all of them, the evidence is of the most severe, and every
// report says which that is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "fuzz/cli/test_support.h"
#include "fuzz/run/expectation.h"
#include "fuzz/run/judging.h"
#include "fuzz/run/repeat.h"

namespace fusesmith::fuzz {
namespace {

using Json = nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr int64_t kElements = 1600;
const TensorType kType{Dtype::bf16, {40, 40}};

ValueId always(Builder& b, double value) {
  return b.input("all_" + number_text(value), kType, Constant{value});
}

// State number `index`: `first` in step 0, `next` afterwards.
ValueId switched(Builder& b, int index, double first, ValueId next) {
  const ValueId state = b.state("state" + std::to_string(index), kType, Constant{first});
  b.next_state(index, next);
  return state;
}

Case with_steps(Builder& b, int64_t steps) {
  Case test_case;
  test_case.seed = 3;
  test_case.steps = steps;
  test_case.graph = *b.build();
  return test_case;
}

// In step 0 the candidate leaves a rounding out as in every other, but what it makes is multiplied by zeros.
Case opened_later(int64_t steps) {
  Builder b;
  const ValueId x = b.input("x", kType, Normal{});
  const ValueId open = switched(b, 0, 0, always(b, 1));
  const ValueId c = b.node(Mul{}, {b.node(Silu{}, {x}, "s"), x}, "c");
  const ValueId p = b.node(Softmax{}, {c}, "p");
  b.output(b.node(Mul{}, {p, open}, "y"));
  return with_steps(b, steps);
}

Ran on_cpu(const std::string& command, const Case& test_case, std::vector<std::string> more = {}) {
  const TemporaryFolder folder;
  more.insert(more.begin(), {command, "--baseline=cpu", "--candidate=cpu_fused"});
  more.push_back(folder.file("a.json", to_json(test_case)));
  return fusesmith_command(more);
}

Verdict verdict_of(const Case& test_case) {
  return run_case(test_case, *find_backend("cpu"), *find_backend("cpu_fused"));
}

TEST(Steps, FiguresOfTheOutputsAreOverAll) {
  const Verdict one = verdict_of(opened_later(1)), two = verdict_of(opened_later(2)),
                three = verdict_of(opened_later(3));
  ASSERT_EQ(one.verdict, VerdictClass::precision_policy) << "step 0 is as grave as the others";
  EXPECT_EQ(one.unequal, 0);
  EXPECT_GT(two.unequal, 0);
  EXPECT_GT(three.unequal, two.unequal);
  EXPECT_GE(three.max_difference, two.max_difference);
  EXPECT_EQ(three.verdict, VerdictClass::precision_policy);
  EXPECT_EQ(three.output_elements, 3 * kElements);
  EXPECT_EQ(three.step, three.max_difference > two.max_difference ? 2 : 1) << "where they are furthest apart";
  EXPECT_EQ(three.steps, 3);
}

TEST(Steps, BitwiseLooksAtAll) {
  const Ran ran = on_cpu("replay", opened_later(3), {"--bitwise"});
  EXPECT_EQ(ran.code, kFindings) << ran.out;
  EXPECT_THAT(ran.out, HasSubstr(" of 4800 output elements of 3 steps unequal\n"));
  EXPECT_EQ(on_cpu("replay", opened_later(1), {"--bitwise"}).code, kClean);
}

TEST(Steps, ReportsSayWhichTheyShow) {
  const Case test_case = opened_later(3);
  const Verdict verdict = verdict_of(test_case);
  const std::string shown = "step " + std::to_string(verdict.step) + " of 3 (counted from 0)";
  EXPECT_THAT(on_cpu("replay", test_case).out, HasSubstr(shown));
  EXPECT_THAT(on_cpu("explain", test_case).out, HasSubstr(shown));
  EXPECT_THAT(on_cpu("replay", opened_later(1)).out, Not(HasSubstr("step")));
  const Json explained = Json::parse(on_cpu("explain", test_case, {"--json"}).out);
  for (const Json& json : {Json::parse(on_cpu("replay", test_case, {"--json"}).out)["cases"][0], explained}) {
    EXPECT_EQ(json["step"], verdict.step);
    EXPECT_EQ(json["steps"], 3);
    EXPECT_EQ(json["unequal"], verdict.unequal);
  }
  // The sentence goes with the tables below it: of one step.
  EXPECT_EQ(explained["outputs"]["elements"], kElements);
  EXPECT_THAT(explained["what_happened"],
              HasSubstr("At step " + std::to_string(verdict.step) + " of 3, " +
                        to_string(explained["outputs"]["unequal"]) + " of 1600 output elements differ"));
}

// One of the two chains is multiplied by zeros in step 0, the other afterwards: neither step shows both
// roundings.
TEST(Steps, ExpectedDeviationsAreOfAll) {
  Builder b;
  const ValueId x = b.input("x", kType, Normal{}), z = b.input("z", kType, Normal{});
  const ValueId open = always(b, 0.7), shut = always(b, 0);
  const ValueId later = switched(b, 0, 0, open), first = switched(b, 1, 0.7, shut);
  b.output(b.node(Mul{}, {b.node(Mul{}, {x, z}, "a"), later}, "a_later"));
  b.output(b.node(Mul{}, {b.node(Silu{}, {x}, "b"), first}, "b_first"));
  Case test_case = with_steps(b, 2);
  Verdict verdict = verdict_of(test_case);
  ASSERT_EQ(verdict.verdict, VerdictClass::precision_policy);
  EXPECT_THAT(verdict.deviations, ElementsAre("drop a", "drop b"));
  const auto broken = [&](const std::vector<std::string>& deviations) {
    test_case.expect = Expect{{"cpu", "cpu_fused"}, "precision_policy", deviations, ""};
    return broken_expectation(test_case, verdict).has_value();
  };
  EXPECT_FALSE(broken({"drop b", "drop a"}));
  EXPECT_TRUE(broken({"drop a"}));
  EXPECT_TRUE(broken({"drop b"}));
}

TEST(Steps, ExactnessIsOfAll) {
  Builder b;
  const ValueId zeros = switched(b, 0, 0, always(b, 0.75));
  b.output(b.node(Silu{}, {zeros}, "y"));
  EXPECT_TRUE(verdict_of(with_steps(b, 1)).exact);
  EXPECT_FALSE(verdict_of(with_steps(b, 2)).exact);
}

}  // namespace
}  // namespace fusesmith::fuzz
