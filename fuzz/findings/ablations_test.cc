// The search for the parts of a compiler without which a case passes.
#include "fuzz/findings/ablations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace fusesmith::fuzz {
namespace {

using Names = std::vector<std::string_view>;
using testing::ElementsAre;
using testing::IsEmpty;

// Passes if all of `culprits` are left out.
auto passes_without(const Names& culprits, int* trials = nullptr) {
  return [culprits, trials](std::span<const std::string_view> left_out) {
    if (trials) ++*trials;
    return std::all_of(culprits.begin(), culprits.end(), [&](std::string_view culprit) {
      return std::find(left_out.begin(), left_out.end(), culprit) != left_out.end();
    });
  };
}

TEST(NeededNames, FindsTheOneOfMany) {
  std::vector<std::string> words;
  for (int i = 0; i < 48; ++i) words.push_back("n" + std::to_string(i));
  const Names names(words.begin(), words.end());
  for (const std::string_view culprit : {names.front(), names[17], names.back()}) {
    int trials = 0;
    EXPECT_THAT(needed_names(names, passes_without({culprit}, &trials)), ElementsAre(culprit));
    EXPECT_LE(trials, 16);
  }
}

TEST(NeededNames, FindsSeveralAndNone) {
  const Names names = {"a", "b", "c", "d", "e"};
  EXPECT_THAT(needed_names(names, passes_without({"a", "e"})), ElementsAre("a", "e"));
  EXPECT_THAT(needed_names(names, passes_without({"another"})), IsEmpty());
}

}  // namespace
}  // namespace fusesmith::fuzz
