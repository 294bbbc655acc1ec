// The format `onnx`: the model, its inputs and a script that runs it with ONNX Runtime. A Python script makes
// the model (python/workers/onnx/export_onnx.py), by the mapping that the worker `ort` has.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "backends/remote/remote_backend.h"
#include "backends/remote/script_call.h"
#include "fuzz/export/format.h"
#include "fuzz/export/npz.h"
#include "fuzz/export/script.h"

namespace fusesmith::fuzz {

namespace {

// What the model returns: graph outputs and next states, each once, no inputs (protocol.Graph.results).
std::vector<ValueId> model_outputs(const Graph& graph) {
  std::vector<ValueId> values;
  const auto add = [&](ValueId value) {
    const bool is_known = std::find(values.begin(), values.end(), value) != values.end();
    if (value >= graph.source_count() && !is_known) values.push_back(value);
  };
  for (ValueId value : graph.outputs()) add(value);
  for (const State& state : graph.states()) add(state.next);
  return values;
}

// Whether another program that gets the inputs of the case can be compared: what the region reads is not
// rounded by a region before it.
bool follows_from_inputs(const ExportSource& source, ValueId value) {
  const BackendResults& backend = source.results->shown();
  const auto found = backend.values.find(value);
  if (found == backend.values.end()) return false;
  const std::vector<ValueId>& inputs = backend.plan->regions[found->second.region].inputs;
  return std::all_of(inputs.begin(), inputs.end(),
                     [&](ValueId input) { return is_only_moved(source.test_case.graph, backend, input); });
}

// Inputs, then states, of the step that the results are of, else of the first one.
std::vector<Tensor> model_inputs(const ExportSource& source) {
  const Case& test_case = source.test_case;
  std::vector<Tensor> tensors;
  if (source.results) {
    const Trace& trace = source.results->shown().trace;
    for (ValueId value = 0; value < test_case.graph.source_count(); ++value)
      tensors.push_back(*trace.values[static_cast<size_t>(value)]);
    return tensors;
  }
  tensors = make_inputs(test_case);
  for (const State& s : test_case.graph.states()) tensors.push_back(data_of(test_case, s));
  return tensors;
}

// Rows of element, got, exact result, lowest and highest lawful value.
void add_shown(NpzWriter& npz, const std::string& key, ValueId value, std::span<const ShownElement> shown) {
  std::vector<double> rows;
  for (const ShownElement& e : shown) {
    if (e.value == value)
      rows.insert(rows.end(), {static_cast<double>(e.element), e.got, e.exact, e.low, e.high});
  }
  if (!rows.empty()) npz.add(key, {static_cast<int64_t>(rows.size()) / 5, 5}, rows);
}

// `input.I` for the model's inputs, `shown.I` for its outputs.
std::string data_of(const ExportSource& source) {
  NpzWriter npz;
  if (!source.note.empty()) npz.add_text("note.txt", source.note);
  size_t number = 0;
  for (const Tensor& tensor : model_inputs(source)) npz.add("input." + std::to_string(number++), tensor);
  const std::vector<ShownElement> shown = script_elements(source);
  const std::vector<ValueId> outputs = model_outputs(source.test_case.graph);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (source.results && follows_from_inputs(source, outputs[i]))
      add_shown(npz, "shown." + std::to_string(i), outputs[i], shown);
  }
  return npz.archive();
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

Result<Exported> export_onnx(const ExportSource& source) {
  Exported exported;
  exported.data = data_of(source);
  if (exported.data.empty()) return Problem{"its inputs are larger than 2 GiB; minimize the case first"};
  backends::ScriptRequest request{"onnx/export_onnx.py"};
  request.header = backends::compile_request(source.test_case.graph, {}).dump();
  const backends::ScriptReply reply = backends::call_script(request);
  if (!reply.problem.empty()) return Problem{reply.problem};
  const nlohmann::json size = reply.header.value("model", nlohmann::json());
  if (!size.is_number_unsigned() || size.get<size_t>() > reply.payload.size())
    return Problem{"onnx/export_onnx.py: expected the size of the model"};
  exported.text = text_of(std::span(reply.payload).first(size.get<size_t>()));
  exported.script = text_of(std::span(reply.payload).subspan(size.get<size_t>()));
  return exported;
}

}  // namespace fusesmith::fuzz
