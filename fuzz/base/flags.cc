#include "fuzz/base/flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "fuzz/base/given_flags.h"
#include "graph/nearest.h"

namespace fusesmith::fuzz {

namespace {

std::string dashed(const Flag& flag) { return "--" + std::string(flag.name); }

// The flag that the argument names, with one hyphen or two, with hyphens or underscores inside.
const Flag* find_flag(const FlagTable& table, std::string_view arg) {
  arg = arg.substr(0, arg.find('='));
  if (!arg.starts_with('-')) return nullptr;
  std::string name(arg.substr(arg.starts_with("--") ? 2 : 1));
  std::replace(name.begin(), name.end(), '-', '_');
  const auto found = std::find_if(table.flags.begin(), table.flags.end(),
                                  [&](const Flag& flag) { return flag.name == name; });
  return found == table.flags.end() ? nullptr : &*found;
}

// The arguments with every flag as `--name=value`.
Result<std::vector<std::string>> canonical(const FlagTable& table, std::span<const std::string> args) {
  std::vector<std::string> result;
  for (size_t i = 0; i < args.size(); ++i) {
    const std::string& arg = args[i];
    if (arg == "--") {
      result.insert(result.end(), args.begin() + static_cast<ptrdiff_t>(i), args.end());
      break;
    }
    const Flag* flag = find_flag(table, arg);
    const size_t equals = arg.find('=');
    if (!flag) {
      result.push_back(arg);
    } else if (equals != std::string::npos) {
      result.push_back(dashed(*flag) + arg.substr(equals));
    } else if (std::holds_alternative<bool*>(flag->target)) {
      result.push_back(dashed(*flag) + "=true");
    } else if (i + 1 < args.size() && args[i + 1] != "--" && !find_flag(table, args[i + 1])) {
      result.push_back(dashed(*flag) + "=" + args[++i]);
    } else {
      if (auto problem = set_flag(*flag, "")) return *problem;
      return Problem{dashed(*flag) + ": needs a value, as in " + dashed(*flag) + "=" +
                     std::string(flag->value)};
    }
  }
  return result;
}

std::optional<Problem> check_unknown(const FlagTable& table, const std::vector<std::string>& unknown) {
  std::vector<std::string> names = {"help"};
  for (const Flag& flag : table.flags) {
    if (flag.missing.empty()) names.emplace_back(flag.name);
  }
  for (const std::string& word : unknown) {
    if (word == "--") break;
    if (!word.starts_with('-') || word == "-") continue;
    std::string bare = word.substr(std::min(word.find_first_not_of('-'), word.size()));
    bare.resize(std::min(bare.find('='), bare.size()));
    std::replace(bare.begin(), bare.end(), '-', '_');
    std::string near = suggestion(bare, names, "--");
    if (near.empty()) near = "; fusesmith " + std::string(table.command) + " --help lists them";
    return Problem{"unknown flag '" + word + "'" + near};
  }
  return {};
}

std::optional<Problem> check_positional(const FlagTable& table) {
  const Positional& positional = table.positional;
  const size_t count = positional.target->size();
  const std::string usage =
      "; usage: fusesmith " + std::string(table.command) + " [FLAGS] " + std::string(positional.name);
  if (count < positional.min) return Problem{"missing argument" + usage};
  if (count > positional.max)
    return Problem{"unexpected argument '" + (*positional.target)[positional.max] + "'" + usage};
  return {};
}

// `--name=`: CLI11 would take the next argument for the value; only lists may be empty.
std::optional<Problem> take_empty_values(const FlagTable& table, std::vector<std::string>& args) {
  for (const Flag& flag : table.flags) {
    const auto end = std::find(args.begin(), args.end(), "--");
    const auto empty = std::find(args.begin(), end, dashed(flag) + "=");
    if (empty == end) continue;
    args.erase(empty);
    if (auto problem = set_flag(flag, "")) return problem;
  }
  return {};
}

bool asks_for_help(std::span<const std::string> args) {
  const auto end = std::find(args.begin(), args.end(), "--");
  return std::any_of(args.begin(), end,
                     [](const std::string& arg) { return arg == "--help" || arg == "-help" || arg == "-h"; });
}

}  // namespace

Result<bool> parse_flags(const FlagTable& table, std::span<const std::string> arguments) {
  if (asks_for_help(arguments)) return true;
  auto args = canonical(table, arguments);
  if (!args) return Problem{args.problem()};
  if (auto problem = take_empty_values(table, *args)) return *problem;

  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  std::vector<std::string> values(table.flags.size());  // as text: set_flag gives them their types
  std::vector<CLI::Option*> options;
  for (size_t i = 0; i < values.size(); ++i)
    options.push_back(app.add_option(dashed(table.flags[i]), values[i])->take_last());
  std::reverse(args->begin(), args->end());  // as CLI11 wants them
  try {
    app.parse(*args);
  } catch (const CLI::ParseError& error) {
    return Problem{std::string(error.what()).substr(0, std::string(error.what()).find('\n'))};
  }
  const std::vector<std::string> rest = app.remaining();
  if (auto problem = check_unknown(table, rest)) return *problem;
  for (size_t i = 0; i < values.size(); ++i) {
    if (options[i]->count() == 0) continue;
    if (auto problem = set_flag(table.flags[i], values[i])) return *problem;
    if (table.flags[i].given) table.flags[i].given(values[i]);
  }
  if (!table.positional.target) {
    if (!rest.empty()) return Problem{"unexpected argument '" + rest.front() + "'"};
    return false;
  }
  std::copy_if(rest.begin(), rest.end(), std::back_inserter(*table.positional.target),
               [](const auto& word) { return word != "--"; });
  if (auto problem = check_positional(table)) return *problem;
  return false;
}

std::set<std::string> given_flags(const FlagTable& table, std::span<const std::string> args) {
  std::set<std::string> names;
  const auto all = canonical(table, args);
  if (!all) return names;
  for (const std::string& arg : *all) {
    if (arg == "--") break;
    if (const Flag* flag = find_flag(table, arg)) names.emplace(flag->name);
  }
  return names;
}

Flag wide_flag(bool& wide) {
  return {.name = "wide", .target = &wide, .doc = "Print whole tables, not cut to 100 columns."};
}

std::string suggestion(std::string_view word, const std::vector<std::string>& words,
                       std::string_view before) {
  const std::vector<std::string_view> choices(words.begin(), words.end());
  const std::string_view meant = nearest(word, choices);
  return meant.empty() ? "" : " (did you mean " + std::string(before) + std::string(meant) + "?)";
}

}  // namespace fusesmith::fuzz
