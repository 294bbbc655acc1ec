// What the exported Python scripts share: their data, their header, and the elements that they show.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fuzz/export/format.h"
#include "fuzz/render/code.h"

namespace fusesmith::fuzz {

// Elements that scripts contain as literals; more are written to the .npz file beside the script. A tensor of
// equal elements counts as one.
inline constexpr int64_t kMaxLiteralElements = 4096;
// Bytes of all data of a script.
inline constexpr int64_t kMaxDataBytes = int64_t{1} << 30;

// A variable of the script: a tensor, or a list with one tensor for each step.
struct ScriptVariable {
  std::string name;
  std::vector<Tensor> tensors;
  bool is_list = false;
};

struct ScriptData {
  std::string lines;  // "x = tensor("bf16", (2, 3), "3f80 ...")  # 1, ..."
  std::string npz;    // empty: the lines contain everything
};

// Problems: the data is too large, or it needs a file and the output is none.
Result<ScriptData> script_data(std::span<const ScriptVariable> variables, const ExportSource& source);

// The variables that a script starts from, and what the regions of the shown elements received.
struct ScriptSources {
  std::vector<ScriptVariable> sources;   // inputs, then states, in the graph's order
  std::vector<ScriptVariable> received;  // what the shown regions read of other regions
  std::vector<ValueId> received_values;
  bool loops = false;  // over several steps: then inputs are lists
};
// With results: those of the step that is shown, as the failing backend (else the candidate) had them.
Result<ScriptSources> script_sources(const ExportSource& source, Identifiers& names);

// Of the results; empty without.
std::vector<ShownElement> script_elements(const ExportSource& source);
// The list ELEMENTS of these.
std::string elements_text(const Graph& graph, std::span<const ShownElement> shown);
// What a script's function returns: the outputs, the next states, and the values of which elements are shown.
std::vector<ValueId> returned_values(const Graph& graph, std::span<const ShownElement> shown);

// The first lines, which end with `usage`: what the case is, and where it comes from. Every line is harmless
// text.
std::string script_header(const ExportSource& source, std::string_view what, std::string_view usage);

// The names that no value may hide: those of the script itself, and the builtins of Python that scripts use.
std::vector<std::string_view> taken_in_script(std::span<const std::string_view> own);

// "(2, 3)", "(2,)", "()".
std::string python_shape(const Shape& shape);

}  // namespace fusesmith::fuzz
