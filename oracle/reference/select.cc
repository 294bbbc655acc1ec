// Select ops: each element is one of the inputs' or a constant; nothing rounds.
#include <cmath>

#include "oracle/reference/ops.h"

namespace fusesmith::ref {

// max(x, 0) moves no two values further apart, so e passes through; NaN stays NaN.
Bounded reference(const Relu&, BoundedSpan in, const TensorType& out, const Arithmetic&) {
  const Bounded& x = *in[0];
  Bounded y(out);
  if (!x.exact()) y.e.resize(y.v.size());
  for (size_t i = 0; i < y.v.size(); ++i) {
    y.v[i] = x.v[i] <= 0 ? 0 : x.v[i];
    if (!x.exact()) y.e[i] = x.v[i] + x.e[i] <= 0 ? 0 : x.e[i];
  }
  return y;
}

Bounded reference(const Where&, BoundedSpan in, const TensorType& out, const Arithmetic&) {
  const Bounded &condition = *in[0], &a = *in[1], &b = *in[2];
  Bounded y(out);
  for_each_broadcast<3>(out.shape, {&condition.type.shape, &a.type.shape, &b.type.shape},
                        [&](size_t i, const auto& at) {
                          const bool first = condition.v[at[0]] != 0;
                          y.set(i, first ? a.v[at[1]] : b.v[at[2]], first ? a.error(at[1]) : b.error(at[2]));
                        });
  return y;
}

Bounded reference(const MaskedFill& op, BoundedSpan in, const TensorType& out, const Arithmetic&) {
  const Bounded &x = *in[0], &mask = *in[1];
  const double value = round_to(out.dtype, op.value);
  Bounded y(out);
  for_each_broadcast<1>(out.shape, {&mask.type.shape}, [&](size_t i, const auto& at) {
    const bool fill = (mask.v[at[0]] != 0) != op.inverted;
    y.set(i, fill ? value : x.v[i], fill ? 0 : x.error(i));
  });
  return y;
}

}  // namespace fusesmith::ref
