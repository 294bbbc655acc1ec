#include "fuzz/base/color.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

#include "fuzz/base/printable_stream.h"
#include "fuzz/cli/test_support.h"

namespace fusesmith::fuzz {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Color, OnlyTheProgramMakesSequences) {
  std::ostringstream terminal;
  PrintableBuffer printable(terminal.rdbuf());
  std::ostream out(&printable);
  out << Color::red << "plain" << Color::plain;
  EXPECT_EQ(terminal.str(), "plain");
  enable_colors(out, terminal.rdbuf());
  out << Color::red << "a \x1b[32m name" << Color::plain;
  EXPECT_EQ(terminal.str(), "plain\x1b[31ma \xEF\xBF\xBD[32m name\x1b[0m");
}

TEST(Color, TheFlagIsTakenOutOfTheArguments) {
  std::vector<std::string> args = {"replay", "--color=never", "x.json", "--color", "always",
                                   "--",     "--color=no"};
  const auto when = take_color_flag(args);
  ASSERT_TRUE(when.ok());
  EXPECT_EQ(*when, ColorWhen::always);
  EXPECT_EQ(args, (std::vector<std::string>{"replay", "x.json", "--", "--color=no"}));
  for (const std::string bad : {"--color", "--color=", "--color=blue"}) {
    const Ran ran = fusesmith_command({"list", "ops", bad});
    EXPECT_EQ(ran.code, kUsage) << bad;
    EXPECT_TRUE(is_one_line(ran.err)) << ran.err;
  }
}

TEST(Color, IsForTerminalsThatWantIt) {
  const char* const before = std::getenv("NO_COLOR");
  unsetenv("NO_COLOR");
  setenv("TERM", "xterm", 1);
  EXPECT_TRUE(wants_color(ColorWhen::automatic, true));
  EXPECT_FALSE(wants_color(ColorWhen::automatic, false));
  EXPECT_FALSE(wants_color(ColorWhen::never, true));
  setenv("NO_COLOR", "", 1);
  EXPECT_TRUE(wants_color(ColorWhen::automatic, true)) << "empty is not set";
  setenv("NO_COLOR", "1", 1);
  EXPECT_FALSE(wants_color(ColorWhen::automatic, true));
  EXPECT_TRUE(wants_color(ColorWhen::always, false)) << "the flag counts more";
  unsetenv("NO_COLOR");
  setenv("TERM", "dumb", 1);
  EXPECT_FALSE(wants_color(ColorWhen::automatic, true));
  unsetenv("TERM");
  if (before) setenv("NO_COLOR", before, 1);
}

TEST(Color, ACleanCampaignIsGreen) {
  const TemporaryFolder folder;
  const std::vector<std::string> args = {"fuzz", "--runs=1", "--jobs=1", "--baseline=cpu",
                                         "--candidate=cpu_fused"};
  const auto with = [&](const std::string& flag) {
    std::vector<std::string> all = args;
    all.insert(all.end(), {"--workdir=" + (folder / flag), flag});
    return fusesmith_command(all).out;
  };
  EXPECT_THAT(with("--color=always"), HasSubstr("\x1b[32mNo findings.\x1b[0m\n"));
  EXPECT_THAT(with("--color=auto"), Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace fusesmith::fuzz
