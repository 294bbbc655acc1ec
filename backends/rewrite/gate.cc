// gate: an activation of one value times another (SwiGLU, GEGLU, sigmoid gates) in one loop, the activation
// kept in f32; a cast of the activation is performed. Both factors may be the halves of one chunk.
//
// It takes the activation and the product alone. It comes before gemm_bias_act, so that the products that
// feed it round where the graph says (a GEMM is a library call in the compilers that fuse gates), and leaves
// trees that hold more pointwise ops of the same shape to pointwise_chain and to epilogues.
#include <algorithm>

#include "backends/rewrite/matching/deviations.h"
#include "backends/rewrite/matching/example_graph.h"
#include "backends/rewrite/matching/pointwise.h"
#include "backends/rewrite/patterns.h"

namespace fusesmith::backends {
namespace {

constexpr std::string_view kBroadcastFactor = "broadcast_factor";
constexpr std::string_view kLongerChain = "longer_chain";
constexpr std::string_view kGateGuards[] = {kSecondReader, kObserved, kBroadcastFactor, kLongerChain};

// The factor that is an activation, possibly cast, and the other one.
struct Factors {
  int activation = 0;
  std::optional<int> cast;
  ValueId gate = -1;   // what is activated
  ValueId value = -1;  // the other factor
};

std::optional<Factors> factors(const MatchContext& context, const Node& product, size_t side) {
  const auto producer = [&](ValueId v) { return context.graph().producer(v); };
  auto n = producer(product.inputs[side]);
  Factors found;
  if (n && context.op_as<Cast>(*n) && context.op_as<Cast>(*n)->is_plain()) {
    found.cast = n;
    n = producer(context.node(*n).inputs[0]);
  }
  if (!n || !activation_of(context.node(*n).op)) return std::nullopt;
  found.activation = *n;
  found.gate = context.node(*n).inputs[0];
  found.value = product.inputs[1 - side];
  return found;
}

// Whether pointwise_chain would take more than these.
bool joins_others(const MatchContext& context, const Factors& f, ValueId out) {
  const auto joins = [&](std::optional<int> n) {
    return n && is_elementwise(context, *n) && context.shape(context.output(*n)) == context.shape(out);
  };
  return context.enabled("pointwise_chain") &&
         (joins(context.sole_consumer(out)) || joins(context.inner_producer(f.gate)) ||
          joins(context.inner_producer(f.value)));
}

// The chunk whose two halves are the factors and nothing else.
std::optional<int> halved(const MatchContext& context, const Factors& f) {
  const auto n = context.graph().producer(f.gate);
  const auto* chunk = n ? context.op_as<Chunk>(*n) : nullptr;
  const bool halves = chunk && chunk->chunks == 2 && context.graph().producer(f.value) == n;
  if (!halves || f.gate == f.value || !context.is_free(*n)) return std::nullopt;
  return context.is_inner(f.gate) && context.is_inner(f.value) ? n : std::nullopt;
}

// Each half of a chunk is a part of every row, a row being all that follows one index before the axis.
void read_halves(const MatchContext& context, int chunk, Gate& gate) {
  const Node& node = context.node(chunk);
  const Shape& whole = context.shape(node.inputs[0]);
  const auto axis =
      static_cast<size_t>(*resolve_axis(context.op_as<Chunk>(chunk)->axis, static_cast<int>(whole.size())));
  gate.rows = element_count(Shape(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(axis)));
  gate.columns /= gate.rows;
  for (Gate::Operand* operand : {&gate.gate, &gate.value}) {
    const int64_t half = operand->value - node.first_output;
    *operand = {node.inputs[0], half * gate.columns, 2 * gate.columns};
  }
  if (context.faults().has("gate_halves_swapped")) std::swap(gate.gate, gate.value);
  constexpr int64_t kVector = 8;  // elements of 16 bits in 16 bytes
  for (Gate::Operand* operand : {&gate.gate, &gate.value}) {
    if (context.faults().has("gate_half_at_whole_vectors")) operand->first -= operand->first % kVector;
    if (context.faults().has("gate_rows_one_half_apart")) operand->pitch = gate.columns;
  }
}

std::optional<Match> match_side(const MatchContext& context, int n, size_t side) {
  const Node& product = context.node(n);
  const std::optional<Factors> f = factors(context, product, side);
  if (!f) return std::nullopt;
  std::vector<int> nodes{f->activation};
  if (f->cast) nodes.push_back(*f->cast);
  for (int inner : nodes) {
    if (!context.is_free(inner)) return std::nullopt;
    const ValueId value = context.output(inner);
    if (!context.is_inner(value)) return context.refuse(context.outer_guard(value));
  }
  const Shape& shape = context.shape(product.first_output);
  if (context.shape(f->gate) != shape || context.shape(f->value) != shape)
    return context.refuse(kBroadcastFactor);
  if (joins_others(context, *f, product.first_output)) return context.refuse(kLongerChain);
  nodes.push_back(n);
  const int64_t count = element_count(shape);
  Gate gate{{f->gate, 0, count},
            {f->value, 0, count},
            1,
            count,
            *activation_of(context.node(f->activation).op),
            {}};
  if (f->cast && !context.faults().has("gate_cast_skipped")) gate.cast = context.op_as<Cast>(*f->cast)->dtype;
  if (side == 1 && context.faults().has("gate_on_the_left")) std::swap(gate.gate, gate.value);
  if (const auto chunk = halved(context, *f)) {
    nodes.push_back(*chunk);
    read_halves(context, *chunk, gate);
  }
  Match found{std::move(nodes), {"gate"}, {}, gate};
  drop_rounding(found.contract, context.graph(), f->activation);
  return found;
}

std::optional<Match> match_gate(const MatchContext& context, int n) {
  if (!context.op_as<Mul>(n)) return std::nullopt;
  auto found = match_side(context, n, 0);
  return found ? found : match_side(context, n, 1);
}

struct Pair {
  ValueId x, y;
  Pair(ExampleGraph& g, const ExampleDims& d)
      : x(g.tensor("x", {d.batch, d.rows, d.cols})), y(g.tensor("y", {d.batch, d.rows, d.cols})) {}
};

constexpr GraphRecipe kGateExamples[] = {
    {"sigmoid_gate",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const Pair in(g, d);
       return g.outputs(g.node(Mul{}, in.x, g.node(Sigmoid{}, in.y)));
     }},
    {"silu_gate",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const Pair in(g, d);
       return g.outputs(g.node(Mul{}, g.node(Silu{}, in.x), in.y));
     }},
    {"gelu_gate",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const Pair in(g, d);
       return g.outputs(g.node(Mul{}, g.node(Gelu{}, in.x), in.y));
     }},
    {"gelu_tanh_gate",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const Pair in(g, d);
       return g.outputs(g.node(Mul{}, in.y, g.node(Gelu{Gelu::Form::tanh}, in.x)));
     }},
    {"relu_gate",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const Pair in(g, d);
       return g.outputs(g.node(Mul{}, g.node(Relu{}, in.y), in.x));
     }},
    {"gated_by_itself",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = g.tensor("x", {d.rows, d.cols});
       return g.outputs(g.node(Mul{}, x, g.node(Sigmoid{}, x)));
     }},
    {"swiglu_of_halves",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId first = g.node(Chunk{-1, 2}, g.tensor("x", {d.batch, d.rows, 2 * d.cols}));
       return g.outputs(g.node(Mul{}, g.node(Silu{}, first), first + 1));
     }},
    {"glu_along_channels",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId first = g.node(Chunk{1, 2}, g.tensor("x", {d.batch, 2 * d.heads, d.rows, d.cols}));
       return g.outputs(g.node(Mul{}, first, g.node(Sigmoid{}, first + 1)));
     }},
    {"autocast_gate",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const Dtype narrow = t == Dtype::f32 ? Dtype::bf16 : t;
       const ValueId x = g.tensor_of(Dtype::f32, "x", {d.rows, d.cols}),
                     y = g.tensor_of(narrow, "y", {d.rows, d.cols});
       return g.outputs(g.node(Mul{}, y, g.node(Cast{narrow}, g.node(Sigmoid{}, x))));
     }},
    {"autocast_swiglu",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const Dtype narrow = t == Dtype::f32 ? Dtype::f16 : t;
       const ValueId x = g.tensor_of(Dtype::f32, "x", {d.batch, d.rows, d.cols}),
                     y = g.tensor_of(narrow, "y", {d.batch, d.rows, d.cols});
       return g.outputs(g.node(Mul{}, g.node(Cast{narrow}, g.node(Silu{}, x)), y));
     }},
    {"widened_gate",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = g.tensor("x", {d.rows, d.cols}), y = g.tensor_of(Dtype::f32, "y", {d.rows, d.cols});
       return g.outputs(g.node(Mul{}, g.node(Cast{Dtype::f32}, g.node(Silu{}, x)), y));
     }},
};

constexpr GraphRecipe kGateNearMisses[] = {
    {"activation_is_an_output",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const Pair in(g, d);
       const ValueId gate = g.node(Sigmoid{}, in.x);
       return g.outputs(gate, g.node(Mul{}, gate, in.y));
     }},
    {"squared_activation",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId gate = g.node(Silu{}, g.tensor("x", {d.rows, d.cols}));
       return g.outputs(g.node(Mul{}, gate, gate));
     }},
    {"gate_of_each_column",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const Pair in(g, d);
       const ValueId gate = g.node(Sigmoid{}, g.tensor("gate", {d.cols}));
       return g.outputs(g.node(Mul{}, in.x, gate));
     }},
    {"factor_of_each_column",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const Pair in(g, d);
       const ValueId factor = g.tensor("factor", {d.cols});
       return g.outputs(g.node(Mul{}, g.node(Silu{}, in.x), factor));
     }},
    {"mask_multiplied_too",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const Pair in(g, d);
       const ValueId mask = g.tensor("mask", {d.rows, 1});
       return g.outputs(g.node(Mul{}, g.node(Mul{}, in.x, g.node(Sigmoid{}, in.y)), mask));
     }},
    {"scaled_before",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const Pair in(g, d);
       return g.outputs(g.node(Mul{}, g.node(Silu{}, g.node(Scale{1.375}, in.x)), in.y));
     }},
    {"two_activations",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const Pair in(g, d);
       return g.outputs(g.node(Mul{}, g.node(Tanh{}, in.x), g.node(Sigmoid{}, in.y)));
     }},
    {"tanh_gate",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const Pair in(g, d);
       return g.outputs(g.node(Mul{}, g.node(Tanh{}, in.x), in.y));
     },
     kUnrecognised},
    {"divided_by_a_gate",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const Pair in(g, d);
       return g.outputs(g.node(Div{}, in.x, g.node(Sigmoid{}, in.y)));
     },
     kUnrecognised},
};

}  // namespace

Pattern gate_pattern() {
  return {"gate",          "relu, gelu, silu or sigmoid of one value, times another value -> one loop",
          match_gate,      kGateExamples,
          kGateNearMisses, kGateGuards};
}

}  // namespace fusesmith::backends
