#include "fuzz/page/interval_strip.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace fusesmith::fuzz {

namespace {

using Json = nlohmann::ordered_json;

}  // namespace

Json member(const Json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return !object.is_object() || found == object.end() ? Json() : *found;
}

double number_of(const Json& value) {
  if (value.is_number()) return value.get<double>();
  if (value == "inf") return std::numeric_limits<double>::infinity();
  if (value == "-inf") return -std::numeric_limits<double>::infinity();
  return std::numeric_limits<double>::quiet_NaN();
}

std::string few_digits(const Json& value) {
  const double number = number_of(value);
  if (std::isnan(number)) return "NaN";
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", number);
  return text;
}

Json interval_strip(const Json& element) {
  const double got = number_of(member(element, "got")), exact = number_of(member(element, "exact"));
  const double lowest = number_of(member(element, "lowest")), highest = number_of(member(element, "highest"));
  for (const double x : {got, exact, lowest, highest}) {
    if (!std::isfinite(x)) return {};
  }
  const Json other = member(element, "other");
  double first = std::min({got, exact, lowest}), last = std::max({got, exact, highest});
  const bool has_other = std::isfinite(number_of(other));
  if (has_other) {
    first = std::min(first, number_of(other));
    last = std::max(last, number_of(other));
  }
  if (!(last > first) || !std::isfinite(last - first)) return {};
  constexpr double kEdge = 6, kInner = 100 - 2 * kEdge;  // percent
  const auto at = [&](double x) {
    return std::round((kEdge + kInner * ((x - first) / (last - first))) * 100) / 100;
  };
  constexpr double kThinnest = 0.6;
  const double width = std::max(at(highest) - at(lowest), kThinnest);
  const double middle = (at(lowest) + at(highest)) / 2;
  Json strip = {{"got", at(got)},
                {"exact", at(exact)},
                {"from", middle - width / 2},
                {"width", width},
                {"got_text", few_digits(member(element, "got"))},
                {"exact_text", few_digits(member(element, "exact"))},
                {"interval_text",
                 lowest == highest ? few_digits(lowest) : few_digits(lowest) + " to " + few_digits(highest)}};
  strip["other"] = has_other ? Json({{"at", at(number_of(other))},
                                     {"text", few_digits(other)},
                                     {"backend", member(element, "other_backend")}})
                             : Json();
  return strip;
}

}  // namespace fusesmith::fuzz
