// The files by which a campaign is watched: as docs/workdir.md has them, and bounded.
#include "fuzz/workdir/campaign_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "fuzz/cli/test_support.h"
#include "fuzz/workdir/metrics.h"

namespace fusesmith::fuzz {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using testing::HasSubstr;

std::string documentation() { return *read_file(std::string(FUSESMITH_SOURCE_DIR) + "/docs/workdir.md"); }

std::vector<std::string> lines_of(const fs::path& file) {
  std::vector<std::string> lines;
  std::istringstream text(*read_file(file));
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

Stats some_stats() {
  Stats stats = Stats::with_patterns();
  stats.seed = 7;
  stats.shard = "2/8";
  stats.cases = stats.verdicts[0] = 100;
  stats.elapsed_s = 61.5;
  stats.next = 100;
  stats.findings = {{"defect-a", 3}, {"timeout-b", 1}};
  CampaignStatus& status = stats.status.emplace();
  status.rate_now = 2.5;
  status.threads = {{"run", 3}};
  status.gaps = 12;
  status.last_finding_s = 40;
  status.worker_restarts = 2;
  status.quarantined = {"GPU-1"};
  status.time_left_s = 9;
  return stats;
}

class CampaignFilesTest : public testing::Test {
 protected:
  Ran fuzz(std::vector<std::string> more) const {
    more.insert(more.begin(), {"fuzz", "--baseline=cpu", "--candidate=cpu_fused", "--json",
                               "--workdir=" + folder_.string()});
    return fusesmith_command(more);
  }
  Json stats() const { return Json::parse(*read_file(folder_ / "stats.json")); }

  const TemporaryFolder folder_;
};

TEST_F(CampaignFilesTest, EveryFileIsDocumented) {
  ASSERT_EQ(fuzz({"--runs=8"}).code, kClean);
  const std::string text = documentation();
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder_.string())) {
    const std::string name = entry.path().filename().string();
    names.insert(name);
    EXPECT_THAT(text, HasSubstr("`" + name +
                                (name == "findings"     ? "/SIGNATURE/`"
                                 : entry.is_directory() ? "/`"
                                                        : "`")));
  }
  for (const char* name : {"stats.json", "metrics.prom", "plot_data", "log.jsonl"})
    EXPECT_TRUE(names.contains(name));
  const Json status = stats()["status"];
  EXPECT_EQ(status["running"], false);
  for (const auto& [key, value] : status.items()) EXPECT_THAT(text, HasSubstr("`" + key));
}

TEST_F(CampaignFilesTest, MetricsAreInTheFormatOfPrometheusAndDocumented) {
  const Stats stats = some_stats();
  const std::string text = metrics_text(stats, *stats.status, "cpu", "a\"b\\c\nd", 1700000000),
                    docs = documentation();
  const std::regex sample(R"re(([a-z_]+)\{(?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)+\} (-?[0-9.]+))re");
  const std::regex heading(R"(# (?:HELP|TYPE) ([a-z_]+) .+)");
  std::istringstream lines(text);
  std::string current;
  std::smatch match;
  std::set<std::string> names;
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_match(line, match, heading)) {
      current = match[1];
    } else {
      ASSERT_TRUE(std::regex_match(line, match, sample)) << line;
      EXPECT_EQ(match[1], current) << "samples of a metric follow its heading";
      names.insert(current);
      EXPECT_THAT(line, HasSubstr("seed=\"7\",shard=\"2/8\""));
    }
  }
  for (const std::string& name : names) {
    EXPECT_THAT(docs, HasSubstr("| `" + name + "` | " + (name.ends_with("_total") ? "counter" : "gauge")));
    EXPECT_THAT(text, HasSubstr("# TYPE " + name + (name.ends_with("_total") ? " counter" : " gauge")));
  }
  EXPECT_EQ(std::count(docs.begin(), docs.end(), '\0'), 0);
  EXPECT_THAT(text, HasSubstr("fusesmith_cases_total{seed=\"7\",shard=\"2/8\"} 100\n"));
  EXPECT_THAT(text, HasSubstr("candidate=\"a\\\"b\\\\c\\nd\""));
  EXPECT_THAT(text, HasSubstr("stage=\"run\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("fusesmith_failing_cases_total{seed=\"7\",shard=\"2/8\"} 4\n"));
}

// As afl-plot reads it: 13 columns or more, separated by ", ".
TEST_F(CampaignFilesTest, PlotDataHasTheColumnsOfAfl) {
  ASSERT_EQ(fuzz({"--runs=8"}).code, kClean);
  const auto lines = lines_of(folder_ / "plot_data");
  ASSERT_GE(lines.size(), 2U);
  EXPECT_TRUE(lines[0].starts_with(
      "# relative_time, cycles_done, cur_item, corpus_count, pending_total, pending_favs, "
      "map_size, saved_crashes, saved_hangs, max_depth, execs_per_sec, total_execs, "
      "edges_found"));
  const auto columns = std::count(lines[0].begin(), lines[0].end(), ',');
  for (const std::string& line : lines) EXPECT_EQ(std::count(line.begin(), line.end(), ','), columns) << line;
  EXPECT_THAT(lines.back(), HasSubstr(", 8, "));
  const Stats stats = some_stats();
  EXPECT_EQ(plot_line(stats, *stats.status, 5, 2),
            "62, 0, 100, 5, 12, 0, 0.00%, 1, 1, 0, 2.50, 100, 0, 4, 2");
}

TEST_F(CampaignFilesTest, PlotDataStaysSmallAndGoesOn) {
  constexpr double kYear = 365 * 86400;
  const Stats stats = some_stats();
  int64_t added = 0;
  const auto run = [&](double from, double until) {
    PlotData plot(WorkPath(folder_.string()));
    for (double time = from; time < until; time += 2) {
      if (!plot.is_due(time)) continue;
      Stats now = stats;
      now.elapsed_s = time;
      ASSERT_FALSE(plot.add(plot_line(now, *now.status, 0, 1), time));
      ++added;
    }
  };
  run(0, kYear / 20);
  const auto lines = lines_of(folder_ / "plot_data");
  EXPECT_LE(lines.size(), PlotData::kMaxLines + 1);
  EXPECT_GT(lines.size(), PlotData::kMaxLines / 4);
  ASSERT_FALSE(write_file(folder_ / "plot_data", *read_file(folder_ / "plot_data") + "62, dam"));
  added = 0;
  run(kYear / 20, kYear / 20 + 3600);
  EXPECT_LT(added, 100) << "lines are as far apart as before";
  double last = -1;
  for (const std::string& line : lines_of(folder_ / "plot_data")) {
    if (line[0] == '#') continue;
    const double time = std::stod(line);
    EXPECT_GT(time, last);
    last = time;
    EXPECT_THAT(line, Not(HasSubstr("dam")));
  }
  EXPECT_GT(last, kYear / 20);
}

TEST_F(CampaignFilesTest, LogIsOneObjectALine) {
  ASSERT_EQ(fuzz({"--runs=5", "--log_level=debug"}).code, kClean);
  std::map<std::string, int> events;
  const std::string docs = documentation();
  for (const std::string& line : lines_of(folder_ / "log.jsonl")) {
    const Json json = Json::parse(line, nullptr, false);
    ASSERT_TRUE(json.is_object()) << line;
    EXPECT_TRUE(std::regex_match(json["time"].get<std::string>(),
                                 std::regex(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d)")))
        << line;
    const std::string event = json["event"], level = json["level"];
    EXPECT_THAT(docs, HasSubstr("| `" + event + "` | " + level + " |"));
    ++events[event];
  }
  EXPECT_EQ(events, (std::map<std::string, int>{{"start", 1}, {"case", 5}, {"end", 1}}));
  ASSERT_EQ(fuzz({"--runs=5", "--log_level=error"}).code, kClean);
  EXPECT_EQ(lines_of(folder_ / "log.jsonl").size(), 7U) << "nothing more";
}

TEST_F(CampaignFilesTest, LogsAreRotated) {
  EventLog log(WorkPath(folder_.string()), "info");
  const std::string text(1 << 16, 'x');
  const auto lines = static_cast<int>(EventLog::kMaxBytes / text.size() * (EventLog::kOlderFiles + 3));
  for (int i = 0; i < lines; ++i) log.write(EventLog::Level::info, "test", {{"text", text}});
  size_t files = 0;
  for (const auto& entry : fs::directory_iterator(folder_.string())) {
    ++files;
    EXPECT_LE(entry.file_size(), EventLog::kMaxBytes);
    EXPECT_TRUE(std::regex_match(entry.path().filename().string(), std::regex(R"(log(\.[1-3])?\.jsonl)")));
  }
  EXPECT_EQ(files, EventLog::kOlderFiles + 1);
}

TEST_F(CampaignFilesTest, WithoutThemTheCampaignGoesOn) {
  for (const char* name : {"metrics.prom", "plot_data", "log.jsonl"}) fs::create_directories(folder_ / name);
  EXPECT_EQ(fuzz({"--runs=5"}).code, kClean);
  EXPECT_EQ(stats()["cases"], 5);
}

// A log that is a link was appended to where it leads, and a pipe stopped the campaign for ever.
TEST_F(CampaignFilesTest, LinksAndPipesAreNotOpened) {
  for (const char* name : {"log.jsonl", "plot_data", "metrics.prom", "log.1.jsonl"}) {
    folder_.file("outside", "private");
    fs::remove(folder_ / name);
    fs::create_symlink("outside", folder_ / name);
    const Ran linked = fuzz({"--runs=2"});
    EXPECT_EQ(linked.code, kClean) << linked.err;
    EXPECT_EQ(*read_file(folder_ / "outside"), "private") << name;
    fs::remove(folder_ / name);
    ASSERT_EQ(mkfifo((folder_ / name).c_str(), 0600), 0);
    EXPECT_EQ(fuzz({"--runs=2"}).code, kClean) << name;
    if (name != std::string("log.jsonl")) continue;
    EXPECT_THAT(linked.err, HasSubstr(folder_ / name + ": cannot write: it is a link"));
    fs::remove(folder_ / name);
  }
  PlotData plot(WorkPath(folder_.string()));
  EXPECT_FALSE(plot.add("1, 0", 0));
  fs::remove(folder_ / "plot_data");
  ASSERT_EQ(mkfifo((folder_ / "plot_data").c_str(), 0600), 0);
  EXPECT_TRUE(plot.add("6, 0", 5)) << "the line is not appended to a pipe";
}

TEST_F(CampaignFilesTest, StatusGoesOn) {
  Stats stats = some_stats();
  const auto read = parse_stats(to_json(stats));
  ASSERT_TRUE(read.ok()) << read.problem();
  EXPECT_EQ(read->status->last_finding_s, 40);
  EXPECT_EQ(read->status->worker_restarts, 2);
  stats.status.reset();
  EXPECT_FALSE(parse_stats(to_json(stats))->status);
}

TEST_F(CampaignFilesTest, TotalRunsCountsEarlierCalls) {
  ASSERT_EQ(fuzz({"--runs=5", "--total_runs=8"}).code, kClean);
  EXPECT_EQ(stats()["cases"], 5);
  ASSERT_EQ(fuzz({"--total_runs=8"}).code, kClean);
  EXPECT_EQ(stats()["cases"], 8);
  ASSERT_EQ(fuzz({"--total_runs=8"}).code, kClean);
  EXPECT_EQ(stats()["cases"], 8);
}

}  // namespace
}  // namespace fusesmith::fuzz
