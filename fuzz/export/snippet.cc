#include "fuzz/export/snippet.h"

#include <algorithm>
#include <cmath>

#include "backends/remote/remote_backend.h"
#include "backends/remote/script_call.h"
#include "fuzz/export/function_snippet.h"
#include "fuzz/export/snippet_parts.h"
#include "fuzz/export/torch_graph.h"
#include "fuzz/report/verdict_text.h"

namespace fusesmith::fuzz {

namespace {

constexpr std::string_view kTorch = "torch:", kOrt = "ort:", kJax = "jax:", kPython = "python:";

// The function `show`, which prints the results of a run, and whether the element is one of the correct ones.
// `tuple`: results are several tensors even if there is one output.
std::string show_text(const Graph& graph, const SnippetFacts& facts, bool tuple) {
  const std::string start = "def show(name, results):\n    print(f\"{name}: {results}\")\n";
  if (!facts.element) return start + "\n\n";
  const ShownElement& element = *facts.element;
  const auto& outputs = graph.outputs();
  const auto at = std::find(outputs.begin(), outputs.end(), element.value) - outputs.begin();
  const std::string place = place_of(graph, element);
  const std::string low = number_text(element.low), high = number_text(element.high);
  return start + "    element = results" +
         (tuple || outputs.size() > 1 ? "[" + std::to_string(at) + "]" : "") + place +
         ".item()\n    says = \"correct\" if " +
         (std::isnan(element.low)       ? "element != element"
          : element.low == element.high ? "element == " + low
                                        : low + " <= element <= " + high) +
         " else \"WRONG\"\n    print(f\"    " + Identifiers(graph).of(element.value) + place +
         " is {element!r}: {says}, " + lawful_text(element) + "\")\n\n\n";
}

// "torch:inductor+cuda": the mode, and the options after it.
std::pair<std::string, std::string> torch_mode(const std::string& backend) {
  const std::string mode = backend.substr(kTorch.size());
  const size_t plus = mode.find('+');
  return {mode.substr(0, plus), plus == std::string::npos ? "" : mode.substr(plus) + "+"};
}

std::string torch_snippet(const Case& test_case, const std::string& backend, const SnippetFacts& facts) {
  constexpr std::string_view kTaken[] = {"torch",       "F",    "DEVICE",          "graph",   "inf",
                                         "nan",         "cast", "widened",         "softcap", "rope",
                                         "hidden_keys", "show", "nan_without_keys"};
  Identifiers names(test_case.graph, taken_in_script(kTaken));
  const auto sources = snippet_sources(test_case, names);
  if (!sources) return "";
  const TorchWriter writer(test_case.graph, names);
  const auto [mode, options] = torch_mode(backend);
  const bool on_gpu = options.find("+cuda+") != std::string::npos;
  std::string text = snippet_imports(*sources, facts) + "import torch\nimport torch.nn.functional as F\n";
  if (options.find("+emulate_precision_casts+") != std::string::npos)
    text += "import torch._inductor.config\n\ntorch._inductor.config.emulate_precision_casts = True\n";
  text += std::string("DEVICE = \"") + (on_gpu ? "cuda" : "cpu") + "\"\n\n\n" +
          torch_definitions(writer.helpers()) + "def graph(" + comma_separated(sources->names) + "):\n" +
          writer.text() + "    return " + comma_separated(names.of(test_case.graph.outputs())) + "\n\n\n" +
          show_text(test_case.graph, facts, false);
  for (size_t i = 0; i < sources->tensors.size(); ++i) {
    const Tensor& tensor = sources->tensors[i];
    text += sources->names[i] + " = torch.tensor(" + elements_list(tensor) +
            ", dtype=" + std::string(torch_dtype(tensor.type.dtype)) + ", device=DEVICE).reshape(" +
            python_shape(tensor.type.shape) + ")\n";
  }
  const std::string call = "(" + comma_separated(sources->names) + ")";
  text += "show(\"eager\", graph" + call + ")\n";
  if (mode != "eager")
    text += "show(" + python_quoted(mode) + ", torch.compile(graph, backend=" + python_quoted(mode) + ")" +
            call + ")\n";
  return text;
}

// The dtype in NumPy; empty if it has none.
std::string_view numpy_dtype(Dtype dtype) {
  switch (dtype) {
    case Dtype::f32:
      return "np.float32";
    case Dtype::f16:
      return "np.float16";
    case Dtype::i32:
      return "np.int32";
    case Dtype::boolean:
      return "np.bool_";
    case Dtype::s8:
      return "np.int8";
    default:
      return "";
  }
}

// What a script of the workers says of the request as this text; empty if nothing.
std::string text_of_script(const std::string& script, std::vector<std::string> arguments, std::string header,
                           const char* key) {
  backends::ScriptRequest request{script, std::move(arguments)};
  request.header = std::move(header);
  const backends::ScriptReply reply = backends::call_script(request);
  const auto text = reply.header.find(key);
  const bool is_said = reply.problem.empty() && text != reply.header.end() && text->is_string();
  return is_said ? text->get<std::string>() : "";
}

// The model that the worker makes of the graph, as text.
std::string model_text(const Graph& graph) {
  return text_of_script("onnx/export_onnx.py", {"text"}, backends::compile_request(graph, {}).dump(), "text");
}

// A run of the model; `more`: further arguments of the session.
std::string session_text(const std::string& indent, const std::string& name, const std::string& more) {
  return indent + "session = ort.InferenceSession(\n" + indent + "    model.SerializeToString(), options, " +
         "providers=[\"CPUExecutionProvider\"]" + more + ")\n" + indent + "show(" + name +
         ", session.run(None, inputs))\n";
}

std::string onnx_snippet(const Case& test_case, const SnippetFacts& facts) {
  const Graph& graph = test_case.graph;
  const Identifiers names(graph);
  const auto sources = snippet_sources(test_case, names);
  if (!sources) return "";
  for (ValueId value = 0; value < graph.source_count(); ++value)
    if (numpy_dtype(graph.type(value).dtype).empty()) return "";
  for (const ValueId value : graph.outputs())
    if (numpy_dtype(graph.type(value).dtype).empty()) return "";
  const std::string model = model_text(graph);
  if (model.empty() || model.find("\"\"\"") != std::string::npos || model.find('\\') != std::string::npos)
    return "";
  std::string text = snippet_imports(*sources, facts) +
                     "import numpy as np\nimport onnx.parser\nimport onnxruntime as ort\n\n"
                     "model = onnx.parser.parse_model(\"\"\"\n" +
                     model + "\"\"\")\ninputs = {\n";
  for (size_t i = 0; i < sources->tensors.size(); ++i) {
    const Tensor& tensor = sources->tensors[i];
    text += "    " + python_quoted(graph.name(static_cast<ValueId>(i))) + ": np.array(" +
            elements_list(tensor) + ", " + std::string(numpy_dtype(tensor.type.dtype)) + ").reshape(" +
            python_shape(tensor.type.shape) + "),\n";
  }
  text += "}\n\n\n" + show_text(graph, facts, true) +
          "for level in (\"ORT_DISABLE_ALL\", \"ORT_ENABLE_BASIC\", \"ORT_ENABLE_EXTENDED\", "
          "\"ORT_ENABLE_ALL\"):\n"
          "    options = ort.SessionOptions()\n"
          "    options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, level)\n" +
          session_text("    ", "level", "");
  if (facts.left_out.empty()) return text;
  std::vector<std::string> names_left_out;
  for (const std::string& name : facts.left_out) names_left_out.push_back(python_quoted(name));
  const std::string list = "[" + comma_separated(names_left_out) + "]";
  return text + "options = ort.SessionOptions()\n" +
         session_text("", python_quoted("ORT_ENABLE_ALL without " + comma_separated(facts.left_out)),
                      ",\n    disabled_optimizers=" + list);
}

// What the worker traces of the graph, as a function. Empty if it cannot be written so.
std::string jax_code(const Graph& graph, bool native) {
  auto header = backends::compile_request(graph, {});
  header["native"] = native;
  return text_of_script("jax/export_jax.py", {}, header.dump(), "code");
}

std::string jax_snippet(const Case& test_case, const std::string& backend, const SnippetFacts& facts) {
  const Graph& graph = test_case.graph;
  const auto sources = snippet_sources(test_case, Identifiers(graph));
  if (!sources) return "";
  const std::string code = jax_code(graph, backend.find("+native") != std::string::npos);
  if (code.empty()) return "";
  std::string text = snippet_imports(*sources, facts) +
                     "import jax\nimport jax.numpy as jnp\nfrom jax import lax\n\n\n" + code + "\n\n" +
                     show_text(graph, facts, true) + "arguments = (\n";
  for (size_t i = 0; i < sources->tensors.size(); ++i) {
    const TensorType& type = sources->tensors[i].type;
    const std::string dtype(torch_dtype(type.dtype).substr(std::string_view("torch.").size()));
    text += "    jnp.array(" + elements_list(sources->tensors[i]) + ", " + python_quoted(dtype) +
            ").reshape(" + python_shape(type.shape) + "),\n";
  }
  return text + ")\nshow(\"op by op\", graph(*arguments))\nshow(\"jit\", jax.jit(graph)(*arguments))\n";
}

}  // namespace

std::string snippet(const Case& test_case, const std::string& backend, const SnippetFacts& facts) {
  if (backend.starts_with(kTorch)) return torch_snippet(test_case, backend, facts);
  if (backend.starts_with(kPython)) return function_snippet(test_case, backend.substr(kPython.size()), facts);
  if (backend.starts_with(kJax)) return jax_snippet(test_case, backend, facts);
  return backend.starts_with(kOrt) ? onnx_snippet(test_case, facts) : "";
}

}  // namespace fusesmith::fuzz
