#include "fuzz/base/files.h"

#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "fuzz/cli/test_support.h"

namespace fusesmith::fuzz {
namespace {

namespace fs = std::filesystem;

TEST(Files, WriteReplacesAndLeavesNothingElse) {
  const TemporaryFolder folder;
  ASSERT_FALSE(write_file(folder / "a", "one"));
  ASSERT_FALSE(write_file(folder / "a", "two"));
  EXPECT_EQ(*read_file(folder / "a"), "two");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.string()), fs::directory_iterator()), 1);
}

// A reader never sees a part of a file, whichever of two texts it finds.
TEST(Files, ReadersSeeWholeFiles) {
  const TemporaryFolder folder;
  const std::string texts[] = {std::string(200000, 'a'), std::string(100000, 'b')};
  ASSERT_FALSE(write_file(folder / "f", texts[0]));
  std::jthread writer([&] {
    for (int i = 0; i < 50; ++i) EXPECT_FALSE(write_file(folder / "f", texts[i % 2]));
  });
  for (int i = 0; i < 300; ++i) {
    const auto text = read_file(folder / "f");
    ASSERT_TRUE(text.ok());
    ASSERT_TRUE(*text == texts[0] || *text == texts[1]) << text->size();
  }
}

TEST(Files, WritersOfOneFileDoNotMix) {
  const TemporaryFolder folder;
  {
    std::vector<std::jthread> writers;
    for (char c = 'a'; c < 'e'; ++c) {
      writers.emplace_back([&, c] {
        for (int i = 0; i < 20; ++i) EXPECT_FALSE(write_file(folder / "f", std::string(50000, c)));
      });
    }
  }
  const std::string text = *read_file(folder / "f");
  EXPECT_EQ(text, std::string(50000, text[0]));
}

TEST(Files, ProblemsNameThePath) {
  const TemporaryFolder folder;
  const std::string missing = folder / "none/f";
  const auto problem = write_file(missing, "x");
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->what, missing + ": cannot write: No such file or directory");
  EXPECT_EQ(read_file(missing).problem(), missing + ": cannot read: No such file or directory");
  EXPECT_EQ(read_file(folder.string()).problem(), folder.string() + ": cannot read: not a regular file");
  folder.file("plain", "");
  EXPECT_TRUE(make_folder(folder / "plain/below"));
  ASSERT_EQ(mkfifo((folder / "fifo").c_str(), 0600), 0);
  EXPECT_FALSE(read_file(folder / "fifo").ok()) << "and it did not wait for a writer";
}

TEST(Files, ListsJsonSortedAndRecursively) {
  const TemporaryFolder folder;
  for (const char* name : {"b.json", "a/z.json", "a/y.json", "note.txt", ".tmp-1-0-x.json"})
    folder.file(name, "{}");
  const auto files = list_json(folder.string());
  ASSERT_TRUE(files.ok());
  EXPECT_EQ(*files, (std::vector<std::string>{folder / "a/y.json", folder / "a/z.json", folder / "b.json"}));
  const auto single = list_json(folder / "note.txt");
  ASSERT_TRUE(single.ok());
  EXPECT_EQ(*single, std::vector<std::string>{folder / "note.txt"});
  EXPECT_FALSE(list_json(folder / "none").ok());
}

TEST(Files, FoldersStandForTheirCases) {
  const TemporaryFolder folder;
  for (const char* name : {"campaign.json", "stats.json", "findings/x/case.json", "findings/x/min.json",
                           "findings/x/verdict.json", "findings/y/case.json", "findings/y/verdict.json"})
    folder.file(name, "{}");
  ASSERT_EQ(mkfifo((folder / "pipe.json").c_str(), 0600), 0);
  fs::create_directory(folder / "folder.json");
  fs::create_symlink("/dev/zero", folder / "device.json");
  fs::create_symlink("nowhere", folder / "dangling.json");
  fs::create_symlink("loop.json", folder / "loop.json");
  const auto files = list_json(folder.string());
  ASSERT_TRUE(files.ok()) << files.problem();
  EXPECT_EQ(*files, (std::vector<std::string>{folder / "dangling.json", folder / "findings/x/min.json",
                                              folder / "findings/y/case.json", folder / "loop.json"}));
  const std::string named = folder / "findings/x/verdict.json";
  EXPECT_EQ(*list_json(named), std::vector<std::string>{named}) << "what is named is meant";
}

TEST(Files, OnlyLeftoversOfWritersAreRemoved) {
  const TemporaryFolder folder;
  const std::vector<std::string> kept = {".tmp-",           ".tmp-1-x.json", ".tmp-1-2",
                                         ".tmp-a-0-x.json", "tmp-1-0-x",     "below/.tmp-1-0-x"};
  for (const std::string& name : kept) folder.file(name, "");
  for (const char* name : {".tmp-1-0-x.json", ".tmp-4711-12-report.md", ".tmp-1-0-"}) folder.file(name, "");
  fs::create_symlink("tmp-1-0-x", folder / ".tmp-2-0-link");
  remove_temporary_files(WorkPath(folder.string()));
  for (const std::string& name : kept) EXPECT_TRUE(fs::exists(folder / name)) << name;
  EXPECT_TRUE(fs::is_symlink(folder / ".tmp-2-0-link"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.string()), fs::directory_iterator()), 7);
  remove_temporary_files(WorkPath(folder / "none"));
}

// The number in the name of the temporary file that a writer of this process makes next.
int next_temporary(const TemporaryFolder& folder) {
  const int notified = inotify_init1(IN_CLOEXEC);
  inotify_add_watch(notified, folder.string().c_str(), IN_CREATE);
  EXPECT_FALSE(write_file(folder / "probe", ""));
  alignas(inotify_event) char events[4096] = {};
  EXPECT_GT(read(notified, events, sizeof events), 0);
  close(notified);
  const std::string name = reinterpret_cast<const inotify_event*>(events)->name;  // ".tmp-PID-NUMBER-probe"
  return std::stoi(name.substr(name.find('-', 5) + 1)) + 1;
}

// As somebody else could plant them in a folder that all may write to.
TEST(Files, WritersDoNotFollowLinks) {
  const TemporaryFolder folder;
  const std::string own = ".tmp-" + std::to_string(getpid()) + "-";
  for (int i = 0, next = next_temporary(folder); i < 200; ++i)
    fs::create_symlink("target", folder / (own + std::to_string(next + i) + "-f"));
  fs::create_symlink("target", folder / ".lock");
  EXPECT_TRUE(write_file(folder / "f", "text")) << "every name that it tries is taken";
  EXPECT_FALSE(FolderLock::take(folder.string()).ok());
  EXPECT_FALSE(fs::exists(folder / "target"));
}

TEST(Files, LockIsForOneAtATime) {
  const TemporaryFolder folder;
  {
    const auto lock = FolderLock::take(folder.string());
    ASSERT_TRUE(lock.ok()) << lock.problem();
    const auto second = FolderLock::take(folder.string());
    ASSERT_FALSE(second.ok());
    EXPECT_NE(second.problem().find("another process"), std::string::npos);
  }
  EXPECT_TRUE(FolderLock::take(folder.string()).ok());
}

}  // namespace
}  // namespace fusesmith::fuzz
