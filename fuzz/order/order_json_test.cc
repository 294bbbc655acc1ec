// Trees as JSON, both ways.
#include "fuzz/order/order_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "fuzz/order/test_kernel.h"

namespace fusesmith::fuzz {
namespace {

SumTree compressed(const RawTree& tree, int64_t terms) {
  return compress(tree, std::vector<ProductUse>(static_cast<size_t>(terms)));
}

TEST(OrderJson, WhatIsWrittenIsRead) {
  std::mt19937_64 random(1);
  std::vector<SumTree> trees = {compressed(chains(512, 8, true), 512), compressed(groups(1000, 16), 1000)};
  for (int64_t terms = 2; terms < 40; ++terms)
    trees.push_back(compressed(random_tree(terms, 5, random), terms));
  trees.push_back(trees[0]);
  trees.back().nodes[0].rounds_products = true;
  for (const SumTree& tree : trees) {
    const auto read = parse_sum_tree(sum_tree_json(tree).dump());
    ASSERT_TRUE(read.ok()) << read.problem();
    EXPECT_EQ(*read, tree);
  }
}

TEST(OrderJson, ChainsAreShort) {
  EXPECT_EQ(sum_tree_json(compressed(chains(4096, 1, false), 4096)).dump(),
            R"({"nodes":[{"terms":[[0,1,4096]]}]})");
  EXPECT_EQ(sum_tree_json(compressed(groups(1000, 16), 1000)).dump(),
            R"({"nodes":[{"terms":[[0,1,1000]],"group":16}]})");
}

TEST(OrderJson, WhatIsNoTreeIsRefused) {
  for (const char* text : {
           "",
           "[]",
           "{}",
           R"({"nodes": 1})",
           R"({"nodes": []})",
           R"({"nodes": [{}]})",
           R"({"nodes": [{"terms": [[0, 1, 2]]}], "more": 1})",
           R"({"nodes": [{"terms": [[1, 1, 2]]}]})",
           R"({"nodes": [{"terms": [[0, 0, 2]]}]})",
           R"({"nodes": [{"terms": [[0, 1, 1e9]]}]})",
           R"({"nodes": [{"terms": [[0, 1, 9223372036854775807]]}]})",
           R"({"nodes": [{"terms": [[0, 1]]}]})",
           R"({"nodes": [{"terms": [[0, 1, 2]]}, {"terms": [[2, 1, 2]]}]})",
           R"({"nodes": [{"terms": [[0, 1, 2]]}, {"children": [0], "terms": [[1, 1, 2]]}]})",
           R"({"nodes": [{"children": [0, 1], "terms": [[0, 1, 2]]}]})",
           R"({"nodes": [{"terms": [[0, 1, 2]], "group": 0}]})",
           R"({"nodes": [{"terms": [[0, 1, 2]], "x": 0}]})",
           R"({"nodes": [{"terms": [[0, 1, 2]], "rounds_products": 1}]})",
           R"({"nodes": [{"terms": [[0, 1, 2]]}, {"children": [0, 0]}]})",
       }) {
    const auto read = parse_sum_tree(text);
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_EQ(read.problem().find('\n'), std::string::npos);
  }
}

}  // namespace
}  // namespace fusesmith::fuzz
