// Every file under corpus/ is a test: it reads, writes back the same case, and replays to what it expects.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>

#include "backends/remote/worker_names.h"
#include "fuzz/base/files.h"
#include "fuzz/run/expectation.h"
#include "fuzz/run/judging.h"
#include "fuzz/run/repeat.h"

namespace fusesmith::fuzz {
namespace {

std::vector<std::string> corpus_files() {
  const auto files = list_json(std::string(FUSESMITH_SOURCE_DIR) + "/corpus");
  EXPECT_TRUE(files.ok()) << files.problem();
  return files.ok() ? *files : std::vector<std::string>{};
}

TEST(Corpus, IsThere) { EXPECT_GE(corpus_files().size(), 13U); }

// Larger ones take the judge minutes.
constexpr int64_t kMostElements = int64_t{1} << 26;

int64_t elements_of(const Graph& graph) {
  int64_t sum = 0;
  for (ValueId v = 0; v < graph.value_count(); ++v) sum += element_count(graph.type(v));
  return sum;
}

class CorpusFile : public testing::TestWithParam<std::string> {};

TEST_P(CorpusFile, ReplaysToWhatItExpects) {
  const auto test_case = read_case_file(GetParam());
  ASSERT_TRUE(test_case.ok()) << test_case.problem();
  ASSERT_TRUE(test_case->expect) << "a corpus file says what it expects";
  if (elements_of(test_case->graph) > kMostElements) GTEST_SKIP() << "scripts/gpu_test replays it";
  const auto& names = test_case->expect->backends;
  if (std::any_of(names.begin(), names.end(), [](const std::string& name) { return worker_kind(name); }))
    GTEST_SKIP() << "scripts/studies/gallery --check replays it: libraries differ from version to version";
  const Judging judging = *Judging::of_case({}, GetParam(), *test_case);
  if (!judging.why_not.empty()) GTEST_SKIP() << judging.why_not;
  const Verdict verdict = judging.run(*test_case).verdict;
  EXPECT_TRUE(is_about(*test_case, verdict));
  EXPECT_EQ(broken_expectation(*test_case, verdict), std::nullopt);
}

TEST_P(CorpusFile, ReadsBackAsItIsWritten) {
  const auto test_case = read_case_file(GetParam());
  ASSERT_TRUE(test_case.ok()) << test_case.problem();
  const auto again = parse_case(to_json(*test_case));
  ASSERT_TRUE(again.ok()) << again.problem();
  EXPECT_EQ(*again, *test_case);
}

INSTANTIATE_TEST_SUITE_P(Files, CorpusFile, testing::ValuesIn(corpus_files()), [](const auto& file) {
  std::string name = file.param.substr(file.param.rfind('/') + 1);
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
});

}  // namespace
}  // namespace fusesmith::fuzz
