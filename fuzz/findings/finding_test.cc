// What a finding's folder holds at each moment.
#include "fuzz/findings/finding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "fuzz/base/files.h"
#include "fuzz/campaign/live_status.h"
#include "fuzz/cli/test_support.h"
#include "fuzz/generate/generator.h"

namespace fusesmith::fuzz {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

Verdict defect() {
  Verdict verdict;
  verdict.baseline.backend = "cpu";
  verdict.candidate.backend = "cpu_fused";
  RegionVerdict region;
  region.op = "add";
  region.verdict = VerdictClass::defect;
  region.symptom = Symptom::out_of_bounds;
  verdict.candidate.regions = {region};
  verdict.fail({BackendRole::candidate, 0});
  return verdict;
}

TEST(Finding, ItsClassIsReadFromItsFirstVerdict) {
  const TemporaryFolder folder;
  EXPECT_EQ(recorded_class(WorkPath(folder.string())), std::nullopt) << "older versions wrote only the case";
  const std::string text = first_verdict_text(defect());
  folder.file("verdict.json", text);
  EXPECT_EQ(recorded_class(WorkPath(folder.string())), VerdictClass::defect);
  EXPECT_EQ(Json::parse(text)["signature"], "defect-cpu_fused-add-f32-out_of_bounds");
  EXPECT_EQ(Json::parse(text)["file"], "case.json");
  for (const std::string& damaged :
       {std::string(), text.substr(0, text.size() / 2), std::string("[]"), std::string("{\"verdict\": 1}")}) {
    folder.file("verdict.json", damaged);
    EXPECT_EQ(recorded_class(WorkPath(folder.string())), std::nullopt) << damaged;
  }
}

// A case that does not fail when it is judged again keeps the evidence of the campaign.
TEST(Finding, WhatNeverFailsAgainKeepsItsFirstVerdict) {
  const TemporaryFolder folder;
  const std::string text = first_verdict_text(defect());
  folder.file("case.json", to_json(generate_case(1, 0, 0)));
  folder.file("verdict.json", text);
  JudgeFlags flags;
  flags.baseline = "cpu";
  flags.candidate = "cpu_fused";
  ASSERT_FALSE(finish_finding(WorkPath(folder.string()), defect().signature_text(),
                              {Judging(flags), "", "fusesmith", "unknown", true, {}}));
  EXPECT_EQ(*read_file(folder / "verdict.json"), text);
  EXPECT_THAT(*read_file(folder / "report.md"), HasSubstr("it did not fail in this way"));
}

// The time limit of a campaign has passed: the finding is judged once more and reported as it was found.
TEST(Finding, WithoutTimeItIsReportedButNotMinimized) {
  const TemporaryFolder folder;
  Builder builder;
  const ValueId x = builder.input("x", {Dtype::bf16, {4, 9}}, Constant{0});
  builder.output(builder.node(Relu{}, {builder.node(Softmax{}, {x}, "p")}, "y"));
  Case test_case;
  test_case.graph = *builder.build();
  const std::string file = folder.file("case.json", to_json(test_case));
  JudgeFlags flags;
  flags.baseline = "cpu", flags.candidate = "demo";
  FindingOptions options;
  options.judging = Judging(flags);
  options.flags = " --candidate=demo";
  options.max_seconds = 0;
  const std::string signature = options.judging.run(test_case).verdict.signature_text();
  ASSERT_FALSE(finish_finding(WorkPath(folder.string()), signature, options));
  EXPECT_FALSE(read_file(folder / "min.json").ok());
  const Json report = Json::parse(*read_file(folder / "verdict.json")).at("report");
  EXPECT_EQ(report.at("runs"), 1);
  const std::string text = *read_file(folder / "report.md");
  EXPECT_THAT(text,
              HasSubstr("not minimized, because the time of the campaign was over; run fusesmith minimize"));
  EXPECT_THAT(text, HasSubstr("minimize " + file + " --candidate=demo"));

  options.max_seconds = 60;
  ASSERT_FALSE(finish_finding(WorkPath(folder.string()), signature, options));
  EXPECT_TRUE(read_file(folder / "min.json").ok());
}

// Minimization shows while it goes on, and what waits for it.
TEST(LiveStatus, ALogOfAWeekHasAThousandLines) {
  int lines = 0;
  std::chrono::seconds pause = kFirstPause, passed = pause;
  for (; passed < std::chrono::hours(7 * 24); passed += pause) {
    ++lines;
    EXPECT_LE(pause, kLongestPause);
    pause = next_pause(pause);
  }
  EXPECT_EQ(pause, kLongestPause);
  EXPECT_NEAR(lines, 1014, 2);
}

TEST(LiveStatus, SaysWhatIsMinimized) {
  Stats stats;
  stats.cases = 4;
  stats.status.emplace().threads[kMinimizeStage] = 1;
  stats.status->findings_waiting = 3;
  EXPECT_THAT(status_line(stats), HasSubstr(", minimizing 1 finding, 3 to minimize"));
  stats.status->threads.clear();
  EXPECT_THAT(status_line(stats), testing::Not(HasSubstr("minimizing")));
}

}  // namespace
}  // namespace fusesmith::fuzz
