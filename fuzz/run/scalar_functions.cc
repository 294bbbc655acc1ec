#include "fuzz/run/scalar_functions.h"

namespace fusesmith::fuzz {

std::span<const ScalarFunction> scalar_functions() {
  using enum ScalarFunction::Trend;
  static const ScalarFunction functions[] = {
      {.name = "exp", .op = Exp{}, .trend = rising},
      {.name = "sigmoid", .op = Sigmoid{}, .trend = rising},
      {.name = "tanh", .op = Tanh{}, .trend = rising},
      {.name = "erf", .op = Erf{}, .trend = rising},
      {.name = "log", .op = Log{}, .trend = rising},
      {.name = "softcap", .op = Softcap{}, .trend = rising},
      {.name = "silu", .op = Silu{}},
      {.name = "gelu.erf", .op = Gelu{Gelu::Form::erf}, .of_half_x = true},
      {.name = "gelu.tanh", .op = Gelu{Gelu::Form::tanh}, .of_half_x = true},
      {.name = "sqrt", .op = Sqrt{}, .trend = rising},
      {.name = "rsqrt", .op = Rsqrt{}, .trend = falling},
      {.name = "1/x", .op = Div{}, .trend = falling, .is_quotient = true},
  };
  return functions;
}

Graph graph_of(const ScalarFunction& function, Dtype dtype, int64_t count) {
  Builder builder;
  std::vector<ValueId> inputs;
  if (function.is_quotient) inputs.push_back(builder.input("one", {dtype, {1}}, Constant{1}));
  inputs.push_back(builder.input("x", {dtype, {count}}, Normal{}));
  builder.output(builder.node(function.op, inputs, "y"));
  return *builder.build();
}

}  // namespace fusesmith::fuzz
