// Select ops: output elements are input elements or a constant, chosen by a bool tensor, bit for bit.
#include "backends/common/kernels.h"
#include "backends/common/shown_step.h"
#include "backends/common/storage.h"
#include "backends/common/strided.h"

namespace fusesmith::backends {
namespace {

// out = condition ? a : b, each read with its strides over the output's shape.
template <class T>
void select(const uint8_t* condition, const T* a, const T* b, std::array<Shape, 3> strides, Tensor& out) {
  T* to = out.as<T>().data();
  using Three = std::array<int64_t, 3>;
  for_each_row(Strided<3>{out.type.shape, std::move(strides)},
               [&](const Three& at, int64_t count, const Three& step) {
                 for (int64_t i = 0; i < count; ++i) {
                   to[i] = condition[at[0] + i * step[0]] ? a[at[1] + i * step[1]] : b[at[2] + i * step[2]];
                 }
                 to += count;
               });
}

}  // namespace

void compute(const Where& op, Inputs in, Outputs out, const KernelOptions& options) {
  const auto chosen = [](float condition, float a, float b) { return condition != 0 ? a : b; };
  if (show_elements<3>(op, in, out[0], options, chosen)) return;
  const Shape& shape = out[0].type.shape;
  const auto strides = [&](size_t i) { return broadcast_strides(in[i]->type.shape, shape); };
  with_storage(out[0].type.dtype, [&]<class T>(std::type_identity<T>) {
    select<T>(in[0]->as<uint8_t>().data(), in[1]->as<T>().data(), in[2]->as<T>().data(),
              {strides(0), strides(1), strides(2)}, out[0]);
  });
}

void compute(const MaskedFill& op, Inputs in, Outputs out, const KernelOptions& options) {
  const auto filled = [&](float x, float hidden) {
    return (hidden != 0) != op.inverted ? static_cast<float>(round_to(out[0].type.dtype, op.value)) : x;
  };
  if (show_elements<2>(op, in, out[0], options, filled)) return;
  const Shape& shape = out[0].type.shape;
  const Shape own = strides_of(shape), mask = broadcast_strides(in[1]->type.shape, shape),
              one_value(shape.size(), 0);
  Tensor value({out[0].type.dtype, {}});
  value.set(0, op.value);
  with_storage(out[0].type.dtype, [&]<class T>(std::type_identity<T>) {
    const T *x = in[0]->as<T>().data(), *fill = value.as<T>().data();
    const uint8_t* condition = in[1]->as<uint8_t>().data();
    if (op.inverted)
      select<T>(condition, x, fill, {mask, own, one_value}, out[0]);
    else
      select<T>(condition, fill, x, {mask, one_value, own}, out[0]);
  });
}

}  // namespace fusesmith::backends
