// Frames of the worker protocol (docs/workers.md): a JSON header and the bytes of tensors.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "backends/remote/child_process.h"

namespace fusesmith::backends {

struct Frame {
  std::string header;  // JSON
  std::vector<std::byte> payload;
};

inline constexpr uint64_t kMaxHeader = uint64_t{1} << 24;

// The payload is sent in parts, so that it need not be copied together.
ChildProcess::Io send_frame(ChildProcess& child, std::string_view header,
                            std::span<const std::span<const std::byte>> payload,
                            ChildProcess::Clock::time_point deadline);

// A problem: the process sent no frame, or one that is larger than allowed.
struct Received {
  ChildProcess::Io io = ChildProcess::Io::done;
  std::string problem = {};
  Frame frame = {};
};
Received receive_frame(ChildProcess& child, uint64_t max_payload, ChildProcess::Clock::time_point deadline);

}  // namespace fusesmith::backends
