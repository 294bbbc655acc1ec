// An explanation as JSON; docs/explain.md says what the fields mean.
#include <nlohmann/json.hpp>

#include "fuzz/explain/explanation.h"
#include "fuzz/order/order_json.h"
#include "fuzz/report/verdict_json.h"

namespace fusesmith::fuzz {

namespace {

using Json = nlohmann::ordered_json;

Json to_json(const Difference& d) {
  return {{"elements", d.elements},
          {"unequal", d.unequal},
          {"largest", json_number(d.largest)},
          {"rms", json_number(d.rms())},
          {"beyond_tolerance", d.beyond}};
}

// What was not measured is null.
Json to_json(const std::optional<Difference>& d) { return d ? to_json(*d) : Json(); }
Json number_or_null(const std::optional<double>& x) { return x ? json_number(*x) : Json(); }

Json to_json(const std::vector<Deviation>& deviations) {
  Json list = Json::array();
  for (const Deviation& deviation : deviations) list.push_back(to_string(deviation));
  return list;
}

Json to_json(const SpreadStep& step) {
  Json json = {{"value", step.value}, {"op", step.op}, {"dtype", name(step.dtype)}};
  json.update(to_json(step.difference));
  json["relative"] = json_number(step.relative);
  json["growth"] = json_number(step.growth);
  return json;
}

Json to_json(const Swap& swap) {
  Json json = {{"given", swap.given}, {"rest", swap.rest}, {"outputs", to_json(swap.outputs)}};
  if (swap.inner) json["own"] = to_json(*swap.inner);
  if (!swap.inside_kernel) return json;
  const auto verdict = [](const auto& judged) { return judged ? Json(name(judged->verdict)) : Json(); };
  json["verdict"] = verdict(swap.verdict);
  json["converse_verdict"] = verdict(swap.converse_verdict);
  return json;
}

Json to_json(const Cause& cause) {
  Json spread = Json::array(), swaps = Json::array();
  for (const SpreadStep& step : cause.spread) spread.push_back(to_json(step));
  for (const Swap& swap : cause.swaps) swaps.push_back(to_json(swap));
  return {{"region", cause.verdict.name},
          {"op", cause.verdict.op},
          {"patterns", cause.verdict.patterns},
          {"dtype", name(cause.verdict.dtype)},
          {"kind", cause.kind() ? Json(name(*cause.kind())) : Json()},
          {"verdict", name(cause.verdict.verdict)},
          {"judged_on", cause.judged ? "baseline_values" : "own_inputs"},
          {"deviations", to_json(cause.verdict.deviations)},
          {"worst_share", json_number(cause.verdict.worst_share)},
          {"injected", to_json(cause.injected)},
          {"outputs", to_json(cause.outputs)},
          {"gain", number_or_null(cause.gain)},
          {"share", number_or_null(cause.share)},
          {"swaps", swaps},
          {"spread", spread}};
}

Json to_json(const PatternOff& off) {
  Json instead = Json::array();
  for (const Instead& region : off.instead) {
    instead.push_back({{"region", region.region},
                       {"op", region.op},
                       {"patterns", region.patterns},
                       {"deviations", region.deviations ? to_json(*region.deviations) : Json()}});
  }
  return {{"pattern", off.pattern},
          {"verdict", off.verdict ? Json(name(*off.verdict)) : Json()},
          {"unequal", off.unequal},
          {"max_difference", json_number(off.max_difference)},
          {"instead", instead}};
}

Json to_json(const Conclusion& conclusion) {
  return {{"backend", conclusion.backend},
          {"region", conclusion.region.name},
          {"op", conclusion.region.op},
          {"patterns", conclusion.region.patterns},
          {"dtype", name(conclusion.region.dtype)},
          {"kind", conclusion.kind.empty() ? Json() : Json(conclusion.kind)},
          {"named", conclusion.named},
          {"ruled_out", conclusion.ruled_out}};
}

}  // namespace

Json to_json(const Explanation& explanation) {
  Json causes = Json::array(), patterns = Json::array(), orders = Json::array();
  for (const auto& [baseline, candidate] : explanation.orders)
    orders.push_back({{"baseline", proof_json(baseline)}, {"candidate", proof_json(candidate)}});
  for (const Cause& cause : explanation.causes.causes) causes.push_back(to_json(cause));
  for (const PatternOff& off : explanation.patterns_off) patterns.push_back(to_json(off));
  return {{"what_happened", explanation.what_happened},
          {"conclusion", explanation.conclusion ? to_json(*explanation.conclusion) : Json()},
          {"outputs", to_json(explanation.causes.outputs)},
          {"causes", causes},
          {"together", number_or_null(explanation.causes.together)},
          {"orders", orders},
          {"patterns_off", patterns},
          {"left_out", explanation.causes.left_out}};
}

}  // namespace fusesmith::fuzz
