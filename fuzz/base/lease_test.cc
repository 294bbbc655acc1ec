#include "fuzz/base/lease.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>

#include "fuzz/cli/test_support.h"

namespace fusesmith::fuzz {
namespace {

using Json = nlohmann::json;

class Lease : public testing::Test {
 protected:
  Json written() const { return Json::parse(*read_file(folder_ / ".lease")); }
  void write(const Json& lease, int64_t seconds_ago) const {
    std::ofstream(folder_ / ".lease") << lease.dump();
    const timespec then{std::time(nullptr) - seconds_ago, 0}, times[] = {then, then};
    utimensat(AT_FDCWD, (folder_ / ".lease").c_str(), times, 0);
  }
  bool can_be_taken() const { return FolderLease::take(folder_.string()).ok(); }

  const TemporaryFolder folder_;
};

TEST_F(Lease, IsForOneAtATime) {
  {
    const auto lease = FolderLease::take(folder_.string());
    ASSERT_TRUE(lease.ok()) << lease.problem();
    EXPECT_EQ(written()["pid"], getpid());
    EXPECT_TRUE(FolderLease::is_taken(folder_.string()));
    const auto second = FolderLease::take(folder_.string());
    ASSERT_FALSE(second.ok());
    EXPECT_THAT(second.problem(), testing::HasSubstr("another process is at work there (process "));
    EXPECT_FALSE((*lease)->is_lost());
  }
  EXPECT_FALSE(FolderLease::is_taken(folder_.string()));
  EXPECT_FALSE(std::filesystem::exists(folder_ / ".lease"));
}

TEST_F(Lease, MayEndWithANoteThatNobodyRespects) {
  const auto take = [&] { return FolderLease::take(folder_.string()); };
  EXPECT_EQ(FolderLease::note_in(folder_.string()), "");
  {
    const auto lease = take();
    ASSERT_TRUE(lease.ok());
    const auto size = std::filesystem::file_size(folder_ / ".lease");
    EXPECT_EQ(FolderLease::note_in(folder_.string()), "");
    (*lease)->leave("failed");
    EXPECT_EQ(std::filesystem::file_size(folder_ / ".lease"), size) << "it takes no space";
  }
  EXPECT_EQ(FolderLease::note_in(folder_.string()), "failed");
  EXPECT_FALSE(FolderLease::is_taken(folder_.string()));
  EXPECT_TRUE(can_be_taken());
  EXPECT_EQ(FolderLease::note_in(folder_.string()), "");
  {
    const auto lease = take();
    write({{"host", "elsewhere"}}, 0);
    std::filesystem::rename(folder_ / ".lease", folder_ / "moved");
    write({{"host", "another"}}, 0);
    (*lease)->leave("failed");
  }
  EXPECT_EQ(written()["host"], "another") << "the lease of another process stays";
}

TEST_F(Lease, OfAnotherMachineEndsWhenItIsNotRenewed) {
  const Json other = {{"host", "elsewhere"}, {"pid", 1}, {"boot_id", "x"}, {"pid_namespace", "y"}};
  write(other, FolderLease::kStaleSeconds / 2);
  EXPECT_FALSE(can_be_taken());
  EXPECT_EQ(written(), other);
  write(other, 2 * FolderLease::kStaleSeconds);
  EXPECT_TRUE(can_be_taken());
}

TEST_F(Lease, OfThisMachineEndsWithItsProcess) {
  Json lease;
  {
    const auto taken = FolderLease::take(folder_.string());
    lease = written();
  }
  const pid_t child = fork();
  if (child == 0) _exit(0);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  lease["pid"] = child;
  write(lease, 0);
  EXPECT_TRUE(can_be_taken());
  lease["pid"] = getppid();
  write(lease, 0);
  EXPECT_FALSE(can_be_taken());
}

TEST_F(Lease, ThatCannotBeReadIsRespectedForAWhile) {
  write("", 0);
  EXPECT_FALSE(can_be_taken());
  write("", 2 * FolderLease::kStaleSeconds);
  EXPECT_TRUE(can_be_taken());
}

TEST_F(Lease, DoesNotFollowLinks) {
  std::filesystem::create_symlink(folder_ / "target", folder_ / ".lease");
  can_be_taken();
  EXPECT_FALSE(std::filesystem::exists(folder_ / "target"));
}

}  // namespace
}  // namespace fusesmith::fuzz
