// What a finding's report says of the neighbours of its minimized case, for faults.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "fuzz/cli/test_support.h"
#include "fuzz/findings/finding.h"
#include "fuzz/findings/shrinking.h"
#include "graph/graph.h"

namespace fusesmith::fuzz {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;

// Attention among other nodes, with 50 keys of size 12.
Case attention() {
  Builder b;
  const ValueId q = b.input("x5", {Dtype::f32, {2, 7, 12}}, Normal{}),
                k = b.input("x6", {Dtype::f32, {2, 50, 12}}, Normal{}),
                v = b.input("x7", {Dtype::f32, {2, 50, 20}}, Normal{});
  const ValueId p =
      b.node(Softmax{}, {b.node(Scale{0.25}, {b.node(Matmul{false, true}, {q, k}, "s")}, "t")}, "p");
  b.output(b.node(Relu{}, {b.node(Matmul{}, {p, v}, "o")}, "out"));
  Case test_case;
  test_case.graph = *b.build();
  return test_case;
}

class FindingNeighbours : public testing::Test {
 protected:
  void SetUp() override {
    if (!kFaultsBuilt) GTEST_SKIP() << "a build without faults";
  }
  static Judging judging(const std::string& fault) {
    JudgeFlags flags;
    flags.baseline = "cpu", flags.candidate = "cpu_fused", flags.faults = {fault};
    return Judging(flags);
  }
};

constexpr char kRule[] = "Fails iff N mod 32 != 0, where N is ";  // cpu_fused takes 32 keys at a time

TEST_F(FindingNeighbours, AKeyTileThatIsNotMaskedIsNamedByItsSize) {
  TemporaryFolder folder;
  const Case test_case = attention();
  const Judging judged = judging("last_key_tile_not_masked");
  const std::string signature = judged.run(test_case).verdict.signature_text();
  ASSERT_FALSE(write_file(folder / "case.json", to_json(test_case)));
  ASSERT_FALSE(
      finish_finding(WorkPath(folder.string()), signature, {judged, "", "fusesmith", "unknown", true, {}}));
  EXPECT_THAT(*read_file(folder / "report.md"), HasSubstr(kRule));

  const Json verdict = Json::parse(*read_file(folder / "verdict.json"));
  const Json& neighbours = verdict.at("neighbours");
  EXPECT_FALSE(neighbours.at("exhausted"));
  int rules = 0;
  for (const Json& sizes : neighbours.at("sizes")) {
    if (sizes.at("fails_iff") == "always") continue;
    ++rules;
    EXPECT_EQ(sizes.at("fails_iff"), "N mod 32 != 0") << sizes;
    EXPECT_EQ(sizes.at("nearest_passing"), 32);
  }
  EXPECT_EQ(rules, 1) << neighbours;
  for (const Json& choices : neighbours.at("choices")) {
    if (choices.at("what") != "dtype") continue;
    EXPECT_EQ(choices.at("failing"), Json({"f16", "bf16"}));
  }
}

TEST_F(FindingNeighbours, MinimizePrintsThem) {
  TemporaryFolder folder;
  ASSERT_FALSE(write_file(folder / "case.json", to_json(attention())));
  const Ran ran = fusesmith_command({"minimize", "--baseline=cpu", "--candidate=cpu_fused",
                                     "--faults=last_key_tile_not_masked", folder / "case.json"});
  EXPECT_EQ(ran.code, kFindings) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr(kRule));
}

}  // namespace
}  // namespace fusesmith::fuzz
