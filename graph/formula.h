// Formulas: how a defined op says what it computes, with operators and functions of variables, as `struct
// Mish` in graph/ops/mish.h does. A formula is evaluated in f32, whatever the dtype of the op's operands, and
// each result is rounded once to that dtype. Types, traits, bound, kernels and exports of a defined op follow
// from the graph that its formula makes (graph/expand.h).
#pragma once

#include <concepts>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "graph/result.h"
#include "graph/tensor.h"

namespace fusesmith::graph {

class Builder;
class Graph;

// An f32 value of a formula: an operand, or the result of one of the functions below. Valid while the formula
// is evaluated.
class Var {
 public:
  Var(Builder& builder, int value) : builder_(&builder), value_(value) {}
  Builder& builder() const { return *builder_; }
  int value() const { return value_; }  // its id in the graph that is made
  Shape shape() const;
  int rank() const { return static_cast<int>(shape().size()); }

 private:
  Builder* builder_;
  int value_;
};
using Vars = std::vector<Var>;

// A number as f32[].
Var constant(Builder& builder, double value);

// Elements at the same place; shapes broadcast. A number is rounded to f32 first.
Var operator+(Var a, Var b);
Var operator-(Var a, Var b);
Var operator*(Var a, Var b);
Var operator/(Var a, Var b);
Var operator+(Var a, double b);
Var operator+(double a, Var b);
Var operator-(Var a, double b);
Var operator-(double a, Var b);
Var operator*(Var a, double b);
Var operator*(double a, Var b);
Var operator/(Var a, double b);
Var operator/(double a, Var b);
Var operator-(Var x);
Var maximum(Var a, double b);
Var minimum(Var a, double b);
Var erf(Var x);
Var exp(Var x);
Var log(Var x);
Var rsqrt(Var x);
Var sigmoid(Var x);
Var sqrt(Var x);
Var tanh(Var x);

// Along an axis, which stays, with one element; a negative axis counts from the last one.
Var mean(Var x, int64_t axis);
Var sum(Var x, int64_t axis);
Var largest(Var x, int64_t axis);
// Over all axes but the last one: of x [..., n] the sums [n].
Var sum_of_rows(Var x);

// An operand of a defined op. Its shape is that of the first one, [..., n], or [n].
struct Operand {
  std::string_view name;
  bool is_row = false;  // [n]
};

// An op that is defined by a formula: `operands` declares its operands, which are of one float dtype, and
// define() gives its outputs, which have that dtype, in terms of them.
template <class T>
concept DefinedOp = requires(const T& op, const Vars& in) {
  { op.define(in) } -> std::same_as<Vars>;
  {std::span<const Operand>(T::operands)};
};
using Define = std::function<Vars(const Vars&)>;

// The type of an operand where the first one has this type.
TensorType operand_type(const Operand& operand, const TensorType& first);

// The graph of a formula on operands of these types. The problem is one line: what was expected of them.
Result<Graph> formula_graph(std::span<const Operand> operands, TypeSpan types, const Define& define);

// The types of its outputs.
Result<Types> infer_formula(std::span<const Operand> operands, TypeSpan types, const Define& define);
template <DefinedOp T>
Result<Types> infer(const T& op, TypeSpan types) {
  return infer_formula(T::operands, types, [&](const Vars& in) { return op.define(in); });
}

}  // namespace fusesmith::graph
