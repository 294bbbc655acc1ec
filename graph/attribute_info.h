// The declaration of one attribute as plain values, from which tables and the JSON Schema are generated.
#pragma once

#include <string>
#include <vector>

#include "graph/json_fields.h"

namespace fusesmith::graph {

struct AttributeInfo {
  std::string name;
  std::string type;                 // bool, integer, axis, number, string, strings, dtype, dims, choice
  std::string lo, hi;               // as JSON; empty without a range
  std::string range_text;           // "between lo and hi", or empty
  std::vector<std::string> values;  // the names of a choice
  std::string meaning;              // for attributes without range or choices
  std::string default_value;        // as JSON
  bool required = false;
};

template <class T, class Domain>
constexpr std::string_view attribute_type() {
  if constexpr (std::same_as<Domain, Axis>)
    return "axis";
  else if constexpr (std::same_as<T, bool>)
    return "bool";
  else if constexpr (std::same_as<T, int64_t>)
    return "integer";
  else if constexpr (std::same_as<T, double>)
    return "number";
  else if constexpr (std::same_as<T, std::string>)
    return "string";
  else if constexpr (std::same_as<T, std::vector<std::string>>)
    return "strings";
  else if constexpr (std::same_as<T, Dtype>)
    return "dtype";
  else if constexpr (std::same_as<T, Shape>)
    return "dims";
  else
    return "choice";
}

template <class S>
std::vector<AttributeInfo> attribute_infos() {
  std::vector<AttributeInfo> infos;
  for_each_field<S>([&](const auto& field) {
    using T = std::decay_t<decltype(std::declval<S>().*field.member)>;
    using Domain = std::decay_t<decltype(field.domain)>;
    AttributeInfo info;
    info.name = field.name;
    info.type = attribute_type<T, Domain>();
    info.required = field.required;
    if constexpr (Range<Domain>) {
      info.lo = attribute_json(field.domain.lo, field.domain);
      info.hi = attribute_json(field.domain.hi, field.domain);
      info.range_text = range_text(field.domain);
    }
    if constexpr (std::same_as<Domain, AnyOf>)
      info.values.assign(field.domain.names.begin(), field.domain.names.end());
    if constexpr (std::same_as<Domain, Free>) info.meaning = field.domain.what;
    info.default_value = attribute_json(S{}.*field.member, field.domain);
    infos.push_back(std::move(info));
  });
  return infos;
}

}  // namespace fusesmith::graph
