// Movement and source ops: elements are copied with their bounds.
#include <limits>

#include "oracle/reference/ops.h"

namespace fusesmith::oracle::ref {
namespace {

Bounded same_elements(BoundedSpan in, const TensorType& out) {
  Bounded y(*in[0]);
  y.type = out;
  return y;
}

// Output element at index (i0, i1, ...) is input element offset + sum of i_d strides[d].
Bounded strided(const Bounded& x, const TensorType& out, const Shape& strides, int64_t offset) {
  Bounded y(out);
  if (!x.exact()) y.e.resize(y.v.size());
  Shape index(out.shape.size(), 0);
  int64_t at = offset;
  for (size_t i = 0; i < y.v.size(); ++i) {
    y.v[i] = x.v[static_cast<size_t>(at)];
    if (!x.exact()) y.e[i] = x.e[static_cast<size_t>(at)];
    for (size_t d = index.size(); d-- > 0;) {
      at += strides[d];
      if (++index[d] < out.shape[d]) break;
      at -= strides[d] * out.shape[d];
      index[d] = 0;
    }
  }
  return y;
}

// to[i] := from[j], with its bound.
void copy_element(const Bounded& from, size_t j, Bounded& to, size_t i) {
  to.set(i, from.v[j], from.error(j));
}

// An axis and what lies outside and inside of it.
struct AxisView {
  size_t outer, size, inner;
};
AxisView view_of(const Shape& shape, int64_t axis) {
  const auto at = static_cast<size_t>(*resolve_axis(axis, static_cast<int>(shape.size())));
  const auto size = static_cast<size_t>(shape[at]), inner = static_cast<size_t>(strides_of(shape)[at]);
  return {static_cast<size_t>(element_count(shape)) / (size * inner), size, inner};
}

}  // namespace

Bounded reference(const Dropout&, BoundedSpan in, const TensorType& out, const Arithmetic&) {
  return same_elements(in, out);
}
Bounded reference(const Reshape&, BoundedSpan in, const TensorType& out, const Arithmetic&) {
  return same_elements(in, out);
}
Bounded reference(const Unsqueeze&, BoundedSpan in, const TensorType& out, const Arithmetic&) {
  return same_elements(in, out);
}
Bounded reference(const Squeeze&, BoundedSpan in, const TensorType& out, const Arithmetic&) {
  return same_elements(in, out);
}

Bounded reference(const Permute& op, BoundedSpan in, const TensorType& out, const Arithmetic&) {
  const Shape own = strides_of(in[0]->type.shape);
  Shape strides;
  for (int64_t dim : op.dims) strides.push_back(own[static_cast<size_t>(dim)]);
  return strided(*in[0], out, strides, 0);
}

Bounded reference(const BroadcastTo&, BoundedSpan in, const TensorType& out, const Arithmetic&) {
  return strided(*in[0], out, broadcast_strides(in[0]->type.shape, out.shape), 0);
}

Bounded reference(const Slice& op, BoundedSpan in, const TensorType& out, const Arithmetic&) {
  Shape strides = strides_of(in[0]->type.shape);
  const auto axis = static_cast<size_t>(*resolve_axis(op.axis, in[0]->type.rank()));
  const int64_t offset = op.start * strides[axis];
  strides[axis] *= op.step;
  return strided(*in[0], out, strides, offset);
}

std::vector<Bounded> reference(const Chunk& op, BoundedSpan in, TypeSpan out, const Arithmetic&) {
  const Shape strides = strides_of(in[0]->type.shape);
  const auto axis = static_cast<size_t>(*resolve_axis(op.axis, in[0]->type.rank()));
  std::vector<Bounded> parts;
  for (const TensorType& part : out) {
    const auto before = static_cast<int64_t>(parts.size()) * part.shape[axis];
    parts.push_back(strided(*in[0], part, strides, before * strides[axis]));
  }
  return parts;
}

Bounded reference(const Concat& op, BoundedSpan in, const TensorType& out, const Arithmetic&) {
  const AxisView whole = view_of(out.shape, op.axis);
  Bounded y(out);
  size_t before = 0;
  for (const Bounded* x : in) {
    const AxisView part = view_of(x->type.shape, op.axis);
    const size_t length = part.size * part.inner;
    for (size_t j = 0; j < x->v.size(); ++j) {
      copy_element(*x, j, y, (j / length * whole.size + before) * whole.inner + j % length);
    }
    before += part.size;
  }
  return y;
}

Bounded reference(const Roll& op, BoundedSpan in, const TensorType& out, const Arithmetic&) {
  const AxisView view = view_of(out.shape, op.axis);
  const auto shift = static_cast<size_t>(roll_offset(op, static_cast<int64_t>(view.size)));
  Bounded y(out);
  for (size_t j = 0; j < y.v.size(); ++j) {
    const size_t at = j / view.inner % view.size, to = (at + shift) % view.size;
    copy_element(*in[0], j, y, j - at * view.inner + to * view.inner);
  }
  return y;
}

Bounded reference(const Flip& op, BoundedSpan in, const TensorType& out, const Arithmetic&) {
  Shape strides = strides_of(out.shape);
  int64_t last = 0;
  const std::vector<int> axes = *resolve_axes(op.axes, out.rank());
  for (int axis : axes) {
    const auto at = static_cast<size_t>(axis);
    last += (out.shape[at] - 1) * strides[at];
    strides[at] = -strides[at];
  }
  return strided(*in[0], out, strides, last);
}

// A graph's indices are in range; those that a backend computed wrongly need not be. Its region fails; of
// what reads them, nothing is known.
bool in_range(double index, size_t count) { return index >= 0 && index < static_cast<double>(count); }

Bounded reference(const IndexCopy& op, BoundedSpan in, const TensorType& out, const Arithmetic&) {
  const Bounded &index = *in[1], &source = *in[2];
  const AxisView whole = view_of(out.shape, op.axis), part = view_of(source.type.shape, op.axis);
  Bounded y(*in[0]);
  for (size_t j = 0; j < source.v.size(); ++j) {
    const size_t outer = j / (part.size * part.inner), at = j / part.inner % part.size;
    if (!in_range(index.v[at], whole.size)) continue;
    const auto to = static_cast<size_t>(index.v[at]);
    copy_element(source, j, y, (outer * whole.size + to) * whole.inner + j % part.inner);
  }
  return y;
}

Bounded reference(const Gather&, BoundedSpan in, const TensorType& out, const Arithmetic&) {
  const Bounded &table = *in[0], &indices = *in[1];
  const size_t width = table.v.size() / static_cast<size_t>(table.type.shape[0]);
  Bounded y(out);
  if (!table.exact()) y.e.resize(y.v.size());
  for (size_t row = 0; row < indices.v.size(); ++row) {
    if (!in_range(indices.v[row], static_cast<size_t>(table.type.shape[0]))) {
      for (size_t j = 0; j < width; ++j) y.set(row * width + j, 0, std::numeric_limits<double>::infinity());
      continue;
    }
    const size_t from = static_cast<size_t>(indices.v[row]) * width;
    for (size_t j = 0; j < width; ++j) {
      y.v[row * width + j] = table.v[from + j];
      if (!y.exact()) y.e[row * width + j] = table.error(from + j);
    }
  }
  return y;
}

Bounded reference(const Arange& op, BoundedSpan, const TensorType& out, const Arithmetic&) {
  Bounded y(out);
  for (size_t i = 0; i < y.v.size(); ++i)
    y.v[i] = static_cast<double>(op.start + static_cast<int64_t>(i) * op.step);
  return y;
}

Bounded reference(const CausalMask& op, BoundedSpan, const TensorType& out, const Arithmetic&) {
  Bounded y(out);
  for (int64_t i = 0; i < op.rows; ++i) {
    for (int64_t j = 0; j < op.cols; ++j) y.v[static_cast<size_t>(i * op.cols + j)] = op.hides(i, j);
  }
  return y;
}

}  // namespace fusesmith::oracle::ref
