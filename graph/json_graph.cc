#include "graph/json_graph.h"

#include <nlohmann/json.hpp>
#include <set>

namespace fusesmith::graph {
namespace {

// A node as it stands in the file, its inputs not looked up yet.
struct NodeText {
  Place place;
  std::string name;
  Op op;
  std::vector<Place> inputs;
};

Fill read_fill(const Place& place) {
  std::vector<std::string_view> names;
  std::vector<Fill> defaults;
  for_each_alternative<Fill>([&]<class F>(std::type_identity<F>) {
    names.push_back(F::name);
    defaults.push_back(F{});
  });
  const auto key = place.only_key();
  if (!key) return Normal{};
  const auto at = std::find(names.begin(), names.end(), *key);
  if (at == names.end()) {
    place.fail_unknown("fill", *key, names);
    return Normal{};
  }
  Fill fill = defaults[static_cast<size_t>(at - names.begin())];
  const Place fields = place.at(*key);
  std::visit(
      [&]<class F>(F& f) {
        std::vector<JsonKey> keys;
        append_keys<F>(keys);
        if (fields.has_keys(keys)) read_fields(fields, f);
      },
      fill);
  return fill;
}

// Loads what a fill of the kind `file` names.
Fill loaded(Fill fill, const TensorType& type, const Place& place, const DataFiles& data) {
  auto* file = std::get_if<FileData>(&fill);
  // The builder says what is wrong with the digits or the type.
  const bool sizes = std::ranges::all_of(type.shape, [](int64_t dim) { return dim >= 1; });
  if (!file || !place.ok() || !is_sha256(file->sha256) || !sizes || element_count(type) > kMaxElements)
    return fill;
  auto bytes = data.find(file->sha256, static_cast<size_t>(element_count(type) * size_of(type.dtype)));
  if (bytes)
    file->bytes = std::move(*bytes);
  else
    place.fail(bytes.problem());
  return fill;
}

Shape read_repeat(const Place& source) {
  Shape repeat;
  if (const auto place = source.member("repeat")) read_attribute(*place, repeat, Free{""});
  return repeat;
}

std::optional<MemoryLayout> read_layout(const Place& source) {
  const auto place = source.member("layout");
  if (!place) return std::nullopt;
  MemoryLayout layout;
  std::vector<JsonKey> keys;
  append_keys<MemoryLayout>(keys);
  if (place->has_keys(keys)) read_fields(*place, layout);
  return layout;
}

std::string names_of_dtypes() {
  std::string names;
  for (const Dtype dtype : kDtypes) names += (names.empty() ? "" : ", ") + std::string(name(dtype));
  return names;
}

TensorType read_type(const Place& place) {
  std::string text;
  place.read(text);
  const auto type = text.size() > 256 ? std::nullopt : parse_tensor_type(text);
  if (!type)
    place.fail("expected a type like \"f32[4,16]\" (dtypes: " + names_of_dtypes() + "), got \"" +
               shortened(text) + "\"");
  return type.value_or(TensorType{});
}

std::string read_string(const Place& place) {
  std::string text;
  place.read(text);
  return text;
}

// Puts what the builder refused behind the place it was read from.
bool accepted(const Builder& builder, const Place& place) {
  if (builder.failed()) place.fail(builder.problem());
  return place.ok();
}

// The value of that name; `later` are the names that nodes further down define.
ValueId read_value(const Place& place, const Builder& builder, const std::set<std::string>& later) {
  const std::string name = read_string(place);
  if (!place.ok()) return 0;
  if (const auto id = builder.find(name)) return *id;
  const bool comes_later = later.count(name) || later.count(name.substr(0, name.rfind('.')));
  if (comes_later)
    place.fail("\"" + shortened(name) +
               "\" is used before it is defined; write nodes after their inputs, without cycles");
  else
    place.fail_unknown("value", name,
                       std::vector<std::string_view>(builder.names().begin(), builder.names().end()));
  return 0;
}

NodeText read_node(const Place& place) {
  NodeText node{place, "", Relu{}, {}};
  const auto op_place = place.member("op", true);
  if (!op_place) return node;
  std::vector<std::string_view> names;
  for_each_op([&]<class T>(std::type_identity<T>) { names.push_back(T::info.name); });
  node.op = *default_op(names[op_place->read_choice("op", names)]);
  std::visit(
      [&]<class T>(T& op) {
        std::vector<JsonKey> keys = {{"name", true}, {"op", true}, {"inputs", true}};
        append_keys<T>(keys);
        if (place.has_keys(keys)) read_fields(place, op);
      },
      node.op);
  if (!place.ok()) return node;
  node.name = read_string(place.at("name"));
  node.inputs = place.at("inputs").elements(kMaxNodes);
  return node;
}

constexpr JsonKey kInputKeys[] = {
    {"name", true}, {"type", true}, {"fill", true}, {"repeat", false}, {"layout", false}};
constexpr JsonKey kStateKeys[] = {
    {"name", true}, {"type", true}, {"fill", true}, {"layout", false}, {"next", true}};

void read_sources(const Place& graph, const DataFiles& data, Builder& builder) {
  for (const Place& place : graph.at("inputs").elements(kMaxNodes)) {
    if (!place.has_keys(kInputKeys)) return;
    Input input{read_string(place.at("name")), read_type(place.at("type")), read_fill(place.at("fill")),
                read_repeat(place), read_layout(place)};
    input.fill = loaded(std::move(input.fill), input.type, place, data);
    if (place.ok()) builder.input(std::move(input));
    if (!accepted(builder, place)) return;
  }
}

std::vector<Place> read_states(const Place& graph, const DataFiles& data, Builder& builder) {
  const auto states = graph.member("states");
  if (!states) return {};
  std::vector<Place> places = states->elements(kMaxNodes);
  for (const Place& place : places) {
    if (!place.has_keys(kStateKeys)) break;
    State state{read_string(place.at("name")), read_type(place.at("type")), read_fill(place.at("fill")), -1,
                read_layout(place)};
    state.fill = loaded(std::move(state.fill), state.type, place, data);
    if (place.ok()) builder.state(std::move(state));
    if (!accepted(builder, place)) break;
  }
  return places;
}

void read_nodes(const Place& graph, Builder& builder) {
  std::vector<NodeText> nodes;
  std::set<std::string> later;
  for (const Place& place : graph.at("nodes").elements(kMaxNodes)) {
    nodes.push_back(read_node(place));
    if (!place.ok()) return;
    later.insert(nodes.back().name);
  }
  for (NodeText& node : nodes) {
    std::vector<ValueId> inputs;
    for (const Place& input : node.inputs) inputs.push_back(read_value(input, builder, later));
    if (!node.place.ok()) return;
    later.erase(node.name);
    if (node.name.empty())
      node.place.fail("expected a name, got \"\"");
    else
      builder.node(std::move(node.op), std::move(inputs), std::move(node.name));
    if (!accepted(builder, node.place)) return;
  }
}

}  // namespace

std::optional<Graph> read_graph(const Place& graph, const DataFiles& data) {
  const std::vector<JsonKey> keys = {{"inputs", true}, {"states", false}, {"nodes", true}, {"outputs", true}};
  if (!graph.has_keys(keys)) return std::nullopt;
  Builder builder;
  read_sources(graph, data, builder);
  const std::vector<Place> states = graph.ok() ? read_states(graph, data, builder) : std::vector<Place>{};
  if (graph.ok()) read_nodes(graph, builder);
  if (!graph.ok()) return std::nullopt;
  for (size_t i = 0; i < states.size(); ++i) {
    builder.next_state(static_cast<int>(i), read_value(states[i].at("next"), builder, {}));
  }
  for (const Place& output : graph.at("outputs").elements(2 * kMaxNodes))
    builder.output(read_value(output, builder, {}));
  if (!graph.ok()) return std::nullopt;
  auto result = builder.build();
  if (result) return std::move(*result);
  graph.fail(result.problem());
  return std::nullopt;
}

}  // namespace fusesmith::graph
