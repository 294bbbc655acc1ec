// `reveal`: what it prints and its exit codes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "fuzz/cli/test_support.h"
#include "fuzz/order/order_json.h"

namespace fusesmith::fuzz {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

TEST(Reveal, PrintsASentence) {
  const Ran ran = fusesmith_command(
      {"reveal", "--backend=cpu", "--op=reduce_sum", "--m=4", "--n=1", "--k=64", "--products=5"});
  EXPECT_EQ(ran.code, kClean) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("reduce_sum f32, m = 4, n = 1, k = 64\n"));
  EXPECT_THAT(ran.out, HasSubstr("8 interleaved chains of 8 terms, added pairwise"));
  EXPECT_THAT(ran.out, HasSubstr("20 of 20 elements of 5 random products equal bit for bit"));
}

TEST(Reveal, JsonHasTheTree) {
  const Ran ran = fusesmith_command({"reveal", "--backend=cpu", "--against=cpu_fused", "--op=linear",
                                     "--relu", "--m=5", "--n=20", "--k=140", "--products=3", "--json"});
  const Json json = Json::parse(ran.out);
  ASSERT_EQ(json["orders"].size(), 2U);
  EXPECT_EQ(json["orders"][1]["known"], true) << ran.out;
  const auto tree = parse_sum_tree(json["orders"][1]["parts"][0]["tree"].dump());
  ASSERT_TRUE(tree.ok()) << tree.problem();
  EXPECT_EQ(tree->term_count(), 140);
  EXPECT_EQ(json["alike"], ran.code == kClean);
}

TEST(Reveal, EqualBackendsAddAlike) {
  const Ran ran = fusesmith_command({"reveal", "--backend=cpu", "--against=cpu_fused", "--op=reduce_sum",
                                     "--m=4", "--n=3", "--k=30", "--products=3"});
  EXPECT_EQ(ran.code, kClean) << ran.out;
  EXPECT_THAT(ran.out, HasSubstr("cpu and cpu_fused add alike.\n"));
}

TEST(Reveal, DifferentOrdersAre77) {
  const Ran ran = fusesmith_command({"reveal", "--backend=cpu", "--against=cpu_fused", "--op=linear",
                                     "--relu", "--m=5", "--n=20", "--k=300", "--products=3"});
  EXPECT_EQ(ran.code, kFindings) << ran.out;
  EXPECT_THAT(ran.out,
              HasSubstr("cpu and cpu_fused do not add alike: one has other orders in other places.\n"));
}

TEST(Reveal, OneOrderForAllNumbersOfRowsIsBatchInvariance) {
  const Ran sums = fusesmith_command({"reveal", "--backend=cpu", "--op=reduce_sum", "--m=1,4,17", "--n=2",
                                      "--k=40", "--products=3", "--invariant"});
  EXPECT_EQ(sums.code, kClean) << sums.out;
  EXPECT_THAT(sums.out, HasSubstr("cpu is batch invariant here: with 1, 4, 17 rows"));
  const std::vector<std::string> product = {"reveal",  "--backend=cpu", "--op=linear", "--m=1,17", "--n=8",
                                            "--k=140", "--products=3",  "--invariant", "--json"};
  const Ran ran = fusesmith_command(product);
  EXPECT_EQ(ran.code, kFindings) << ran.out;
  const Json json = Json::parse(ran.out);
  EXPECT_EQ(json["invariant"], false);
  EXPECT_EQ(json["difference"], "the trees of column 0 differ between row 0 of 1 and row 0 of 17");
  ASSERT_EQ(json["orders"].size(), 2U);
  EXPECT_EQ(json["orders"][1]["m"], 17);
}

// The faulty worker computes no product.
TEST(Reveal, WhatDoesNotRunIsNotKnown) {
  const std::string worker = std::string("--backend=remote:python3 '") + FUSESMITH_SOURCE_DIR +
                             "/python/tests/workers/faulty_worker.py' none";
  const Ran ran = fusesmith_command({"reveal", worker, "--m=4", "--n=4", "--k=8", "--json"});
  EXPECT_EQ(ran.code, kFindings) << ran.err;
  const Json order = Json::parse(ran.out)["orders"][0];
  EXPECT_EQ(order["known"], false);
  EXPECT_NE(order["unsupported"], "");
}

TEST(Reveal, AFailingDeviceIs76) {
  const FailingBackend backend([](const Graph&) { fail_device(); });
  const Ran ran = fusesmith_command({"reveal", "--backend=failing", "--k=8"});
  EXPECT_EQ(ran.code, kDeviceUnhealthy);
  EXPECT_TRUE(is_one_line(ran.err)) << ran.err;
}

TEST(Reveal, WrongUsageIsOneLine) {
  for (const std::vector<std::string>& args :
       std::vector<std::vector<std::string>>{{"reveal", "--op=softmax"},
                                             {"reveal", "--dtype=i32"},
                                             {"reveal", "--k=0"},
                                             {"reveal", "--m=-1"},
                                             {"reveal", "--m=1,2"},
                                             {"reveal", "--m=1,x", "--invariant"},
                                             {"reveal", "--m=8", "--invariant"},
                                             {"reveal", "--m=1,2", "--invariant", "--against=cpu"},
                                             {"reveal", "--backend=cpuu"},
                                             {"reveal", "--backend=remote:"},
                                             {"reveal", "--against=remote:/no/such/program"},
                                             {"reveal", "--backend=cpu", "--m=1048576", "--k=1048576"},
                                             {"reveal", "--bias"},
                                             {"reveal", "--op=linear", "--transpose_a"},
                                             {"reveal", "--op=reduce_sum", "--batch=2"},
                                             {"reveal", "--dtype=f16", "--tf32"},
                                             {"reveal", "case.json"}}) {
    const Ran ran = fusesmith_command(args);
    EXPECT_EQ(ran.code, kUsage) << args.back() << ran.out;
    EXPECT_TRUE(is_one_line(ran.err)) << ran.err;
    EXPECT_EQ(ran.out, "");
  }
}

}  // namespace
}  // namespace fusesmith::fuzz
