// The format `numpy`: a script that computes every node exactly, in f64, with the roundings that the graph
// asks for.
#include <algorithm>
#include <map>
#include <set>

#include "fuzz/export/cast_arguments.h"
#include "fuzz/export/numpy_ops.h"
#include "fuzz/export/script.h"
#include "graph/expand.h"
#include "graph/op_traits.h"

namespace fusesmith::fuzz {
namespace {

constexpr std::string_view kNumpyUsage =
    "Run it with Python 3 and NumPy; nothing else is needed. Every op is computed in f64 from its\n"
    "# stored inputs, without rounding in between, and its result is rounded once to its dtype.";

// Of graphs with quantized values.
constexpr std::string_view kCodes = R"(def from_codes(dtype, codes):
    """The numbers of a quantized dtype with these codes, as f64."""
    codes = codes.astype(np.int64)
    if dtype in ("s8", "s4"):
        sign = {"s8": 128, "s4": 8}[dtype]
        return ((codes ^ sign) - sign).astype(np.float64)
    if dtype == "f8e8m0":
        return np.where(codes == 255, nan, np.ldexp(1.0, codes - 127))
    precision, min_exponent, sign = {"f8e4m3": (4, -6, 128), "f8e5m2": (3, -14, 128), "f4e2m1": (2, 0, 8)}[dtype]
    magnitude, binade = codes % sign, 2 ** (precision - 1)
    exponent = np.maximum(magnitude // binade, 1) - 1 + min_exponent
    significand = magnitude % binade + np.where(magnitude < binade, 0, binade)
    value = np.ldexp(significand.astype(np.float64), exponent - precision + 1)
    if dtype == "f8e4m3":
        value = np.where(magnitude == 127, nan, value)
    if dtype == "f8e5m2":
        value = np.where(magnitude == 124, inf, np.where(magnitude > 124, nan, value))
    return np.where(codes >= sign, -value, value)


)";

constexpr std::string_view kDataFunctions = R"(def from_bits(dtype, bits):
    """The elements with these bit patterns: floats as f64, i32 as int64."""
)";
constexpr std::string_view kFromCodes = R"(    if dtype[0] == "s" or dtype[:2] in ("f8", "f4"):
        return from_codes(dtype, bits)
)";
constexpr std::string_view kFromBits = R"(    if dtype == "bool":
        return bits != 0
    if dtype == "i32":
        return bits.astype(np.uint32).view(np.int32).astype(np.int64)
    if dtype == "f16":
        return bits.astype(np.uint16).view(np.float16).astype(np.float64)
    bits = bits.astype(np.uint32) << np.uint32(16 if dtype == "bf16" else 0)
    return bits.view(np.float32).astype(np.float64)


def tensor(dtype, shape, words):
    """Elements in row-major order, as hexadecimal bit patterns; a single one stands for all elements."""
    bits = np.array([int(word, 16) for word in words.split()], np.uint32)
    return from_bits(dtype, bits.reshape(shape) if bits.size == math.prod(shape) else np.full(shape, bits[0]))
)";

constexpr std::string_view kShow = R"(def show(results):
    for name, value in results.items():
        print(f"{name}: {np.shape(value)}\n{value}\n")
)";

constexpr std::string_view kCheck = R"(def is_lawful(x, low, high):
    """Both ends are NaN where only NaN is correct; [-inf, inf] says that nothing is known."""
    return np.isnan(x) if np.isnan(low) else low <= x <= high or (low, high) == (-inf, inf)


def check(results):
    """Whether every result of this script lies in the interval of lawful results."""
    agree = True
    for name, index, got, exact, low, high in ELEMENTS:
        own = results[name][index]
        agree = agree and is_lawful(own, low, high)
        place = f"{name}[{', '.join(map(str, index))}]"
        print(f"{place}: got {got!r}, which is {'lawful' if is_lawful(got, low, high) else 'wrong'}")
        print(f"    lawful: [{low!r}, {high!r}], exact before rounding: {exact!r}")
        print(f"    this script: {float(own)!r}, {'inside' if is_lawful(own, low, high) else 'OUTSIDE'}")
    return agree
)";

// Names that the script uses for other things than values, beside the functions of ops.
constexpr std::string_view kTaken[] = {"np",         "math",     "os",        "sys",        "inf",     "nan",
                                       "DATA",       "ELEMENTS", "tensor",    "from_bits",  "compute", "show",
                                       "f32",        "f16",      "bf16",      "check",      "results", "step",
                                       "normalized", "main",     "is_lawful", "from_codes", "cast_to"};

std::vector<std::string_view> taken_names() {
  std::vector<std::string_view> names = taken_in_script(kTaken);
  for_each_op([&]<class T>(std::type_identity<T>) { names.push_back(T::info.name); });
  return names;
}

std::string data_functions(const Graph& graph) {
  bool has_codes = false;
  for (ValueId value = 0; value < graph.value_count(); ++value)
    has_codes = has_codes || is_quantized(graph.type(value).dtype);
  return std::string(has_codes ? kCodes : "") + std::string(kDataFunctions) +
         std::string(has_codes ? kFromCodes : "") + std::string(kFromBits);
}

bool rounds(const Op& op, Dtype dtype) {
  const OpClass kind = info(op).op_class;
  if (!is_float(dtype) || kind == OpClass::movement || kind == OpClass::source) return false;
  // What ops of this class select needs no rounding, but the value that masked_fill writes does.
  return kind != OpClass::select || std::holds_alternative<MaskedFill>(op);
}

// The body of the function `compute`.
class NumpyWriter {
 public:
  NumpyWriter(const Graph& graph, Identifiers& names) : graph_(graph), names_(names) {}

  void add_node(const Node& node) {
    const std::vector<std::string> operands = names_.of(node.inputs);
    Types types;
    for (ValueId value : node.inputs) types.push_back(graph_.type(value));
    if (const auto inner = expansion(node.op, types)) return add_composite(node, *inner, operands);
    add_line(results_text(node, names_), node.op, operands, graph_.type(node.first_output),
             types_text(graph_, node));
  }
  // From here on, the value is what a region stored and the regions of the shown elements read. What this
  // script computed is returned.
  void add_received(ValueId value, const std::string& variable, bool is_returned) {
    const std::string& name = names_.of(value);
    if (is_returned) {
      own_[value] = names_.fresh("own_" + name);
      text_ += "    " + own_[value] + " = " + name + "\n";
    }
    text_ += "    " + name + " = " + variable + "  # as the backend stored it and the next region read it\n";
  }

  // `compute` ends with this.
  std::string returned_text(std::span<const ValueId> values) const {
    std::string text;
    for (ValueId value : values) {
      const auto own = own_.find(value);
      text += (text.empty() ? "" : ", ") + python_quoted(graph_.name(value)) + ": " +
              (own == own_.end() ? names_.of(value) : own->second);
    }
    return "    return {" + text + "}\n";
  }

  const std::string& text() const { return text_; }
  const std::set<std::string, std::less<>>& functions() const { return functions_; }

 private:
  void add_line(const std::string& result, const Op& op, const std::vector<std::string>& operands,
                const TensorType& type, const std::string& types, bool may_round = true) {
    const std::string round(name(type.dtype));
    std::string value = call_text(op, operands, Attributes::all);
    if (const auto* cast = std::get_if<Cast>(&op); cast && is_quantized(cast->dtype)) {
      functions_.insert("cast_to");
      value = "cast_to(" + operands[0] + ", " + cast_arguments(*cast) + ")";
    } else if (cast) {
      value = operands[0];
    } else {
      functions_.insert(std::string(name(op)));
    }
    if (may_round && rounds(op, type.dtype)) {
      functions_.insert(round);
      const bool several = result.find(',') != std::string::npos;
      value = several ? "map(" + round + ", " + value + ")" : round + "(" + value + ")";
    }
    text_ += "    " + result + " = " + value + "  # " + types + "\n";
  }

  // The nodes that define a composite op. Inner values of an sdpa are rounded, those of a formula are exact.
  void add_composite(const Node& node, const Graph& inner, const std::vector<std::string>& operands) {
    text_ += "    # " + results_text(node, names_) + " = " +
             call_text(node.op, operands, Attributes::telling) + ":\n";
    const std::vector<std::string> words = expansion_names(node, inner, operands, names_);
    for (const Node& part : inner.nodes()) {
      std::vector<std::string> inputs;
      for (ValueId value : part.inputs) inputs.push_back(words[static_cast<size_t>(value)]);
      const TensorType& type = inner.type(part.first_output);
      const auto& outputs = inner.outputs();
      const bool is_output = std::find(outputs.begin(), outputs.end(), part.first_output) != outputs.end();
      add_line(words[static_cast<size_t>(part.first_output)], part.op, inputs, type, to_string(type),
               is_output || !is_defined(node.op));
    }
  }

  const Graph& graph_;
  Identifiers& names_;
  std::string text_;
  std::set<std::string, std::less<>> functions_;
  std::map<ValueId, std::string> own_;  // names of what was computed, where it is replaced
};

std::string call_of_compute(const ScriptSources& sources) {
  std::vector<std::string> arguments;
  for (const ScriptVariable& variable : sources.sources)
    arguments.push_back(variable.name + (variable.is_list ? "[step]" : ""));
  for (const ScriptVariable& variable : sources.received) arguments.push_back(variable.name);
  return "compute(" + comma_separated(arguments) + ")";
}

// The statements after the data.
std::string main_text(const ExportSource& source, const ScriptSources& sources, const Identifiers& names) {
  const Graph& graph = source.test_case.graph;
  const std::string call = call_of_compute(sources);
  if (sources.loops) {
    std::string text = "for step in range(" + std::to_string(source.test_case.steps) +
                       "):\n    results = " + call + "\n    print(f\"step {step}\")\n    show(results)\n";
    for (size_t i = 0; i < graph.states().size(); ++i) {
      const auto state = static_cast<ValueId>(graph.inputs().size() + i);
      text += "    " + names.of(state) + " = results[" + python_quoted(graph.name(graph.states()[i].next)) +
              "]\n";
    }
    return text;
  }
  return "results = " + call + "\n" +
         (source.results ? "if __name__ == \"__main__\":\n    sys.exit(0 if check(results) else 1)\n"
                         : "if __name__ == \"__main__\":\n    show(results)\n");
}

}  // namespace

Result<Exported> export_numpy(const ExportSource& source) {
  const Graph& graph = source.test_case.graph;
  const auto taken = taken_names();
  Identifiers names(graph, taken);
  auto sources = script_sources(source, names);
  if (!sources) return Problem{sources.problem()};
  std::vector<ScriptVariable> variables = sources->sources;
  variables.insert(variables.end(), sources->received.begin(), sources->received.end());
  auto data = script_data(variables, source);
  if (!data) return Problem{data.problem()};
  const std::vector<ShownElement> shown = script_elements(source);

  const std::vector<ValueId> returned = returned_values(graph, shown);
  const auto is_returned = [&](ValueId value) {
    return std::find(returned.begin(), returned.end(), value) != returned.end();
  };

  NumpyWriter writer(graph, names);
  for (const Node& node : graph.nodes()) {
    writer.add_node(node);
    for (size_t i = 0; i < sources->received.size(); ++i) {
      const ValueId value = sources->received_values[i];
      if (value >= node.first_output && value < node.first_output + node.output_count)
        writer.add_received(value, sources->received[i].name, is_returned(value));
    }
  }
  std::vector<std::string> parameters;
  for (const ScriptVariable& variable : variables) parameters.push_back(variable.name);

  Exported exported;
  exported.text =
      script_header(source, "The exact result of every node of a graph.", kNumpyUsage) + "import math\n" +
      (data->npz.empty() ? "" : "import os\n") + (source.results ? "import sys\n" : "") +
      "\nimport numpy as np\nfrom numpy import inf, nan\n\n"
      "np.seterr(all=\"ignore\")  # NaN, infinities and overflow are results like any other\n\n\n" +
      data_functions(graph) + "\n\n" + numpy_definitions(writer.functions()) + "\n\ndef compute(" +
      comma_separated(parameters) + "):\n" + writer.text() + writer.returned_text(returned) + "\n\n" +
      std::string(source.results ? kCheck : kShow) + "\n\n" +
      (source.results ? elements_text(graph, shown) : "") + data->lines + "\n" +
      main_text(source, *sources, names);
  exported.data = std::move(data->npz);
  return exported;
}

}  // namespace fusesmith::fuzz
