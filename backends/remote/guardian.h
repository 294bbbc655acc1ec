// A guardian: a small process between this one and a program that it starts. It ends all that descends from
// the program when the program ends, and the program too when this process does, whatever ended it
// (docs/architecture.md, "What a campaign starts ends with it").
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "graph/namespaces.h"

namespace fusesmith::backends {

// The program is started again as `PROGRAM guardian DESCRIPTOR COMMAND ARGUMENT...`, and becomes a guardian
// before main(): any program that has this code in it can start others. DESCRIPTOR is a socket; those below
// it are for the command.
inline constexpr std::string_view kGuardian = "guardian";

// What it writes to the socket.
struct GuardianReport {
  enum class Kind : int32_t {
    started,    // value: the process
    cannot,     // start it. value: errno
    exited,     // value: the exit code
    by_signal,  // value: the signal that ended it
  };
  Kind kind = Kind::started;
  int32_t value = 0;
};

// What it reads from the socket: this byte. At its end, it kills the program and all that descends from it,
// and ends with exit code 0 once none of them is left.
inline constexpr char kTerminate = 'T';  // SIGTERM to the process group of the program, unless that ended

// A variable of the environment of the command, and of what it starts: the names of its guardians, as a path.
// It finds processes whose guardian was killed.
inline constexpr const char* kGuardedBy = "FUSESMITH_GUARDED_BY";
// A new one, below that of this process.
std::string guardian_name();

// Kills what has this name in its environment and descends from this process, which inherits it from a
// guardian that was killed, if adopt_orphans() was called before. That also lets children be awaited.
void kill_orphans_of(const std::string& guardian);
void adopt_orphans();

}  // namespace fusesmith::backends
