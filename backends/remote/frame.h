// Frames of the worker protocol (docs/workers.md): a JSON header and the bytes of tensors.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
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
// A payload of so many bytes is passed in a file.
inline constexpr uint64_t kLargePayload = uint64_t{1} << 20;

// What a frame begins with, on either side of the conversation.
struct FramePrefix {
  std::array<char, 4> magic = {'F', 'S', 'M', '1'};
  uint32_t header = 0;   // bytes
  uint64_t payload = 0;  // bytes
};
static_assert(sizeof(FramePrefix) == 16);

// Prefix and header; the payload follows.
std::vector<std::byte> frame_start(std::string_view header, uint64_t payload_bytes);
// "a header of ..., at most ... are allowed"; nothing if a frame may begin so.
std::optional<Problem> check_prefix(const FramePrefix& prefix, uint64_t max_payload);

// The payload is sent in parts, so that it need not be copied together.
ChildProcess::Io send_frame(ChildProcess& child, std::string_view header,
                            std::span<const std::span<const std::byte>> payload, const TimeLimit& limit);

// A problem: the process sent no frame, or one that is larger than allowed.
struct Received {
  ChildProcess::Io io = ChildProcess::Io::done;
  std::string problem = {};
  Frame frame = {};
};
Received receive_frame(ChildProcess& child, uint64_t max_payload, const TimeLimit& limit);

}  // namespace fusesmith::backends
