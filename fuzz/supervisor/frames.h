// Messages between a campaign and its worker processes, over a socket: a length, then the bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "graph/json_strict.h"

namespace fusesmith::fuzz {

// Keeps the descriptor from programs that this one starts.
void make_private(int descriptor);

// False if the other side has gone.
bool write_message(int socket, std::string_view bytes);

struct MessageLimits {
  uint64_t most = 3 * kMaxJsonBytes;  // bytes: more than two texts of the largest case
  int silence_ms = 30'000;            // in the middle of a message, while this process runs
};

// Bytes that are no message: a kernel of the other side may have written to any descriptor.
struct DamagedMessage {
  std::string how;
};

// The next message; nothing if the other side has gone. `wait`, if given, is called about ten times a second
// until the message is complete, and may throw. Throws DamagedMessage where more bytes are announced than the
// limit, and, with `wait`, where the message stays incomplete. What is announced takes memory once it is
// there.
std::optional<std::string> read_message(int socket, const std::function<void()>& wait = {},
                                        MessageLimits limits = {});

}  // namespace fusesmith::fuzz
