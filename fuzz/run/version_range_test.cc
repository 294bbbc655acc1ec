#include "fuzz/run/version_range.h"

#include <gtest/gtest.h>

namespace fusesmith::fuzz {
namespace {

bool contains(const std::string& range, const std::string& version) {
  const auto parsed = VersionRange::parse(range);
  EXPECT_TRUE(parsed.ok()) << range;
  return parsed.ok() && parsed->contains(version);
}

TEST(VersionRange, ComparesNumbersNotText) {
  EXPECT_TRUE(contains(">=1.20,<2", "1.20.0"));
  EXPECT_TRUE(contains(">=1.20,<2", "1.100"));
  EXPECT_FALSE(contains(">=1.20,<2", "1.3"));
  EXPECT_FALSE(contains(">=1.20,<2", "2.0.0"));
  EXPECT_TRUE(contains("== 2.11", "2.11.0"));
  EXPECT_FALSE(contains("==2.11", "2.11.1"));
  EXPECT_TRUE(contains("!=2.11", "2.11.1"));
  EXPECT_TRUE(contains("<=2.11", "2.11"));
  EXPECT_FALSE(contains(">2.11", "2.11"));
}

TEST(VersionRange, SuffixesOfVersions) {
  EXPECT_TRUE(contains("==2.11", "2.11.0+cu130")) << "a build";
  EXPECT_TRUE(contains("==2.11", "2.11.0.post1"));
  EXPECT_TRUE(contains("<2.12", "2.12.0rc1")) << "before the release";
  EXPECT_TRUE(contains("<2.12", "2.12.0.dev20260101+cpu"));
  EXPECT_TRUE(contains(">2.11", "2.12.0a0+git"));
  EXPECT_FALSE(contains(">=0", "unknown"));
  EXPECT_FALSE(contains(">=0", ""));
}

TEST(VersionRange, RefusesOtherTexts) {
  for (const char* wrong :
       {"", " ", "2", "=>2", ">=", ">=x", ">=1,,<2", ",", "~=1.2", ">=1 <2x,", "==99999999999"})
    EXPECT_FALSE(VersionRange::parse(wrong).ok()) << wrong;
}

}  // namespace
}  // namespace fusesmith::fuzz
