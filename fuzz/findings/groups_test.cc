#include "fuzz/findings/groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fusesmith::fuzz {
namespace {

using OrderedJson = nlohmann::ordered_json;
using testing::ElementsAre;
using testing::UnorderedElementsAre;

constexpr char kSoftmax[] = R"({"name": "y", "op": "softmax", "inputs": ["x"], "axis": -1})";
constexpr char kGelu[] = R"({"name": "y", "op": "gelu", "inputs": ["x"]})";
constexpr char kPermuted[] = R"({"name": "p", "op": "permute", "inputs": ["x"], "dims": [1, 0]},
                                {"name": "y", "op": "gelu", "inputs": ["p"]})";

// A finding of one region of cpu_fused, minimized to these nodes on an input x of shape [2, 2]. `layout`: of
// x, the member of its JSON.
FindingRecord finding(const std::string& pattern, const std::string& dtype, const std::string& symptom,
                      const std::string& nodes, const std::string& rule = "",
                      const std::string& layout = "") {
  FindingRecord record;
  record.signature = pattern + "-" + dtype + "-" + symptom;
  record.cases = 1;
  const OrderedJson region = {
      {"op", "gelu"}, {"patterns", OrderedJson::array({pattern})}, {"dtype", dtype}, {"symptom", symptom}};
  record.verdict = {{"verdict", symptom == "out_of_bounds" ? "defect" : "exceptional"},
                    {"failing_region", {{"role", "candidate"}, {"backend", "cpu_fused"}, {"region", 0}}}};
  // As the file is read, its numbers are unsigned.
  record.verdict["failing_region"]["region"] = size_t{0};
  record.verdict["candidate"]["regions"] = OrderedJson::array({region});
  if (!rule.empty())
    record.verdict["neighbours"]["sizes"] = OrderedJson::array({OrderedJson{{"fails_iff", rule}}});
  auto test_case = parse_case(R"({"fusesmith": 1, "seed": 1, "steps": 1, "policy": {"tf32": false,
      "implicit_casts": "may_elide"}, "graph": {"inputs": [{"name": "x", "type": ")" +
                              dtype + R"([2,2]", "fill": {"normal": {}})" + layout +
                              R"(}], "states": [], "nodes": [)" + nodes + R"(], "outputs": ["y"]}})");
  EXPECT_TRUE(test_case.ok()) << test_case.problem();
  if (test_case) record.smallest = std::move(*test_case);
  return record;
}

Groups groups(const std::vector<FindingRecord>& records) { return groups_of(records); }

TEST(Groups, DtypesAndSymptomsOfAWrongValueAreOne) {
  EXPECT_THAT(groups({finding("chain", "f32", "out_of_bounds", kGelu),
                      finding("chain", "bf16", "out_of_bounds", kPermuted),
                      finding("chain", "f16", "missing_nan", kGelu)}),
              ElementsAre(UnorderedElementsAre(0, 1, 2)));
}

TEST(Groups, OtherPatternsGraphsAndSymptomsAreOthers) {
  EXPECT_EQ(
      groups({finding("chain", "f32", "out_of_bounds", kGelu), finding("gate", "f32", "out_of_bounds", kGelu),
              finding("chain", "f32", "out_of_bounds", kSoftmax),
              finding("chain", "f32", "repeat_differs", kGelu)})
          .size(),
      4U);
}

TEST(Groups, RulesOfSizesSayWhatIsOneCause) {
  EXPECT_EQ(groups({finding("chain", "f32", "out_of_bounds", kGelu, "N mod 32 != 0"),
                    finding("chain", "f16", "out_of_bounds", kGelu, "N mod 8 != 0")})
                .size(),
            2U);
  EXPECT_EQ(groups({finding("chain", "f32", "out_of_bounds", kGelu, "N mod 32 != 0"),
                    finding("chain", "f16", "out_of_bounds", kSoftmax, "N mod 32 != 0")})
                .size(),
            1U);
  EXPECT_EQ(groups({finding("chain", "f32", "out_of_bounds", kGelu, "N >= 2"),
                    finding("chain", "f16", "out_of_bounds", kGelu, "always")})
                .size(),
            1U)
      << "these depend on the data of the case";
}

// The finding with what was found of ops in place of its own.
FindingRecord tried(FindingRecord record, const std::string& what, const std::string& with,
                    const std::string& list) {
  OrderedJson choice = {
      {"what", what}, {"value", ""}, {"failing", OrderedJson::array()}, {"passing", OrderedJson::array()}};
  choice[list].push_back(with);
  record.verdict["neighbours"]["choices"].push_back(choice);
  return record;
}

// A compiler skips casts whichever op reads them; a fused kernel that skips its own is another cause.
TEST(Groups, CastsThatACompilerSkipsAreOne) {
  const auto skipped = [](const std::string& op, const std::string& dtype, const char* nodes) {
    FindingRecord record = finding("", dtype, "explicit_cast_skipped", nodes);
    record.signature = op + dtype;
    OrderedJson& region = record.verdict["candidate"]["regions"][0];
    region["op"] = op;
    region["patterns"] = OrderedJson::array();
    return record;
  };
  EXPECT_EQ(groups({skipped("cast.bf16", "bf16", kGelu), skipped("cast.f16", "f16", kPermuted),
                    skipped("add", "f16", kSoftmax)})
                .size(),
            1U);
  EXPECT_EQ(
      groups({skipped("cast.bf16", "bf16", kGelu), finding("gate", "bf16", "explicit_cast_skipped", kGelu),
              finding("chain", "bf16", "explicit_cast_skipped", kGelu)})
          .size(),
      3U);
}

TEST(Groups, OpsThatOthersCanStandForDoNotMatter) {
  const std::string where = R"({"name": "z", "op": ")", of = R"(", "inputs": ["x"]},)";
  const FindingRecord silu = finding("chain", "f32", "out_of_bounds", where + "silu" + of + kGelu),
                      exp = finding("chain", "f16", "missing_nan", where + "exp" + of + kGelu);
  EXPECT_EQ(groups({silu, exp}).size(), 2U) << "nothing was tried";
  EXPECT_EQ(
      groups({tried(silu, "op of z", "relu", "failing"), tried(exp, "op of z", "relu", "failing")}).size(),
      1U);
  EXPECT_EQ(
      groups({tried(silu, "op of z", "relu", "failing"), tried(exp, "op of z", "relu", "passing")}).size(),
      2U);
}

TEST(Groups, EveryWayToStoreAWrongValueIsOne) {
  EXPECT_EQ(groups({finding("chain", "f32", "out_of_bounds", kGelu),
                    finding("chain", "bf16", "undeclared_rounding", kGelu),
                    finding("chain", "f16", "exchange_differs", kGelu)})
                .size(),
            1U);
}

TEST(Groups, TheOrderOfOperandsAndStepsMatter) {
  const std::string sum = R"({"name": "y", "op": "add", "inputs": ["x", "x"]})";
  const FindingRecord any = finding("sdpa", "f32", "out_of_bounds", sum);
  EXPECT_EQ(groups({any, tried(any, "operand order of y", "exchanged", "failing")}).size(), 1U);
  EXPECT_EQ(groups({any, tried(any, "operand order of y", "exchanged", "passing")}).size(), 2U);
  FindingRecord steps = any;
  steps.smallest->steps = 2;
  EXPECT_EQ(groups({any, steps}).size(), 2U);
}

// Which operand is the product is what matters, not what it is called.
TEST(Groups, TheSideOfTheProductMattersWhereTheOrderDoes) {
  const std::string product = R"({"name": "p", "op": "matmul", "inputs": ["x", "x"]},)";
  const auto with = [&](const std::string& dtype, const std::string& operands) {
    return tried(finding("sdpa", dtype, "out_of_bounds",
                         product + R"({"name": "y", "op": "add", "inputs": [)" + operands + "]}"),
                 "operand order of y", "exchanged", "passing");
  };
  EXPECT_EQ(groups({with("f32", R"("p", "x")"), with("f16", R"("p", "x")")}).size(), 1U);
  EXPECT_EQ(groups({with("f32", R"("p", "x")"), with("f16", R"("x", "p")")}).size(), 2U);
}

constexpr char kStrided[] = R"(, "layout": {"order": [1, 0]})", kOffset[] = R"(, "layout": {"offset": 1})";
constexpr char kUnwritten[] = "depends_on_unwritten_memory";

TEST(Groups, ReadsOfOtherMemoryBelongToTheWrongValuesOfTheSameLayouts) {
  const FindingRecord reads = finding("chain", "f32", kUnwritten, kGelu, "", kStrided);
  EXPECT_EQ(groups({reads, finding("chain", "f16", "out_of_bounds", kSoftmax, "", kStrided)}).size(), 1U);
  EXPECT_EQ(groups({reads, finding("chain", "f16", "out_of_bounds", kGelu, "", kOffset)}).size(), 2U);
  EXPECT_EQ(groups({reads, finding("chain", "f16", kUnwritten, kSoftmax, "", kStrided)}).size(), 1U);
  EXPECT_EQ(groups({reads, finding("chain", "f16", kUnwritten, kGelu, "", kOffset)}).size(), 2U);
}

TEST(Groups, WrongValuesOfDenseAndStridedOperandsAreTwo) {
  const FindingRecord dense = finding("chain", "f32", "out_of_bounds", kGelu);
  EXPECT_EQ(groups({dense, finding("chain", "f16", "out_of_bounds", kGelu, "", kStrided)}).size(), 2U);
  EXPECT_EQ(groups({dense, finding("chain", "f16", kUnwritten, kGelu, "", kStrided)}).size(), 2U);
}

TEST(Groups, OfOneSymptomTilesDoNotMatter) {
  const FindingRecord one = finding("chain", "f32", "out_of_bounds", kGelu);
  EXPECT_EQ(groups({one, finding("chain", "f16", "out_of_bounds", kGelu, "N >= 16")}).size(), 1U);
  EXPECT_EQ(groups({one, finding("chain", "f16", "missing_nan", kGelu, "N >= 16")}).size(), 2U);
}

TEST(Groups, OfAnEinsumTheAxesCountThatNeedSeveralElements) {
  const auto with = [](const std::string& dtype, const std::string& equation) {
    return finding("triangle_multiplication", dtype, "out_of_bounds",
                   R"({"name": "y", "op": "einsum", "inputs": ["x", "x"], "equation": ")" + equation + "\"}");
  };
  EXPECT_EQ(groups({with("f32", "ik,jk->ij"), with("f16", "ak,bk->ab")}).size(), 1U);
  EXPECT_EQ(groups({with("f32", "ik,jk->ij"), with("f16", "ab,ab->ab")}).size(), 2U);
}

TEST(Groups, TheSimplestCaseIsTheFaceAndTheMostCasesComeFirst) {
  std::vector<FindingRecord> records = {finding("chain", "f32", "out_of_bounds", kPermuted),
                                        finding("chain", "f16", "out_of_bounds", kGelu),
                                        finding("gate", "f16", "out_of_bounds", kGelu)};
  EXPECT_THAT(groups(records), ElementsAre(ElementsAre(1, 0), ElementsAre(2)));
  records[2].cases = 9;
  EXPECT_THAT(groups(records), ElementsAre(ElementsAre(2), ElementsAre(1, 0)));
}

TEST(Groups, WhatIsNotKnownStandsAlone) {
  FindingRecord damaged, other;
  damaged.signature = "a", other.signature = "b";
  EXPECT_EQ(groups({damaged, other}).size(), 2U);
  EXPECT_TRUE(groups({}).empty());
}

}  // namespace
}  // namespace fusesmith::fuzz
