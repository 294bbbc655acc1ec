// A backend whose graphs are computed by worker processes (docs/workers.md): one for each program that lives
// at the same time. Workers are kept for the next program.
//
// remote/ holds fusesmith's side of the protocol: names (worker_names.h, the one list), requests and replies
// (remote_plan.h, reply_tensors.h, frame.h), processes and their time limits (worker_process.h,
// child_process.h, process_clock.h), and the worker that loads plug-ins (plugin_worker.h). The workers' side
// is python/workers/. A new worker: docs/adding.md.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "backends/backend.h"
#include "backends/remote/worker_names.h"

namespace fusesmith::backends {

// Its programs throw WorkerError, from compile() on.
std::unique_ptr<Backend> make_remote_backend(WorkerSpec spec, std::string_view doc);

// Why the backend cannot run here: of workers, which have so many seconds to start; else what unavailable()
// says. A worker that starts is kept.
std::optional<std::string> why_unavailable(const Backend& backend, double seconds);

// Ends the processes that are kept for its next program, if it is one of workers.
void end_idle_workers(const Backend& backend);

// The header of the request to compile.
nlohmann::json compile_request(const Graph& graph, const CompileOptions& options);

}  // namespace fusesmith::backends
