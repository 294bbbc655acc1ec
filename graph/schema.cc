// The JSON Schema of case files.
#include <nlohmann/json.hpp>

#include "graph/attribute_info.h"
#include "graph/case.h"
#include "graph/describe.h"

namespace fusesmith::graph {
namespace {

using nlohmann::ordered_json;

ordered_json object_schema(std::string_view doc, ordered_json properties, std::vector<std::string> required) {
  ordered_json schema = {{"type", "object"}};
  if (!doc.empty()) schema["description"] = doc;
  schema["properties"] = std::move(properties);
  schema["required"] = std::move(required);
  schema["additionalProperties"] = false;
  return schema;
}

ordered_json reference(const std::string& definition) { return {{"$ref", "#/$defs/" + definition}}; }

ordered_json list_of(ordered_json items) { return {{"type", "array"}, {"items", std::move(items)}}; }

ordered_json attribute_schema(const AttributeInfo& a) {
  ordered_json schema;
  if (a.type == "bool")
    schema = {{"type", "boolean"}};
  else if (a.type == "integer" || a.type == "axis")
    schema = {{"type", "integer"}};
  else if (a.type == "string")
    schema = {{"type", "string"}};
  else if (a.type == "strings")
    schema = list_of({{"type", "string"}});
  else if (a.type == "dims")
    schema = {{"type", "array"}, {"items", {{"type", "integer"}}}, {"maxItems", kMaxRank}};
  else if (a.type == "choice")
    schema = {{"enum", a.values}};
  else if (a.type == "dtype") {
    for (Dtype dtype : kDtypes) {  // cast's, the only such attribute
      if (is_rounded(dtype)) schema["enum"].push_back(name(dtype));
    }
  } else if (a.lo.empty())
    schema = {{"anyOf", {{{"type", "number"}}, {{"enum", {"inf", "-inf"}}}}}};
  else
    schema = {{"type", "number"}};
  if (!a.lo.empty()) {
    schema["minimum"] = ordered_json::parse(a.lo);
    schema["maximum"] = ordered_json::parse(a.hi);
  }
  if (!a.meaning.empty()) schema["description"] = a.meaning;
  if (!a.required) schema["default"] = ordered_json::parse(a.default_value);
  return schema;
}

using Attributes = std::vector<AttributeInfo>;

void add_attributes(const Attributes& attributes, ordered_json& properties,
                    std::vector<std::string>& required) {
  for (const AttributeInfo& a : attributes) {
    properties[a.name] = attribute_schema(a);
    if (a.required) required.push_back(a.name);
  }
}

ordered_json struct_schema(std::string_view doc, const Attributes& attributes) {
  ordered_json properties = ordered_json::object();
  std::vector<std::string> required;
  add_attributes(attributes, properties, required);
  return object_schema(doc, properties, required);
}

ordered_json node_schema(const OpInfo& about, const Attributes& attributes) {
  ordered_json inputs = list_of({{"type", "string"}});
  inputs["minItems"] = about.min_inputs;
  inputs["maxItems"] = about.max_inputs;
  ordered_json properties = {
      {"name", reference("name")}, {"op", {{"const", about.name}}}, {"inputs", inputs}};
  std::vector<std::string> required = {"name", "op", "inputs"};
  add_attributes(attributes, properties, required);
  return object_schema(about.doc, properties, required);
}

ordered_json fill_schema(const std::string& fill, std::string_view doc, const Attributes& attributes) {
  return object_schema("", {{fill, struct_schema(doc, attributes)}}, {fill});
}

ordered_json definitions() {
  ordered_json defs;
  defs["name"] = {{"type", "string"}, {"pattern", "^[A-Za-z0-9_./-]{1,64}$"}};
  std::string dtypes;
  for (Dtype dtype : kDtypes) dtypes += (dtypes.empty() ? "" : "|") + std::string(name(dtype));
  defs["type"] = {{"type", "string"},
                  {"description", "dtype and dimensions, like f32[4,16]; a scalar is f32[]"},
                  {"pattern", "^(" + dtypes + ")\\[([1-9][0-9]*(,[1-9][0-9]*){0,7})?\\]$"}};
  ordered_json any_fill, any_node;
  for_each_alternative<Fill>([&]<class F>(std::type_identity<F>) {
    const std::string fill(F::name);
    defs["fill." + fill] = fill_schema(fill, F::doc, attribute_infos<F>());
    any_fill.push_back(reference("fill." + fill));
  });
  defs["fill"] = {{"oneOf", any_fill}};
  defs["layout"] = struct_schema("How the elements lie in memory; the values are the same.",
                                 attribute_infos<MemoryLayout>());
  const ordered_json repeat = {{"type", "array"},
                               {"description", "axes along which all elements are those of index 0"},
                               {"items", {{"type", "integer"}}},
                               {"maxItems", kMaxRank}};
  ordered_json source = {{"name", reference("name")},
                         {"type", reference("type")},
                         {"fill", reference("fill")},
                         {"layout", reference("layout")}};
  ordered_json state = source;
  state["next"] = {{"type", "string"}, {"description", "the value that becomes the state of the next step"}};
  source["repeat"] = repeat;
  defs["input"] = object_schema("", source, {"name", "type", "fill"});
  defs["state"] = object_schema("", state, {"name", "type", "fill", "next"});
  for_each_op([&]<class T>(std::type_identity<T>) {
    const std::string definition = "op." + std::string(T::info.name);
    defs[definition] = node_schema(T::info, attribute_infos<T>());
    any_node.push_back(reference(definition));
  });
  defs["node"] = {{"oneOf", any_node}};
  defs["graph"] = object_schema("",
                                {{"inputs", list_of(reference("input"))},
                                 {"states", list_of(reference("state"))},
                                 {"nodes", list_of(reference("node"))},
                                 {"outputs", list_of({{"type", "string"}})}},
                                {"inputs", "nodes", "outputs"});
  defs["policy"] = struct_schema("What the user allows.", attribute_infos<Policy>());
  defs["stand_in"] =
      struct_schema("The candidate delivers `by` where the graph says `value`.", attribute_infos<StandIn>());
  defs["expect"] = struct_schema("What replay must find.", attribute_infos<Expect>());
  ordered_json& backends = defs["expect"]["properties"]["backends"];  // a pair, or absent
  backends.erase("default");
  backends["minItems"] = backends["maxItems"] = 2;
  return defs;
}

}  // namespace

// One line per definition: they are many, and each is read by itself.
std::string case_schema() {
  const ordered_json head = {
      {"$schema", "https://json-schema.org/draft/2020-12/schema"},
      {"title", "fusesmith case"},
      {"type", "object"},
      {"properties",
       {{"$schema", {{"type", "string"}, {"description", "where this schema is, for editors"}}},
        {"fusesmith", {{"const", kCaseVersion}}},
        {"comment", {{"type", "string"}, {"description", "for people; has no effect"}}},
        {"seed", {{"type", "integer"}, {"minimum", 0}, {"maximum", UINT64_MAX}, {"default", 0}}},
        {"steps", {{"type", "integer"}, {"minimum", 1}, {"maximum", kMaxSteps}, {"default", 1}}},
        {"policy", reference("policy")},
        {"graph", reference("graph")},
        {"stand_ins", list_of(reference("stand_in"))},
        {"expect", reference("expect")}}},
      {"required", {"fusesmith", "graph"}},
      {"additionalProperties", false}};
  std::string text = "{";
  for (const auto& [key, value] : head.items())
    text += "\n  " + ordered_json(key).dump() + ": " + value.dump() + ",";
  text += "\n  \"$defs\": {";
  std::string comma;
  const ordered_json defs = definitions();
  for (const auto& [key, value] : defs.items()) {
    text += comma + "\n    " + ordered_json(key).dump() + ": " + value.dump();
    comma = ",";
  }
  return text + "\n  }\n}\n";
}

}  // namespace fusesmith::graph
