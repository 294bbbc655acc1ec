// Backend: executes graphs. It compiles a graph to a Program, or says in one line why it cannot.
//
// backends/ has a folder for each kind: cpu and cuda (a kernel for each node), cpu_fused and cuda_fused
// (fused kernels, after the patterns of rewrite/), remote (workers), demo. common/ has the CPU kernels of
// single nodes. fuzz/run/backends.cc lists all backends. A new one, a worker, a pattern or a fault:
// docs/adding.md.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/faults.h"
#include "graph/case.h"
#include "graph/result.h"
#include "oracle/plan.h"

namespace fusesmith::backends {

// How long a worker process may take, in seconds (docs/workers.md).
struct Deadlines {
  double compile = 60;  // also to start
  double run = 10;
};

struct CompileOptions {
  std::vector<std::string> skip_patterns;  // names of rewrite patterns that are turned off
  Faults faults;
  bool tf32 = false;
  Deadlines deadlines = {};
};

// A compiled graph; independent of the Graph's lifetime. Not thread-safe.
class Program {
 public:
  virtual ~Program() = default;
  virtual const Plan& plan() const = 0;
  // Runs one step. `inputs`: the inputs in the graph's order, then the states. The trace contains these
  // and every region output, by ValueId.
  virtual Trace run(std::span<const TensorPtr> inputs) = 0;
  // Checks the last run, which returned `trace`: repeats it, and checks guard zones and memory fill
  // patterns.
  virtual std::optional<Disagreement> recheck(std::span<const TensorPtr> inputs, const Trace& trace) = 0;
  // Of the last recheck: runs on the same inputs with other bits than `trace`, where the plan says that the
  // order of sums varies.
  virtual std::span<const Trace> other_runs() const { return {}; }
};

// Names of libraries with their versions: {"torch": "2.11.0"}.
using Versions = std::map<std::string, std::string>;

// Stateless; may be shared between threads.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;
  virtual std::string_view doc() const = 0;
  // Why the backend cannot run on this machine ("no NVIDIA driver"); empty if it can. Queried when
  // backends are selected; a device that fails later throws DeviceError.
  virtual std::optional<std::string> unavailable() const = 0;
  // Of the libraries that compute, as far as the backend tells; of a worker, as it last said hello.
  virtual Versions versions() const { return {}; }
  // On which it computes, as a worker last said; empty: the backend does not tell.
  virtual std::string device() const { return ""; }
  // An error is the reason for the verdict `unsupported`.
  virtual Result<std::unique_ptr<Program>> compile(const Graph& graph,
                                                   const CompileOptions& options) const = 0;
};

}  // namespace fusesmith::backends
