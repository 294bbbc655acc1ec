// The histogram of a campaign's resolutions: its median, its sum, and how it comes back.
#include "fuzz/counts/resolutions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace fusesmith::fuzz {
namespace {

using testing::HasSubstr;

TEST(Resolutions, TheMedianIsInTheBinOfTheMiddleCase) {
  Resolutions some;
  EXPECT_EQ(some.cases(), 0);
  EXPECT_EQ(some.median(), 0);
  some.add(0x1p-8);
  EXPECT_EQ(some.median(), 0x1p-8) << "a bin has its upper end";
  some.add(0x1p-23);
  some.add(0.004);
  EXPECT_EQ(some.cases(), 3);
  EXPECT_EQ(some.median(), 0x1p-8);
  some.add(0.4);
  some.add(0.4);
  EXPECT_GE(some.median(), 0.004);
  EXPECT_LE(some.median(), 0.004 * std::exp2(0.25));
}

TEST(Resolutions, CasesWithoutOneAreNotCounted) {
  Resolutions some;
  some.add(std::nullopt);
  some.add(0);
  some.add(std::nan(""));
  EXPECT_EQ(some.cases(), 0);
  some.add(std::numeric_limits<double>::infinity());
  some.add(1e-300);
  EXPECT_EQ(some.cases(), 2);
  EXPECT_EQ(some.median(), 0x1p-60);
}

TEST(Resolutions, AddUp) {
  Resolutions one, other;
  one.add(0x1p-20);
  other.add(0x1p-10);
  other.add(0x1p-10);
  one.add(other);
  EXPECT_EQ(one.cases(), 3);
  EXPECT_EQ(one.median(), 0x1p-10);
}

std::optional<Problem> read(const char* text, Resolutions& into) {
  nlohmann::json tree = nlohmann::json::parse(text);
  std::optional<Problem> problem;
  into.read(Place(tree, problem));
  return problem;
}

TEST(Resolutions, ComeBackAsTheyWereWritten) {
  Resolutions some, again;
  for (const double resolution : {0x1p-23, 0.0039, 0.0041, 7.0}) some.add(resolution);
  EXPECT_FALSE(read(some.json().dump().c_str(), again));
  EXPECT_EQ(again.json(), some.json());
  for (const char* text : {R"({"quarter_octaves": {"1": 2}})", R"({"quarter_octaves": {"-9x": 2}})",
                           R"({"quarter_octaves": {"": 2}})", R"({"quarter_octaves": {"-9000": 2}})"}) {
    const auto problem = read(text, again);
    ASSERT_TRUE(problem) << text;
    EXPECT_THAT(problem->what, HasSubstr("a bin from -240 to 0")) << text;
  }
  EXPECT_TRUE(read(R"({"quarter_octaves": {"-9": -1}})", again));
  EXPECT_TRUE(read("{}", again));
}

}  // namespace
}  // namespace fusesmith::fuzz
