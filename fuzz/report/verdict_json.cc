#include "fuzz/report/verdict_json.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "graph/element_index.h"
#include "graph/op.h"

namespace fusesmith::fuzz {

namespace {

using Json = nlohmann::ordered_json;

Json to_json(const ElementEvidence& evidence) {
  Json json = {{"value", evidence.value},
               {"element", evidence.element},
               {"got", json_number(evidence.got)},
               {"want", json_number(evidence.want)},
               {"lo", json_number(evidence.lo)},
               {"hi", json_number(evidence.hi)},
               {"bound", json_number(evidence.bound)},
               {"steps_outside", evidence.steps_outside}};
  if (!evidence.shape.empty()) json["index"] = unravelled(evidence.element, evidence.shape);
  return json;
}

Json to_json(const Resolution& resolution) {
  return {{"elements", resolution.elements},
          {"least", json_number(resolution.least)},
          {"median", json_number(resolution.median)},
          {"worst", json_number(resolution.worst)}};
}

Json to_json(const BothRuns& row) {
  Json before = Json::array(), after = Json::array();
  for (const double x : row.before) before.push_back(json_number(x));
  for (const double x : row.after) after.push_back(json_number(x));
  return {{"first", row.first}, {"before", before}, {"after", after}};
}

Json to_json(const std::vector<Diagnosis>& diagnoses) {
  Json json = Json::array();
  for (const Diagnosis& one : diagnoses)
    json.push_back({{"name", one.name},
                    {"says", one.says},
                    {"declaration", one.declaration},
                    {"customary", one.customary}});
  return json;
}

Json to_json(const RegionVerdict& region) {
  Json deviations = Json::array();
  for (const Deviation& deviation : region.deviations) deviations.push_back(to_string(deviation));
  Json json = {{"name", region.name},
               {"op", region.op},
               {"patterns", region.patterns},
               {"dtype", name(region.dtype)},
               {"verdict", name(region.verdict)},
               {"symptom", name(region.symptom)},
               {"deviations", deviations},
               {"declared", region.declared},
               {"elements", region.elements},
               {"all_elements", region.all_elements},
               {"outside", region.outside},
               {"exact", region.exact},
               {"loose", region.loose},
               {"uncertain", region.uncertain},
               {"worst_share", json_number(region.worst_share)},
               {"median_share", json_number(region.median_share)},
               {"inherited", region.inherited},
               {"worst", to_json(region.worst)}};
  if (region.resolution.elements > 0) json["resolution"] = to_json(region.resolution);
  if (!region.arithmetic.empty()) json["arithmetic"] = to_json(region.arithmetic);
  if (!region.alternatives.empty()) json["alternatives"] = to_json(region.alternatives);
  if (!region.fails_with.empty()) json["fails_with"] = to_json(region.fails_with);
  if (!region.change.empty()) json["change"] = region.change;
  if (!region.row.before.empty()) json["row"] = to_json(region.row);
  if (region.unexplained) json["unexplained"] = true;
  if (region.other_run) json["other_run"] = true;
  if (region.probable_sums) json["probable_sums"] = true;
  return json;
}

}  // namespace

Json json_number(double x) { return std::isfinite(x) ? Json(x) : Json(number_text(x)); }

Json to_json(const BackendVerdict& verdict, std::span<const Difference> differences) {
  Json regions = Json::array();
  for (size_t i = 0; i < verdict.regions.size(); ++i) {
    Json region = to_json(verdict.regions[i]);
    const size_t at = verdict.regions[i].region;
    if (at < differences.size()) {
      region["unequal"] = differences[at].unequal;
      region["largest_difference"] = json_number(differences[at].largest);
    }
    regions.push_back(std::move(region));
  }
  return {{"backend", verdict.backend}, {"verdict", name(verdict.verdict)}, {"regions", std::move(regions)}};
}

Json to_json(const Verdict& verdict, std::span<const Difference> differences) {
  Json failing;  // null: no region
  if (verdict.failing_region) {
    failing = {{"backend", verdict.of(verdict.failing_region->role).backend},
               {"role", verdict.failing_region->role == BackendRole::baseline ? "baseline" : "candidate"},
               {"region", verdict.failing_region->region}};
  }
  Json known = Json::array();
  for (const KnownFailure& failure : verdict.known)
    known.push_back({{"issue", failure.issue}, {"signature", to_string(failure.signature)}});
  return {{"verdict", name(verdict.verdict)},
          {"signature", verdict.signature_text()},
          {"finding", verdict.finding},
          {"known", std::move(known)},
          {"failing_region", std::move(failing)},
          {"reason", verdict.reason},
          {"details", verdict.details},
          {"step", verdict.step},
          {"steps", verdict.steps},
          {"unequal", verdict.unequal},
          {"unequal_nonfinite", verdict.unequal_nonfinite},
          {"output_elements", verdict.output_elements},
          {"max_difference", json_number(verdict.max_difference)},
          {"max_finite_difference", json_number(verdict.max_finite_difference)},
          {"deviations", verdict.deviations},
          {"exposed", verdict.exposed},
          {"baseline", to_json(verdict.baseline)},
          {"candidate", to_json(verdict.candidate, differences)}};
}

}  // namespace fusesmith::fuzz
