// Workers that misbehave: each kind of fault ends in its own verdict, on that case alone.
#include <gtest/gtest.h>

#include <chrono>

#include "backends/remote/remote_backend.h"
#include "backends/remote/worker_names.h"
#include "fuzz/run/backends.h"
#include "fuzz/run/judging.h"

namespace fusesmith::fuzz {
namespace {

std::string faulty(const std::string& fault) {
  const std::string name = std::string("remote:python3 '") + FUSESMITH_SOURCE_DIR +
                           "/python/tests/workers/faulty_worker.py' " + fault;
  allow_worker(name);
  return name;
}

Case small_case() {
  const char* text = R"({"fusesmith": 1, "seed": 3, "graph": {
    "inputs": [{"name": "x", "type": "f32[4,8]", "fill": {"normal": {}}},
               {"name": "y", "type": "f32[4,8]", "fill": {"normal": {}}}],
    "nodes": [{"name": "r", "op": "relu", "inputs": ["x"]},
              {"name": "s", "op": "add", "inputs": ["r", "y"]}],
    "outputs": ["s"]}})";
  return *parse_case(text);
}

Verdict judge_with_worker(const std::string& fault, double seconds = 60) {
  JudgeFlags flags;
  flags.baseline = "cpu";
  flags.candidate = faulty(fault);
  flags.compile_timeout = flags.run_timeout = seconds;
  // The worker's start is part of the run: Judging itself asks whether the backend can run.
  Judging judging(flags);
  judging.why_not.clear();
  end_idle_workers(*find_backend(flags.candidate));  // of other tests, whose first run is over
  return judging.run(small_case()).verdict;
}

struct Expected {
  const char* fault;
  VerdictClass verdict;
  Symptom symptom;
};

class FaultyWorker : public testing::TestWithParam<Expected> {};

TEST_P(FaultyWorker, HasItsVerdict) {
  const Expected& expected = GetParam();
  const bool hangs = std::string(expected.fault).starts_with("hangs");
  const Verdict verdict = judge_with_worker(expected.fault, hangs ? 1 : 60);
  EXPECT_EQ(name(verdict.verdict), name(expected.verdict)) << verdict.reason;
  EXPECT_EQ(verdict.finding, expected.symptom != Symptom::none);
  if (!verdict.signature) return;
  EXPECT_EQ(name(verdict.signature->symptom), name(expected.symptom)) << verdict.reason;
  EXPECT_EQ(verdict.signature->backend, faulty(expected.fault));
}

constexpr Expected kFaults[] = {
    {"none", VerdictClass::identical, Symptom::none},
    {"floods_standard_error", VerdictClass::identical, Symptom::none},
    {"leaves_a_child", VerdictClass::identical, Symptom::none},
    {"zeros", VerdictClass::defect, Symptom::out_of_bounds},
    {"nan_everywhere", VerdictClass::exceptional, Symptom::nan},
    {"first_answer_again", VerdictClass::defect, Symptom::out_of_bounds},
    {"answer_of_the_call_before", VerdictClass::nondeterministic, Symptom::repeat_differs},
    {"differs_from_run_to_run", VerdictClass::nondeterministic, Symptom::repeat_differs},
    {"first_run_differs", VerdictClass::nondeterministic, Symptom::repeat_differs},
    {"overwrites_an_input", VerdictClass::defect, Symptom::source_overwritten},
    {"writes_around_an_output", VerdictClass::defect, Symptom::guard_overwritten},
    {"exits_at_hello", VerdictClass::crash, Symptom::died},
    {"exits_at_run", VerdictClass::crash, Symptom::died},
    {"ends_by_signal_at_compile", VerdictClass::crash, Symptom::died},
    {"truncated_frame", VerdictClass::crash, Symptom::died},
    {"raises", VerdictClass::crash, Symptom::thrown},
    {"wrong_result", VerdictClass::defect, Symptom::bad_reply},
    {"runs_out_of_memory", VerdictClass::out_of_memory, Symptom::none},
    {"hangs_at_hello", VerdictClass::timeout, Symptom::timed_out},
    {"hangs_at_compile", VerdictClass::timeout, Symptom::timed_out},
    {"hangs_at_run", VerdictClass::timeout, Symptom::timed_out},
    {"prints_to_standard_output", VerdictClass::defect, Symptom::bad_reply},
    {"other_protocol", VerdictClass::defect, Symptom::bad_reply},
    {"plan_without_a_node", VerdictClass::defect, Symptom::bad_reply},
    {"plan_with_a_node_twice", VerdictClass::defect, Symptom::bad_reply},
    {"plan_with_an_unknown_node", VerdictClass::defect, Symptom::bad_reply},
    {"plan_out_of_order", VerdictClass::defect, Symptom::bad_reply},
    {"other_shape", VerdictClass::defect, Symptom::bad_reply},
    {"other_dtype", VerdictClass::defect, Symptom::bad_reply},
    {"unknown_tensor", VerdictClass::defect, Symptom::bad_reply},
    {"missing_tensor", VerdictClass::defect, Symptom::bad_reply},
    {"too_few_bytes", VerdictClass::defect, Symptom::bad_reply},
    {"too_many_bytes", VerdictClass::defect, Symptom::bad_reply},
    {"huge_header", VerdictClass::defect, Symptom::bad_reply},
    {"huge_payload", VerdictClass::defect, Symptom::bad_reply},
    {"deep_header", VerdictClass::defect, Symptom::bad_reply},
    {"no_json", VerdictClass::defect, Symptom::bad_reply},
    {"unknown_reply", VerdictClass::defect, Symptom::bad_reply},
    {"problems_are_no_list", VerdictClass::defect, Symptom::bad_reply},
    {"sends_twice", VerdictClass::defect, Symptom::bad_reply},
    {"unknown_problem", VerdictClass::defect, Symptom::bad_reply},
    {"unknown_error", VerdictClass::defect, Symptom::bad_reply},
};

INSTANTIATE_TEST_SUITE_P(All, FaultyWorker, testing::ValuesIn(kFaults),
                         [](const auto& fault) { return fault.param.fault; });

TEST(FaultyWorkers, IsReplacedForTheNextCase) {
  JudgeFlags flags;
  flags.baseline = "cpu";
  flags.candidate = faulty("exits_at_run");
  const Judging judging(flags);
  for (int i = 0; i < 3; ++i) {
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(judging.run(small_case()).verdict.verdict, VerdictClass::crash);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  }
}

TEST(FaultyWorkers, ReasonNamesTheWorkerAndItsLastWords) {
  const Verdict verdict = judge_with_worker("exits_at_hello");
  EXPECT_NE(verdict.reason.find("ended with exit code 1 at hello"), std::string::npos) << verdict.reason;
  EXPECT_NE(verdict.reason.find("no such device"), std::string::npos) << verdict.reason;
}

TEST(FaultyWorkers, KeepsTheStartOfALongErrorAndItsTraceback) {
  const Verdict verdict = judge_with_worker("raises");
  EXPECT_NE(verdict.reason.find(": RuntimeError: no kernel image"), std::string::npos) << verdict.reason;
  EXPECT_NE(verdict.reason.find(" ... "), std::string::npos) << verdict.reason;
  EXPECT_LT(verdict.reason.size(), 800u);
  EXPECT_EQ(verdict.details, "line 3\nRuntimeError");
}

TEST(FaultyWorkers, UnsupportedIsCountedByReason) {
  Case test_case = *parse_case(R"({"fusesmith": 1, "graph": {
    "inputs": [{"name": "x", "type": "f32[4]", "fill": {"normal": {}}}],
    "nodes": [{"name": "y", "op": "exp", "inputs": ["x"]}], "outputs": ["y"]}})");
  JudgeFlags flags;
  flags.baseline = "cpu";
  flags.candidate = faulty("none");
  const Verdict verdict = Judging(flags).run(test_case).verdict;
  EXPECT_EQ(verdict.verdict, VerdictClass::unsupported);
  EXPECT_NE(verdict.reason.find("only relu and add"), std::string::npos);
}

TEST(Workers, AreNamedInFlags) {
  JudgeFlags flags;
  flags.baseline = "cpu";
  flags.candidate = "remote:";
  ASSERT_TRUE(flags.cannot_run());
  EXPECT_EQ(flags.cannot_run()->code, kUsage);
  flags.candidate = "remote:/no/such/program";
  allow_worker(flags.candidate);
  ASSERT_TRUE(flags.cannot_run());
  EXPECT_NE(flags.cannot_run()->why.find("No such file"), std::string::npos) << flags.cannot_run()->why;
  EXPECT_EQ(flags.text(), " --baseline=cpu --candidate=remote:/no/such/program");
}

}  // namespace
}  // namespace fusesmith::fuzz
