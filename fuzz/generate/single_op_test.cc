#include "fuzz/generate/single_op.h"

#include <gtest/gtest.h>

#include <set>

#include "fuzz/run/backends.h"
#include "fuzz/run/run_case.h"

namespace fusesmith::fuzz {
namespace {

constexpr uint64_t kSingleOpCases = 20;

Case single(const std::string& op, uint64_t number, DataMix data = DataMix::mixed) {
  GeneratorOptions options;
  options.ops = {op};
  options.data = data;
  return generate_case(1, 0, number, options);
}

bool has(const Case& test_case, const std::string& op) {
  for (const Node& node : test_case.graph.nodes()) {
    if (name(node.op) == op) return true;
  }
  return false;
}

TEST(SingleOp, EveryOpHasCases) {
  for (const std::string& op : op_names()) {
    for (const DataMix data : {DataMix::mixed, DataMix::lattice}) {
      for (uint64_t i = 0; i < kSingleOpCases; ++i) {
        const Case test_case = single(op, i, data);
        EXPECT_TRUE(has(test_case, op)) << op << " " << i << "\n" << to_string(test_case.graph);
        EXPECT_LE(test_case.graph.nodes().size(), 3U) << op << " " << i;
        EXPECT_EQ(test_case.steps, 1);
        EXPECT_TRUE(*parse_case(to_json(test_case)) == test_case) << op << " " << i;
      }
    }
  }
}

TEST(SingleOp, CasesVary) {
  std::set<std::string> types;
  for (uint64_t i = 0; i < 100; ++i) types.insert(to_string(single("rms_norm", i).graph.type(0)));
  EXPECT_GT(types.size(), 60U);
}

TEST(SingleOp, SeveralOpsAreAllDrawn) {
  GeneratorOptions options;
  options.ops = {"softmax", "matmul"};
  int softmax = 0, matmul = 0;
  for (uint64_t i = 0; i < 50; ++i) {
    const Case test_case = generate_case(1, 0, i, options);
    softmax += has(test_case, "softmax");
    matmul += has(test_case, "matmul");
  }
  EXPECT_EQ(softmax + matmul, 50);
  EXPECT_GT(softmax, 10);
  EXPECT_GT(matmul, 10);
}

TEST(SingleOp, TheCpuIsClean) {
  for (const std::string& op : op_names()) {
    for (uint64_t i = 0; i < 3; ++i) {
      const Case test_case = single(op, i);
      const Verdict verdict = run_case(test_case, *find_backend("cpu"), *find_backend("cpu_fused"));
      EXPECT_FALSE(verdict.finding) << op << " " << i << " " << verdict.signature_text();
    }
  }
}

TEST(SingleOp, EveryByteStringIsACase) {
  GeneratorOptions options;
  options.ops = {"einsum"};
  std::vector<uint8_t> bytes(30);
  for (const uint8_t byte : {uint8_t{0}, uint8_t{255}}) {
    bytes.assign(bytes.size(), byte);
    Choices choices{std::span<const uint8_t>(bytes)};
    EXPECT_GE(generate(choices, options).graph.nodes().size(), 1U);
  }
}

}  // namespace
}  // namespace fusesmith::fuzz
