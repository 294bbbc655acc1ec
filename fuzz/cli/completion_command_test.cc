// What `completion` and `man` print, which must speak of every command and every flag.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fuzz/cli/test_support.h"

namespace fusesmith::fuzz {
namespace {

using testing::HasSubstr;

void for_each_flag(const std::function<void(const Command&, const Flag&)>& use) {
  for (const Command& command : all_commands()) {
    if (!command.missing.empty()) continue;
    command.with_table([&](const FlagTable& table) {
      for (const Flag& flag : table.flags) {
        if (flag.missing.empty()) use(command, flag);
      }
    });
  }
}

TEST(Completion, HasEveryCommandAndFlag) {
  for (const char* shell : {"bash", "zsh"}) {
    const Ran ran = fusesmith_command({"completion", shell});
    EXPECT_EQ(ran.code, kClean);
    for_each_flag([&](const Command& command, const Flag& flag) {
      const size_t line = ran.out.find("    " + std::string(command.name) + ") found='");
      ASSERT_NE(line, std::string::npos) << command.name;
      const std::string words = ran.out.substr(line, ran.out.find('\n', line) - line);
      EXPECT_THAT(words, HasSubstr("--" + std::string(flag.name)));
    });
  }
  // `words` is zsh's own array of the words of the line: a variable of that name overwrites it.
  EXPECT_THAT(fusesmith_command({"completion", "zsh"}).out,
              testing::Not(testing::ContainsRegex("local words|[^_]words=")));
  const Ran other = fusesmith_command({"completion", "fish"});
  EXPECT_EQ(other.code, kUsage);
  EXPECT_TRUE(is_one_line(other.err)) << other.err;
}

TEST(Completion, BashCompletes) {
  const TemporaryFolder folder;
  const std::string script = folder.file("completion", fusesmith_command({"completion", "bash"}).out);
  const auto completed = [&](const std::string& words, int at) {
    EXPECT_EQ(run_shell("bash -c 'compopt() { :; }; . \"" + script + "\"; COMP_WORDS=(fusesmith " + words +
                            "); COMP_CWORD=" + std::to_string(at) + "; _fusesmith; echo \"${COMPREPLY[*]}\"'",
                        folder),
              0)
        << *read_file(folder / "err");
    return *read_file(folder / "out");
  };
  EXPECT_EQ(completed("rep", 1), "replay report\n");
  EXPECT_EQ(completed("replay --basel", 2), "--baseline=\n");
  EXPECT_EQ(completed("replay --policy = s", 4), "strict\n");
  EXPECT_THAT(completed("replay --candidate =", 3), HasSubstr("cpu_fused"));
  EXPECT_EQ(completed("list ba", 2), "backends\n");
  EXPECT_EQ(completed("help expl", 2), "explain\n");
  EXPECT_EQ(completed("completion z", 2), "zsh\n");
  EXPECT_EQ(completed("fuzz --col", 2), "--color=\n");
  EXPECT_EQ(completed("fuzz --color = n", 4), "never\n");
  folder.file("backends.json", "{}");
  EXPECT_EQ(completed("show " + folder.string() + "/ba", 2), folder.string() + "/backends.json\n");
}

TEST(Man, HasEveryCommandAndFlag) {
  const std::string page = fusesmith_command({"man"}).out;
  for (const Command& command : all_commands()) {
    std::string name(command.name);
    if (const size_t hyphen = name.find('-'); hyphen != std::string::npos) name.insert(hyphen, "\\");
    EXPECT_THAT(page, HasSubstr(".SH FUSESMITH " + name + "\n"));
  }
  for_each_flag([&](const Command&, const Flag& flag) {
    EXPECT_THAT(page, HasSubstr(".B \\-\\-" + std::string(flag.name)));
  });
}

}  // namespace
}  // namespace fusesmith::fuzz
