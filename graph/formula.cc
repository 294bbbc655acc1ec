#include "graph/formula.h"

#include <numeric>
#include <set>

#include "graph/formula_nodes.h"

namespace fusesmith::graph {

Var apply(Op op, const Vars& operands) {
  std::vector<ValueId> inputs;
  for (const Var& operand : operands) inputs.push_back(operand.value());
  Builder& builder = operands.front().builder();
  return {builder, builder.node(std::move(op), std::move(inputs))};
}

Var constant(Builder& builder, double value) {
  const Var one{builder, builder.node(Arange{1, 1}, {})};
  return apply(Scale{value}, {apply(Cast{Dtype::f32}, {apply(Squeeze{0}, {one})})});
}

Shape Var::shape() const { return builder_->type(value_).shape; }

Var operator+(Var a, Var b) { return apply(Add{}, {a, b}); }
Var operator-(Var a, Var b) { return apply(Sub{}, {a, b}); }
Var operator*(Var a, Var b) { return apply(Mul{}, {a, b}); }
Var operator/(Var a, Var b) { return apply(Div{}, {a, b}); }
Var operator+(Var a, double b) { return a + constant(a.builder(), b); }
Var operator+(double a, Var b) { return constant(b.builder(), a) + b; }
Var operator-(Var a, double b) { return a - constant(a.builder(), b); }
Var operator-(double a, Var b) { return constant(b.builder(), a) - b; }
Var operator*(Var a, double b) { return apply(Scale{b}, {a}); }
Var operator*(double a, Var b) { return b * a; }
Var operator/(Var a, double b) { return apply(Scale{b, true}, {a}); }
Var operator/(double a, Var b) { return constant(b.builder(), a) / b; }
Var operator-(Var x) { return x * -1; }
Var maximum(Var a, double b) { return apply(Maximum{}, {a, constant(a.builder(), b)}); }
Var minimum(Var a, double b) { return -maximum(-a, -b); }
Var erf(Var x) { return apply(Erf{}, {x}); }
Var exp(Var x) { return apply(Exp{}, {x}); }
Var log(Var x) { return apply(Log{}, {x}); }
Var rsqrt(Var x) { return apply(Rsqrt{}, {x}); }
Var sigmoid(Var x) { return apply(Sigmoid{}, {x}); }
Var sqrt(Var x) { return apply(Sqrt{}, {x}); }
Var tanh(Var x) { return apply(Tanh{}, {x}); }

Var mean(Var x, int64_t axis) { return apply(ReduceMean{{axis}, true}, {x}); }
Var sum(Var x, int64_t axis) { return apply(ReduceSum{{axis}, true}, {x}); }
Var largest(Var x, int64_t axis) { return apply(ReduceMax{{axis}, true}, {x}); }

Var sum_of_rows(Var x) {
  if (x.rank() < 2) return x;
  Shape axes(static_cast<size_t>(x.rank()) - 1);
  std::iota(axes.begin(), axes.end(), 0);
  return apply(ReduceSum{axes}, {x});
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
    for (Var& operand : in) operand = apply(Cast{Dtype::f32}, {operand});
  }
  std::set<ValueId> taken;
  for (const Var& operand : in) taken.insert(operand.value());
  for (Var result : define(in)) {
    // A result is a node of its own, also where the formula is an operand, or an earlier result.
    if (dtype != Dtype::f32 || taken.contains(result.value())) result = apply(Cast{dtype}, {result});
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
