// The overloads behind oracle/reference.h.
#pragma once

#include "oracle/reference.h"

namespace fusesmith::oracle::ref {

// An exact value and its error (oracle/bounded.h).
struct Element {
  double v, e;
};

template <class T>
inline constexpr bool kHasSeveralOutputs = T::outputs == OutputCount::several;
template <class T>
using OutputTypes = std::conditional_t<kHasSeveralOutputs<T>, TypeSpan, const TensorType&>;
template <class T>
using OutputBounds = std::conditional_t<kHasSeveralOutputs<T>, std::vector<Bounded>, Bounded>;

// Ops with several outputs.
#define FUSESMITH_REFERENCE(T) \
  OutputBounds<T> reference(const T&, BoundedSpan in, OutputTypes<T> out, const Arithmetic& arithmetic);
FUSESMITH_FOR_EACH_OP(FUSESMITH_REFERENCE)
#undef FUSESMITH_REFERENCE

// Calls f(i, offsets...) for every element i of `to`, with the offset of the matching element of each
// broadcast operand.
template <size_t N, class F>
void for_each_broadcast(const Shape& to, const std::array<const Shape*, N>& from, F f) {
  const size_t rank = to.size();
  std::array<Shape, N> strides;
  for (size_t k = 0; k < N; ++k) strides[k] = broadcast_strides(*from[k], to);
  std::array<int64_t, N> at{};
  Shape index(rank, 0);
  const int64_t inner = rank ? to[rank - 1] : 1;
  const int64_t count = element_count(to);
  for (int64_t i = 0; i < count; i += inner) {
    for (int64_t j = 0; j < inner; ++j) {
      std::array<size_t, N> here;
      for (size_t k = 0; k < N; ++k)
        here[k] = static_cast<size_t>(at[k] + (rank ? j * strides[k][rank - 1] : 0));
      f(static_cast<size_t>(i + j), here);
    }
    for (size_t d = rank; d-- > 1;) {  // advance the outer index
      const size_t axis = d - 1;
      for (size_t k = 0; k < N; ++k) at[k] += strides[k][axis];
      if (++index[axis] < to[axis]) break;
      for (size_t k = 0; k < N; ++k) at[k] -= strides[k][axis] * to[axis];
      index[axis] = 0;
    }
  }
}

}  // namespace fusesmith::oracle::ref
