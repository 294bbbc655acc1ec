// Faults in device code: flags have an effect only in builds with FUSESMITH_FAULTS. Only .cu files
// include this.
#pragma once

namespace fusesmith::backends::device {

#ifdef FUSESMITH_FAULTS
__device__ constexpr bool planted(bool fault) { return fault; }
#else
__device__ constexpr bool planted(bool) { return false; }
#endif

}  // namespace fusesmith::backends::device
