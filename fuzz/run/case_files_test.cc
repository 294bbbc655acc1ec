#include "fuzz/run/case_files.h"

#include <gtest/gtest.h>

#include "fuzz/cli/test_support.h"

namespace fusesmith::fuzz {
namespace {

using Files = std::vector<std::string>;

// A folder in which people keep other things too.
TEST(CaseFiles, OfAFolderAreItsCases) {
  const TemporaryFolder folder;
  folder.file("a.json", R"({"fusesmith": 1})");
  folder.file("b/misspelt.json", R"({"fusesmth": 1, "graph": {}})");
  folder.file("b/truncated.json", R"({"fusesmith": 1, "gra)");
  folder.file("package.json", R"({"name": "x"})");
  folder.file("b/list.json", "[1, 2]");
  folder.file("report.md", "");
  folder.file("stats.json", "{}");
  folder.file(".hidden", "");
  const auto cases = list_cases(folder.string());
  ASSERT_TRUE(cases.ok()) << cases.problem();
  EXPECT_EQ(cases->files,
            (Files{folder / "a.json", folder / "b/misspelt.json", folder / "b/truncated.json"}));
  EXPECT_EQ(cases->others, 4)
      << "package.json, list.json, report.md and stats.json; hidden files do not count";
}

TEST(CaseFiles, WhatIsNamedIsMeant) {
  const TemporaryFolder folder;
  const std::string file = folder.file("package.json", R"({"name": "x"})");
  const auto cases = list_cases(file);
  ASSERT_TRUE(cases.ok());
  EXPECT_EQ(cases->files, Files{file});
  EXPECT_EQ(cases->others, 0);
  EXPECT_FALSE(list_cases(folder / "none").ok());
}

}  // namespace
}  // namespace fusesmith::fuzz
