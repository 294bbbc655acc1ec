#include "backends/remote/request_stream.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <system_error>

namespace fusesmith::backends {
namespace {

using Json = nlohmann::json;

std::vector<std::byte> file_contents(const std::string& path, uint64_t bytes) {
  std::vector<std::byte> contents(bytes);
  std::ifstream file(path, std::ios::binary);
  if (!file.read(reinterpret_cast<char*>(contents.data()), static_cast<std::streamsize>(bytes)))
    throw std::runtime_error("cannot read " + path);
  return contents;
}

}  // namespace

RequestStream::RequestStream()
    : requests_(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)), replies_(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)) {
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  dup2(nothing, STDIN_FILENO);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  if (nothing >= 0) close(nothing);
}

std::optional<Request> RequestStream::next() {
  std::fflush(stdout);
  FramePrefix prefix;
  if (!read(std::as_writable_bytes(std::span(&prefix, 1)))) return {};
  if (check_prefix(prefix, uint64_t{1} << 40)) throw std::runtime_error("standard input holds no frame");
  std::string text(prefix.header, ' ');
  Request request;
  request.payload.resize(prefix.payload);
  if (!read(std::as_writable_bytes(std::span(text))) || !read(request.payload))
    throw std::runtime_error("standard input ends within a frame");
  request.header = Json::parse(text);
  if (const auto file = request.header.find("payload_file"); file != request.header.end())
    request.payload = file_contents(file->get<std::string>(), request.header.at("payload_bytes"));
  reply_file_ = request.header.value("reply_file", "");
  return request;
}

void RequestStream::reply(Json header, std::span<const std::byte> payload) {
  if (!reply_file_.empty() && payload.size() >= kLargePayload) {
    std::ofstream file(reply_file_, std::ios::binary);
    file.write(reinterpret_cast<const char*>(payload.data()), static_cast<std::streamsize>(payload.size()));
    file.close();
    if (file) {
      header["payload_file"] = reply_file_;
      header["payload_bytes"] = payload.size();
      payload = {};
    }
  }
  const std::string text = header.dump(-1, ' ', false, Json::error_handler_t::replace);
  write(frame_start(text, payload.size()));
  write(payload);
}

// Whether there were so many bytes.
bool RequestStream::read(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::read(requests_, bytes.data(), bytes.size());
    if (count > 0)
      bytes = bytes.subspan(static_cast<size_t>(count));
    else if (count == 0 || errno != EINTR)
      return false;
  }
  return true;
}

void RequestStream::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(replies_, bytes.data(), bytes.size());
    if (count > 0)
      bytes = bytes.subspan(static_cast<size_t>(count));
    else if (errno != EINTR)
      throw std::system_error(errno, std::generic_category(), "writing a reply");
  }
}

}  // namespace fusesmith::backends
