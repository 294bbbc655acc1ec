// Whole transformer blocks: attention and feed-forward layers with residuals, pre-norm or post-norm.
#include "fuzz/generate/pieces/pieces.h"

namespace fusesmith::fuzz {

bool add_block(Scene& s) {
  Value x = s.any(3, 3);
  const bool pre_norm = s.flip(0.6);
  const auto residual = [&](Value y) {
    const Value sum = add_either_way(s, x, y);
    x = pre_norm ? sum : normalize(s, sum);
  };
  const auto attended = self_attention(s, pre_norm ? normalize(s, x) : x);
  if (!attended || s.type(*attended) != s.type(x)) return false;
  residual(*attended);
  residual(feed_forward(s, pre_norm ? normalize(s, x) : x));
  s.keep(x);
  return true;
}

}  // namespace fusesmith::fuzz
