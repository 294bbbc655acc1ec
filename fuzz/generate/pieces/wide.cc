// Reductions along any axis, and wide ones: up to 4096 elements or terms in a row, with small other sizes,
// so that the size thresholds of kernels are reached.
#include "fuzz/generate/pieces/pieces.h"

namespace fusesmith::fuzz {

bool add_softmax(Scene& s) {
  Value x = s.any(1, 5);
  const int rank = s.type(x).rank();
  if (s.flip(0.3)) x = s.op(Scale{s.choices.pick({4.0, 0.125, 16.0})}, {x});
  s.keep(s.op(Softmax{s.flip(0.6) ? -1 : s.choices.between(-rank, rank - 1)}, {x}));
  return true;
}

bool add_wide(Scene& s) {
  const int64_t n = s.wide_dim(std::min<int64_t>(4096, s.max_elements / 8));
  const int64_t rows = s.dim(std::max<int64_t>(1, std::min<int64_t>(64, s.max_elements / (6 * n))));
  const int64_t out =
      s.dim(std::max<int64_t>(1, std::min(s.max_operations / (2 * n * rows), s.max_elements / (4 * n))));
  const TensorType row{s.dtype, {rows, n}};
  switch (s.choices.below(5)) {
    case 1: {
      const Value x = s.like(row);
      s.keep(normalize(s, x));
      return true;
    }
    case 2: {
      const Value x = s.like(row);
      s.keep(s.op(Softmax{-1}, {x}));
      return true;
    }
    case 3: {  // long keys
      const int64_t size = s.dim(std::min<int64_t>(64, std::max<int64_t>(1, s.max_elements / (8 * n))));
      const Value q = s.like({s.dtype, {rows, size}}), k = s.like({s.dtype, {n, size}}),
                  v = s.like({s.dtype, {n, size}});
      s.keep(attend(s, q, k, v));
      return true;
    }
    case 4: {  // wide hidden layer
      const Value x = s.like({s.dtype, {rows, out}});
      const Value h = activate(s, project(s, x, n));
      s.keep(project(s, h, out));
      return true;
    }
    default: {
      const Value x = s.like(row);
      s.keep(project(s, x, out));
      return true;
    }
  }
}

}  // namespace fusesmith::fuzz
