#include "fuzz/base/escape.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace fusesmith::fuzz {

size_t decode_utf8(std::string_view text, uint32_t& point) {
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
  constexpr std::pair<uint32_t, uint32_t> kHidden[] = {
      {0x00, 0x1F},       {0x7F, 0x9F},  // control characters
      {0xAD, 0xAD},                      // soft hyphen
      {0x034F, 0x034F},                  // combining grapheme joiner
      {0x061C, 0x061C},                  // Arabic letter mark
      {0x115F, 0x1160},                  // Hangul fillers
      {0x17B4, 0x17B5},   {0x180B, 0x180F},
      {0x200B, 0x200F},                      // zero width, left-to-right and right-to-left marks
      {0x2028, 0x202E},                      // line separators, embeddings and overrides of the direction
      {0x2060, 0x206F},                      // word joiner, isolates
      {0x3164, 0x3164},   {0xFE00, 0xFE0F},  // Hangul filler, variation selectors
      {0xFEFF, 0xFEFF},   {0xFFA0, 0xFFA0},  // byte order mark, Hangul filler
      {0xFFF0, 0xFFFB},                      // specials; U+FFFD is the replacement
      {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A},
      {0xE0000, 0xE0FFF},  // tags, variation selectors
  };
  return std::none_of(std::begin(kHidden), std::end(kHidden),
                      [&](const auto& range) { return point >= range.first && point <= range.second; });
}

namespace {

std::string shown(std::string_view text, bool lines) {
  std::string out;
  while (!text.empty()) {
    uint32_t point = 0;
    const size_t length = decode_utf8(text, point);
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
