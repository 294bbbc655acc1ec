#include "graph/dtype.h"

#include <cmath>

namespace fusesmith::graph {

std::optional<Dtype> parse_dtype(std::string_view text) {
  for (Dtype dtype : kDtypes) {
    if (name(dtype) == text) return dtype;
  }
  return std::nullopt;
}

double unit_roundoff(Dtype dtype) { return std::ldexp(1.0, -precision(dtype)); }

}  // namespace fusesmith::graph
