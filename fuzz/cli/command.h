// Commands: what stands after `fusesmith`. Each is one file, NAME_command.cc: a struct of its flags with
// their table, a `run` function, and NAME_command(), which the list in command.cc calls.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

#include "fuzz/base/console.h"
#include "fuzz/base/flags.h"

namespace fusesmith::fuzz {

struct Command {
  std::string_view name;
  std::string_view doc;
  std::string_view missing;  // as in FlagTable
  bool shows;                // as in FlagTable
  std::string (*help)(Offer offer);
  int (*run)(std::span<const std::string> args, Console& console);
  void (*with_table)(const std::function<void(const FlagTable&)>& use);
};

// The one list, in the order of --help; also those that this build lacks.
std::span<const Command> all_commands();

// What `fusesmith --help` prints.
std::string introduction(Offer offer = Offer::this_build);

// Runs `fusesmith ARGS...` and returns the exit code; never throws. Memory that runs out is exit 71.
int run_command_line(std::span<const std::string> args, Console& console);

// What --json prints of a command that takes cases: the one case's object, or {"cases": [...]} where several
// were given.
void print_cases(const nlohmann::ordered_json& cases, size_t given, Console& console);

// The command whose flags are F, which has `FlagTable table()`; `int run(F&, Console&)` stands beside F.
template <class F>
Command command_of() {
  const auto run_with = [](std::span<const std::string> args, Console& console) {
    F flags;
    const FlagTable table = flags.table();
    const auto help = parse_flags(table, args);
    if (!help) return fail(console, table.command, help.problem());
    if (!*help) return run(flags, console);
    console.out << help_text(table);
    return static_cast<int>(kClean);
  };
  F flags;
  const FlagTable table = flags.table();
  return {table.command,
          table.doc,
          table.missing,
          table.shows,
          [](Offer offer) { return help_text(F{}.table(), offer); },
          run_with,
          [](const std::function<void(const FlagTable&)>& use) {
            F defaults;
            use(defaults.table());
          }};
}

}  // namespace fusesmith::fuzz
