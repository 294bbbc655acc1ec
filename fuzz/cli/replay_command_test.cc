#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "fuzz/cli/test_support.h"
#include "fuzz/run/expectation.h"
#include "fuzz/run/judging.h"
#include "fuzz/run/repeat.h"

namespace fusesmith::fuzz {
namespace {

using Json = nlohmann::json;

// softmax over 6 of [3, 6], and the sum with its input.
Case small_case_replay() {
  Builder builder;
  const ValueId x = builder.input("x", {Dtype::f32, {3, 6}}, Normal{});
  const ValueId p = builder.node(Softmax{}, {x}, "p");
  builder.output(builder.node(Add{}, {p, x}, "y"));
  Case test_case;
  test_case.seed = 7;
  test_case.graph = *builder.build();
  return test_case;
}

Ran replay(const std::string& file, std::vector<std::string> more = {}) {
  more.insert(more.begin(), "replay");
  more.push_back(file);
  return fusesmith_command(more);
}

TEST(Replay, PrintsTheVerdictAndTheRegions) {
  const TemporaryFolder folder;
  const std::string file = folder.file("a.json", to_json(small_case_replay()));
  const Ran text = replay(file, {"--repeat=2", "--wide"});
  EXPECT_EQ(text.code, kClean) << text.out << text.err;
  for (const std::string& part : {file + ": ", std::string("worst/bound"), std::string("largest difference"),
                                  std::string("2 repeats")}) {
    EXPECT_NE(text.out.find(part), std::string::npos) << part << "\n" << text.out;
  }
  const Json json = Json::parse(replay(file, {"--json"}).out);
  ASSERT_EQ(json["cases"].size(), 1U);
  const Json& one = json["cases"][0];
  EXPECT_EQ(one["file"], file);
  EXPECT_EQ(one["signature"], "");
  EXPECT_EQ(one["output_elements"], 18);
  ASSERT_FALSE(one["regions"].empty());
  for (const char* key : {"name", "patterns", "op", "dtype", "verdict", "deviations", "worst_share",
                          "median_share", "elements", "unequal", "largest_difference"}) {
    EXPECT_TRUE(one["regions"][0].contains(key)) << key;
  }
}

TEST(Replay, HoldsProductsAgainstTheirOrdersOnDemand) {
  const TemporaryFolder folder;
  Builder builder;
  const ValueId x = builder.input("x", {Dtype::f32, {5, 70}}, Normal{}),
                w = builder.input("w", {Dtype::f32, {9, 70}}, Normal{});
  builder.output(builder.node(Softmax{}, {builder.node(Linear{}, {x, w}, "product")}, "y"));
  Case test_case;
  test_case.graph = *builder.build();
  const std::string file = folder.file("a.json", to_json(test_case));
  const std::vector<std::string> flags = {"--baseline=cpu", "--candidate=cpu_fused", "--orders", "--json"};
  const Json orders = Json::parse(replay(file, flags).out)["cases"][0]["orders"];
  ASSERT_EQ(orders.size(), 2U);
  for (const Json& one : orders) {
    EXPECT_EQ(one["region"], "product");
    EXPECT_EQ(one["equal"], 45) << one;
    EXPECT_EQ(one["elements"], 45);
    EXPECT_EQ(one["broken"], false);
  }
  const Ran text = replay(file, {"--baseline=cpu", "--candidate=cpu_fused", "--orders"});
  EXPECT_NE(text.out.find("order of additions"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("45 of 45"), std::string::npos) << text.out;
}

TEST(Replay, JudgesASampleOnDemand) {
  const TemporaryFolder folder;
  Builder builder;
  const ValueId x = builder.input("x", {Dtype::bf16, {40, 8}}, Normal{}),
                w = builder.input("w", {Dtype::bf16, {50, 8}}, Normal{});
  builder.output(builder.node(Linear{}, {x, w}, "y"));
  Case test_case;
  test_case.graph = *builder.build();
  const std::string file = folder.file("a.json", to_json(test_case));
  const std::vector<std::string> pair = {"--baseline=cpu", "--candidate=cpu_fused"};
  const auto with = [&](const std::string& flag) {
    std::vector<std::string> flags = pair;
    flags.push_back(flag);
    return replay(file, flags);
  };
  EXPECT_NE(with("--sample=10").out.find("Sampled 100 of 2000 elements"), std::string::npos)
      << with("--sample=10").out;
  EXPECT_EQ(with("--sample=auto").out, with("--sample=off").out);
  EXPECT_EQ(with("--sample=50").out, with("--sample=off").out);
  for (const std::string wrong : {"--sample=0", "--sample=-1", "--sample=10x"}) {
    const Ran refused = with(wrong);
    EXPECT_EQ(refused.code, kUsage);
    EXPECT_EQ(refused.err,
              "fusesmith replay: " + wrong + ": expected auto, off, or a number between 1 and 2^27\n");
  }
}

// Both backends leave NaN or infinity there: "by at most 0" would be wrong.
TEST(Replay, NaNAndInfinityAreNoDistance) {
  for (const std::string name : {"layer_norm_bias_infinity", "sdpa_special_values"}) {
    const std::string file = std::string(FUSESMITH_SOURCE_DIR) + "/corpus/regressions/" + name + ".json";
    const std::vector<std::string> pair = {"--baseline=cpu", "--candidate=cpu_fused"};
    const Ran text = replay(file, pair);
    EXPECT_NE(text.out.find("where one of the two is NaN or infinite"), std::string::npos) << text.out;
    EXPECT_EQ(text.out.find("by at most 0"), std::string::npos) << text.out;
    const Json one = Json::parse(replay(file, {"--json", pair[0], pair[1]}).out)["cases"][0];
    EXPECT_GT(one["unequal_nonfinite"], 0) << name;
    EXPECT_EQ(one["max_difference"], "inf") << name;
  }
}

TEST(Replay, HoldsCasesToTheirExpectations) {
  const TemporaryFolder folder;
  Case test_case = small_case_replay();
  const auto code = [&](const Expect& expect) {
    test_case.expect = expect;
    return replay(folder.file("a.json", to_json(test_case))).code;
  };
  EXPECT_EQ(code({{"cpu", "cpu"}, "identical", {}, ""}), kClean);
  EXPECT_EQ(code({{"cpu", "cpu"}, "reassociation", {}, ""}), kFindings);
  EXPECT_EQ(code({{"cpu", "cpu"}, "identical", {}, "defect-x"}), kFindings);
  EXPECT_EQ(code({{"cpu", "torch:tomorrow"}, "reassociation", {}, ""}), kClean)
      << "about a backend that is not here";
  EXPECT_NE(replay(folder / "a.json").out.find("a.json: unsupported, its expectation skipped\n"),
            std::string::npos);
  EXPECT_EQ(code({{"cpu", "cpu_fusd"}, "reassociation", {}, ""}), kUsage) << "there is no such backend";
  EXPECT_EQ(code({{"cpu", "cpu"}, "identicl", {}, ""}), kUsage);
  test_case.expect = Expect{{"cpu", "cpu_fused"}, "defect", {}, ""};
  const std::string file = folder.file("a.json", to_json(test_case));
  EXPECT_EQ(replay(file, {"--candidate=cpu"}).code, kClean) << "the expectation is about another pair";
  const Ran broken = replay(file);
  EXPECT_EQ(broken.code, kFindings);
  EXPECT_NE(broken.out.find("FAILED: expected verdict defect, got "), std::string::npos) << broken.out;
}

TEST(Replay, ExpectationsAboutDeviationsAreExact) {
  Verdict verdict;
  verdict.baseline.backend = "a";
  verdict.candidate.backend = "b";
  verdict.verdict = VerdictClass::precision_policy;
  RegionVerdict region;
  region.deviations = {{Deviation::Kind::drop, "s", Dtype::bf16, 0, ""},
                       {Deviation::Kind::move, "p", Dtype::bf16, 0, ""}};
  verdict.candidate.regions = {region, region};
  verdict.deviations = {"drop s", "move p"};
  Case test_case = small_case_replay();
  test_case.expect = Expect{{"a", "b"}, "precision_policy", {"move p", "drop s"}, ""};
  EXPECT_FALSE(broken_expectation(test_case, verdict)) << "in any order, each once";
  test_case.expect->deviations = {};
  EXPECT_FALSE(broken_expectation(test_case, verdict)) << "none named: any";
  test_case.expect->deviations = {"drop s"};
  EXPECT_EQ(broken_expectation(test_case, verdict), "expected deviations [drop s], got [drop s, move p]");
}

TEST(Replay, OnAGpuEqualBitsAreAsGoodAsReassociation) {
  Case test_case;
  test_case.expect = Expect{};
  test_case.expect->verdict = "reassociation";
  Verdict verdict;
  verdict.verdict = VerdictClass::identical;
  verdict.baseline.backend = "cuda";
  EXPECT_FALSE(broken_expectation(test_case, verdict));
  verdict.baseline.backend = "cpu";
  EXPECT_EQ(broken_expectation(test_case, verdict), "expected verdict reassociation, got identical");
  verdict.baseline.backend = "cuda";
  test_case.expect->verdict = "precision_policy";
  EXPECT_TRUE(broken_expectation(test_case, verdict));
}

// Scripts that look at the exit code must not take a case that did not fit for one that is clean, nor for a
// finding.
TEST(Replay, OutOfMemoryIs71) {
  const TemporaryFolder folder;
  const FailingBackend host([](const Graph&) { throw std::bad_alloc(); }, "full");
  Case test_case = small_case_replay();
  const std::string plain = folder.file("a.json", to_json(test_case));
  test_case.expect = Expect{{"cpu", "full"}, "identical", {}, ""};
  const std::string wanted = folder.file("b.json", to_json(test_case));
  test_case.expect->verdict = "out_of_memory";
  const std::string expected = folder.file("c.json", to_json(test_case));
  // A build without this backend would refuse the name.
  for (const std::string& file : {plain, wanted})
    EXPECT_EQ(replay(file, {"--baseline=cpu", "--candidate=full"}).code, kOutOfMemory) << file;
  EXPECT_EQ(replay(expected).code, kClean);
  EXPECT_EQ(fusesmith_command({"explain", wanted}).code, kOutOfMemory);
  EXPECT_EQ(fusesmith_command({"minimize", wanted}).code, kOutOfMemory);
}

TEST(Replay, FindingsOfAWorkDirectoryAreTheirSmallestCases) {
  const TemporaryFolder folder;
  const std::string text = to_json(small_case_replay());
  folder.file("findings/a/case.json", text);
  folder.file("findings/a/verdict.json", "{}");
  folder.file("findings/b/case.json", text);
  folder.file("findings/b/min.json", text);
  folder.file("stats.json", "{}");
  const Ran ran = replay(folder.string(), {"--json"});
  EXPECT_EQ(ran.code, kClean) << ran.err;
  std::vector<std::string> files;
  const Json json = Json::parse(ran.out);
  for (const Json& one : json["cases"]) files.push_back(one["file"]);
  EXPECT_EQ(files,
            (std::vector<std::string>{folder / "findings/a/case.json", folder / "findings/b/min.json"}));
}

TEST(Replay, AFolderStandsForItsCasesAlone) {
  const TemporaryFolder folder;
  folder.file("a.json", to_json(small_case_replay()));
  folder.file("notes.txt", "");
  folder.file("package.json", R"({"name": "x"})");
  const Ran ran = replay(folder.string(), {"--json"});
  EXPECT_EQ(ran.code, kClean);
  EXPECT_EQ(Json::parse(ran.out)["cases"].size(), 1U);
  EXPECT_EQ(ran.err, "fusesmith replay: " + folder.string() + ": skipped 2 other files\n");
  std::filesystem::remove(folder / "a.json");
  const Ran none = replay(folder.string());
  EXPECT_EQ(none.code, kUsage);
  EXPECT_EQ(none.err, "fusesmith replay: " + folder.string() +
                          ": no case (*.json) in this folder; skipped 2 other files\n");
}

TEST(Replay, TheExampleOfTheDocumentationIsAsItExpects) {
  const TemporaryFolder folder;
  const auto docs = read_file(std::string(FUSESMITH_SOURCE_DIR) + "/docs/case.md");
  ASSERT_TRUE(docs.ok()) << docs.problem();
  const std::string begin = "```json\n";
  const size_t from = docs->find(begin) + begin.size(), to = docs->find("```", from);
  ASSERT_LT(from, to);
  const Ran ran = replay(folder.file("example.json", docs->substr(from, to - from)));
  EXPECT_EQ(ran.code, kClean) << ran.out << ran.err;
  EXPECT_NE(ran.out.find(", as expected\n"), std::string::npos) << ran.out;
}

// Paths are bytes; JSON is not.
TEST(Replay, JsonOutputSurvivesPathsThatAreNoUtf8) {
  const TemporaryFolder folder;
  const std::string file = folder.file("\xff.json", to_json(small_case_replay()));
  for (const std::vector<std::string>& args : std::vector<std::vector<std::string>>{
           {"replay", "--json", file},
           {"explain", "--json", file},
           {"minimize", "--json", file},
           {"generate", "--json", "--count=1", "--output=" + (folder / "g\xff")}}) {
    const Ran ran = fusesmith_command(args);
    EXPECT_EQ(ran.code, kClean) << args[0] << ": " << ran.err;
    EXPECT_FALSE(Json::parse(ran.out, nullptr, false).is_discarded()) << args[0];
    EXPECT_NE(ran.out.find("\xef\xbf\xbd"), std::string::npos) << args[0] << ": " << ran.out;
  }
}

TEST(Replay, UnreadableFilesDoNotStopTheOthers) {
  const TemporaryFolder folder;
  folder.file("a.json", "{");
  folder.file("b.json", to_json(small_case_replay()));
  const Ran ran = fusesmith_command({"replay", folder.string(), folder / "none"});
  EXPECT_EQ(ran.code, kUsage);
  EXPECT_NE(ran.err.find("a.json"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("none"), std::string::npos) << ran.err;
  EXPECT_NE(ran.out.find("b.json: "), std::string::npos) << ran.out;
}

// A program that gives other bits in its third run.
class Flaky : public Program {
 public:
  explicit Flaky(Program& program) : program_(program) {}
  const Plan& plan() const override { return program_.plan(); }
  Trace run(std::span<const TensorPtr> inputs) override {
    Trace trace = program_.run(inputs);
    if (++runs_ != 3) return trace;
    Tensor changed = *trace.values.back();
    changed.set(0, changed.value(0) + 1);
    trace.values.back() = std::make_shared<const Tensor>(std::move(changed));
    return trace;
  }
  std::optional<Disagreement> recheck(std::span<const TensorPtr>, const Trace&) override {
    return std::nullopt;
  }

 private:
  Program& program_;
  int runs_ = 0;
};

TEST(Replay, RepeatsThatDifferAreNondeterministic) {
  const Case test_case = small_case_replay();
  JudgeFlags flags;
  flags.baseline = "cpu";
  flags.candidate = "cpu_fused";
  CaseRun run = Judging(flags).run(test_case);
  ASSERT_TRUE(run.candidate);
  repeat_run(test_case.graph, run, 5);
  EXPECT_FALSE(run.verdict.finding);
  const auto real = std::move(run.candidate);
  run.candidate = std::make_unique<Flaky>(*real);
  repeat_run(test_case.graph, run, 2);
  EXPECT_FALSE(run.verdict.finding) << "two runs are alike";
  run.candidate = std::make_unique<Flaky>(*real);
  repeat_run(test_case.graph, run, 3);
  EXPECT_EQ(run.verdict.verdict, VerdictClass::nondeterministic);
  EXPECT_TRUE(run.verdict.finding);
  const std::string signature = run.verdict.signature_text();
  EXPECT_TRUE(signature.starts_with("nondeterministic-cpu_fused-")) << signature;
  ASSERT_TRUE(run.verdict.failing_region);
  EXPECT_EQ(run.verdict.failing()->symptom, Symptom::repeat_differs);
}

TEST(Replay, RepeatsEndWhenTheyAreToldTo) {
  const Case test_case = small_case_replay();
  CaseRun run = Judging(JudgeFlags{}).run(test_case);
  int asked = 0;
  EXPECT_EQ(repeat_run(test_case.graph, run, 100, [&] { return ++asked > 4; }), 4);
}

TEST(Replay, BitwiseDemandsEqualBits) {
  const std::string file = "corpus/scenarios/einsum_projections_small.json";
  const Ran plain = replay(file);
  EXPECT_EQ(plain.code, kClean) << plain.out << plain.err;
  const Ran bitwise = replay(file, {"--bitwise"});
  EXPECT_EQ(bitwise.code, kFindings) << bitwise.out;
  EXPECT_NE(bitwise.out.find("FAILED: bitwise: "), std::string::npos) << bitwise.out;
  EXPECT_EQ(replay(file, {"--bitwise", "--candidate=cpu"}).code, kClean);
}

}  // namespace
}  // namespace fusesmith::fuzz
