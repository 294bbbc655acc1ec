// Folders of compilers: made for each worker, removed with it or by the next start, and no others with them.
#include "backends/remote/compile_cache.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

namespace fusesmith::backends {
namespace {

namespace fs = std::filesystem;

class CompileCacheTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "fusesmith-test-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    if (const char* value = std::getenv("TMPDIR")) before_ = value;
    setenv("TMPDIR", folder_.c_str(), 1);
  }
  void TearDown() override {
    if (before_.empty())
      unsetenv("TMPDIR");
    else
      setenv("TMPDIR", before_.c_str(), 1);
    fs::remove_all(folder_);
  }
  fs::path make(const std::string& name) const {
    fs::create_directory(folder_ / name);
    std::ofstream(folder_ / name / "file") << "x";
    return folder_ / name;
  }

  fs::path folder_;
  std::string before_;
};

pid_t ended_process() {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  return child;
}

TEST_F(CompileCacheTest, IsRemovedWithItsWorker) {
  {
    const CompileCache cache;
    EXPECT_TRUE(cache.variables().contains("TORCHINDUCTOR_CACHE_DIR"));
    CompileCache::remove_left_ones();
    EXPECT_FALSE(fs::is_empty(folder_)) << "its process lives";
  }
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(CompileCacheTest, OneThatAKilledProcessLeftIsRemoved) {
  const fs::path left = make("fusesmith-cache-" + std::to_string(ended_process()) + "-a1B2c3");
  CompileCache::remove_left_ones();
  EXPECT_FALSE(fs::exists(left));
}

TEST_F(CompileCacheTest, AFolderOfTheUserStays) {
  const std::string id = std::to_string(ended_process());
  for (const std::string& name :
       {std::string("mine"), id, id + "-", id + "-old", id + "-backups", id + "-a1B2c", id + "-a1-2c3"}) {
    const fs::path mine = make("fusesmith-cache-" + name);
    CompileCache::remove_left_ones();
    EXPECT_TRUE(fs::exists(mine / "file")) << name;
  }
  fs::create_directory_symlink(make("other"), folder_ / ("fusesmith-cache-" + id + "-a1B2c3"));
  CompileCache::remove_left_ones();
  EXPECT_TRUE(fs::exists(folder_ / "other/file"));
}

}  // namespace
}  // namespace fusesmith::backends
