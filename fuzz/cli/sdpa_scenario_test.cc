// Scenario 4 (pytorch PR 163508): attention's corrected definition is, bit for bit, its own expansion; the
// old one differs from it, and the report names the two attributes that make the difference.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "fuzz/cli/test_support.h"

namespace fusesmith::fuzz {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

std::string scenario(const std::string& name) {
  return std::string(FUSESMITH_SOURCE_DIR) + "/corpus/scenarios/sdpa_reference_" + name + ".json";
}

class SdpaReference : public testing::TestWithParam<std::string> {};

TEST_P(SdpaReference, CorrectedDefinitionEqualsItsExpansion) {
  const Ran ran = fusesmith_command({"replay", "--bitwise", "--repeat=1", "--json", scenario(GetParam())});
  EXPECT_EQ(ran.code, kClean) << ran.out << ran.err;
  const Json one = Json::parse(ran.out)["cases"][0];
  EXPECT_EQ(one["verdict"], "identical");
  EXPECT_EQ(one["unequal"], 0);
  EXPECT_GE(one["output_elements"], 131072);
}

TEST_P(SdpaReference, OldDefinitionDiffersByScalePlacementAndUpcast) {
  const std::string file = scenario(GetParam() + "_old");
  EXPECT_EQ(fusesmith_command({"replay", "--bitwise", file}).code, kFindings);
  const Ran ran = fusesmith_command({"explain", file});
  EXPECT_THAT(ran.out, HasSubstr("delivers 'corrected' where the graph says 'old'"));
  const Json json = Json::parse(fusesmith_command({"explain", "--json", file}).out);
  const Json& takeovers = json["definitions"][0]["takeovers"];
  ASSERT_EQ(takeovers.size(), 4U);
  EXPECT_EQ(takeovers[1]["attributes"], (Json{"scale_on=both"}));
  EXPECT_EQ(takeovers[2]["attributes"], (Json{"upcast=true"}));
  EXPECT_GT(takeovers[0]["unequal"], 30000);
  EXPECT_EQ(takeovers[3]["unequal"], 0);
  const bool f32 = GetParam().starts_with("f32");  // where an upcast does nothing
  EXPECT_EQ(takeovers[1]["unequal"] == 0, f32);
  EXPECT_EQ(takeovers[2]["unequal"] == takeovers[0]["unequal"], f32);
}

INSTANTIATE_TEST_SUITE_P(All, SdpaReference,
                         testing::Values("f32", "f16", "bf16", "f32_causal", "f16_causal", "bf16_causal"),
                         [](const auto& param_info) { return param_info.param; });

}  // namespace
}  // namespace fusesmith::fuzz
