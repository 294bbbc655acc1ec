#include "fuzz/report/finding_json.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "fuzz/report/finding_facts.h"
#include "fuzz/report/finding_markdown.h"
#include "fuzz/report/graph_code.h"
#include "fuzz/report/neighbours_text.h"
#include "fuzz/report/verdict_json.h"
#include "fuzz/run/difference.h"

namespace fusesmith::fuzz {

namespace {

using Json = nlohmann::ordered_json;

Json to_json(const ElementFacts& element, const std::string& other_backend) {
  Json json = {{"value", element.value},
               {"dtype", name(element.type.dtype)},
               {"shape", element.type.shape},
               {"index", element.index},
               {"got", json_number(element.got)},
               {"other_backend", other_backend},
               {"other", element.other ? json_number(*element.other) : Json()},
               {"exact", json_number(element.exact)},
               {"rounded", json_number(element.rounded)},
               {"lowest", json_number(element.lowest)},
               {"highest", json_number(element.highest)},
               {"allowed_values", element.allowed_values},
               {"ulps_outside", element.ulps_outside}};
  return json;
}

std::string_view outcome_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::fails:
      return "fails";
    case Outcome::passes:
      return "passes";
    case Outcome::not_applied:
      return "not_applied";
    case Outcome::fails_alike:
    case Outcome::other:
      break;
  }
  return "other";
}

Json report_json(const FindingReport& report) {
  const JudgedCase& smallest = report.smallest();
  const FindingFacts facts = facts_of(smallest, report.ablations);
  Json json = {{"title", facts.title},
               {"what", what_is_wrong(facts, smallest.seen.run.verdict)},
               {"how_sure", how_sure(facts)},
               {"backend", facts.backend},
               {"argument", facts.argument},
               {"outside", facts.outside},
               {"elements", facts.elements},
               {"all_elements", facts.all_elements},
               {"failed", facts.rate.failed},
               {"runs", facts.rate.runs},
               {"failing_nodes", facts.nodes},
               {"element", facts.element ? to_json(*facts.element, facts.other_backend) : Json()}};
  json["ablations"] = Json::array();
  for (const Ablation& one : report.ablations)
    json["ablations"].push_back(
        {{"what", one.what}, {"outcome", one.outcome ? outcome_name(*one.outcome) : "not_tried"}});
  json["ruled_out"] = facts.ruled_out;
  json["comparisons"] = Json::array();
  for (const Comparison& one : facts.comparisons)
    json["comparisons"].push_back(
        {{"name", one.name}, {"rule", one.rule}, {"beyond", one.beyond}, {"elements", one.elements}});
  json["environment"] = Json::object();
  for (const auto& [name, value] : report.environment) {
    Json& entry = json["environment"][name];
    entry = entry.is_string() ? Json(entry.get<std::string>() + "; " + value) : Json(value);
  }
  json["known_issue"] = report.known_issue;
  json["snippet"] = report.snippet;
  json["commands"] = commands_of(report);
  json["minimization"] = report.how_small;
  return json;
}

Json case_json(const JudgedCase& judged) {
  return judged_json(judged.file, judged.seen.run.verdict, region_differences(judged.seen.run));
}

}  // namespace

Json judged_json(const std::string& file, const Verdict& verdict, std::span<const Difference> differences) {
  Json json = {{"file", std::filesystem::path(file).filename().string()}};
  json.update(to_json(verdict, differences));
  return json;
}

Json finding_json(const FindingReport& report) {
  Json json = case_json(report.found);
  if (report.minimized) json["minimized"] = case_json(*report.minimized);
  if (report.neighbours) json["neighbours"] = to_json(*report.neighbours);
  json["report"] = report_json(report);
  return json;
}

}  // namespace fusesmith::fuzz
