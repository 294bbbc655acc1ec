// gemm_bias_act: a product, then the addition of any value that broadcasts to its result, then an activation,
// either of which may be missing: the epilogue runs on the f32 accumulator, so that the product and the sum
// are never rounded to 16 bits.
#include <algorithm>

#include "backends/rewrite/matching/deviations.h"
#include "backends/rewrite/matching/example_graph.h"
#include "backends/rewrite/matching/pointwise.h"
#include "backends/rewrite/matching/product.h"
#include "backends/rewrite/patterns.h"

namespace fusesmith::backends {
namespace {

constexpr std::string_view kGemmBiasActName = "gemm_bias_act";

// Injected fault: whether a node may go on from the match although others read its values. They must still
// come later, or no order of the regions could run.
bool may_go_on_regardless(const MatchContext& context, const std::vector<int>& matched, int next) {
  for (int n : matched) {
    for (int reader : context.consumers(context.output(n))) {
      if (reader < next && std::find(matched.begin(), matched.end(), reader) == matched.end()) return false;
    }
  }
  const auto& readers = context.consumers(context.output(matched.back()));
  return context.is_free(next) && std::count(readers.begin(), readers.end(), next) == 1;
}

// The node that continues the match after its last node.
std::optional<int> next_node(const MatchContext& context, const std::vector<int>& matched) {
  const ValueId value = context.output(matched.back());
  if (context.faults().has("match_with_second_consumer")) {
    for (int reader : context.consumers(value)) {
      if (may_go_on_regardless(context, matched, reader)) return reader;
    }
    return std::nullopt;
  }
  return context.sole_consumer(value);
}

// What `add` adds to `value`, if it broadcasts to it.
std::optional<ValueId> addend_of(const MatchContext& context, int add, ValueId value) {
  const Node& node = context.node(add);
  if (!context.op_as<Add>(add) || context.shape(node.first_output) != context.shape(value))
    return std::nullopt;
  return node.inputs[0] == value ? node.inputs[1] : node.inputs[0];
}

// Injected fault: the addend is read where the tensor that it is a slice of starts.
ValueId without_offset(const MatchContext& context, ValueId addend) {
  const auto n = context.graph().producer(addend);
  const bool sliced = n && context.op_as<Slice>(*n) && context.faults().has("sliced_bias_without_offset");
  return sliced ? context.node(*n).inputs[0] : addend;
}

// The shape with which the addend is read. Injected fault: a vector is a column where the result is square.
Shape addend_shape(const MatchContext& context, const FusedGemm& gemm, const Shape& out) {
  if (!gemm.addend) return {};
  Shape shape = context.shape(*gemm.addend);
  const bool square = out.size() >= 2 && out[out.size() - 1] == out[out.size() - 2];
  if (context.faults().has("bias_wrong_axis") && square && shape.size() == 1) shape.push_back(1);
  return shape;
}

// Injected fault: n and k of a square weight change places.
void read_weight_untransposed(BatchedProduct& product) {
  if (product.n.size() != 1 || product.k.size() != 1) return;
  ProductAxis &n = product.n[0], &k = product.k[0];
  if (n.size == k.size && k.b == 1) std::swap(n.b, k.b);
}

// Injected faults: strides of an operand that are those of another size.
void plant_gemm_bias_act_mistakes(BatchedProduct& product, const Faults& faults) {
  const bool plain = product.n.size() == 1 && product.k.size() == 1 && product.n[0].b == 1;
  if (faults.has("weight_row_stride_is_depth") && plain && product.n[0].size > product.k[0].size)
    product.k[0].b = product.k[0].size;
  if (!faults.has("addend_batch_index_dropped")) return;
  for (ProductAxis& axis : product.batch) axis.addend = 0;
  if (product.m.size() > 1) product.m[0].addend = 0;
}

constexpr std::string_view kGemmBiasActGuards[] = {
    kSecondReader,       kObserved,
    "enlarging_addend",   // the sum is larger than the product
    "explicit_cast",      // between the product and the epilogue
    "no_matrix_product",  // an einsum that lacks an axis, or sums one operand alone
};

bool is_epilogue(const MatchContext& context, int n) {
  return context.is_free(n) && (context.op_as<Add>(n) || activation_of(context.node(n).op));
}

bool has_epilogue(const MatchContext& context, ValueId value) {
  const auto& readers = context.consumers(value);
  return std::any_of(readers.begin(), readers.end(), [&](int n) { return is_epilogue(context, n); });
}

// Says why the addition or activation of a product, if there is one, does not run on its accumulator.
std::nullopt_t refuse_epilogue(const MatchContext& context, ValueId product) {
  if (has_epilogue(context, product))
    return context.refuse(context.is_inner(product) ? "enlarging_addend" : context.outer_guard(product));
  const auto reader = context.sole_consumer(product);
  if (reader && context.op_as<Cast>(*reader) && has_epilogue(context, context.output(*reader)))
    return context.refuse("explicit_cast");
  return std::nullopt;
}

std::optional<Match> match_gemm_bias_act(const MatchContext& context, int n) {
  const Node& root = context.node(n);
  const bool is_einsum = context.op_as<Einsum>(n) != nullptr;
  if (is_einsum && !context.enabled("einsum_to_gemm")) return std::nullopt;
  if (root.output_count != 1) return std::nullopt;
  if (!gemm_product(context.graph(), root)) {
    return is_einsum && has_epilogue(context, root.first_output) ? context.refuse("no_matrix_product")
                                                                 : std::nullopt;
  }
  Match found{{n}, {std::string(kGemmBiasActName)}, {}, SingleNode{}};
  if (is_einsum) found.patterns.emplace_back("einsum_to_gemm");
  FusedGemm gemm;
  const ValueId value = root.first_output;
  auto next = next_node(context, found.nodes);
  if (next) gemm.addend = addend_of(context, *next, value);
  if (gemm.addend) {
    found.nodes.push_back(*next);
    next = next_node(context, found.nodes);
  }
  if (next) gemm.activation = activation_of(context.node(*next).op);
  if (gemm.activation) found.nodes.push_back(*next);
  if (found.nodes.size() < 2) return refuse_epilogue(context, value);
  gemm.product = *gemm_product(context.graph(), root, addend_shape(context, gemm, context.shape(value)));
  if (root.inputs.size() == 3) gemm.bias = root.inputs[2];
  if (gemm.addend) gemm.addend = without_offset(context, *gemm.addend);
  if (context.faults().has("transposed_weight_read_untransposed")) read_weight_untransposed(gemm.product);
  plant_gemm_bias_act_mistakes(gemm.product, context.faults());
  for (size_t i = 0; i + 1 < found.nodes.size(); ++i) {
    drop_rounding(found.contract, context.graph(), found.nodes[i]);
  }
  found.op = std::move(gemm);
  return found;
}

// x [batch, rows, depth] times w [depth, cols].
ValueId product(ExampleGraph& g, const ExampleDims& d) {
  const ValueId x = g.tensor("x", {d.batch, d.rows, d.depth}), w = g.tensor("w", {d.depth, d.cols});
  return g.node(Matmul{}, x, w);
}

// linear from depth to cols, with its inputs made here: all of a graph's inputs stand before its nodes.
struct LinearInputs {
  ValueId x, weight, bias;
};
LinearInputs linear_inputs(ExampleGraph& g, const ExampleDims& d) {
  return {g.tensor("x", {d.batch, d.rows, d.depth}), g.tensor("weight", {d.cols, d.depth}),
          g.tensor("bias", {d.cols})};
}

constexpr GraphRecipe kGemmBiasActExamples[] = {
    {"matmul_bias",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId bias = g.tensor("bias", {d.cols});
       return g.outputs(g.node(Add{}, product(g, d), bias));
     }},
    {"bias_matmul",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId bias = g.tensor("bias", {d.rows, d.cols});
       return g.outputs(g.node(Add{}, bias, product(g, d)));
     }},
    {"matmul_relu",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       return g.outputs(g.node(Relu{}, product(g, d)));
     }},
    {"matmul_row_bias_silu",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId bias = g.tensor("bias", {d.batch, d.rows, 1});
       return g.outputs(g.node(Silu{}, g.node(Add{}, product(g, d), bias)));
     }},
    {"linear_gelu",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const auto [x, weight, bias] = linear_inputs(g, d);
       return g.outputs(g.node(Gelu{}, g.node(Linear{}, x, weight, bias)));
     }},
    {"linear_residual",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const auto [x, weight, bias] = linear_inputs(g, d);
       const ValueId residual = g.tensor("residual", {d.batch, d.rows, d.cols});
       return g.outputs(g.node(Add{}, residual, g.node(Linear{}, x, weight, bias)));
     }},
    {"linear_bias_gelu_tanh",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = g.tensor("x", {d.rows, d.depth}), weight = g.tensor("weight", {d.cols, d.depth});
       const ValueId bias = g.tensor("bias", {d.cols});
       return g.outputs(g.node(Gelu{Gelu::Form::tanh}, g.node(Add{}, g.node(Linear{}, x, weight), bias)));
     }},
    {"batched_transposed_matmul_sigmoid",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId a = g.tensor("a", {d.batch, 1, d.depth, d.rows});
       const ValueId b = g.tensor("b", {d.heads, d.cols, d.depth});
       return g.outputs(g.node(Sigmoid{}, g.node(Matmul{true, true}, a, b)));
     }},
    {"einsum_bias_gelu",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = g.tensor("x", {d.batch, d.rows, d.depth}),
                     w = g.tensor("w", {d.batch, d.depth, d.cols});
       const ValueId bias = g.tensor("bias", {d.batch, d.rows, d.cols});
       return g.outputs(g.node(Gelu{}, g.node(Add{}, g.node(Einsum{"bid,bdh->bih"}, x, w), bias)));
     }},
};

constexpr GraphRecipe kGemmBiasActNearMisses[] = {
    {"second_consumer",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId bias = g.tensor("bias", {d.cols}), y = product(g, d);
       const ValueId sum = g.node(Add{}, y, bias);
       return g.outputs(sum, g.node(Mul{}, sum, y));
     }},
    {"product_is_an_output",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId y = product(g, d);
       return g.outputs(g.node(Relu{}, y), y);
     }},
    {"bias_that_enlarges",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId bias = g.tensor("bias", {d.heads, d.batch, d.rows, d.cols});
       return g.outputs(g.node(Add{}, product(g, d), bias));
     }},
    {"cast_before_the_activation",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       return g.outputs(g.node(Gelu{}, g.node(Cast{g.other_dtype()}, product(g, d))));
     }},
    {"added_to_itself",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId y = product(g, d);
       return g.outputs(g.node(Add{}, y, y));
     }},
    {"multiplied_by_a_bias",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId bias = g.tensor("bias", {d.cols});
       return g.outputs(g.node(Mul{}, product(g, d), bias));
     },
     kUnrecognised},
    {"bias_subtracted",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId bias = g.tensor("bias", {d.cols});
       return g.outputs(g.node(Sub{}, product(g, d), bias));
     },
     kUnrecognised},
    {"einsum_that_is_no_gemm",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = g.tensor("x", {d.batch, d.rows}), y = g.tensor("y", {d.batch, d.cols});
       return g.outputs(g.node(Relu{}, g.node(Einsum{"bi,bj->bij"}, x, y)));
     }},
};

}  // namespace

Pattern gemm_bias_act_pattern() {
  return {kGemmBiasActName,
          "matmul, linear or einsum, then an addition, then relu, gelu, silu or sigmoid -> one product with "
          "an epilogue",
          match_gemm_bias_act,
          kGemmBiasActExamples,
          kGemmBiasActNearMisses,
          kGemmBiasActGuards};
}

}  // namespace fusesmith::backends
