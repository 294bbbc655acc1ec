// An explanation as JSON; docs/explain.md says what the fields mean.
#include <nlohmann/json.hpp>

#include "fuzz/explanation.h"
#include "fuzz/verdict_json.h"

namespace fusesmith {

using Json = nlohmann::ordered_json;

namespace {

Json to_json(const Difference& d) {
  return {{"elements", d.elements},
          {"unequal", d.unequal},
          {"largest", json_number(d.largest)},
          {"rms", json_number(d.rms())},
          {"beyond_tolerance", d.beyond}};
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
  return json;
}

Json to_json(const Cause& cause) {
  Json deviations = Json::array(), spread = Json::array(), swaps = Json::array();
  for (const Deviation& deviation : cause.verdict.deviations) deviations.push_back(to_string(deviation));
  for (const SpreadStep& step : cause.spread) spread.push_back(to_json(step));
  for (const Swap& swap : cause.swaps) swaps.push_back(to_json(swap));
  return {{"region", cause.verdict.name},
          {"op", cause.verdict.op},
          {"patterns", cause.verdict.patterns},
          {"dtype", name(cause.verdict.dtype)},
          {"kind", name(cause.kind())},
          {"verdict", name(cause.verdict.verdict)},
          {"deviations", deviations},
          {"worst_share", json_number(cause.verdict.worst_share)},
          {"injected", to_json(cause.injected)},
          {"outputs", to_json(cause.outputs)},
          {"gain", json_number(cause.gain)},
          {"share", json_number(cause.share)},
          {"swaps", swaps},
          {"spread", spread}};
}

}  // namespace

Json to_json(const Explanation& explanation) {
  Json causes = Json::array(), patterns = Json::array();
  for (const Cause& cause : explanation.causes.causes) causes.push_back(to_json(cause));
  for (const PatternOff& off : explanation.patterns_off) {
    patterns.push_back({{"pattern", off.pattern},
                        {"verdict", name(off.verdict)},
                        {"unequal", off.unequal},
                        {"max_difference", json_number(off.max_difference)}});
  }
  return {{"what_happened", explanation.what_happened},
          {"outputs", to_json(explanation.causes.outputs)},
          {"causes", causes},
          {"together", json_number(explanation.causes.together)},
          {"patterns_off", patterns},
          {"left_out", explanation.causes.left_out}};
}

}  // namespace fusesmith
