// Cases whose data is in files beside them.
#include "graph/data_files.h"

#include <gtest/gtest.h>

#include <fstream>

#include "graph/case.h"
#include "graph/sha256.h"

namespace fusesmith::graph {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFloats("\0\0\x80\x3f\0\0\0\xc0", 8);  // 1 and -2

std::string digest_of(std::string_view bytes) { return sha256(std::as_bytes(std::span(bytes))); }

std::string case_text(const std::string& type, const std::string& sha256) {
  return R"({"fusesmith": 1, "graph": {"inputs": [{"name": "x", "type": ")" + type +
         R"(", "fill": {"file": {"sha256": ")" + sha256 +
         R"("}}}], "nodes": [{"name": "y", "op": "reshape", "inputs": ["x"], "shape": [2]}], "outputs": ["y"]}})";
}

class DataFilesTest : public testing::Test {
 protected:
  DataFilesTest() {
    folder_ = fs::temp_directory_path() /
              ("fusesmith-" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "data");
  }
  ~DataFilesTest() override { fs::remove_all(folder_); }

  // Writes a data file, under the name that its content has if none is given.
  std::string data(std::string_view bytes, std::string name = "") const {
    if (name.empty()) name = digest_of(bytes);
    std::ofstream(folder_ / "data" / name, std::ios::binary) << bytes;
    return name;
  }
  std::string write(const std::string& text, const std::string& name = "case.json") const {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }
  std::string problem_of(const std::string& type, const std::string& sha256) const {
    const auto read = read_case_file(write(case_text(type, sha256)));
    return read ? "" : read.problem();
  }

  fs::path folder_;
};

TEST_F(DataFilesTest, AreTheDataOfAnInput) {
  const auto read = read_case_file(write(case_text("f32[2]", data(kFloats))));
  ASSERT_TRUE(read) << read.problem();
  const Tensor x = data_of(*read, read->graph.inputs()[0]);
  EXPECT_EQ(x.value(0), 1);
  EXPECT_EQ(x.value(1), -2);
  EXPECT_TRUE(has_data_files(*read));
  // In the process that has the case, its text alone is enough.
  const auto again = parse_case(to_json(*read));
  ASSERT_TRUE(again) << again.problem();
  EXPECT_EQ(*again, *read);
}

TEST_F(DataFilesTest, AreFoundInFoldersAbove) {
  const std::string name = data(kFloats);
  EXPECT_TRUE(read_case_file(write(case_text("f32[2]", name), "findings/model/min.json")));
  EXPECT_FALSE(read_case_file(write(case_text("f32[2]", name), "a/b/c/d/min.json")));
}

TEST_F(DataFilesTest, ThatAreNotAsTheCaseSaysAreNamed) {
  const std::string name = data(kFloats), absent(64, '0'), other = data("other   ", std::string(64, '1'));
  EXPECT_NE(problem_of("f32[2]", absent).find("cannot be read: No such file"), std::string::npos);
  EXPECT_NE(problem_of("f32[2,3]", name).find("has 8 bytes, and its tensor 24"), std::string::npos);
  EXPECT_NE(problem_of("f32[2]", other).find("has other content than its name says"), std::string::npos);
  EXPECT_NE(problem_of("bool[8]", name).find("expected bytes 0 or 1"), std::string::npos);
  EXPECT_NE(problem_of("f32[2]", "../../etc/passwd").find("expected a SHA-256"), std::string::npos);
  EXPECT_NE(problem_of("f32[2]", "").find("expected a SHA-256"), std::string::npos);
  fs::create_directory(folder_ / "data" / std::string(64, '2'));
  EXPECT_NE(problem_of("f32[2]", std::string(64, '2')).find("is no regular file"), std::string::npos);
  const auto alone = parse_case(case_text("f32[2]", std::string(64, '3')));
  ASSERT_FALSE(alone);
  EXPECT_NE(alone.problem().find("only looked for beside a case file"), std::string::npos);
}

TEST_F(DataFilesTest, OfTheWrongSizeAreNamedWhereAnotherCaseUsesThem) {
  const std::string name = data(kFloats);
  const auto read = read_case_file(write(case_text("f32[2]", name)));
  ASSERT_TRUE(read) << read.problem();
  EXPECT_NE(problem_of("f32[2,3]", name), "");
}

}  // namespace
}  // namespace fusesmith::graph
