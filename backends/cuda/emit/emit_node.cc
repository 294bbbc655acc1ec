#include "backends/cuda/emit/emit_node.h"

#include <algorithm>

#include "backends/common/scalar_step.h"
#include "backends/cuda/emit/emit_cudnn.h"
#include "backends/cuda/emit/pointwise_program.h"
#include "graph/expand.h"

namespace fusesmith::backends {

namespace {

// A composite op by its expansion. Inner values are stored in temporaries; outputs of the expansion in `out`.
void emit_parts(const Op& op, DeviceTensors in, DeviceTensors out, Emitter& emitter) {
  Types types;
  for (const DeviceTensor& tensor : in) types.push_back(tensor.type);
  const auto graph = expansion(op, types);
  check(graph != nullptr, "emit: no expansion");
  std::vector<DeviceTensor> values(in.begin(), in.end());
  const std::vector<ValueId>& outputs = graph->outputs();
  for (ValueId v = static_cast<ValueId>(in.size()); v < graph->value_count(); ++v) {
    const auto at = std::find(outputs.begin(), outputs.end(), v);
    values.push_back(at != outputs.end() ? out[static_cast<size_t>(at - outputs.begin())]
                                         : emitter.temporary(graph->type(v)));
  }
  for (const Node& node : graph->nodes()) {
    std::vector<DeviceTensor> node_in;
    for (ValueId v : node.inputs) node_in.push_back(values[static_cast<size_t>(v)]);
    const auto first = static_cast<size_t>(node.first_output);
    const auto node_out = std::span(values).subspan(first, static_cast<size_t>(node.output_count));
    emit_node(node.op, node_in, node_out, emitter);
  }
}

// One program where the formula is pointwise.
void emit_composite(const Op& op, DeviceTensors in, DeviceTensors out, Emitter& emitter) {
  Types types;
  for (const DeviceTensor& tensor : in) types.push_back(tensor.type);
  const auto formula = pointwise_formula(op, types);
  if (formula && fits_program(*formula, in)) return emit_formula(*formula, in, out, emitter);
  emit_parts(op, in, out, emitter);
}

}  // namespace

void emit_node(const Op& op, DeviceTensors in, DeviceTensors out, Emitter& emitter) {
  std::visit(
      [&]<class T>(const T& x) {
        if constexpr (T::info.op_class == OpClass::composite)
          emit_composite(op, in, out, emitter);
        else if constexpr (kComputesElements<T> && !kCudnnActivation<T>)
          emit_pointwise_node(op, in, out, emitter);
        else
          emit(x, in, out, emitter);
      },
      op);
}

}  // namespace fusesmith::backends
