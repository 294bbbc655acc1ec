// Campaigns: the same counts for any number of jobs and any number of pieces; findings on disk; refusals.
#include "fuzz/campaign/campaign.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>
#include <system_error>
#include <thread>

#include "backends/faults.h"
#include "fuzz/base/interrupt_test.h"
#include "fuzz/cli/test_support.h"
#include "fuzz/generate/generator.h"
#include "graph/case.h"

namespace fusesmith::fuzz {
namespace {

using Json = nlohmann::json;

// Machines with a GPU would pick another pair. The last of two flags wins.
Ran on_cpu(std::vector<std::string> args) {
  args.insert(args.begin() + 1, {"--baseline=cpu", "--candidate=cpu_fused"});
  return fusesmith_command(args);
}

Ran fuzz(const std::string& workdir, std::vector<std::string> more) {
  more.insert(more.begin(), {"fuzz", "--json", "--workdir=" + workdir});
  return on_cpu(std::move(more));
}

// What must not depend on how the campaign was cut up.
Json counts(const std::string& stats) {
  Json json = Json::parse(stats);
  json.erase("elapsed_s");
  json.erase("history");
  json.erase("status");
  json.erase("graphs_per_second");
  return json;
}

TEST(Campaign, SameCountsForAnyJobsAndPieces) {
  const TemporaryFolder folder;
  const Ran whole = fuzz(folder / "whole", {"--runs=60", "--seed=3", "--jobs=1"});
  ASSERT_EQ(whole.code, kClean) << whole.err << whole.out;
  const Json wanted = counts(whole.out);
  EXPECT_EQ(wanted["cases"], 60);
  EXPECT_EQ(wanted["next_counter"], 60);
  EXPECT_EQ(wanted["invalid"], 0);
  EXPECT_EQ(wanted["shard"], "0/1");

  EXPECT_EQ(counts(fuzz(folder / "jobs", {"--runs=60", "--seed=3", "--jobs=3"}).out), wanted);
  fuzz(folder / "pieces", {"--runs=25", "--seed=3", "--jobs=2"});
  EXPECT_EQ(counts(fuzz(folder / "pieces", {"--runs=35", "--seed=3", "--jobs=2"}).out), wanted);
  EXPECT_NE(counts(fuzz(folder / "other", {"--runs=60", "--seed=4"}).out)["coverage"], wanted["coverage"]);
  EXPECT_NE(counts(fuzz(folder / "shard", {"--runs=60", "--seed=3", "--shard=1/2"}).out)["coverage"],
            wanted["coverage"]);

  EXPECT_EQ(whole.out, *read_file(folder / "whole/stats.json")) << "--json is stats.json";
  const auto kept = list_json(folder / "whole/corpus"), with_jobs = list_json(folder / "jobs/corpus");
  ASSERT_TRUE(kept.ok() && with_jobs.ok());
  EXPECT_EQ(kept->size(), with_jobs->size());
  for (const std::string& file : *kept) EXPECT_TRUE(read_case_file(file).ok());
}

TEST(Campaign, VerdictsSumToCases) {
  const TemporaryFolder folder;
  const Json stats = Json::parse(fuzz(folder / "w", {"--runs=20"}).out);
  int64_t sum = 0;
  for (const auto& [verdict, count] : stats["verdicts"].items()) sum += count.get<int64_t>();
  EXPECT_EQ(sum, stats["cases"]);
}

TEST(Campaign, RefusesAnotherCampaignsDirectory) {
  const TemporaryFolder folder;
  fuzz(folder / "w", {"--runs=1", "--seed=3"});
  const std::string before = *read_file(folder / "w/stats.json");
  const std::pair<std::string, std::string> others[] = {
      {"--seed=4", "seed 3, not 4"},
      {"--shard=1/2", "shard \"0/1\", not \"1/2\""},
      {"--candidate=cpu", "candidate \"cpu_fused\", not \"cpu\""},
      {"--policy=strict", "policy \"lawful\", not \"strict\""},
  };
  for (const auto& [flag, says] : others) {
    const Ran ran = fuzz(folder / "w", {"--runs=1", "--seed=3", flag});
    EXPECT_EQ(ran.code, kUsage) << flag;
    EXPECT_TRUE(is_one_line(ran.err)) << ran.err;
    EXPECT_NE(ran.err.find(says), std::string::npos) << ran.err;
  }
  EXPECT_EQ(*read_file(folder / "w/stats.json"), before);

  folder.file("w/stats.json", before.substr(0, before.size() / 2));
  EXPECT_EQ(fuzz(folder / "w", {"--runs=1", "--seed=3"}).code, kClean);
  EXPECT_EQ(*read_file(folder / "w/stats.json.damaged"), before.substr(0, before.size() / 2));
}

TEST(Campaign, CorpusIsJudgedOnceAndFirst) {
  const TemporaryFolder folder;
  for (uint64_t i = 0; i < 3; ++i)
    folder.file("corpus/" + std::to_string(i) + ".json", to_json(generate_case(9, 0, i)));
  const Json first = Json::parse(fuzz(folder / "w", {"--runs=2", folder / "corpus"}).out);
  EXPECT_EQ(first["cases"], 5);
  EXPECT_EQ(first["next_counter"], 2);
  const Json second = Json::parse(fuzz(folder / "w", {"--runs=1", folder / "corpus"}).out);
  EXPECT_EQ(second["cases"], 6) << "the corpus is in the counts already";
}

TEST(Campaign, ShardsAreParts) {
  EXPECT_EQ(*parse_shard("0/1"), 0U);
  EXPECT_EQ(*parse_shard("7/8"), 7U);
  for (const char* wrong : {"", "/", "1", "1/", "/2", "2/2", "-1/2", "1/2/3", "a/b", "0/0", " 0/1"}) {
    EXPECT_FALSE(parse_shard(wrong).ok()) << wrong;
  }
}

TEST(Campaign, InterruptedItSavesAndSays72) {
  const TemporaryFolder folder;
  const CaughtSignals caught("fuzz");
  std::jthread interrupter([&] {
    while (!std::filesystem::exists(folder / "w/stats.json"))
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    kill(getpid(), SIGINT);
  });
  const Ran ran = fuzz(folder / "w", {});
  EXPECT_EQ(ran.code, kInterrupted) << ran.err;
  const Json stats = Json::parse(*read_file(folder / "w/stats.json"));
  EXPECT_EQ(stats["cases"], stats["next_counter"]);
}

class CampaignWithFault : public testing::Test {
 protected:
  void SetUp() override {
    if (!kFaultsBuilt) GTEST_SKIP() << "a build without faults";
    fault_ = std::string(all_faults().front().name);
  }
  std::string fault_;
};

TEST_F(CampaignWithFault, LeavesAFolderPerFinding) {
  const TemporaryFolder folder;
  const std::string flag = "--faults=" + fault_;
  const Ran ran = fuzz(folder / "w", {"--runs=2000", "--max_findings=1", flag});
  ASSERT_EQ(ran.code, kFindings) << ran.err << ran.out;
  const Json findings = Json::parse(ran.out)["findings"];
  ASSERT_FALSE(findings.empty());
  for (const auto& [signature, count] : findings.items()) {
    const std::string at = folder / ("w/findings/" + signature);
    EXPECT_EQ(*read_file(at + "/count"), std::to_string(count.get<int64_t>()) + "\n");
    const Json verdict = Json::parse(*read_file(at + "/verdict.json"));
    EXPECT_EQ(verdict["signature"], signature);
    EXPECT_EQ(verdict["file"], "case.json");
    EXPECT_EQ(verdict["minimized"]["file"], "min.json");
    EXPECT_EQ(verdict["minimized"]["signature"], signature);
    EXPECT_GE(verdict["candidate"]["regions"].size(), verdict["minimized"]["candidate"]["regions"].size());
    for (const auto& [key, value] : verdict.items()) {
      const bool of_the_finding = key == "minimized" || key == "neighbours" || key == "report";
      EXPECT_TRUE(of_the_finding || verdict["minimized"].contains(key)) << key;
    }
    const std::string report = *read_file(at + "/report.md");
    for (const std::string& part :
         {signature, flag, at + "/min.json", std::string("allowed"), std::string("replay"),
          std::string("## The case as found"), "`" + at + "/case.json`"}) {
      EXPECT_NE(report.find(part), std::string::npos) << part << "\n" << report;
    }
    const auto start = read_case_file(at + "/case.json"), min = read_case_file(at + "/min.json");
    ASSERT_TRUE(start.ok() && min.ok());
    EXPECT_LE(min->graph.nodes().size(), start->graph.nodes().size());

    const Ran with = fusesmith_command(
        {"replay", "--json", "--baseline=cpu", "--candidate=cpu_fused", flag, at + "/min.json"});
    EXPECT_EQ(with.code, kFindings);
    EXPECT_EQ(Json::parse(with.out)["cases"][0]["signature"], signature);
    EXPECT_EQ(on_cpu({"replay", at + "/min.json"}).code, kClean) << "the fault is what fails";
    EXPECT_EQ(on_cpu({"explain", flag, at + "/min.json"}).code, kFindings);
  }
  EXPECT_EQ(fuzz(folder / "w", {"--runs=1", flag}).code, kFindings) << "old findings count";
}

// Nothing but a metamorphic check finds this one: every bound holds.
TEST_F(CampaignWithFault, MetamorphicFindingsAreReplayedAndMinimized) {
  const TemporaryFolder folder;
  const std::string flag = "--faults=welford_order_by_row";
  EXPECT_EQ(fuzz(folder / "none", {"--runs=100", "--metamorphic=0", flag}).code, kClean);
  const Ran ran =
      fuzz(folder / "w", {"--runs=400", "--seed=4", "--jobs=1", "--metamorphic=1", "--max_findings=1", flag});
  ASSERT_EQ(ran.code, kFindings) << ran.err << ran.out;
  const Json stats = Json::parse(ran.out);
  EXPECT_GT(stats["metamorphic"]["cases"], 0);
  EXPECT_GT(stats["metamorphic"]["checks"]["exchange"], 0);
  for (const auto& [signature, count] : stats["findings"].items()) {
    EXPECT_TRUE(signature.ends_with("-exchange_differs")) << signature;
    const std::string min = folder / ("w/findings/" + signature + "/min.json");
    const Ran replayed = on_cpu({"replay", "--json", flag, min});
    EXPECT_EQ(replayed.code, kFindings);
    EXPECT_EQ(Json::parse(replayed.out)["cases"][0]["signature"], signature);
    EXPECT_EQ(read_case_file(min)->graph.nodes().size(), 1U);
    EXPECT_EQ(on_cpu({"replay", min}).code, kClean) << "the fault is what fails";
  }
}

// As where the judge of a large case gets no thread.
TEST(Campaign, AShortageOfTheHostIsNoFinding) {
  const TemporaryFolder folder;
  const FailingBackend backend([](const Graph& graph) {
    if (graph.nodes().size() % 4 == 0)
      throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
  });
  const Ran ran = fusesmith_command({"fuzz", "--json", "--seed=2", "--baseline=cpu", "--candidate=failing",
                                     "--runs=40", "--workdir=" + (folder / "w")});
  EXPECT_EQ(ran.code, kClean) << ran.err;
  EXPECT_GT(Json::parse(ran.out)["verdicts"]["out_of_memory"], 0);
}

// A campaign of a version without this flag goes on with it.
TEST(Campaign, GoesOnWhereCampaignJsonLacksALaterFlag) {
  const TemporaryFolder folder;
  fuzz(folder / "w", {"--runs=2"});
  Json identity = Json::parse(*read_file(folder / "w/campaign.json"));
  EXPECT_EQ(identity["metamorphic"], 64);
  EXPECT_EQ(fuzz(folder / "w", {"--runs=1", "--metamorphic=1"}).code, kUsage);
  identity.erase("metamorphic");
  folder.file("w/campaign.json", identity.dump());
  Json stats = Json::parse(*read_file(folder / "w/stats.json"));
  stats.erase("metamorphic");
  folder.file("w/stats.json", stats.dump());
  const Ran ran = fuzz(folder / "w", {"--runs=1"});
  EXPECT_EQ(ran.code, kClean) << ran.err;
  EXPECT_EQ(Json::parse(ran.out)["cases"], 3);
}

// A campaign that was killed between finding and reporting.
TEST_F(CampaignWithFault, AResumedCampaignFinishesReports) {
  const TemporaryFolder folder;
  const std::string flag = "--faults=" + fault_;
  ASSERT_EQ(fuzz(folder / "w", {"--runs=2000", "--max_findings=1", "--minimize=0", flag}).code, kFindings);
  const std::string at = std::filesystem::directory_iterator(folder / "w/findings")->path().string();
  EXPECT_FALSE(std::filesystem::exists(at + "/min.json"));
  const std::string report = *read_file(at + "/report.md");
  std::filesystem::remove(at + "/report.md");
  EXPECT_EQ(fuzz(folder / "w", {"--runs=1", "--minimize=0", flag}).code, kFindings);
  EXPECT_EQ(*read_file(at + "/report.md"), report);
}

TEST_F(CampaignWithFault, MinimizeWritesOnlyWhatFails) {
  const TemporaryFolder folder;
  const std::string flag = "--faults=" + fault_;
  ASSERT_EQ(fuzz(folder / "w", {"--runs=2000", "--max_findings=1", "--minimize=0", flag}).code, kFindings);
  const std::string file =
      std::filesystem::directory_iterator(folder / "w/findings")->path().string() + "/case.json";
  const std::string min = folder / "min.json";
  EXPECT_EQ(on_cpu({"minimize", "--output", min, file}).code, kClean) << "without the fault it does not fail";
  EXPECT_FALSE(std::filesystem::exists(min));
  const Ran ran = on_cpu({"minimize", "--output", min, "--json", flag, file});
  EXPECT_EQ(ran.code, kFindings) << ran.err;
  const Json json = Json::parse(ran.out);
  EXPECT_EQ(json["output"], min);
  EXPECT_LE(json["after"]["nodes"], json["before"]["nodes"]);
  EXPECT_EQ(on_cpu({"replay", flag, min}).code, kFindings);
}

}  // namespace
}  // namespace fusesmith::fuzz
