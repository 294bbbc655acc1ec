// Backend: who computes. A backend compiles a graph to a Program, or says in one line why it cannot.
#pragma once

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

struct CompileOptions {
  std::vector<std::string> skip_patterns;  // names of rewrite patterns that are turned off
  Faults faults;
  bool tf32 = false;
};

// A graph made ready to run; independent of the Graph's lifetime. One thread at a time.
class Program {
 public:
  virtual ~Program() = default;
  virtual const Plan& plan() const = 0;
  // Inputs as the graph lists them, then states. The trace holds them, and every region output, at their
  // ValueIds.
  virtual Trace run(std::span<const TensorPtr> inputs) = 0;
  // Looks again at the run that left `trace`, the last one: repeats it, checks the memory around it.
  virtual std::optional<Disagreement> recheck(std::span<const TensorPtr> inputs, const Trace& trace) = 0;
};

// Stateless and shared between threads.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;
  virtual std::string_view doc() const = 0;
  // Why it cannot run here now, in a few words ("no NVIDIA driver"); nothing where it can. Asked when a pair
  // is chosen; a device that fails later throws DeviceError.
  virtual std::optional<std::string> unavailable() const = 0;
  // The problem is the reason for `unsupported`.
  virtual Result<std::unique_ptr<Program>> compile(const Graph& graph,
                                                   const CompileOptions& options) const = 0;
};

}  // namespace fusesmith::backends
