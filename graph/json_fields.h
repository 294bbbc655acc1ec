// Structs that declare fields() (ops, fills, Policy, Expect) as members of a JSON object, both ways.
#pragma once

#include <cmath>

#include "graph/attributes.h"
#include "graph/json_place.h"
#include "graph/json_strict.h"

namespace fusesmith::graph {

inline constexpr size_t kMaxStrings = 1024;  // in an attribute that lists some

// Calls f(std::type_identity<T>{}) for every alternative T of a variant.
template <class Variant, class F>
void for_each_alternative(F f) {
  [&]<size_t... I>(std::index_sequence<I...>) {
    (f(std::type_identity<std::variant_alternative_t<I, Variant>>{}), ...);
  }
  (std::make_index_sequence<std::variant_size_v<Variant>>{});
}

template <class S>
void append_keys(std::vector<JsonKey>& keys) {
  for_each_field<S>([&](const auto& field) { keys.push_back({field.name, field.required}); });
}

template <class T, class Domain>
void read_attribute(const Place& place, T& value, [[maybe_unused]] const Domain& domain) {
  if constexpr (std::same_as<T, Dtype>) {
    std::vector<std::string_view> names;
    for (Dtype dtype : kDtypes) names.push_back(name(dtype));
    value = kDtypes[place.read_choice("dtype", names)];
  } else if constexpr (std::is_enum_v<T>) {
    value = static_cast<T>(place.read_choice("value", domain.names));
  } else if constexpr (std::same_as<T, Shape>) {
    value.clear();
    for (const Place& element : place.elements(kMaxRank)) element.read(value.emplace_back());
  } else if constexpr (std::same_as<T, std::vector<std::string>>) {
    value.clear();
    for (const Place& element : place.elements(kMaxStrings)) element.read(value.emplace_back());
  } else if constexpr (Range<Domain>) {
    const std::string wanted = "a number " + range_text(domain);
    if constexpr (std::same_as<T, double>)
      place.read_finite(value, wanted);
    else
      place.read(value);
    if (!(value >= domain.lo && value <= domain.hi)) place.fail_expected(wanted);
  } else {
    place.read(value);
  }
}

// Reads what is there; members that are not keep their defaults (has_keys has checked the required ones).
template <class S>
void read_fields(const Place& object, S& result) {
  for_each_field<S>([&](const auto& field) {
    if (const auto place = object.member(field.name))
      read_attribute(*place, result.*field.member, field.domain);
  });
}

template <class T, class Domain>
std::string attribute_json(const T& value, const Domain& domain) {
  if constexpr (std::same_as<T, double>) {
    // JSON has no infinities, and readers take "-0" for the integer 0.
    if (std::isinf(value)) return json_quoted(number_text(value));
    return value == 0 && std::signbit(value) ? "-0.0" : number_text(value);
  } else if constexpr (std::same_as<T, std::vector<std::string>>) {
    std::string text;
    for (const std::string& element : value) text += (text.empty() ? "" : ", ") + json_quoted(element);
    return "[" + text + "]";
  } else if constexpr (std::same_as<T, bool> || std::same_as<T, int64_t> || std::same_as<T, Shape>) {
    return attribute_text(value, domain);
  } else {
    return json_quoted(attribute_text(value, domain));
  }
}

// Every field as "key": value, in order, separated by ", "; optional strings and lists of strings only when
// not empty.
template <class S>
std::string fields_json(const S& object) {
  std::string text;
  for_each_field<S>([&](const auto& field) {
    const auto& value = object.*field.member;
    if constexpr (requires { value.empty(); } && !std::same_as<std::decay_t<decltype(value)>, Shape>) {
      if (value.empty() && !field.required) return;
    }
    if (!text.empty()) text += ", ";
    text += '"';
    text += field.name;
    text += "\": ";
    text += attribute_json(value, field.domain);
  });
  return text;
}

}  // namespace fusesmith::graph
