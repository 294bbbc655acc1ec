// Devices that are missing, run out of memory, or fail: what each command says and leaves behind.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "backends/faults.h"
#include "fuzz/campaign/campaign.h"
#include "fuzz/cli/test_support.h"
#include "fuzz/generate/generator.h"
#include "fuzz/report/calibration_text.h"
#include "fuzz/report/first_report.h"

namespace fusesmith::fuzz {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

constexpr uint64_t kSeed = 2;

Ran fuzz(const std::string& workdir, std::vector<std::string> more) {
  more.insert(more.begin(), {"fuzz", "--json", "--seed=" + std::to_string(kSeed), "--baseline=cpu",
                             "--candidate=failing", "--engine=random", "--workdir=" + workdir});
  return fusesmith_command(more);
}

// The last line; those before it are log lines.
std::string last_line(const std::string& text) {
  const size_t end = text.find_last_not_of('\n') + 1, begin = text.rfind('\n', end - 1) + 1;
  return text.substr(begin, end - begin);
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  if (!fs::exists(folder)) return names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

// Whether the graph is that of case number `counter`.
bool is_case(const Graph& graph, uint64_t counter) { return graph == generate_case(kSeed, 0, counter).graph; }

Json counts(const std::string& stats) {
  Json json = Json::parse(stats);
  json.erase("elapsed_s");
  json.erase("history");
  json.erase("status");
  json.erase("graphs_per_second");
  return json;
}

TEST(OutOfDeviceMemory, IsCountedAndTheCampaignGoesOn) {
  const TemporaryFolder folder;
  const FailingBackend backend([](const Graph& graph) {
    if (graph.nodes().size() % 4 == 0) fail_memory();
  });
  const Ran ran = fuzz(folder / "w", {"--runs=40", "--jobs=3"});
  EXPECT_EQ(ran.code, kClean) << ran.err;
  const Json stats = counts(ran.out);
  EXPECT_EQ(stats["cases"], 40);
  int64_t wanted = 0;
  for (uint64_t i = 0; i < 40; ++i) wanted += generate_case(kSeed, 0, i).graph.nodes().size() % 4 == 0;
  EXPECT_GT(wanted, 0);
  EXPECT_EQ(stats["verdicts"]["out_of_memory"], wanted);
  EXPECT_EQ(counts(fuzz(folder / "one", {"--runs=40", "--jobs=1"}).out), stats);
}

TEST(OutOfDeviceMemory, TwentyInARowStopTheCampaign) {
  const TemporaryFolder folder;
  bool full = true;
  const FailingBackend backend([&](const Graph&) {
    if (full) fail_memory();
  });
  const Ran ran = fuzz(folder / "w", {"--runs=100", "--jobs=3"});
  EXPECT_EQ(ran.code, kOutOfMemory);
  EXPECT_EQ(Json::parse(ran.out)["verdicts"]["out_of_memory"], 20);
  EXPECT_TRUE(
      contains(last_line(ran.err), "20 cases in a row ran out of memory, the last: cudaMalloc of 3 MiB"))
      << ran.err;
  full = false;
  const Ran again = fuzz(folder / "w", {"--runs=5"});
  EXPECT_EQ(again.code, kClean) << again.err;
  EXPECT_EQ(Json::parse(again.out)["cases"], 25);
}

TEST(FailedDevice, EndsACampaignWithoutWorkerProcesses) {
  const TemporaryFolder folder;
  bool fails = true;
  const FailingBackend backend([&](const Graph& graph) {
    if (fails && is_case(graph, 7)) fail_device();
  });
  const Ran first = fuzz(folder / "w", {"--runs=12", "--jobs=1"});
  EXPECT_EQ(first.code, kDeviceUnhealthy);
  EXPECT_TRUE(contains(last_line(first.err), "the device failed: kernel softmax: ")) << first.err;
  EXPECT_TRUE(contains(last_line(first.err), "without --processes=0")) << first.err;
  EXPECT_EQ(counts(first.out)["next_counter"], 7);
  EXPECT_EQ(counts(first.out), counts(*read_file(folder / "w/stats.json")));

  fails = false;
  const Ran second = fuzz(folder / "w", {"--runs=5", "--jobs=2"});
  EXPECT_EQ(second.code, kClean) << second.err;
  EXPECT_EQ(counts(second.out), counts(fuzz(folder / "whole", {"--runs=12"}).out));
}

TEST(FailedDevice, WhileAFindingIsMinimizedLeavesItForTheNextStart) {
  if (!kFaultsBuilt) GTEST_SKIP() << "a build without faults";
  const TemporaryFolder folder;
  bool fails = true;
  const FailingBackend backend([&](const Graph& graph) {
    const bool minimizing = fs::exists(folder / "w/findings") && !names_in(folder / "w/findings").empty();
    if (fails && minimizing && graph.nodes().size() <= 3) fail_device();
  });
  const std::vector<std::string> flags = {"--runs=2000", "--max_findings=1", "--jobs=1",
                                          "--faults=" + std::string(all_faults().front().name)};
  EXPECT_EQ(fuzz(folder / "w", flags).code, kDeviceUnhealthy);
  const auto findings = names_in(folder / "w/findings");
  ASSERT_EQ(findings.size(), 1U);
  const std::string report = folder / ("w/findings/" + findings[0] + "/report.md");
  EXPECT_TRUE(read_file(report)->starts_with(kNotFinished));
  EXPECT_FALSE(fs::exists(folder / ("w/findings/" + findings[0] + "/min.json")));
  fails = false;
  const Ran second = fuzz(folder / "w", {"--runs=1", flags.back()});
  EXPECT_EQ(second.code, kFindings) << second.err;
  EXPECT_TRUE(fs::exists(folder / ("w/findings/" + findings[0] + "/min.json")));
}

// Commands on one file.
class FailedDeviceCommand : public testing::Test {
 protected:
  Ran call(std::vector<std::string> args) {
    args.insert(args.begin() + 1, {"--baseline=cpu", "--candidate=failing"});
    return fusesmith_command(args);
  }
  const TemporaryFolder folder_;
  const std::string good_ = folder_.file("cases/a.json", to_json(generate_case(kSeed, 0, 0)));
  const std::string bad_ = folder_.file("cases/b.json", to_json(generate_case(kSeed, 0, 1)));
  const std::string unseen_ = folder_.file("cases/c.json", to_json(generate_case(kSeed, 0, 2)));
};

TEST_F(FailedDeviceCommand, IsOneLineAnd76) {
  const FailingBackend backend([](const Graph& graph) {
    if (is_case(graph, 1)) fail_device();
  });
  for (const std::string command : {"replay", "explain", "minimize"}) {
    const Ran ran = call({command, bad_});
    EXPECT_EQ(ran.code, kDeviceUnhealthy) << command;
    EXPECT_TRUE(is_one_line(ran.err)) << ran.err;
    EXPECT_TRUE(contains(ran.err, "the device failed: kernel softmax: an illegal memory access")) << ran.err;
    EXPECT_EQ(ran.out, "") << command;
  }
  EXPECT_TRUE(read_case_file(folder_ / "cases/b.suspect.json").ok()) << "what minimize ran last";
  fs::remove(folder_ / "cases/b.suspect.json");
  const Ran ran = call({"replay", "--json", folder_ / "cases"});
  EXPECT_EQ(ran.code, kDeviceUnhealthy);
  EXPECT_TRUE(contains(ran.err, bad_)) << ran.err;
  const Json cases = Json::parse(ran.out)["cases"];
  ASSERT_EQ(cases.size(), 1U) << "nothing is run after it";
  EXPECT_EQ(cases[0]["file"], good_);
}

TEST_F(FailedDeviceCommand, OutOfMemoryIs71) {
  const FailingBackend backend([](const Graph& graph) {
    if (is_case(graph, 1)) fail_memory();
  });
  const Ran replayed = call({"replay", folder_ / "cases"});
  EXPECT_EQ(replayed.code, kOutOfMemory);
  EXPECT_TRUE(contains(replayed.out, "out_of_memory: cudaMalloc of 3 MiB")) << replayed.out;
  EXPECT_TRUE(contains(replayed.out, unseen_)) << "the others are still replayed";
  EXPECT_EQ(call({"explain", bad_}).code, kOutOfMemory);
  EXPECT_EQ(call({"minimize", bad_}).code, kOutOfMemory);
  EXPECT_EQ(call({"explain", good_}).code, kClean);
}

TEST_F(FailedDeviceCommand, RepeatsAreCoveredToo) {
  int compilations = 0;
  const FailingBackend backend([&](const Graph&) { ++compilations; });
  EXPECT_EQ(call({"replay", "--repeat=2", good_}).code, kClean);
  EXPECT_EQ(compilations, 1);
}

TEST(MissingDevice, ChoosingItIsOneLineAnd76) {
  const TemporaryFolder folder;
  const FailingBackend backend("absent", "no NVIDIA driver");
  const std::string file = folder.file("a.json", to_json(generate_case(kSeed, 0, 0)));
  const std::vector<std::string> pair = {"--baseline=cpu", "--candidate=absent"};
  const std::vector<std::vector<std::string>> calls = {{"fuzz", "--runs=1", "--workdir=" + (folder / "w")},
                                                       {"replay", file},
                                                       {"minimize", file},
                                                       {"explain", file}};
  for (std::vector<std::string> args : calls) {
    args.insert(args.begin() + 1, pair.begin(), pair.end());
    const Ran ran = fusesmith_command(args);
    EXPECT_EQ(ran.code, kDeviceUnhealthy) << args[0];
    EXPECT_EQ(ran.out, "");
    EXPECT_EQ(ran.err, "fusesmith " + args[0] +
                           ": --candidate=absent cannot run on this machine: no NVIDIA driver; "
                           "`fusesmith list backends` shows the available ones\n");
  }
  EXPECT_FALSE(fs::exists(folder / "w"));
}

TEST(MissingDevice, CasesAboutItAreSkippedVisibly) {
  const TemporaryFolder folder;
  const FailingBackend backend("cuda_fused", "no NVIDIA driver");
  Case test_case = generate_case(kSeed, 0, 0);
  test_case.expect = Expect{{"cpu", "cuda_fused"}, "reassociation", {}, ""};
  const Ran ran = fusesmith_command({"replay", folder.file("a.json", to_json(test_case))});
  EXPECT_EQ(ran.code, kClean);
  EXPECT_TRUE(contains(ran.out, "unsupported: cuda_fused cannot run on this machine: no NVIDIA driver."))
      << ran.out;
}

TEST(MissingDevice, IsListed) {
  const FailingBackend backend("absent", "no NVIDIA driver");
  const std::string text = fusesmith_command({"list", "backends"}).out;
  EXPECT_TRUE(contains(text, "no NVIDIA driver")) << text;
  const Json json = Json::parse(fusesmith_command({"list", "backends", "--json"}).out)["backends"];
  for (const Json& item : json) {
    const bool absent = item["name"] == "absent";
    if (!absent && !item["name"].get<std::string>().starts_with("cpu")) continue;
    EXPECT_EQ(item["available"], !absent);
    EXPECT_EQ(item["why_not"], absent ? "no NVIDIA driver" : "");
  }
}

TEST(MissingDevice, DefaultsAreWhatCanRun) {
  {
    const FailingBackend cuda("cuda", "no NVIDIA driver"), fused("cuda_fused", "no NVIDIA driver");
    EXPECT_EQ(default_baseline(), "cpu");
    EXPECT_EQ(default_candidate(), "cpu_fused");
  }
  const FailingBackend cuda([](const Graph&) {}, "cuda"), fused([](const Graph&) {}, "cuda_fused");
  EXPECT_EQ(default_baseline(), "cuda");
  EXPECT_EQ(default_candidate(), "cuda_fused");
}

TEST(MissingDevice, ACampaignKeepsItsPair) {
  const TemporaryFolder folder;
  {
    const FailingBackend backend([](const Graph&) {});
    ASSERT_EQ(fuzz(folder / "w", {"--runs=2"}).code, kClean);
    const std::vector<std::string> resume = {"fuzz", "--seed=" + std::to_string(kSeed), "--runs=1",
                                             "--workdir=" + (folder / "w")};
    const Ran ran = fusesmith_command(resume);
    EXPECT_EQ(ran.code, kClean) << ran.err;
    EXPECT_TRUE(contains(ran.out, "cpu against failing")) << ran.out;
  }
  const FailingBackend backend("failing", "the GPU does not answer");
  const Ran ran =
      fusesmith_command({"fuzz", "--seed=" + std::to_string(kSeed), "--workdir=" + (folder / "w")});
  EXPECT_EQ(ran.code, kDeviceUnhealthy);
  EXPECT_TRUE(contains(ran.err, "failing cannot run on this machine: the GPU does not answer")) << ran.err;
}

TEST(Calibrate, ComparesWithWhatIsDeclared) {
  Calibration calibration{"a card", {{"exp", 2.5, 1, 2.56, 0.5}, {"log", 9, 1, 0, 0}}};
  EXPECT_TRUE(exceeding(calibration).empty()) << "nothing declares log";
  EXPECT_TRUE(contains(calibration_text(calibration), "within")) << calibration_text(calibration);
  const std::vector<ScalarError> wrong = {
      {"exp", 2.57, 1, 2.56, 0}, {"exp", 1, 1, 2.56, 1.5}, {"exp", NAN, 1, 2.56, 0}};
  for (const ScalarError& function : wrong) {
    calibration.functions[0] = function;
    EXPECT_EQ(exceeding(calibration), std::vector<std::string>{"exp"});
    const Json json = Json::parse(calibration_json(calibration));
    EXPECT_EQ(json["functions"][0]["exceeds"], true);
    EXPECT_EQ(json["functions"][1]["declared_u"], Json());
    EXPECT_TRUE(contains(calibration_text(calibration), "EXCEEDED: exp")) << calibration_text(calibration);
  }
}

TEST(Calibrate, WithoutAGpuIsOneLineAnd76) {
  const FailingBackend cuda("cuda", "no NVIDIA driver");
  const Ran ran = fusesmith_command({"calibrate"});
  EXPECT_EQ(ran.code, kDeviceUnhealthy);
  EXPECT_TRUE(is_one_line(ran.err)) << ran.err;
  EXPECT_EQ(ran.out, "");
}

}  // namespace
}  // namespace fusesmith::fuzz
