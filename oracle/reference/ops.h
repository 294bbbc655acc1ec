// The overloads behind oracle/reference.h.
#pragma once

#include "oracle/reference.h"

namespace fusesmith::oracle::ref {

#define FUSESMITH_REFERENCE(T) \
  Bounded reference(const T&, BoundedSpan in, const TensorType& out, const Arithmetic& arithmetic)
FUSESMITH_REFERENCE(Einsum);
FUSESMITH_REFERENCE(Matmul);
FUSESMITH_REFERENCE(Linear);
FUSESMITH_REFERENCE(Add);
FUSESMITH_REFERENCE(Sub);
FUSESMITH_REFERENCE(Mul);
FUSESMITH_REFERENCE(Div);
FUSESMITH_REFERENCE(Maximum);
FUSESMITH_REFERENCE(Scale);
FUSESMITH_REFERENCE(Relu);
FUSESMITH_REFERENCE(Gelu);
FUSESMITH_REFERENCE(Silu);
FUSESMITH_REFERENCE(Sigmoid);
FUSESMITH_REFERENCE(Tanh);
FUSESMITH_REFERENCE(Exp);
FUSESMITH_REFERENCE(Sqrt);
FUSESMITH_REFERENCE(Rsqrt);
FUSESMITH_REFERENCE(Softcap);
FUSESMITH_REFERENCE(Softmax);
FUSESMITH_REFERENCE(LayerNorm);
FUSESMITH_REFERENCE(RmsNorm);
FUSESMITH_REFERENCE(GroupNorm);
FUSESMITH_REFERENCE(ReduceSum);
FUSESMITH_REFERENCE(ReduceMean);
FUSESMITH_REFERENCE(ReduceMax);
FUSESMITH_REFERENCE(Dropout);
FUSESMITH_REFERENCE(Cast);
FUSESMITH_REFERENCE(Reshape);
FUSESMITH_REFERENCE(Permute);
FUSESMITH_REFERENCE(Unsqueeze);
FUSESMITH_REFERENCE(Squeeze);
FUSESMITH_REFERENCE(BroadcastTo);
FUSESMITH_REFERENCE(Slice);
FUSESMITH_REFERENCE(Concat);
FUSESMITH_REFERENCE(Roll);
FUSESMITH_REFERENCE(Flip);
FUSESMITH_REFERENCE(Gather);
FUSESMITH_REFERENCE(IndexCopy);
FUSESMITH_REFERENCE(Arange);
FUSESMITH_REFERENCE(Where);
FUSESMITH_REFERENCE(MaskedFill);
FUSESMITH_REFERENCE(CausalMask);
FUSESMITH_REFERENCE(Rope);
#undef FUSESMITH_REFERENCE

// Ops with several outputs.
#define FUSESMITH_REFERENCE(T) \
  std::vector<Bounded> reference(const T&, BoundedSpan in, TypeSpan out, const Arithmetic& arithmetic)
FUSESMITH_REFERENCE(VarMean);
FUSESMITH_REFERENCE(Chunk);
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
