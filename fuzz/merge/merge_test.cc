// Merging: sums and unions whatever the order, however often, and whatever listings of folders show.
#include "fuzz/merge/merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "fuzz/cli/test_support.h"
#include "fuzz/merge/corpus_choice.h"

namespace fusesmith::fuzz {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using testing::HasSubstr;

// All files, but those that only say who is at work there.
std::map<std::string, std::string> tree(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (entry.is_regular_file() && name != ".lock" && name != ".lease")
      files[fs::relative(entry.path(), folder).string()] = *read_file(entry.path());
  }
  return files;
}

std::string chain(int nodes) {
  Builder builder;
  ValueId value = builder.input("x", {Dtype::f32, {2, 4}}, Normal{});
  for (int i = 0; i < nodes; ++i) value = builder.node(Softmax{}, {value}, "s" + std::to_string(i));
  builder.output(value);
  Case test_case;
  test_case.graph = *builder.build();
  return to_json(test_case);
}

class MergeTest : public testing::Test {
 protected:
  // Three shards of 12 cases, made once.
  static void SetUpTestSuite() {
    made_ = std::make_unique<TemporaryFolder>();
    for (const char* shard : {"0", "1", "2"}) {
      const Ran ran =
          fusesmith_command({"fuzz", "--baseline=cpu", "--candidate=cpu_fused", "--runs=12", "--json",
                             "--workdir=" + (*made_ / shard), std::string("--shard=") + shard + "/3"});
      ASSERT_EQ(ran.code, kClean) << ran.err;
    }
  }
  static void TearDownTestSuite() { made_.reset(); }

  MergeTest() {
    for (int shard = 0; shard < 3; ++shard)
      fs::copy(*made_ / std::to_string(shard), dir(shard), fs::copy_options::recursive);
    find(0, "defect-a", 5, 3);
    find(1, "defect-a", 2, 2);
    find(2, "defect-a", 4, 0);
    find(1, "defect-b", 3, 1);
  }

  std::string dir(int shard) const { return folder_ / ("shard-" + std::to_string(shard)); }

  // As if the campaign had met it so often; the minimized case has so many nodes, 0: it has none.
  void find(int shard, const std::string& signature, int times, int nodes) const {
    Stats stats = *parse_stats(*read_file(dir(shard) + "/stats.json"));
    stats.findings[signature] = times;
    ASSERT_FALSE(write_file(dir(shard) + "/stats.json", to_json(stats)));
    const std::string found = dir(shard) + "/findings/" + signature + "/";
    fs::create_directories(found);
    ASSERT_FALSE(write_file(found + "case.json", chain(9)));
    ASSERT_FALSE(write_file(found + "verdict.json", "{\"verdict\": \"defect\"}\n"));
    if (nodes == 0) return;
    ASSERT_FALSE(write_file(found + "min.json", chain(nodes)));
    ASSERT_FALSE(write_file(found + "report.md", "# of shard " + std::to_string(shard) + "\n"));
  }

  Ran merge_into(const std::string& destination, std::vector<std::string> sources) const {
    sources.insert(sources.begin(), {"merge", "--json", folder_ / destination});
    return fusesmith_command(sources);
  }
  Ran merge_all(const std::string& destination) const {
    return merge_into(destination, {dir(0), dir(1), dir(2)});
  }

  MergeResult merge_with(const std::string& destination, ListFolder list,
                         std::function<bool()> stop = {}) const {
    auto merged = merge({folder_ / destination, {dir(0), dir(1), dir(2)}, std::move(list), std::move(stop)});
    return std::get<MergeResult>(std::move(merged));
  }

  Json stats(const std::string& workdir) const {
    return Json::parse(*read_file(folder_ / (workdir + "/stats.json")));
  }

  static std::unique_ptr<TemporaryFolder> made_;
  const TemporaryFolder folder_;
};
std::unique_ptr<TemporaryFolder> MergeTest::made_;

TEST_F(MergeTest, SumsCountsAndUnitesFindings) {
  const Ran ran = merge_all("all");
  ASSERT_EQ(ran.code, kClean) << ran.err;
  const Json json = Json::parse(ran.out), merged = stats("all");
  EXPECT_EQ(json["cases"], 36);
  EXPECT_EQ(json["findings"], 2);
  EXPECT_EQ(json["new_findings"], 2);
  EXPECT_EQ(json["shards"].size(), 3U);
  for (const char* key : {"cases", "next_counter", "exact_cases", "invalid"}) {
    int64_t sum = 0;
    for (int shard = 0; shard < 3; ++shard)
      sum += stats("shard-" + std::to_string(shard))[key].get<int64_t>();
    EXPECT_EQ(merged[key], sum) << key;
  }
  for (const auto& [op, times] : merged["coverage"]["ops"].items()) {
    int64_t sum = 0;
    for (int shard = 0; shard < 3; ++shard)
      sum += stats("shard-" + std::to_string(shard))["coverage"]["ops"].value(op, 0);
    EXPECT_EQ(times, sum) << op;
  }
  EXPECT_EQ(merged["findings"], (Json{{"defect-a", 11}, {"defect-b", 3}}));
  EXPECT_EQ(merged["history"].back()["cases"], 36);

  const std::string found = folder_ / "all/findings/defect-a/";
  EXPECT_EQ(*read_file(found + "min.json"), chain(2)) << "the simplest one";
  EXPECT_EQ(*read_file(found + "report.md"), "# of shard 1\n");
  EXPECT_EQ(*read_file(found + "count"), "11\n");
  const Json seen = Json::parse(*read_file(found + "seen_in.json"));
  EXPECT_EQ(seen["cases"], 11);
  ASSERT_EQ(seen["shards"].size(), 3U);
  EXPECT_EQ(seen["shards"][1]["shard"], "1/3");
  EXPECT_EQ(seen["shards"][1]["cases"], 2);
  EXPECT_EQ(seen["shards"][1]["workdir"], fs::canonical(dir(1)).string());
  EXPECT_EQ(seen["kept_from"], seen["shards"][1]["key"]);
}

TEST_F(MergeTest, OtherCommandsReadIt) {
  ASSERT_EQ(merge_all("all").code, kClean);
  const Json rows = Json::parse(fusesmith_command({"whatsup", "--json", folder_ / "all"}).out);
  EXPECT_EQ(rows["campaigns"][0]["state"], "merged");
  EXPECT_EQ(rows["campaigns"][0]["cases"], 36);
  EXPECT_EQ(rows["campaigns"][0]["findings"], 2);
  const Ran report = fusesmith_command({"report", "--json", folder_ / "all"});
  ASSERT_EQ(report.code, kClean) << report.err;
  EXPECT_EQ(Json::parse(report.out)["cases"], 36);
  const Ran replay = fusesmith_command({"replay", "--baseline=cpu", "--candidate=cpu_fused",
                                        folder_ / "all/findings", folder_ / "all/corpus"});
  EXPECT_EQ(replay.code, kClean) << replay.err;
  EXPECT_EQ(fusesmith_command({"list", "coverage", folder_ / "all"}).code, kClean);
  const Ran fuzz = fusesmith_command({"fuzz", "--runs=1", "--workdir=" + (folder_ / "all")});
  EXPECT_EQ(fuzz.code, kUsage);
  EXPECT_THAT(fuzz.err, HasSubstr("a merged work directory"));
  EXPECT_TRUE(is_one_line(fuzz.err));
}

TEST_F(MergeTest, RepeatedAndInAnyOrderItIsTheSame) {
  ASSERT_EQ(merge_all("all").code, kClean);
  const auto once = tree(folder_ / "all");
  EXPECT_EQ(Json::parse(merge_all("all").out)["new_findings"], 0);
  EXPECT_EQ(tree(folder_ / "all"), once);
  merge_into("other", {dir(2), dir(0), dir(2)});
  merge_into("other", {dir(1)});
  EXPECT_EQ(tree(folder_ / "other"), once);
  merge_into("part", {dir(2), dir(0)});
  EXPECT_EQ(merge_into("nested", {folder_ / "part", dir(1)}).code, kClean);
  EXPECT_EQ(tree(folder_ / "nested"), once);
}

TEST_F(MergeTest, ShardsThatGoOnReplaceTheirCounts) {
  ASSERT_EQ(merge_all("all").code, kClean);
  ASSERT_EQ(fusesmith_command({"fuzz", "--baseline=cpu", "--candidate=cpu_fused", "--runs=3", "--minimize=0",
                               "--shard=0/3", "--workdir=" + dir(0)})
                .code,
            kFindings);
  ASSERT_EQ(merge_all("all").code, kClean);
  EXPECT_EQ(stats("all")["cases"], 39);
  merge_all("fresh");
  EXPECT_EQ(tree(folder_ / "all"), tree(folder_ / "fresh"));
}

TEST_F(MergeTest, OneShardTwiceCountsOnce) {
  fs::copy(dir(0), folder_ / "copy", fs::copy_options::recursive);
  const Ran ran = merge_into("all", {dir(0), folder_ / "copy"});
  EXPECT_EQ(ran.code, kClean) << ran.err;
  EXPECT_EQ(stats("all")["cases"], 12);
  EXPECT_EQ(stats("all")["findings"]["defect-a"], 5);
  // Shard 0/4 has the cases of shard 0/3.
  Json identity = Json::parse(*read_file(folder_ / "copy/campaign.json"));
  identity["shard"] = "0/4";
  ASSERT_FALSE(write_file(folder_ / "copy/campaign.json", identity.dump()));
  EXPECT_EQ(merge_into("all", {folder_ / "copy"}).code, kClean);
  EXPECT_EQ(stats("all")["cases"], 12);
  identity["seed"] = 77;
  ASSERT_FALSE(write_file(folder_ / "copy/campaign.json", identity.dump()));
  merge_into("all", {folder_ / "copy"});
  EXPECT_EQ(stats("all")["cases"], 24);
}

TEST_F(MergeTest, DamagedAndMissingSourcesAreNamedAndTheRestIsMerged) {
  ASSERT_FALSE(write_file(dir(0) + "/stats.json", "{\"cases\": "));
  ASSERT_FALSE(write_file(dir(1) + "/findings/defect-b/min.json", "{}"));
  fs::remove(dir(2) + "/campaign.json");
  const Ran ran = merge_into("all", {dir(0), dir(1), dir(2), folder_ / "absent"});
  EXPECT_EQ(ran.code, kUsage);
  for (const std::string& named :
       {dir(0) + "/stats.json", dir(1) + "/findings/defect-b/min.json", dir(2) + ": ", folder_ / "absent"})
    EXPECT_THAT(ran.err, HasSubstr(named));
  EXPECT_EQ(stats("all")["cases"], 12);
  EXPECT_EQ(*read_file(folder_ / "all/findings/defect-a/min.json"), chain(2)) << "shard 0 has 3 nodes";

  for (int shard = 0; shard < 3; ++shard) fs::remove_all(dir(shard));
  for (int shard = 0; shard < 3; ++shard)
    fs::copy(*made_ / std::to_string(shard), dir(shard), fs::copy_options::recursive);
  EXPECT_EQ(merge_all("all").code, kClean);
  EXPECT_EQ(stats("all")["cases"], 36);
  EXPECT_EQ(*read_file(folder_ / "all/findings/defect-b/case.json"), chain(9));
  EXPECT_FALSE(fs::exists(folder_ / "all/findings/defect-b/min.json")) << "was damaged";
}

TEST_F(MergeTest, WhatWasMergedStaysWhenItsSourceIsGone) {
  ASSERT_EQ(merge_all("all").code, kClean);
  const auto before = tree(folder_ / "all");
  fs::remove_all(dir(1));
  EXPECT_EQ(merge_into("all", {dir(0), dir(2)}).code, kClean);
  EXPECT_EQ(tree(folder_ / "all"), before);
  ASSERT_FALSE(write_file(dir(0) + "/stats.json", "damaged"));
  EXPECT_EQ(merge_into("all", {dir(0), dir(2)}).code, kUsage);
  EXPECT_EQ(tree(folder_ / "all"), before);
}

// A network file system may show a folder as it was, or entries that are gone, or one of them twice.
TEST_F(MergeTest, StaleListingsLoseAndDoubleNothing) {
  merge_all("wanted");
  const auto wanted = tree(folder_ / "wanted");
  for (unsigned seed = 0; seed < 8; ++seed) {
    std::mt19937 random(seed);
    const auto stale = [&](const WorkPath& folder) -> Result<std::vector<std::string>> {
      std::vector<std::string> shown;
      auto entries = names_in(folder);
      if (!entries) return Problem{entries.problem()};
      for (const std::string& entry : *entries) {
        for (unsigned times = random() % 3; times > 0; --times) shown.push_back(entry);
      }
      shown.emplace_back("gone.json");
      shown.emplace_back("gone");
      std::shuffle(shown.begin(), shown.end(), random);
      return shown;
    };
    const std::string name = "stale-" + std::to_string(seed);
    for (int i = 0; i < 2; ++i) {
      const MergeResult result = merge_with(name, stale);
      EXPECT_EQ(result.stats.cases, 36);
      EXPECT_EQ(result.findings, 2U) << "counted in stats.json, so that no listing is needed";
      EXPECT_EQ(result.stats.findings, (Counts{{"defect-a", 11}, {"defect-b", 3}}));
    }
    EXPECT_TRUE(merge_with(name, names_in).problems.empty());
    EXPECT_EQ(tree(folder_ / name), wanted) << "seed " << seed;
  }
}

TEST_F(MergeTest, AMergeThatWasCutOffIsCompleted) {
  merge_all("wanted");
  const auto wanted = tree(folder_ / "wanted");
  int stops = 0;
  for (bool stopped = true; stopped; stops += 3) {
    int asked = 0;
    const std::string name = "cut-" + std::to_string(stops);
    stopped = merge_with(name, names_in, [&] { return asked++ == stops; }).stopped;
    EXPECT_FALSE(merge_with(name, names_in).stopped);
    EXPECT_EQ(tree(folder_ / name), wanted) << "after " << stops;
  }
  EXPECT_GT(stops, 15);
  // Killed between the two renames that replace a finding.
  fs::create_directories(folder_ / "wanted/.merging/half");
  fs::rename(folder_ / "wanted/findings/defect-a", folder_ / "wanted/.merging/old-defect-a");
  EXPECT_EQ(merge_into("wanted", {dir(2)}).code, kClean);
  EXPECT_EQ(tree(folder_ / "wanted"), wanted);
}

TEST_F(MergeTest, FoldersOfCases) {
  const TemporaryFolder cases;
  for (int nodes = 1; nodes < 6; ++nodes) (void)cases.file(std::to_string(nodes) + ".json", chain(nodes));
  const Ran ran = merge_into("all", {cases.string()});
  ASSERT_EQ(ran.code, kClean) << ran.err;
  const Json corpus = Json::parse(ran.out)["corpus"];
  EXPECT_EQ(corpus["read"], 5);
  EXPECT_EQ(corpus["kept"], 1) << "the shortest chain with a pair of ops has all cells";
  EXPECT_EQ(merge_into("all", {folder_ / "nothing"}).code, kUsage);
  const Ran nothing = merge_into("new", {folder_ / "nothing"});
  EXPECT_EQ(nothing.code, kUsage);
  EXPECT_THAT(nothing.err, HasSubstr(folder_ / "nothing" + ": cannot read: no such file or directory"));
  EXPECT_FALSE(fs::exists(folder_ / "new")) << "nothing was merged";
}

// A folder that must stay as it is, though much in it looks like what a merge makes.
class Outside {
 public:
  Outside() {
    for (const char* name : {"defect-a/case.json", "notes.txt", "0123456789abcdef.json", ".tmp-1-2-x"})
      folder_.file(name, "private");
    before_ = tree(folder_.string());
  }
  void link_at(const std::string& place) const {
    fs::create_directories(fs::path(place).parent_path());
    fs::remove_all(place);
    fs::create_directory_symlink(folder_.string(), place);
  }
  bool is_unchanged() const { return tree(folder_.string()) == before_; }
  std::string file() const { return folder_ / "notes.txt"; }

 private:
  const TemporaryFolder folder_;
  std::map<std::string, std::string> before_;
};

TEST_F(MergeTest, LinksInTheDestinationAreNotFollowed) {
  const Outside outside;
  for (const char* place : {".merging", "corpus", "findings", "shards"}) {
    const std::string to = "to-" + std::string(place);
    outside.link_at(folder_ / to + "/" + place);
    const Ran ran = merge_all(to);
    EXPECT_EQ(ran.code, kCannotWrite) << place;
    EXPECT_THAT(ran.err, HasSubstr(folder_ / to + "/" + place + ": cannot make the folder: it is a link"));
    EXPECT_TRUE(outside.is_unchanged()) << place;
  }
  ASSERT_EQ(merge_all("all").code, kClean);
  const auto merged = tree(folder_ / "all");
  for (const char* place : {"findings/defect-a", ".merging/old-defect-a", ".merging/defect-b"}) {
    outside.link_at(folder_ / "all/" + place);
    const Ran ran = merge_all("all");
    EXPECT_THAT(ran.err, HasSubstr(folder_ / "all/" + place)) << place;
    EXPECT_TRUE(outside.is_unchanged()) << place;
    fs::remove(folder_ / "all/" + place);
  }
  EXPECT_EQ(merge_all("all").code, kClean);
  EXPECT_EQ(tree(folder_ / "all"), merged) << "the finding is there again";
}

TEST_F(MergeTest, OnlyFilesOfAFindingAreCopied) {
  const Outside outside;
  const std::string found = dir(1) + "/findings/defect-b/";
  fs::create_symlink(outside.file(), found + "notes.txt");
  fs::create_symlink(outside.file(), found + "7.json");
  ASSERT_FALSE(write_file(found + "12.json", chain(4)));
  ASSERT_FALSE(write_file(found + "case.json.damaged", "{"));
  std::ofstream(found + "huge").close();
  fs::resize_file(found + "huge", uintmax_t{3} << 30);
  fs::create_directory(found + "13.json");
  const Ran ran = merge_all("all");
  EXPECT_EQ(ran.code, kUsage);
  EXPECT_THAT(ran.err, HasSubstr(found + "7.json: cannot read: it is a link"));
  EXPECT_THAT(ran.err, HasSubstr(found + "13.json: cannot read: not a regular file"));
  std::set<std::string> names;
  for (const auto& [name, text] : tree(folder_ / "all/findings/defect-b")) {
    names.insert(name);
    EXPECT_EQ(text.find("private"), std::string::npos) << name;
  }
  EXPECT_EQ(names, (std::set<std::string>{"12.json", "case.json", "count", "min.json", "report.md",
                                          "seen_in.json", "verdict.json"}));
}

TEST_F(MergeTest, WhatAMergeDidNotMakeStays) {
  ASSERT_FALSE(merge_into("all", {dir(0)}).code);
  const TemporaryFolder cases;
  (void)cases.file("1.json", chain(5));
  (void)cases.file("2.json", chain(6));
  ASSERT_EQ(merge_into("all", {cases.string()}).code, kClean);
  const std::vector<std::string> kept = {"notes.txt", "findings/notes.txt", "corpus/0123456789abcdef.json",
                                         "shards/notes.txt"};
  for (const std::string& name : kept) ASSERT_FALSE(write_file(folder_ / "all/" + name, chain(1)));
  for (const char* name : {"findings/defect-a/notes.txt", ".merging/half/notes.txt"}) {
    fs::create_directories(fs::path(folder_ / "all/" + name).parent_path());
    ASSERT_FALSE(write_file(folder_ / "all/" + name, "mine"));
  }
  const Ran ran = merge_all("all");
  EXPECT_EQ(ran.code, kClean) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr(".merging/half: cannot remove"));
  for (const std::string& name : kept) EXPECT_EQ(*read_file(fs::path(folder_ / "all/" + name)), chain(1));
  EXPECT_EQ(*read_file(fs::path(folder_ / "all/.merging/half/notes.txt")), "mine");
  EXPECT_EQ(*read_file(folder_ / "all/findings/defect-a/notes.txt"), "mine")
      << "though the finding was replaced";
  EXPECT_EQ(*read_file(folder_ / "all/findings/defect-a/min.json"), chain(2));
}

TEST_F(MergeTest, RefusesCampaignsAndHostileNames) {
  const Ran into_campaign = fusesmith_command({"merge", dir(0), dir(1)});
  EXPECT_EQ(into_campaign.code, kUsage);
  EXPECT_THAT(into_campaign.err, HasSubstr("holds a campaign of its own"));
  EXPECT_TRUE(is_one_line(into_campaign.err));
  EXPECT_EQ(fusesmith_command({"merge", folder_ / "all"}).code, kUsage) << "no source";

  Stats stats = *parse_stats(*read_file(dir(0) + "/stats.json"));
  stats.findings["../../escaped"] = 1;
  ASSERT_FALSE(write_file(dir(0) + "/stats.json", to_json(stats)));
  ASSERT_EQ(merge_all("all").code, kClean);
  EXPECT_FALSE(fs::exists(folder_ / "escaped"));
  EXPECT_EQ(fusesmith_command({"merge", folder_ / "all", folder_ / "all"}).code, kUsage);
}

}  // namespace
}  // namespace fusesmith::fuzz
