// scaled_product: a product of codes times one or two scales, summed over blocks if there are several, with
// one rounding at the end: W8A8 products with a scale for each tensor, row or block (DeepSeek-V3, section
// 3.3.2; OCP Microscaling Formats).
#include "backends/rewrite/matching/example_graph.h"
#include "backends/rewrite/patterns.h"

namespace fusesmith::backends {
namespace {

constexpr std::string_view kEnlargingScale = "enlarging_scale", kBatch = "several_products";
constexpr std::string_view kScaledProductGuards[] = {kSecondReader, kObserved, kEnlargingScale, kBatch};

// The operands of a product of codes whose rows are their last axes: [rows, depth] and [columns, depth], or
// with the blocks before.
bool is_product_of_codes(const MatchContext& context, int n) {
  const Node& node = context.node(n);
  const auto* matmul = context.op_as<Matmul>(n);
  const bool is_matmul = matmul && !matmul->transpose_a && matmul->transpose_b;
  if (!is_matmul && !(context.op_as<Linear>(n) && node.inputs.size() == 2)) return false;
  const Shape &a = context.shape(node.inputs[0]), &b = context.shape(node.inputs[1]);
  const bool is_quantized_product = is_quantized(context.graph().type(node.inputs[0]).dtype);
  return is_quantized_product && a.size() == b.size() && (a.size() == 2 || (a.size() == 3 && a[0] == b[0]));
}

struct Scaled {
  std::vector<int> nodes;
  ValueId product = -1;
  std::vector<ValueId> factors;
  bool factors_first = false;
};

// The product of codes that this value is, if nothing else reads it.
std::optional<int> product_of_codes(const MatchContext& context, ValueId v) {
  const auto n = context.graph().producer(v);
  if (!n || !context.is_free(*n) || !is_product_of_codes(context, *n)) return std::nullopt;
  if (context.is_inner(v)) return n;
  context.refuse(context.outer_guard(v));
  return std::nullopt;
}

// What multiplies the value `scaled`, which is no factor: one factor, or the product of two.
void add_factors(const MatchContext& context, ValueId value, Scaled& scaled) {
  const auto both = scaled.factors.empty() ? context.inner_producer_as<Mul>(value) : std::nullopt;
  if (!both) return scaled.factors.push_back(value);
  scaled.nodes.push_back(*both);
  scaled.factors = context.node(*both).inputs;
  scaled.factors_first = true;
}

// At a mul: the product of codes, or that product times a factor, and what multiplies it.
std::optional<Scaled> scaled_at(const MatchContext& context, int n) {
  for (const size_t side : {size_t{0}, size_t{1}}) {
    const ValueId value = context.node(n).inputs[side], other = context.node(n).inputs[1 - side];
    Scaled scaled;
    if (const auto product = product_of_codes(context, value)) {
      scaled.nodes = {*product, n};
      scaled.product = value;
      add_factors(context, other, scaled);
      return scaled;
    }
    const auto inner = context.inner_producer_as<Mul>(value);
    if (!inner) continue;
    for (const size_t inner_side : {size_t{0}, size_t{1}}) {
      const ValueId codes = context.node(*inner).inputs[inner_side];
      const auto product = product_of_codes(context, codes);
      if (!product) continue;
      return Scaled{{*product, *inner, n}, codes, {context.node(*inner).inputs[1 - inner_side], other}};
    }
  }
  return std::nullopt;
}

// The strides of a factor over [blocks, rows, columns]; nothing if the factor has more elements.
std::optional<ScaledProduct::Factor> factor_of(const MatchContext& context, ValueId value,
                                               const Shape& shape) {
  const auto whole = broadcast(context.shape(value), shape);
  if (!whole || *whole != shape) return std::nullopt;
  const Shape strides = broadcast_strides(context.shape(value), shape);
  const size_t rank = strides.size();
  return ScaledProduct::Factor{value, rank == 3 ? strides[0] : 0, strides[rank - 2], strides[rank - 1]};
}

bool sums_blocks(const MatchContext& context, int n) {
  const auto* sum = context.op_as<ReduceSum>(n);
  return sum && !sum->keepdims && sum->axes.size() == 1 && (sum->axes[0] == 0 || sum->axes[0] == -3);
}

std::optional<Match> match_scaled_product(const MatchContext& context, int n) {
  if (!context.op_as<Mul>(n)) return std::nullopt;
  auto scaled = scaled_at(context, n);
  if (!scaled) return std::nullopt;
  int root = n;
  // Where this is a factor of another product, that mul is the root.
  const auto reader = context.sole_consumer(context.output(n));
  if (reader && context.op_as<Mul>(*reader) && scaled->factors.size() == 1) return std::nullopt;
  const Shape& shape = context.shape(scaled->product);
  ScaledProduct op;
  op.a = context.node(scaled->nodes[0]).inputs[0];
  op.b = context.node(scaled->nodes[0]).inputs[1];
  for (const ValueId value : scaled->factors) {
    const auto factor = factor_of(context, value, shape);
    if (!factor) return context.refuse(kEnlargingScale);
    op.factors.push_back(*factor);
  }
  op.factors_first = scaled->factors_first;
  op.rows = shape[shape.size() - 2];
  op.columns = shape.back();
  op.depth = context.shape(op.a).back();
  if (shape.size() == 3) {
    if (!reader || !sums_blocks(context, *reader)) return context.refuse(kBatch);
    op.blocks = shape[0];
    scaled->nodes.push_back(root = *reader);
  }
  const auto last = context.sole_consumer(context.output(root));
  if (last && context.op_as<Cast>(*last) && context.op_as<Cast>(*last)->is_plain())
    scaled->nodes.push_back(*last);
  return Match{std::move(scaled->nodes), {"scaled_product"}, {}, std::move(op)};
}

// Codes and scales of both operands, in blocks if there are several.
struct Operands {
  ValueId a, b, scale_a, scale_b;

  Operands(ExampleGraph& g, const ExampleDims& d, int64_t blocks, Dtype left, Dtype right)
      : a(codes(g, "a", left, blocks, d.rows, d.depth)),
        b(codes(g, "b", right, blocks, d.cols, d.depth)),
        scale_a(scales(g, "scale_a", blocks, d.rows, 1)),
        scale_b(scales(g, "scale_b", blocks, 1, d.cols)) {}

  static ValueId codes(ExampleGraph& g, std::string name, Dtype dtype, int64_t blocks, int64_t rows,
                       int64_t depth) {
    const Shape shape = blocks > 0 ? Shape{blocks, rows, depth} : Shape{rows, depth};
    return g.tensor_of(dtype, std::move(name), shape, Normal{0, dtype == Dtype::f4e2m1 ? 2.0 : 16.0});
  }
  static ValueId scales(ExampleGraph& g, std::string name, int64_t blocks, int64_t rows, int64_t columns) {
    const Shape shape = blocks > 0 ? Shape{blocks, rows, columns} : Shape{rows, columns};
    return g.tensor_of(Dtype::f32, std::move(name), shape, Uniform{0x1p-8, 0x1p-5});
  }
  ValueId product(ExampleGraph& g) const { return g.node(Matmul{false, true}, a, b); }
  ValueId both_scales(ExampleGraph& g) const { return g.node(Mul{}, scale_a, scale_b); }
};

ValueId rounded(ExampleGraph& g, ValueId y) {
  return g.dtype() == Dtype::f32 ? y : g.node(Cast{g.dtype()}, y);
}

constexpr GraphRecipe kScaledProductExamples[] = {
    {"row_scales",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const Operands in(g, d, 0, Dtype::f8e4m3, Dtype::f8e4m3);
       return g.outputs(rounded(g, g.node(Mul{}, in.product(g), in.both_scales(g))));
     }},
    {"one_scale_after_the_other",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const Operands in(g, d, 0, Dtype::f8e5m2, Dtype::f8e4m3);
       const ValueId product = g.node(Linear{}, in.a, in.b);
       return g.outputs(rounded(g, g.node(Mul{}, g.node(Mul{}, product, in.scale_a), in.scale_b)));
     }},
    {"tensor_scale",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId a = Operands::codes(g, "a", Dtype::f8e4m3, 0, d.rows, d.depth);
       const ValueId b = Operands::codes(g, "b", Dtype::f8e4m3, 0, d.cols, d.depth);
       const ValueId scale = g.tensor_of(Dtype::f32, "scale", {1}, Uniform{0x1p-8, 0x1p-5});
       return g.outputs(rounded(g, g.node(Mul{}, scale, g.node(Matmul{false, true}, a, b))));
     }},
    {"block_scales",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const Operands in(g, d, d.width, Dtype::f8e4m3, Dtype::f8e4m3);
       const ValueId scaled = g.node(Mul{}, in.product(g), in.both_scales(g));
       return g.outputs(rounded(g, g.node(ReduceSum{{0}}, scaled)));
     }},
    {"block_scales_of_4_bits",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const Operands in(g, d, d.heads + 1, Dtype::f4e2m1, Dtype::f4e2m1);
       const ValueId scaled = g.node(Mul{}, g.node(Mul{}, in.product(g), in.scale_a), in.scale_b);
       return g.outputs(rounded(g, g.node(ReduceSum{{-3}}, scaled)));
     }},
};

constexpr GraphRecipe kScaledProductNearMisses[] = {
    {"product_is_an_output",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const Operands in(g, d, 0, Dtype::f8e4m3, Dtype::f8e4m3);
       const ValueId product = in.product(g);
       return g.outputs(product, g.node(Mul{}, product, in.scale_a));
     }},
    {"product_read_twice",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const Operands in(g, d, 0, Dtype::f8e4m3, Dtype::f8e4m3);
       const ValueId product = in.product(g);
       return g.outputs(g.node(Add{}, product, g.node(Mul{}, product, in.scale_b)));
     }},
    {"scale_that_enlarges",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const Operands in(g, d, 0, Dtype::f8e4m3, Dtype::f8e4m3);
       const ValueId scale = Operands::scales(g, "scale", 2, d.rows, 1);
       return g.outputs(g.node(Mul{}, in.product(g), scale));
     }},
    {"products_of_a_batch",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const Operands in(g, d, 2, Dtype::f8e4m3, Dtype::f8e4m3);
       return g.outputs(g.node(Mul{}, in.product(g), in.both_scales(g)));
     }},
    {"factors_that_are_no_codes",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId a = g.tensor("a", {d.rows, d.depth}), b = g.tensor("b", {d.cols, d.depth});
       const ValueId scale = g.tensor("scale", {d.rows, 1});
       return g.outputs(g.node(Mul{}, g.node(Matmul{false, true}, a, b), scale));
     },
     kUnrecognised},
    {"divided_by_the_scale",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const Operands in(g, d, 0, Dtype::f8e4m3, Dtype::f8e4m3);
       return g.outputs(g.node(Div{}, in.product(g), in.scale_a));
     },
     kUnrecognised},
};

}  // namespace

Pattern scaled_product_pattern() {
  return {"scaled_product",
          "a product of codes times their scales, summed over blocks -> one product, rounded once",
          match_scaled_product,
          kScaledProductExamples,
          kScaledProductNearMisses,
          kScaledProductGuards};
}

}  // namespace fusesmith::backends
