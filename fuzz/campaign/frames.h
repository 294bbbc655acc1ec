// Messages between a campaign and its worker processes, over a socket: a length, then the bytes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "graph/namespaces.h"

namespace fusesmith::fuzz {

// Keeps the descriptor from programs that this one starts.
void make_private(int descriptor);

// False if the other side has gone.
bool write_message(int socket, std::string_view bytes);

// The next message; nothing if the other side has gone. `wait`, if given, is called about ten times a second
// until the message is complete, and may throw.
std::optional<std::string> read_message(int socket, const std::function<void()>& wait = {});

}  // namespace fusesmith::fuzz
