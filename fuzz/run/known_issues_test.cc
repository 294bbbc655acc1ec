// The file of known issues: what it may contain, which failures its issues cover, and what that does to the
// verdict of a case.
#include "fuzz/run/known_issues.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "backends/remote/worker_names.h"
#include "fuzz/cli/test_support.h"
#include "fuzz/run/judging.h"
#include "fuzz/run/repeat.h"

namespace fusesmith::fuzz {
namespace {

using Json = nlohmann::json;

Json file_of(const std::vector<Json>& issues) { return {{"fusesmith_known", 1}, {"issues", issues}}; }

// An issue that matches, with these keys instead of its own.
Json issue_with(const Json& keys) {
  Json issue = {{"name", "a"}, {"verdict", "defect"}, {"why", "It is known."}};
  issue.update(keys);
  return issue;
}

Result<KnownIssues> read(const TemporaryFolder& folder, const Json& json) {
  return KnownIssues::read(folder.file("known.json", json.dump()));
}

const Signature kFailure{VerdictClass::defect, "ort:all", "add", Dtype::f16, Symptom::explicit_cast_skipped};

bool covers(const Json& keys, const Signature& failure = kFailure, const CaseTraits& traits = {},
            const std::string& reason = "") {
  const TemporaryFolder folder;
  Json issue = {{"name", "a"}, {"why", "It is known."}};
  issue.update(keys);
  const auto known = read(folder, file_of({issue}));
  EXPECT_TRUE(known.ok()) << known.problem();
  return known.ok() && known->find(failure, traits, reason) != nullptr;
}

TEST(KnownIssues, CoverASignatureThatHasAllTheirKeys) {
  EXPECT_TRUE(covers({{"signature", "defect-ort_all-add-f16-explicit_cast_skipped"}}));
  EXPECT_TRUE(covers({{"signature", "defect-ort_*-add-?16-*"}}));
  EXPECT_FALSE(covers({{"signature", "defect-ort_*-mul-*"}}));
  EXPECT_FALSE(covers({{"signature", "ort_all-add"}})) << "the whole signature";
  EXPECT_TRUE(covers({{"backend", "ort:*"},
                      {"component", "a*"},
                      {"dtype", "f16"},
                      {"verdict", "defect"},
                      {"symptom", "explicit_cast_skipped"}}));
  for (const Json& other : {Json{{"backend", "torch:*"}}, Json{{"component", "mul"}}, Json{{"dtype", "bf16"}},
                            Json{{"dtype", "any"}}, Json{{"verdict", "crash"}}, Json{{"symptom", "nan"}}}) {
    Json keys = {{"signature", "defect-*"}};
    keys.update(other);
    EXPECT_FALSE(covers(keys)) << other;
  }
  const Signature crash{VerdictClass::crash, "cpu", "graph", {}, Symptom::thrown};
  EXPECT_TRUE(covers({{"dtype", "any"}}, crash));
  EXPECT_TRUE(covers({{"signature", "crash-cpu-graph-any-thrown"}}, crash));
}

TEST(KnownIssues, CoverCasesThatHaveAllTheirOps) {
  const CaseTraits ops = {{"matmul", "softmax", "add"}};
  EXPECT_TRUE(covers({{"verdict", "defect"}, {"ops", {"add", "softmax"}}}, kFailure, ops));
  EXPECT_FALSE(covers({{"verdict", "defect"}, {"ops", {"softmax", "scale"}}}, kFailure, ops));
  EXPECT_FALSE(covers({{"verdict", "defect"}, {"ops", {"softmax"}}}));
}

TEST(KnownIssues, CoverCasesThatHaveOneOfTheirLayouts) {
  const auto read = graph::parse_case(R"({"fusesmith": 1, "seed": 1, "graph": {"inputs": [
      {"name": "x", "type": "f16[2,3]", "fill": {"constant": {"value": 1}}},
      {"name": "y", "type": "f16[2,3]", "fill": {"constant": {"value": 1}}, "layout": {"offset": 1}}],
      "nodes": [{"name": "z", "op": "add", "inputs": ["x", "y"]}], "outputs": ["z"]}})");
  ASSERT_TRUE(read.ok()) << read.problem();
  const CaseTraits traits = CaseTraits::of(read->graph);
  EXPECT_TRUE(covers({{"verdict", "defect"}, {"layouts", {"padded", "offset"}}}, kFailure, traits));
  EXPECT_FALSE(covers({{"verdict", "defect"}, {"layouts", {"padded"}}}, kFailure, traits));
  EXPECT_TRUE(covers({{"verdict", "defect"}, {"layouts", {"offset"}}, {"ops", {"add"}}}, kFailure, traits));
  EXPECT_FALSE(covers({{"verdict", "defect"}, {"layouts", {"offset"}}, {"ops", {"sub"}}}, kFailure, traits));
  EXPECT_FALSE(covers({{"verdict", "defect"}, {"layouts", {"offset"}}}));
}

TEST(KnownIssues, CoverWhatTheBackendSaid) {
  const Signature crash{VerdictClass::crash, "jax:jit", "graph", {}, Symptom::thrown};
  const std::string said = "jax:jit: XlaRuntimeError: no emitter for dot (algorithm)";
  EXPECT_TRUE(covers({{"verdict", "crash"}, {"reason", "*no emitter*"}}, crash, {}, said));
  EXPECT_FALSE(covers({{"verdict", "crash"}, {"reason", "no emitter"}}, crash, {}, said)) << "the whole text";
  EXPECT_FALSE(covers({{"verdict", "crash"}, {"reason", "*shape*"}}, crash, {}, said));
  EXPECT_FALSE(covers({{"verdict", "crash"}, {"reason", "?*"}}, crash)) << "nothing was said";
}

TEST(KnownIssues, TheFirstOfTheFileIsFound) {
  const TemporaryFolder folder;
  const auto known = read(
      folder, file_of({issue_with({{"name", "one"}, {"dtype", "bf16"}}),
                       issue_with({{"name", "two"}, {"filed", "here"}}), issue_with({{"name", "three"}})}));
  ASSERT_TRUE(known.ok()) << known.problem();
  ASSERT_NE(known->find(kFailure, {}), nullptr);
  EXPECT_EQ(known->find(kFailure, {})->text(), "two (here)");
  EXPECT_EQ(known->find("three")->text(), "three (It is known.)");
  EXPECT_EQ(known->find("four"), nullptr);
}

TEST(KnownIssues, VersionsAreOfTheBackendThatFails) {
  const Signature own{VerdictClass::defect, "cpu_fused", "add", Dtype::f16, Symptom::out_of_bounds};
  EXPECT_TRUE(covers({{"verdict", "defect"}, {"versions", {{"fusesmith", ">=0.1"}}}}, own));
  EXPECT_FALSE(covers({{"verdict", "defect"}, {"versions", {{"fusesmith", "<0.1"}}}}, own));
  EXPECT_FALSE(covers({{"verdict", "defect"}, {"versions", {{"torch", ">=0"}}}}, own)) << "does not tell it";
  Signature worker = own;
  // Two spaces: a backend of its own, which no other test starts.
  worker.backend = std::string("remote:python3 '") + FUSESMITH_SOURCE_DIR +
                   "/python/tests/workers/faulty_worker.py'  none";
  allow_worker(worker.backend);
  ASSERT_TRUE(find_backend(worker.backend)->versions().empty()) << "no worker was started";
  EXPECT_FALSE(covers({{"verdict", "defect"}, {"versions", {{"faulty", ">=1.4,<2"}}}}, worker));
  ASSERT_FALSE(find_backend(worker.backend)->unavailable());
  EXPECT_TRUE(covers({{"verdict", "defect"}, {"versions", {{"faulty", ">=1.4,<2"}}}}, worker));
  EXPECT_FALSE(covers({{"verdict", "defect"}, {"versions", {{"faulty", "<1.4.2"}}}}, worker));
  EXPECT_FALSE(covers({{"verdict", "defect"}, {"versions", {{"faulty", ">=1"}, {"other", ">=1"}}}}, worker));
}

TEST(KnownIssues, KnowTheirCases) {
  const TemporaryFolder folder;
  const auto known = read(
      folder, file_of({issue_with({{"name", "path"}, {"case", "cases/a.json"}, {"backend", "cpu_fused"}}),
                       issue_with({{"name", "name"}, {"case", "a.json"}, {"signature", "defect-cpu_*"}}),
                       issue_with({{"name", "none"}})}));
  ASSERT_TRUE(known.ok()) << known.problem();
  const auto names = [&](const std::string& file, const std::vector<std::string>& backends) {
    std::string text;
    for (const KnownIssue* issue : known->of_case(file, backends)) text += issue->name + " ";
    return text;
  };
  const std::vector<std::string> pair = {"cpu", "cpu_fused"};
  EXPECT_EQ(names(folder / "cases/a.json", pair), "path name ");
  EXPECT_EQ(names(folder / "cases/../cases/a.json", pair), "path name ");
  EXPECT_EQ(names(folder / "other/a.json", pair), "name ");
  EXPECT_EQ(names(folder / "cases/b.json", pair), "");
  EXPECT_EQ(names(folder / "cases/a.json", {"torch:eager", "ort:all"}), "") << "about other backends";
}

TEST(KnownIssues, WhatIsWrongIsRefusedWithTheKey) {
  const TemporaryFolder folder;
  const std::pair<Json, const char*> wrong[] = {
      {Json::array(), "top level: expected an object"},
      {{{"issues", Json::array()}}, "expected the key \"fusesmith_known\", which is missing"},
      {{{"fusesmith_known", 2}, {"issues", Json::array()}}, "fusesmith_known: expected 1"},
      {{{"fusesmith_known", 1}, {"issues", 3}}, "issues: expected an array"},
      {{{"fusesmith_known", 1}, {"issue", 3}}, "unknown key \"issue\" (did you mean \"issues\"?)"},
      {file_of({issue_with({{"nmae", "x"}})}), "issues[0]: unknown key \"nmae\" (did you mean \"name\"?)"},
      {file_of({issue_with({{"name", ""}})}), "issues[0].name: expected one line"},
      {file_of({issue_with({{"why", "a\nb"}})}), "issues[0].why: expected one line"},
      {file_of({issue_with(Json::object()), issue_with(Json::object())}),
       "issues[1]: expected every name once, got \"a\" twice"},
      {file_of({issue_with({{"signature", "defect-ort:all-*"}})}),
       "issues[0].signature: no signature contains ':'"},
      {file_of({issue_with({{"signature", ""}})}), "issues[0].signature: expected one line"},
      {file_of({issue_with({{"verdict", "defct"}})}),
       "issues[0].verdict: unknown verdict \"defct\" (did you mean \"defect\"?)"},
      {file_of({issue_with({{"verdict", "identical"}})}), "issues[0].verdict: unknown verdict \"identical\""},
      {file_of({issue_with({{"dtype", "f8"}})}), "issues[0].dtype: unknown dtype \"f8\""},
      {file_of({issue_with({{"symptom", "device_error"}})}),
       "issues[0].symptom: unknown symptom \"device_error\""},
      {file_of({issue_with({{"ops", {"sofmax"}}})}), "issues[0].ops[0]: unknown op \"sofmax\" (did you mean"},
      {file_of({issue_with({{"ops", Json::array()}})}), "issues[0].ops: expected the name of an op"},
      {file_of({issue_with({{"ops", "softmax"}})}), "issues[0].ops: expected an array"},
      {file_of({issue_with({{"layouts", {"unaligned"}}})}),
       "issues[0].layouts[0]: unknown layout \"unaligned\""},
      {file_of({issue_with({{"layouts", Json::array()}})}), "issues[0].layouts: expected a kind of layout"},
      {file_of({issue_with({{"reason", ""}})}), "issues[0].reason: expected one line"},
      {file_of({issue_with({{"versions", {{"torch", "2.x"}}}})}),
       "issues[0].versions.torch: expected a range of versions"},
      {file_of({issue_with({{"versions", ">2"}})}), "issues[0].versions: expected an object"},
      {file_of({{{"name", "a"}, {"signature", "defect-*"}}}),
       "issues[0]: expected the key \"filed\" or \"why\""},
      {file_of({{{"name", "a"}, {"signature", "*"}, {"why", "b"}}}), "this issue would match every one"},
      {file_of({{{"name", "a"}, {"why", "b"}}}), "this issue would match every one"},
  };
  for (const auto& [json, says] : wrong) {
    const auto known = read(folder, json);
    ASSERT_FALSE(known.ok()) << json;
    EXPECT_TRUE(known.problem().starts_with(folder / "known.json: ")) << known.problem();
    EXPECT_NE(known.problem().find(says), std::string::npos) << known.problem();
    EXPECT_EQ(known.problem().find('\n'), std::string::npos) << known.problem();
  }
  EXPECT_FALSE(KnownIssues::read(folder / "no_such_file.json").ok());
  EXPECT_FALSE(KnownIssues::read(folder.string()).ok());
  EXPECT_FALSE(KnownIssues::read(folder.file("known.json", "{")).ok());
}

// A worker that computes zeros: its relu and its add both fail.
class KnownWorkerFailures : public testing::Test {
 protected:
  Verdict judge_with(const std::string& fault, const std::vector<Json>& issues) const {
    JudgeFlags flags;
    flags.baseline = "cpu";
    flags.candidate = std::string("remote:python3 '") + FUSESMITH_SOURCE_DIR +
                      "/python/tests/workers/faulty_worker.py' " + fault;
    allow_worker(flags.candidate);
    flags.known = folder_.file("known.json", file_of(issues).dump());
    const auto problem = flags.read_known();
    EXPECT_FALSE(problem) << problem->what;
    return Judging(flags).run(case_).verdict;
  }

  const TemporaryFolder folder_;
  const Case case_ = *parse_case(R"({"fusesmith": 1, "seed": 3, "graph": {
    "inputs": [{"name": "x", "type": "f32[4,8]", "fill": {"normal": {}}}],
    "nodes": [{"name": "r", "op": "relu", "inputs": ["x"]},
              {"name": "s", "op": "add", "inputs": ["r", "x"]}],
    "outputs": ["s"]}})");
};

TEST_F(KnownWorkerFailures, AreNoFindings) {
  const Json relu =
      issue_with({{"name", "relu"}, {"component", "relu"}, {"versions", {{"faulty", "==1.4.2"}}}});
  const Json add = issue_with({{"name", "add"}, {"component", "add"}, {"backend", "remote:*"}});
  EXPECT_EQ(judge_with("zeros", {}).signature->component, "relu");
  const Verdict other = judge_with("zeros", {relu});
  EXPECT_TRUE(other.finding);
  EXPECT_EQ(other.signature->component, "add");
  const Verdict both = judge_with("zeros", {add, relu});
  EXPECT_FALSE(both.finding);
  EXPECT_EQ(both.known.size(), 2U);
  Json newer = relu;
  newer["versions"]["faulty"] = ">1.4.2";
  EXPECT_EQ(judge_with("zeros", {newer}).signature->component, "relu") << "of another version";
}

TEST_F(KnownWorkerFailures, MayBeCrashesAndDisagreements) {
  const Json died = {{"name", "died"}, {"signature", "crash-*-graph-any-died"}, {"why", "It ends."}};
  const Verdict crash = judge_with("exits_at_run", {died});
  EXPECT_FALSE(crash.finding);
  EXPECT_EQ(crash.verdict, VerdictClass::crash);
  EXPECT_EQ(crash.known.size(), 1U);
  EXPECT_TRUE(judge_with("raises", {died}).finding);
  const std::string said = judge_with("raises", {}).reason;
  Json thrown = {{"name", "thrown"}, {"symptom", "thrown"}, {"reason", said}, {"why", "It says so."}};
  EXPECT_FALSE(judge_with("raises", {thrown}).finding) << said;
  thrown["reason"] = said + "?";
  EXPECT_TRUE(judge_with("raises", {thrown}).finding);
  Json zeros = {{"name", "zeros"}, {"verdict", "defect"}, {"ops", {"relu", "add"}}, {"why", "Zeros."}};
  EXPECT_FALSE(judge_with("zeros", {zeros}).finding);
  zeros["ops"] = {"relu", "softmax"};
  EXPECT_TRUE(judge_with("zeros", {zeros}).finding);
  const Json differs = {{"name", "differs"}, {"symptom", "repeat_differs"}, {"why", "It differs."}};
  EXPECT_TRUE(judge_with("first_run_differs", {died}).finding);
  EXPECT_FALSE(judge_with("first_run_differs", {differs}).finding);
}

// Runs on a known disagreement go on until another check fails, or all are done.
TEST_F(KnownWorkerFailures, DoNotEndRepeats) {
  JudgeFlags flags;
  flags.baseline = "cpu";
  flags.candidate = std::string("remote:python3 '") + FUSESMITH_SOURCE_DIR +
                    "/python/tests/workers/faulty_worker.py' differs_after_six_runs";
  allow_worker(flags.candidate);
  const auto repeats = [&] {
    int64_t made = 0;
    const Judging judging(flags);
    const CaseRun run =
        judging.run(case_, [&](CaseRun& judged) { made = repeat_run(case_.graph, judged, 9); });
    EXPECT_EQ(run.verdict.finding, flags.known.empty());
    return made;
  };
  EXPECT_LT(repeats(), 9);
  flags.known = folder_.file(
      "known.json",
      file_of({{{"name", "differs"}, {"symptom", "repeat_differs"}, {"why", "It differs."}}}).dump());
  ASSERT_FALSE(flags.read_known());
  EXPECT_EQ(repeats(), 9);
}

}  // namespace
}  // namespace fusesmith::fuzz
