// What a worker's contract says of ops becomes what the judge allows each node; what the page does not allow
// is refused by its place.
#include "backends/remote/remote_plan.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "oracle/known_arithmetic.h"

namespace fusesmith::backends {
namespace {

using Json = nlohmann::json;

Graph sample() {
  Builder b;
  const TensorType type{Dtype::bf16, {4, 4}};
  const ValueId x = b.input("x", type, Normal{}), y = b.input("y", type, Normal{});
  const ValueId sums = b.node(Einsum{"ij,ik->ij"}, {x, y}, "sums");
  const ValueId p = b.node(Softmax{-1}, {sums}, "p");
  b.output(b.node(Sdpa{}, {p, x, y}, "attention"));
  return *b.build();
}

Result<Plan> parse(const Json& contract, const Json& regions = "each_node") {
  return parse_plan(sample(), {{"type", "plan"}, {"regions", regions}, {"contract", contract}});
}

std::vector<std::string> deviations(const Region& region) {
  std::vector<std::string> names;
  for (const Deviation& d : region.contract.deviations) names.push_back(to_string(d));
  return names;
}

using Names = std::vector<std::string>;

TEST(RemotePlan, AppliesTheContractToEachNode) {
  const auto plan = parse({{"lowerings", {"einsum.sum_first", "rsqrt.of_root"}},
                           {"rounded_inside", {{"softmax", 1}}},
                           {"attention", "online"},
                           {"arithmetic_of", {{"sdpa", {{"exp", 48}}}}},
                           {"arithmetic", {{"sqrt", 2}, {"flushes_subnormals", true}}}});
  ASSERT_TRUE(plan.ok()) << plan.problem();
  ASSERT_EQ(plan->regions.size(), 3u);
  EXPECT_EQ(deviations(plan->regions[0]), Names{"lower sums as einsum.sum_first"});
  EXPECT_EQ(deviations(plan->regions[1]), Names{"add p/exponentials"});
  EXPECT_EQ(deviations(plan->regions[2]),
            (Names{"drop attention/scores", "drop attention/scaled", "move attention/p"}));
  EXPECT_EQ(plan->regions[2].contract.unnormalised, Names{"attention/out"});
  EXPECT_EQ(plan->regions[0].contract.arithmetic.sqrt, 2);
  EXPECT_TRUE(plan->regions[0].contract.arithmetic.flushes_subnormals);
  const Arithmetic& attention = plan->regions[2].contract.arithmetic_of.at("sdpa");
  EXPECT_EQ(attention.exp, 48);
  EXPECT_EQ(attention.sqrt, 2);  // as in general
}

TEST(RemotePlan, ARegionOfAListHasItsOwnContract) {
  const Json regions = {{{"nodes", {"sums"}}, {"contract", {{"roundings", "any"}}}},
                        {{"nodes", {"p", "attention"}}}};
  const auto plan = parse({{"lowerings", {"einsum.sum_first"}}}, regions);
  ASSERT_TRUE(plan.ok()) << plan.problem();
  EXPECT_EQ(plan->regions[0].contract.roundings, oracle::Roundings::any);
  EXPECT_TRUE(plan->regions[0].contract.deviations.empty());
  EXPECT_EQ(plan->regions[1].contract.roundings, oracle::Roundings::kept);
}

TEST(RemotePlan, TellsWhatAContractGrants) {
  const auto granted = [](const Json& arithmetic, const Json& of_ops = Json::object()) {
    const auto plan = parse(Json::object({{"arithmetic", arithmetic}, {"arithmetic_of", of_ops}}));
    return plan.ok() ? granted_text(plan->regions[0].contract) : plan.problem();
  };
  EXPECT_EQ(granted(Json::object()), "");
  EXPECT_EQ(granted(Json::object({{"exp", 1}})), "") << "tighter than usual";
  EXPECT_EQ(granted(Json::object({{"exp", 20}, {"div", 2.5}, {"tf32", true}, {"variance", "moments"}})),
            "div 2.5, exp 20 (units of 2^-24), tf32, variance moments");
  const Json unit = {{"group", 32}, {"fraction_bits", 13}, {"out_bits", 13}, {"promote_every", 128}};
  EXPECT_EQ(granted(Json::object({{"accumulator", unit}})),
            "accumulator {\"group\": 32, \"fraction_bits\": 13, \"out_bits\": 13, \"promote_every\": 128}");
  EXPECT_EQ(granted(Json::object({{"exp", 20}}), Json::object({{"gelu", Json::object({{"erf", 9}})}})),
            "exp 20 (units of 2^-24); gelu: erf 9, exp 20 (units of 2^-24)");
}

// "arithmetic = {"sum": 65536}", as verdicts suggest it to the writer of a function.
TEST(RemotePlan, TakesWhatDiagnosesDeclare) {
  int declared = 0;
  for (const oracle::KnownArithmetic& known : oracle::known_arithmetics()) {
    std::string text = known.diagnosis.declaration;
    if (text.empty()) continue;
    for (const auto& [from, to] : {std::pair("True", "true"), std::pair("OP", "\"softmax\"")}) {
      for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + 1))
        text.replace(at, std::string_view(from).size(), to);
    }
    const size_t equals = text.find(" = ");
    ASSERT_NE(equals, std::string::npos) << text;
    const auto plan = parse({{text.substr(0, equals), Json::parse(text.substr(equals + 3))}});
    EXPECT_TRUE(plan.ok()) << known.diagnosis.declaration << ": " << plan.problem();
    ++declared;
  }
  EXPECT_GT(declared, 20);
}

TEST(RemotePlan, RefusesWhatThePageDoesNotAllow) {
  const std::pair<Json, const char*> wrong[] = {
      {{{"lowerings", {"einsum.backwards"}}}, "contract.lowerings: expected one of einsum.sum_first"},
      {{{"lowerings", "einsum.sum_first"}}, "lowerings: expected a list"},
      {{{"lowerings", {7}}}, "contract.lowerings: expected one of"},
      {{{"rounded_inside", {{"softmin", 1}}}}, "no op is called \"softmin\""},
      {{{"rounded_inside", {{"softmax", 0}}}}, "contract.rounded_inside.softmax: expected 1 to 4"},
      {{{"rounded_inside", {{"softmax", 1.5}}}}, "expected 1 to 4"},
      {{{"attention", "offline"}}, "attention: expected \"exact\" or \"online\""},
      {{{"arithmetic", {{"flushes_subnormals", 1}}}},
       "contract.arithmetic.flushes_subnormals: expected true"},
      {{{"arithmetic", {{"sqrt", -1}}}}, "contract.arithmetic.sqrt: expected a number"},
      {{{"arithmetic_of", {{"softmin", {{"exp", 3}}}}}},
       "contract.arithmetic_of: no op is called \"softmin\""},
      {{{"arithmetic_of", {{"exp", {{"exp", -3}}}}}}, "contract.arithmetic_of.exp.exp: expected a number"},
      {{{"speed", "high"}}, "unknown key \"speed\""},
  };
  for (const auto& [contract, expected] : wrong) {
    const auto plan = parse(contract);
    ASSERT_FALSE(plan.ok()) << contract;
    EXPECT_NE(plan.problem().find(expected), std::string::npos) << plan.problem();
  }
}

}  // namespace
}  // namespace fusesmith::backends
