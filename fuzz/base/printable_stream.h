// A stream for what people read: control characters, which names of files and texts of other programs may
// have, are replaced by U+FFFD, so that they do nothing to a terminal. Line breaks and tabs stay.
#pragma once

#include <streambuf>
#include <string_view>

#include "graph/namespaces.h"

namespace fusesmith::fuzz {

class PrintableBuffer : public std::streambuf {
 public:
  explicit PrintableBuffer(std::streambuf* to) : to_(to) {}

 protected:
  int_type overflow(int_type c) override;
  std::streamsize xsputn(const char* text, std::streamsize size) override;
  int sync() override;

 private:
  bool put(std::string_view text);
  bool put(char c);

  std::streambuf* const to_;
  bool begun_ = false;  // the byte 0xC2 is held: the next one decides whether both are a control character
};

}  // namespace fusesmith::fuzz
