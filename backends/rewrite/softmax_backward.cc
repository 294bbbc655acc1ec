// softmax_backward: the gradient of softmax or log_softmax along the last axis in one pass over each row, and
// its multiplication by a number, as in the backward pass of attention.
#include "backends/rewrite/matching/deviations.h"
#include "backends/rewrite/matching/example_graph.h"
#include "backends/rewrite/patterns.h"

namespace fusesmith::backends {
namespace {

constexpr std::string_view kAnotherAxis = "another_axis";
constexpr std::string_view kSoftmaxBackwardGuards[] = {kAnotherAxis};

// The scale that is all that reads the value.
std::optional<int> scale_of(const MatchContext& context, ValueId value) {
  const auto reader = context.sole_consumer(value);
  return reader && context.op_as<Scale>(*reader) ? reader : std::nullopt;
}

std::optional<Match> match_softmax_backward(const MatchContext& context, int n) {
  const auto* plain = context.op_as<SoftmaxBackward>(n);
  const auto* of_log = context.op_as<LogSoftmaxBackward>(n);
  if (!plain && !of_log) return std::nullopt;
  const Node& node = context.node(n);
  const Shape& shape = context.shape(node.inputs[0]);
  const int rank = static_cast<int>(shape.size());
  const int axis = *resolve_axis(plain ? plain->axis : of_log->axis, rank);
  if (axis != rank - 1) return context.refuse(kAnotherAxis);
  SoftmaxGradient op;
  op.of_log = of_log != nullptr;
  op.dy = node.inputs[0];
  op.y = node.inputs[1];
  op.columns = shape.back();
  op.rows = element_count(shape) / op.columns;
  op.dy_pitch = op.y_pitch = op.columns;
  Match found{{n}, {"softmax_backward"}, {}, op};
  if (const auto scale = scale_of(context, node.first_output)) {
    op.scale = *context.op_as<Scale>(*scale);
    found.nodes.push_back(*scale);
    found.op = op;
    drop_rounding(found.contract, context.graph(), n);
  }
  return found;
}

// dy, and y: probabilities, or their logarithms.
template <class Op>
ValueId gradient(ExampleGraph& g, const Shape& shape, int64_t axis) {
  const ValueId dy = g.tensor("dy", shape);
  constexpr bool kOfLog = std::is_same_v<Op, LogSoftmaxBackward>;
  const ValueId y = g.tensor("y", shape, kOfLog ? Uniform{-8, 0} : Uniform{0, 1});
  return g.node(Op{axis}, dy, y);
}

constexpr GraphRecipe kSoftmaxBackwardExamples[] = {
    {"of_softmax",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       return g.outputs(gradient<SoftmaxBackward>(g, {d.batch, d.rows, d.cols}, -1));
     }},
    {"of_log_softmax",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       return g.outputs(gradient<LogSoftmaxBackward>(g, {d.rows, d.cols}, 1));
     }},
    {"scaled",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId dx = gradient<SoftmaxBackward>(g, {d.batch, d.heads, d.rows, d.cols}, -1);
       return g.outputs(g.node(Scale{0.3}, dx));
     }},
    {"divided",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId dx = gradient<LogSoftmaxBackward>(g, {d.rows, d.cols}, 1);
       return g.outputs(g.node(Scale{12, true}, dx));
     }},
};

constexpr GraphRecipe kSoftmaxBackwardNearMisses[] = {
    {"along_rows",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       return g.outputs(gradient<SoftmaxBackward>(g, {d.rows, d.cols}, 0));
     }},
    {"of_log_along_rows",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       return g.outputs(gradient<LogSoftmaxBackward>(g, {d.batch, d.rows, d.cols}, 1));
     }},
    {"sigmoid_backward",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId dy = g.tensor("dy", {d.rows, d.cols}), x = g.tensor("x", {d.rows, d.cols});
       return g.outputs(g.node(SigmoidBackward{}, dy, g.node(Sigmoid{}, x)));
     },
     kUnrecognised},
};

}  // namespace

Pattern softmax_backward_pattern() {
  return {"softmax_backward",
          "gradient of softmax or log_softmax along the last axis, scaled or not -> one pass over each row",
          match_softmax_backward,
          kSoftmaxBackwardExamples,
          kSoftmaxBackwardNearMisses,
          kSoftmaxBackwardGuards};
}

}  // namespace fusesmith::backends
