// Reading a case. The order of checks decides which of several problems is named: version, keys, values, then
// the graph.
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

#include "graph/case.h"
#include "graph/json_graph.h"

namespace fusesmith {
namespace {

template <class S>
S read_struct(const Place& place) {
  S result;
  std::vector<JsonKey> keys;
  append_keys<S>(keys);
  if (place.has_keys(keys)) read_fields(place, result);
  return result;
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

Result<Case> parse_case(std::string_view text) {
  auto tree = parse_strict_json(text);
  if (!tree) return Problem{tree.problem()};
  std::optional<Problem> problem;
  const Place document(*tree, problem);
  check_version(document);
  const std::vector<JsonKey> keys = {{"fusesmith", true}, {"seed", false}, {"steps", false},
                                     {"policy", false},   {"graph", true}, {"expect", false}};
  Case result;
  if (document.has_keys(keys)) {
    if (const auto seed = document.member("seed")) seed->read(result.seed);
    if (const auto steps = document.member("steps"))
      read_attribute(*steps, result.steps, IntRange{1, kMaxSteps});
    if (const auto policy = document.member("policy")) result.policy = read_struct<Policy>(*policy);
    if (const auto expect = document.member("expect")) result.expect = read_struct<Expect>(*expect);
    if (auto graph = read_graph(document.at("graph"))) result.graph = std::move(*graph);
  }
  if (problem) return *problem;
  return result;
}

Result<Case> read_case_file(const std::string& path) {
  const auto cannot = [&](const std::string& why) { return Problem{path + ": " + why}; };
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return cannot("expected a case file, got a directory");
  if (const auto size = std::filesystem::file_size(path, error); !error && size > kMaxJsonBytes) {
    return cannot("expected a file of at most " + std::to_string(kMaxJsonBytes >> 20) + " MiB, got " +
                  std::to_string(size) + " bytes");
  }
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text;
  for (char buffer[1 << 16]; file && text.size() <= kMaxJsonBytes;) {
    file.read(buffer, sizeof buffer);
    text.append(buffer, static_cast<size_t>(file.gcount()));
  }
  if (!file.eof() && text.size() <= kMaxJsonBytes)
    return cannot("cannot be read: " + std::generic_category().message(errno));
  auto result = parse_case(text);
  if (!result) return cannot(result.problem());
  return result;
}

}  // namespace fusesmith
