// Reading a case. The order of checks decides which of several problems is named: version, keys, values, then
// the graph.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "graph/case.h"
#include "graph/json_graph.h"

namespace fusesmith::graph {
namespace {

template <class S>
S read_struct(const Place& place) {
  S result;
  std::vector<JsonKey> keys;
  append_keys<S>(keys);
  if (place.has_keys(keys)) read_fields(place, result);
  return result;
}

// A word, or a word and after a colon anything that prints ("remote:ssh host worker").
bool is_backend_name(std::string_view text) {
  const std::string_view word = text.substr(0, text.find(':'));
  const auto in_word = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
  };
  const auto prints = [](char c) { return c >= ' ' && c <= '~'; };
  return !word.empty() && std::all_of(word.begin(), word.end(), in_word) &&
         std::all_of(text.begin(), text.end(), prints);
}

// Backends come as a pair. Which there are is not known here: fuzz/run/known_names.h.
Expect read_expect(const Place& place) {
  const auto backends = place.member("backends");
  if (backends && backends->elements(kMaxStrings).size() != 2)
    backends->fail_expected("exactly two names, the baseline's and the candidate's");
  Expect expect = read_struct<Expect>(place);
  for (size_t i = 0; backends && place.ok() && i < expect.backends.size(); ++i) {
    if (!is_backend_name(expect.backends[i])) {
      backends->elements(2)[i].fail("expected the name of a backend, got \"" + shortened(expect.backends[i]) +
                                    "\"");
    }
  }
  return expect;
}

void check_version(const Place& document) {
  const auto place = document.member("fusesmith", true);
  if (!place) return;
  int64_t version = kCaseVersion;
  place->read(version);
  if (version == kCaseVersion) return;
  const std::string why = version > kCaseVersion ? ": this case was written by a newer fusesmith" : "";
  place->fail("expected " + std::to_string(kCaseVersion) + ", got " + std::to_string(version) + why);
}

}  // namespace

Result<Case> parse_case(std::string_view text, const DataFiles& data) {
  auto tree = parse_strict_json(text);
  if (!tree) return Problem{tree.problem()};
  std::optional<Problem> problem;
  const Place document(*tree, problem);
  check_version(document);
  const std::vector<JsonKey> keys = {{"fusesmith", true}, {"seed", false},    {"steps", false},
                                     {"policy", false},   {"graph", true},    {"stand_ins", false},
                                     {"expect", false},   {"comment", false}, {"$schema", false}};
  Case result;
  if (document.has_keys(keys)) {
    if (const auto comment = document.member("comment")) comment->read(result.comment);
    if (const auto schema = document.member("$schema")) schema->read(result.schema);
    if (const auto seed = document.member("seed")) seed->read(result.seed);
    if (const auto steps = document.member("steps"))
      read_attribute(*steps, result.steps, IntRange{1, kMaxSteps});
    if (const auto policy = document.member("policy")) result.policy = read_struct<Policy>(*policy);
    if (const auto expect = document.member("expect")) result.expect = read_expect(*expect);
    if (const auto stand_ins = document.member("stand_ins")) {
      for (const Place& place : stand_ins->elements(kMaxStrings))
        result.stand_ins.push_back(read_struct<StandIn>(place));
    }
    if (auto graph = read_graph(document.at("graph"), data)) result.graph = std::move(*graph);
  }
  if (!problem) problem = stand_in_problem(result);
  if (problem) return *problem;
  return result;
}

}  // namespace fusesmith::graph
