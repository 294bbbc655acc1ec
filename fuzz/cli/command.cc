#include "fuzz/cli/command.h"

#include <algorithm>
#include <exception>
#include <new>
#include <ostream>
#include <system_error>

#include "fuzz/base/table.h"
#include "fuzz/campaign/campaign.h"
#include "fuzz/cli/calibrate_command.h"
#include "fuzz/cli/explain_command.h"
#include "fuzz/cli/generate_command.h"
#include "fuzz/cli/list_command.h"
#include "fuzz/cli/minimize_command.h"
#include "fuzz/cli/replay_command.h"

namespace fusesmith::fuzz {

namespace {

// Known from the design's command line, but not there yet.
constexpr std::string_view kLater[] = {"export", "merge", "report"};

constexpr std::string_view kIntroduction =
    "fusesmith: generates random transformer-like graphs, runs each on two backends, judges every result\n"
    "against what floating point allows, and shrinks what it convicts to a JSON case.\n"
    "\n"
    "Usage: fusesmith COMMAND [FLAGS] [ARGUMENTS]\n"
    "       fusesmith COMMAND --help | --help | --version\n"
    "\n"
    "Commands:\n";

constexpr std::string_view kEnd =
    "\n"
    "A first round:\n"
    "  fusesmith fuzz --max_total_time=60                a campaign of a minute, in fusesmith-work/\n"
    "  fusesmith replay corpus/scenarios                 what is known, judged again\n"
    "  fusesmith explain fusesmith-work/findings/*/min.json\n"
    "\n"
    "Exit codes: 0 clean, 1 wrong usage or a file that cannot be read, 71 out of memory, 72 interrupted,\n"
    "73 cannot write, 76 the GPU is missing or failed, 77 at least one finding.\n";

std::string introduction() {
  std::string text(kIntroduction);
  size_t width = 0;
  for (const Command& command : all_commands()) width = std::max(width, command.name.size());
  for (const Command& command : all_commands()) {
    text += "  " + std::string(command.name) + std::string(width - command.name.size() + 2, ' ') +
            std::string(command.doc) + "\n";
  }
  return text + std::string(kEnd);
}

int run_command(std::span<const std::string> args, Console& console) {
  if (args.empty()) return fail(console, "", "missing command; fusesmith --help lists them");
  const std::string& word = args[0];
  if (word == "--help" || word == "-h" || word == "help") {
    console.out << introduction();
    return kClean;
  }
  if (word == "--version") {
    console.out << "fusesmith " << FUSESMITH_VERSION << "\n";
    return kClean;
  }
  std::vector<std::string> names;
  for (const Command& command : all_commands()) {
    if (command.name == word) return command.run(args.subspan(1), console);
    names.emplace_back(command.name);
  }
  if (std::find(std::begin(kLater), std::end(kLater), word) != std::end(kLater)) {
    return fail(console, word, "not part of this version");
  }
  return fail(console, "",
              "unknown command '" + word + "'" + suggestion(word, names) + "; fusesmith --help lists them");
}

}  // namespace

int print_help(const FlagTable& table, Console& console) {
  console.out << help_text(table);
  return kClean;
}

std::span<const Command> all_commands() {
  static const Command commands[] = {
      command_of<FuzzFlags>(),      command_of<ReplayFlags>(),   command_of<MinimizeFlags>(),
      command_of<ExplainFlags>(),   command_of<GenerateFlags>(), command_of<ListFlags>(),
      command_of<CalibrateFlags>(),
  };
  return commands;
}

int run_command_line(std::span<const std::string> args, Console& console) {
  const std::string_view command = args.empty() ? std::string_view() : args[0];
  try {
    const int code = run_command(args, console);
    console.out.flush();
    if (!console.out) return fail(console, command, "cannot write to standard output", kCannotWrite);
    return code;
  } catch (const DeviceError& error) {
    return fail_device(console, command, "", error);
  } catch (const std::bad_alloc&) {
    return fail(console, command, "out of memory", kOutOfMemory);
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::not_enough_memory)
      return fail(console, command, "out of memory", kOutOfMemory);
    return fail(console, command, std::string("internal error: ") + error.what());
  } catch (const std::exception& error) {
    return fail(console, command, std::string("internal error: ") + error.what());
  }
}

}  // namespace fusesmith::fuzz
