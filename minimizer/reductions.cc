#include "minimizer/reductions.h"

namespace fusesmith::minimizer {

std::span<const Reduction> all_reductions() {
#define REDUCTION(name) name,
  static const Reduction reductions[] = {
#include "minimizer/reductions/list.def"
  };
#undef REDUCTION
  return reductions;
}

}  // namespace fusesmith::minimizer
