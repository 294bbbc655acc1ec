// A stream for what people read: characters that may not reach a terminal (is_shown in escape.h), which names
// of files and texts of other programs may have, are replaced. Line breaks and tabs stay, and so do bytes
// that are not UTF-8 but no control characters.
#pragma once

#include <cstdint>
#include <streambuf>
#include <string>
#include <string_view>

#include "graph/namespaces.h"

namespace fusesmith::fuzz {

class PrintableBuffer : public std::streambuf {
 public:
  // By U+FFFD; or by an escape sequence of JSON, so that JSON still says the same: they are within its
  // strings.
  enum class Replaced { by_a_sign, by_json };
  explicit PrintableBuffer(std::streambuf* to, Replaced replaced = Replaced::by_a_sign)
      : to_(to), replaced_(replaced) {}

 protected:
  int_type overflow(int_type c) override;
  std::streamsize xsputn(const char* text, std::streamsize size) override;
  int sync() override;

 private:
  bool put(std::string_view text);
  bool put(char c);
  bool put_replaced(uint32_t point);

  std::streambuf* const to_;
  const Replaced replaced_;
  std::string begun_;  // bytes of a character that has not ended: the next ones decide
};

}  // namespace fusesmith::fuzz
