// Mean and variance of a row in one pass, in eight lanes that are merged pairwise at the end (Chan, Golub and
// LeVeque 1979), as a warp does it.
#pragma once

#include <array>
#include <cstddef>
#include <span>

namespace fusesmith::backends {

// The mean of `count` elements, and the sum of their squared differences from it.
struct Statistics {
  float count = 0, mean = 0, squares = 0;

  void add(float x) {
    count += 1;
    const float before = x - mean;
    mean += before / count;
    squares += before * (x - mean);
  }

  void merge(const Statistics& other) {
    if (other.count == 0) return;
    const float total = count + other.count, distance = other.mean - mean;
    mean += distance * (other.count / total);
    squares += other.squares + distance * distance * (count * (other.count / total));
    count = total;
  }
};

inline Statistics welford(std::span<const float> row) {
  std::array<Statistics, 8> lanes;
  for (size_t i = 0; i < row.size(); ++i) lanes[i % lanes.size()].add(row[i]);
  for (size_t width = lanes.size() / 2; width > 0; width /= 2) {
    for (size_t l = 0; l < width; ++l) lanes[l].merge(lanes[l + width]);
  }
  return lanes[0];
}

}  // namespace fusesmith::backends
