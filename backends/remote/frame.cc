#include "backends/remote/frame.h"

#include <array>
#include <bit>
#include <cstring>

namespace fusesmith::backends {
namespace {

static_assert(std::endian::native == std::endian::little, "tensors are sent as they are in memory");

constexpr std::array<char, 4> kMagic = {'F', 'S', 'M', '1'};

struct Head {
  std::array<char, 4> magic = kMagic;
  uint32_t header = 0;
  uint64_t payload = 0;
};
static_assert(sizeof(Head) == 16);

std::string printable(std::span<const char> bytes) {
  std::string text;
  for (const char c : bytes) text += c >= ' ' && c <= '~' ? c : '?';
  return text;
}

}  // namespace

ChildProcess::Io send_frame(ChildProcess& child, std::string_view header,
                            std::span<const std::span<const std::byte>> payload,
                            ChildProcess::Clock::time_point deadline) {
  Head head;
  head.header = static_cast<uint32_t>(header.size());
  for (const auto& part : payload) head.payload += part.size();
  std::vector<std::byte> start(sizeof(Head) + header.size());
  std::memcpy(start.data(), &head, sizeof(Head));
  std::memcpy(start.data() + sizeof(Head), header.data(), header.size());
  auto io = child.write(start, deadline);
  for (const auto& part : payload) {
    if (io == ChildProcess::Io::done) io = child.write(part, deadline);
  }
  return io;
}

Received receive_frame(ChildProcess& child, uint64_t max_payload, ChildProcess::Clock::time_point deadline) {
  Received received;
  Head head;
  received.io = child.read(std::as_writable_bytes(std::span(&head, 1)), deadline);
  if (received.io != ChildProcess::Io::done) return received;
  if (head.magic != kMagic) {
    received.problem = "expected a frame that begins with \"FSM1\", got \"" + printable(head.magic) +
                       "\"; does something print to standard output?";
  } else if (head.header > kMaxHeader) {
    received.problem = "a header of " + std::to_string(head.header) + " bytes; at most 2^24 are allowed";
  } else if (head.payload > max_payload) {
    received.problem = "a payload of " + std::to_string(head.payload) + " bytes where at most " +
                       std::to_string(max_payload) + " are expected";
  }
  if (!received.problem.empty()) return received;
  received.frame.header.resize(head.header);
  received.io = child.read(std::as_writable_bytes(std::span(received.frame.header)), deadline);
  if (received.io != ChildProcess::Io::done) return received;
  received.frame.payload.resize(head.payload);
  received.io = child.read(received.frame.payload, deadline);
  return received;
}

}  // namespace fusesmith::backends
