// No file starts a program or loads a module or a library: every command is given case files, folders and
// work directories that name one, and nothing runs. A new command is tried without a line here.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "backends/remote/worker_names.h"
#include "fuzz/cli/test_support.h"
#include "fuzz/run/judging.h"

namespace fusesmith::fuzz {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// A worker that leaves a trace as soon as it starts: a file.
struct Tracer {
  std::string name;
  std::string trace;
};

// Of every kind that a file may not name.
Tracer tracer(const WorkerKind& kind, const TemporaryFolder& folder) {
  using Starts = WorkerKind::Starts;
  const std::string trace = folder / "trace", prefix(kind.prefix);
  if (kind.starts == Starts::command) return {prefix + "touch " + trace, trace};
  if (kind.starts == Starts::plugin) {
    const fs::path plugins = fs::absolute(program()).parent_path() / "plugins";
    return {prefix + (plugins / "faulty_plugin.so").string(), trace};
  }
  folder.file("kernel.py", "open('" + trace + "', 'w').close()\n\n\ndef f(x):\n    return x\n");
  return {prefix + (folder / "kernel.py") + ":f", trace};
}

std::vector<WorkerKind> kinds_of_programs() {
  std::vector<WorkerKind> kinds;
  for (const WorkerKind& kind : worker_kinds()) {
    if (!kind.from_files) kinds.push_back(kind);
  }
  return kinds;
}

class NamedByFiles : public testing::TestWithParam<WorkerKind> {
 protected:
  NamedByFiles() {
    Case test_case;
    test_case.graph = parse_case(R"({"fusesmith": 1, "graph": {
      "inputs": [{"name": "x", "type": "f32[4,8]", "fill": {"normal": {}}}],
      "nodes": [{"name": "r", "op": "relu", "inputs": ["x"]}], "outputs": ["r"]}})")
                          ->graph;
    test_case.expect = Expect{{"cpu", "cpu_fused"}, "identical", {}, ""};
    good_ = folder_.file("good.json", to_json(test_case));
    test_case.expect = Expect{{"cpu", tracer_.name}, "identical", {}, ""};
    bad_ = folder_.file("finding/case.json", to_json(test_case));
    folder_.file("finding/verdict.json",
                 Json{{"file", "case.json"}, {"verdict", "crash"}, {"signature", "crash-x"}}.dump());
  }

  int run(const std::string& arguments) const {
    fs::remove(tracer_.trace);
    return run_shell("cd " + shell_quoted(folder_.string()) +
                         " && TRACE_OF_LOADING=" + shell_quoted(tracer_.trace) + " timeout -k 5 100 \"$P\" " +
                         arguments + " </dev/null",
                     folder_);
  }
  std::string out() const { return *read_file(folder_ / "out"); }
  std::string err() const { return *read_file(folder_ / "err"); }
  bool was_started() const { return fs::exists(tracer_.trace); }
  std::string candidate() const { return "--candidate=" + shell_quoted(tracer_.name); }

  std::string refusal(const std::string& command, const std::string& file) const {
    return "fusesmith " + command + ": " + file + ": names the program '" + tracer_.name +
           "', which a file may not start; to run it, give " + candidate() + "\n";
  }

  // A campaign of the CPU pair that somebody has changed, with a finding, a suspect and a corpus case.
  std::string make_workdir(const std::string& name) const {
    const std::string at = folder_ / name;
    EXPECT_EQ(run("fuzz --runs=1 --jobs=1 --baseline=cpu --candidate=cpu_fused --workdir=" + at), kClean)
        << err();
    Json campaign = Json::parse(*read_file(at + "/campaign.json"));
    campaign["candidate"] = tracer_.name;
    folder_.file(name + "/campaign.json", campaign.dump());
    for (const char* file : {"findings/crash-x/case.json", "corpus/1.json"})
      folder_.file(name + "/" + file, *read_file(bad_));
    fs::copy(folder_ / "finding/verdict.json", at + "/findings/crash-x/verdict.json");
    return at;
  }

  const TemporaryFolder folder_;
  const Tracer tracer_ = tracer(GetParam(), folder_);
  std::string good_, bad_;
};

bool has_flag(const FlagTable& table, std::string_view name) {
  return std::any_of(table.flags.begin(), table.flags.end(),
                     [&](const Flag& flag) { return flag.name == name; });
}

// Without which a command does nothing, or does not end.
std::string needed(std::string_view command) {
  if (command == "export") return "--to=numpy --with_results --output=exported_case.py ";
  if (command == "fuzz") return "--runs=1 --jobs=1 --workdir=other ";
  if (command == "import") return "--output=imported ";
  if (command == "merge") return "merged ";
  return "";
}

TEST_P(NamedByFiles, StartNothing) {
  const std::string workdir = make_workdir("w");
  for (const Command& command : all_commands()) {
    const std::string call = std::string(command.name) + " " + needed(command.name);
    for (const std::string& path :
         {bad_, folder_ / "finding", workdir, workdir + "/findings/crash-x/case.json"}) {
      const int code = run(call + path);
      EXPECT_FALSE(was_started()) << call + path;
      EXPECT_NE(code, 124) << call + path << " did not end";
      bool judges = false;
      command.with_table([&](const FlagTable& table) {
        judges = table.positional.name.starts_with("CASE.json") && has_flag(table, "candidate");
      });
      if (!judges || path != bad_) continue;
      EXPECT_EQ(code, kUsage) << call + path;
      EXPECT_EQ(err(), refusal(std::string(command.name), path)) << out();
    }
  }
}

TEST_P(NamedByFiles, AreStartedWhereTheCommandLineNamesThem) {
  if (GetParam().starts == WorkerKind::Starts::script &&
      std::system("\"${FUSESMITH_PYTHON:-python3}\" -c 'import numpy' 2>/dev/null") != 0)
    GTEST_SKIP() << "no NumPy; FUSESMITH_PYTHON names another interpreter";
  run("replay " + candidate() + " " + bad_);
  EXPECT_TRUE(was_started()) << err();
  EXPECT_EQ(run("replay --candidate=cpu_fused " + bad_), kClean) << "its expectation is skipped: " << err();
  EXPECT_FALSE(was_started());
}

TEST_P(NamedByFiles, OtherFilesAreReplayed) {
  for (const std::string& files : {bad_ + " " + good_, good_ + " " + bad_, folder_.string()}) {
    EXPECT_EQ(run("replay " + files), kUsage) << err();
    EXPECT_NE(out().find("good.json: identical, as expected"), std::string::npos) << out() << err();
    EXPECT_NE(err().find(refusal("replay", bad_)), std::string::npos) << err();
    EXPECT_FALSE(was_started());
  }
  EXPECT_EQ(run("replay - < " + bad_ + " 2>&1 | grep -c \"standard input: names the program\" ; true"),
            kClean);
}

TEST_P(NamedByFiles, CampaignsGoOnWithTheFlagsAlone) {
  const std::string workdir = make_workdir("fusesmith-work");
  for (const std::string& flags : {"--workdir=" + workdir, std::string(), std::string("--processes=0")}) {
    EXPECT_EQ(run("fuzz --runs=1 --jobs=1 " + flags), kUsage) << out();
    const std::string file = flags.starts_with("--w") ? workdir : std::string("fusesmith-work");
    EXPECT_EQ(err(), refusal("fuzz", file + "/campaign.json"));
    EXPECT_FALSE(was_started()) << flags;
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, NamedByFiles, testing::ValuesIn(kinds_of_programs()), [](const auto& kind) {
  return std::string(kind.param.prefix.substr(0, kind.param.prefix.size() - 1));
});

TEST(ProgramsOfCampaigns, AreGivenAgainToResume) {
  const TemporaryFolder folder;
  const std::string worker =
      std::string("remote:python3 '") + FUSESMITH_SOURCE_DIR + "/python/tests/workers/faulty_worker.py' none";
  const std::string call =
      "\"$P\" fuzz --runs=2 --jobs=1 --ops=relu --minimize=0 --error_exitcode=0 --baseline=cpu --workdir=" +
      folder.string() + "/w";
  ASSERT_EQ(run_shell(call + " --candidate=" + shell_quoted(worker), folder), kClean)
      << *read_file(folder / "err");
  EXPECT_EQ(run_shell(call, folder), kUsage);
  EXPECT_EQ(*read_file(folder / "err"),
            "fusesmith fuzz: " + (folder / "w/campaign.json") + ": names the program '" + worker +
                "', which a file may not start; to run it, give --candidate=" + shell_quoted(worker) + "\n");
  EXPECT_EQ(run_shell(call + " --candidate=" + shell_quoted(worker), folder), kClean)
      << *read_file(folder / "err");
  EXPECT_EQ(Json::parse(*read_file(folder / "w/stats.json"))["cases"], 4);
}

// What no command has given is not started, whoever asks.
TEST(WorkerNames, AreStartedOnlyIfTheyWereAllowed) {
  const std::string name = "remote:true a program of this test alone";
  EXPECT_FALSE(may_start(name));
  EXPECT_EQ(find_backend(name), nullptr);
  EXPECT_FALSE(worker_spec(name).ok());
  EXPECT_FALSE(worker_name_problem(name)) << "a file may still hold it";
  EXPECT_TRUE(may_start("torch:eager") && may_start("cpu") && may_start(""));
  allow_worker(name);
  EXPECT_NE(find_backend(name), nullptr);
  EXPECT_FALSE(may_start(name + " ")) << "this name, and no other";
}

}  // namespace
}  // namespace fusesmith::fuzz
