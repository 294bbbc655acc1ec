#include "fuzz/campaign/frames.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>

namespace fusesmith::fuzz {

namespace {

constexpr uint64_t kMostBytes = uint64_t{1} << 30;  // more than any case has

bool receive_all(int socket, char* bytes, size_t count, const std::function<void()>& wait) {
  constexpr int kMilliseconds = 100;
  while (count > 0) {
    if (wait) {
      pollfd wanted{socket, POLLIN, 0};
      if (poll(&wanted, 1, kMilliseconds) <= 0) {
        wait();
        continue;
      }
    }
    const ssize_t received = recv(socket, bytes, count, 0);
    if (received < 0 && errno == EINTR) continue;
    if (received <= 0) return false;
    bytes += received;
    count -= static_cast<size_t>(received);
  }
  return true;
}

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

std::optional<std::string> read_message(int socket, const std::function<void()>& wait) {
  uint64_t size = 0;
  if (!receive_all(socket, reinterpret_cast<char*>(&size), sizeof size, wait) || size > kMostBytes) return {};
  std::string bytes(size, '\0');
  if (!receive_all(socket, bytes.data(), bytes.size(), wait)) return {};
  return bytes;
}

}  // namespace fusesmith::fuzz
