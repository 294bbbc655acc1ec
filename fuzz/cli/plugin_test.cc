// Plug-ins that misbehave (python/tests/workers/faulty_plugin.cc): each kind of fault ends in its own
// verdict, and a library that cannot be used is a one-line error.
#include <gtest/gtest.h>

#include "backends/remote/worker_names.h"
#include "fuzz/cli/test_support.h"
#include "fuzz/run/judging.h"

namespace fusesmith::fuzz {
namespace {

std::string library(const std::string& name) {
  return (std::filesystem::path(program()).parent_path() / "plugins" / (name + ".so")).string();
}

// In this process `plugin:PATH` would start the tests instead of the program.
std::string worker_for(const std::string& path, const std::string& fault = "none") {
  const std::string name = "remote:env FAULT=" + fault + " '" + program() + "' plugin-worker '" + path + "'";
  allow_worker(name);
  return name;
}

Case small_case_plugin(const std::string& op = "relu") {
  return *parse_case(R"({"fusesmith": 1, "seed": 3, "graph": {
    "inputs": [{"name": "x", "type": "f32[5,7]", "fill": {"normal": {}}},
               {"name": "y", "type": "f32[5,7]", "fill": {"normal": {}}}],
    "nodes": [{"name": "r", "op": ")" +
                     op + R"(", "inputs": ["x"]}, {"name": "s", "op": "add", "inputs": ["r", "y"]}],
    "outputs": ["s"]}})");
}

Verdict judge_with(const std::string& candidate, const Case& test_case = small_case_plugin(),
                   double seconds = 60) {
  JudgeFlags flags;
  flags.baseline = "cpu";
  flags.candidate = candidate;
  flags.compile_timeout = flags.run_timeout = seconds;
  Judging judging(flags);
  judging.why_not.clear();  // the library is loaded as part of the run
  return judging.run(test_case).verdict;
}

struct Expected {
  const char* fault;
  VerdictClass verdict;
  Symptom symptom;
};

class FaultyPlugin : public testing::TestWithParam<Expected> {};

TEST_P(FaultyPlugin, HasItsVerdict) {
  const Expected& expected = GetParam();
  const bool hangs = std::string(expected.fault) == "hangs";
  const Verdict verdict =
      judge_with(worker_for(library("faulty_plugin"), expected.fault), small_case_plugin(), hangs ? 1 : 60);
  EXPECT_EQ(name(verdict.verdict), name(expected.verdict)) << verdict.reason;
  EXPECT_EQ(verdict.finding, expected.symptom != Symptom::none);
  EXPECT_EQ(verdict.reason.find('\n'), std::string::npos) << verdict.reason;
  if (expected.symptom == Symptom::none) return;
  ASSERT_TRUE(verdict.signature);
  EXPECT_EQ(name(verdict.signature->symptom), name(expected.symptom)) << verdict.reason;
}

constexpr Expected kFaults[] = {
    {"none", VerdictClass::identical, Symptom::none},
    {"prints_to_standard_output", VerdictClass::identical, Symptom::none},
    {"strict_contract", VerdictClass::identical, Symptom::none},
    {"zeros", VerdictClass::defect, Symptom::out_of_bounds},
    {"overwrites_an_input", VerdictClass::defect, Symptom::source_overwritten},
    {"writes_after_an_output", VerdictClass::defect, Symptom::guard_overwritten},
    {"writes_before_an_output", VerdictClass::defect, Symptom::guard_overwritten},
    {"writes_after_an_input", VerdictClass::defect, Symptom::guard_overwritten},
    {"leaves_an_element", VerdictClass::defect, Symptom::depends_on_unwritten_memory},
    {"adds_to_an_output", VerdictClass::defect, Symptom::depends_on_unwritten_memory},
    {"last_bit_depends_on_memory", VerdictClass::defect, Symptom::depends_on_unwritten_memory},
    {"reads_after_an_input", VerdictClass::defect, Symptom::depends_on_unwritten_memory},
    {"differs_from_run_to_run", VerdictClass::nondeterministic, Symptom::repeat_differs},
    {"remembers_addresses", VerdictClass::nondeterministic, Symptom::repeat_differs},
    {"returns_an_error", VerdictClass::crash, Symptom::thrown},
    {"returns_out_of_memory", VerdictClass::out_of_memory, Symptom::none},
    {"throws", VerdictClass::crash, Symptom::thrown},
    {"throws_a_number", VerdictClass::crash, Symptom::thrown},
    {"throws_bad_alloc", VerdictClass::out_of_memory, Symptom::none},
    {"throws_at_supports", VerdictClass::crash, Symptom::thrown},
    {"contract_is_no_json", VerdictClass::crash, Symptom::thrown},
    {"contract_with_an_unknown_key", VerdictClass::defect, Symptom::bad_reply},
    {"exits", VerdictClass::crash, Symptom::died},
    {"exits_at_load", VerdictClass::crash, Symptom::died},
    {"aborts", VerdictClass::crash, Symptom::died},
    {"segfaults", VerdictClass::crash, Symptom::died},
    {"segfaults_at_supports", VerdictClass::crash, Symptom::died},
    {"hangs", VerdictClass::timeout, Symptom::timed_out},
};

INSTANTIATE_TEST_SUITE_P(All, FaultyPlugin, testing::ValuesIn(kFaults),
                         [](const auto& fault) { return fault.param.fault; });

TEST(Plugin, UnsupportedIsCountedByReason) {
  const Verdict verdict = judge_with(worker_for(library("faulty_plugin")), small_case_plugin("exp"));
  EXPECT_EQ(verdict.verdict, VerdictClass::unsupported);
  EXPECT_NE(verdict.reason.find("only relu and add"), std::string::npos) << verdict.reason;
}

TEST(Plugin, ReasonsNameTheError) {
  for (const auto& [fault, text] : std::vector<std::pair<std::string, std::string>>{
           {"returns_an_error", "no kernel image for this device"},
           {"throws", "threw an exception: no such row"},
           {"exits_at_load", "exit code 3 at hello"},
           {"contract_is_no_json", "no JSON object: {{"}}) {
    const Verdict verdict = judge_with(worker_for(library("faulty_plugin"), fault));
    EXPECT_NE(verdict.reason.find(text), std::string::npos) << fault << ": " << verdict.reason;
  }
}

// Through files in memory, both ways.
TEST(Plugin, LargeTensorsArePassed) {
  const Case test_case = *parse_case(R"({"fusesmith": 1, "graph": {
    "inputs": [{"name": "x", "type": "f32[600,1000]", "fill": {"normal": {}}},
               {"name": "y", "type": "f32[600,1000]", "fill": {"normal": {}}}],
    "nodes": [{"name": "r", "op": "relu", "inputs": ["x"]}, {"name": "s", "op": "add", "inputs": ["r", "y"]}],
    "outputs": ["s"]}})");
  EXPECT_EQ(judge_with(worker_for(library("faulty_plugin")), test_case).verdict, VerdictClass::identical);
}

// As a user names plug-ins, of the program itself.
class PluginCommand : public testing::Test {
 protected:
  int replay(const std::string& plugin, const std::string& fault = "none") {
    return run_shell("FAULT=" + fault + " \"$P\" replay --baseline=cpu '--candidate=plugin:" + plugin +
                         "' '" + file_ + "'",
                     folder_);
  }
  std::string errors() const { return *read_file(folder_ / "err"); }

  const TemporaryFolder folder_;
  const std::string file_ = folder_.file("case.json", to_json(small_case_plugin()));
};

TEST_F(PluginCommand, JudgesALibrary) {
  EXPECT_EQ(replay(library("faulty_plugin")), kClean) << errors();
  EXPECT_EQ(replay(library("faulty_plugin"), "zeros"), kFindings) << errors();
}

TEST_F(PluginCommand, ALibraryThatCannotBeUsedIsOneLine) {
  const std::string text = folder_.file("text.so", "no library");
  std::vector<std::pair<std::string, std::string>> expected = {
      {folder_ / "none.so", "none.so: no such file"},
      {text, "text.so: "},
      {folder_.string(), "cannot load the plug-in"},
      {library("plugin_of_another_abi"), "version 2 of the plug-in ABI; this program has 1"},
      {library("plugin_without_run"), "no function fusesmith_plugin_run"},
      {library("plugin_for_an_unknown_device"), "fusesmith_plugin_device_type returned 99"},
  };
#ifndef FUSESMITH_HAS_CUDA
  expected.emplace_back(library("plugin_for_cuda"), "computes on a GPU: this build has no CUDA");
#endif
  for (const auto& [path, words] : expected) {
    EXPECT_EQ(replay(path), kUsage) << path;
    EXPECT_TRUE(is_one_line(errors())) << errors();
    EXPECT_NE(errors().find(words), std::string::npos) << errors();
  }
  EXPECT_EQ(replay(""), kUsage);
  EXPECT_NE(errors().find("expected plugin:PATH.so"), std::string::npos) << errors();
}

TEST_F(PluginCommand, APathWithoutASlashIsAFile) {
  std::filesystem::copy(library("faulty_plugin"), folder_ / "mine.so");
  EXPECT_EQ(
      run_shell("cd '" + folder_.string() + "'; \"$P\" check-worker plugin:mine.so --samples=1", folder_),
      kClean)
      << *read_file(folder_ / "out") << errors();
  EXPECT_NE(read_file(folder_ / "out")->find("ok      ends when its standard input does"), std::string::npos);
}

// By hand, the worker gets something else than requests.
TEST_F(PluginCommand, TheWorkerRefusesOtherInput) {
  const std::string worker = "\"$P\" plugin-worker '" + library("faulty_plugin") + "'";
  EXPECT_EQ(run_shell("echo hello, is anybody there | " + worker, folder_), kUsage);
  EXPECT_EQ(errors(), "fusesmith plugin-worker: standard input holds no frame\n");
  EXPECT_EQ(
      run_shell("printf 'FSM1\\002\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000{{' | " + worker,
                folder_),
      kUsage);
  EXPECT_TRUE(is_one_line(errors())) << errors();
  EXPECT_EQ(run_shell(worker + " </dev/null", folder_), kClean) << errors();
  EXPECT_EQ(run_shell("\"$P\" plugin-worker", folder_), kUsage);
  EXPECT_TRUE(is_one_line(errors())) << errors();
}

}  // namespace
}  // namespace fusesmith::fuzz
