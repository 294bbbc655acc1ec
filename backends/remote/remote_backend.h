// A backend whose graphs are computed by worker processes (docs/workers.md): one for each program that lives
// at the same time. Workers are kept for the next program. A new worker: docs/adding.md.
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
