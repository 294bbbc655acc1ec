// The processes that descend from one, as /proc shows them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "graph/namespaces.h"

namespace fusesmith::backends {

struct ProcessEntry {
  pid_t id = 0, parent = 0;
  bool zombie = false;
  uint64_t started = 0;  // in clock ticks since boot: tells two processes of one id apart
};

// Of this machine, or of this container.
std::vector<ProcessEntry> all_processes();
// Parents before children; without the root itself.
std::vector<ProcessEntry> descendants_of(pid_t root, const std::vector<ProcessEntry>& processes);
inline std::vector<ProcessEntry> descendants_of(pid_t root) { return descendants_of(root, all_processes()); }

// The same, by the lists of children that the kernel keeps, which costs the less the smaller the tree is.
std::vector<pid_t> tree_below(pid_t root);
// In MiB, of one process: what is in memory, and its share of that, where shared pages are divided among
// those that share them.
double resident_mb(pid_t id);
double proportional_mb(pid_t id);

// Sends SIGKILL to that process, and to no other one that has its id by now.
void kill_process(const ProcessEntry& process);

// Whether the environment that the process was started with has an entry that begins so ("NAME=value").
bool has_in_environment(pid_t id, std::string_view entry);

}  // namespace fusesmith::backends
