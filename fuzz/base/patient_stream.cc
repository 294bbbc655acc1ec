#include "fuzz/base/patient_stream.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace fusesmith::fuzz {

PatientBuffer::int_type PatientBuffer::overflow(int_type c) {
  if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
  const char letter = traits_type::to_char_type(c);
  xsputn(&letter, 1);
  return c;
}

// Says that all is written even where it is dropped: a stream that fails would stay silent for ever.
std::streamsize PatientBuffer::xsputn(const char* text, std::streamsize size) {
  constexpr int kMilliseconds = 1000;
  constexpr std::streamsize kPart = 4096;  // for which a pipe that is ready has room (PIPE_BUF)
  const std::lock_guard guard(mutex_);
  for (std::streamsize done = 0; done < size;) {
    pollfd out{descriptor_, POLLOUT, 0};
    const int ready = poll(&out, 1, stuck_ ? 0 : kMilliseconds);
    if (ready < 0 && errno == EINTR) continue;
    stuck_ = ready <= 0;
    if (stuck_) break;
    const ssize_t written =
        ::write(descriptor_, text + done, static_cast<size_t>(std::min(kPart, size - done)));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) break;
    done += written;
  }
  return size;
}

}  // namespace fusesmith::fuzz
