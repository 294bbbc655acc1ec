#include "graph/formula.h"

#include <numeric>
#include <set>

#include "graph/graph.h"

namespace fusesmith::graph {
namespace {

Var node(Op op, std::initializer_list<Var> operands) {
  std::vector<ValueId> inputs;
  for (const Var& operand : operands) inputs.push_back(operand.value());
  Builder& builder = operands.begin()->builder();
  return {builder, builder.node(std::move(op), std::move(inputs))};
}

// As f32[].
Var constant(Builder& builder, double value) {
  const Var one{builder, builder.node(Arange{1, 1}, {})};
  return node(Scale{value}, {node(Cast{Dtype::f32}, {node(Squeeze{0}, {one})})});
}

}  // namespace

int Var::rank() const { return builder_->type(value_).rank(); }

Var operator+(Var a, Var b) { return node(Add{}, {a, b}); }
Var operator-(Var a, Var b) { return node(Sub{}, {a, b}); }
Var operator*(Var a, Var b) { return node(Mul{}, {a, b}); }
Var operator/(Var a, Var b) { return node(Div{}, {a, b}); }
Var operator+(Var a, double b) { return a + constant(a.builder(), b); }
Var operator+(double a, Var b) { return constant(b.builder(), a) + b; }
Var operator-(Var a, double b) { return a - constant(a.builder(), b); }
Var operator-(double a, Var b) { return constant(b.builder(), a) - b; }
Var operator*(Var a, double b) { return node(Scale{b}, {a}); }
Var operator*(double a, Var b) { return b * a; }
Var operator/(Var a, double b) { return node(Scale{b, true}, {a}); }
Var operator/(double a, Var b) { return constant(b.builder(), a) / b; }
Var operator-(Var x) { return x * -1; }
Var maximum(Var a, double b) { return node(Maximum{}, {a, constant(a.builder(), b)}); }
Var minimum(Var a, double b) { return -maximum(-a, -b); }
Var exp(Var x) { return node(Exp{}, {x}); }
Var rsqrt(Var x) { return node(Rsqrt{}, {x}); }
Var sigmoid(Var x) { return node(Sigmoid{}, {x}); }
Var sqrt(Var x) { return node(Sqrt{}, {x}); }
Var tanh(Var x) { return node(Tanh{}, {x}); }

Var mean(Var x, int64_t axis) { return node(ReduceMean{{axis}, true}, {x}); }
Var sum(Var x, int64_t axis) { return node(ReduceSum{{axis}, true}, {x}); }

Var sum_of_rows(Var x) {
  if (x.rank() < 2) return x;
  Shape axes(static_cast<size_t>(x.rank()) - 1);
  std::iota(axes.begin(), axes.end(), 0);
  return node(ReduceSum{axes}, {x});
}

TensorType operand_type(const Operand& operand, const TensorType& first) {
  return operand.is_row ? TensorType{first.dtype, {first.shape.back()}} : first;
}

namespace {

std::optional<Problem> operand_problem(std::span<const Operand> operands, TypeSpan types) {
  const TensorType& first = types[0];
  if (!is_float(first.dtype) || first.shape.empty())
    return expected("a float tensor of rank 1 or more, got " + to_string(first));
  for (size_t i = 1; i < types.size(); ++i) {
    const TensorType wanted = operand_type(operands[i], first);
    if (types[i] != wanted) {
      return expected(std::string(operands[i].name) + " of type " + to_string(wanted) + " beside " +
                      std::string(operands[0].name) + " of type " + to_string(first) + ", got " +
                      to_string(types[i]));
    }
  }
  return {};
}

}  // namespace

Result<Graph> formula_graph(std::span<const Operand> operands, TypeSpan types, const Define& define) {
  if (auto problem = operand_problem(operands, types)) return *problem;
  const Dtype dtype = types[0].dtype;
  Builder builder;
  Vars in;
  for (size_t i = 0; i < types.size(); ++i)
    in.emplace_back(builder, builder.input(std::string(operands[i].name), types[i], Constant{0}));
  if (builder.failed()) return builder.build();
  if (dtype != Dtype::f32) {
    for (Var& operand : in) operand = node(Cast{Dtype::f32}, {operand});
  }
  std::set<ValueId> taken;
  for (const Var& operand : in) taken.insert(operand.value());
  for (Var result : define(in)) {
    // A result is a node of its own, also where the formula is an operand, or an earlier result.
    if (dtype != Dtype::f32 || taken.contains(result.value())) result = node(Cast{dtype}, {result});
    taken.insert(result.value());
    builder.output(result.value());
  }
  return builder.build();
}

Result<Types> infer_formula(std::span<const Operand> operands, TypeSpan types, const Define& define) {
  const auto graph = formula_graph(operands, types, define);
  if (!graph) return Problem{graph.problem()};
  Types outputs;
  for (const ValueId output : graph->outputs()) outputs.push_back(graph->type(output));
  return outputs;
}

}  // namespace fusesmith::graph
