// Links below the folder that the user named are never followed, whatever is done with a path.
#include "fuzz/base/work_path.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "fuzz/base/lease.h"
#include "fuzz/cli/test_support.h"

namespace fusesmith::fuzz {
namespace {

namespace fs = std::filesystem;

class WorkPathTest : public testing::Test {
 protected:
  WorkPathTest() {
    folder_.file("outside/file", "private");
    folder_.file("outside/below/file", "private");
    folder_.file("w/file", "ours");
    fs::create_directories(folder_ / "w/real");
    fs::create_directory_symlink(folder_ / "outside", folder_ / "w/link");
    fs::create_symlink(folder_ / "outside/file", folder_ / "w/file_link");
    fs::create_symlink("nowhere", folder_ / "w/dangling");
    fs::create_symlink("loop", folder_ / "w/loop");
    EXPECT_EQ(mkfifo((folder_ / "w/pipe").c_str(), 0600), 0);
    std::ofstream(folder_ / "w/huge").close();
    fs::resize_file(folder_ / "w/huge", uintmax_t{3} << 30);
  }
  ~WorkPathTest() override {
    EXPECT_EQ(*read_file(fs::path(folder_ / "outside/file")), "private");
    EXPECT_EQ(*read_file(fs::path(folder_ / "outside/below/file")), "private");
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "outside"), fs::directory_iterator()), 2);
  }

  const TemporaryFolder folder_;
  const WorkPath root_{folder_ / "w"};
};

TEST_F(WorkPathTest, NothingIsReachedThroughLinks) {
  for (const WorkPath& path :
       {root_ / "link" / "file", root_ / "link" / "below" / "file", root_ / "file_link", root_ / "dangling",
        root_ / "loop", root_ / "loop" / "x"}) {
    const std::string name = path.string();
    EXPECT_FALSE(read_file(path).ok()) << name;
    EXPECT_NE(read_file(path).problem().find("cannot read: it is a link"), std::string::npos)
        << read_file(path).problem();
    EXPECT_FALSE(size_of(path).ok()) << name;
    EXPECT_FALSE(open_file(path, O_WRONLY | O_APPEND | O_CREAT, "write").ok()) << name;
    EXPECT_TRUE(copy_file(path, root_ / "copy")) << name;
    EXPECT_TRUE(make_folder(path)) << name;
  }
  for (const WorkPath& path : {root_ / "link" / "new", root_ / "loop" / "new"}) {
    EXPECT_TRUE(write_file(path, "x"));
    EXPECT_TRUE(move_file(root_ / "file", path));
    EXPECT_TRUE(remove_file(path));
    EXPECT_TRUE(remove_folder(path));
    EXPECT_EQ(kind_of(path), FileKind::unknown);
  }
  EXPECT_TRUE(remove_file(root_ / "link" / "file"));
  EXPECT_FALSE(names_in(root_ / "link").ok());
  EXPECT_FALSE(names_in(root_ / "link" / "below").ok());
  remove_temporary_files(root_ / "link");
}

TEST_F(WorkPathTest, LinksThemselvesAreReplacedMovedAndRemoved) {
  EXPECT_EQ(kind_of(root_ / "file_link"), FileKind::link);
  EXPECT_TRUE(is_there(root_ / "dangling"));
  EXPECT_FALSE(write_file(root_ / "file_link", "ours"));
  EXPECT_EQ(*read_file(root_ / "file_link"), "ours");
  EXPECT_FALSE(move_file(root_ / "link", root_ / "moved"));
  EXPECT_EQ(kind_of(root_ / "moved"), FileKind::link);
  EXPECT_TRUE(remove_folder(root_ / "moved"));
  EXPECT_FALSE(remove_file(root_ / "moved"));
  EXPECT_EQ(kind_of(root_ / "moved"), FileKind::none);
  EXPECT_FALSE(remove_file(root_ / "moved")) << "fine where there is none";
}

TEST_F(WorkPathTest, TheRootMayBeALink) {
  fs::create_directory_symlink("w", folder_ / "to_w");
  const WorkPath root(folder_ / "to_w");
  EXPECT_EQ(*read_file(root / "file"), "ours");
  EXPECT_FALSE(write_file(root / "real" / "new", "x"));
  EXPECT_FALSE(make_folder(root / "real" / "a" / "b"));
  EXPECT_EQ(kind_of(root), FileKind::folder);
  EXPECT_EQ(kind_of(root_ / "real" / "a" / "b"), FileKind::folder);
  EXPECT_EQ(*read_file(WorkPath(folder_ / "w/file_link")), "private") << "what the user names is meant";
}

TEST_F(WorkPathTest, OnlyRegularFilesOfSomeSizeAreOpened) {
  const std::string w = folder_ / "w";
  EXPECT_EQ(read_file(root_ / "pipe").problem(), w + "/pipe: cannot read: not a regular file");
  EXPECT_EQ(read_file(root_ / "real").problem(), w + "/real: cannot read: not a regular file");
  EXPECT_EQ(read_file(root_ / "huge").problem(), w + "/huge: cannot read: larger than 64 MiB");
  EXPECT_EQ(open_file(root_ / "pipe", O_WRONLY | O_APPEND, "write").problem(),
            w + "/pipe: cannot write: not a regular file");
  bool unread = false;
  EXPECT_TRUE(copy_file(root_ / "huge", root_ / "copy", &unread));
  EXPECT_TRUE(unread);
  EXPECT_TRUE(copy_file(root_ / "file", root_ / "real", &unread));
  EXPECT_FALSE(unread) << "a folder is in the way";
  fs::create_hard_link(folder_ / "w/file", folder_ / "w/second");
  EXPECT_FALSE(open_file(root_ / "file", O_WRONLY | O_APPEND, "write").ok()) << "it may be a file outside";
  EXPECT_TRUE(read_file(root_ / "file").ok());
}

TEST_F(WorkPathTest, NamesDoNotLeadElsewhere) {
  for (const char* name : {"..", ".", "", "../outside", "real/../file", "/etc/passwd"}) {
    EXPECT_EQ(kind_of(root_ / name), FileKind::none) << name;
    EXPECT_EQ(kind_of(root_ / name / "file"), FileKind::none) << name;
    EXPECT_FALSE(read_file(root_ / name / "file").ok()) << name;
    EXPECT_TRUE(write_file(root_ / name / "new", "x")) << name;
    EXPECT_TRUE(make_folder(root_ / name / "new")) << name;
  }
}

TEST_F(WorkPathTest, NothingIsMovedOverSomethingElse) {
  folder_.file("w/other", "other");
  for (const char* name : {"other", "dangling", "real", "pipe"}) {
    bool taken = false;
    EXPECT_TRUE(move_file(root_ / "file", root_ / name, &taken)) << name;
    EXPECT_TRUE(taken) << name;
  }
  EXPECT_EQ(*read_file(root_ / "other"), "other");
  EXPECT_FALSE(move_file(root_ / "real", root_ / "moved"));
}

TEST_F(WorkPathTest, LocksAndLeasesAreRegularFiles) {
  for (const char* name : {".lock", ".lease"}) {
    const std::string there = folder_ / "w/" + name;
    for (const char* form : {"link", "pipe"}) {
      fs::remove(there);
      if (form == std::string("link"))
        fs::create_symlink(folder_ / "outside/file", there);
      else
        ASSERT_EQ(mkfifo(there.c_str(), 0600), 0);
      const bool is_lock = name == std::string(".lock");
      const std::string problem =
          is_lock ? FolderLock::take(root_.root()).problem() : FolderLease::take(root_.root()).problem();
      EXPECT_EQ(problem.find(there + ": cannot "), 0U) << problem;
      EXPECT_FALSE(FolderLock::is_taken(root_.root()));
      EXPECT_FALSE(FolderLease::is_taken(root_.root()));
    }
    fs::remove(there);
  }
}

}  // namespace
}  // namespace fusesmith::fuzz
