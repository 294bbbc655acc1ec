// Commands: what stands after `fusesmith`. A command is a struct of its flags with a table over them, and a
// run function; the list of commands (command.cc) makes dispatch and `fusesmith --help`.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/base/console.h"
#include "fuzz/base/flags.h"

namespace fusesmith::fuzz {

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

}  // namespace fusesmith::fuzz
