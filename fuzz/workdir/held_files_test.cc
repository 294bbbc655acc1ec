#include "fuzz/workdir/held_files.h"

#include <gtest/gtest.h>

#include "fuzz/cli/test_support.h"

namespace fusesmith::fuzz {
namespace {

namespace fs = std::filesystem;

class Held : public testing::Test {
 protected:
  bool write(const std::string& name, const std::string& text) {
    const std::string folder = fs::path(name).parent_path().string();
    const WorkPath root(root_);
    const auto written =
        held_.write(folder.empty() ? root / name : root / folder / fs::path(name).filename().string(), text);
    EXPECT_TRUE(written.ok()) << written.problem();
    return written.ok() && *written;
  }
  std::string read(const std::string& name) const { return *read_file(root_ / name); }

  const TemporaryFolder folder_;
  const fs::path root_ = fs::path(folder_ / "w");
  HeldFiles held_{WorkPath(root_), 10};
};

TEST_F(Held, FilesAreWrittenInTheirOrderOnceTheFolderIsThere) {
  EXPECT_FALSE(write("a", "one"));
  EXPECT_FALSE(write("below/b", "two"));
  EXPECT_EQ(held_.retry()->what, (root_ / "a").string() + ": cannot write: No such file or directory");
  EXPECT_FALSE(fs::exists(root_)) << "whoever removed it makes it";
  fs::create_directory(root_);
  EXPECT_FALSE(write("a", "new")) << "behind those that wait";
  EXPECT_EQ(held_.count(), 3U);
  EXPECT_FALSE(held_.retry());
  EXPECT_EQ(held_.count(), 0U);
  EXPECT_EQ(read("a"), "new");
  EXPECT_EQ(read("below/b"), "two");
  fs::remove_all(root_ / "below");
  EXPECT_TRUE(write("below/b", "three"));
  EXPECT_EQ(read("below/b"), "three");
}

TEST_F(Held, ThereIsALimit) {
  EXPECT_FALSE(write("a", "12345"));
  EXPECT_FALSE(write("b", "12345"));
  const auto full = held_.write(WorkPath(root_) / "c", "1");
  ASSERT_FALSE(full.ok());
  EXPECT_NE(full.problem().find("2 files wait in memory"), std::string::npos) << full.problem();
  fs::create_directory(root_);
  EXPECT_FALSE(held_.retry());
  EXPECT_TRUE(write("c", "1")) << "there is room again";
}

}  // namespace
}  // namespace fusesmith::fuzz
