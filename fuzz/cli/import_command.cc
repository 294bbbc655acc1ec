// The `import` command: models of ONNX and torch.export as case files.
#include <filesystem>
#include <new>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "fuzz/base/files.h"
#include "fuzz/base/table.h"
#include "fuzz/cli/command.h"
#include "fuzz/cli/imported_model.h"
#include "fuzz/run/backends.h"
#include "fuzz/run/case_files.h"
#include "graph/formula_traits.h"

namespace fusesmith::fuzz {

namespace {

using Json = nlohmann::ordered_json;

struct ImportFlags {
  std::string output;
  ModelFlags model_flags;
  bool json = false;
  bool wide = false;
  std::vector<std::string> model;

  FlagTable table();
};

constexpr std::string_view kImportName = "import";
constexpr double kMostWork = 1e11;  // multiply-adds of models whose outputs are computed here: about 10 s

FlagTable ImportFlags::table() {
  FlagTable table;
  table.command = "import";
  table.doc = "write a model of ONNX or torch.export as case files.";
  table.details =
      "MODEL is an ONNX file of opset 17 to 23, or a program that torch.export.save wrote (.pt2). It is read "
      "by a Python script, with python3 or the interpreter that FUSESMITH_PYTHON names, which needs the "
      "package onnx, or torch. Operators without a counterpart are listed, with the first node of each kind, "
      "and their results become inputs. docs/export.md lists the others. The outputs are computed once on "
      "the backend cpu, and outputs that are NaN or constant, which hide mistakes, are counted.\n"
      "\n"
      "`fusesmith check MODEL` imports a model and judges it.\n"
      "\n"
      "Exit codes: 0 all files are written, 1 wrong usage, or a model that cannot be read or has nothing to "
      "import (no file is written), 70 timeout, 71 out of memory, 73 a file cannot be written.";
  table.positional = {"MODEL.onnx|PROGRAM.pt2", &model, 1, 1};
  table.flags.push_back({.name = "output",
                         .target = &output,
                         .value = "CASE.json|DIR",
                         .doc =
                             "The case file; with --split, a folder for the files MODEL-NUMBER.json, which "
                             "is created if needed (required)."});
  model_flags.add_to(table.flags, "timeout");
  table.flags.push_back(wide_flag(wide));
  table.flags.push_back({.name = "json",
                         .target = &json,
                         .doc = "Print {\"files\": [...], \"unmapped\": [...], ...} on standard output and "
                                "nothing else there."});
  table.examples = {
      {"import model.onnx --dim=batch=1 --output=model.json", "One case of a whole model."},
      {"import model.onnx --split=20 --output=seeds && fusesmith fuzz seeds",
       "A campaign that begins with the parts of a model."},
  };
  return table;
}

// Of all cases, computed once on `cpu`; nothing where that takes long, or more memory than there is.
std::optional<OutputData> outputs_of(const ImportedModel& model) {
  double operations = 0;
  for (const ImportedCase& one : model.cases)
    operations += static_cast<double>(formula_traits::work(one.test_case.graph).operations);
  if (operations > kMostWork) return {};
  OutputData data;
  try {
    for (const ImportedCase& one : model.cases) {
      const auto trace = first_step(one.test_case, *find_backend("cpu"));
      if (!trace) return {};
      data += output_data(one.test_case.graph, *trace);
    }
  } catch (const std::bad_alloc&) {
    return {};
  }
  return data;
}

void print_summary(const ImportedModel& model, const ImportFlags& flags, Console& console) {
  console.out << counted(static_cast<int64_t>(model.cases.size()), "case") << ", "
              << counted(model.nodes(), "node") << ", in " << flags.output << "\n";
  const auto outputs = outputs_of(model);
  for (const std::string& line :
       {operators_text(model), approximated_text(model), outputs ? outputs->text() : ""}) {
    if (!line.empty()) console.out << line << "\n";
  }
  const Table table = unmapped_table(model);
  if (!table.empty()) console.out << "\n" << table.text(0, flags.wide ? kAllColumns : kColumns);
}

void print_json(const ImportedModel& model, const std::vector<std::filesystem::path>& files,
                Console& console) {
  Json object = {{"files", Json::array()}, {"nodes", model.nodes()}};
  for (const auto& file : files) object["files"].push_back(file.string());
  for (const auto& [key, value] : model.facts.items()) object[key] = value;
  if (const auto outputs = outputs_of(model)) object["outputs"] = to_json(*outputs);
  console.out << object.dump(2, ' ', false, Json::error_handler_t::replace) << "\n";
}

// Exit code: 0, 1, 70, 71, 73.
int run(ImportFlags& flags, Console& console) {
  if (flags.output.empty())
    return fail(console, kImportName,
                flags.model_flags.split > 0 ? "needs --output=DIR, the folder to write the cases to"
                                            : "needs --output=CASE.json, the file to write");
  const ImportedModel model = import_model(flags.model[0], flags.model_flags);
  if (model.problem)
    return fail(console, kImportName, flags.model[0] + ": " + model.problem->why, model.problem->code);
  const std::filesystem::path output(flags.output);
  if (flags.model_flags.split > 0) {
    if (auto problem = make_folder(output)) return fail(console, kImportName, problem->what, kCannotWrite);
  }
  std::vector<std::filesystem::path> files;
  for (const ImportedCase& one : model.cases) {
    files.push_back(flags.model_flags.split > 0 ? output / (one.name + ".json") : output);
    if (auto problem = write_case_file(files.back(), one.test_case))
      return fail(console, kImportName, problem->what, kCannotWrite);
  }
  if (flags.json)
    print_json(model, files, console);
  else
    print_summary(model, flags, console);
  return kClean;
}

}  // namespace

Command import_command() { return command_of<ImportFlags>(); }

}  // namespace fusesmith::fuzz
