// Movement ops: output elements are input elements, moved bit for bit by one strided copy.
#include <algorithm>

#include "backends/common/kernels.h"
#include "backends/common/storage.h"
#include "backends/common/strided.h"

namespace fusesmith {
namespace {

// out[i...] = x[start + sum i * strides], over the output's shape.
void copy_view(const Tensor& x, int64_t start, const Shape& strides, Tensor& out) {
  with_storage(out.type.dtype, [&]<class T>(std::type_identity<T>) {
    copy_strided(x.as<T>().data() + start, out.type.shape, strides, out.as<T>().data());
  });
}

void copy_bits(Inputs in, Outputs out) { out[0].bytes = in[0]->bytes; }

}  // namespace

void compute(const Dropout&, Inputs in, Outputs out) { copy_bits(in, out); }
void compute(const Reshape&, Inputs in, Outputs out) { copy_bits(in, out); }
void compute(const Unsqueeze&, Inputs in, Outputs out) { copy_bits(in, out); }
void compute(const Squeeze&, Inputs in, Outputs out) { copy_bits(in, out); }

void compute(const Permute& op, Inputs in, Outputs out) {
  const Shape own = strides_of(in[0]->type.shape);
  Shape strides;
  for (int64_t dim : op.dims) strides.push_back(own[static_cast<size_t>(dim)]);
  copy_view(*in[0], 0, strides, out[0]);
}

void compute(const BroadcastTo&, Inputs in, Outputs out) {
  copy_view(*in[0], 0, broadcast_strides(in[0]->type.shape, out[0].type.shape), out[0]);
}

void compute(const Slice& op, Inputs in, Outputs out) {
  const size_t axis = static_cast<size_t>(*resolve_axis(op.axis, in[0]->type.rank()));
  Shape strides = strides_of(in[0]->type.shape);
  const int64_t start = op.start * strides[axis];
  strides[axis] *= op.step;
  copy_view(*in[0], start, strides, out[0]);
}

void compute(const Gather&, Inputs in, Outputs out) {
  const Tensor& table = *in[0];
  const int64_t rows = table.type.shape[0];
  const size_t row_bytes = table.bytes.size() / static_cast<size_t>(rows);
  auto to = out[0].bytes.begin();
  for (int32_t index : in[1]->as<int32_t>()) {
    check(index >= 0 && index < rows, "gather: index out of range");
    to = std::copy_n(table.bytes.begin() + static_cast<int64_t>(row_bytes) * index, row_bytes, to);
  }
}

}  // namespace fusesmith
