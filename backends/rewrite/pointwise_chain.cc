// pointwise_chain: two or more pointwise and select ops of one output shape that form a tree run as one
// kernel, element by element in f32. Implicit 16-bit roundings inside are dropped; the rounding of an
// explicit cast is performed. Ops whose formulas are pointwise (graph/pointwise_formula.h) are steps too.
#include <algorithm>
#include <map>

#include "backends/rewrite/matching/deviations.h"
#include "backends/rewrite/matching/example_graph.h"
#include "backends/rewrite/matching/pointwise.h"
#include "backends/rewrite/patterns.h"

namespace fusesmith::backends {
namespace {

// The root and everything that can be computed in its loop.
std::vector<int> chain_nodes(const MatchContext& context, int root) {
  std::vector<int> nodes{root};
  const Shape& shape = context.shape(context.output(root));
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (ValueId v : context.node(nodes[i]).inputs) {
      const auto n = context.inner_producer(v);
      if (n && context.shape(v) == shape && is_elementwise(context, *n)) nodes.push_back(*n);
    }
  }
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

// Injected fault: what a compiler's own passes over a step may get wrong.
void rewrite_wrongly(const Faults& faults, PointwiseChain::Step& step) {
  if (auto* scale = std::get_if<Scale>(&step.op); scale && faults.has("constant_folded_at_wrong_dtype"))
    scale->factor = round_to(Dtype::bf16, scale->factor);
  if (auto* gelu = std::get_if<Gelu>(&step.op); gelu && faults.has("chain_gelu_tanh_for_erf"))
    gelu->form = Gelu::Form::tanh;
  if (auto* fill = std::get_if<MaskedFill>(&step.op); fill && faults.has("chain_inverted_mask_ignored"))
    fill->inverted = false;
  const bool inner_on_the_right =
      step.arguments.size() == 2 && step.arguments[0] < 0 && step.arguments[1] >= 0;
  if (std::holds_alternative<Sub>(step.op) && inner_on_the_right && faults.has("sub_taken_as_commutative"))
    std::swap(step.arguments[0], step.arguments[1]);
}

// Makes the steps of the nodes in graph order; a formula's steps stand in its node's place.
class ChainProgram {
 public:
  ChainProgram(const MatchContext& context, const std::vector<int>& nodes) : context_(context) {
    chain_.shape = context.shape(context.output(nodes.back()));
    for (const int n : nodes) {
      const Node& node = context.node(n);
      std::vector<int> operands;
      for (const ValueId v : node.inputs) operands.push_back(argument(v));
      if (const auto formula = pointwise_formula(node.op, context.input_types(n))) {
        add_formula(*formula, operands);
      } else {
        add({node.op, context.graph().type(node.first_output).dtype, std::move(operands)});
      }
      step_of_[node.first_output] = static_cast<int>(chain_.steps.size()) - 1;
    }
  }

  PointwiseChain take() { return std::move(chain_); }

 private:
  int argument(ValueId v) {
    if (const auto step = step_of_.find(v); step != step_of_.end()) return step->second;
    auto& operands = chain_.operands;
    auto known = std::find_if(operands.begin(), operands.end(), [&](const auto& o) { return o.value == v; });
    if (known == operands.end())
      known = operands.insert(known, {v, broadcast_strides(context_.shape(v), chain_.shape)});
    return -1 - static_cast<int>(known - operands.begin());
  }

  void add_formula(const PointwiseFormula& formula, const std::vector<int>& operands) {
    const int first = static_cast<int>(chain_.steps.size());
    for (PointwiseStep step : formula.steps) {
      for (int& from : step.arguments)
        from = from >= 0 ? first + from : operands[static_cast<size_t>(-1 - from)];
      add(std::move(step));
    }
  }

  void add(PointwiseStep step) {
    rewrite_wrongly(context_.faults(), step);
    chain_.steps.push_back(std::move(step));
  }

  const MatchContext& context_;
  std::map<ValueId, int> step_of_;
  PointwiseChain chain_;
};

// Injected fault: a vector is broadcast along the last axis but one, where sizes do not tell them apart.
void broadcast_along_wrong_axis(const MatchContext& context, PointwiseChain& chain) {
  const size_t rank = chain.shape.size();
  if (rank < 2 || chain.shape[rank - 1] != chain.shape[rank - 2]) return;
  for (auto& operand : chain.operands) {
    if (context.shape(operand.value).size() == 1)
      std::swap(operand.strides[rank - 1], operand.strides[rank - 2]);
  }
}

constexpr std::string_view kPointwiseChainGuards[] = {
    kSecondReader, kObserved,
    "smaller_shape",  // an operand that broadcasts to the loop
};

// Says why what computes an operand stays outside the loop.
void refuse_producer(const MatchContext& context, ValueId operand, const Shape& shape) {
  const auto producer = context.graph().producer(operand);
  if (!producer || !context.is_free(*producer) || !is_elementwise(context, *producer)) return;
  if (!context.is_inner(operand))
    context.refuse(context.outer_guard(operand));
  else if (context.shape(operand) != shape)
    context.refuse("smaller_shape");
}

std::optional<Match> match_pointwise_chain(const MatchContext& context, int n) {
  if (!is_elementwise(context, n)) return std::nullopt;
  std::vector<int> nodes = chain_nodes(context, n);
  if (nodes.size() < 2) {
    for (ValueId operand : context.node(n).inputs)
      refuse_producer(context, operand, context.shape(context.output(n)));
    return std::nullopt;
  }
  PointwiseChain chain = ChainProgram(context, nodes).take();
  if (context.faults().has("chain_broadcasts_wrong_axis")) broadcast_along_wrong_axis(context, chain);
  Match found{nodes, {"pointwise_chain"}, {}, std::move(chain)};
  for (int inner : nodes) {
    if (inner != n) drop_rounding(found.contract, context.graph(), inner);
  }
  return found;
}

constexpr GraphRecipe kPointwiseChainExamples[] = {
    {"gate_and_residual",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = g.tensor("x", {d.batch, d.rows, d.cols}),
                     y = g.tensor("y", {d.batch, d.rows, d.cols});
       return g.outputs(g.node(Add{}, g.node(Mul{}, g.node(Silu{}, x), y), x));
     }},
    {"broadcast_vectors",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = g.tensor("x", {d.rows, d.cols}), row = g.tensor("row", {d.cols});
       const ValueId column = g.tensor("column", {d.rows, 1}), one = g.tensor("one", {});
       const ValueId sum = g.node(Add{}, g.node(Mul{}, row, x), column);
       const ValueId left = g.node(Sub{}, sum, one), right = g.node(Sigmoid{}, x);
       return g.outputs(g.node(Div{}, left, right));
     }},
    {"cast_and_back",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = g.tensor("x", {d.rows, d.cols}), y = g.tensor("y", {d.rows, d.cols});
       const ValueId inner = g.node(Cast{Dtype::bf16}, g.node(Mul{}, x, y));
       return g.outputs(g.node(Scale{1.375}, g.node(Cast{t}, inner)));
     }},
    {"where_and_fill",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = g.tensor("x", {d.rows, d.cols}), y = g.tensor("y", {d.cols});
       const ValueId hidden = g.mask("hidden", {d.rows, 1}), chosen = g.mask("chosen", {d.rows, d.cols});
       const ValueId filled = g.node(MaskedFill{-0.3}, g.node(Scale{0.7}, x), hidden);
       return g.outputs(g.node(Where{}, chosen, filled, y));
     }},
    {"activations",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = g.tensor("x", {d.rows, d.cols}), y = g.tensor("y", {d.rows, d.cols});
       const ValueId left = g.node(Gelu{}, g.node(Scale{3, true}, x));
       const ValueId right = g.node(Gelu{Gelu::Form::tanh}, g.node(Relu{}, y));
       return g.outputs(g.node(Add{}, left, right));
     }},
    {"functions",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = g.tensor("x", {d.rows, d.cols}), y = g.tensor("y", {d.rows, d.cols});
       const ValueId decay = g.node(Rsqrt{}, g.node(Exp{}, g.node(Softcap{4}, x)));
       const ValueId gate = g.node(Maximum{}, g.node(Tanh{}, y), g.node(Sqrt{}, g.node(Sigmoid{}, x)));
       return g.outputs(g.node(Mul{}, decay, gate));
     }},
};

constexpr GraphRecipe kPointwiseChainNearMisses[] = {
    {"second_consumer",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId y = g.node(Silu{}, g.tensor("x", {d.rows, d.cols}));
       return g.outputs(g.node(Mul{}, y, y));
     }},
    {"inner_value_is_an_output",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId y = g.node(Silu{}, g.tensor("x", {d.rows, d.cols}));
       return g.outputs(g.node(Scale{2}, y), y);
     }},
    {"smaller_inner_shape",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = g.tensor("x", {d.rows, d.cols}), y = g.tensor("y", {d.batch + 1, d.rows, d.cols});
       return g.outputs(g.node(Add{}, g.node(Sigmoid{}, x), y));
     }},
    {"movement_in_between",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = g.node(Permute{{1, 0}}, g.node(Silu{}, g.tensor("x", {d.rows, d.cols})));
       return g.outputs(g.node(Scale{2}, x));
     },
     kUnrecognised},
    {"one_op",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       return g.outputs(g.node(Gelu{}, g.tensor("x", {d.rows, d.cols})));
     },
     kUnrecognised},
};

}  // namespace

Pattern pointwise_chain_pattern() {
  return {"pointwise_chain",         "a tree of pointwise and select ops of one shape -> one loop in f32",
          match_pointwise_chain,     kPointwiseChainExamples,
          kPointwiseChainNearMisses, kPointwiseChainGuards};
}

}  // namespace fusesmith::backends
