#include "fuzz/cli/calibrate_command.h"

#include <cstdio>
#include <nlohmann/json.hpp>
#include <ostream>

#include "fuzz/base/table.h"
#include "fuzz/report/verdict_json.h"
#include "fuzz/run/backends.h"
#include "graph/op.h"
#ifdef FUSESMITH_HAS_CUDA
#include "backends/cuda/calibrate/calibrate.h"
#endif

namespace fusesmith::fuzz {

namespace {

constexpr std::string_view kName = "calibrate";

bool exceeds(const ScalarError& function) {
  return (function.declared_u > 0 && !(function.worst_error_u <= function.declared_u)) ||
         !(function.worst_tiny <= 1);
}

std::vector<std::string> exceeding(const Calibration& calibration) {
  std::vector<std::string> names;
  for (const ScalarError& function : calibration.functions) {
    if (exceeds(function)) names.push_back(function.name);
  }
  return names;
}

std::string json_of(const Calibration& calibration) {
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

std::string text_of(const Calibration& calibration) {
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
              ? "Everything is within what the contracts declare.\n"
              : "EXCEEDED: " + list_text(names) +
                    ". Verdicts of cuda and cuda_fused on this device may be wrong; raise the figure "
                    "in backends/cuda/emit/arithmetic.h.\n");
}

}  // namespace

FlagTable CalibrateFlags::table() {
  FlagTable table;
  table.command = kName;
  table.doc = "measure the GPU's scalar functions and compare with what contracts declare.";
  table.details =
      "Runs each function on all 2^32 inputs and prints its worst relative error, in units of u = 2^-24, "
      "against f64. The figures of backends/cuda/emit/arithmetic.h are those of one card: do this once on "
      "any "
      "other.\n"
      "\n"
      "Exit codes: 0 nothing exceeds what is declared, 76 no GPU answers, 77 something does.";
  table.flags.push_back({.name = "json",
                         .target = &json,
                         .doc = "Print one JSON object on standard output, nothing else there."});
  table.examples = {{"calibrate", "Some seconds."}};
  return table;
}

int report(const Calibration& calibration, bool json, Console& console) {
  console.out << (json ? json_of(calibration) : text_of(calibration));
  return exceeding(calibration).empty() ? kClean : kFindings;
}

int run([[maybe_unused]] CalibrateFlags& flags, Console& console) {
#ifdef FUSESMITH_HAS_CUDA
  if (const auto why = find_backend("cuda")->unavailable())
    return fail(console, kName, *why, kDeviceUnhealthy);
  return report(calibrate(), flags.json, console);
#else
  return fail(console, kName, "this build has no CUDA; configure with -DFUSESMITH_CUDA=ON", kDeviceUnhealthy);
#endif
}

}  // namespace fusesmith::fuzz
