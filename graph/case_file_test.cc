// Whatever a path leads to is answered: files, pipes that nobody writes to, devices.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "graph/case.h"

namespace fusesmith::graph {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class CaseFile : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string write(const std::string& name, const std::string& text) const {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  std::string fifo() const {
    const std::string path = folder_ + "/fifo.json";
    EXPECT_EQ(mkfifo(path.c_str(), 0600), 0);
    return path;
  }
  static std::string problem(const std::string& path) {
    const auto result = read_case_file(path);
    return result ? "" : result.problem();
  }
  const std::string folder_ = testing::TempDir() + "fusesmith_case_file_" + std::to_string(getpid());
};

std::string case_text() {
  Builder b;
  b.output(b.input("x", {Dtype::f32, {1000}}, Literal{std::string(8000, '0')}));
  Case test_case;
  test_case.graph = *b.build();
  return to_json(test_case);
}

void write_all(int pipe, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = write(pipe, text.data(), text.size());
    if (count <= 0) return;
    text.remove_prefix(static_cast<size_t>(count));
  }
}

TEST_F(CaseFile, ProblemsStartWithTheFile) {
  EXPECT_EQ(problem(write("ok.json", case_text())), "");
  const std::string empty = write("empty.json", "");
  EXPECT_EQ(problem(empty), empty + ": 1:1: expected JSON, got nothing");
  EXPECT_EQ(problem(folder_), folder_ + ": expected a case file, got a directory");
  EXPECT_EQ(problem(folder_ + "/none"), folder_ + "/none: cannot be read: No such file or directory");
  const std::string array = write("array.json", "[]");
  EXPECT_EQ(problem(array), array + ": top level: expected an object, got an array of 0");
}

TEST_F(CaseFile, HugeFilesAreRefusedUnread) {
  const std::string path = write("huge.json", "{");
  std::filesystem::resize_file(path, uint64_t{1} << 33);  // sparse
  EXPECT_EQ(problem(path), path + ": expected a file of at most 32 MiB, got 8589934592 bytes");
  EXPECT_THAT(problem("/dev/zero"), HasSubstr("expected at most 32 MiB of JSON"));
}

TEST_F(CaseFile, PipesThatStaySilentAreAnsweredWithinASecond) {
  const std::string path = fifo();
  const auto timed_problem = [&] {
    const auto start = std::chrono::steady_clock::now();
    const std::string what = problem(path);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(1500));
    return what;
  };
  EXPECT_THAT(timed_problem(), StartsWith(path + ": cannot be read: no data came for 900 ms"));
  const int held_open = open(path.c_str(), O_RDWR);
  write_all(held_open, "{");
  EXPECT_THAT(timed_problem(), StartsWith(path + ": cannot be read: no data came")) << "a writer that stalls";
  close(held_open);
}

TEST_F(CaseFile, PipesAreReadToTheirEnd) {
  const std::string path = fifo(), text = case_text();
  std::jthread writer([&] {
    const int pipe = open(path.c_str(), O_WRONLY);
    for (size_t i = 0; i < text.size(); i += 3000) {
      write_all(pipe, text.substr(i, 3000));
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    close(pipe);
  });
  EXPECT_EQ(problem(path), "");
}

// What a shell's <(...) gives, also when the writer has already ended.
TEST_F(CaseFile, AnonymousPipesAreReadThroughTheirDescriptor) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  write_all(ends[1], case_text());
  close(ends[1]);
  EXPECT_EQ(problem("/dev/fd/" + std::to_string(ends[0])), "");
  EXPECT_THAT(problem("/dev/fd/" + std::to_string(ends[0])), HasSubstr("expected JSON, got nothing"));
  close(ends[0]);
}

}  // namespace
}  // namespace fusesmith::graph
