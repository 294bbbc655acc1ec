// What people and scripts read about a verdict.
#include "fuzz/report/verdict_text.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "fuzz/report/resolution_text.h"
#include "fuzz/report/verdict_json.h"

namespace fusesmith::fuzz {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

RegionVerdict region(size_t index, const std::string& name, double worst,
                     VerdictClass verdict = VerdictClass::reassociation) {
  RegionVerdict region;
  region.region = index;
  region.name = name;
  region.op = "add";
  region.verdict = verdict;
  region.worst_share = worst;
  region.elements = 10;
  return region;
}

Verdict defect() {
  Verdict verdict;
  verdict.baseline = {"cpu", {region(0, "o", 0.5)}, VerdictClass::reassociation};
  RegionVerdict failing = region(1, "o", kInf, VerdictClass::defect);
  failing.patterns = {"sdpa"};
  failing.symptom = Symptom::out_of_bounds;
  failing.outside = 3;
  failing.worst = {"o", 4, kInf, 1, 0.5, 1.5, 1e-7};
  verdict.candidate = {"cpu_fused", {region(0, "a", 0.1), failing}, VerdictClass::defect};
  verdict.fail({BackendRole::candidate, 1});
  verdict.max_difference = std::numeric_limits<double>::quiet_NaN();
  return verdict;
}

TEST(VerdictText, TheEvidenceIsOfTheFailingRegion) {
  const Verdict verdict = defect();
  EXPECT_EQ(verdict.signature_text(), "defect-cpu_fused-sdpa-f32-out_of_bounds");
  EXPECT_EQ(
      evidence_text(verdict),
      "region 'o' (sdpa, f32) of cpu_fused: o[4] is inf, allowed is [0.5, 1.5] (exact 1, error bound 1e-07); "
      "3 of 10 elements outside");
  EXPECT_EQ(sentence(verdict), "No correct execution gives this result: " + evidence_text(verdict) + ".");
  EXPECT_EQ(evidence_text(Verdict{}), "");
}

TEST(VerdictText, SaysThatASampleWasJudged) {
  Verdict verdict = defect();
  EXPECT_EQ(sampled_text(verdict), "");
  verdict.baseline.regions[0].all_elements = 15;
  EXPECT_EQ(sampled_text(verdict), " Sampled 10 of 15 elements; the bounds of the others were not checked.");
  verdict.candidate.regions[0].all_elements = 10;
  verdict.candidate.regions[1].all_elements = 1000;
  EXPECT_EQ(sentence(verdict),
            "No correct execution gives this result: " + evidence_text(verdict) +
                ". Sampled 20 of 1010 elements; the bounds of the others were not checked.");
  EXPECT_TRUE(evidence_text(verdict).ends_with("3 of 10 sampled elements outside"));
  EXPECT_EQ(nlohmann::ordered_json(to_json(verdict.candidate))["regions"][1]["all_elements"], 1000);
  EXPECT_NE(region_table(verdict.candidate, Regions::all).text(0, 1000).find("10 of 1000"),
            std::string::npos);
}

TEST(VerdictText, SaysWhereBoundsAreTooLarge) {
  Verdict verdict = defect();
  verdict.candidate.regions[0].loose = 2;
  EXPECT_EQ(loose_text(verdict), "") << "a finding has its evidence";
  verdict.verdict = VerdictClass::reassociation;
  EXPECT_EQ(
      loose_text(verdict),
      " Of cpu_fused, the bounds of 2 of 20 elements are too large to say much (above 1/16 of the largest "
      "value beside them).");
  EXPECT_TRUE(sentence(verdict).ends_with(loose_text(verdict)));
  EXPECT_EQ(nlohmann::ordered_json(to_json(verdict.candidate))["regions"][0]["loose"], 2);
  verdict.verdict = VerdictClass::identical;
  EXPECT_EQ(loose_text(verdict), "");
}

// Of the coarsest region of the candidate.
TEST(VerdictText, SaysWhichChangesWouldHaveBeenFound) {
  Verdict verdict = defect();
  verdict.candidate.regions[0].resolution = {10, 0x1p-10, 0x1p-8, 0.5};
  EXPECT_EQ(resolution_text(verdict), "") << "a finding has its evidence";
  verdict.finding = false;
  verdict.verdict = VerdictClass::reassociation;
  verdict.candidate.regions[1].resolution = {10, 0x1p-24, 0x1p-23, 0x1p-22};
  EXPECT_EQ(resolution_text(verdict),
            " A change of 0.391 % of 'a' would have been found (median of its elements; 0.0977 % if all of "
            "them change, 50 % for the worst of them).");
  EXPECT_NE(sentence(verdict).find(resolution_text(verdict)), std::string::npos);
  verdict.candidate.regions[1].resolution = {10, 0x1p-24, kInf, kInf};
  EXPECT_EQ(resolution_text(verdict), " No change of half of the elements of 'o' would have been found.");
  verdict.candidate.regions[1].resolution = {10, 0x1p-24, 0.75, kInf};
  EXPECT_TRUE(resolution_text(verdict).ends_with("if all of them change, of some of them nothing is known)."))
      << resolution_text(verdict);
  const nlohmann::ordered_json regions = nlohmann::ordered_json(to_json(verdict.candidate))["regions"];
  EXPECT_EQ(regions[0]["resolution"]["elements"], 10);
  EXPECT_EQ(regions[0]["resolution"]["median"], 0x1p-8);
  EXPECT_EQ(regions[1]["resolution"]["worst"], "inf");
  verdict.candidate.regions[0].resolution = verdict.candidate.regions[1].resolution = {};
  EXPECT_EQ(resolution_text(verdict), "");
  EXPECT_FALSE(nlohmann::ordered_json(to_json(verdict.candidate))["regions"][0].contains("resolution"));
}

TEST(VerdictText, PolicySentenceNamesTheDeviations) {
  Verdict verdict;
  RegionVerdict used = region(0, "o", 0.9, VerdictClass::precision_policy);
  used.deviations = {{Deviation::Kind::drop, "p", Dtype::bf16, 0, ""}};
  verdict.baseline.backend = "cpu";
  verdict.candidate = {"cpu_fused", {used}, VerdictClass::precision_policy};
  verdict.verdict = VerdictClass::precision_policy;
  verdict.output_elements = 10;
  verdict.unequal = 2;
  verdict.max_difference = verdict.max_finite_difference = 0.25;
  EXPECT_EQ(
      sentence(verdict),
      "2 of 10 output elements differ between cpu and cpu_fused, by at most 0.25; within bounds only if "
      "implicit roundings are dropped or moved, which the contracts declare: region 'o' (add, f32) of "
      "cpu_fused: drop p.");
  verdict.candidate.regions[0].declared = false;
  EXPECT_NE(sentence(verdict).find("which no contract declares"), std::string::npos);
}

TEST(VerdictText, CountsAgreeWithTheirVerbs) {
  Verdict verdict;
  verdict.baseline.backend = "cpu";
  verdict.candidate.backend = "cuda";
  verdict.output_elements = 1;
  EXPECT_EQ(sentence(verdict), "The output element has the same bits on cpu and cuda.");
  verdict.output_elements = 2;
  EXPECT_EQ(sentence(verdict), "All 2 output elements have the same bits on cpu and cuda.");
  verdict.verdict = VerdictClass::inconclusive;
  verdict.unequal = 1;
  EXPECT_TRUE(sentence(verdict).starts_with("1 of 2 output elements differs between cpu and cuda"));
}

// Of NaN and infinity no distance is told, and the finite rest is not hidden by them.
TEST(VerdictText, SaysWhichDeclarationWouldFailAnInconclusiveRegion) {
  Verdict verdict;
  verdict.verdict = VerdictClass::inconclusive;
  RegionVerdict region;
  region.verdict = VerdictClass::inconclusive;
  region.fails_with = {{"rounds_for_products", "inner values stay in f32", "roundings = \"products\"", true}};
  verdict.candidate.regions = {region};
  EXPECT_NE(sentence(verdict).find("It is wrong if it is meant that inner values stay in f32; to have that "
                                   "judged, declare roundings = \"products\"."),
            std::string::npos)
      << sentence(verdict);
}

TEST(VerdictText, ElementsThatAreNaNOrInfiniteAreCountedApart) {
  Verdict verdict;
  verdict.verdict = VerdictClass::inconclusive;
  verdict.baseline.backend = "cpu";
  verdict.candidate.backend = "cuda";
  verdict.output_elements = 6;
  verdict.unequal = verdict.unequal_nonfinite = 2;
  verdict.max_difference = kInf;
  const std::string differ = "2 of 6 output elements differ between cpu and cuda, ";
  EXPECT_TRUE(sentence(verdict).starts_with(differ + "where one of the two is NaN or infinite; "))
      << sentence(verdict);
  verdict.unequal_nonfinite = 1;
  verdict.max_finite_difference = 0.25;
  EXPECT_TRUE(sentence(verdict).starts_with(
      differ + "1 of them where one of the two is NaN or infinite, the others by at most 0.25; "))
      << sentence(verdict);
}

// Against a bound of 0 every error is infinitely many bounds: the evidence counts stored values instead.
TEST(VerdictText, ABoundOfZeroHasNoRatio) {
  Verdict verdict;
  RegionVerdict exact = region(0, "o", 400, VerdictClass::defect);
  exact.symptom = Symptom::out_of_bounds;
  exact.outside = 1;
  exact.worst = {"o", 4, 1.5, 1, 1, 1, 0, 64};
  verdict.candidate = {"cpu_fused", {exact}, VerdictClass::defect};
  verdict.fail({BackendRole::candidate, 0});
  EXPECT_EQ(region_table(verdict.candidate, Regions::all).text().find("400"), std::string::npos);
  EXPECT_EQ(
      evidence_text(verdict),
      "region 'o' (add, f32) of cpu_fused: o[4] is 1.5, allowed is [1, 1] (exact 1, error bound 0, 64 ulp "
      "outside); 1 of 10 elements outside");
  verdict.candidate.regions[0].worst.bound = 1e-7;
  EXPECT_NE(region_table(verdict.candidate, Regions::all).text().find("400"), std::string::npos);
}

TEST(VerdictText, NotableRegionsAreRewrittenOrWorstOrFindings) {
  BackendVerdict backend;
  for (size_t i = 0; i < 8; ++i)
    backend.regions.push_back(region(i, "r" + std::to_string(i), 0.1 * static_cast<double>(i)));
  backend.regions[0].patterns = {"sdpa"};
  backend.regions[1].verdict = VerdictClass::exceptional;
  const std::string text = region_table(backend, Regions::notable).text();
  for (const char* shown : {"r0", "r1", "r5", "r6", "r7"})
    EXPECT_NE(text.find(shown), std::string::npos) << text;
  for (const char* hidden : {"r2", "r3", "r4"}) EXPECT_EQ(text.find(hidden), std::string::npos) << text;
  EXPECT_NE(region_table(backend, Regions::all).text().find("r3"), std::string::npos);
}

TEST(VerdictJson, NumbersThatJsonLacksAreWords) {
  const auto json = to_json(defect(), std::vector<Difference>{{10}, {10, 7, 7, kInf}});
  EXPECT_EQ(json["max_difference"], "nan");
  const auto& failing = json["candidate"]["regions"][1];
  EXPECT_EQ(failing["worst"]["got"], "inf");
  EXPECT_EQ(failing["worst_share"], "inf");
  EXPECT_EQ(failing["unequal"], 7);
  EXPECT_EQ(failing["largest_difference"], "inf");
  EXPECT_FALSE(json["baseline"]["regions"][0].contains("unequal"));
  EXPECT_EQ(json.dump().find("null"), std::string::npos);
  EXPECT_EQ(json["failing_region"]["backend"], "cpu_fused");
  EXPECT_EQ(json["failing_region"]["role"], "candidate");
  EXPECT_EQ(json["failing_region"]["region"], 1);
  EXPECT_TRUE(to_json(Verdict{})["failing_region"].is_null());
}

TEST(Table, SharesThatAreNoiseAreNoNumbers) {
  for (const double noise : {0.0, -9.33e-9, 3e-4, -4.9e-4}) EXPECT_EQ(percent(noise), "0.0 %") << noise;
  EXPECT_EQ(percent(6e-4), "0.06 %");
  EXPECT_EQ(percent(-0.0213), "-2.13 %");
  EXPECT_EQ(percent(1), "100 %");
}

TEST(Table, WrapsBetweenWords) {
  const std::string ten = "123456789 ";
  std::string text;
  for (int i = 0; i < 12; ++i) text += ten;
  EXPECT_EQ(wrapped(text + "x").find('\n'), 109U);  // eleven words
  EXPECT_EQ(wrapped("  " + text + "x", 4).substr(101, 8), "\n    123");
  for (const std::string& kept : {std::string("a\nb  c"), std::string(), std::string(150, 'x'),
                                  ten + "\n" + std::string(109, 'x') + " "})
    EXPECT_EQ(wrapped(kept), kept);
}

TEST(Table, AlignsNumbersToTheRight) {
  Table table({"name", "n"});
  table.add({"a", "1"});
  table.add({"bcd", "234"});
  EXPECT_EQ(table.text(1), " name    n\n a       1\n bcd   234\n");
  EXPECT_EQ(table.markdown(), "| name | n |\n|---|---:|\n| a | 1 |\n| bcd | 234 |\n");
}

}  // namespace
}  // namespace fusesmith::fuzz
