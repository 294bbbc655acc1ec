// When a region is judged by a sample of its elements (oracle/sampling.h).
#pragma once

#include <cstdint>

namespace fusesmith::oracle {

inline constexpr int64_t kSampleWhereNeeded = -1;

struct SampleOptions {
  // How many indices along each independent axis; 0: all, the whole region is judged. kSampleWhereNeeded: all
  // where the reference costs little, else as many as cost little.
  int64_t indices = kSampleWhereNeeded;
  uint64_t seed = 0;
};

}  // namespace fusesmith::oracle
