// report.md and the report in verdict.json, of cases judged here and of verdicts without a run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "fuzz/base/files.h"
#include "fuzz/report/finding_json.h"
#include "fuzz/report/finding_markdown.h"

namespace fusesmith::fuzz {
namespace {

using Json = nlohmann::ordered_json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Case softmax(int64_t rows, int64_t length, Dtype dtype) {
  Builder builder;
  const ValueId x = builder.input("x", {dtype, {rows, length}}, Constant{0});
  builder.output(builder.node(Softmax{}, {x}, "y"));
  Case test_case;
  test_case.graph = *builder.build();
  return test_case;
}

// By the backend with a wrong softmax.
FindingReport demo_report(const Case& test_case) {
  JudgeFlags flags;
  flags.baseline = "cpu", flags.candidate = "demo";
  FindingReport report{"a-signature", {"work/case.json", test_case, {}}, "not minimized"};
  report.found.seen = reproduce(test_case, "", Judging(flags));
  report.environment = {{"CPU", "a <b> CPU"}};
  return report;
}

TEST(FindingReport, SaysWhatIsWrongAndHowSureThatIs) {
  const FindingReport report = demo_report(softmax(2, 9, Dtype::bf16));
  const FindingFacts facts =
      facts_of(report.found, {{Ablation::Kind::rewrite, "rewrite x off", Outcome::passes},
                              {Ablation::Kind::data, "data", Outcome::fails},
                              {Ablation::Kind::steps, "one step"}});
  EXPECT_EQ(facts.title, "softmax (bf16): 0.125 where 0.1113 is the only correct value, row length 9");
  ASSERT_TRUE(facts.element);
  EXPECT_THAT(facts.element->index, ElementsAre(0, 0));
  EXPECT_EQ(facts.element->got, 0.125);
  EXPECT_EQ(facts.element->other, 0.111328125);
  EXPECT_EQ(facts.element->rounded, 0.111328125);
  EXPECT_EQ(facts.element->allowed_values, 1);
  EXPECT_EQ(facts.argument, "bound");
  EXPECT_THAT(facts.ruled_out, testing::IsSupersetOf({"With rewrite x off it passes.",
                                                      "Not tried, for want of time: one step."}));
  ASSERT_EQ(facts.comparisons.size(), 3U);
  for (const Comparison& one : facts.comparisons) EXPECT_EQ(one.beyond, 18) << one.name;
  EXPECT_EQ(how_sure(facts),
            "Shown by the argument 'bound': every correct execution, in whatever order of operations, leaves "
            "a value in the "
            "allowed interval. 18 of 18 elements are outside. It fails every time (5 of 5 runs).");
  EXPECT_EQ(
      what_is_wrong(facts, report.found.seen.run.verdict),
      "demo computes y (bf16) with its kernel for softmax. Element y[0,0], of shape [2,9], is 0.125. "
      "fusesmith's own backend cpu gives 0.111328125 there, in its own run. The exact result for the inputs "
      "that the kernel received "
      "is 0.1111111111111111, correctly rounded 0.111328125. That is the only correct value; the result "
      "is 28 ulps of bf16 outside.");
}

TEST(FindingReport, SaysThatEveryModeFails) {
  const auto modes = [](std::optional<Outcome> last) {
    return std::vector<Ablation>{{Ablation::Kind::mode, "ort:off in place of ort:all", Outcome::fails},
                                 {Ablation::Kind::mode, "ort:basic in place of ort:all", last}};
  };
  const FindingReport report = demo_report(softmax(2, 9, Dtype::bf16));
  const std::string all =
      "In every other mode that was tried it fails as well (ort:off, ort:basic): the cause is not an "
      "optimization in which they differ, and no optimization was isolated.";
  const std::string one = "With ort:off in place of ort:all it still fails: this is not the cause.";
  EXPECT_THAT(facts_of(report.found, modes(Outcome::fails)).ruled_out,
              testing::AllOf(testing::Contains(all), Not(testing::Contains(one))));
  for (const auto& other : {std::optional(Outcome::passes), std::optional<Outcome>()}) {
    EXPECT_THAT(facts_of(report.found, modes(other)).ruled_out,
                testing::AllOf(Not(testing::Contains(all)), testing::Contains(one)));
  }
}

TEST(FindingReport, ContainsWhatABackendSaidOfACrash) {
  FindingReport report = demo_report(softmax(2, 9, Dtype::bf16));
  Verdict& verdict = report.found.seen.run.verdict;
  verdict = {};
  verdict.baseline.backend = "cpu", verdict.candidate.backend = "torch:inductor";
  verdict.verdict = VerdictClass::crash;
  verdict.reason = "torch:inductor: KeyError: 'buf0'";
  verdict.details = "Traceback (most recent call last):\n  File \"x.py\", line 1\nKeyError: 'buf0'\n";
  verdict.fail({VerdictClass::crash, "torch:inductor", "graph", {}, Symptom::thrown});
  EXPECT_THAT(report_markdown(report), HasSubstr("said:\n\n```text\n" + verdict.details + "```\n"));
  EXPECT_EQ(finding_json(report)["details"], verdict.details);
  EXPECT_EQ(facts_of(report.found, {}).title,
            "graph of softmax in PyTorch (torch:inductor): an exception: KeyError: 'buf0'");
  verdict.reason += std::string(30, ' ') + std::string(200, 'x');
  EXPECT_THAT(facts_of(report.found, {}).title, testing::EndsWith("'buf0'" + std::string(30, ' ') + "..."));
}

TEST(FindingReport, SaysThatTheBaselineFailsAsWell) {
  const Case test_case = softmax(2, 9, Dtype::bf16);
  JudgeFlags flags;
  flags.baseline = "demo", flags.candidate = "demo";
  FindingReport report{"a-signature", {"work/case.json", test_case, {}}, "not minimized"};
  report.found.seen = reproduce(test_case, "", Judging(flags));
  const FindingFacts facts = facts_of(report.found, {});
  EXPECT_THAT(
      what_is_wrong(facts, report.found.seen.run.verdict),
      HasSubstr("outside. demo fails as well: region 'y' (softmax, bf16) of demo: y[0,0] is 0.125, allowed"));
  EXPECT_THAT(facts.ruled_out, testing::Each(Not(HasSubstr("Not the graph itself"))));
  const FindingReport other = demo_report(test_case);
  EXPECT_EQ(facts_of(other.found, {}).other_fails, "");
  EXPECT_THAT(facts_of(other.found, {}).ruled_out, testing::Contains(HasSubstr("Not the graph itself")));
}

TEST(FindingReport, NamesTheKnownIssueAndHasALibrarysCode) {
  FindingReport report = demo_report(softmax(1, 9, Dtype::bf16));
  report.known_issue = "demo-softmax (https://example.org/1)";
  report.snippet = "import torch\n";
  const std::string text = report_markdown(report);
  EXPECT_THAT(text, HasSubstr("Known issue: demo-softmax (https"));
  EXPECT_THAT(text, HasSubstr("## Without fusesmith"));
  EXPECT_THAT(text, HasSubstr("```python\nimport torch\n"));
  EXPECT_THAT(report_markdown(demo_report(softmax(1, 9, Dtype::bf16))), Not(HasSubstr("Known issue")));
}

TEST(FindingReport, IntervalsOfSeveralValuesAreShown) {
  const FindingFacts facts = facts_of(demo_report(softmax(1, 9, Dtype::f32)).found, {});
  ASSERT_TRUE(facts.element);
  EXPECT_GT(facts.element->allowed_values, 1);
  EXPECT_THAT(facts.title, HasSubstr("0.125 where [0.1111"));
}

TEST(FindingReport, HasAllPartsAndEscapesThem) {
  const std::string text = report_markdown(demo_report(softmax(1, 9, Dtype::bf16)));
  for (const char* part : {"# softmax (bf16)", "<- failing region", "replay work/case.json", "numpy.allclose",
                           "## Environment", "a &lt;b> CPU", "Signature: `a-signature`",
                           "<summary>case.json</summary>", "\"op\": \"softmax\"", "| worst/bound |"})
    EXPECT_THAT(text, HasSubstr(part));
}

TEST(FindingReport, TextsOfWorkersAreEscaped) {
  FindingReport report{"crash", {"case.json", softmax(1, 2, Dtype::f32), {}}, "not minimized"};
  Verdict& verdict = report.found.seen.run.verdict;
  verdict.baseline.backend = "cpu", verdict.candidate.backend = "remote:</details>";
  verdict.verdict = VerdictClass::crash;
  verdict.reason = "<script>alert(1)</script>\x1b[2J\n# a heading";
  verdict.fail(Signature{VerdictClass::crash, "remote:</details>", "softmax", {}, Symptom::thrown});
  const std::string text = report_markdown(report);
  EXPECT_THAT(text, Not(HasSubstr("<script>")));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, Not(HasSubstr("\n# a heading")));
  EXPECT_THAT(text, Not(HasSubstr("remote:</details>")));
  EXPECT_TRUE(text.starts_with("# softmax on remote:&lt;/details>: an exception: &lt;script>"))
      << text.substr(0, 99);
  EXPECT_THAT(text, HasSubstr("The case was not run again."));
}

// Every key of the file is in the schema, and every required one in the file.
void expect_schema(const Json& value, Json schema, const Json& definitions, const std::string& place) {
  while (schema.contains("$ref")) {
    const std::string name = schema["$ref"].get<std::string>().substr(std::string("#/$defs/").size());
    Json merged = definitions.at(name);
    if (schema.contains("properties")) merged["properties"].update(schema["properties"]);
    schema = merged;
  }
  if (schema.contains("anyOf")) {
    for (const Json& one : schema["anyOf"]) {
      if (value.is_object() && one.value("type", Json()) == "object")
        return expect_schema(value, one, definitions, place);
    }
    return;
  }
  if (value.is_array() && schema.contains("items")) {
    for (const Json& one : value) expect_schema(one, schema["items"], definitions, place + "[]");
  }
  if (!value.is_object() || !schema.contains("properties")) return;
  for (const auto& [key, member] : value.items()) {
    ASSERT_TRUE(schema["properties"].contains(key))
        << place << "." << key << " is not in docs/verdict.schema.json";
    expect_schema(member, schema["properties"][key], definitions, place + "." + key);
  }
  for (const Json& key : schema.value("required", Json::array()))
    EXPECT_TRUE(value.contains(key.get<std::string>())) << place << " lacks " << key;
}

TEST(FindingReport, TheSchemaHasEveryKey) {
  FindingReport report = demo_report(softmax(1, 9, Dtype::bf16));
  report.minimized = demo_report(softmax(1, 9, Dtype::bf16)).found;
  report.neighbours.emplace();
  report.neighbours->choices.push_back({"dtype", "bf16", {"f32"}, {}, {}});
  report.neighbours->sizes.push_back({{"x axis 1"}, 9, {{8, false}, {9, true}}, {}, {}});
  report.ablations = {{Ablation::Kind::rewrite, "rewrite off", Outcome::other},
                      {Ablation::Kind::steps, "one step"}};
  const Json schema = Json::parse(*read_file(FUSESMITH_SOURCE_DIR "/docs/verdict.schema.json"));
  const Json json = finding_json(report);
  EXPECT_EQ(json["report"]["title"], facts_of(report.smallest(), {}).title);
  Json root = schema;
  root.erase("$defs");
  expect_schema(json, root, schema["$defs"], "verdict");
}

}  // namespace
}  // namespace fusesmith::fuzz
