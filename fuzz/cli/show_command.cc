// The `show` command: the graph of a case as code with shapes, and on demand a few elements of its data.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "fuzz/cli/command.h"
#include "fuzz/render/code.h"
#include "fuzz/run/case_files.h"

namespace fusesmith::fuzz {

namespace {

struct ShowFlags {
  bool values = false;
  bool all_attributes = false;
  bool json = false;
  std::vector<std::string> files;

  FlagTable table();
};

constexpr std::string_view kShowName = "show";
constexpr int64_t kShown = 6;  // elements of a tensor

using Json = nlohmann::ordered_json;

FlagTable ShowFlags::table() {
  FlagTable table;
  table.command = kShowName;
  table.doc = "print the graph of a case as code with shapes.";
  table.details =
      "Prints one line for each input, state and node, with the type of its result as a comment. A call "
      "names axes and the attributes that differ from their default. `-` is a case on standard input.\n"
      "\n"
      "Exit codes: 0 the case is printed, 1 wrong usage, or the case cannot be read.";
  table.positional = {"CASE.json|-", &files, 1, 1};
  table.flags.push_back({.name = "values",
                         .target = &values,
                         .doc = "Also print the first elements of each input, and of each state, as in "
                                "the first step."});
  table.flags.push_back({.name = "all_attributes",
                         .target = &all_attributes,
                         .doc = "Name every attribute, also those with their default value."});
  table.flags.push_back({.name = "json",
                         .target = &json,
                         .doc = "Print one JSON object on standard output and nothing else there."});
  table.examples = {
      {"show fusesmith-work/findings/*/min.json", "Read what a finding computes."},
      {"show --values case.json", "See the data, too."},
  };
  table.shows = true;
  return table;
}

// Inputs, then states.
std::vector<Tensor> source_tensors(const Case& test_case) {
  std::vector<Tensor> tensors = make_inputs(test_case);
  for (const State& s : test_case.graph.states()) tensors.push_back(data_of(test_case, s));
  return tensors;
}

std::string elements_text(const Tensor& tensor) {
  std::string text;
  for (int64_t i = 0; i < std::min(tensor.size(), kShown); ++i)
    text += (i == 0 ? "" : ", ") + stored_text(tensor.type.dtype, tensor.value(i));
  return text + (tensor.size() > kShown ? ", ..." : "");
}

Json json_of(const std::string& file, const Case& test_case, const std::vector<CodeLine>& lines,
             const std::vector<Tensor>& tensors) {
  Json json = {{"file", file}, {"seed", test_case.seed}, {"steps", test_case.steps}};
  Json code = Json::array();
  for (const CodeLine& line : lines) code.push_back({{"code", line.code}, {"type", line.comment}});
  json["lines"] = std::move(code);
  json["values"] = Json::object();
  for (size_t i = 0; i < tensors.size(); ++i)
    json["values"][test_case.graph.name(static_cast<ValueId>(i))] = elements_text(tensors[i]);
  return json;
}

// Exit code: 0, 1.
int run(ShowFlags& flags, Console& console) {
  const auto test_case = read_case_argument(flags.files[0]);
  if (!test_case) return fail(console, kShowName, test_case.problem());
  std::vector<CodeLine> lines =
      code_lines(test_case->graph, flags.all_attributes ? Attributes::all : Attributes::telling);
  const std::vector<Tensor> tensors = flags.values ? source_tensors(*test_case) : std::vector<Tensor>{};
  if (flags.json) {
    console.out << json_of(flags.files[0], *test_case, lines, tensors)
                       .dump(2, ' ', false, Json::error_handler_t::replace)
                << "\n";
    return kClean;
  }
  for (size_t i = 0; i < tensors.size(); ++i) lines[i].comment += ": " + elements_text(tensors[i]);
  console.out << "# seed " << test_case->seed
              << (test_case->steps > 1 ? ", " + std::to_string(test_case->steps) + " steps" : "") << "\n"
              << code_text(lines);
  return kClean;
}

}  // namespace

Command show_command() { return command_of<ShowFlags>(); }

}  // namespace fusesmith::fuzz
