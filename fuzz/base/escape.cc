#include "fuzz/base/escape.h"

#include <algorithm>
#include <cstdint>

namespace fusesmith::fuzz {

namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// The length of the UTF-8 sequence at the beginning of `text`, 0 if there is none; sets its code point.
size_t decode(std::string_view text, uint32_t& point) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  const size_t length = first < 0x80 ? 1 : first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  if (length == 0 || first > 0xF4 || length > text.size()) return 0;
  if (length == 1) {
    point = first;
    return 1;
  }
  point = first & (0x7F >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
    point = point << 6 | (byte(i) & 0x3F);
  }
  constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = point >= 0xD800 && point <= 0xDFFF;
  return point < kSmallest[length] || surrogate || point > 0x10FFFF ? 0 : length;
}

bool is_shown(uint32_t point) {
  const bool control = point < 0x20 || (point >= 0x7F && point < 0xA0) || point == 0x2028 || point == 0x2029;
  const bool direction = point == 0x200E || point == 0x200F || (point >= 0x202A && point <= 0x202E) ||
                         (point >= 0x2066 && point <= 0x2069);
  return !control && !direction;
}

std::string shown(std::string_view text, bool lines) {
  std::string out;
  while (!text.empty()) {
    uint32_t point = 0;
    const size_t length = decode(text, point);
    if (text[0] == '\n' && lines)
      out += '\n';
    else if (text[0] == '\n' || text[0] == '\t')
      out += ' ';
    else if (length == 0 || !is_shown(point))
      out += kReplacement;
    else
      out += text.substr(0, length);
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return out;
}

bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

// Whether the character at `i` has a meaning in Markdown; of an underscore, a bracket and '#', it depends on
// what stands beside them. What has none is left alone, so that the text is readable as it is.
bool is_markup(std::string_view line, size_t i) {
  const char before = i > 0 ? line[i - 1] : ' ', after = i + 1 < line.size() ? line[i + 1] : ' ';
  switch (line[i]) {
    case '_':
      return !is_word(before) || !is_word(after);
    case ']':  // of a link
      return after == '(' || after == '[' || after == ':';
    case '#':  // a heading, or the number of an issue
      return i == 0 || is_word(after);
    default:
      return std::string_view("\\`*|~$").find(line[i]) != std::string_view::npos;
  }
}

size_t longest_run(std::string_view text, char wanted) {
  size_t longest = 0, run = 0;
  for (const char c : text) {
    run = c == wanted ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return longest;
}

}  // namespace

std::string printable(std::string_view text) { return shown(text, false); }

std::string printable_lines(std::string_view text) { return shown(text, true); }

std::string html_escaped(std::string_view text) {
  std::string out;
  for (const char c : printable_lines(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string markdown_escaped(std::string_view text) {
  const std::string line = printable(text);
  std::string out;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>' && i == 0)
      out += "&gt;";  // a quotation
    else if (c == '@')
      out += "&#64;";  // notifies nobody
    else if (is_markup(line, i))
      out += std::string("\\") + c;
    else
      out += c;
  }
  return out;
}

std::string markdown_code(std::string_view text) {
  const std::string code = printable(text), fence(longest_run(code, '`') + 1, '`');
  const std::string space = code.empty() || code.front() == '`' || code.back() == '`' ? " " : "";
  return fence + space + code + space + fence;
}

std::string markdown_block(std::string_view text, std::string_view language) {
  const std::string code = printable_lines(text);
  const std::string fence(std::max<size_t>(longest_run(code, '`') + 1, 3), '`');
  const bool ended = code.empty() || code.back() == '\n';
  return fence + std::string(language) + "\n" + code + (ended ? "" : "\n") + fence + "\n";
}

}  // namespace fusesmith::fuzz
