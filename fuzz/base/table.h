// Plain text tables and numbers, as terminals and Markdown show them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/namespaces.h"

namespace fusesmith::fuzz {

// How wide help texts and tables are, and a width that no table reaches.
inline constexpr size_t kColumns = 100, kAllColumns = SIZE_MAX;

// Rows of cells; the first row is the heading. Columns whose other cells all start like numbers are aligned
// to the right.
class Table {
 public:
  explicit Table(std::vector<std::string> heading) : rows_{std::move(heading)} {}
  // As many cells as the heading has.
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  bool empty() const { return rows_.size() < 2; }

  // Two spaces between columns; every line indented and ended. Longer lines than `columns`: empty columns go,
  // headings take two lines, and the widest columns of text, other than the first, are cut.
  std::string text(int indent = 0, size_t columns = kColumns) const;
  // Cells are text: what would be markup is escaped.
  std::string markdown() const;

 private:
  bool is_numeric(size_t column) const;
  std::vector<size_t> widths(size_t columns) const;
  std::vector<std::vector<std::string>> rows_;
};

// Three significant digits: "0.312", "5.96e-07", "inf".
std::string short_number(double x);
// "74.3 %"; "0.0 %" for less than 0.05 %, where what is left is mostly the noise of sums.
std::string percent(double share);
// Lines broken at spaces, of at most 110 columns where words allow that; those that go on are indented.
std::string wrapped(const std::string& text, size_t indent = 0);
// "1 case", "2 cases".
std::string counted(int64_t count, const std::string& noun);
// "a, b"; `none` where there is nothing.
std::string list_text(const std::vector<std::string>& words, const std::string& none = "");

}  // namespace fusesmith::fuzz
