#include "fuzz/export/format.h"

#include "fuzz/render/dot.h"

namespace fusesmith::fuzz {

namespace {

// The one list. To add a format, write a function that makes it and add a line here.
constexpr ExportFormat kFormats[] = {
    {"onnx", ".onnx", "A model, its inputs (.npz), and a script that runs it with ONNX Runtime (.py).",
     export_onnx, true},
    {"dot", ".dot", "The graph for Graphviz, with types at the edges.", export_dot},
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
  return Exported{dot_text(source.test_case.graph, source.file, source.mark)};
}

}  // namespace fusesmith::fuzz
