// The compact form of trees, and how they read.
#include "fuzz/order/sum_tree.h"

#include <gtest/gtest.h>

#include <set>

#include "fuzz/order/test_kernel.h"

namespace fusesmith::fuzz {
namespace {

using Sets = std::set<std::set<std::set<int64_t>>>;

// Each operation as the set of its operands, each of which is the set of its terms.
Sets operations(const RawTree& tree) {
  std::vector<std::set<int64_t>> below(tree.nodes.size());
  Sets all;
  for (const int at : bottom_up(tree)) {
    const RawTree::Node& node = tree.nodes[static_cast<size_t>(at)];
    std::set<std::set<int64_t>> operands;
    for (const int64_t term : node.terms) operands.insert({term});
    for (const int child : node.nodes) operands.insert(below[static_cast<size_t>(child)]);
    for (const auto& operand : operands)
      below[static_cast<size_t>(at)].insert(operand.begin(), operand.end());
    all.insert(std::move(operands));
  }
  return all;
}

std::vector<ProductUse> uses_of(int64_t terms, bool rounded = false) {
  return std::vector<ProductUse>(static_cast<size_t>(terms), ProductUse{rounded});
}

TEST(SumTree, TheCompactFormLosesNothing) {
  std::mt19937_64 random(1);
  for (int64_t terms = 2; terms < 40; ++terms) {
    for (const size_t most : {2, 3, 6, 17}) {
      for (const bool rounded : {false, true}) {
        const RawTree tree = random_tree(terms, most, random);
        const SumTree compact = compress(tree, uses_of(terms, rounded));
        EXPECT_EQ(operations(expand(compact)), operations(tree)) << to_string(compact);
        EXPECT_EQ(compact.term_count(), terms);
      }
    }
  }
}

TEST(SumTree, EqualTreesAreEqualValues) {
  std::mt19937_64 random(2);
  for (int64_t terms = 2; terms < 30; ++terms) {
    RawTree tree = random_tree(terms, 4, random);
    const SumTree first = compress(tree, uses_of(terms));
    for (RawTree::Node& node : tree.nodes) {
      std::reverse(node.terms.begin(), node.terms.end());
      std::reverse(node.nodes.begin(), node.nodes.end());
    }
    EXPECT_EQ(compress(tree, uses_of(terms)), first);
  }
}

TEST(SumTree, RegularTreesAreCompact) {
  const SumTree chain = compress(chains(4096, 1, false), uses_of(4096));
  ASSERT_EQ(chain.nodes.size(), 1U);
  EXPECT_EQ(chain.nodes[0].terms, (std::vector<TermRun>{{0, 1, 4096}}));
  const SumTree grouped = compress(groups(1000, 16), uses_of(1000));
  ASSERT_EQ(grouped.nodes.size(), 1U);
  EXPECT_EQ(grouped.nodes[0].group, 16);
  EXPECT_EQ(compress(chains(512, 8, true), uses_of(512)).nodes.size(), 15U);
  EXPECT_EQ(compress(groups(6, 2), uses_of(6)).nodes, (std::vector<SumNode>{{{}, {{0, 1, 6}}, 2, false}}));
}

TEST(SumTree, Sentences) {
  const auto text = [](const RawTree& tree, int64_t terms) {
    return to_string(compress(tree, uses_of(terms)));
  };
  EXPECT_EQ(text(chains(512, 1, false), 512), "a chain of 512 terms");
  EXPECT_EQ(text(chains(512, 8, true), 512), "8 interleaved chains of 64 terms, added one after the other");
  EXPECT_EQ(text(chains(512, 2, false), 512), "2 chains of 256 terms, added");
  EXPECT_EQ(text(groups(1000, 16), 1000), "a chain of 63 groups of 16 terms, the last of 8");
  EXPECT_EQ(text(groups(12, 16), 12), "a group of 12 terms");
  RawTree pairwise = chains(64, 4, true);
  pairwise.nodes.resize(pairwise.nodes.size() - 3);
  const int last = static_cast<int>(pairwise.nodes.size()) - 1;
  pairwise.nodes.push_back({{}, {14, 44}});
  pairwise.nodes.push_back({{}, {29, 59}});
  pairwise.nodes.push_back({{}, {last + 1, last + 2}});
  pairwise.root = last + 3;
  EXPECT_EQ(text(pairwise, 64), "4 interleaved chains of 16 terms, added pairwise");
  RawTree blocks = chains(6, 1, false);
  blocks.nodes.push_back({{6, 7, 8}, {blocks.root}});
  blocks.root = static_cast<int>(blocks.nodes.size()) - 1;
  EXPECT_EQ(text(blocks, 9), "a group of 3 terms, added to (chain of 6 terms)");
}

TEST(SumTree, LongSentencesAreCut) {
  std::mt19937_64 random(3);
  EXPECT_LE(to_string(compress(random_tree(2000, 3, random), uses_of(2000))).size(), 310U);
}

TEST(SumTree, Heights) {
  const auto height = [](const RawTree& tree, int64_t terms) {
    return compress(tree, uses_of(terms)).height();
  };
  EXPECT_EQ(height(chains(512, 1, false), 512), 511);
  EXPECT_EQ(height(chains(512, 8, true), 512), 63 + 7);
  EXPECT_EQ(height(groups(1000, 16), 1000), 63);
  EXPECT_EQ(height(groups(2, 16), 2), 1);
  std::mt19937_64 random(4);
  for (int64_t terms = 2; terms < 30; ++terms) {
    const RawTree tree = random_tree(terms, 3, random);
    std::vector<int64_t> of(tree.nodes.size(), 1);
    for (const int at : bottom_up(tree)) {
      for (const int child : tree.nodes[static_cast<size_t>(at)].nodes)
        of[static_cast<size_t>(at)] =
            std::max(of[static_cast<size_t>(at)], 1 + of[static_cast<size_t>(child)]);
    }
    EXPECT_EQ(height(tree, terms), of[static_cast<size_t>(tree.root)]);
  }
}

}  // namespace
}  // namespace fusesmith::fuzz
