// A stream to a descriptor whose reader may stop reading: what cannot be written within a second is dropped,
// so that nothing waits for it. For standard error.
#pragma once

#include <mutex>
#include <streambuf>

#include "graph/namespaces.h"

namespace fusesmith::fuzz {

class PatientBuffer : public std::streambuf {
 public:
  explicit PatientBuffer(int descriptor) : descriptor_(descriptor) {}

 protected:
  int_type overflow(int_type c) override;
  std::streamsize xsputn(const char* text, std::streamsize size) override;

 private:
  const int descriptor_;
  std::mutex mutex_;
  bool stuck_ = false;  // the last write was dropped: the next one waits no second more
};

}  // namespace fusesmith::fuzz
