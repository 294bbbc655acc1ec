// log_softmax: a row minus its logsumexp, in one pass over the row. The logsumexp is that of the op, maximum
// + log(sum), and stays in f32; libraries that subtract the maximum first round twice where x is subtracted.
#include "backends/rewrite/matching/deviations.h"
#include "backends/rewrite/matching/example_graph.h"
#include "backends/rewrite/patterns.h"

namespace fusesmith::backends {
namespace {

constexpr std::string_view kOtherAxis = "other_axis";
constexpr std::string_view kOtherRow = "other_row";
constexpr std::string_view kLogSoftmaxGuards[] = {kSecondReader, kObserved, kOtherAxis, kOtherRow};

bool reduces_last_axis(const LogSumExp& op, int rank) {
  const auto axes = resolve_axes(op.axes, rank);
  return axes && *axes == std::vector<int>{rank - 1};
}

std::optional<Match> match_log_softmax(const MatchContext& context, int n) {
  if (!context.op_as<Sub>(n)) return std::nullopt;
  const ValueId x = context.node(n).inputs[0], subtracted = context.node(n).inputs[1];
  const auto producer = context.graph().producer(subtracted);
  const auto* op = producer ? context.op_as<LogSumExp>(*producer) : nullptr;
  if (!op || context.node(*producer).inputs[0] != x || !context.is_free(*producer)) return std::nullopt;
  if (!context.is_inner(subtracted)) return context.refuse(context.outer_guard(subtracted));
  const Shape& shape = context.shape(x);
  const int rank = static_cast<int>(shape.size());
  if (!reduces_last_axis(*op, rank)) return context.refuse(kOtherAxis);
  // Without its axis of size 1, the logsumexp of row i is subtracted from column i.
  if (!op->keepdims && rank > 1) return context.refuse(kOtherRow);
  const int64_t columns = shape.back();
  Match found{{*producer, n},
              {"log_softmax"},
              {},
              FusedLogSoftmax{x, element_count(shape) / columns, columns, columns}};
  drop_rounding(found.contract, context.graph(), *producer);
  return found;
}

ValueId log_softmax(ExampleGraph& g, ValueId x, const LogSumExp& op) {
  return g.node(Sub{}, x, g.node(op, x));
}

constexpr GraphRecipe kLogSoftmaxExamples[] = {
    {"of_the_last_axis",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = g.tensor("x", {d.batch, d.rows, d.cols}, Normal{0, 3});
       return g.outputs(log_softmax(g, x, {{-1}, true}));
     }},
    {"of_large_logits",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = g.tensor("x", {d.rows, d.cols}, Normal{256, 4});
       return g.outputs(log_softmax(g, x, {{1}, true}));
     }},
    {"of_one_row",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       return g.outputs(log_softmax(g, g.tensor("x", {d.cols}), {{0}, false}));
     }},
};

constexpr GraphRecipe kLogSoftmaxNearMisses[] = {
    {"of_another_axis",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       return g.outputs(log_softmax(g, g.tensor("x", {d.batch, d.rows, d.cols}), {{1}, true}));
     }},
    {"of_two_axes",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       return g.outputs(log_softmax(g, g.tensor("x", {d.batch, d.rows, d.cols}), {{1, 2}, true}));
     }},
    {"rows_minus_those_of_columns",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       return g.outputs(log_softmax(g, g.tensor("x", {d.cols, d.cols}), {{1}, false}));
     }},
    {"logsumexp_is_an_output",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = g.tensor("x", {d.rows, d.cols}), sum = g.node(LogSumExp{{1}, true}, x);
       return g.outputs(sum, g.node(Sub{}, x, sum));
     }},
    {"logsumexp_read_twice",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = g.tensor("x", {d.rows, d.cols}), sum = g.node(LogSumExp{{1}, true}, x);
       return g.outputs(g.node(Mul{}, g.node(Sub{}, x, sum), sum));
     }},
    {"logsumexp_minus_x",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = g.tensor("x", {d.rows, d.cols});
       return g.outputs(g.node(Sub{}, g.node(LogSumExp{{1}, true}, x), x));
     },
     kUnrecognised},
    {"of_another_tensor",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = g.tensor("x", {d.rows, d.cols}), y = g.tensor("y", {d.rows, d.cols});
       return g.outputs(g.node(Sub{}, y, g.node(LogSumExp{{1}, true}, x)));
     },
     kUnrecognised},
};

}  // namespace

Pattern log_softmax_pattern() {
  return {"log_softmax",         "x - logsumexp(x) along the last axis -> one pass over each row",
          match_log_softmax,     kLogSoftmaxExamples,
          kLogSoftmaxNearMisses, kLogSoftmaxGuards};
}

}  // namespace fusesmith::backends
