// Sums, means, maxima and variances along axes: single ops, and softmax and norms written as separate ops.
#include <algorithm>
#include <numeric>

#include "fuzz/generate/pieces/pieces.h"

namespace fusesmith::fuzz {
namespace {

// exp(x - max) / sum, as separate ops.
Value softmax_by_hand(Scene& s, Value x, const Shape& axes) {
  const Value shifted = s.op(Sub{}, {x, s.op(ReduceMax{axes, true}, {x})});
  const Value e = s.op(Exp{}, {shifted});
  return s.op(Div{}, {e, s.op(ReduceSum{axes, true}, {e})});
}

// (x - mean) rsqrt(var + eps), or x rsqrt(mean(x^2) + eps), as separate ops.
Value norm_by_hand(Scene& s, Value x, const Shape& axes) {
  const Value eps = s.sketch.input("eps", {s.type(x).dtype, {}}, Constant{s.choices.pick({1e-5, 1e-3, 0.1})});
  if (s.flip()) {
    const Value square = s.op(Mul{}, {x, x});
    const Value total = s.op(Add{}, {s.op(ReduceMean{axes, true}, {square}), eps});
    return s.op(Mul{}, {x, s.op(Rsqrt{}, {total})});
  }
  const Value var = s.op(VarMean{axes, s.flip(0.8) ? 0 : 1, true}, {x}), mean = var + 1;
  const Value r = s.op(Rsqrt{}, {s.op(Add{}, {var, eps})});
  return s.op(Mul{}, {s.op(Sub{}, {x, mean}), r});
}

}  // namespace

Shape random_axes(Scene& s, int rank) {
  Shape axes(static_cast<size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  const int64_t count = s.flip(0.7) ? 1 : s.choices.between(1, rank);
  for (int64_t i = 0; i < count; ++i) {
    std::swap(axes[static_cast<size_t>(i)], axes[static_cast<size_t>(s.choices.between(i, rank - 1))]);
  }
  axes.resize(static_cast<size_t>(count));
  if (s.flip(0.4)) {
    for (int64_t& axis : axes) axis -= rank;
  }
  return axes;
}

bool add_reduction(Scene& s) {
  const Value x = s.any(1, 5);
  const Shape axes = s.flip(0.5) ? Shape{-1} : random_axes(s, s.type(x).rank());
  const bool keepdims = s.flip();
  switch (s.choices.below(6)) {
    case 1:
      s.keep(s.op(ReduceMean{axes, keepdims}, {x}));
      return true;
    case 2:
      s.keep(s.op(ReduceMax{axes, keepdims}, {x}));
      return true;
    case 3: {
      const Value var = s.op(VarMean{axes, s.choices.below(2), keepdims}, {x});
      s.keep(var);
      s.keep(var + 1);
      return true;
    }
    case 4:
      s.keep(softmax_by_hand(s, x, axes));
      return true;
    case 5:
      s.keep(norm_by_hand(s, x, axes));
      return true;
    default:
      s.keep(s.op(ReduceSum{axes, keepdims}, {x}));
      return true;
  }
}

}  // namespace fusesmith::fuzz
