#include "fuzz/report/calibration_text.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "fuzz/base/table.h"
#include "fuzz/report/verdict_json.h"
#include "graph/op.h"

namespace fusesmith::fuzz {

namespace {

bool exceeds(const ScalarError& function) {
  return (function.declared_u > 0 && !(function.worst_error_u <= function.declared_u)) ||
         !(function.worst_tiny <= 1);
}

}  // namespace

std::vector<std::string> exceeding(const Calibration& calibration) {
  std::vector<std::string> names;
  for (const ScalarError& function : calibration.functions) {
    if (exceeds(function)) names.push_back(function.name);
  }
  return names;
}

std::string calibration_json(const Calibration& calibration) {
  using Json = nlohmann::ordered_json;
  Json functions = Json::array();
  for (const ScalarError& function : calibration.functions) {
    functions.push_back({{"name", function.name},
                         {"worst_error_u", json_number(function.worst_error_u)},
                         {"at", json_number(function.at)},
                         {"declared_u", function.declared_u > 0 ? Json(function.declared_u) : Json()},
                         {"worst_tiny", json_number(function.worst_tiny)},
                         {"exceeds", exceeds(function)}});
  }
  return Json{{"device", calibration.device}, {"functions", functions}}.dump(2) + "\n";
}

std::string calibration_text(const Calibration& calibration) {
  Table table({"function", "worst / u", "declared / u", "at x =", "worst below 2^-126"});
  for (const ScalarError& function : calibration.functions) {
    char worst[32];
    std::snprintf(worst, sizeof worst, "%.4f", function.worst_error_u);
    table.add({function.name, worst, function.declared_u > 0 ? number_text(function.declared_u) : "-",
               number_text(static_cast<double>(function.at)), short_number(function.worst_tiny)});
  }
  const std::vector<std::string> names = exceeding(calibration);
  return calibration.device + ", every finite f32; u = 2^-24, results below 2^-126 in units of that\n\n" +
         table.text() + "\n" +
         (names.empty()
              ? "Every error is within what the contracts declare.\n"
              : "EXCEEDED: " + list_text(names) +
                    ". Verdicts of cuda and cuda_fused on this device may be wrong; raise the figure "
                    "in backends/cuda/emit/arithmetic.h.\n");
}

}  // namespace fusesmith::fuzz
