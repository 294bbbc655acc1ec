#include "fuzz/base/printable_stream.h"

#include <algorithm>

namespace fusesmith::fuzz {

namespace {

constexpr char kFirstByte = '\xC2';  // of U+0080 to U+00BF in UTF-8, the first 32 of which are controls
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7F;
}

bool is_plain(char c) { return c != kFirstByte && !is_control(c); }

}  // namespace

bool PrintableBuffer::put(std::string_view text) {
  return to_ && to_->sputn(text.data(), static_cast<std::streamsize>(text.size())) ==
                    static_cast<std::streamsize>(text.size());
}

bool PrintableBuffer::put(char c) {
  if (begun_) {
    begun_ = false;
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80 && byte < 0xA0) return put(kReplacement);
    if (!put(std::string_view(&kFirstByte, 1))) return false;
  }
  begun_ = c == kFirstByte;
  if (begun_) return true;
  return put(is_control(c) ? kReplacement : std::string_view(&c, 1));
}

PrintableBuffer::int_type PrintableBuffer::overflow(int_type c) {
  if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
  return put(traits_type::to_char_type(c)) ? c : traits_type::eof();
}

std::streamsize PrintableBuffer::xsputn(const char* text, std::streamsize size) {
  const char *at = text, *const end = text + size;
  while (at != end) {
    const char* next = begun_ ? at : std::find_if_not(at, end, is_plain);
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
