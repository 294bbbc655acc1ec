// Embeddings: table rows by token ids, by positions (arange, optionally broadcast over the batch), or the
// sum of both.
#include "fuzz/generate/pieces/pieces.h"

namespace fusesmith::fuzz {
namespace {

Value positions(Scene& s, const Shape& shape) {
  const int64_t count = shape.back();
  const int64_t step = s.flip(0.85) ? 1 : 2, start = s.flip(0.8) ? 0 : s.choices.between(1, 4);
  const int64_t rows = start + (count - 1) * step + 1 + s.choices.between(0, 5);
  Value ids = s.op(Arange{count, start, step}, {});
  if (shape.size() == 2 && s.flip(0.6)) {
    if (s.flip()) ids = s.op(Unsqueeze{0}, {ids});
    ids = s.op(BroadcastTo{shape}, {ids});
  }
  const Value table = s.source("table", {s.dtype, {rows, s.width}}, Role::activation);
  return s.op(Gather{}, {table, ids});
}

Value token_rows(Scene& s, const Shape& shape) {
  const int64_t rows = s.flip(0.8) ? s.dim() : s.wide_dim(1025);
  const Value table = s.source("table", {s.dtype, {rows, s.width}}, Role::activation);
  const Value ids = s.token_ids(shape, rows);
  return s.op(Gather{}, {table, ids});
}

}  // namespace

bool add_embedding(Scene& s) {
  const Shape shape = s.flip(0.85) ? Shape{s.batch, s.tokens} : Shape{s.tokens};
  const auto form = s.choices.below(4);
  if (form == 3) {
    s.keep(positions(s, shape));
    return true;
  }
  Value x = token_rows(s, shape);
  if (form != 2) {
    const Value p = positions(s, shape);
    x = add_either_way(s, x, p);
  }
  if (s.flip(0.2)) x = s.op(Dropout{}, {x});
  s.keep(x);
  return true;
}

}  // namespace fusesmith::fuzz
