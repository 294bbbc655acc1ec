// Commands: what stands after `fusesmith`. A command is a struct of its flags with a table over them, and a
// run function; the list of commands (command.cc) makes dispatch and `fusesmith --help`.
#pragma once

#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/device_error.h"
#include "fuzz/exit_code.h"
#include "fuzz/flags.h"

namespace fusesmith {

// Where a command writes: results on `out`, everything else on `err`.
struct Console {
  std::ostream& out;
  std::ostream& err;
  bool live = false;                  // err is a terminal: one status line, redrawn
  std::string program = "fusesmith";  // how the user called it, for commands to paste
};

// One line on err: "fusesmith replay: x.json: ...". Returns the code.
int fail(Console& console, std::string_view command, std::string_view problem, ExitCode code = kUsage);

// The same for a device that failed: exit 76, or 71 where its memory ran out. `place`: what it was at, or
// empty.
int fail_device(Console& console, std::string_view command, const std::string& place,
                const DeviceError& error);

int print_help(const FlagTable& table, Console& console);

struct Command {
  std::string_view name;
  std::string_view doc;
  std::string (*help)();
  int (*run)(std::span<const std::string> args, Console& console);
};

// The one list, in the order of --help.
std::span<const Command> all_commands();

// Runs `fusesmith ARGS...` and returns the exit code; never throws. Memory that runs out is exit 71.
int run_command_line(std::span<const std::string> args, Console& console);

// The command whose flags are F; `int run(F&, Console&)` must be declared.
template <class F>
Command command_of() {
  const auto run_with = [](std::span<const std::string> args, Console& console) {
    F flags;
    const FlagTable table = flags.table();
    const auto help = parse_flags(table, args);
    if (!help) return fail(console, table.command, help.problem());
    if (*help) return print_help(table, console);
    return run(flags, console);
  };
  F flags;
  const FlagTable table = flags.table();
  return {table.command, table.doc, [] { return help_text(F{}.table()); }, run_with};
}

}  // namespace fusesmith
