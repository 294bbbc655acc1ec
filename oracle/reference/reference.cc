#include "oracle/reference/ops.h"

namespace fusesmith::oracle {

bool computes(const Op& op) {
  const OpClass op_class = info(op).op_class;
  return op_class != OpClass::movement && op_class != OpClass::select && op_class != OpClass::source;
}

std::vector<Bounded> reference(const Op& op, BoundedSpan inputs, TypeSpan outputs,
                               const Arithmetic& arithmetic) {
  return std::visit(
      [&]<class T>(const T& x) -> std::vector<Bounded> {
        if constexpr (T::info.op_class == OpClass::composite) {
          check(false, "reference: composite ops are evaluated through their expansion");
          return {};
        } else if constexpr (ref::kHasSeveralOutputs<T>) {
          return ref::reference(x, inputs, outputs, arithmetic);
        } else {
          std::vector<Bounded> results;  // a list in braces would copy its element
          results.push_back(ref::reference(x, inputs, outputs[0], arithmetic));
          return results;
        }
      },
      op);
}

}  // namespace fusesmith::oracle
