// The format `onnx`: the model, its inputs and a script that runs it with ONNX Runtime. A Python script makes
// them (scripts/workers/export_onnx.py), by the mapping that the worker `ort` has.
#include <nlohmann/json.hpp>

#include "backends/remote/remote_backend.h"
#include "backends/remote/script_call.h"
#include "fuzz/export/format.h"

namespace fusesmith::fuzz {

namespace {

using nlohmann::json;

// The inputs and states at the first step, and their description in the header of the request.
std::vector<std::byte> first_inputs(const Case& test_case, json& header) {
  std::vector<std::byte> payload;
  header["tensors"] = json::array();
  const auto add = [&](const std::string& name, const Tensor& tensor) {
    header["tensors"].push_back({{"name", name}, {"type", to_string(tensor.type)}});
    payload.insert(payload.end(), tensor.bytes.begin(), tensor.bytes.end());
  };
  const std::vector<Tensor> inputs = make_inputs(test_case);
  for (size_t i = 0; i < inputs.size(); ++i) add(test_case.graph.inputs()[i].name, inputs[i]);
  for (const State& s : test_case.graph.states())
    add(s.name, materialize(s.fill, s.type, test_case.seed, s.name, 0));
  return payload;
}

// The next part of a payload.
std::string take(std::string_view& rest, const json& bytes) {
  std::string part(rest.substr(0, bytes.get<size_t>()));
  rest.remove_prefix(part.size());
  return part;
}

}  // namespace

Result<Exported> export_onnx(const ExportSource& source) {
  json header = backends::compile_request(source.test_case.graph, {});
  const std::vector<std::byte> payload = first_inputs(source.test_case, header);
  backends::ScriptRequest request{"export_onnx.py"};
  request.header = header.dump();
  request.payload = payload;
  const backends::ScriptReply reply = backends::call_script(request);
  if (!reply.problem.empty()) return Problem{reply.problem};
  std::string_view rest(reinterpret_cast<const char*>(reply.payload.data()), reply.payload.size());
  try {
    Exported exported{take(rest, reply.header.at("model"))};
    exported.data = take(rest, reply.header.at("data"));
    exported.script = take(rest, reply.header.at("script"));
    return exported;
  } catch (const json::exception& error) {
    return Problem{std::string("export_onnx.py: the reply cannot be read: ") + error.what()};
  }
}

}  // namespace fusesmith::fuzz
