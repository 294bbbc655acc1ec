#include "fuzz/page/finding_view.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "fuzz/base/table.h"
#include "fuzz/page/graph_picture.h"
#include "fuzz/page/interval_strip.h"
#include "fuzz/report/graph_code.h"
#include "graph/case.h"

namespace fusesmith::fuzz {

namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostCodeLines = 40;

std::string text(const Json& object, const char* key) {
  const Json value = member(object, key);
  return value.is_string() ? value.get<std::string>() : "";
}

int64_t number(const Json& object, const char* key) {
  const Json value = member(object, key);
  return value.is_number_integer() ? value.get<int64_t>() : 0;
}

// The strings of a list.
Json strings(const Json& list) {
  Json found = Json::array();
  if (!list.is_array()) return found;
  for (const Json& one : list) {
    if (one.is_string()) found.push_back(one);
  }
  return found;
}

// "1-5, 7": whole numbers in a row as ranges; other values as they are.
std::string values_text(const Json& values) {
  if (!values.is_array()) return "";
  std::vector<std::string> words;
  for (size_t i = 0, end = 0; i < values.size(); i = end) {
    const auto next = [&](size_t at) {
      return values[at].is_number_integer() && values[at - 1].is_number_integer() &&
             values[at].get<int64_t>() == values[at - 1].get<int64_t>() + 1;
    };
    for (end = i + 1; end < values.size() && next(end); ++end) {
    }
    if (end - i < 3) end = i + 1;
    const std::string first = values[i].is_string() ? values[i].get<std::string>() : values[i].dump();
    words.push_back(end - i == 1 ? first : first + "-" + values[end - 1].dump());
  }
  return list_text(words);
}

Json neighbour_rows(const Json& neighbours) {
  Json rows = Json::array();
  const Json sizes = member(neighbours, "sizes"), choices = member(neighbours, "choices");
  for (const Json& size : sizes.is_array() ? sizes : Json::array()) {
    const Json nearest = member(size, "nearest_passing");
    rows.push_back({{"changed", "size of " + values_text(member(size, "axes"))},
                    {"here", std::to_string(number(size, "size"))},
                    {"fails", values_text(member(size, "failing"))},
                    {"passes", values_text(member(size, "passing"))},
                    {"not_applied", values_text(member(size, "not_applied"))},
                    {"nearest", nearest.is_number() ? nearest.dump() : ""}});
  }
  for (const Json& choice : choices.is_array() ? choices : Json::array()) {
    const Json passing = strings(member(choice, "passing"));
    rows.push_back({{"changed", text(choice, "what")},
                    {"here", text(choice, "value")},
                    {"fails", values_text(member(choice, "failing"))},
                    {"passes", values_text(passing)},
                    {"not_applied", values_text(member(choice, "not_applied"))},
                    {"nearest", passing.empty() ? "" : passing[0].get<std::string>()}});
  }
  return rows;
}

Json comparison_rows(const Json& report) {
  Json rows = Json::array();
  const Json list = member(report, "comparisons");
  for (const Json& one : list.is_array() ? list : Json::array()) {
    rows.push_back(
        {{"name", text(one, "name")},
         {"rule", text(one, "rule")},
         {"beyond", std::to_string(number(one, "beyond")) + " of " + std::to_string(number(one, "elements"))},
         {"says", number(one, "beyond") > 0 ? "different" : "close"}});
  }
  return rows;
}

// "5 of 5 runs, exact data"
std::string reliability(const Json& report) {
  const int64_t runs = number(report, "runs"), failed = number(report, "failed");
  std::string words = runs == 0        ? "not run again"
                      : failed == runs ? "every run (" + std::to_string(runs) + ")"
                                       : std::to_string(failed) + " of " + counted(runs, "run");
  const std::string argument = text(report, "argument");
  return words + (argument.empty() ? "" : ", shown by " + argument);
}

std::set<int> failing_nodes(const Json& report) {
  std::set<int> nodes;
  const Json list = member(report, "failing_nodes");
  for (const Json& one : list.is_array() ? list : Json::array()) {
    if (one.is_number_integer() && one.get<int64_t>() >= 0 && one.get<int64_t>() <= kMaxNodes)
      nodes.insert(one.get<int>());
  }
  return nodes;
}

void add_graph(const Json& finding, Json& view) {
  const std::string source = text(finding, "case");
  const auto test_case = source.empty() ? Result<Case>(Problem{""}) : parse_case(source);
  view["case"] = source;
  view["picture"] = Json();
  view["code"] = "";
  if (!test_case) return;
  const Graph& graph = test_case->graph;
  std::set<int> failing = failing_nodes(member(finding, "report"));
  std::erase_if(failing, [&](int node) { return node >= static_cast<int>(graph.nodes().size()); });
  view["picture"] = graph_picture(graph, failing);
  view["code"] = graph_code(graph, {failing.begin(), failing.end()}, kMostCodeLines);
}

Json member_rows(const Json& findings) {
  Json rows = Json::array();
  for (const Json& finding : findings)
    rows.push_back({{"signature", text(finding, "signature")},
                    {"title", text(member(finding, "report"), "title")},
                    {"cases", std::to_string(number(finding, "cases"))},
                    {"file", text(finding, "file")},
                    {"reliability", reliability(member(finding, "report"))}});
  return rows;
}

std::string dtypes_of(const Json& findings) {
  std::vector<std::string> dtypes;
  for (const Json& finding : findings) {
    const std::string dtype = text(member(finding, "region"), "dtype");
    if (!dtype.empty() && std::find(dtypes.begin(), dtypes.end(), dtype) == dtypes.end())
      dtypes.push_back(dtype);
  }
  return list_text(dtypes);
}

}  // namespace

Json environment_rows(const Json& report) {
  Json rows = Json::array();
  const Json environment = member(report, "environment");
  if (!environment.is_object()) return rows;
  for (const auto& [name, value] : environment.items()) {
    if (value.is_string()) rows.push_back({{"name", name}, {"value", value}});
  }
  return rows;
}

Json group_view(const Json& group, size_t group_number) {
  const Json& findings = group.at("findings");
  const Json& face = findings.at(0);
  const Json report = member(face, "report"), neighbours = member(face, "neighbours");
  const std::string title = text(report, "title");
  Json view = {{"id", "group-" + std::to_string(group_number)},
               {"number", std::to_string(group_number)},
               {"title", title.empty() ? text(face, "signature") : title},
               {"verdict", text(face, "verdict")},
               {"signature", text(face, "signature")},
               {"cases", std::to_string(number(group, "cases"))},
               {"members", member_rows(findings)},
               {"member_count", std::to_string(findings.size())},
               {"dtypes", dtypes_of(findings)},
               {"reliability", reliability(report)},
               {"what", text(report, "what")},
               {"how_sure", text(report, "how_sure")},
               {"file", text(face, "file")},
               {"strip", interval_strip(member(report, "element"))},
               {"summary", text(neighbours, "summary")},
               {"neighbours", neighbour_rows(neighbours)},
               {"ruled_out", strings(member(report, "ruled_out"))},
               {"comparisons", comparison_rows(report)},
               {"commands", strings(member(report, "commands"))}};
  if (view["what"] == "") view["what"] = text(face, "reason");
  add_graph(face, view);
  return view;
}

}  // namespace fusesmith::fuzz
