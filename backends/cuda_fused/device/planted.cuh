// Planted faults in device code: a flag counts only in builds that carry faults. Only .cu files include this.
#pragma once

namespace fusesmith::backends::device {

#ifdef FUSESMITH_FAULTS
__device__ constexpr bool planted(bool fault) { return fault; }
#else
__device__ constexpr bool planted(bool) { return false; }
#endif

}  // namespace fusesmith::backends::device
