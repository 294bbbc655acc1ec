// Backward passes: what autograd computes for a layer, in the dtype of the layer, from the gradient of its
// result and the values that the forward pass saved; and the derived gradients of small graphs in f32.
#include <cmath>

#include "fuzz/generate/pieces/pieces.h"
#include "graph/gradient.h"

namespace fusesmith::fuzz {
namespace {

// The gradient of the result of a forward pass.
Value upstream(Scene& s, const TensorType& type) { return s.source("dy", type, Role::activation); }

Value column_sums(Scene& s, Value rows) { return s.op(ReduceSum{{0}}, {rows}); }

// The gradient of an activation of h.
Value activation_backward(Scene& s, Value dy, Value h) {
  switch (s.choices.below(6)) {
    case 0:
      return s.op(GeluBackward{Gelu::Form::erf}, {dy, h});
    case 1:
      return s.op(GeluBackward{Gelu::Form::tanh}, {dy, h});
    case 2:
      return s.op(SiluBackward{}, {dy, h});
    case 3:
      return s.op(SigmoidBackward{}, {dy, s.op(Sigmoid{}, {h})});
    case 4:
      return s.op(TanhBackward{}, {dy, s.op(Tanh{}, {h})});
    default:
      return s.op(ReluBackward{}, {dy, s.flip() ? h : s.op(Relu{}, {h})});
  }
}

// Of y = activation(x w^T + b): the gradients of x, w and b.
bool layer_backward(Scene& s) {
  const Value x = as_rows(s, s.any(2, 4));
  const TensorType type = s.type(x);
  const int64_t n = s.dim(64), k = type.shape[1];
  const Value w = s.weight({type.dtype, {n, k}}, k), b = s.bias({type.dtype, {n}});
  const Value h = s.op(Linear{}, {x, w, b});
  const Value dh = activation_backward(s, upstream(s, s.type(h)), h);
  s.keep(s.op(Matmul{}, {dh, w}));
  s.keep(s.op(Matmul{true}, {dh, x}));
  if (s.flip(0.7)) s.keep(column_sums(s, dh));
  return true;
}

// Of y = silu(a) b, as of a gated feed-forward block.
bool gate_backward(Scene& s) {
  const Value a = s.any(1, 4), b = s.like(s.type(a)), dy = upstream(s, s.type(a));
  s.keep(s.op(SiluBackward{}, {s.op(Mul{}, {dy, b}), a}));
  s.keep(s.op(Mul{}, {dy, s.op(Silu{}, {a})}));
  return true;
}

// Of a norm whose operand other layers read, too, so that two gradients are added.
bool norm_backward(Scene& s) {
  const Value x = s.any(2, 4);
  const TensorType type = s.type(x);
  if (type.shape.back() == 1) return false;
  const Value weight = s.gain({type.dtype, {type.shape.back()}}), dy = upstream(s, type);
  const double eps = s.choices.pick({1e-5, 1e-6, 1e-3});
  const Value dx =
      s.flip() ? s.op(LayerNormBackward{eps}, {dy, x, weight}) : s.op(RmsNormBackward{eps}, {dy, x, weight});
  const int outputs = s.sketch.value_count() - dx;
  for (int i = 1; i < outputs; ++i) s.keep(dx + i);
  s.keep(s.flip() ? add_either_way(s, dx, upstream(s, type)) : dx);
  return true;
}

// Of the cross entropy of rows of scores with probabilities or classes, which are given as rows.
bool loss_backward(Scene& s) {
  const Value x = as_rows(s, s.any(2, 3));
  const TensorType type = s.type(x);
  const TensorType of_rows{type.dtype, {type.shape[0], 1}};
  const Value y = s.op(LogSoftmax{-1}, {x});
  // The derivative of the loss for y, which is minus the target: a row of the unit matrix for a class.
  const Value target = s.flip()
                           ? s.op(Gather{}, {s.source("dy", {type.dtype, {8, type.shape[1]}}, Role::weight),
                                             s.token_ids({type.shape[0]}, 8)})
                           : upstream(s, type);
  const Value dy = s.op(Mul{}, {target, s.source("dl", of_rows, Role::activation)});
  if (s.flip()) s.keep(s.op(ReduceSum{{-1}}, {s.op(Mul{}, {y, target})}));
  s.keep(s.op(LogSoftmaxBackward{-1}, {dy, y}));
  return true;
}

// Of softmax(scale q k^T + mask) v, from the probabilities. A hidden key has probability 0, so that nothing
// passes through the mask.
bool attention_backward(Scene& s) {
  const Value q = s.any(2, 4);
  const TensorType type = s.type(q);
  TensorType key = type;
  if (s.flip()) key.shape.end()[-2] = s.dim(64);
  const Value k = s.like(key), v = s.like(key);
  const double scale = 1 / std::sqrt(static_cast<double>(type.shape.back()));
  Value scores = s.op(Scale{scale}, {s.op(Matmul{false, true}, {q, k})});
  const int64_t queries = type.shape.end()[-2], keys = key.shape.end()[-2];
  if (s.flip()) {
    const CausalAlignment alignment =
        queries <= keys && s.flip() ? CausalAlignment::bottom_right : CausalAlignment::top_left;
    constexpr double kHidden = -std::numeric_limits<double>::infinity();
    scores = s.op(MaskedFill{kHidden}, {scores, s.op(CausalMask{queries, keys, alignment}, {})});
  }
  const Value p = s.op(Softmax{-1}, {scores}), dy = upstream(s, type);
  s.keep(s.op(Matmul{true, false}, {p, dy}));
  const Value dp = s.op(Matmul{false, true}, {dy, v});
  const Value ds = s.op(Scale{scale}, {s.op(SoftmaxBackward{-1}, {dp, p})});
  s.keep(s.op(Matmul{}, {ds, k}));
  s.keep(s.op(Matmul{true, false}, {ds, q}));
  return true;
}

// One op of x in f32, of which the gradient graph is made.
ValueId forward_op(Scene& s, graph::Builder& b, ValueId x) {
  const auto other = [&](std::string name) { return b.input(std::move(name), b.type(x), graph::Normal{}); };
  switch (s.choices.below(8)) {
    case 0:
      return b.node(LogSumExp{{-1}, s.flip()}, {x});
    case 1:
      return b.node(Softcap{s.choices.pick({1.0, 5.0, 30.0})}, {x});
    case 2:
      return b.node(Div{},
                    {x, b.node(Add{}, {b.node(Exp{}, {b.node(Tanh{}, {x})}), b.node(Sigmoid{}, {x})})});
    case 3:
      return b.node(Mul{}, {x, b.node(Rsqrt{}, {b.node(Exp{}, {b.node(Tanh{}, {other("z")})})})});
    case 4:
      return b.node(Softmax{s.flip() ? -1 : 0}, {x});
    case 5:
      return b.node(Mish{}, {x});
    case 6:
      return b.node(Einsum{"ab,cb->ac"}, {x, other("z")});
    default:
      return b.node(Gelu{s.flip() ? Gelu::Form::erf : Gelu::Form::tanh}, {x});
  }
}

// The nodes of the graph, on these values for its inputs. The values of its outputs.
std::vector<Value> append(Scene& s, const Graph& graph, std::vector<Value> values) {
  for (const graph::Node& node : graph.nodes()) {
    std::vector<Value> inputs;
    for (const ValueId v : node.inputs) inputs.push_back(values[static_cast<size_t>(v)]);
    const Value first = s.op(node.op, inputs);
    for (int i = 0; i < node.output_count; ++i) values.push_back(first + i);
  }
  std::vector<Value> outputs;
  for (const ValueId v : graph.outputs()) outputs.push_back(values[static_cast<size_t>(v)]);
  return outputs;
}

// Two ops of rows in f32, and their gradients, which have the dtype of the rows again.
bool derived_backward(Scene& s) {
  const Value x = as_rows(s, s.any(2, 3));
  const Dtype dtype = s.type(x).dtype;
  graph::Builder b;
  const ValueId h = b.input("x", {Dtype::f32, s.shape(x)}, graph::Normal{});
  ValueId y = forward_op(s, b, h);
  if (b.type(y).rank() == 2 && s.flip(0.3)) y = forward_op(s, b, y);
  b.output(y);
  const auto forward = b.build();
  if (!forward) return false;
  const auto backward = graph::gradient_graph(*forward);
  if (!backward) return false;
  std::vector<Value> values;
  for (const graph::Input& input : backward->inputs()) {
    const Value own = values.empty() ? x : upstream(s, {dtype, input.type.shape});
    values.push_back(dtype == Dtype::f32 ? own : s.op(Cast{Dtype::f32}, {own}));
  }
  for (const Value gradient : append(s, *backward, std::move(values)))
    s.keep(dtype == Dtype::f32 ? gradient : s.op(Cast{dtype}, {gradient}));
  return true;
}

}  // namespace

bool add_backward(Scene& s) {
  static constexpr int kWeights[] = {4, 2, 2, 2, 2, 1};  // derived ones are often too large, and cost most
  static constexpr bool (*kPasses[])(Scene&) = {attention_backward, layer_backward, gate_backward,
                                                norm_backward,      loss_backward,  derived_backward};
  return kPasses[s.choices.weighted(kWeights)](s);
}

}  // namespace fusesmith::fuzz
