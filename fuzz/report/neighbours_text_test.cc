#include "fuzz/report/neighbours_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace fusesmith::fuzz {
namespace {

SizeNeighbours sizes(std::vector<std::string> axes, SizeOutcomes tried, int64_t size) {
  return {std::move(axes), size, tried, {}, infer_rule(tried)};
}

TEST(NeighboursText, ARuleOrTheSizesTried) {
  Neighbours neighbours;
  neighbours.queries = 9;
  EXPECT_EQ(neighbours_summary(neighbours), "Fails with every size and dtype that was tried.\n");
  neighbours.sizes = {sizes({"x axis 0"}, {{1, false}, {2, true}, {3, true}, {4, true}}, 2),
                      sizes({"x axis 1"}, {{16, false}, {17, true}, {32, false}, {33, true}}, 17),
                      sizes({"k axis 1", "v axis 0"}, {{1, true}, {2, true}}, 2),
                      sizes({"k axis 0"}, {{1, true}, {2, true}}, 2)};
  neighbours.choices = {{"dtype", "f32", {"bf16"}, {"f16"}, {}},
                        {"causal of sdpa0", "true", {"false"}, {}, {}}};
  neighbours.exhausted = true;
  EXPECT_EQ(
      neighbours_summary(neighbours),
      "Fails iff N >= 2, where N is x axis 0 (2 here): holds for all 4 sizes tried, from 1 to 4.\n"
      "Fails for N in {17, 33} and passes for N in {16, 32}, where N is x axis 1 (17 here); other sizes were "
      "not tried.\n"
      "Fails only while k axis 1 = v axis 0, at every size tried.\n"
      "Passes with dtype f16 instead of f32, fails with bf16.\n"
      "Not all neighbours were tried: the limit on cases or time was reached.\n");
}

TEST(NeighboursText, AMagnitudeThatDecidesIsARule) {
  Neighbours neighbours;
  neighbours.magnitudes = {
      {"x", 1000, 88.734, {}, {{0.5, false}, {88.7, false}, {88.734, true}, {1000, true}}}};
  EXPECT_EQ(
      neighbours_summary(neighbours),
      "Fails iff max |x| >= 88.73 (1e+03 here), where 'x' is scaled: holds for all 4 magnitudes tried, from "
      "0.5 to 1e+03.\n");
  EXPECT_NE(neighbours_markdown(neighbours).find("max |x| >= 88.73"), std::string::npos);
  EXPECT_EQ(to_json(neighbours)["magnitudes"][0]["fails_iff"], "max |x| >= 88.73");
}

TEST(NeighboursText, NamesWhatWasTriedWhereTheTimeWasUp) {
  Neighbours neighbours;
  neighbours.queries = 9;
  neighbours.exhausted = true;
  const SizeOutcomes tried = {{1, true}, {2, true}, {16, true}};
  neighbours.sizes = {sizes({"q axis 0"}, tried, 1), sizes({"q axis 1"}, tried, 2)};
  neighbours.choices = {{"dtype", "f32", {"f16", "bf16"}, {}, {}}};
  neighbours.untried = {"k axis 1", "magnitudes"};
  EXPECT_EQ(
      neighbours_summary(neighbours),
      "Fails with all that was tried: sizes 1, 2, 16 of q axis 0, q axis 1; dtype f16, bf16.\n"
      "Not all neighbours were tried: the limit on cases or time was reached; left out or not complete: "
      "k axis 1, magnitudes.\n");
}

TEST(NeighboursText, WhereTheDataDecidesThereIsNoRuleOfSizes) {
  Neighbours neighbours;
  neighbours.queries = 9;
  neighbours.sizes = {sizes({"x axis 0"}, {{1, false}, {2, true}}, 2),
                      sizes({"x axis 1"}, {{1, true}, {2, false}}, 1)};
  for (SizeNeighbours& one : neighbours.sizes) one.rule.reset(), one.depends_on_data = true;
  EXPECT_EQ(neighbours_summary(neighbours), "Which sizes of x axis 0, x axis 1 fail depends on the data.\n");
  EXPECT_TRUE(to_json(neighbours)["sizes"][0]["depends_on_data"]);
}

TEST(NeighboursText, OneSizeThatFailsAloneIsNoLimit) {
  Neighbours neighbours;
  neighbours.sizes = {sizes({"x axis 0"}, {{1, true}, {2, false}, {3, false}}, 1)};
  EXPECT_EQ(neighbours_summary(neighbours),
            "Fails for N = 1 alone, where N is x axis 0 (1 here), of all 3 sizes tried, from 1 to 3.\n");
}

TEST(NeighboursText, WhereTheRewriteIsNotAppliedNothingIsSaidToPass) {
  Neighbours neighbours;
  neighbours.queries = 2;
  neighbours.sizes = {sizes({"x axis 0"}, {{1, true}, {2, true}}, 1)};
  neighbours.choices = {{"transpose_b of scores", "true", {}, {}, {"false"}}};
  EXPECT_EQ(
      neighbours_summary(neighbours),
      "Fails with every size, dtype, attribute and op that was tried and for which the failing rewrite is "
      "applied.\n");
  EXPECT_NE(neighbours_markdown(neighbours).find("| transpose_b of scores | true |  |  | false |  |"),
            std::string::npos)
      << neighbours_markdown(neighbours);
}

TEST(NeighboursText, JsonHoldsAllThatWasTried) {
  Neighbours neighbours;
  neighbours.sizes = {sizes({"x axis 0"}, {{1, false}, {2, true}, {3, true}}, 3)};
  neighbours.choices = {{"dtype", "f32", {"bf16"}, {"f16"}, {}}};
  const auto json = to_json(neighbours);
  EXPECT_EQ(
      json["sizes"].dump(),
      R"([{"axes":["x axis 0"],"size":3,"failing":[2,3],"passing":[1],"not_applied":[],"nearest_passing":1,"fails_iff":"N >= 2","depends_on_data":false}])");
  EXPECT_EQ(json["choices"].dump(),
            R"([{"what":"dtype","value":"f32","failing":["bf16"],"passing":["f16"],"not_applied":[]}])");
}

}  // namespace
}  // namespace fusesmith::fuzz
