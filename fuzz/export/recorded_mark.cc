#include "fuzz/export/recorded_mark.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "backends/remote/worker_names.h"
#include "fuzz/base/files.h"
#include "fuzz/base/table.h"
#include "fuzz/run/backends.h"
#include "graph/json_strict.h"

namespace fusesmith::fuzz {
namespace {

using PlainJson = nlohmann::json;

// The string at a path of keys; empty where there is none.
std::string text_at(const PlainJson& json, const std::string& path) {
  const PlainJson::json_pointer pointer(path);
  const bool is_there = json.contains(pointer) && json.at(pointer).is_string();
  return is_there ? json.at(pointer).get<std::string>() : "";
}

// The verdict of the case file of this name, of the two that a finding has.
PlainJson verdict_of(const std::string& name, PlainJson verdict) {
  if (text_at(verdict, "/file") == name) return verdict;
  return text_at(verdict, "/minimized/file") == name ? verdict["minimized"] : PlainJson();
}

// What verdict.json beside the case says; null where there is none.
PlainJson recorded_json(const std::string& file) {
  const auto text = read_file(WorkPath(std::filesystem::path(file).parent_path()) / "verdict.json");
  const auto json = text ? parse_strict_json(*text) : Result<PlainJson>(Problem{""});
  return json ? *json : PlainJson();
}

std::string name_in_folder(const std::string& file) {
  return std::filesystem::path(file).filename().string();
}

int count_at(const PlainJson& json, const char* path) {
  const PlainJson::json_pointer pointer(path);
  return json.contains(pointer) && json.at(pointer).is_number_unsigned() ? json.at(pointer).get<int>() : 0;
}

// Nothing where the backend is a worker, or makes other regions.
std::set<int> planned_nodes(const std::string& name, size_t index, ValueId output, const Case& test_case) {
  const Backend* backend = find_backend(name);
  if (!backend || worker_kind(name) || backend->unavailable()) return {};
  CompileOptions options;
  options.skip_patterns = test_case.policy.skip_patterns;
  options.tf32 = test_case.policy.tf32;
  const auto program = backend->compile(test_case.graph, options);
  if (!program || index >= (*program)->plan().regions.size()) return {};
  const Region& region = (*program)->plan().regions[index];
  if (std::find(region.outputs.begin(), region.outputs.end(), output) == region.outputs.end()) return {};
  return {region.nodes.begin(), region.nodes.end()};
}

}  // namespace

std::optional<FailureMark> recorded_failure_mark(const std::string& file, const Case& test_case) {
  const PlainJson verdict = verdict_of(name_in_folder(file), recorded_json(file));
  const std::string role = text_at(verdict, "/failing_region/role");
  if (role != "baseline" && role != "candidate") return {};
  const PlainJson::json_pointer index_at("/failing_region/region");
  if (!verdict.contains(index_at) || !verdict.at(index_at).is_number_unsigned()) return {};
  const auto index = verdict.at(index_at).get<size_t>();
  const std::string region = "/" + role + "/regions/" + std::to_string(index);
  const auto output = test_case.graph.find(text_at(verdict, region + "/name"));
  if (!output) return {};
  FailureMark mark{planned_nodes(text_at(verdict, "/failing_region/backend"), index, *output, test_case),
                   test_case.graph.find(text_at(verdict, region + "/worst/value")).value_or(-1),
                   text_at(verdict, "/signature")};
  const auto producer = test_case.graph.producer(*output);
  if (mark.region.empty() && producer) mark.region.insert(*producer);
  return mark;
}

std::optional<RecordedFailure> recorded_failure(const std::string& file) {
  const PlainJson json = recorded_json(file);
  const PlainJson verdict = verdict_of(name_in_folder(file), json);
  RecordedFailure recorded{text_at(verdict, "/signature"), {}};
  if (recorded.signature.empty()) return {};
  // The report counts the runs of the smallest case.
  if (!json.contains("minimized") || text_at(json, "/minimized/file") == name_in_folder(file))
    recorded.rate = {count_at(json, "/report/failed"), count_at(json, "/report/runs")};
  return recorded;
}

std::string failure_note(const std::optional<RecordedFailure>& recorded, const FailureRate* rate) {
  const auto some = [](const FailureRate& of) {
    return "It does not fail every time, but in " + std::to_string(of.failed) + " of " +
           counted(of.runs, "run");
  };
  if (!rate) return recorded && recorded->rate.sometimes() ? some(recorded->rate) + "." : "";
  if (rate->failed > 0)
    return rate->sometimes() ? some(*rate) + ". The results are of a run that failed." : "";
  if (!recorded) return "";
  return "It did not fail in " + counted(rate->runs, "run") + ", although a campaign recorded " +
         recorded->signature + ". The results are of a run that did not fail.";
}

}  // namespace fusesmith::fuzz
