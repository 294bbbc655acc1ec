// stats.json comes back as it was written, and is refused, with the key, when it was edited or damaged.
#include "fuzz/counts/stats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fuzz/cli/test_support.h"

namespace fusesmith::fuzz {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

Stats sample_stats() {
  Stats stats = Stats::with_patterns();
  stats.seed = UINT64_MAX;
  stats.next = 3;
  stats.cases = 5;
  stats.exact_cases = 3;
  stats.invalid = 1;
  stats.elapsed_s = 1.5;
  stats.corpus_done = 2;
  stats.corpus_digest = "0123";
  stats.verdicts[0] = 4;
  stats.verdicts[10] = 1;
  stats.findings["defect-x"] = 1;
  stats.known["ort-add"] = 2;
  stats.arithmetic["rms_norm.weight_after"] = 3;
  stats.unsupported["no kernel \"for\" \xc3\xa9"] = 0;
  stats.coverage.nodes = 9;
  stats.coverage.cases = 5;
  stats.coverage.ops["add"] = 2;
  stats.metamorphic_cases = 2;
  stats.metamorphic_checks["exchange"] = 6;
  stats.baseline_resolutions.add(0x1p-23);
  stats.candidate_resolutions.add(0.3);
  return stats;
}

TEST(Stats, ComeBackAsTheyWereWritten) {
  const std::string text = to_json(sample_stats());
  const auto again = parse_stats(text);
  ASSERT_TRUE(again.ok()) << again.problem();
  EXPECT_EQ(to_json(*again), text);
  EXPECT_EQ(again->coverage.cases, 5);
}

struct Edit {
  const char *what, *by, *problem;
};
const Edit kEdits[] = {
    {"\"done\": 2", "\"done\": -1", "corpus.done: expected a count between 0 and 2^53, got -1"},
    {"\"done\": 2", "\"done\": 4", "corpus.done: expected at most cases + invalid - next_counter (3), got 4"},
    {"\"done\": 2", "\"do\": 2", "corpus: expected the key \"done\", which is missing"},
    {"\"digest\": \"0123\"", "\"digest\": 7", "corpus.digest: expected a string, got 7"},
    {"\"next_counter\": 3", "\"next_counter\": -5",
     "next_counter: expected a count between 0 and 2^53, got -5"},
    {"\"next_counter\": 3", "\"next_counter\": 1e300", "next_counter: expected an integer, got 1e+300"},
    {"\"next_counter\": 3", "\"next_counter\": 7",
     "next_counter: expected at most cases + invalid (6), got 7"},
    {"\"cases\": 5", "\"cases\": 6", "cases: expected the sum of the verdicts (5), got 6"},
    {"\"cases\": 5", "\"cases\": true", "cases: expected an integer, got true"},
    {"\"exact_cases\": 3", "\"exact_cases\": 6", "exact_cases: expected at most cases (5), got 6"},
    {"\"invalid\": 1", "\"invalid\": -1", "invalid: expected a count"},
    {"\"elapsed_s\": 1.5", "\"elapsed_s\": -1", "elapsed_s: expected a number between 0 and 1e+10, got -1"},
    {"\"elapsed_s\": 1.5", "\"elapsed_s\": null", "elapsed_s: expected a number"},
    {"\"elapsed_s\": 1.5", "\"elapsed_s\": \"inf\"", "elapsed_s: expected a number between 0 and 1e+10"},
    {"\"identical\": 4", "\"identical\": -4", "verdicts.identical: expected a count"},
    {"\"identical\": 4", "\"identical\": 9007199254740993", "verdicts.identical: expected a count"},
    {"\"defect-x\": 1", "\"defect-x\": -1", "findings.defect-x: expected a count"},
    {"\"ort-add\": 2", "\"ort-add\": 0.5", "known.ort-add: expected an integer, got 0.5"},
    {"\"nodes\": 9", "\"nodes\": -9", "coverage.nodes: expected a count"},
    {"\"-92\": 1", "\"3\": 1", "resolution.baseline.quarter_octaves.3: expected a bin from -240 to 0"},
    {"\"-92\": 1", "\"-92\": -1", "resolution.baseline.quarter_octaves.-92: expected a count"},
    {"\"add\": 2", "\"add\": \"2\"", "coverage.ops.add: expected an integer, got \"2\""},
    {"\"seed\": 18446744073709551615", "\"seed\": -1",
     "seed: expected an integer between 0 and 2^64 - 1, got -1"},
    {"\"cases\": 5,", "\"cases\": 5, \"cases\": 5,",
     "top level: expected every key once, got \"cases\" twice"},
};

int64_t sum_of(const Counts& counts) {
  int64_t sum = 0;
  for (const auto& [name, count] : counts) sum += count;
  return sum;
}

TEST(Stats, CountManyReasonsTogether) {
  Stats stats = Stats::with_patterns();
  const auto add = [&](const std::string& reason) {
    CaseOutcome outcome;
    outcome.unsupported = reason;
    stats.add(outcome);
  };
  for (int i = 0; i < 3; ++i) add("sizes of 0");
  for (int i = 0; i < 1000; ++i) add("sizes of " + std::to_string(i));
  add("sizes of 999");
  EXPECT_EQ(stats.unsupported.size(), Stats::kMaxReasons + 1);
  EXPECT_EQ(sum_of(stats.unsupported), 1004);
  EXPECT_EQ(stats.unsupported["sizes of 0"], 4);
  EXPECT_EQ(stats.unsupported[std::string(Stats::kOtherReasons)], 1001 - int64_t{Stats::kMaxReasons});
  Stats other = Stats::with_patterns();
  for (size_t i = 0; i < Stats::kMaxReasons; ++i) other.unsupported["no kernel " + std::to_string(i)] = 2;
  Stats sums = stats;
  sums.add(other);
  sums.limit_reasons();
  EXPECT_EQ(sums.unsupported.size(), Stats::kMaxReasons + 1);
  EXPECT_EQ(sum_of(sums.unsupported), 1004 + 2 * int64_t{Stats::kMaxReasons});
  EXPECT_EQ(sums.unsupported["sizes of 0"], 4);
  other.add(stats);
  other.limit_reasons();
  EXPECT_EQ(other.unsupported, sums.unsupported) << "in any order";
}

TEST(Stats, EditsAreRefusedWithTheKey) {
  for (const Edit& edit : kEdits) {
    std::string text = to_json(sample_stats());
    const size_t at = text.find(edit.what);
    ASSERT_NE(at, std::string::npos) << edit.what;
    const auto stats = parse_stats(text.replace(at, std::string(edit.what).size(), edit.by));
    ASSERT_FALSE(stats.ok()) << edit.by;
    EXPECT_THAT(stats.problem(), StartsWith(edit.problem));
  }
  for (const char* text : {"", "[]", "null", "{}", "{\"corpus\": 1}", "{\"verdicts\": []}"})
    EXPECT_FALSE(parse_stats(text).ok()) << text;
}

TEST(Stats, CountsOfFoldersThatAreGoneAreForgotten) {
  Stats stats = sample_stats();
  stats.findings["defect-seen_while_minimizing"] = 0;
  const auto again = parse_stats(to_json(stats));
  ASSERT_TRUE(again.ok()) << again.problem();
  EXPECT_EQ(again->findings, sample_stats().findings);
}

class DamagedStats : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(fuzz().code, kClean); }

  Ran fuzz() {
    return fusesmith_command({"fuzz", "--runs=2", "--jobs=1", "--baseline=cpu", "--candidate=cpu_fused",
                              "--workdir=" + (folder_ / "w")});
  }
  std::string read(const std::string& file) { return *read_file(folder_ / file); }
  // The text that the file has then.
  std::string replace(const std::string& what, const std::string& by) {
    std::string text = read("w/stats.json");
    const size_t at = text.find(what);
    EXPECT_NE(at, std::string::npos) << text;
    folder_.file("w/stats.json", text.replace(at, what.size(), by));
    return text;
  }

  const TemporaryFolder folder_;
};

TEST(Stats, HaveTheResolutionsOfCases) {
  const TemporaryFolder folder;
  const Ran ran = fusesmith_command({"fuzz", "--runs=40", "--jobs=1", "--baseline=cpu",
                                     "--candidate=cpu_fused", "--workdir=" + (folder / "w")});
  EXPECT_THAT(ran.out, HasSubstr("Resolution: in half of the cases, a change of "));
  const auto stats = parse_stats(*read_file(folder / "w/stats.json"));
  ASSERT_TRUE(stats.ok()) << stats.problem();
  for (const Resolutions* resolutions : {&stats->baseline_resolutions, &stats->candidate_resolutions}) {
    EXPECT_GT(resolutions->cases(), 20);
    EXPECT_LE(resolutions->cases(), 40);
    EXPECT_GE(resolutions->median(), 0x1p-24);
    EXPECT_LE(resolutions->median(), 0x1p-3);
  }
}

TEST_F(DamagedStats, AreSetAside) {
  const std::string text = replace("\"done\": 0", "\"done\": -1");
  const Ran ran = fuzz();
  EXPECT_EQ(ran.code, kClean) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr((folder_ / "w/stats.json: ") + "corpus.done: expected a count"));
  EXPECT_THAT(ran.err, HasSubstr("; the cases are judged again"));
  EXPECT_EQ(read("w/stats.json.damaged"), text);
  EXPECT_EQ(parse_stats(read("w/stats.json"))->cases, 2);
}

// As they may be in themselves, but there is no corpus. The campaign ends before it writes anything.
TEST_F(DamagedStats, OfAnotherCorpusAreRefused) {
  const std::string text = replace("\"next_counter\": 2,\n  \"corpus\": {\n    \"done\": 0",
                                   "\"next_counter\": 1,\n  \"corpus\": {\n    \"done\": 1");
  const Ran ran = fuzz();
  EXPECT_EQ(ran.code, kUsage);
  EXPECT_TRUE(is_one_line(ran.err)) << ran.err;
  EXPECT_THAT(ran.err,
              HasSubstr((folder_ / "w/stats.json: ") + "corpus.done: expected at most 0, the cases"));
  EXPECT_EQ(read("w/stats.json"), text);
}

}  // namespace
}  // namespace fusesmith::fuzz
