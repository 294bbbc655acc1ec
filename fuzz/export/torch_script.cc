// The format `torch`: a script that runs the graph with PyTorch alone, eager and compiled, and shows where
// the results differ and which of them is right.
#include "fuzz/export/script.h"
#include "fuzz/export/torch_graph.h"
#include "fuzz/export/torch_isolation.h"

namespace fusesmith::fuzz {
namespace {

constexpr std::string_view kTorchUsage =
    "Run it with Python 3 and PyTorch; nothing else is needed. --device=cpu|cuda chooses the device, and\n"
    "# --collect_env prints what torch.utils.collect_env says of the machine; --eager_only compiles nothing.";

// What is before the graph.
constexpr std::string_view kStart = R"(import argparse
from math import inf, nan, prod

import torch
import torch._dynamo.utils
import torch._inductor.config
import torch.nn.functional as F

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
parser.add_argument("--collect_env", action="store_true")
parser.add_argument("--eager_only", action="store_true", help="compile nothing")
arguments = parser.parse_args()
DEVICE = arguments.device


def from_bits(dtype, bits):
    """The tensor of these bit patterns, given as integers that are not negative."""
    integer, target = {
        "f32": (torch.int32, torch.float32),
        "f16": (torch.int16, torch.float16),
        "bf16": (torch.int16, torch.bfloat16),
        "i32": (torch.int32, torch.int32),
        "bool": (torch.uint8, torch.bool),
        "f8e4m3": (torch.uint8, torch.float8_e4m3fn),
        "f8e5m2": (torch.uint8, torch.float8_e5m2),
        "f8e8m0": (torch.uint8, torch.float8_e8m0fnu),
        "s8": (torch.uint8, torch.int8),
    }.get(dtype, (torch.int16, None))
    bits = torch.as_tensor(bits.astype("int64") if hasattr(bits, "astype") else bits)
    if dtype == "s4":  # as int8
        return ((bits ^ 8) - 8).to(torch.int8).to(DEVICE)
    if dtype == "f4e2m1":  # as f8e4m3, which has the same numbers
        numbers = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6]).to(torch.float8_e4m3fn).view(torch.uint8)
        return (numbers[(bits & 7).long()] | ((bits & 8) << 4).to(torch.uint8)).view(torch.float8_e4m3fn).to(DEVICE)
    sign = 1 << (8 * integer.itemsize - 1)
    if integer.is_signed:
        bits = torch.where(bits >= sign, bits - 2 * sign, bits)
    return bits.to(integer).view(target).to(DEVICE)


def tensor(dtype, shape, words):
    """Elements in row-major order, as hexadecimal bit patterns; a single one stands for all elements."""
    bits = torch.tensor([int(word, 16) for word in words.split()])
    return from_bits(dtype, bits.reshape(shape) if bits.numel() == prod(shape) else torch.full(shape, bits[0].item()))


)";

// Of cases with memory layouts.
constexpr std::string_view kPlaced = R"(def placed(x, strides, offset, extent, align):
    """The same elements in a buffer of their own, between elements that hold NaN, -1 or true. The buffer starts at a
    multiple of `align` bytes, and below 256 at none of twice as many."""
    size = x.element_size()
    count = offset + extent + 2048 // size
    memory = torch.full((count * size,), 1 if x.dtype == torch.bool else 255, dtype=torch.uint8, device=x.device)
    memory = memory.view(x.dtype)
    start = (-memory.data_ptr() % 512 + (align if align < 256 else 0)) // size + offset
    stored = x[tuple(slice(0, 1) if stride == 0 else slice(None) for stride in strides)]
    memory.as_strided(stored.shape, strides, start).copy_(stored)
    return memory.as_strided(x.shape, strides, start)


)";

constexpr std::string_view kRun = R"(def compiled(backend, then=run, **options):
    torch._dynamo.reset()
    with torch._inductor.config.patch(**options):
        return then(torch.compile(graph, backend=backend))


def as_f64(x):
    return x.double() if x.is_floating_point() else x


def compare(name, results):
    """Prints how the results differ from eager ones, and what the usual comparisons say of that."""
    for label, got, want, exact in zip(LABELS, results, eager, reference):
        equal = (got == want) | (got.isnan() & want.isnan())
        if equal.all():
            print(f"{name}: {label}: equal to eager")
            continue
        difference = torch.where(equal, 0.0, (got.double() - want.double()).abs())
        finite = torch.nan_to_num(difference, nan=inf, posinf=inf)
        at = [int(i) for i in torch.unravel_index(finite.argmax(), got.shape)]
        place = tuple(at)
        print(f"{name}: {label}{at}: {got[place].item()!r}, eager {want[place].item()!r},"
              f" in f64 {exact[place].item()!r}; max difference {difference.max().item():.3g},"
              f" mean {difference.mean().item():.3g}")
        try:
            torch.testing.assert_close(got, want, equal_nan=True)
            print("    torch.testing.assert_close: passes")
        except AssertionError as error:
            print("    torch.testing.assert_close: fails:", str(error).splitlines()[2:3] or error)
        passes = torch._dynamo.utils.same(want, got, fp64_ref=exact, equal_nan=True)
        print(f"    torch._dynamo.utils.same with fp64_ref: {'passes' if passes else 'fails'}")


def is_lawful(x, low, high):
    """Both ends are NaN where only NaN is correct; [-inf, inf] says that nothing is known."""
    return x != x if low != low else low <= x <= high or (low, high) == (-inf, inf)


def show_elements(name, results):
    for label, index, got, exact, low, high in ELEMENTS:
        own = results[LABELS.index(label)][index].item()
        print(f"{name}: {label}{list(index)}: {own!r}, {'inside' if is_lawful(own, low, high) else 'OUTSIDE'} of"
              f" [{low!r}, {high!r}]; exact {exact!r}, recorded by fusesmith {got!r}")


VARIANTS = {
    "aot_eager": {"backend": "aot_eager"},
    "aot_eager_decomp_partition": {"backend": "aot_eager_decomp_partition"},
    "inductor": {"backend": "inductor"},
    "inductor, emulate_precision_casts": {"backend": "inductor", "emulate_precision_casts": True},
}

)";

constexpr std::string_view kMain = R"(
print(f"PyTorch {torch.__version__}, CUDA {torch.version.cuda}, device {DEVICE}")
if arguments.collect_env:
    from torch.utils import collect_env

    collect_env.main()
with torch.no_grad():
    eager = run(graph)
    again = run(graph)
    reference = run(graph, f64=True)
    repeats = all(torch.equal(torch.nan_to_num(a), torch.nan_to_num(b)) for a, b in zip(eager, again))
    print(f"eager, twice: {'the same bits' if repeats else 'DIFFERENT bits'}")
    show_elements("eager", eager)
    for name, options in [] if arguments.eager_only else VARIANTS.items():
        try:
            results = compiled(**options)
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}")
            continue
        compare(name, results)
        show_elements(name, results)
)";

constexpr std::string_view kTaken[] = {"torch",
                                       "F",
                                       "os",
                                       "inf",
                                       "nan",
                                       "np",
                                       "DATA",
                                       "ELEMENTS",
                                       "LABELS",
                                       "VARIANTS",
                                       "tensor",
                                       "run",
                                       "graph",
                                       "from_bits",
                                       "compiled",
                                       "compare",
                                       "show_elements",
                                       "as_f64",
                                       "eager",
                                       "again",
                                       "reference",
                                       "results",
                                       "name",
                                       "options",
                                       "repeats",
                                       "parser",
                                       "arguments",
                                       "argparse",
                                       "is_lawful",
                                       "DEVICE",
                                       "prod",
                                       "STEPS",
                                       "cast",
                                       "widened",
                                       "softcap",
                                       "rope",
                                       "hidden_keys",
                                       "step",
                                       "f64",
                                       "collect_env",
                                       "error",
                                       "placed",
                                       "nan_without_keys",
                                       "function",
                                       "both",
                                       "show_kept",
                                       "KEEPS",
                                       "then",
                                       "outputs",
                                       "sources",
                                       "states"};

// Comparisons of PyTorch have no kernels for floats of 8 bits.
constexpr std::string_view kWidened =
    "[x.float() if x.is_floating_point() and x.itemsize == 1 else x for x in outputs]";

bool has_8_bit_floats(const Graph& graph, std::span<const ValueId> values) {
  return std::ranges::any_of(values, [&](ValueId value) {
    return is_quantized(graph.type(value).dtype) && !is_quantized_integer(graph.type(value).dtype);
  });
}

// The function `run`, which returns the results of all steps.
std::string run_text(const Case& test_case, const ScriptSources& sources, std::span<const ValueId> returned) {
  const Graph& graph = test_case.graph;
  std::vector<std::string> inputs, states;
  for (size_t i = 0; i < sources.sources.size(); ++i) {
    const ScriptVariable& variable = sources.sources[i];
    (i < graph.inputs().size() ? inputs : states)
        .push_back(variable.name + (variable.is_list ? "[step]" : ""));
  }
  std::string next;
  for (const State& state : graph.states()) {
    const auto at = std::find(returned.begin(), returned.end(), state.next) - returned.begin();
    next += "outputs[" + std::to_string(at) + "], ";
  }
  const std::string both = comma_separated(inputs) + (inputs.empty() || states.empty() ? "" : ", ") +
                           (states.empty() ? "" : "*states");
  std::string text =
      "def run(function, f64=False):\n    \"\"\"The results of all steps.\"\"\"\n    results = []\n";
  if (!states.empty()) text += "    states = (" + comma_separated(states) + ",)\n";
  text += "    for step in range(STEPS):\n        sources = [" + both +
          "]\n        outputs = function(*([as_f64(x) for x in sources] if f64 else sources))\n"
          "        results += " +
          (has_8_bit_floats(graph, returned) ? std::string(kWidened) : "outputs") + "\n";
  if (!states.empty()) text += "        states = (" + next + ")\n";
  return text + "    return results\n\n\n";
}

using Placed = std::pair<ValueId, ScriptVariable>;  // a source, and its data

// A line for each source that has a memory layout.
std::string placed_text(const Graph& graph, std::span<const Placed> sources) {
  std::string text;
  for (const auto& [value, variable] : sources) {
    const auto& layout = graph.layout(value);
    if (!layout) continue;
    const Strides strides = strides_of(*layout, graph.type(value).shape);
    const auto call = [&](const std::string& operand) {
      return "placed(" + operand + ", " + python_shape(strides.of_axes) + ", " +
             std::to_string(layout->offset) + ", " + std::to_string(strides.extent) + ", " +
             std::to_string(layout->align) + ")";
    };
    text += variable.name + " = " +
            (variable.is_list ? "[" + call("x") + " for x in " + variable.name + "]" : call(variable.name)) +
            "\n";
  }
  return text;
}

std::string labels_text(const Case& test_case, std::span<const ValueId> returned, int64_t steps) {
  std::string names;
  for (ValueId value : returned)
    names += (names.empty() ? "" : ", ") + python_quoted(test_case.graph.name(value));
  if (steps == 1) return "LABELS = [" + names + "]\nSTEPS = 1\n";
  return "STEPS = " + std::to_string(steps) +
         "\nLABELS = [f\"step {step}: {name}\" for step in range(STEPS) for name in (" + names + ",)]\n";
}

}  // namespace

Result<Exported> export_torch(const ExportSource& source) {
  const Graph& graph = source.test_case.graph;
  std::vector<std::string_view> taken = taken_in_script(kTaken);
  for (const std::string_view helper : torch_helper_names()) taken.push_back(helper);
  Identifiers names(graph, std::move(taken));
  auto sources = script_sources(source, names);
  if (!sources) return Problem{sources.problem()};
  std::vector<ShownElement> shown = script_elements(source);
  // The intervals are of what their regions read: of nothing that PyTorch rounds itself.
  const auto& received = sources->received_values;
  if (!std::all_of(received.begin(), received.end(),
                   [&](ValueId value) { return is_only_moved(graph, source.results->shown(), value); }))
    shown.clear();
  const std::vector<ValueId> returned = returned_values(graph, shown);
  const auto isolation = isolation_script(source.test_case, *sources, returned, names);
  std::vector<Placed> placed;
  std::vector<ScriptVariable> variables = sources->sources;
  for (size_t i = 0; i < variables.size(); ++i) placed.emplace_back(static_cast<ValueId>(i), variables[i]);
  if (isolation) {
    placed.insert(placed.end(), isolation->replaced.begin(), isolation->replaced.end());
    for (const auto& [value, variable] : isolation->replaced) variables.push_back(variable);
    variables.insert(variables.end(), isolation->keeps.begin(), isolation->keeps.end());
  }
  auto data = script_data(variables, source);
  if (!data) return Problem{data.problem()};

  const TorchWriter writer(graph, names);
  std::vector<std::string> parameters;
  for (const ScriptVariable& variable : sources->sources) parameters.push_back(variable.name);

  Exported exported;
  exported.text = script_header(source, "A graph in PyTorch, eager and compiled.", kTorchUsage);
  exported.text += kStart;
  if (!data->npz.empty())
    exported.text.replace(exported.text.find("import torch\n"), 0, "import numpy as np\n")
        .insert(exported.text.find("from math"), "import os\n");
  const std::string layouts = placed_text(graph, placed);
  if (!layouts.empty()) exported.text += kPlaced;
  exported.text += torch_definitions(writer.helpers()) + "def graph(" + comma_separated(parameters) + "):\n" +
                   writer.text() + "    return [" + comma_separated(names.of(returned)) + "]\n\n\n" +
                   run_text(source.test_case, *sources, returned) + std::string(kRun) +
                   (isolation ? isolation->functions : "") + elements_text(graph, shown) +
                   labels_text(source.test_case, returned, sources->loops ? source.test_case.steps : 1) +
                   data->lines + layouts + (isolation ? isolation->lists : "") + std::string(kMain) +
                   (isolation ? isolation->main : "");
  exported.data = std::move(data->npz);
  return exported;
}

}  // namespace fusesmith::fuzz
