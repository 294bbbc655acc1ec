// explain on the public reports: the evidence that each must name, as values.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "fuzz/cli/test_support.h"
#include "fuzz/explain/explanation.h"

namespace fusesmith::fuzz {
namespace {

using Json = nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

Json explained(const std::string& scenario, std::vector<std::string> more = {}) {
  more.insert(more.begin(), {"explain", "--json", "--baseline=cpu", "--candidate=cpu_fused"});
  more.push_back(std::string(FUSESMITH_SOURCE_DIR) + "/corpus/scenarios/" + scenario + ".json");
  const Ran ran = fusesmith_command(more);
  EXPECT_EQ(ran.code, kClean) << ran.err;
  return Json::parse(ran.out);
}

// The element of a list whose `key` is `value`; null where there is none.
Json find(const Json& list, const std::string& key, const Json& value) {
  for (const Json& one : list) {
    if (one[key] == value) return one;
  }
  return {};
}

TEST(Explain, NamesTheStatisticsOfLayerNorm) {
  const Json json = explained("layer_norm_linear_bf16_small");
  EXPECT_EQ(json["verdict"], "reassociation");
  ASSERT_EQ(json["causes"].size(), 1U);
  const Json& norm = json["causes"][0];
  EXPECT_EQ(norm["region"], "norm");
  EXPECT_EQ(norm["kind"], "inner_value");
  EXPECT_THAT(norm["patterns"], ElementsAre("layer_norm_welford"));
  EXPECT_LE(norm["worst_share"], 1);
  EXPECT_GT(norm["injected"]["unequal"], 0);
  EXPECT_LT(norm["injected"]["largest"], 2e-6);
  EXPECT_DOUBLE_EQ(norm["share"], 1);  // nothing else injects anything

  const Json& mean = find(norm["swaps"], "given", Json{"mean"});
  const Json& rstd = find(norm["swaps"], "given", Json{"rstd"});
  const Json& both = find(norm["swaps"], "given", Json{"mean", "rstd"});
  ASSERT_FALSE(mean.is_null() || rstd.is_null() || both.is_null()) << norm["swaps"];
  EXPECT_EQ(mean["own"]["elements"], 32);  // rows
  EXPECT_GE(mean["own"]["unequal"], 16);
  EXPECT_LT(mean["own"]["largest"], 1e-7);
  EXPECT_GT(mean["outputs"]["unequal"], 0);  // one of the two does not suffice
  EXPECT_GT(rstd["outputs"]["unequal"], 0);
  EXPECT_EQ(both["outputs"]["unequal"], 0);
  EXPECT_EQ(both["outputs"]["largest"], 0);
  for (const char* word : {"mean", "rstd", "its kernel gives the same bits"})
    EXPECT_THAT(json["what_happened"], HasSubstr(word));
}

// A name that takes most of a line: other columns are cut ("...") in every table, or with --wide in none.
TEST(Explain, WideCutsNoTable) {
  const std::string scenario =
      std::string(FUSESMITH_SOURCE_DIR) + "/corpus/scenarios/layer_norm_linear_bf16_small.json";
  const std::string name(60, 'n');
  std::string text = *read_file(scenario);
  for (size_t at = 0; (at = text.find("\"norm\"", at)) != std::string::npos; at += name.size())
    text.replace(at + 1, 4, name);
  const TemporaryFolder folder;
  const std::string file = folder.file("case.json", text);
  const std::string cut = fusesmith_command({"explain", "--baseline=cpu", "--candidate=cpu_fused", file}).out;
  const std::string wide =
      fusesmith_command({"explain", "--baseline=cpu", "--candidate=cpu_fused", "--wide", file}).out;
  const size_t regions = cut.find("..."), causes = cut.find("Causes");
  ASSERT_NE(causes, std::string::npos);
  EXPECT_LT(regions, causes);
  EXPECT_NE(cut.find("...", causes), std::string::npos);
  EXPECT_EQ(wide.find("..."), std::string::npos) << wide;
}

TEST(Explain, NamesTheCastThatAmplifiesAndTheLinearThatSpreads) {
  const Json json = explained("layer_norm_linear_bf16");
  ASSERT_EQ(json["causes"].size(), 1U);
  const Json& spread = json["causes"][0]["spread"];
  ASSERT_EQ(spread.size(), 2U);
  const Json &cast = spread[0], &linear = spread[1];
  EXPECT_EQ(cast["op"], "cast");
  EXPECT_GT(cast["growth"], 10);
  EXPECT_GT(cast["unequal"], 0);
  EXPECT_LT(cast["unequal"], 1000);
  EXPECT_EQ(linear["op"], "linear");
  EXPECT_GT(linear["unequal"], cast["unequal"]);
  EXPECT_EQ(linear["unequal"], json["unequal"]);  // so it explains all of the difference
  EXPECT_GT(linear["beyond_tolerance"], 0);
  EXPECT_LT(linear["beyond_tolerance"], linear["unequal"]);
  EXPECT_THAT(json["what_happened"], HasSubstr("(cast, bf16) amplifies"));
  EXPECT_THAT(json["what_happened"], HasSubstr("(linear, bf16) spreads"));
  const Json off = find(json["patterns_off"], "pattern", "layer_norm_welford");
  EXPECT_EQ(off["verdict"], "identical");
  EXPECT_EQ(off["unequal"], 0);
}

TEST(Explain, NamesTheOneSkippedRoundingOfAGate) {
  const Json json = explained("sigmoid_gate_bf16_small");
  EXPECT_EQ(json["verdict"], "precision_policy");
  ASSERT_EQ(json["causes"].size(), 1U);
  const Json& gate = json["causes"][0];
  EXPECT_THAT(gate["deviations"], ElementsAre("drop gate"));
  EXPECT_DOUBLE_EQ(gate["share"], 1);
  const Json& swap = find(gate["swaps"], "given", Json{"gate"});
  ASSERT_FALSE(swap.is_null()) << gate["swaps"];
  EXPECT_EQ(swap["outputs"]["unequal"], 0);
  const double share = gate["injected"]["unequal"].get<double>() / gate["injected"]["elements"].get<double>();
  EXPECT_NEAR(share, 0.26, 0.08);  // as in the report
  EXPECT_THAT(json["what_happened"], HasSubstr("skips the rounding of 'gate' to bf16"));
}

TEST(Explain, RanksBothCausesOfTriangleMultiplication) {
  const Json json = explained("triangle_multiplication_bf16_small");
  EXPECT_EQ(json["verdict"], "precision_policy");
  double last = 2, rounding = 0, statistics = 0;
  for (const Json& cause : json["causes"]) {
    EXPECT_LE(cause["share"], last);
    last = cause["share"];
    EXPECT_EQ(cause["kind"] == "rounding", !cause["deviations"].empty()) << cause["region"];
    if (cause["kind"] == "rounding") rounding += cause["share"].get<double>();
    if (cause["kind"] != "inner_value") continue;
    statistics += std::abs(cause["share"].get<double>());
    EXPECT_EQ(find(cause["swaps"], "given", Json{"mean", "rstd"})["outputs"]["unequal"], 0);
  }
  EXPECT_GT(rounding, 0.5);
  EXPECT_GT(statistics, 0);
  EXPECT_GT(rounding, statistics);
  EXPECT_GT(json["together"], 0.7);
  EXPECT_THAT(json["left_out"], testing::IsEmpty());
  EXPECT_THAT(json["what_happened"], HasSubstr("skips the rounding"));
  EXPECT_THAT(json["what_happened"], HasSubstr("computes a different mean, rstd"));
}

TEST(Explain, MissesNoCauseInF32) {
  for (const char* scenario : {"triangle_multiplication_small", "einsum_projections_small"}) {
    const Json json = explained(scenario);
    EXPECT_GT(json["causes"].size(), 1U) << scenario;
    EXPECT_GT(json["together"], 0.7) << scenario;
    for (const Json& cause : json["causes"]) EXPECT_LE(cause["worst_share"], 1) << cause["region"];
  }
}

TEST(Explain, NamesTheCauseOfAFault) {
  const TemporaryFolder folder;
  std::vector<std::string> args = {"explain", "--json", "--baseline=cpu", "--candidate=cpu_fused",
                                   "--faults=layer_norm_unbiased_variance"};
  args.push_back(std::string(FUSESMITH_SOURCE_DIR) + "/corpus/scenarios/layer_norm_linear_bf16_small.json");
  const Ran ran = fusesmith_command(args);
  if (ran.code == kUsage) GTEST_SKIP() << "a build without faults";
  EXPECT_EQ(ran.code, kFindings);
  const Json json = Json::parse(ran.out);
  ASSERT_FALSE(json["causes"].empty());
  const Json& norm = json["causes"][0];
  EXPECT_EQ(norm["verdict"], "defect");
  EXPECT_GT(norm["worst_share"], 1);
  const Json& mean = find(norm["swaps"], "given", Json{"mean"});
  const Json& rstd = find(norm["swaps"], "given", Json{"rstd"});
  EXPECT_LT(rstd["outputs"]["largest"], mean["outputs"]["largest"]);  // the fault is in the rstd
  EXPECT_THAT(json["what_happened"], HasSubstr("is out of its bounds due to its rstd"));
  EXPECT_THAT(json["conclusion"]["named"], ElementsAre("rstd"));
}

TEST(Explain, CountsAgreeWithTheirVerbs) {
  Verdict verdict;
  verdict.baseline.regions.resize(1);
  Causes causes;
  causes.causes.resize(1);
  causes.causes[0].share = 1;
  causes.outputs = {.elements = 1, .unequal = 1};
  EXPECT_THAT(what_happened(verdict, causes), testing::StartsWith("1 of 1 output element differs because "));
  causes.outputs = {.elements = 9, .unequal = 2};
  EXPECT_THAT(what_happened(verdict, causes), testing::StartsWith("2 of 9 output elements differ because "));
}

TEST(Explain, SaysWhatNoTimeWasLeftFor) {
  const Json json = explained("einsum_projections_small", {"--max_seconds=0"});
  EXPECT_FALSE(json["left_out"].empty());
  EXPECT_TRUE(json["patterns_off"].empty());
  EXPECT_EQ(json["verdict"], "reassociation");
}

TEST(Explain, NamesWhatTakesTheNodesOfAPatternTurnedOff) {
  const Json json = explained("sigmoid_gate_bf16_small");
  const Json off = find(json["patterns_off"], "pattern", "gate");
  EXPECT_EQ(off["verdict"], "precision_policy");
  const Json taker = find(off["instead"], "region", "gate");
  ASSERT_FALSE(taker.is_null()) << off;
  EXPECT_THAT(taker["patterns"], ElementsAre("gemm_bias_act"));
  EXPECT_THAT(taker["deviations"], ElementsAre("drop g"));
  EXPECT_THAT(find(off["instead"], "region", "y")["patterns"], testing::IsEmpty());  // as in the graph
}

TEST(Explain, IdenticalRunsHaveNoCauses) {
  const Json json = explained("layer_norm_linear_bf16_small", {"--skip_patterns=layer_norm_welford"});
  EXPECT_EQ(json["verdict"], "identical");
  EXPECT_TRUE(json["causes"].empty());
  EXPECT_THAT(json["what_happened"], HasSubstr("same bits"));
}

}  // namespace
}  // namespace fusesmith::fuzz
