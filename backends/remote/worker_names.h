// The names of backends that are worker processes: "remote:COMMAND" and the short forms of our own workers.
#pragma once

#include <optional>
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
  // Whether a file may name it: a worker of ours, which takes only modes that it knows, of a released
  // library. What follows the other prefixes is a program, a module or a library of somebody's choice.
  bool from_files;
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

// Names come from the command line, and from files: an expectation of a case, campaign.json, a verdict. No
// file chooses what this process starts, so a worker whose kind is not from_files starts only where its name
// was allowed. What reads the command line allows the names there, and nothing else does.
void allow_worker(std::string_view name);
// Of any backend: its kind is from_files, or it is no worker, or it was allowed.
bool may_start(std::string_view name);

// What is wrong with the name of a worker: nothing follows the prefix, a quote is open.
std::optional<Problem> worker_name_problem(std::string_view name);

// What to start. A problem too where the name may not be started.
Result<WorkerSpec> worker_spec(std::string_view name);

}  // namespace fusesmith::backends
