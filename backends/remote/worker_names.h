// The names of backends that are worker processes: "remote:COMMAND" and the short forms of our own workers.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/remote/worker_process.h"
#include "graph/result.h"

namespace fusesmith::backends {

struct WorkerKind {
  enum class Starts {
    command,  // what follows the prefix
    script,   // one of ours, in Python
    plugin,   // this program, which loads a shared library
  };
  std::string_view prefix;  // "torch:"
  std::string_view value;   // placeholder of what follows it, for help texts
  Starts starts;
  std::string_view script;  // in the folder of workers
  // Whether it compiles the graph that it gets: a user's function returns the same outputs whatever is asked.
  bool compiles;
  std::string_view doc;
};

// The one list.
std::span<const WorkerKind> worker_kinds();

// Null where the name is none of a worker.
const WorkerKind* worker_kind(std::string_view name);

// FUSESMITH_WORKERS, else where they are installed, else the source tree that this was built from.
std::string workers_folder();

// The command that runs a Python script of the folder of workers.
std::vector<std::string> script_command(std::string_view script);

// What to start. The problem says what is wrong with the name: nothing follows the prefix, a quote is open.
Result<WorkerSpec> worker_spec(std::string_view name);

}  // namespace fusesmith::backends
