// The exception of a failed device. Independent of CUDA, so that campaigns can distinguish it from a
// crash.
#pragma once

#include <stdexcept>
#include <string>

#include "graph/namespaces.h"

namespace fusesmith::backends {

class DeviceError : public std::runtime_error {
 public:
  enum class Kind {
    unhealthy,      // a call failed; after most such errors nothing runs on the device in this process
    out_of_memory,  // the device works; the case is too large for its memory
  };
  DeviceError(Kind kind, const std::string& what) : std::runtime_error(what), kind_(kind) {}
  Kind kind() const { return kind_; }

 private:
  Kind kind_;
};

}  // namespace fusesmith::backends
