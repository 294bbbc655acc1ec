#include "fuzz/export/values_file.h"

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "backends/remote/frame.h"
#include "backends/remote/remote_backend.h"
#include "fuzz/report/verdict_json.h"

namespace fusesmith::fuzz {
namespace {

using Json = nlohmann::ordered_json;

// Graph outputs and next states, each once; no inputs and states, which are values already.
std::set<ValueId> observed_values(const Graph& graph) {
  std::set<ValueId> values(graph.outputs().begin(), graph.outputs().end());
  for (const State& state : graph.states()) values.insert(state.next);
  std::erase_if(values, [&](ValueId value) { return value < graph.source_count(); });
  return values;
}

void write_bytes(std::ofstream& stream, std::span<const std::byte> bytes) {
  stream.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace

Result<ValuesFile> ValuesFile::open(const std::string& path) {
  std::ofstream stream(path, std::ios::binary | std::ios::trunc);
  if (!stream) return Problem{path + ": cannot be written: " + std::strerror(errno)};
  return ValuesFile(path, std::move(stream));
}

void ValuesFile::add_step(const Graph& graph, int64_t step, const Trace& baseline, const Trace& candidate) {
  if (step == 0) values_.clear();
  const auto inputs = static_cast<ValueId>(graph.inputs().size());
  const ValueId sources = step == 0 ? graph.source_count() : inputs;
  for (ValueId value = 0; value < sources; ++value) {
    values_.push_back({graph.name(value), value < inputs ? "input" : "state", step,
                       baseline.values[static_cast<size_t>(value)]});
  }
  for (const ValueId value : observed_values(graph)) {
    values_.push_back({graph.name(value), "baseline", step, baseline.values[static_cast<size_t>(value)]});
    values_.push_back({graph.name(value), "candidate", step, candidate.values[static_cast<size_t>(value)]});
  }
}

std::optional<Problem> ValuesFile::write(const Case& test_case, const std::string& file,
                                         const Verdict& verdict) {
  Json tensors = Json::array();
  uint64_t bytes = 0;
  for (const Value& value : values_) {
    tensors.push_back({{"name", value.name},
                       {"type", to_string(value.tensor->type)},
                       {"role", value.role},
                       {"step", value.step}});
    bytes += value.tensor->bytes.size();
  }
  const Json whole = to_json(verdict);
  Json header = {{"type", "case"}, {"file", file}, {"steps", test_case.steps}};
  for (const char* key : {"verdict", "signature", "finding", "known", "reason"}) header[key] = whole[key];
  header["compile"] =
      backends::compile_request(test_case.graph, {test_case.policy.skip_patterns, {}, test_case.policy.tf32});
  header["tensors"] = std::move(tensors);
  const std::string text = header.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > backends::kMaxHeader) return Problem{path_ + ": the graph of " + file + " is too large"};
  write_bytes(stream_, backends::frame_start(text, bytes));
  for (const Value& value : values_) write_bytes(stream_, value.tensor->bytes);
  values_.clear();
  stream_.flush();
  if (!stream_) return Problem{path_ + ": cannot be written: " + std::strerror(errno)};
  return {};
}

}  // namespace fusesmith::fuzz
