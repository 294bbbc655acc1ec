// The values of flags: text to numbers, durations, choices and lists, and back.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <type_traits>

#include "fuzz/base/flags.h"
#include "fuzz/base/table.h"
#include "graph/nearest.h"
#include "graph/op.h"

namespace fusesmith::fuzz {

namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ",") + word;
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

Problem refuse(const Flag& flag, const std::string& why) {
  return {"--" + std::string(flag.name) + ": " + why};
}

// "cpu", ..., "torch:...".
std::vector<std::string> with_prefixes(const Flag& flag) {
  std::vector<std::string> words = flag.choices;
  for (const std::string_view prefix : flag.prefixes) words.push_back(std::string(prefix) + "...");
  return words;
}

std::optional<Problem> check_choice(const Flag& flag, const std::string& word) {
  for (const auto& [choice, why] : flag.missing_choices) {
    if (word == choice) return refuse(flag, word + ": " + std::string(why));
  }
  const auto begins = [&](std::string_view prefix) { return word.starts_with(prefix); };
  if (std::any_of(flag.prefixes.begin(), flag.prefixes.end(), begins)) return {};
  const auto& choices = flag.choices;
  if (choices.empty() || std::find(choices.begin(), choices.end(), word) != choices.end()) return {};
  return refuse(flag, std::string("expected ") + (choices.size() > 1 ? "one of " : "") +
                          list_text(with_prefixes(flag)) + "; got " +
                          (word.empty() ? "nothing" : "'" + word + "'") + suggestion(word, choices));
}

// A limit as the message shows it: 2^64, rounded up from its predecessor, stands for that.
std::string limit_text(double limit, bool whole) {
  if (!whole) return number_text(limit);
  return limit >= 0x1p64 ? std::to_string(UINT64_MAX) : std::to_string(static_cast<int64_t>(limit));
}

template <class Number>
std::optional<Number> exact_number(std::string_view text) {
  Number value{};
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || at != end) return {};
  return value;
}

// Also "1e4" and "2.5e6", where that is a whole number without rounding.
template <class Number>
std::optional<Number> number_of(std::string_view text) {
  if (const auto value = exact_number<Number>(text)) return value;
  if constexpr (std::is_integral_v<Number>) {
    const auto value = exact_number<double>(text);
    const double least = std::is_signed_v<Number> ? -0x1p53 : 0;
    if (value && std::trunc(*value) == *value && *value >= least && *value <= 0x1p53)
      return static_cast<Number>(*value);
  }
  return {};
}

// "2.5", "90s", "5m", "2h", "1h30m", "1d", all in seconds.
std::optional<double> seconds_of(std::string_view text) {
  if (const auto value = exact_number<double>(text)) return value;
  double sum = 0;
  for (double last_unit = HUGE_VAL; !text.empty();) {
    const size_t digits = text.find_first_not_of("0123456789.");
    if (digits == std::string_view::npos) return {};
    const auto value = exact_number<double>(text.substr(0, digits));
    const char letter = text[digits];
    const double unit = letter == 'd' ? 86400 : letter == 'h' ? 3600 : letter == 'm' ? 60 : letter == 's';
    if (!value || unit == 0 || unit >= last_unit) return {};
    sum += *value * unit;
    last_unit = unit;
    text.remove_prefix(digits + 1);
  }
  return sum;
}

template <class Number>
std::optional<Problem> set_number(const Flag& flag, Number& target, const std::string& text) {
  constexpr bool kWhole = std::is_integral_v<Number>;
  const bool seconds = flag.unit == Flag::Unit::seconds;
  std::optional<Number> value;
  if constexpr (!kWhole) {
    if (seconds && !text.empty()) value = seconds_of(text);
  }
  if (!seconds) value = number_of<Number>(text);
  const bool fits = value && static_cast<double>(*value) >= flag.lo && static_cast<double>(*value) <= flag.hi;
  if (!fits) {
    return refuse(flag, std::string("expected ") +
                            (seconds  ? "seconds, or a time like 90s, 5m or 2h,"
                             : kWhole ? "a whole number"
                                      : "a number") +
                            " from " + limit_text(flag.lo, kWhole) + " to " + limit_text(flag.hi, kWhole) +
                            ", got " + (text.empty() ? "nothing" : "'" + text + "'"));
  }
  target = *value;
  return {};
}

std::optional<Problem> set_switch(const Flag& flag, bool& target, const std::string& text) {
  if (text == "true" || text == "1" || text == "on") {
    target = true;
  } else if (text == "false" || text == "0" || text == "off") {
    target = false;
  } else {
    return refuse(flag, "expected no value, got '" + text + "'");
  }
  return {};
}

}  // namespace

std::optional<Problem> set_flag(const Flag& flag, const std::string& text) {
  if (!flag.missing.empty() && !text.empty()) return refuse(flag, std::string(flag.missing));
  return std::visit(
      [&](auto* target) -> std::optional<Problem> {
        using T = std::remove_pointer_t<decltype(target)>;
        if constexpr (std::is_same_v<T, bool>) {
          return set_switch(flag, *target, text);
        } else if constexpr (std::is_arithmetic_v<T>) {
          return set_number(flag, *target, text);
        } else if constexpr (std::is_same_v<T, std::string>) {
          if (auto problem = check_choice(flag, text)) return problem;
          if (text.empty())
            return refuse(flag,
                          "needs a value, as in --" + std::string(flag.name) + "=" + std::string(flag.value));
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
          return joined(*value);
      },
      target);
}

}  // namespace fusesmith::fuzz
