// The `import` command: models of ONNX and torch.export as case files. A Python script reads them
// (python/workers/import/import_model.py); what it makes is read as any case file before it is written.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "backends/remote/script_call.h"
#include "fuzz/base/files.h"
#include "fuzz/base/table.h"
#include "fuzz/cli/command.h"
#include "graph/case.h"

namespace fusesmith::fuzz {

namespace {

using Json = nlohmann::ordered_json;

struct ImportFlags {
  std::string output;
  std::vector<std::string> dim;
  int64_t split = 0;
  double timeout = 300;
  int64_t rss_limit_mb = 4096;
  bool json = false;
  std::vector<std::string> model;

  FlagTable table();
};

constexpr std::string_view kImportName = "import";

FlagTable ImportFlags::table() {
  FlagTable table;
  table.command = "import";
  table.doc = "write a model of ONNX or torch.export as case files.";
  table.details =
      "MODEL is an ONNX file of opset 17 to 23, or a program that torch.export.save wrote (.pt2). It is read "
      "by a Python script, with python3 or the interpreter that FUSESMITH_PYTHON names, which needs the "
      "package onnx, or torch. Operators without a counterpart are listed, and their results become inputs. "
      "docs/export.md lists the others.\n"
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
  table.flags.push_back({.name = "dim",
                         .target = &dim,
                         .value = "NAME=SIZE,..",
                         .doc = "Sizes that the model leaves open, by the model's names for them; a size "
                                "without a name is INPUT.AXIS."});
  table.flags.push_back({.name = "split",
                         .target = &split,
                         .value = "N",
                         .doc = "Several cases of about N nodes each; the values between them are inputs.",
                         .default_text = "one case",
                         .hi = 4096});
  table.flags.push_back({.name = "timeout",
                         .target = &timeout,
                         .value = "SECONDS",
                         .doc = "How long the script may take.",
                         .unit = Flag::Unit::seconds,
                         .lo = 0.01,
                         .hi = 1e6});
  table.flags.push_back({.name = "rss_limit_mb",
                         .target = &rss_limit_mb,
                         .value = "N",
                         .doc =
                             "How much memory the script may use, in MiB, beside eight times the size of the "
                             "model's files; 0: no limit.",
                         .hi = 1e9});
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

struct ImportedFile {
  std::filesystem::path path;
  std::string text;
  int64_t nodes = 0;
};

// The cases of a reply, as files with the canonical text of their cases.
Result<std::vector<ImportedFile>> files_of(const backends::ScriptReply& reply, const ImportFlags& flags) {
  std::vector<ImportedFile> files;
  std::string_view rest(reinterpret_cast<const char*>(reply.payload.data()), reply.payload.size());
  for (const auto& entry : reply.header.at("cases")) {
    const auto name = entry.at("name").get<std::string>();
    const std::string_view text = rest.substr(0, entry.at("bytes").get<size_t>());
    rest.remove_prefix(text.size());
    const auto imported = parse_case(text);
    if (!imported) return Problem{name + ": the imported case is not valid: " + imported.problem()};
    const std::filesystem::path output(flags.output);
    files.push_back({flags.split > 0 ? output / (name + ".json") : output, to_json(*imported),
                     static_cast<int64_t>(imported->graph.nodes().size())});
  }
  return files;
}

Result<std::vector<ImportedFile>> files_or_problem(const backends::ScriptReply& reply,
                                                   const ImportFlags& flags) {
  try {
    return files_of(reply, flags);
  } catch (const nlohmann::json::exception& error) {
    return Problem{std::string("the script's reply cannot be read: ") + error.what()};
  }
}

void print_summary(const backends::ScriptReply& reply, const std::vector<ImportedFile>& files,
                   const ImportFlags& flags, Console& console) {
  int64_t nodes = 0;
  for (const ImportedFile& file : files) nodes += file.nodes;
  console.out << counted(static_cast<int64_t>(files.size()), "case") << ", " << counted(nodes, "node")
              << ", in " << flags.output << "\n";
  if (const auto& constants = reply.header.at("approximated"); !constants.empty())
    console.out << "of " << counted(static_cast<int64_t>(constants.size()), "large constant")
                << ", the case has random data with the same mean and deviation\n";
  Table table({"no counterpart", "nodes", "why"});
  for (const auto& entry : reply.header.at("unmapped"))
    table.add({entry.at("op").get<std::string>(), std::to_string(entry.at("count").get<int64_t>()),
               entry.at("why").get<std::string>()});
  if (!table.empty()) console.out << "\n" << table.text();
}

void print_json(const backends::ScriptReply& reply, const std::vector<ImportedFile>& files,
                Console& console) {
  Json object = {{"files", Json::array()}, {"nodes", 0}};
  int64_t nodes = 0;
  for (const ImportedFile& file : files) {
    object["files"].push_back(file.path.string());
    nodes += file.nodes;
  }
  object["nodes"] = nodes;
  for (const char* key : {"unmapped", "approximated"}) object[key] = reply.header.at(key);
  console.out << object.dump(2, ' ', false, Json::error_handler_t::replace) << "\n";
}

// Exit code: 0, 1, 70, 71, 73.
int run(ImportFlags& flags, Console& console) {
  if (flags.output.empty())
    return fail(console, kImportName,
                flags.split > 0 ? "needs --output=DIR, the folder to write the cases to"
                                : "needs --output=CASE.json, the file to write");
  backends::ScriptRequest request{"import/import_model.py"};
  for (const std::string& size : flags.dim) request.arguments.push_back("--dim=" + size);
  request.arguments.push_back("--split=" + std::to_string(flags.split));
  request.arguments.push_back("--rss_limit_mb=" + std::to_string(flags.rss_limit_mb));
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  request.arguments.insert(request.arguments.end(), {"--binary=" + program.string(), "--", flags.model[0]});
  request.seconds = flags.timeout;
  const backends::ScriptReply reply = backends::call_script(request);
  if (!reply.problem.empty())
    return fail(console, kImportName, flags.model[0] + ": " + reply.problem,
                reply.timed_out       ? kTimeout
                : reply.out_of_memory ? kOutOfMemory
                                      : kUsage);
  const auto files = files_or_problem(reply, flags);
  if (!files) return fail(console, kImportName, flags.model[0] + ": " + files.problem());
  if (flags.split > 0) {
    if (auto problem = make_folder(flags.output))
      return fail(console, kImportName, problem->what, kCannotWrite);
  }
  for (const ImportedFile& file : *files) {
    if (auto problem = write_file(file.path, file.text))
      return fail(console, kImportName, problem->what, kCannotWrite);
  }
  if (flags.json)
    print_json(reply, *files, console);
  else
    print_summary(reply, *files, flags, console);
  return kClean;
}

}  // namespace

Command import_command() { return command_of<ImportFlags>(); }

}  // namespace fusesmith::fuzz
