// The format `markdown`: the text of an issue about one case.
#include "fuzz/base/escape.h"
#include "fuzz/base/table.h"
#include "fuzz/export/format.h"
#include "fuzz/export/script.h"
#include "fuzz/report/verdict_text.h"
#include "graph/element_index.h"

namespace fusesmith::fuzz {
namespace {

constexpr size_t kMaxEmbedded = 8 << 10;  // bytes of a case that the text contains

std::string title_of(const CaseResults& results) {
  const Verdict& verdict = results.run.verdict;
  const RegionVerdict* failing = verdict.failing();
  if (!failing) return std::string(name(verdict.verdict));
  return std::string(name(verdict.verdict)) + " in " + failing->component() + " (" +
         std::string(name(failing->dtype)) + ") of " + verdict.of(verdict.failing_region->role).backend;
}

std::string elements_table(const ExportSource& source) {
  const Graph& graph = source.test_case.graph;
  Table table({"element", "got", "exact", "lowest lawful", "highest lawful"});
  for (const ShownElement& e : script_elements(source)) {
    const Dtype dtype = graph.type(e.value).dtype;
    table.add({graph.name(e.value) + to_string(unravelled(e.element, graph.type(e.value).shape)),
               stored_text(dtype, e.got), number_text(e.exact), stored_text(dtype, e.low),
               stored_text(dtype, e.high)});
  }
  if (table.empty()) return "";
  return table.markdown() +
         "\nexact: computed in f64 from the bits that the region received, before it is rounded. Lawful: "
         "what "
         "a\ncorrect execution can store, in any order of operations.\n\n";
}

std::string results_markdown(const ExportSource& source) {
  const Verdict& verdict = source.results->run.verdict;
  return "# " + markdown_escaped(title_of(*source.results)) + "\n\n" + markdown_escaped(sentence(verdict)) +
         "\n\nBackends: " + markdown_code(verdict.baseline.backend) + " (baseline), " +
         markdown_code(verdict.candidate.backend) + " (candidate).\n\n" + elements_table(source);
}

}  // namespace

Result<Exported> export_markdown(const ExportSource& source) {
  const Case& test_case = source.test_case;
  std::string text =
      source.results ? results_markdown(source) : "# " + markdown_escaped(printable(source.file)) + "\n\n";
  if (!source.results && source.mark) text += markdown_escaped(source.mark->note) + "\n\n";
  if (!source.note.empty()) text += markdown_escaped(source.note) + "\n\n";
  text += "## The graph\n\n" + markdown_block(code_text(code_lines(test_case.graph)), "python");
  if (!test_case.comment.empty()) text += "\n" + markdown_block(test_case.comment);
  text += "\n## To reproduce\n\nWith fusesmith " FUSESMITH_VERSION
          ", each of these writes a file that needs no fusesmith:\n\n" +
          markdown_block(
              "fusesmith export case.json --to=numpy --with_results --output=exact.py   # the correct "
              "result\nfusesmith export case.json --to=torch --with_results --output=repro.py   # eager "
              "and compiled\n",
              "sh");
  const std::string json = to_json(test_case);
  if (json.size() <= kMaxEmbedded)
    text += "\n<details><summary>case.json</summary>\n\n" + markdown_block(json, "json") + "\n</details>\n";
  return Exported{text};
}

}  // namespace fusesmith::fuzz
