// How emission refuses a case that no kernel supports, from any depth of calls.
#pragma once

#include <stdexcept>

#include "graph/result.h"

namespace fusesmith::backends {

class UnsupportedCase : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// compile(), with an UnsupportedCase as the reason for the verdict `unsupported`.
template <class Compile>
auto compile_or_refuse(Compile compile) -> decltype(compile()) {
  try {
    return compile();
  } catch (const UnsupportedCase& refusal) {
    return Problem{refusal.what()};
  }
}

}  // namespace fusesmith::backends
