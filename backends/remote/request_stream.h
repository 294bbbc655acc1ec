// The worker's side of the protocol (docs/workers.md), for workers in C++: requests from standard input,
// replies to standard output.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <vector>

#include "backends/remote/frame.h"

namespace fusesmith::backends {

struct Request {
  nlohmann::json header;
  std::vector<std::byte> payload;
};

class RequestStream {
 public:
  // Takes over both streams: what this process prints later goes to standard error, and it reads nothing.
  RequestStream();

  // The next request, with its payload wherever that was; nothing at the end of standard input. Throws
  // std::runtime_error if standard input holds anything else.
  std::optional<Request> next();

  // Throws std::system_error if nobody reads the reply.
  void reply(nlohmann::json header, std::span<const std::byte> payload = {});

 private:
  bool read(std::span<std::byte> bytes);
  void write(std::span<const std::byte> bytes);

  int requests_, replies_;
  std::string reply_file_;  // where a large payload of the next reply may go
};

}  // namespace fusesmith::backends
