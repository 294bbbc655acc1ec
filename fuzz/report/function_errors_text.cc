#include "fuzz/report/function_errors_text.h"

#include <nlohmann/json.hpp>

#include "fuzz/base/table.h"
#include "fuzz/report/verdict_json.h"
#include "graph/op.h"
#include "oracle/signature.h"

namespace fusesmith::fuzz {

namespace {

using Json = nlohmann::ordered_json;

std::string label(const FunctionErrors& errors) {
  return errors.function + " " + std::string(name(errors.dtype));
}

// "12 results, first f(-0.5) = 3, expected 2".
std::string first_text(const WrongResults& wrong, const char* want) {
  return counted(wrong.count, "result") + ", the first for x = " + number_text(wrong.x) + ": got " +
         number_text(wrong.got) + ", " + want + " " + number_text(wrong.want);
}

std::string warnings_of(const FunctionErrors& errors) {
  std::string text;
  const auto warn = [&](const char* what, const std::string& how) {
    text += std::string(what) + ": " + label(errors) + ": " + how + "\n";
  };
  if (!errors.failed.empty()) warn("FAILED", errors.failed);
  if (errors.exceptional.count > 0) warn("NAN OR INFINITY", first_text(errors.exceptional, "exact"));
  if (errors.inexact.count > 0) warn("NOT EXACT", first_text(errors.inexact, "contracts assume"));
  if (errors.ulp.error > kMostUlp)
    warn("WORSE THAN 4 ULP", short_number(errors.ulp.error) + " ulp for x = " + number_text(errors.ulp.x));
  if (errors.tiny.error > 1)
    warn("WORSE THAN UNDERFLOW",
         short_number(errors.tiny.error) +
             " times the smallest normal number for x = " + number_text(errors.tiny.x));
  if (errors.reversals.count > 0) warn("NOT MONOTONE", first_text(errors.reversals, "for the value before"));
  return text;
}

// "Subnormal inputs are read as 0: sqrt f32 (1 result), ..."
std::string flushed_text(std::span<const FunctionErrors> functions, const char* what,
                         WrongResults FunctionErrors::*results) {
  std::vector<std::string> labels;
  for (const FunctionErrors& errors : functions) {
    const int64_t count = (errors.*results).count;
    if (count > 0) labels.push_back(label(errors) + " (" + counted(count, "value") + ")");
  }
  return labels.empty() ? "" : wrapped(std::string(what) + ": " + list_text(labels)) + "\n";
}

std::string unsupported_text(std::span<const FunctionErrors> functions) {
  std::string text;
  for (const FunctionErrors& errors : functions) {
    if (!errors.unsupported.empty())
      text += "Unsupported: " + label(errors) + ": " + errors.unsupported + "\n";
  }
  return text;
}

bool was_measured(const FunctionErrors& errors) {
  return errors.unsupported.empty() && errors.failed.empty();
}

std::string versions_text(const Versions& versions) {
  std::vector<std::string> words;
  for (const auto& [library, version] : versions) words.push_back(library + " " + version);
  return list_text(words);
}

Json to_json(const WorstAt& worst) {
  return {{"error", json_number(worst.error)}, {"x", json_number(worst.x)}};
}

Json to_json(const WrongResults& wrong) {
  if (wrong.count == 0) return {{"count", 0}};
  return {{"count", wrong.count},
          {"x", json_number(wrong.x)},
          {"got", json_number(wrong.got)},
          {"want", json_number(wrong.want)}};
}

Json to_json(const FunctionErrors& errors) {
  Json json = {{"function", errors.function}, {"dtype", name(errors.dtype)}};
  if (!errors.unsupported.empty()) json["unsupported"] = errors.unsupported;
  if (!errors.failed.empty()) json["failed"] = errors.failed;
  if (!was_measured(errors)) return json;
  json.update({{"values", errors.values},
               {"ulp", to_json(errors.ulp)},
               {"relative_u", to_json(errors.relative_u)},
               {"absolute_u", to_json(errors.absolute_u)},
               {"tiny", to_json(errors.tiny)},
               {"exceptional", to_json(errors.exceptional)},
               {"inexact", to_json(errors.inexact)},
               {"reversals", to_json(errors.reversals)},
               {"flushed_inputs", to_json(errors.flushed_inputs)},
               {"flushed_results", to_json(errors.flushed_results)},
               {"suspicious", errors.is_suspicious()}});
  return json;
}

}  // namespace

MeasuredBackend::MeasuredBackend(const Backend& backend, bool all)
    : name(backend.name()), versions(backend.versions()), device(backend.device()), every_f32(all) {
  if (versions.empty()) versions["fusesmith"] = FUSESMITH_VERSION;
  if (device.empty()) device = name.starts_with("cuda") ? "gpu" : "cpu";
}

std::string MeasuredBackend::file_name() const {
  const auto own = versions.find(name.substr(0, name.find(':')));
  std::string version = own == versions.end() ? "" : own->second;
  if (own == versions.end()) {
    for (const auto& [library, number] : versions)
      if (library != "python")  // which computes nothing
        version += (version.empty() ? "" : "-") + (versions.size() > 1 ? library : "") + number;
  }
  return signature_word(name) + "-" + signature_word(version) + "-" + signature_word(device) + ".json";
}

std::string warnings_text(std::span<const FunctionErrors> functions) {
  std::string text;
  for (const FunctionErrors& errors : functions) text += warnings_of(errors);
  return text;
}

std::string function_errors_text(const MeasuredBackend& backend, std::span<const FunctionErrors> functions,
                                 size_t columns) {
  Table table(
      {"function", "dtype", "worst ulp", "at x =", "relative / u", "at x = ", "absolute / u", "at x =  "});
  for (const FunctionErrors& errors : functions) {
    if (!was_measured(errors)) continue;
    std::vector<std::string> row = {errors.function, std::string(name(errors.dtype))};
    for (const WorstAt* worst : {&errors.ulp, &errors.relative_u, &errors.absolute_u}) {
      row.push_back(short_number(worst->error));
      row.push_back(number_text(worst->x));
    }
    table.add(std::move(row));
  }
  std::string text =
      backend.name + " (" + versions_text(backend.versions) + "), " + backend.device + "; " +
      (backend.every_f32 ? "every value" : "every f16 and bf16 value, and one of 256 f32 values") +
      "; u = 2^-24\n\n" + (table.empty() ? "" : table.text(0, columns) + "\n");
  text += unsupported_text(functions) +
          flushed_text(functions, "Subnormal inputs are read as 0", &FunctionErrors::flushed_inputs) +
          flushed_text(functions, "Subnormal results are returned as 0", &FunctionErrors::flushed_results);
  const std::string warnings = warnings_text(functions);
  return text + (warnings.empty()
                     ? "Every function is within 4 ulp, monotone, and exact where contracts assume it.\n"
                     : warnings);
}

std::string function_errors_json(const MeasuredBackend& backend, std::span<const FunctionErrors> functions) {
  Json list = Json::array();
  for (const FunctionErrors& errors : functions) list.push_back(to_json(errors));
  return Json{{"backend", backend.name},
              {"versions", backend.versions},
              {"device", backend.device},
              {"f32_values", backend.every_f32 ? "all" : "one of 256"},
              {"functions", std::move(list)}}
             .dump(2, ' ', false, Json::error_handler_t::replace) +
         "\n";
}

}  // namespace fusesmith::fuzz
