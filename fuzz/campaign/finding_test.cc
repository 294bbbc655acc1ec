// What a finding's folder holds at each moment.
#include "fuzz/campaign/finding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "fuzz/base/files.h"
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
  EXPECT_EQ(recorded_class(folder.string()), std::nullopt) << "older versions wrote only the case";
  const std::string text = first_verdict_text(defect());
  folder.file("verdict.json", text);
  EXPECT_EQ(recorded_class(folder.string()), VerdictClass::defect);
  EXPECT_EQ(Json::parse(text)["signature"], "defect-cpu_fused-add-f32-out_of_bounds");
  EXPECT_EQ(Json::parse(text)["file"], "case.json");
  for (const std::string& damaged :
       {std::string(), text.substr(0, text.size() / 2), std::string("[]"), std::string("{\"verdict\": 1}")}) {
    folder.file("verdict.json", damaged);
    EXPECT_EQ(recorded_class(folder.string()), std::nullopt) << damaged;
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
  ASSERT_FALSE(finish_finding(folder.string(), defect().signature_text(),
                              {Judging(flags), "", "fusesmith", "unknown", true, {}}));
  EXPECT_EQ(*read_file(folder / "verdict.json"), text);
  EXPECT_THAT(*read_file(folder / "report.md"), HasSubstr("it did not fail in this way"));
}

}  // namespace
}  // namespace fusesmith::fuzz
