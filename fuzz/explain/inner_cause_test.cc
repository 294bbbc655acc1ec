// What explain says of faults inside kernels: only an experiment in the kernel itself names a value.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "fuzz/cli/test_support.h"
#include "fuzz/explain/causes.h"
#include "fuzz/explain/conclusion.h"

namespace fusesmith::fuzz {
namespace {

using Json = nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// softmax(q k^T) v of these inputs.
std::string attention(const std::string& q, const std::string& k, const std::string& v) {
  return R"({"fusesmith": 1, "seed": 127635318, "graph": {"inputs": [)" + q + ", " + k + ", " + v +
         R"(], "states": [], "nodes": [
      {"name": "scores", "op": "matmul", "inputs": ["q", "k"], "transpose_b": true},
      {"name": "p", "op": "softmax", "inputs": ["scores"], "axis": -1},
      {"name": "y", "op": "matmul", "inputs": ["p", "v"]}], "outputs": ["y"]}})";
}

// Rows of several key tiles, in which the maximum moves; the last tile of queries has one row.
std::string long_rows() {
  const auto input = [](const std::string& name, const std::string& shape) {
    return R"({"name": ")" + name + R"(", "type": "bf16)" + shape +
           R"(", "fill": {"normal": {"stddev": 1}}})";
  };
  return attention(input("q", "[17,14]"), input("k", "[70,14]"), input("v", "[70,3]"));
}

std::string short_rows() {
  const auto input = [](const std::string& name) {
    return R"({"name": ")" + name + R"(", "type": "f16[3,4]", "fill": {"normal": {"stddev": 1}}})";
  };
  return attention(input("q"), input("k"), input("v"));
}

class InnerCauses : public testing::Test {
 protected:
  void SetUp() override {
    if (!kFaultsBuilt) GTEST_SKIP() << "a build without faults";
  }

  Json explained(const std::string& test_case, const std::string& fault,
                 std::vector<std::string> pair = {"--baseline=cpu", "--candidate=cpu_fused"}) {
    const std::string file = folder_ / "case.json";
    EXPECT_FALSE(write_file(file, test_case));
    pair.insert(pair.begin(), {"explain", "--json", "--faults=" + fault});
    pair.push_back(file);
    const Ran ran = fusesmith_command(pair);
    EXPECT_EQ(ran.code, kFindings) << fault << ": " << ran.err;
    return Json::parse(ran.out);
  }

 private:
  const TemporaryFolder folder_;
};

// The accumulator keeps its old scale when the maximum moves: the maximum itself comes out right.
TEST_F(InnerCauses, AMissingRescaleIsOnTheWayToTheMaximum) {
  const Json json = explained(long_rows(), "no_rescale");
  EXPECT_THAT(json["conclusion"]["patterns"], ElementsAre("sdpa"));
  EXPECT_THAT(json["conclusion"]["named"], ElementsAre("maximum"));
  EXPECT_THAT(json["what_happened"], HasSubstr("due to how its kernel computes its maximum"));
  EXPECT_THAT(json["what_happened"], Not(HasSubstr("scores")));
}

TEST_F(InnerCauses, ASumInBf16IsTheSum) {
  const Json json = explained(short_rows(), "softmax_sum_in_bf16");
  EXPECT_THAT(json["conclusion"]["named"], ElementsAre("sum"));
  EXPECT_THAT(json["what_happened"], HasSubstr("is out of its bounds due to its sum"));
  EXPECT_THAT(json["what_happened"], Not(HasSubstr("scores")));
}

TEST_F(InnerCauses, AFactorTakenTwiceIsInTheScores) {
  const std::string scaled = R"({"fusesmith": 1, "seed": 5, "graph": {"inputs": [
      {"name": "q", "type": "f32[3,4]", "fill": {"normal": {"stddev": 1}}}], "states": [], "nodes": [
      {"name": "product", "op": "matmul", "inputs": ["q", "q"], "transpose_b": true},
      {"name": "scores", "op": "scale", "inputs": ["product"], "factor": 0.5},
      {"name": "p", "op": "softmax", "inputs": ["scores"], "axis": -1},
      {"name": "y", "op": "matmul", "inputs": ["p", "q"]}], "outputs": ["y"]}})";
  EXPECT_THAT(explained(scaled, "scale_applied_twice")["conclusion"]["named"], ElementsAre("scores"));
}

// The kernel computes all that it stores right, but leaves out a row.
TEST_F(InnerCauses, ARowThatIsNeverStoredIsNamedAsTheStore) {
  const Json json = explained(long_rows(), "last_query_row_dropped");
  const Json& conclusion = json["conclusion"];
  EXPECT_EQ(conclusion["kind"], "out_of_bounds");
  EXPECT_THAT(conclusion["named"], ElementsAre("store"));
  EXPECT_THAT(conclusion["ruled_out"],
              ElementsAre("scores", "maximum", "sum", "right of product 2", "product 2"));
  EXPECT_THAT(json["what_happened"], HasSubstr("due to what it stores (with all inner values of cpu"));
  EXPECT_THAT(json["what_happened"], HasSubstr("3 of 51 elements of its product 2 are never computed"));
}

// gelu(x w^T + b): one region, with an error in one of its steps.
std::string one_layer() {
  return R"({"fusesmith": 1, "seed": 5, "graph": {"inputs": [
      {"name": "x", "type": "f32[6,6]", "fill": {"normal": {"stddev": 1}}},
      {"name": "w", "type": "f32[6,6]", "fill": {"normal": {"stddev": 1}}},
      {"name": "b", "type": "f32[6]", "fill": {"normal": {"stddev": 1}}}], "states": [], "nodes": [
      {"name": "product", "op": "matmul", "inputs": ["x", "w"], "transpose_b": true},
      {"name": "sum", "op": "add", "inputs": ["product", "b"]},
      {"name": "y", "op": "gelu", "inputs": ["sum"], "form": "erf"}],
      "outputs": ["y"]}})";
}

TEST_F(InnerCauses, AnOperandReadFromTheWrongPlaceIsNamed) {
  EXPECT_THAT(explained(one_layer(), "transposed_weight_read_untransposed")["conclusion"]["named"],
              ElementsAre("right of product"));
  EXPECT_THAT(explained(one_layer(), "bias_wrong_axis")["conclusion"]["named"], ElementsAre("right of add"));
}

TEST_F(InnerCauses, AStepThatComputesAnotherFunctionIsNamed) {
  const Json json = explained(one_layer(), "gelu_tanh_for_erf");
  EXPECT_THAT(json["conclusion"]["named"], ElementsAre("gelu"));
  EXPECT_THAT(json["what_happened"], HasSubstr("is out of its bounds due to its gelu"));
}

// Given the scores of cpu, rounded to bf16, the kernel happens to be within its bounds; but its own scores
// are no error, as cpu goes on from them within its bounds.
TEST_F(InnerCauses, AnInnerValueThatOnlyHappensToHelpIsNotNamed) {
  const std::string one =
      attention(R"({"name": "q", "type": "bf16[1,1,1]", "fill": {"literal": {"bits": "bf24"}}})",
                R"({"name": "k", "type": "bf16[1,1,1]", "fill": {"constant": {"value": 161}}})",
                R"({"name": "v", "type": "bf16[1,1,1]", "fill": {"constant": {"value": 1}}})");
  const Json json = explained(one, "running_max_starts_at_zero");
  EXPECT_THAT(json["conclusion"]["named"], Not(testing::Contains("scores"))) << json["conclusion"];
}

TEST_F(InnerCauses, ARegionOfTheBaselineThatFailsIsSaidToFail) {
  const Json json =
      explained(short_rows(), "softmax_sum_in_bf16", {"--baseline=cpu_fused", "--candidate=cpu"});
  EXPECT_EQ(json["conclusion"]["backend"], "cpu_fused");
  EXPECT_THAT(json["conclusion"]["patterns"], ElementsAre("sdpa"));
  EXPECT_THAT(json["what_happened"], HasSubstr("Region 'y' (sdpa) of cpu_fused is out of its bounds."));
  EXPECT_THAT(json["what_happened"], Not(HasSubstr("in another order")));

  // Here the other side's region gets its inputs, and differs because the baseline is wrong.
  const std::string norm = R"({"fusesmith": 1, "seed": 5, "graph": {"inputs": [
      {"name": "x", "type": "f32[4,8]", "fill": {"normal": {"stddev": 1}}}], "states": [], "nodes": [
      {"name": "y", "op": "layer_norm", "inputs": ["x"]}], "outputs": ["y"]}})";
  const Json other =
      explained(norm, "layer_norm_unbiased_variance", {"--baseline=cpu_fused", "--candidate=cpu"});
  EXPECT_EQ(other["conclusion"]["backend"], "cpu_fused");
  ASSERT_EQ(other["causes"].size(), 1U);
  EXPECT_EQ(other["causes"][0]["kind"], "baseline");
  EXPECT_THAT(other["what_happened"], HasSubstr("is within its bounds, but cpu_fused is not"));
}

TEST_F(InnerCauses, AnExplicitCastThatIsSkippedIsNamedAsARounding) {
  const std::string chain = R"({"fusesmith": 1, "seed": 5, "graph": {"inputs": [
      {"name": "x", "type": "f32[64]", "fill": {"normal": {"stddev": 1}}}], "states": [], "nodes": [
      {"name": "narrow", "op": "cast", "inputs": ["x"], "dtype": "f16"},
      {"name": "wide", "op": "cast", "inputs": ["narrow"], "dtype": "f32"}], "outputs": ["wide"]}})";
  const Json json = explained(chain, "explicit_cast_skipped");
  EXPECT_EQ(json["conclusion"]["kind"], "rounding");
  EXPECT_THAT(json["conclusion"]["named"], ElementsAre("narrow"));
  EXPECT_THAT(json["what_happened"], HasSubstr("although the graph asks for this cast"));
}

// The rule by itself: `mended` and `carried` say from which prefix on the kernel passes with the baseline's
// values, and the baseline fails with the kernel's; -1: never.
Cause with_swaps(int mended, int carried, bool last_is_same = false) {
  Cause cause;
  cause.swapped = true;
  cause.verdict.verdict = VerdictClass::defect;
  cause.verdict.symptom = Symptom::out_of_bounds;
  const std::vector<std::string> names = {"scores", "maximum", "sum"};
  for (int last = 0; last < 3; ++last) {
    Swap swap{true, {names.begin(), names.begin() + last + 1}, {}, {}, "its own kernel"};
    swap.last_is_same = last_is_same;
    swap.verdict = swap.converse_verdict = RegionVerdict{};
    if (mended < 0 || last < mended) swap.verdict = cause.verdict;
    if (carried >= 0 && last >= carried) swap.converse_verdict = cause.verdict;
    cause.swaps.push_back(std::move(swap));
  }
  return cause;
}

TEST(InnerCause, IsNamedOnlyWhereBothDirectionsAgree) {
  EXPECT_THAT(with_swaps(1, 1).inner_cause()->names, ElementsAre("maximum"));
  EXPECT_THAT(with_swaps(2, 0).inner_cause()->names, ElementsAre("scores", "sum"));
  EXPECT_FALSE(with_swaps(0, 2).inner_cause());
  EXPECT_FALSE(with_swaps(-1, 1).inner_cause());
  EXPECT_FALSE(with_swaps(2, -1).inner_cause());
  EXPECT_TRUE(with_swaps(1, -1).inner_cause()->on_the_way) << "a kernel starts from the maximum";
  EXPECT_TRUE(with_swaps(1, -1, true).inner_cause()->on_the_way);
  EXPECT_THAT(with_swaps(-1, -1).ruled_out(), ElementsAre("scores", "maximum", "sum"));
  EXPECT_TRUE(with_swaps(1, 2, true).inner_cause()->on_the_way) << "only what comes last carries the error";
  Cause unjudged = with_swaps(1, 1);
  unjudged.swaps[1].converse_verdict.reset();
  EXPECT_FALSE(unjudged.inner_cause());
}

TEST(InnerCause, IsNamedWhereTheValueThatCarriesTheErrorHelpsAlone) {
  Cause cause = with_swaps(0, 1);
  Swap alone{true, {"maximum"}, {}, {}, "its own kernel"};
  cause.swaps.push_back(alone);
  EXPECT_FALSE(cause.inner_cause()) << "not judged";
  cause.swaps.back().verdict = cause.verdict;
  EXPECT_FALSE(cause.inner_cause()) << "it does not help";
  cause.swaps.back().verdict = RegionVerdict{};
  EXPECT_THAT(cause.inner_cause()->names, ElementsAre("maximum"));
}

TEST(InnerCause, IsTheStoreWhereAllThatIsStoredIsShownAndRight) {
  Cause cause = with_swaps(-1, -1);
  EXPECT_FALSE(cause.inner_cause());
  cause.results_shown = true;
  EXPECT_TRUE(cause.inner_cause()->in_store);
  cause = with_swaps(-1, 2);
  cause.results_shown = true;
  EXPECT_FALSE(cause.inner_cause());
}

// A race: what a swap mends may be mended by another run alone.
TEST(InnerCause, IsNeverNamedWhereTheKernelLeavesOtherBitsEachTime) {
  Causes causes;
  causes.causes.push_back(with_swaps(1, 1));
  Verdict verdict;
  verdict.candidate.backend = "cpu_fused";
  EXPECT_THAT(conclude(verdict, causes)->named, ElementsAre("maximum"));
  causes.causes[0].unsteady = true;
  EXPECT_THAT(conclude(verdict, causes)->named, IsEmpty());
  EXPECT_EQ(conclude(verdict, causes)->kind, "repeat_differs");
  causes.causes[0].unsteady = false;
  for (const Symptom symptom : {Symptom::repeat_differs, Symptom::production_differs}) {
    causes.causes[0].verdict.symptom = symptom;
    EXPECT_THAT(conclude(verdict, causes)->named, IsEmpty());
    EXPECT_EQ(conclude(verdict, causes)->kind, name(symptom));
  }
}

// Rows of a cache move before they were read, in every third run.
TEST_F(InnerCauses, ARaceIsInsideTheKernel) {
  const std::string cache = R"({"fusesmith": 1, "seed": 5, "graph": {"inputs": [], "states": [
      {"name": "cache", "type": "f32[8,4]", "next": "rolled", "fill": {"normal": {"stddev": 1}}}], "nodes": [
      {"name": "rolled", "op": "roll", "inputs": ["cache"], "shift": 3, "axis": 0}], "outputs": ["rolled"]}})";
  const Json json = explained(cache, "cache_shift_races");
  EXPECT_THAT(json["conclusion"]["patterns"], ElementsAre("cache_update_in_place"));
  EXPECT_EQ(json["conclusion"]["kind"], "repeat_differs");
  EXPECT_THAT(json["conclusion"]["named"], IsEmpty());
}

}  // namespace
}  // namespace fusesmith::fuzz
