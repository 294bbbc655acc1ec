#include "fuzz/base/wildcard.h"

#include <gtest/gtest.h>

namespace fusesmith::fuzz {
namespace {

TEST(Wildcard, MatchesTheWholeText) {
  for (const auto& [pattern, text] : {std::pair("", ""),
                                      {"*", ""},
                                      {"*", "abc"},
                                      {"abc", "abc"},
                                      {"a*c", "ac"},
                                      {"a*c", "abbc"},
                                      {"*b*", "abc"},
                                      {"a?c", "abc"},
                                      {"**c", "abc"},
                                      {"a*b*c", "aXbYbZc"},
                                      {"?*", "a*"},
                                      {"a?", "a?"}}) {
    EXPECT_TRUE(matches(pattern, text)) << pattern << " " << text;
  }
  for (const auto& [pattern, text] : {std::pair("", "a"),
                                      {"a", ""},
                                      {"?", ""},
                                      {"abc", "abcd"},
                                      {"a*c", "abcd"},
                                      {"a?c", "ac"},
                                      {"b*", "ab"},
                                      {"*b", "ba"},
                                      {"a*b*c", "acb"},
                                      {"ab", "a*"}}) {
    EXPECT_FALSE(matches(pattern, text)) << pattern << " " << text;
  }
}

TEST(Wildcard, PatternsOverlapIfSomeTextIsOfBoth) {
  for (const auto& [a, b] : {std::pair("a*", "*b"),
                             {"*", "*"},
                             {"*", ""},
                             {"a?c*", "*bc"},
                             {"*-ort_all-*", "defect-ort_*-add"},
                             {"a*b", "a?b"},
                             {"***", "abc"}}) {
    EXPECT_TRUE(overlap(a, b)) << a << " " << b;
    EXPECT_TRUE(overlap(b, a)) << b << " " << a;
  }
  for (const auto& [a, b] :
       {std::pair("a*", "b*"), {"", "?"}, {"a?", "?*b?"}, {"*-cpu-*", "defect-ort_all-add"}, {"*a", "*b"}}) {
    EXPECT_FALSE(overlap(a, b)) << a << " " << b;
    EXPECT_FALSE(overlap(b, a)) << b << " " << a;
  }
}

}  // namespace
}  // namespace fusesmith::fuzz
