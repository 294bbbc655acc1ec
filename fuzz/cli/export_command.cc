// The `export` command: a case as a file that other programs and people can read without fusesmith
// (docs/export.md).
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "fuzz/base/color.h"
#include "fuzz/base/escape.h"
#include "fuzz/base/files.h"
#include "fuzz/base/interrupt.h"
#include "fuzz/cli/command.h"
#include "fuzz/export/format.h"
#include "fuzz/export/recorded_mark.h"
#include "fuzz/export/script.h"
#include "fuzz/findings/finding.h"
#include "fuzz/run/case_files.h"

namespace fusesmith::fuzz {

namespace {

struct ExportFlags {
  std::string to;
  std::string output = "-";
  bool with_results = false;
  bool json = false;
  JudgeFlags judge;
  std::vector<std::string> files;

  FlagTable table();
};

constexpr std::string_view kExportName = "export";
constexpr std::string_view kStandardOutput = "-";
constexpr std::string_view kMarkdown = "markdown";
constexpr double kIssueSeconds = 60;  // for the runs that tell the cause apart

// "dot|svg", and a paragraph with a line for each format.
const std::string& format_choices() {
  static const std::string text = [] {
    std::string all;
    for (const ExportFormat& format : export_formats())
      all += (all.empty() ? "" : "|") + std::string(format.name);
    return all;
  }();
  return text;
}

const std::string& details() {
  static const std::string text = [] {
    std::string formats;
    for (const ExportFormat& format : export_formats())
      formats += "  " + std::string(format.name) + ": " + std::string(format.doc) + "\n";
    return "Writes one case in a format that can be read without fusesmith. FOLDER is that of a finding: its "
           "minimized case, or the one found. `-` is a case on standard input.\n"
           "\n"
           "Formats:\n" +
           formats +
           "\n"
           "Nothing is written but --output. Scripts with more than " +
           std::to_string(kMaxLiteralElements) +
           " elements of data read them from a file of the same name with the suffix .npz, which is written "
           "beside them. --baseline and the other flags of judging are for --with_results. docs/export.md "
           "describes each format.\n"
           "\n"
           "Exit codes: 0 the file is written, also if the case fails; 1 wrong usage, or the case cannot be "
           "read, "
           "run or exported, 72 interrupted, 73 the file cannot be written, 76 the GPU is missing or failed.";
  }();
  return text;
}

FlagTable ExportFlags::table() {
  FlagTable table;
  table.command = kExportName;
  table.doc = "write a case in a format that can be read without fusesmith.";
  table.details = details();
  table.positional = {"CASE.json|FOLDER|-", &files, 1, 1};
  table.flags.push_back({.name = "to",
                         .target = &to,
                         .value = format_choices(),
                         .doc = "The format (required).",
                         .choices = export_format_names()});
  table.flags.push_back({.name = "output",
                         .target = &output,
                         .value = "FILE|-",
                         .doc = "The file to write; `-` is standard output."});
  table.flags.push_back({.name = "with_results",
                         .target = &with_results,
                         .doc = "Run and judge the case, and export what both backends computed, the exact "
                                "results and the lawful intervals."});
  judge.add_to(table.flags);
  table.flags.push_back({.name = "json",
                         .target = &json,
                         .doc = "Print {\"files\": [...]} on standard output and nothing else there."});
  table.examples = {
      {"export min.json --to=numpy --with_results --output=check.py",
       "Write a script that checks the correct result of the failing element without fusesmith."},
      {"export case.json --to=npz --output=case.npz", "Write the data for a script of one's own."},
      {"export case.json --to=dot --output=- | dot -Tpng -o case.png", "Draw the graph with Graphviz."},
  };
  table.shows = true;
  return table;
}

// The file for data that the output does not contain.
std::filesystem::path data_path(std::filesystem::path output) { return output.replace_extension(".npz"); }

// Modules that the scripts import: a script of this name would be imported in place of them.
constexpr std::string_view kImported[] = {"argparse",    "ctypes", "math", "numpy", "onnx",
                                          "onnxruntime", "os",     "sys",  "torch"};

// The module that the script for this output would hide; empty if there is none.
std::string hidden_module(const ExportFlags& flags) {
  const std::filesystem::path output = flags.output;
  if (output.extension() != ".py" && flags.to != "onnx") return "";
  const std::string name = output.stem().string();
  return std::find(std::begin(kImported), std::end(kImported), name) == std::end(kImported) ? "" : name;
}

int write(const ExportFlags& flags, const Exported& exported, Console& console) {
  std::vector<std::string> files;
  if (!exported.data.empty()) {
    const std::filesystem::path data = data_path(flags.output);
    if (auto problem = write_file(data, exported.data))
      return fail(console, kExportName, problem->what, kCannotWrite);
    files.push_back(data.string());
  }
  if (!exported.script.empty()) {
    const std::filesystem::path script = std::filesystem::path(flags.output).replace_extension(".py");
    if (auto problem = write_file(script, exported.script))
      return fail(console, kExportName, problem->what, kCannotWrite);
    files.push_back(script.string());
  }
  if (auto problem = write_file(flags.output, exported.text))
    return fail(console, kExportName, problem->what, kCannotWrite);
  files.insert(files.begin(), flags.output);
  if (flags.json) {
    console.out << nlohmann::json{{"files", files}}.dump(2, ' ', false,
                                                         nlohmann::json::error_handler_t::replace)
                << "\n";
  } else {
    for (const std::string& file : files) console.out << file << "\n";
  }
  return kClean;
}

int put(const ExportFlags& flags, const Exported& exported, Console& console) {
  if (flags.output != kStandardOutput) return write(flags, exported, console);
  console.out << exported.text;
  return kClean;
}

// A recorded finding stays one, whatever is known since.
Result<Judging> judging_of(const ExportFlags& flags, const std::string& file, const Case& test_case,
                           const std::string& signature) {
  auto judging = Judging::of_case(flags.judge, file, test_case);
  if (!judging) return judging;
  judging->options.stop = Signals::interrupted;
  return without_issue_of(std::move(*judging), signature);
}

// The text of an issue, as campaigns write it; empty where the case does not fail.
std::string issue_of(const ExportFlags& flags, const Case& test_case, const std::string& file,
                     const Judging& judging, const std::string& signature, const Console& console) {
  FindingOptions options;
  options.judging = judging;
  options.flags = flags.judge.text();
  options.commit = console.commit;
  options.stop = Signals::interrupted;
  options.max_seconds = kIssueSeconds;
  return issue_text(file, test_case, signature, options);
}

// What a finding's folder has, the smallest first; any other argument as it is.
std::string case_of_folder(const std::string& argument) {
  for (const char* name : {"min.json", "case.json"}) {
    const WorkPath file = WorkPath(argument) / name;
    if (is_there(file)) return file.string();
  }
  return argument;
}

// What pictures mark: of the results, or of the verdict that a campaign wrote beside the case.
std::optional<FailureMark> mark_of(const ExportSource& source) {
  return source.results ? failure_mark(source.test_case.graph, source.results->run)
                        : recorded_failure_mark(source.file, source.test_case);
}

// Exit code: 0, 1, 72, 73, 76.
int run(ExportFlags& flags, Console& console) {
  const ExportFormat* format = find_export_format(flags.to);
  if (!format) return fail(console, kExportName, "needs --to=" + format_choices());
  const bool to_file = flags.output != kStandardOutput;
  if (!flags.with_results && !flags.judge.text().empty())
    return fail(console, kExportName, "flags of judging need --with_results:" + flags.judge.text());
  if (const auto why = flags.judge.cannot_run()) return fail(console, kExportName, why->why, why->code);
  if (const auto problem = flags.judge.read_known()) return fail(console, kExportName, problem->what);
  if (flags.json && !to_file) return fail(console, kExportName, "--json needs --output=FILE");
  if (format->is_binary && !to_file && terminals().out)
    return fail(console, kExportName,
                "--to=" + flags.to + " is binary and would go to the terminal; give --output=FILE");
  if (const std::string module = hidden_module(flags); to_file && !module.empty())
    return fail(console, kExportName,
                "--output=" + flags.output + ": Python would import this script in place of the module " +
                    module + "; choose another name");
  const std::string file = case_of_folder(flags.files[0]);
  if (const auto problem = file == flags.files[0] ? std::nullopt : refused_link(file))
    return fail(console, kExportName, problem->what);
  const auto test_case = read_case_argument(file);
  if (!test_case) return fail(console, kExportName, test_case.problem());
  ExportSource source{*test_case, file};
  if (to_file) source.data_file = data_path(flags.output).filename().string();
  try {
    const auto recorded = recorded_failure(file);
    const std::string signature = recorded ? recorded->signature : "";
    std::optional<Result<CaseResults>> results;
    if (flags.with_results) {
      const auto judging = judging_of(flags, file, *test_case, signature);
      if (!judging) return fail(console, kExportName, judging.problem());
      const std::string text =
          flags.to == kMarkdown ? issue_of(flags, *test_case, file, *judging, signature, console) : "";
      if (!text.empty()) return put(flags, {text}, console);
      results.emplace(results_of(*test_case, *judging, signature));
    }
    // A backend that crashes has none, which is what the script is to show.
    const bool are_missing = results && !*results && recorded;
    if (are_missing) console.err << "fusesmith export: " << printable(results->problem()) << "\n";
    if (results && !*results && !are_missing)
      return fail(console, kExportName, file + ": " + results->problem());
    if (results && *results) source.results = &**results;
    source.note = failure_note(recorded, source.results ? &source.results->rate : nullptr);
    auto mark = mark_of(source);
    if (mark && !source.note.empty()) mark->note = source.note + " " + mark->note;
    if (mark) source.mark = &*mark;
    const auto exported = format->write(source);
    if (!exported) return fail(console, kExportName, file + ": " + exported.problem());
    return put(flags, *exported, console);
  } catch (const DeviceError& error) {
    return fail_device(console, kExportName, file, error);
  } catch (const Interrupted&) {
    return fail(console, kExportName, "interrupted", kInterrupted);
  }
}

}  // namespace

Command export_command() { return command_of<ExportFlags>(); }

}  // namespace fusesmith::fuzz
