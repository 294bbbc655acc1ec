#include "fuzz/base/table.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <cstdio>

#include "fuzz/base/escape.h"
#include "fuzz/base/output_width.h"

namespace fusesmith::fuzz {

bool Table::is_numeric(size_t column) const {
  bool any = false;
  for (size_t i = 1; i < rows_.size(); ++i) {
    const std::string& cell = rows_[i][column];
    if (cell.empty()) continue;
    if (cell != "inf" && cell != "nan" && !std::isdigit(static_cast<unsigned char>(cell[0]))) return false;
    any = true;
  }
  return any;
}

namespace {

using Rows = std::vector<std::vector<std::string>>;

constexpr size_t kGap = 2;

// A heading may have several lines.
std::vector<std::string> lines_of(const std::string& cell) {
  std::vector<std::string> lines(1);
  for (const char c : cell) {
    if (c == '\n')
      lines.emplace_back();
    else
      lines.back() += c;
  }
  return lines;
}

std::vector<size_t> natural_widths(const Rows& rows) {
  std::vector<size_t> widths(rows[0].size());
  for (const auto& row : rows) {
    for (size_t column = 0; column < row.size(); ++column) {
      for (const std::string& line : lines_of(row[column]))
        widths[column] = std::max(widths[column], line.size());
    }
  }
  return widths;
}

size_t line_width(const std::vector<size_t>& widths) {
  size_t line = kGap * (widths.size() - 1);
  for (const size_t width : widths) line += width;
  return line;
}

void drop_empty_columns(Rows& rows) {
  for (size_t column = rows[0].size(); column-- > 0;) {
    const bool empty =
        std::all_of(rows.begin() + 1, rows.end(), [&](const auto& row) { return row[column].empty(); });
    for (auto& row : rows) {
      if (empty && rows[0].size() > 1) row.erase(row.begin() + static_cast<ptrdiff_t>(column));
    }
  }
}

bool has_lines(const std::string& heading) { return heading.find('\n') != std::string::npos; }

// In two lines, where the words allow it and the column becomes narrower.
void break_headings(Rows& rows) {
  const std::vector<size_t> cells = natural_widths(Rows(rows.begin() + 1, rows.end()));
  for (size_t column = 0; column < rows[0].size(); ++column) {
    std::string& heading = rows[0][column];
    const size_t at = heading.find_first_of(" /");
    if (heading.size() <= cells[column] || at == std::string::npos || has_lines(heading)) continue;
    if (heading[at] == ' ')
      heading[at] = '\n';
    else
      heading.insert(at + 1, "\n");
  }
}

}  // namespace

// The columns' widths: those of their longest cells, the widest columns of text cut until a line fits. The
// first column is whole: it has the names that people copy.
std::vector<size_t> Table::widths(size_t columns) const {
  constexpr size_t kLeast = 10;
  std::vector<size_t> widths = natural_widths(rows_), order;
  for (size_t column = 1; column < widths.size(); ++column) {
    if (!is_numeric(column) && widths[column] > kLeast) order.push_back(column);
  }
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return widths[a] > widths[b]; });
  for (const size_t column : order) {
    const size_t line = line_width(widths);
    if (line > columns) widths[column] -= std::min(line - columns, widths[column] - kLeast);
  }
  return widths;
}

std::string Table::text(int indent, size_t columns) const {
  const size_t line_room =
      columns == kColumns ? output_columns() : columns;  // the default: as the terminal has
  const size_t room = line_room - static_cast<size_t>(indent);
  if (!empty() && line_width(natural_widths(rows_)) > room) {
    Rows smaller = rows_;
    drop_empty_columns(smaller);
    break_headings(smaller);
    if (smaller != rows_) {
      Table table(smaller[0]);
      for (size_t i = 1; i < smaller.size(); ++i) table.add(smaller[i]);
      return table.text(indent, columns);
    }
  }
  const std::vector<size_t> widths = this->widths(room);
  std::string out;
  const auto print = [&](const std::vector<std::string>& row) {
    std::string line(static_cast<size_t>(indent), ' ');
    for (size_t column = 0; column < row.size(); ++column) {
      std::string cell = row[column];
      if (cell.size() > widths[column]) cell = cell.substr(0, widths[column] - 3) + "...";
      const std::string padding(widths[column] - cell.size(), ' ');
      line += column > 0 ? std::string(kGap, ' ') : "";
      line += is_numeric(column) ? padding + cell : cell + padding;
    }
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  };
  if (std::any_of(rows_[0].begin(), rows_[0].end(), has_lines)) {
    std::vector<std::string> upper, lower;
    for (const std::string& heading : rows_[0]) {
      const std::vector<std::string> lines = lines_of(heading);
      upper.push_back(lines.size() > 1 ? lines[0] : "");
      lower.push_back(lines.back());
    }
    print(upper);
    print(lower);
  } else {
    print(rows_[0]);
  }
  for (size_t i = 1; i < rows_.size(); ++i) print(rows_[i]);
  return out;
}

std::string Table::markdown() const {
  std::string out;
  for (size_t i = 0; i < rows_.size(); ++i) {
    for (const std::string& cell : rows_[i]) out += "| " + markdown_escaped(cell) + " ";
    out += "|\n";
    if (i > 0) continue;
    for (size_t column = 0; column < rows_[0].size(); ++column) out += is_numeric(column) ? "|---:" : "|---";
    out += "|\n";
  }
  return out;
}

std::string short_number(double x) {
  if (std::isnan(x)) return "nan";
  if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.3g", x);
  return buffer;
}

std::string percent(double share) {
  constexpr double kNoise = 5e-4;
  return std::fabs(share) < kNoise ? "0.0 %" : short_number(100 * share) + " %";
}

std::string wrapped(const std::string& text, size_t indent) {
  constexpr size_t kWidth = 110;
  std::string out;
  size_t line = 0;  // where the last line of `out` begins
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find_first_of(" \n", at + 1), text.size());  // of the word at `at`
    if (text[at] == '\n') {
      line = out.size() + 1;
    } else if (text[at] == ' ' && out.size() + (end - at) > line + kWidth) {
      out += '\n';
      line = out.size();
      out.append(indent, ' ');
      ++at;
    }
    out.append(text, at, end - at);
    at = end;
  }
  return out;
}

std::string counted(int64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string list_text(const std::vector<std::string>& words, const std::string& none) {
  if (words.empty()) return none;
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

}  // namespace fusesmith::fuzz
