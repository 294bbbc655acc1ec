#include "fuzz/base/output_width.h"

#include <algorithm>

#include "fuzz/base/table.h"

namespace fusesmith::fuzz {

namespace {

size_t terminal_columns = 0;

}  // namespace

size_t output_columns() {
  return terminal_columns == 0 ? kColumns : std::clamp(terminal_columns, kLeastColumns, kMostColumns);
}

void set_terminal_columns(size_t columns) { terminal_columns = columns; }

std::string in_columns(std::string_view text, size_t indent) {
  const size_t columns = output_columns();
  std::string out;
  size_t column = indent;
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of(" \n"), text.size());
    if (column + end > columns && column > indent) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    }
    out += text.substr(0, end);
    column += end;
    text.remove_prefix(end);
    if (text.empty()) break;
    if (text.front() == '\n') {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else {
      out += ' ';
      ++column;
    }
    text.remove_prefix(1);
  }
  // A break leaves the space before it.
  for (size_t at; (at = out.find(" \n")) != std::string::npos;) out.erase(at, 1);
  return out;
}

}  // namespace fusesmith::fuzz
