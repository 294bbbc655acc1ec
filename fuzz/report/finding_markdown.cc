#include "fuzz/report/finding_markdown.h"

#include <cmath>

#include "fuzz/base/escape.h"
#include "fuzz/base/table.h"
#include "fuzz/report/finding_facts.h"
#include "fuzz/report/graph_code.h"
#include "fuzz/report/neighbours_text.h"
#include "fuzz/report/symptoms.h"
#include "fuzz/report/verdict_text.h"
#include "fuzz/run/difference.h"
#include "fuzz/run/judging.h"
#include "graph/element_index.h"

namespace fusesmith::fuzz {

namespace {

constexpr int kRepeats = 50;            // of a case that fails only sometimes
constexpr size_t kMostLines = 60;       // of the code of a graph
constexpr int64_t kMostUlps = 1 << 20;  // that say more than the two numbers do

constexpr Term kTerms[] = {
    {"region",
     "what a backend computes together, for example one fused kernel, by the name of its last value; of a "
     "program of which only outputs are read, by that of the value that fails"},
    {"made by", "the rewrite patterns that formed the region, or the op of a single node"},
    {"verdict",
     "identical: the same bits as the other backend; reassociation: within its bounds; "
     "precision_policy: within its bounds with the deviations named; others: a finding"},
    {"deviations",
     "roundings that the region drops, moves or adds; undeclared: its contract does not allow that, as none "
     "does for an explicit cast"},
    {"worst/bound",
     "the largest error divided by its bound, which is the largest error of a correct execution; empty where "
     "that is 0"},
    {"median/bound",
     "the median of error divided by bound, over elements that are not exact; empty if all are exact"},
    {"elements", "elements of the region's outputs; N of M: a sample of N was judged"},
    {"exact", "of these, elements with exactly one correct bit pattern"},
    {"unequal", "elements whose bits differ from those of the other backend"},
    {"largest difference", "between the two backends"},
    {"changed",
     "the size, dtype, attribute or op in which a neighbour differs from the case; 'x axis 1' is a size"},
    {"here", "its value in the case"},
    {"rewrite not applied", "values for which the case passes because the failing rewrite does not match it"},
    {"nearest that passes", "the closest value for which the rewrite is applied and the result is correct"},
    {"ulp", "the distance of two neighbouring values of the dtype"},
};

// The format of a script that the maintainers of the failing backend can run.
std::string script_format(const FindingReport& report) {
  const Verdict& verdict = report.smallest().seen.run.verdict;
  for (const BackendVerdict* backend : {&verdict.candidate, &verdict.baseline}) {
    if (backend->backend.starts_with("torch:")) return "torch";
    if (backend->backend.starts_with("ort:")) return "onnx";
  }
  return "numpy";
}

std::string summary_sentence(const Verdict& verdict) { return markdown_escaped(sentence(verdict)); }

std::string index_text(const Shape& index) { return to_string(index); }

std::string commands_section(const FindingReport& report) {
  std::string text;
  for (const std::string& command : commands_of(report)) text += command + "\n";
  return "Case: " + markdown_code(report.smallest().file) + " (" + markdown_escaped(report.how_small) +
         "). To see it again, and to write a script that runs without fusesmith:\n\n" +
         markdown_block(text, "sh") + "\n";
}

std::string bullets(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += "- " + markdown_escaped(line) + "\n";
  return text;
}

std::string details_section(const Verdict& verdict) {
  if (verdict.details.empty()) return "";
  return "What " + markdown_escaped(verdict.signature ? verdict.signature->backend : "it") + " said:\n\n" +
         markdown_block(verdict.details, "text") + "\n";
}

// The row around the element that shows the failure, in both runs.
std::string both_runs(const Verdict& verdict) {
  const RegionVerdict* failing = verdict.failing();
  if (!failing || failing->row.before.empty()) return "";
  const BothRuns& row = failing->row;
  const bool subset = failing->symptom == Symptom::depends_on_batch;
  std::vector<std::string> heading{failing->worst.value}, before{subset ? "among all" : "before"},
      after{subset ? failing->change + " alone" : "with " + failing->change};
  for (size_t i = 0; i < row.before.size(); ++i) {
    heading.push_back(index_text(unravelled(row.first + static_cast<int64_t>(i), failing->worst.shape)));
    before.push_back(number_text(row.before[i]));
    after.push_back(number_text(row.after[i]));
  }
  Table table(heading);
  table.add(before);
  table.add(after);
  return "Both runs have to give the same bits here:\n\n" + table.markdown() + "\n";
}

std::string fails_and_passes(const FindingReport& report) {
  if (!report.neighbours && report.minimized)
    return "## Fails, passes\n\nNeighbours of the case were not judged, for want of time.\n\n";
  if (!report.neighbours) return "";
  return "## Fails, passes\n\n" + neighbours_markdown(*report.neighbours) + "\n";
}

std::string other_comparisons(const FindingFacts& facts) {
  if (facts.comparisons.empty()) return "";
  Table table({"comparison", "rule", "outputs beyond it", "says"});
  for (const Comparison& one : facts.comparisons) {
    table.add({one.name, one.rule, std::to_string(one.beyond) + " of " + std::to_string(one.elements),
               one.beyond > 0 ? "different" : "close"});
  }
  return "## What comparisons with tolerances say\n\nOf the outputs of " + markdown_escaped(facts.backend) +
         " against those of " + markdown_escaped(facts.other_backend) + ":\n\n" + table.markdown() + "\n";
}

std::string environment_section(const Environment& environment) {
  if (environment.empty()) return "";
  std::string text = "## Environment\n\n";
  for (const auto& [name, value] : environment)
    text += "- " + markdown_escaped(name) + ": " + markdown_escaped(value) + "\n";
  return text + "\n";
}

// What the snippet should print, and what it prints where the failure is seen again.
std::string expected_text(const FindingReport& report, const FindingFacts& facts) {
  const Verdict& verdict = report.smallest().seen.run.verdict;
  const Symptom symptom = verdict.signature ? verdict.signature->symptom : Symptom::none;
  if (symptom == Symptom::thrown || symptom == Symptom::died)
    return "It should print results; with " + facts.backend + ", it ended as told above";
  if (!facts.element || report.snippet.find("WRONG") == std::string::npos) return "";
  const ElementFacts& element = *facts.element;
  return "It should print 'correct' for each run; with " + facts.backend + ", " + element.value +
         (element.index.empty() ? "" : index_text(element.index)) + " was " + number_text(element.got) +
         ", which is WRONG";
}

std::string snippet_section(const FindingReport& report, const FindingFacts& facts) {
  if (report.snippet.empty()) return "";
  const bool torch = report.snippet.find("import torch") != std::string::npos;
  const std::string expected = expected_text(report, facts);
  return "## Without fusesmith\n\nThis runs the graph with " +
         std::string(torch ? "PyTorch" : "ONNX Runtime") + " alone" +
         (expected.empty() ? "" : ". " + markdown_escaped(expected)) + ":\n\n" +
         markdown_block(report.snippet, "python") + "\n";
}

std::string regions_text(const JudgedCase& judged, Regions which) {
  const Verdict& verdict = judged.seen.run.verdict;
  const auto differences = region_differences(judged.seen.run);
  std::string text;
  for (const BackendVerdict* backend : {&verdict.candidate, &verdict.baseline}) {
    const bool compared = backend == &verdict.candidate;
    const Table table = region_table(
        *backend, which, compared ? std::span<const Difference>(differences) : std::span<const Difference>());
    if (table.empty()) continue;
    text += "Regions of " + markdown_escaped(backend->backend) + ":\n\n" + table.markdown() + "\n";
  }
  return text;
}

std::string code_block(const JudgedCase& judged) {
  const std::vector<int> failing = failing_nodes(judged.seen.run);
  return markdown_block(graph_code(judged.test_case.graph, failing, kMostLines), "text");
}

std::string case_file(const JudgedCase& judged) {
  const std::string json = to_json(judged.test_case);
  if (json.size() > kMostCaseBytes) return "";
  const std::string file = judged.file.substr(judged.file.find_last_of('/') + 1);
  return "<details><summary>" + html_escaped(file) + "</summary>\n\n" + markdown_block(json, "json") +
         "\n</details>\n\n";
}

std::string terms_section() {
  Table table({"word", "meaning"});
  for (const Term& term : kTerms) table.add({std::string(term.word), std::string(term.meaning)});
  return "<details><summary>Words in these tables</summary>\n\n" + table.markdown() + "\n" +
         std::string(kReportEnd);
}

}  // namespace

std::span<const Term> report_terms() { return kTerms; }

std::vector<std::string> commands_of(const FindingReport& report) {
  const JudgedCase& smallest = report.smallest();
  const auto command = [&](const std::string& name, const std::string& file) {
    return shell_quoted(report.program) + " " + name + " " + shell_quoted(file) + report.flags;
  };
  const std::string again = smallest.seen.rate.sometimes() && smallest.seen.rate.runs > 0
                                ? "replay --repeat=" + std::to_string(kRepeats)
                                : "replay";
  return {command(again, smallest.file), command("explain", smallest.file),
          command("minimize", report.found.file),
          command("export --to=" + script_format(report) + " --with_results --output=repro" +
                      (script_format(report) == "onnx" ? ".onnx" : ".py"),
                  smallest.file)};
}

std::string what_is_wrong(const FindingFacts& facts, const Verdict& verdict) {
  if (facts.computes.empty()) return sentence(verdict);
  const ElementFacts& element = *facts.element;
  std::string text = facts.computes + ". ";
  const std::string where = element.value + (element.index.empty() ? "" : index_text(element.index)) +
                            ", of shape " + to_string(element.type.shape) + ", ";
  if (is_disagreement(*verdict.failing())) return text + sentence(verdict);
  text += "Element " + where + "is " + number_text(element.got) + ". ";
  if (element.other)
    text += told_backend(facts.other_backend) + " gives " + number_text(*element.other) +
            " there, in its own run. ";
  const bool cast = verdict.failing()->symptom == Symptom::explicit_cast_skipped;
  text += "The exact result for the inputs that the kernel received" +
          std::string(cast ? ", rounded as the cast requires," : "") + " is " + number_text(element.exact);
  if (std::isfinite(element.exact) && element.rounded != element.exact)
    text += ", correctly rounded " + number_text(element.rounded);
  text += ". ";
  if (element.lowest == element.highest || std::isnan(element.lowest)) {
    text += "That is the only correct value";
  } else {
    text += "The allowed interval is [" + number_text(element.lowest) + ", " + number_text(element.highest) +
            "]" + (element.allowed_values > 0 ? ", " + counted(element.allowed_values, "value") : "");
  }
  if (element.ulps_outside > 0 && element.ulps_outside <= kMostUlps)
    text += "; the result is " + counted(element.ulps_outside, "ulp") + " of " +
            std::string(name(element.type.dtype)) + " outside";
  return text + "." + (facts.other_fails.empty() ? "" : " " + facts.other_fails);
}

std::string how_sure(const FindingFacts& facts) {
  const FailureRate& rate = facts.rate;
  std::string text;
  if (!facts.argument.empty())
    text = "Shown by the argument '" + facts.argument + "': " + facts.why_sure + ". " +
           std::to_string(facts.outside) + " of " + counted(facts.elements, "element") +
           (facts.outside == 1 ? " is" : " are") + " outside" +
           (facts.elements < facts.all_elements
                ? ", of a sample; the output has " + counted(facts.all_elements, "element") + " in all. "
                : ". ");
  if (rate.runs == 0) return text + "The case was not run again.";
  if (rate.runs == 1 && rate.failed == 1) return text + "It failed in the one run that was made.";
  const std::string runs = std::to_string(rate.failed) + " of " + counted(rate.runs, "run");
  return text + (rate.sometimes() ? "It fails in " + runs + "." : "It fails every time (" + runs + ").");
}

std::string report_markdown(const FindingReport& report) {
  const JudgedCase& smallest = report.smallest();
  const Verdict& verdict = smallest.seen.run.verdict;
  const FindingFacts facts = facts_of(smallest, report.ablations);
  std::string text = "# " + markdown_escaped(facts.title) + "\n\n" +
                     markdown_escaped(what_is_wrong(facts, verdict)) + "\n\n" +
                     markdown_escaped(how_sure(facts)) + "\n\n";
  if (const std::string step = shown_step_text(verdict); !step.empty())
    text += markdown_escaped(step) + "\n\n";
  if (!report.known_issue.empty()) text += "Known issue: " + markdown_escaped(report.known_issue) + "\n\n";
  text += details_section(verdict) + both_runs(verdict) + code_block(smallest) + "\n" +
          snippet_section(report, facts) + commands_section(report) + fails_and_passes(report);
  if (!facts.ruled_out.empty()) text += "## What was ruled out\n\n" + bullets(facts.ruled_out) + "\n";
  text += other_comparisons(facts) + environment_section(report.environment);
  text += "## Regions\n\nSignature: " + markdown_code(report.signature) + "\n\n" +
          regions_text(smallest, Regions::all) + case_file(smallest);
  if (report.minimized) {
    const JudgedCase& found = report.found;
    text += "## The case as found\n\n" + summary_sentence(found.seen.run.verdict) +
            "\n\nCase: " + markdown_code(found.file) + ", before minimization.\n\n" +
            regions_text(found, Regions::notable) + "<details><summary>Its graph</summary>\n\n" +
            code_block(found) + "\n</details>\n\n";
  }
  return text + terms_section();
}

}  // namespace fusesmith::fuzz
