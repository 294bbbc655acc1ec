// Selection by masks: masked_fill and where on live values.
#include <limits>

#include "fuzz/generate/pieces/pieces.h"

namespace fusesmith::fuzz {

bool add_select(Scene& s) {
  const Value x = s.any(1, 4);
  const TensorType type = s.type(x);
  Shape shape = type.shape;
  if (s.flip(0.3))
    shape.erase(shape.begin());
  else if (s.flip(0.3))
    shape.front() = 1;
  const bool causal = type.rank() >= 2 && s.flip(0.3);
  const Value mask = causal ? s.op(CausalMask{type.shape.end()[-2], type.shape.back()}, {})
                            : s.mask(shape, s.choices.pick({0.5, 0.1, 0.9}));
  if (s.flip(0.5)) {
    const double value = s.choices.pick({0.0, 0.0, -1.0, 1.5, -std::numeric_limits<double>::infinity()});
    s.keep(s.op(MaskedFill{value, s.flip(0.3)}, {x, mask}));
    return true;
  }
  const Value other = s.broadcastable(type);
  s.keep(s.flip(0.7) ? s.op(Where{}, {mask, x, other}) : s.op(Where{}, {mask, other, x}));
  return true;
}

}  // namespace fusesmith::fuzz
