// The `gradient` command: the backward pass of a case as a case.
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "fuzz/cli/command.h"
#include "fuzz/run/case_files.h"
#include "graph/gradient.h"

namespace fusesmith::fuzz {

namespace {

constexpr std::string_view kGradientName = "gradient";

struct GradientFlags {
  std::string output = "-";
  std::vector<std::string> files;
  bool json = false;

  FlagTable table();
};

FlagTable GradientFlags::table() {
  FlagTable table;
  table.command = kGradientName;
  table.doc = "write the backward pass of a case.";
  table.details =
      "The new case has the inputs of the case and one more, d_NAME, for each output NAME: the gradient of a "
      "loss for it, which is normal data. Its outputs are the gradients of the float inputs, in order, as "
      "reverse accumulation derives them from the definition of each op. The forward pass is part of it, as "
      "far as gradients need its values. It has one step, and expects no verdict. `-` is a case on standard "
      "input.\n"
      "\n"
      "Floats must be f32. Ops without a gradient, and states, are errors.\n"
      "\n"
      "Exit codes: 0 the case is written, 1 wrong usage, or the case cannot be read or differentiated, 73 "
      "the "
      "file cannot be written.";
  table.positional = {"CASE.json|-", &files, 1, 1};
  table.flags.push_back({.name = "output",
                         .target = &output,
                         .value = "FILE|-",
                         .doc = "The file to write; `-` is standard output."});
  table.flags.push_back(
      {.name = "json",
       .target = &json,
       .doc = "Print {\"files\": [...], \"gradients\": {INPUT: OUTPUT}} on standard output and "
              "nothing else there; needs a file."});
  table.examples = {
      {"gradient case.json --output=backward.json", "Judge the backward pass of a case, with replay."},
      {"gradient case.json | fusesmith show -", "Read how the gradients are computed."},
  };
  table.shows = true;
  return table;
}

// By the name of a float input: the output that is its gradient.
nlohmann::ordered_json gradient_names(const Graph& forward, const Graph& backward) {
  nlohmann::ordered_json names = nlohmann::ordered_json::object();
  size_t next = 0;
  for (const Input& input : forward.inputs()) {
    if (is_float(input.type.dtype)) names[input.name] = backward.name(backward.outputs()[next++]);
  }
  return names;
}

// Exit code: 0, 1, 73.
int run(GradientFlags& flags, Console& console) {
  const bool prints = flags.output == kStandardInput;
  if (flags.json && prints) return fail(console, kGradientName, "--json needs --output=FILE");
  const auto test_case = read_case_argument(flags.files[0]);
  if (!test_case) return fail(console, kGradientName, test_case.problem());
  const auto backward = graph::gradient_graph(test_case->graph);
  if (!backward) return fail(console, kGradientName, flags.files[0] + ": " + backward.problem());
  Case made;
  made.seed = test_case->seed;
  made.graph = *backward;
  if (prints) {
    console.out << to_json(made);
    return kClean;
  }
  if (auto problem = write_case_file(flags.output, made))
    return fail(console, kGradientName, problem->what, kCannotWrite);
  if (flags.json) {
    const nlohmann::ordered_json json = {{"files", {flags.output}},
                                         {"gradients", gradient_names(test_case->graph, *backward)}};
    console.out << json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << "\n";
  }
  return kClean;
}

}  // namespace

Command gradient_command() { return command_of<GradientFlags>(); }

}  // namespace fusesmith::fuzz
