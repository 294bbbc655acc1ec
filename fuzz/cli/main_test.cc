// What only a process of its own shows: the program where memory is short.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>

#include "fuzz/cli/test_support.h"

namespace fusesmith::fuzz {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kMemoryCanBeLimited = false;  // the sanitizer's shadow takes terabytes of addresses
#else
constexpr bool kMemoryCanBeLimited = true;
#endif

// The program beside this one, as the build makes them.
std::string program() {
  if (const char* path = std::getenv("FUSESMITH_BINARY")) return path;
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "fusesmith").string();
}

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

}  // namespace
}  // namespace fusesmith::fuzz
