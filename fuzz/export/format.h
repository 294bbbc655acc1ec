// Formats of `export`: the one list of them, and what each is given.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/export/results.h"

namespace fusesmith::fuzz {

struct ExportSource {
  const Case& test_case;
  std::string file;  // as the user named it, for titles
  // Name, without folders, of the .npz file beside the output; empty where the output is no file.
  std::string data_file = {};
  const CaseResults* results = nullptr;  // null: without
  const FailureMark* mark = nullptr;     // null: nothing failed, or it is not known
  std::string note = {};                 // how often the case fails, if it does not fail every time
};

struct Exported {
  std::string text;         // the bytes of the output
  std::string data = {};    // the bytes of the .npz file beside it; empty: none is needed
  std::string script = {};  // of the .py file beside it
};

struct ExportFormat {
  std::string_view name;
  std::string_view suffix;  // of files: ".py"
  std::string_view doc;     // one line
  Result<Exported> (*write)(const ExportSource& source);
  bool needs_python = false;  // a Python script writes it, which needs further packages
  bool is_binary = false;
};

// The one list, in the order of the help text.
std::span<const ExportFormat> export_formats();
std::vector<std::string> export_format_names();
// Null where there is none of that name.
const ExportFormat* find_export_format(std::string_view name);

// The formats, one function each.
Result<Exported> export_dot(const ExportSource& source);
Result<Exported> export_svg(const ExportSource& source);
Result<Exported> export_markdown(const ExportSource& source);
Result<Exported> export_npz(const ExportSource& source);
Result<Exported> export_numpy(const ExportSource& source);
Result<Exported> export_torch(const ExportSource& source);
Result<Exported> export_onnx(const ExportSource& source);

}  // namespace fusesmith::fuzz
