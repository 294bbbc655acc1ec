#include "fuzz/base/flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <type_traits>

#include "graph/nearest.h"
#include "graph/op.h"

namespace fusesmith::fuzz {

namespace {

std::string joined(const std::vector<std::string>& words, std::string_view between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : std::string(between)) + word;
  return text;
}

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    if (comma > 0) parts.emplace_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return parts;
}

std::string dashed(const Flag& flag) { return "--" + std::string(flag.name); }

std::optional<Problem> refuse(const Flag& flag, const std::string& expected, const std::string& got) {
  return Problem{dashed(flag) + ": expected " + expected + ", got '" + got + "'"};
}

std::optional<Problem> check_choice(const Flag& flag, const std::string& word) {
  if (!flag.no_choice.empty() && flag.choices.empty())
    return Problem{dashed(flag) + ": " + std::string(flag.no_choice)};
  const auto& choices = flag.choices;
  if (choices.empty() || std::find(choices.begin(), choices.end(), word) != choices.end()) return {};
  return Problem{dashed(flag) + ": expected " + (choices.size() > 1 ? "one of " : "") +
                 joined(choices, ", ") + "; got '" + word + "'" + suggestion(word, choices)};
}

// A limit as the message shows it: 2^64, rounded up from its predecessor, stands for that.
std::string limit_text(double limit, bool whole) {
  if (!whole) return number_text(limit);
  return limit >= 0x1p64 ? std::to_string(UINT64_MAX) : std::to_string(static_cast<int64_t>(limit));
}

template <class Number>
std::optional<Problem> set_number(const Flag& flag, Number& target, const std::string& text) {
  constexpr bool kWhole = std::is_integral_v<Number>;
  Number value{};
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  const bool fits = error == std::errc() && at == end && static_cast<double>(value) >= flag.lo &&
                    static_cast<double>(value) <= flag.hi;
  if (!fits) {
    return refuse(flag,
                  std::string(kWhole ? "a whole number" : "a number") + " from " +
                      limit_text(flag.lo, kWhole) + " to " + limit_text(flag.hi, kWhole),
                  text);
  }
  target = value;
  return {};
}

std::optional<Problem> set(const Flag& flag, const std::string& text) {
  return std::visit(
      [&](auto* target) -> std::optional<Problem> {
        using T = std::remove_pointer_t<decltype(target)>;
        if constexpr (std::is_same_v<T, bool>) {
          *target = true;
        } else if constexpr (std::is_arithmetic_v<T>) {
          return set_number(flag, *target, text);
        } else if constexpr (std::is_same_v<T, std::string>) {
          if (text.empty())
            return Problem{dashed(flag) + ": needs a value, as in " + dashed(flag) + "=" +
                           std::string(flag.value)};
          if (auto problem = check_choice(flag, text)) return problem;
          *target = text;
        } else {
          auto words = split(text);
          for (const std::string& word : words) {
            if (auto problem = check_choice(flag, word)) return problem;
          }
          *target = std::move(words);
        }
        return {};
      },
      flag.target);
}

std::optional<Problem> check_unknown(const FlagTable& table, const std::vector<std::string>& unknown) {
  std::vector<std::string> names = {"help"};
  for (const Flag& flag : table.flags) names.emplace_back(flag.name);
  for (const std::string& word : unknown) {
    if (!word.starts_with('-') || word == "--") continue;
    std::string bare = word.substr(std::min(word.find_first_not_of('-'), word.size()));
    bare.resize(std::min(bare.find('='), bare.size()));
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

// One flag as CLI11 sees it: every value is text here, `set` gives it its type.
struct Parsed {
  CLI::Option* option = nullptr;
  std::string text;
  bool on = false;
};

// `--name=`: CLI11 would take the next argument for the value; only lists may be empty.
std::optional<Problem> take_empty_values(const FlagTable& table, std::vector<std::string>& args) {
  for (const Flag& flag : table.flags) {
    const auto empty = std::find(args.begin(), args.end(), dashed(flag) + "=");
    if (empty == args.end()) continue;
    args.erase(empty);
    if (auto problem = set(flag, "")) return problem;
  }
  return {};
}

}  // namespace

Result<bool> parse_flags(const FlagTable& table, std::span<const std::string> arguments) {
  std::vector<std::string> args(arguments.begin(), arguments.end());
  if (std::find(args.begin(), args.end(), "--help") != args.end() ||
      std::find(args.begin(), args.end(), "-h") != args.end()) {
    return true;
  }
  if (auto problem = take_empty_values(table, args)) return *problem;

  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  std::vector<Parsed> parsed(table.flags.size());
  for (size_t i = 0; i < parsed.size(); ++i) {
    const Flag& flag = table.flags[i];
    parsed[i].option = std::holds_alternative<bool*>(flag.target)
                           ? app.add_flag(dashed(flag), parsed[i].on)
                           : app.add_option(dashed(flag), parsed[i].text)->take_last();
  }
  std::reverse(args.begin(), args.end());  // as CLI11 wants them
  try {
    app.parse(args);
  } catch (const CLI::ParseError& error) {
    return Problem{std::string(error.what()).substr(0, std::string(error.what()).find('\n'))};
  }
  const std::vector<std::string> rest = app.remaining();
  if (auto problem = check_unknown(table, rest)) return *problem;
  for (size_t i = 0; i < parsed.size(); ++i) {
    const bool given = parsed[i].option->count() > 0;
    if (const auto* on = std::get_if<bool*>(&table.flags[i].target)) {
      if (given) **on = parsed[i].on;
    } else if (given) {
      if (auto problem = set(table.flags[i], parsed[i].text)) return *problem;
    }
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

std::string suggestion(std::string_view word, const std::vector<std::string>& words,
                       std::string_view before) {
  const std::vector<std::string_view> choices(words.begin(), words.end());
  const std::string_view meant = nearest(word, choices);
  return meant.empty() ? "" : " (did you mean " + std::string(before) + std::string(meant) + "?)";
}

std::string value_text(const Target& target) {
  return std::visit(
      [](auto* value) -> std::string {
        using T = std::remove_pointer_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::string>)
          return *value;
        else if constexpr (std::is_same_v<T, bool>)
          return *value ? "on" : "off";
        else if constexpr (std::is_same_v<T, double>)
          return number_text(*value);
        else if constexpr (std::is_arithmetic_v<T>)
          return std::to_string(*value);
        else
          return joined(*value, ",");
      },
      target);
}

}  // namespace fusesmith::fuzz
