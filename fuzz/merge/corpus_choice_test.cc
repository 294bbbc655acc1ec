#include "fuzz/merge/corpus_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "fuzz/generate/generator.h"

namespace fusesmith::fuzz {
namespace {

using testing::ElementsAre;

std::set<std::string> names_of(const std::vector<CorpusCase>& cases, const std::vector<size_t>& kept) {
  std::set<std::string> names;
  for (const size_t index : kept) names.insert(cases[index].name);
  return names;
}

std::set<uint32_t> all_cells(const std::vector<CorpusCase>& cases) {
  std::set<uint32_t> cells;
  for (const CorpusCase& one : cases) cells.insert(one.cells.begin(), one.cells.end());
  return cells;
}

std::vector<CorpusCase> only(const std::vector<CorpusCase>& cases, const std::vector<size_t>& kept) {
  std::vector<CorpusCase> some;
  for (const size_t index : kept) some.push_back(cases[index]);
  return some;
}

TEST(CorpusChoice, TakesTheCaseThatAddsMost) {
  const std::vector<CorpusCase> cases = {
      {"a", 10, {1, 2}}, {"b", 10, {1, 2, 3}}, {"c", 10, {3}}, {"d", 10, {4}}};
  EXPECT_THAT(choose_corpus(cases), ElementsAre(1, 3));
}

TEST(CorpusChoice, SmallerFilesFirstThenNames) {
  EXPECT_THAT(choose_corpus({{"a", 10, {1}}, {"b", 9, {1}}, {"c", 9, {1}}}), ElementsAre(1));
}

// The largest one is chosen first, and then covered by the two others.
TEST(CorpusChoice, DropsWhatLaterCasesMadeRedundant) {
  const std::vector<CorpusCase> cases = {
      {"large", 1, {1, 2, 3, 4}}, {"left", 1, {1, 2, 5}}, {"right", 1, {3, 4, 6}}};
  EXPECT_THAT(choose_corpus(cases), ElementsAre(1, 2));
}

TEST(CorpusChoice, NothingFromNothing) {
  EXPECT_THAT(choose_corpus({}), ElementsAre());
  EXPECT_THAT(choose_corpus({{"a", 10, {}}}), ElementsAre()) << "covers nothing";
}

TEST(CorpusChoice, GeneratedCasesKeepTheirCoverage) {
  std::vector<CorpusCase> cases;
  for (uint64_t counter = 0; counter < 60; ++counter) {
    const Case test_case = generate_case(3, 0, counter);
    cases.push_back({std::to_string(counter), to_json(test_case).size(), cells_of(test_case)});
    ASSERT_FALSE(cases.back().cells.empty());
  }
  const std::vector<size_t> kept = choose_corpus(cases);
  EXPECT_LT(kept.size(), cases.size());
  EXPECT_EQ(all_cells(only(cases, kept)), all_cells(cases));

  std::mt19937 random(1);
  std::vector<CorpusCase> shuffled = cases;
  std::shuffle(shuffled.begin(), shuffled.end(), random);
  EXPECT_EQ(names_of(shuffled, choose_corpus(shuffled)), names_of(cases, kept));

  const std::vector<CorpusCase> again = only(cases, kept);
  EXPECT_EQ(choose_corpus(again).size(), again.size());
}

}  // namespace
}  // namespace fusesmith::fuzz
