#include "fuzz/workdir/work_directory.h"

#include <gtest/gtest.h>

#include "fuzz/cli/test_support.h"

namespace fusesmith::fuzz {
namespace {

const Identity kIdentity = {{"seed", uint64_t{1}}, {"shard", std::string("0/1")}};

WorkDirectory opened(const TemporaryFolder& folder) {
  bool cannot_write = false;
  auto directory = WorkDirectory::open(folder.string(), kIdentity, cannot_write);
  if (!directory) throw std::runtime_error(directory.problem());
  return std::move(*directory);
}

// As on a network file system whose listing of findings/ was old when the campaign was resumed.
TEST(WorkDirectory, AFindingThatWasNotListedIsNotReplaced) {
  const TemporaryFolder folder;
  WorkDirectory directory = opened(folder);
  (void)folder.file("findings/defect-x/case.json", "first");
  (void)folder.file("findings/defect-x/min.json", "small");
  const auto added = directory.add_finding("defect-x", {"second", "{}", "# first"});
  ASSERT_TRUE(added.ok());
  EXPECT_EQ(*added, WorkDirectory::Added::known);
  EXPECT_EQ(*read_file(folder / "findings/defect-x/case.json"), "first");
  EXPECT_EQ(directory.finding_count(), 1U);
  EXPECT_EQ(*directory.add_finding("defect-y", {"third", "{}", "# first"}), WorkDirectory::Added::written);
}

TEST(WorkDirectory, RefusesAMergedOne) {
  const TemporaryFolder folder;
  (void)folder.file("campaign.json", R"({"seed": 1, "shard": ["0/2", "1/2"], "merged_from": []})");
  bool cannot_write = true;
  const auto directory = WorkDirectory::open(folder.string(), kIdentity, cannot_write);
  ASSERT_FALSE(directory.ok());
  EXPECT_FALSE(cannot_write);
  EXPECT_NE(directory.problem().find("a merged work directory"), std::string::npos) << directory.problem();
}

}  // namespace
}  // namespace fusesmith::fuzz
