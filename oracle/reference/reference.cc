#include "oracle/reference/ops.h"

namespace fusesmith {

bool computes(const Op& op) {
  const OpClass op_class = info(op).op_class;
  return op_class != OpClass::movement && op_class != OpClass::select && op_class != OpClass::source;
}

Bounded reference(const Op& op, BoundedSpan inputs, const TensorType& output, const Arithmetic& arithmetic) {
  return std::visit(
      [&]<class T>(const T& x) -> Bounded {
        if constexpr (T::info.op_class == OpClass::composite) {
          check(false, "reference: composite ops are evaluated through their expansion");
          return Bounded(output);
        } else {
          return ref::reference(x, inputs, output, arithmetic);
        }
      },
      op);
}

}  // namespace fusesmith
