// Movement ops: output elements are input elements, moved bit for bit by one strided copy.
#include <algorithm>

#include "backends/common/flip_view.h"
#include "backends/common/kernels.h"
#include "backends/common/storage.h"
#include "backends/common/strided.h"

namespace fusesmith::backends {
namespace {

// out[i...] = x[start + sum i * strides], over the output's shape.
void copy_view(const Tensor& x, int64_t start, const Shape& strides, Tensor& out) {
  with_storage(out.type.dtype, [&]<class T>(std::type_identity<T>) {
    copy_strided(x.as<T>().data() + start, out.type.shape, strides, out.as<T>().data());
  });
}

// An axis of a tensor, in bytes: `outer` runs of `size` slices.
struct AxisView {
  int64_t outer, size, slice;
};
AxisView view_of(const TensorType& type, int64_t axis) {
  const auto at = static_cast<size_t>(*resolve_axis(axis, type.rank()));
  const int64_t inner = strides_of(type.shape)[at], size = type.shape[at];
  return {element_count(type) / (inner * size), size, inner * size_of(type.dtype)};
}

// Slices [from, from + count) of every run of x become slices [to, to + count) of y.
void copy_slices(const Tensor& x, const AxisView& in, int64_t from, int64_t count, Tensor& y,
                 const AxisView& out, int64_t to) {
  for (int64_t run = 0; run < out.outer; ++run) {
    const auto source = x.bytes.begin() + (run * in.size + from) * in.slice;
    std::copy_n(source, count * in.slice, y.bytes.begin() + (run * out.size + to) * out.slice);
  }
}

void copy_bits(Inputs in, Outputs out) { out[0].bytes = in[0]->bytes; }

}  // namespace

void compute(const Dropout&, Inputs in, Outputs out, const KernelOptions&) { copy_bits(in, out); }
void compute(const Reshape&, Inputs in, Outputs out, const KernelOptions&) { copy_bits(in, out); }
void compute(const Unsqueeze&, Inputs in, Outputs out, const KernelOptions&) { copy_bits(in, out); }
void compute(const Squeeze&, Inputs in, Outputs out, const KernelOptions&) { copy_bits(in, out); }

void compute(const Permute& op, Inputs in, Outputs out, const KernelOptions&) {
  const Shape own = strides_of(in[0]->type.shape);
  Shape strides;
  for (int64_t dim : op.dims) strides.push_back(own[static_cast<size_t>(dim)]);
  copy_view(*in[0], 0, strides, out[0]);
}

void compute(const BroadcastTo&, Inputs in, Outputs out, const KernelOptions&) {
  copy_view(*in[0], 0, broadcast_strides(in[0]->type.shape, out[0].type.shape), out[0]);
}

void compute(const Slice& op, Inputs in, Outputs out, const KernelOptions&) {
  const size_t axis = static_cast<size_t>(*resolve_axis(op.axis, in[0]->type.rank()));
  Shape strides = strides_of(in[0]->type.shape);
  const int64_t start = op.start * strides[axis];
  strides[axis] *= op.step;
  copy_view(*in[0], start, strides, out[0]);
}

void compute(const Chunk& op, Inputs in, Outputs out, const KernelOptions&) {
  const AxisView whole = view_of(in[0]->type, op.axis), part = view_of(out[0].type, op.axis);
  int64_t from = 0;
  for (Tensor& chunk : out) {
    copy_slices(*in[0], whole, from, part.size, chunk, part, 0);
    from += part.size;
  }
}

void compute(const Concat& op, Inputs in, Outputs out, const KernelOptions&) {
  const AxisView whole = view_of(out[0].type, op.axis);
  int64_t to = 0;
  for (const Tensor* x : in) {
    const AxisView part = view_of(x->type, op.axis);
    copy_slices(*x, part, 0, part.size, out[0], whole, to);
    to += part.size;
  }
}

void compute(const Roll& op, Inputs in, Outputs out, const KernelOptions&) {
  const AxisView view = view_of(out[0].type, op.axis);
  const int64_t shift = roll_offset(op, view.size);
  copy_slices(*in[0], view, 0, view.size - shift, out[0], view, shift);
  copy_slices(*in[0], view, view.size - shift, shift, out[0], view, 0);
}

void compute(const Flip& op, Inputs in, Outputs out, const KernelOptions&) {
  const FlipView view = flip_view(op, out[0].type);
  copy_view(*in[0], view.start, view.strides, out[0]);
}

void compute(const IndexCopy& op, Inputs in, Outputs out, const KernelOptions&) {
  const AxisView whole = view_of(out[0].type, op.axis), part = view_of(in[2]->type, op.axis);
  out[0].bytes = in[0]->bytes;
  int64_t from = 0;
  for (int32_t index : in[1]->as<int32_t>()) {
    check(index >= 0 && index < whole.size, "index_copy: index out of range");
    copy_slices(*in[2], part, from++, 1, out[0], whole, index);
  }
}

void compute(const Gather&, Inputs in, Outputs out, const KernelOptions&) {
  const Tensor& table = *in[0];
  const int64_t rows = table.type.shape[0];
  const size_t row_bytes = table.bytes.size() / static_cast<size_t>(rows);
  auto to = out[0].bytes.begin();
  for (int32_t index : in[1]->as<int32_t>()) {
    check(index >= 0 && index < rows, "gather: index out of range");
    to = std::copy_n(table.bytes.begin() + static_cast<int64_t>(row_bytes) * index, row_bytes, to);
  }
}

}  // namespace fusesmith::backends
