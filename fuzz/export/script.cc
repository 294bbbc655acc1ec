#include "fuzz/export/script.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <sstream>

#include "fuzz/base/table.h"
#include "fuzz/export/npz.h"
#include "fuzz/report/verdict_text.h"
#include "graph/element_index.h"
#include "graph/json_strict.h"

namespace fusesmith::fuzz {
namespace {

constexpr size_t kShownElements = 8;    // of results
constexpr int64_t kShown = 6;           // elements in comments
constexpr size_t kWordsInLine = 12;     // bit patterns
constexpr size_t kWordsBesideName = 6;  // more start on a line of their own

bool has_equal_elements(const Tensor& tensor) {
  const auto size = static_cast<size_t>(size_of(tensor.type.dtype));
  return tensor.bytes.size() > size &&
         std::memcmp(tensor.bytes.data(), tensor.bytes.data() + size, tensor.bytes.size() - size) == 0;
}

int64_t literal_elements(const Tensor& tensor) { return has_equal_elements(tensor) ? 1 : tensor.size(); }

// "1, 2.5, ..."
std::string elements_comment(const Tensor& tensor) {
  const int64_t count = has_equal_elements(tensor) ? 1 : tensor.size();
  std::string text;
  for (int64_t i = 0; i < std::min(count, kShown); ++i)
    text += (i == 0 ? "" : ", ") + stored_text(tensor.type.dtype, tensor.value(i));
  return text + (count > kShown ? ", ..." : "");
}

// The bit patterns in double quotes, or, if there are many, in lines of their own.
std::string words_text(const Tensor& tensor) {
  const std::string digits = literal_of(tensor).bits;
  const size_t width = static_cast<size_t>(size_of(tensor.type.dtype)) * 2;
  const size_t count = has_equal_elements(tensor) ? 1 : digits.size() / width;
  const bool is_long = count > kWordsBesideName;
  std::string text = is_long ? "\"\"\"" : "\"";
  for (size_t i = 0; i < count; ++i) {
    text += is_long && i % kWordsInLine == 0 ? "\n    " : i == 0 ? "" : " ";
    text += digits.substr(i * width, width);
  }
  return text + (is_long ? "\"\"\"" : "\"");
}

std::string tensor_text(const Tensor& tensor) {
  return "tensor(\"" + std::string(name(tensor.type.dtype)) + "\", " + python_shape(tensor.type.shape) +
         ", " + words_text(tensor) + ")";
}

// The key of a tensor in the .npz file.
std::string key_of(const ScriptVariable& variable, size_t i) {
  return variable.is_list ? variable.name + "." + std::to_string(i) : variable.name;
}

std::string variable_lines(const ScriptVariable& variable, bool in_file) {
  const auto one = [&](size_t i) {
    const Tensor& tensor = variable.tensors[i];
    if (!in_file) return tensor_text(tensor);
    return "from_bits(\"" + std::string(name(tensor.type.dtype)) + "\", DATA[" +
           python_quoted(key_of(variable, i)) + "])";
  };
  const std::string type = "  # " + to_string(variable.tensors[0].type) + ": ";
  if (!variable.is_list)
    return variable.name + " = " + one(0) + type + elements_comment(variable.tensors[0]) + "\n";
  std::string text = variable.name + " = [  # one for each step\n";
  for (size_t i = 0; i < variable.tensors.size(); ++i)
    text += "    " + one(i) + "," + type + elements_comment(variable.tensors[i]) + "\n";
  return text + "]\n";
}

Tensor tensor_of(const Trace& trace, ValueId value) { return *trace.values[static_cast<size_t>(value)]; }

// Of the step that the results are of.
ScriptSources shown_step(const ExportSource& source, Identifiers& names) {
  const Graph& graph = source.test_case.graph;
  const BackendResults& backend = source.results->shown();
  ScriptSources all;
  for (ValueId value = 0; value < graph.source_count(); ++value)
    all.sources.push_back({names.of(value), {tensor_of(backend.trace, value)}});
  std::set<size_t> regions;
  for (const ShownElement& element : script_elements(source))
    regions.insert(backend.values.at(element.value).region);
  std::set<ValueId> read;
  for (size_t region : regions)
    read.insert(backend.plan->regions[region].inputs.begin(), backend.plan->regions[region].inputs.end());
  for (ValueId value : read) {
    if (value < graph.source_count()) continue;
    all.received_values.push_back(value);
    all.received.push_back({names.fresh("received_" + names.of(value)), {tensor_of(backend.trace, value)}});
  }
  return all;
}

int64_t input_bytes(const Case& test_case) {
  int64_t bytes = 0;
  for (const Input& input : test_case.graph.inputs())
    bytes += element_count(input.type) * size_of(input.type.dtype);
  return bytes;
}

// Each line of the text as a comment.
std::string comment_lines(const std::string& text) {
  std::string lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines += "# " + comment_text(line) + "\n";
  return lines;
}

Problem too_large(int64_t bytes, int64_t steps) {
  return {"its data" + (steps > 1 ? " of " + std::to_string(steps) + " steps" : "") + " is " +
          std::to_string(bytes >> 20) + " MiB: a script can have at most " +
          std::to_string(kMaxDataBytes >> 20) + " MiB; minimize the case first"};
}

}  // namespace

std::vector<std::string_view> taken_in_script(std::span<const std::string_view> own) {
  constexpr std::string_view kBuiltins[] = {"AssertionError",
                                            "Exception",
                                            "abs",
                                            "all",
                                            "any",
                                            "bool",
                                            "dict",
                                            "enumerate",
                                            "exit",
                                            "float",
                                            "format",
                                            "getattr",
                                            "hasattr",
                                            "input",
                                            "int",
                                            "isinstance",
                                            "iter",
                                            "len",
                                            "list",
                                            "map",
                                            "max",
                                            "min",
                                            "next",
                                            "open",
                                            "pow",
                                            "print",
                                            "range",
                                            "repr",
                                            "reversed",
                                            "round",
                                            "set",
                                            "slice",
                                            "sorted",
                                            "str",
                                            "sum",
                                            "super",
                                            "tuple",
                                            "type",
                                            "zip"};
  std::vector<std::string_view> taken(own.begin(), own.end());
  taken.insert(taken.end(), std::begin(kBuiltins), std::end(kBuiltins));
  return taken;
}

std::string python_shape(const Shape& shape) {
  std::string text;
  for (int64_t dim : shape) text += (text.empty() ? "" : ", ") + std::to_string(dim);
  return "(" + text + (shape.size() == 1 ? ",)" : ")");
}

Result<ScriptData> script_data(std::span<const ScriptVariable> variables, const ExportSource& source) {
  int64_t elements = 0, bytes = 0;
  for (const ScriptVariable& variable : variables) {
    for (const Tensor& tensor : variable.tensors) {
      elements += literal_elements(tensor);
      bytes += static_cast<int64_t>(tensor.bytes.size());
    }
  }
  if (bytes > kMaxDataBytes) return too_large(bytes, 1);
  const bool in_file = elements > kMaxLiteralElements;
  if (in_file && source.data_file.empty()) {
    return Problem{"its data has " + std::to_string(elements) + " elements, more than the " +
                   std::to_string(kMaxLiteralElements) +
                   " that a script may contain, and is written beside the script: give --output=FILE"};
  }
  ScriptData data;
  NpzWriter npz;
  if (in_file) {
    data.lines = "# The data is in " + comment_text(shortened(source.data_file)) +
                 ", which was written beside this script.\n"
                 "DATA = np.load(os.path.splitext(os.path.abspath(__file__))[0] + \".npz\")\n";
  }
  for (const ScriptVariable& variable : variables) {
    data.lines += variable_lines(variable, in_file);
    for (size_t i = 0; in_file && i < variable.tensors.size(); ++i)
      npz.add_bits(key_of(variable, i), variable.tensors[i]);
  }
  if (in_file) data.npz = npz.archive();
  return data;
}

Result<ScriptSources> script_sources(const ExportSource& source, Identifiers& names) {
  if (source.results) return shown_step(source, names);
  const Case& test_case = source.test_case;
  const Graph& graph = test_case.graph;
  const int64_t bytes = input_bytes(test_case);
  if (bytes > kMaxDataBytes / test_case.steps) return too_large(bytes * test_case.steps, test_case.steps);
  ScriptSources all;
  all.loops = test_case.steps > 1;
  for (size_t i = 0; i < graph.inputs().size(); ++i)
    all.sources.push_back({names.of(static_cast<ValueId>(i)), {}, all.loops});
  for (int64_t step = 0; step < test_case.steps; ++step) {
    std::vector<Tensor> inputs = make_inputs(test_case, step);
    for (size_t i = 0; i < inputs.size(); ++i) all.sources[i].tensors.push_back(std::move(inputs[i]));
  }
  for (const State& s : graph.states()) {
    const auto value = static_cast<ValueId>(all.sources.size());
    all.sources.push_back({names.of(value), {data_of(test_case, s)}});
  }
  return all;
}

std::vector<ShownElement> script_elements(const ExportSource& source) {
  if (!source.results) return {};
  return shown_elements(source.test_case.graph, *source.results, kShownElements);
}

std::vector<ValueId> returned_values(const Graph& graph, std::span<const ShownElement> shown) {
  std::vector<ValueId> values = graph.outputs();
  const auto add = [&](ValueId value) {
    if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
  };
  for (const State& state : graph.states()) add(state.next);
  for (const ShownElement& element : shown) add(element.value);
  return values;
}

std::string elements_text(const Graph& graph, std::span<const ShownElement> shown) {
  std::string text =
      "# Stored elements: value, index, what the backend stored, the exact result before it is rounded, and "
      "the\n# lowest and the highest stored value that a correct execution can give.\nELEMENTS = [\n";
  for (const ShownElement& e : shown) {
    text += "    (" + python_quoted(graph.name(e.value)) + ", " +
            python_shape(unravelled(e.element, graph.type(e.value).shape)) + ", " + number_text(e.got) +
            ", " + number_text(e.exact) + ", " + number_text(e.low) + ", " + number_text(e.high) + "),\n";
  }
  return text + "]\n\n";
}

std::string script_header(const ExportSource& source, std::string_view what, std::string_view usage) {
  std::string text = "#!/usr/bin/env python3\n# " + std::string(what) + "\n#\n# Written by fusesmith " +
                     std::string(FUSESMITH_VERSION) + " from " + comment_text(shortened(source.file)) + ".\n";
  if (source.results) {
    const Verdict& verdict = source.results->run.verdict;
    text += comment_lines(wrapped(comment_text(verdict.baseline.backend + " against " +
                                               verdict.candidate.backend + ": " + sentence(verdict))));
    if (verdict.steps > 1) {
      text += "# This is step " + std::to_string(verdict.step) + ", counted from 0, of " +
              std::to_string(verdict.steps) + ".\n";
    }
  }
  text += comment_lines(wrapped(comment_text(source.note)));
  const std::string& comment = source.test_case.comment;
  if (!comment.empty()) text += "#\n" + comment_lines(comment);
  return text + "#\n# " + std::string(usage) + "\n";
}

}  // namespace fusesmith::fuzz
