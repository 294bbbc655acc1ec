// One stream of all the choices that make a case. They come from Philox, so that case = f(seed, shard,
// counter), or from bytes handed in (libFuzzer); when the bytes run out every further choice is the first
// one, so every byte string makes a case. Only integer arithmetic: every platform and compiler makes the same
// choices.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <set>
#include <span>
#include <utility>

#include "graph/philox.h"
#include "graph/result.h"

namespace fusesmith::fuzz {

class Choices {
 public:
  Choices(uint64_t seed, uint64_t shard, uint64_t counter);
  explicit Choices(std::span<const uint8_t> bytes) : from_bytes_(true), bytes_(bytes) {}

  // Uniform in [0, n), 1 <= n <= 2^32; reads one, two or four bytes.
  int64_t below(int64_t n);
  // Uniform in [lo, hi].
  int64_t between(int64_t lo, int64_t hi) { return lo + below(hi - lo + 1); }
  // True with probability p (in steps of 1/256); false when the bytes have run out, unless p is 1.
  bool flip(double p);

  template <class T>
  const T& pick(std::span<const T> from) {
    return from[static_cast<size_t>(below(static_cast<int64_t>(from.size())))];
  }
  template <class T>
  T pick(std::initializer_list<T> from) {
    return from.begin()[below(static_cast<int64_t>(from.size()))];
  }
  // An index, each with a chance proportional to its weight; weights are not negative and not all 0.
  size_t weighted(std::span<const int> weights);
  // The same of a list that has grown, whose first `old` entries have always been there. One of these is
  // drawn as if there were no others; then each later entry takes its place with the chance that its weight
  // gives it. That takes nothing from the stream, so that a seed makes the same choices before and after an
  // entry is added, but where the entry itself is chosen.
  size_t weighted_of_grown(std::span<const int> weights, size_t old);
  // The number of the last entry that weighted_of_grown has chosen since the last call, counted from `old`
  // on; -1: none.
  int take_latest() { return std::exchange(latest_, -1); }
  // Entries of these numbers are not chosen.
  void bar(std::set<int> later) { barred_ = std::move(later); }

 private:
  uint32_t word(int bytes);
  // Uniform in [0, n) and the same for the same `purpose`, until the next choice.
  int64_t aside(int64_t n, uint64_t purpose) const;

  bool from_bytes_ = false;
  std::span<const uint8_t> bytes_;
  uint64_t key_ = 0, counter_ = 0, block_index_ = 0;
  PhiloxBlock block_{};
  int used_ = 4;  // words of block_ already given out
  int latest_ = -1;
  std::set<int> barred_;
};

}  // namespace fusesmith::fuzz
