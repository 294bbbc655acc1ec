// Which places along an axis a sample takes: those where kernels go wrong most often, and some of all others.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace fusesmith::oracle {

// `count` of the indices 0 to size - 1, and one more for each of `wanted`: sorted, each once; all of them if
// there are not so many. Among them are all of `wanted`, the first and the last one, and if `count` allows it
// indices next to multiples of common tile sizes. The others are drawn, one from each of equal parts of those
// that are left.
// The same arguments give the same indices.
std::vector<int64_t> sample_indices(int64_t size, int64_t count, uint64_t key,
                                    std::span<const int64_t> wanted);

}  // namespace fusesmith::oracle
