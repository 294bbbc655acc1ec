// The exception of a worker process that did not answer as docs/workers.md says: a verdict on the case.
#pragma once

#include <stdexcept>
#include <string>

#include "graph/namespaces.h"

namespace fusesmith::backends {

class WorkerError : public std::runtime_error {
 public:
  enum class Kind {
    died,           // the process ended, or closed its standard output
    timed_out,      // no answer within the time limit; the process was killed
    overloaded,     // the same, but it had too little time of a CPU, or was stopped; says nothing of the case
    bad_reply,      // not what the protocol allows: another shape, too few tensors, no frame
    failed,         // the program that the worker runs raised an exception
    out_of_memory,  // it ran out of memory; the worker goes on
  };
  // `details`: what the worker said beside it, in lines, such as a traceback.
  WorkerError(Kind kind, std::string backend, const std::string& what, std::string details = "")
      : std::runtime_error(what), kind_(kind), backend_(std::move(backend)), details_(std::move(details)) {}
  Kind kind() const { return kind_; }
  const std::string& backend() const { return backend_; }
  const std::string& details() const { return details_; }

 private:
  Kind kind_;
  std::string backend_, details_;
};

}  // namespace fusesmith::backends
