#include "fuzz/cli/command.h"

#include <algorithm>
#include <exception>
#include <new>
#include <nlohmann/json.hpp>
#include <ostream>
#include <system_error>
#include <vector>

#include "fuzz/base/color.h"
#include "fuzz/base/output_width.h"
#include "fuzz/base/printable_stream.h"
#include "fuzz/base/table.h"
#include "fuzz/cli/version.h"

// The one list, in the order of --help. To add a command, write fuzz/cli/NAME_command.cc and add a line here.
#define FUSESMITH_COMMANDS(COMMAND) \
  COMMAND(fuzz)                     \
  COMMAND(replay)                   \
  COMMAND(minimize)                 \
  COMMAND(explain)                  \
  COMMAND(show)                     \
  COMMAND(gradient)                 \
  COMMAND(export)                   \
  COMMAND(report)                   \
  COMMAND(whatsup)                  \
  COMMAND(merge)                    \
  COMMAND(demo)                     \
  COMMAND(generate)                 \
  COMMAND(import)                   \
  COMMAND(check)                    \
  COMMAND(list)                     \
  COMMAND(check_worker)             \
  COMMAND(calibrate)                \
  COMMAND(reveal)                   \
  COMMAND(completion)               \
  COMMAND(man)

namespace fusesmith::fuzz {

#define FUSESMITH_DECLARE(name) Command name##_command();
FUSESMITH_COMMANDS(FUSESMITH_DECLARE)
#undef FUSESMITH_DECLARE

namespace {

constexpr std::string_view kIntroduction =
    "fusesmith generates random transformer-like graphs, runs each on two backends, checks every result "
    "against what floating point allows, and reduces each failing graph to a small JSON case.\n"
    "\n"
    "Usage: fusesmith COMMAND [FLAGS] [ARGUMENTS]\n"
    "       fusesmith help [COMMAND]\n"
    "       fusesmith version\n"
    "\n"
    "Commands:\n";

constexpr std::string_view kEnd =
    "\n"
    "Getting started:\n"
    "  fusesmith demo                                    find and explain a bug in a toy kernel\n"
    "  fusesmith fuzz --max_total_time=1m                run a campaign of one minute in fusesmith-work/\n"
    "  fusesmith replay corpus/scenarios                 judge public bug reports\n"
    "  fusesmith explain fusesmith-work/findings/*/min.json\n"
    "                                                    explain what the campaign found\n"
    "\n"
    "Every command has --color=auto|always|never: findings are red, what is clean is green. auto: on a\n"
    "terminal, unless the environment has NO_COLOR.\n"
    "\n"
    "Exit codes: 0 no finding, 1 wrong usage or a file that cannot be read, 70 timeout,\n"
    "71 out of memory, 72 interrupted, 73 a file cannot be written, 75 preempted: start it again,\n"
    "76 the GPU is missing, or it failed, 77 at least one finding.\n";

const Command* find_command(std::string_view name) {
  for (const Command& command : all_commands()) {
    if (command.name == name) return &command;
  }
  return nullptr;
}

// What the words `help`, `version` and their flags print; empty for any other word.
std::string shown(const std::string& word, std::string_view commit) {
  if (word == "--help" || word == "-help" || word == "-h" || word == "help") return introduction();
  if (word == "--version" || word == "-version" || word == "-V" || word == "version")
    return version_text(commit);
  return "";
}

int refuse(const std::string& word, Console& console) {
  std::vector<std::string> names = {"help", "version"};
  for (const Command& command : all_commands()) {
    if (command.missing.empty()) names.emplace_back(command.name);
  }
  return fail(console, "",
              "unknown command '" + word + "'" + suggestion(word, names) + "; fusesmith --help lists them");
}

int run_command(std::span<const std::string> args, Console& console) {
  if (args.empty()) return fail(console, "", "missing command; fusesmith --help lists them");
  const std::string& word = args[0];
  const bool help = word == "help" && args.size() > 1;
  const std::string& name = help ? args[1] : word;
  if (help && args.size() > 2) return fail(console, word, "unexpected argument '" + args[2] + "'");
  if (const std::string text = shown(name, console.commit); !text.empty()) {
    console.out << text;
    return kClean;
  }
  const Command* command = find_command(name);
  if (!command) return refuse(name, console);
  if (!help) return command->run(args.subspan(1), console);
  console.out << command->help(Offer::this_build);
  return kClean;
}

// Whether the call only prints what is known. Its reader may leave early, as `head` does.
bool only_shows(std::span<const std::string> args) {
  if (args.empty()) return false;
  if (std::find(args.begin(), args.end(), "--help") != args.end() || !shown(args[0], "").empty()) return true;
  const Command* command = find_command(args[0]);
  return command && command->shows;
}

bool prints_json(std::span<const std::string> args) {
  const auto end = std::find(args.begin(), args.end(), "--");
  return std::any_of(args.begin(), end, [](const std::string& arg) {
    return arg.starts_with("--json") || arg.starts_with("-json");
  });
}

}  // namespace

std::string introduction(Offer offer) {
  std::string text = in_columns(kIntroduction, 0);
  size_t width = 0;
  for (const Command& command : all_commands()) width = std::max(width, command.name.size());
  for (const Command& command : all_commands()) {
    if (offer == Offer::this_build && !command.missing.empty()) continue;
    text += "  " + std::string(command.name) + std::string(width - command.name.size() + 2, ' ') +
            in_columns(command.doc, width + 4) + "\n";
  }
  return text + (output_columns() < kColumns ? in_columns(kEnd, 0) : std::string(kEnd));
}

void print_cases(const nlohmann::ordered_json& cases, size_t given, Console& console) {
  if (given == 1 && cases.empty()) return;  // the case was not reached
  console.out << (given == 1 ? cases[0] : nlohmann::ordered_json{{"cases", cases}})
                     .dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace)
              << "\n";
}

std::span<const Command> all_commands() {
#define FUSESMITH_CALL(name) name##_command(),
  static const Command commands[] = {FUSESMITH_COMMANDS(FUSESMITH_CALL)};
#undef FUSESMITH_CALL
  return commands;
}

int run_command_line(std::span<const std::string> arguments, Console& given) {
  std::vector<std::string> args(arguments.begin(), arguments.end());
  const auto color = take_color_flag(args);
  if (!color) return fail(given, args.empty() ? "" : args[0], color.problem());
  using Replaced = PrintableBuffer::Replaced;
  PrintableBuffer printable(given.out.rdbuf(), prints_json(args) ? Replaced::by_json : Replaced::by_a_sign);
  const bool prints_data = !args.empty() && args[0] == "export";  // an npz file, for example
  std::ostream out(prints_data ? given.out.rdbuf() : &printable);
  enable_colors(out, wants_color(*color, terminals().out) ? given.out.rdbuf() : nullptr);
  enable_colors(given.err, wants_color(*color, terminals().err) ? given.err.rdbuf() : nullptr);
  Console console{out,          given.err,       given.live, given.program, given.reader_left,
                  given.commit, given.executable};
  const std::string_view command = args.empty() ? std::string_view() : args[0];
  try {
    const int code = run_command(args, console);
    console.out.flush();
    if (console.out || (only_shows(args) && console.reader_left && console.reader_left())) return code;
    return fail(console, command, "cannot write to standard output", kCannotWrite);
  } catch (const DeviceError& error) {
    return fail_device(console, command, "", error);
  } catch (const std::bad_alloc&) {
    return fail(console, command, "out of memory", kOutOfMemory);
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::not_enough_memory)
      return fail(console, command, "out of memory", kOutOfMemory);
    if (error.code() == std::errc::resource_unavailable_try_again)
      return fail(console, command, "cannot start a thread: the limit of processes is reached", kOutOfMemory);
    return fail(console, command, std::string("internal error: ") + error.what());
  } catch (const std::exception& error) {
    return fail(console, command, std::string("internal error: ") + error.what());
  }
}

}  // namespace fusesmith::fuzz
