#include "backends/cuda/emit/library_contract.h"

#include <cmath>

#include "graph/expand.h"

namespace fusesmith::backends {
namespace {

// exp(x - max) off by u16 relatively, or by h (half a subnormal) where it underflows; so may be each term of
// the sum, which is at least 1: (1 + u16) / (1 - u16) - 1 + n h, and h for the quotient itself.
double rounded_exponentials(Dtype dtype, int64_t n) {
  const double u = unit_roundoff(dtype), h = std::ldexp(1.0, min_exponent(dtype) - precision(dtype));
  return 2 * u / (1 - u) + 1.01 * static_cast<double>(n) * h;
}

void declare(const Op& op, const TensorType& type, const Types& inputs, const std::string& name,
             Contract& contract) {
  if (const auto graph = expansion(op, inputs)) {
    for (const Node& part : graph->nodes()) {
      Types part_inputs;
      for (ValueId v : part.inputs) part_inputs.push_back(graph->type(v));
      declare(part.op, graph->type(part.first_output), part_inputs, name + "/" + part.name, contract);
    }
  }
  const auto* softmax = std::get_if<Softmax>(&op);
  if (!softmax) return;
  contract.arithmetic.row_sums = {};  // cuDNN promises no order
  const auto axis = static_cast<size_t>(*resolve_axis(softmax->axis, type.rank()));
  const int64_t n = type.shape[axis], inner = strides_of(type.shape)[axis];
  if (!cudnn_rounds_exponentials(type.dtype, n, inner)) return;
  contract.deviations.push_back({Deviation::Kind::add, name + kExponentials, type.dtype,
                                 rounded_exponentials(type.dtype, n),
                                 "cuDNN stores the exponentials of this size in 16 bits"});
}

}  // namespace

// Measured on an H200 with cuDNN 9.14: interleaved rows (inner > 1) and long ones. 128 elements were within
// the bound of f32 exponentials, 1000 were not (docs/benchmarks.md).
bool cudnn_rounds_exponentials(Dtype dtype, int64_t n, int64_t inner) {
  return is_narrow(dtype) && n > 1 && (inner > 1 || n > 128);
}

void declare_library_roundings(const Graph& graph, Region& region) {
  for (int n : region.nodes) {
    const Node& node = graph.nodes()[static_cast<size_t>(n)];
    Types inputs;
    for (ValueId v : node.inputs) inputs.push_back(graph.type(v));
    declare(node.op, graph.type(node.first_output), inputs, node.name, region.contract);
  }
}

}  // namespace fusesmith::backends
