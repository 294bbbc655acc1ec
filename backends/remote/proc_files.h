// The files that the kernel keeps for a process or thread in /proc (proc(5)).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "graph/namespaces.h"

namespace fusesmith::backends {

// Empty if there is no such file. Without what is beyond a size that no such file has.
std::string read_proc_file(const std::string& path);
inline std::string read_proc_file(pid_t id, const char* name) {
  return read_proc_file("/proc/" + std::to_string(id) + "/" + name);
}

// What follows the name of the program in /proc/PID/stat, from the state (field 3) on; the name is in
// parentheses and may hold anything, also parentheses.
std::string_view after_name(std::string_view stat);

// Every whole number in the text, in order.
std::vector<int64_t> numbers_in(std::string_view text);

// The folders of its threads, "/proc/PID/task/TID"; none where the process has ended.
std::vector<std::string> thread_folders(pid_t process);

// By the list that the kernel keeps for a thread.
std::vector<pid_t> children_of_thread(const std::string& thread_folder);

}  // namespace fusesmith::backends
