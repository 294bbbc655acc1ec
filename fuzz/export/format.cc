#include "fuzz/export/format.h"

#include "fuzz/render/dot.h"
#include "fuzz/render/svg.h"
#include "graph/json_strict.h"

namespace fusesmith::fuzz {

namespace {

// The one list. To add a format, write a function that makes it and add a line here.
constexpr ExportFormat kFormats[] = {
    {"npz", ".npz", "Inputs and states as arrays for NumPy; with results, those of every stored value.",
     export_npz, false, true},
    {"numpy", ".py", "A script that computes the exact result of every node with NumPy alone.", export_numpy},
    {"torch", ".py", "A script that runs the graph with PyTorch alone, eager and compiled, and compares.",
     export_torch},
    {"onnx", ".onnx", "A model, its inputs (.npz), and a script that runs it with ONNX Runtime (.py).",
     export_onnx, true, true},
    {"dot", ".dot", "The graph for Graphviz, with types at the edges.", export_dot},
    {"svg", ".svg", "The graph as a picture, with shapes and dtypes.", export_svg},
    {"markdown", ".md", "Text for an issue: the graph as code, and with results what is wrong.",
     export_markdown},
};

}  // namespace

std::span<const ExportFormat> export_formats() { return kFormats; }

std::vector<std::string> export_format_names() {
  std::vector<std::string> names;
  for (const ExportFormat& format : kFormats) names.emplace_back(format.name);
  return names;
}

const ExportFormat* find_export_format(std::string_view name) {
  for (const ExportFormat& format : kFormats) {
    if (format.name == name) return &format;
  }
  return nullptr;
}

Result<Exported> export_dot(const ExportSource& source) {
  return Exported{dot_text(source.test_case.graph, shortened(source.file), source.mark)};
}

// Bytes of a file name that are not ASCII may be no UTF-8, which SVG has to be.
Result<Exported> export_svg(const ExportSource& source) {
  return Exported{svg_text(source.test_case.graph, shortened(source.file), source.mark)};
}

}  // namespace fusesmith::fuzz
