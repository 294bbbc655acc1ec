// Single attributes: the text of a value and the check of its declared range, for every type that a Field
// may have: bool, int64_t, double, std::string, Dtype, Shape, std::vector<std::string> and enums with
// AnyOf names.
#pragma once

#include <concepts>
#include <optional>
#include <string>

#include "graph/op.h"

namespace fusesmith::graph {

// The value as text; enums by their names.
template <class T, class Domain>
std::string attribute_text(const T& value, [[maybe_unused]] const Domain& domain) {
  if constexpr (std::same_as<T, bool>)
    return value ? "true" : "false";
  else if constexpr (std::same_as<T, int64_t>)
    return std::to_string(value);
  else if constexpr (std::same_as<T, double>)
    return number_text(value);
  else if constexpr (std::same_as<T, std::string>)
    return value;
  else if constexpr (std::same_as<T, Dtype>)
    return std::string(name(value));
  else if constexpr (std::same_as<T, Shape>)
    return to_string(value);
  else
    return std::string(domain.names[static_cast<size_t>(value)]);
}

template <class Domain>
concept Range = std::same_as<Domain, IntRange> || std::same_as<Domain, RealRange>;

template <Range Domain>
std::string range_text(const Domain& domain) {
  return "between " + attribute_text(domain.lo, domain) + " and " + attribute_text(domain.hi, domain);
}

// "expected axis between 0 and 3, got 4" for the first attribute outside the range that its field declares.
template <class S>
std::optional<Problem> range_problem(const S& attributes) {
  std::optional<Problem> problem;
  for_each_field<S>([&](const auto& field) {
    if constexpr (Range<std::decay_t<decltype(field.domain)>>) {
      const auto value = attributes.*field.member;
      if (problem || (value >= field.domain.lo && value <= field.domain.hi)) return;
      problem = expected(std::string(field.name) + " " + range_text(field.domain) + ", got " +
                         attribute_text(value, field.domain));
    }
  });
  return problem;
}

}  // namespace fusesmith::graph
