#include "fuzz/order/sum_spec.h"

#include "fuzz/order/sum_kernel.h"

namespace fusesmith::fuzz {
namespace {

Shape batched(int64_t batch, int64_t rows, int64_t columns) {
  return batch > 1 ? Shape{batch, rows, columns} : Shape{rows, columns};
}

// "amk,akn->amn", the batch first if there is one.
std::string equation_of(const SumSpec& spec) {
  const std::string batch = spec.batch > 1 ? "a" : "";
  return batch + (spec.transpose_a ? "km," : "mk,") + batch + (spec.transpose_b ? "nk->" : "kn->") + batch +
         "mn";
}

ValueId add_product(const SumSpec& spec, Builder& builder) {
  const auto input = [&](const char* name, Shape shape) {
    return builder.input(name, {spec.dtype, std::move(shape)}, Normal{});
  };
  if (spec.op == "matmul" || spec.op == "einsum") {
    const ValueId a = input(
        "a", spec.transpose_a ? batched(spec.batch, spec.k, spec.m) : batched(spec.batch, spec.m, spec.k));
    const ValueId b = input(
        "b", spec.transpose_b ? batched(spec.batch, spec.n, spec.k) : batched(spec.batch, spec.k, spec.n));
    if (spec.op == "einsum") return builder.node(Einsum{equation_of(spec)}, {a, b}, "y");
    return builder.node(Matmul{spec.transpose_a, spec.transpose_b}, {a, b}, "y");
  }
  if (spec.op == "linear") {
    std::vector<ValueId> inputs = {input("x", batched(spec.batch, spec.m, spec.k)),
                                   input("w", {spec.n, spec.k})};
    if (spec.bias) inputs.push_back(builder.input("bias", {result_dtype(spec.dtype), {spec.n}}, Normal{}));
    return builder.node(Linear{}, std::move(inputs), "y");
  }
  const ValueId x = input("x", spec.n > 1 ? Shape{spec.m, spec.k, spec.n} : Shape{spec.m, spec.k});
  return builder.node(ReduceSum{{1}, false}, {x}, "y");
}

}  // namespace

Result<Graph> graph_of(const SumSpec& spec) {
  Builder builder;
  ValueId y = add_product(spec, builder);
  if (spec.relu) y = builder.node(Relu{}, {y}, "z");
  builder.output(y);
  return builder.build();
}

std::string to_string(const SumSpec& spec) {
  std::string text = spec.op + " " + std::string(name(spec.dtype));
  for (const auto& [letter, size] : {std::pair("m", spec.m), std::pair("n", spec.n), std::pair("k", spec.k)})
    text += std::string(", ") + letter + " = " + std::to_string(size);
  if (spec.batch > 1) text += ", batch = " + std::to_string(spec.batch);
  for (const auto& [given, word] :
       {std::pair(spec.transpose_a, "a transposed"), std::pair(spec.transpose_b, "b transposed"),
        std::pair(spec.bias, "with bias"), std::pair(spec.relu, "with relu"),
        std::pair(spec.tf32, "tf32 allowed")}) {
    if (given) text += std::string(", ") + word;
  }
  return text;
}

}  // namespace fusesmith::fuzz
