// What only a process of its own shows: the program where memory is short, standard input, readers that
// leave.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>

#include "fuzz/cli/test_support.h"
#include "graph/sanitizers.h"

namespace fusesmith::fuzz {
namespace {

#if FUSESMITH_ADDRESS_SANITIZER
constexpr bool kMemoryCanBeLimited = false;  // the sanitizer's shadow takes terabytes of addresses
#else
constexpr bool kMemoryCanBeLimited = true;
#endif

// The exit status of a shell command under a limit of address space, its output left in the folder.
int run_limited(int64_t kilobytes, const std::string& arguments, const TemporaryFolder& folder) {
  const std::string command = "ulimit -v " + std::to_string(kilobytes) + "; exec '" + program() + "' " +
                              arguments + " >'" + (folder / "out") + "' 2>'" + (folder / "err") + "'";
  return std::system(command.c_str());
}

// Below this the loader fails before the program begins: libraries take gigabytes of addresses in builds with
// CUDA.
int64_t least_to_start(const TemporaryFolder& folder) {
  int64_t kilobytes = 10000;
  while (run_limited(kilobytes, "--help", folder) != 0 && kilobytes < 20000000) kilobytes += kilobytes / 20;
  return kilobytes;
}

TEST(Main, OutOfMemoryIs71WhereverItRunsOut) {
  if (!kMemoryCanBeLimited) GTEST_SKIP() << "a build with AddressSanitizer";
  ASSERT_TRUE(std::filesystem::exists(program())) << program();
  const TemporaryFolder folder;
  const std::string file =
      std::string(FUSESMITH_SOURCE_DIR) + "/corpus/scenarios/einsum_projections_small.json";
  const int64_t least = least_to_start(folder);
  int short_of_memory = 0;
  for (int64_t kilobytes = least; kilobytes <= least + 30000; kilobytes += 2000) {
    const int status = run_limited(kilobytes, "replay '" + file + "'", folder);
    ASSERT_TRUE(WIFEXITED(status)) << kilobytes << " KB: signal " << WTERMSIG(status);
    const int code = WEXITSTATUS(status);
    const std::string out = *read_file(folder / "out"), err = *read_file(folder / "err");
    EXPECT_TRUE(code == kClean || code == kOutOfMemory) << kilobytes << " KB: exit " << code << "\n" << err;
    EXPECT_TRUE(err.empty() || is_one_line(err)) << kilobytes << " KB: " << err;
    if (code != kOutOfMemory) continue;
    ++short_of_memory;
    EXPECT_NE((out + err).find("out of memory"), std::string::npos) << kilobytes << " KB";
  }
  EXPECT_TRUE(short_of_memory > 0 || least > 100000) << "CUDA's libraries leave room enough";
}

// As `list ops | head` does: `true` has gone when the program writes. Exit 0, so that `set -o pipefail` is
// content.
TEST(Main, ShowingToAReaderThatLeftIsNoError) {
  const TemporaryFolder folder;
  for (const std::string show : {"list ops", "--help", "help fuzz", "version", "list coverage --json"}) {
    EXPECT_EQ(
        run_shell("{ sleep 0.2; \"$P\" " + show + "; echo $? >'" + (folder / "code") + "'; } | true", folder),
        0);
    EXPECT_EQ(*read_file(folder / "code"), "0\n") << show;
    EXPECT_EQ(*read_file(folder / "err"), "") << show;
  }
}

// A verdict that nobody got is one.
TEST(Main, AVerdictThatCannotBeWrittenIs73) {
  const TemporaryFolder folder;
  const std::string file =
      std::string(FUSESMITH_SOURCE_DIR) + "/corpus/scenarios/einsum_projections_small.json";
  run_shell("{ sleep 0.2; \"$P\" replay '" + file + "'; echo $? >'" + (folder / "code") + "'; } | true",
            folder);
  EXPECT_EQ(*read_file(folder / "code"), "73\n");
  EXPECT_EQ(run_shell("\"$P\" list ops >/dev/full", folder), kCannotWrite);
  EXPECT_TRUE(is_one_line(*read_file(folder / "err")));
  EXPECT_EQ(run_shell("\"$P\" list ops >&-", folder), kCannotWrite);
}

TEST(Main, AHyphenIsStandardInput) {
  const TemporaryFolder folder;
  const std::string file =
      std::string(FUSESMITH_SOURCE_DIR) + "/corpus/scenarios/einsum_projections_small.json";
  for (const std::string& command : std::vector<std::string>{
           "replay -", "explain -", "minimize - --output='" + (folder / "min.json") + "'"}) {
    EXPECT_EQ(run_shell("{ sleep 1.1; cat '" + file + "'; } | \"$P\" " + command, folder), kClean)
        << command << *read_file(folder / "err");
    EXPECT_TRUE(read_file(folder / "out")->starts_with("-: ")) << *read_file(folder / "out");
  }
  EXPECT_EQ(run_shell("echo '{' | \"$P\" replay -", folder), kUsage);
  EXPECT_TRUE(read_file(folder / "err")->starts_with("fusesmith replay: standard input: "));
  EXPECT_EQ(run_shell("\"$P\" replay - <&-", folder), kUsage);
  EXPECT_TRUE(is_one_line(*read_file(folder / "err"))) << *read_file(folder / "err");
}

TEST(Main, TheVersionNamesTheCommit) {
  const TemporaryFolder folder;
  EXPECT_EQ(run_shell("\"$P\" --version", folder), kClean);
  const std::string out = *read_file(folder / "out");
  const size_t at = out.find("commit: ");
  ASSERT_NE(at, std::string::npos) << out;
  const std::string commit = out.substr(at + 8, out.find('\n', at) - at - 8);
  EXPECT_TRUE(commit == "unknown" || commit.find_first_not_of("0123456789abcdef") == std::string::npos)
      << commit;
}

}  // namespace
}  // namespace fusesmith::fuzz
