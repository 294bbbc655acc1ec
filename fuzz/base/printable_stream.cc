#include "fuzz/base/printable_stream.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "fuzz/base/escape.h"

namespace fusesmith::fuzz {

namespace {

bool is_plain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte >= 0x20 && byte < 0x7F) || c == '\n' || c == '\t';
}

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// The length of the character that this byte begins; 1 where it begins none.
size_t length_of(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0xC2 || byte > 0xF4 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

}  // namespace

bool PrintableBuffer::put(std::string_view text) {
  return to_ && to_->sputn(text.data(), static_cast<std::streamsize>(text.size())) ==
                    static_cast<std::streamsize>(text.size());
}

bool PrintableBuffer::put_replaced(uint32_t point) {
  if (replaced_ == Replaced::by_a_sign) return put(kReplacement);
  char text[16];
  const uint32_t beyond = point - 0x10000;
  if (point < 0x10000)
    std::snprintf(text, sizeof text, "\\u%04x", static_cast<unsigned>(point));
  else
    std::snprintf(text, sizeof text, "\\u%04x\\u%04x", static_cast<unsigned>(0xD800 + (beyond >> 10)),
                  static_cast<unsigned>(0xDC00 + (beyond & 0x3FF)));
  return put(std::string_view(text));
}

bool PrintableBuffer::put(char c) {
  if (!begun_.empty() && !continues(c)) {  // no UTF-8
    if (!put(std::string_view(begun_))) return false;
    begun_.clear();
  }
  if (begun_.empty() && is_plain(c)) return put(std::string_view(&c, 1));
  begun_ += c;
  if (begun_.size() < length_of(begun_[0])) return true;
  uint32_t point = 0;
  const bool is_character = decode_utf8(begun_, point) == begun_.size();
  const std::string text = std::exchange(begun_, {});
  return is_character && !is_shown(point) ? put_replaced(point) : put(std::string_view(text));
}

PrintableBuffer::int_type PrintableBuffer::overflow(int_type c) {
  if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
  return put(traits_type::to_char_type(c)) ? c : traits_type::eof();
}

std::streamsize PrintableBuffer::xsputn(const char* text, std::streamsize size) {
  const char *at = text, *const end = text + size;
  while (at != end) {
    const char* next = begun_.empty() ? std::find_if_not(at, end, is_plain) : at;
    if (next == at) {
      if (!put(*at++)) return at - text - 1;
      continue;
    }
    if (!put(std::string_view(at, static_cast<size_t>(next - at)))) return at - text;
    at = next;
  }
  return size;
}

// What is held stays held: the rest of the character follows.
int PrintableBuffer::sync() { return to_ ? to_->pubsync() : -1; }

}  // namespace fusesmith::fuzz
