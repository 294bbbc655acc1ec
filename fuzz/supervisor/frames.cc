#include "fuzz/supervisor/frames.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

namespace fusesmith::fuzz {

namespace {

// What is read of one message.
class Incoming {
 public:
  Incoming(int socket, const std::function<void()>& wait, int silence_ms)
      : socket_(socket), wait_(wait), silence_ms_(silence_ms) {}

  // Whether there were so many bytes.
  bool receive(char* bytes, size_t count) {
    while (count > 0) {
      if (wait_ && !is_ready()) continue;
      const ssize_t received = recv(socket_, bytes, count, 0);
      if (received < 0 && errno == EINTR) continue;
      if (received <= 0) return false;
      has_begun_ = true;
      silent_ms_ = 0;
      bytes += received;
      count -= static_cast<size_t>(received);
    }
    return true;
  }

 private:
  // Time is counted by the calls of poll, so that it stands still while this process is stopped.
  bool is_ready() {
    constexpr int kMilliseconds = 100;
    pollfd wanted{socket_, POLLIN, 0};
    if (poll(&wanted, 1, kMilliseconds) > 0) return true;
    wait_();
    if (has_begun_) silent_ms_ += kMilliseconds;
    if (silent_ms_ > silence_ms_) throw DamagedMessage{"a message that has no end"};
    return false;
  }

  const int socket_;
  const std::function<void()>& wait_;
  const int silence_ms_;
  int silent_ms_ = 0;
  bool has_begun_ = false;
};

}  // namespace

void make_private(int descriptor) { fcntl(descriptor, F_SETFD, FD_CLOEXEC); }

bool write_message(int socket, std::string_view bytes) {
  const uint64_t size = bytes.size();
  std::string message(reinterpret_cast<const char*>(&size), sizeof size);
  message += bytes;  // at once, so that the other side wakes up once
  for (std::string_view left = message; !left.empty();) {
    const ssize_t sent = send(socket, left.data(), left.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return false;
    left.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

std::optional<std::string> read_message(int socket, const std::function<void()>& wait, MessageLimits limits) {
  constexpr size_t kPiece = size_t{1} << 20;
  Incoming incoming(socket, wait, limits.silence_ms);
  uint64_t size = 0;
  if (!incoming.receive(reinterpret_cast<char*>(&size), sizeof size)) return {};
  if (size > limits.most) throw DamagedMessage{"a message of " + std::to_string(size) + " bytes"};
  std::string bytes;
  while (bytes.size() < size) {
    const size_t before = bytes.size();
    bytes.resize(std::min<size_t>(size, before + kPiece));
    if (!incoming.receive(bytes.data() + before, bytes.size() - before)) return {};
  }
  return bytes;
}

}  // namespace fusesmith::fuzz
