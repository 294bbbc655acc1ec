// Focused cases: their subjects, and what they meet that random cases seldom do.
#include "fuzz/generate/focus.h"

#include <gtest/gtest.h>

#include <set>

#include "backends/rewrite/pattern.h"
#include "fuzz/generate/focus_gaps.h"
#include "fuzz/generate/pieces/pieces.h"

namespace fusesmith::fuzz {
namespace {

constexpr GeneratorOptions kFocusedCases{.engine = Engine::focused};

TEST(Focus, EveryOpPatternAndPieceIsASubject) {
  std::set<std::string> names;
  for (const FocusSubject& subject : focus_subjects()) {
    EXPECT_TRUE(names.insert(subject.name).second) << subject.name;
    EXPECT_GT(subject.weight, 0) << subject.name;
  }
  for (const std::string& op : op_names()) EXPECT_TRUE(names.count("op " + op)) << op;
  for (const Pattern& pattern : all_patterns()) {
    EXPECT_TRUE(names.count("example " + std::string(pattern.name))) << pattern.name;
    EXPECT_TRUE(names.count("near_miss " + std::string(pattern.name))) << pattern.name;
  }
  for (const Piece& piece : all_pieces()) {
    const bool always = piece.needs == Piece::Needs::nothing;
    EXPECT_EQ(names.count("piece " + std::string(piece.name)), always ? 1U : 0U) << piece.name;
  }
}

TEST(Focus, WhatRandomCasesMissWeighsMore) {
  const auto weight = [](std::string_view name) {
    for (const FocusSubject& subject : focus_subjects()) {
      if (subject.name == name) return subject.weight;
    }
    return 0;
  };
  EXPECT_GT(weight("op squeeze"), 2 * weight("op matmul"));
  EXPECT_GT(weight("example triangle_multiplication"), weight("example gemm_bias_act"));
  for (const FocusGap& gap : kFocusGaps) {
    EXPECT_GE(gap.percent, 0) << gap.subject;
    EXPECT_LE(gap.percent, 100) << gap.subject;
  }
}

TEST(Focus, ACaseIsAFunctionOfItsNumber) {
  int other = 0;
  for (uint64_t counter = 0; counter < 50; ++counter) {
    const Case test_case = generate_case(1, 0, counter, kFocusedCases);
    EXPECT_TRUE(test_case == generate_case(1, 0, counter, kFocusedCases)) << counter;
    other += !(test_case == generate_case(1, 0, counter));
  }
  EXPECT_GT(other, 25);
}

// Data that was asked for stays, and exact data has no focus.
TEST(Focus, KeepsTheDataThatWasAskedFor) {
  for (uint64_t counter = 0; counter < 40; ++counter) {
    CaseParts parts;
    generate_case(1, 0, counter, {.data = DataMix::natural, .engine = Engine::focused}, &parts);
    EXPECT_EQ(parts.style, "natural");
    EXPECT_TRUE(generate_case(1, 0, counter, {.data = DataMix::lattice, .engine = Engine::focused}) ==
                generate_case(1, 0, counter, {.data = DataMix::lattice}));
  }
}

}  // namespace
}  // namespace fusesmith::fuzz
