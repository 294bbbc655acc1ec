// For tests: the data of every op (op_test.h says what), and graphs of one node made of it.
#pragma once

#include "graph/op_tests/attention.h"
#include "graph/op_tests/formulas.h"
#include "graph/op_tests/movement.h"
#include "graph/op_tests/norms.h"
#include "graph/op_tests/pointwise.h"
#include "graph/op_tests/products.h"
#include "graph/op_tests/reductions.h"

namespace fusesmith::graph::op_tests {

template <class T>
std::vector<T> joined(std::initializer_list<std::vector<T>> families) {
  std::vector<T> all;
  for (const std::vector<T>& family : families) all.insert(all.end(), family.begin(), family.end());
  return all;
}

// At least one for every op.
inline std::vector<OpCase> op_cases() {
  return joined({product_cases(), pointwise_cases(), norm_cases(), reduction_cases(), movement_cases(),
                 attention_cases(), formula_cases()});
}

// At least one for every op that no formula defines.
inline std::vector<ExactCase> exact_cases() {
  return joined({exact_products(), exact_pointwise(), exact_norms(), exact_reductions(), exact_movement(),
                 exact_attention()});
}

// At least one for every op that has inputs and that no formula defines.
inline std::vector<SpecialCase> special_cases(Dtype dtype) {
  return joined({special_arithmetic(dtype), special_functions(dtype), special_products(dtype),
                 special_reductions(dtype), special_norms(dtype), special_movement(dtype),
                 special_selection(dtype), special_attention(dtype)});
}

// For i32 inputs: below 8, and the first 8 differ, as index_copy wants them.
inline Fill index_fill(const TensorType& type) {
  Tensor tensor(type);
  for (int64_t i = 0; i < tensor.size(); ++i) tensor.set(i, static_cast<double>((3 * i + 1) % 8));
  return literal_of(tensor);
}

inline Result<Graph> exact_graph(const ExactCase& one, Dtype dtype) {
  Builder b;
  std::vector<ValueId> inputs;
  for (const ExactInput& input : one.inputs) {
    const TensorType type{input.dtype == Dtype::f32 ? dtype : input.dtype, input.shape};
    inputs.push_back(b.input("x" + std::to_string(inputs.size()), type, input.fill));
  }
  const ValueId first = b.node(one.op, inputs, "y");
  for (ValueId v = first; v < b.value_count(); ++v) b.output(v);
  return b.build();
}

inline Result<Graph> special_graph(const SpecialCase& one, Dtype dtype) {
  Builder b;
  std::vector<ValueId> inputs;
  for (const SpecialInput& input : one.inputs) {
    Tensor tensor(TensorType{input.dtype == Dtype::f32 ? dtype : input.dtype, input.shape});
    for (size_t i = 0; i < input.values.size(); ++i) tensor.set(static_cast<int64_t>(i), input.values[i]);
    inputs.push_back(b.input("x" + std::to_string(inputs.size()), tensor.type, literal_of(tensor)));
  }
  const ValueId first = b.node(one.op, inputs, "y");
  for (ValueId v = first; v < b.value_count(); ++v) b.output(v);
  return b.build();
}

// Output number `output`; ops of several outputs have overloads of their own.
template <class T>
Values eval_output(const T& op, const Args& x, const Shape& shape, size_t) {
  return eval(op, x, shape);
}

// All values of a graph in f64, by ValueId, given its inputs.
inline Args eval_graph(const Graph& graph, Args inputs);

// The formula in f64.
template <DefinedOp T>
Values eval_output(const T& op, const Args& x, const Shape&, size_t output) {
  Types types;
  for (const Values& operand : x) types.push_back(f(operand.shape));
  const Graph formula = *expansion(Op(op), types);
  return eval_graph(formula, x)[static_cast<size_t>(formula.outputs()[output])];
}

inline Args eval_graph(const Graph& graph, Args values) {
  for (const Node& node : graph.nodes()) {
    Args operands;
    for (const ValueId v : node.inputs) operands.push_back(values[static_cast<size_t>(v)]);
    for (int k = 0; k < node.output_count; ++k) {
      const Shape& shape = graph.type(node.first_output + k).shape;
      values.push_back(std::visit(
          [&](const auto& part) { return eval_output(part, operands, shape, static_cast<size_t>(k)); },
          node.op));
    }
  }
  return values;
}

}  // namespace fusesmith::graph::op_tests
