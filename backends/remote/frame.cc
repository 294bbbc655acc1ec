#include "backends/remote/frame.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace fusesmith::backends {
namespace {

static_assert(std::endian::native == std::endian::little, "tensors are sent as they are in memory");

std::string printable(std::span<const char> bytes) {
  std::string text;
  for (const char c : bytes) text += c >= ' ' && c <= '~' ? c : '?';
  return text;
}

// So that what was announced takes memory once it is there.
template <class Bytes>
ChildProcess::Io read_in_pieces(ChildProcess& child, uint64_t size, Bytes& bytes, const TimeLimit& limit) {
  constexpr uint64_t kPiece = uint64_t{4} << 20;
  auto io = ChildProcess::Io::done;
  while (io == ChildProcess::Io::done && bytes.size() < size) {
    const size_t before = bytes.size();
    bytes.resize(std::min<uint64_t>(size, before + kPiece));
    io = child.read(std::as_writable_bytes(std::span(bytes).subspan(before)), limit);
  }
  return io;
}

}  // namespace

std::vector<std::byte> frame_start(std::string_view header, uint64_t payload_bytes) {
  FramePrefix prefix;
  prefix.header = static_cast<uint32_t>(header.size());
  prefix.payload = payload_bytes;
  std::vector<std::byte> start(sizeof prefix + header.size());
  std::memcpy(start.data(), &prefix, sizeof prefix);
  std::memcpy(start.data() + sizeof prefix, header.data(), header.size());
  return start;
}

std::optional<Problem> check_prefix(const FramePrefix& prefix, uint64_t max_payload) {
  if (prefix.magic != FramePrefix{}.magic) {
    return Problem{"expected a frame that begins with \"FSM1\", got \"" + printable(prefix.magic) +
                   "\"; does something print to standard output?"};
  }
  if (prefix.header > kMaxHeader)
    return Problem{"a header of " + std::to_string(prefix.header) + " bytes; at most 2^24 are allowed"};
  if (prefix.payload > max_payload) {
    return Problem{"a payload of " + std::to_string(prefix.payload) + " bytes where at most " +
                   std::to_string(max_payload) + " are expected"};
  }
  return {};
}

ChildProcess::Io send_frame(ChildProcess& child, std::string_view header,
                            std::span<const std::span<const std::byte>> payload, const TimeLimit& limit) {
  uint64_t bytes = 0;
  for (const auto& part : payload) bytes += part.size();
  auto io = child.write(frame_start(header, bytes), limit);
  for (const auto& part : payload) {
    if (io == ChildProcess::Io::done) io = child.write(part, limit);
  }
  return io;
}

Received receive_frame(ChildProcess& child, uint64_t max_payload, const TimeLimit& limit) {
  Received received;
  FramePrefix prefix;
  received.io = child.read(std::as_writable_bytes(std::span(&prefix, 1)), limit);
  if (received.io != ChildProcess::Io::done) return received;
  if (const auto problem = check_prefix(prefix, max_payload)) {
    received.problem = problem->what;
    return received;
  }
  received.io = read_in_pieces(child, prefix.header, received.frame.header, limit);
  if (received.io == ChildProcess::Io::done)
    received.io = read_in_pieces(child, prefix.payload, received.frame.payload, limit);
  return received;
}

}  // namespace fusesmith::backends
