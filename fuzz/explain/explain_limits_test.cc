// explain where it cannot measure everything, and what it prints: nothing that was not measured, evidence
// that shows a violation, lines that fit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "fuzz/base/table.h"
#include "fuzz/cli/test_support.h"
#include "fuzz/explain/explanation.h"
#include "graph/case.h"

namespace fusesmith::fuzz {
namespace {

using Json = nlohmann::json;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

std::string scenario(const std::string& name) {
  return std::string(FUSESMITH_SOURCE_DIR) + "/corpus/scenarios/" + name + ".json";
}

Ran explained(const std::string& file, std::vector<std::string> more) {
  more.insert(more.begin(), {"explain", "--baseline=cpu", "--candidate=cpu_fused"});
  more.push_back(file);
  return fusesmith_command(more);
}

TEST(ExplainLimits, WhatWasNotMeasuredIsNull) {
  const Json json = Json::parse(
      explained(scenario("triangle_multiplication_bf16_small"), {"--json", "--max_seconds=0"}).out);
  ASSERT_FALSE(json["causes"].empty());  // of regions that got the baseline's values in the run
  for (const Json& cause : json["causes"]) {
    for (const char* key : {"outputs", "gain", "share"}) {
      ASSERT_TRUE(cause.contains(key));
      EXPECT_TRUE(cause[key].is_null()) << key;
    }
    EXPECT_EQ(cause["kind"].is_null(), cause["deviations"].empty());  // only swaps could tell
  }
  EXPECT_TRUE(json.contains("together") && json["together"].is_null());
  EXPECT_THAT(json["what_happened"], HasSubstr("skips the rounding of 'g_in'"));
  EXPECT_THAT(json["what_happened"], Not(HasSubstr("%")));
}

TEST(ExplainLimits, WhatWasNotMeasuredIsNoNumberInText) {
  const std::string text = explained(scenario("triangle_multiplication_bf16_small"), {"--max_seconds=0"}).out;
  EXPECT_THAT(text, HasSubstr("not measured"));
  EXPECT_THAT(text, Not(HasSubstr("0 of 0")));
  EXPECT_THAT(text, Not(HasSubstr("0 %")));
}

// Both sides of the small triangle multiplication, run and judged.
class CausesOfATriangle : public testing::Test {
 protected:
  CausesOfATriangle()
      : case_(*read_case_file(scenario("triangle_multiplication_bf16_small"))),
        run_(run_case_traced(case_, *find_backend("cpu"), *find_backend("cpu_fused"))),
        sides_{case_.graph,
               {find_backend("cpu"), {}, run_.baseline.get(), &run_.baseline_trace},
               {find_backend("cpu_fused"), {}, run_.candidate.get(), &run_.candidate_trace}} {}

  Causes find(const std::function<bool()>& out_of_time) const {
    Causes causes;
    find_causes(sides_, run_.verdict, out_of_time, causes);
    return causes;
  }

  const Case case_;
  const CaseRun run_;
  const RunSides sides_;
};

// Half an explanation keeps what it has: shares as parts of the run's difference, the others last.
TEST_F(CausesOfATriangle, SharesOfSomeRegionsAreOfTheRun) {
  const Causes all = find([] { return false; });
  ASSERT_TRUE(all.together);
  int halves = 0;
  for (const int experiments : {5, 10, 15, 20}) {
    int asked = 0;
    const Causes some = find([&] { return ++asked > experiments; });
    if (some.together) continue;
    bool measured = true;  // so far
    for (const Cause& cause : some.causes) {
      EXPECT_TRUE(measured || !cause.share) << "what was not measured comes last";
      measured = cause.share.has_value();
      if (!measured) continue;
      const auto same = std::find_if(all.causes.begin(), all.causes.end(),
                                     [&](const Cause& other) { return other.region == cause.region; });
      ASSERT_NE(same, all.causes.end());
      EXPECT_NEAR(*cause.share, *same->share * *all.together, 1e-12);
    }
    halves += some.causes.front().share && !measured;
    EXPECT_THAT(to_text({some, {}, ""}, run_, kColumns), HasSubstr("not every region was"));
  }
  EXPECT_GT(halves, 0);
}

// Runs of kernels rank every cause and name its roundings; the reference comes afterwards.
TEST_F(CausesOfATriangle, AreRankedBeforeAnyIsJudged) {
  const auto never = [] { return false; };
  const auto at_once = [] { return true; };
  Causes causes = find(never);
  EXPECT_TRUE(causes.left_out.empty());
  size_t judged = 0;
  for (const Cause& cause : causes.causes) {
    EXPECT_TRUE(cause.share && cause.kind());
    judged += cause.judged;
  }
  EXPECT_LT(judged, causes.causes.size());  // those on the run's own inputs were judged in the run
  EXPECT_EQ(causes.causes.front().kind(), CauseKind::rounding);

  judge_causes(sides_, {}, at_once, causes);
  EXPECT_EQ(causes.left_out.size(), causes.causes.size() - judged);
  EXPECT_THAT(causes.left_out, Contains(HasSubstr("the judgement of region 'norm_out'")));
  judge_causes(sides_, {}, never, causes);
  for (const Cause& cause : causes.causes) EXPECT_TRUE(cause.judged) << cause.verdict.name;
}

// A judgement of the whole case begins only where its time is left; runs of kernels go before.
TEST(ExplainLimits, PatternsAreTurnedOffEvenWhereNoJudgementFits) {
  const auto test_case = read_case_file(scenario("sigmoid_gate_bf16_small"));
  ASSERT_TRUE(test_case.ok());
  JudgeFlags flags;
  flags.baseline = "cpu";
  flags.candidate = "cpu_fused";
  const Judging judging = *Judging::of_case(flags, "case.json", *test_case);
  const CaseRun run = judging.run(*test_case);
  const Explanation slow = explain(*test_case, run, judging, {.max_seconds = 60, .judging_seconds = 1e9}),
                    full = explain(*test_case, run, judging, {});
  ASSERT_FALSE(full.patterns_off.empty());
  ASSERT_EQ(slow.patterns_off.size(), full.patterns_off.size());
  EXPECT_EQ(slow.causes.left_out.size(), full.patterns_off.size());
  for (size_t i = 0; i < full.patterns_off.size(); ++i) {
    const PatternOff &unjudged = slow.patterns_off[i], &judged = full.patterns_off[i];
    EXPECT_EQ(unjudged.pattern, judged.pattern);
    EXPECT_FALSE(unjudged.verdict);
    EXPECT_TRUE(judged.verdict);
    EXPECT_EQ(unjudged.unequal, judged.unequal);
    EXPECT_EQ(unjudged.max_difference, judged.max_difference);
    ASSERT_EQ(unjudged.instead.size(), judged.instead.size());
    for (const Instead& instead : unjudged.instead) EXPECT_FALSE(instead.deviations);
  }
  EXPECT_TRUE(Json::parse(to_json(slow).dump())["patterns_off"][0]["verdict"].is_null());
}

TEST(ExplainLimits, EvidenceUnderTheStrictPolicyIsAViolation) {
  const std::string file = scenario("sigmoid_gate_bf16_small");
  const Ran text = explained(file, {"--policy=strict"});
  EXPECT_EQ(text.code, kFindings);
  EXPECT_THAT(text.out, HasSubstr("allowed under the"));
  EXPECT_THAT(text.out, Not(HasSubstr("; 0 of")));
  const Json json = Json::parse(explained(file, {"--policy=strict", "--json"}).out);
  EXPECT_THAT(json["signature"].get<std::string>(), testing::EndsWith("-declared_rounding"));
  const Json& region = json["candidate"]["regions"].back();
  EXPECT_EQ(region["symptom"], "declared_rounding");
  EXPECT_GT(region["outside"], 0);
  const Json& worst = region["worst"];
  EXPECT_TRUE(worst["got"] < worst["lo"] || worst["got"] > worst["hi"]) << worst;
}

TEST(ExplainLimits, ReportsUnderTheStrictPolicyNameTheSymptom) {
  const TemporaryFolder folder;
  ASSERT_EQ(fusesmith_command({"fuzz", "--baseline=cpu", "--candidate=cpu_fused", "--policy=strict",
                               "--runs=3000", "--max_findings=1", "--workdir=" + (folder / "w")})
                .code,
            kFindings);
  for (const auto& entry : std::filesystem::directory_iterator(folder / "w/findings")) {
    const std::string report = *read_file(entry.path() / "report.md");
    EXPECT_THAT(report, HasSubstr("which the strict policy does not allow"));
    EXPECT_THAT(report, HasSubstr("-declared_rounding"));
    EXPECT_THAT(report, Not(HasSubstr("| elements outside | 0 of")));
  }
}

TEST(ExplainLimits, SentencesFitTheirLines) {
  const std::string text = explained(scenario("triangle_multiplication_bf16_small"), {}).out;
  std::istringstream lines(text);
  std::string line;
  int sentences = 0;
  while (std::getline(lines, line)) {
    if (line.starts_with("  ") || line.find(".json: ") != std::string::npos) continue;  // tables, the file
    EXPECT_LE(line.size(), 110U) << line;
    ++sentences;
  }
  EXPECT_GT(sentences, 15);
}

}  // namespace
}  // namespace fusesmith::fuzz
