#include "fuzz/base/table.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <cstdio>

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

std::string Table::text(int indent) const {
  std::string out;
  for (const auto& row : rows_) {
    std::string line(static_cast<size_t>(indent), ' ');
    for (size_t column = 0; column < row.size(); ++column) {
      size_t width = 0;
      for (const auto& other : rows_) width = std::max(width, other[column].size());
      const std::string padding(width - row[column].size(), ' ');
      line += column > 0 ? "  " : "";
      line += is_numeric(column) ? padding + row[column] : row[column] + padding;
    }
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return out;
}

std::string Table::markdown() const {
  std::string out;
  for (size_t i = 0; i < rows_.size(); ++i) {
    for (const std::string& cell : rows_[i]) out += "| " + cell + " ";
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
