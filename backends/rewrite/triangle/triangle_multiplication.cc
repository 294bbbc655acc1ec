// triangle_multiplication: the einsum of AlphaFold's triangle multiplication over the two halves of one
// tensor, outgoing "bikd,bjkd->bijd" or incoming "bkid,bkjd->bijd", reads both halves in place: the chunk (or
// the two slices) and an upcast to f32 are not carried out. Widening is exact, the sums are in f32 and
// rounded where the graph rounds them: the contract is the strict one. The mask and the gate in front stay
// outside: what they make is read many times over.
#include <algorithm>
#include <array>

#include "backends/rewrite/patterns.h"
#include "backends/rewrite/triangle/triangle_graphs.h"

namespace fusesmith::backends {
namespace {

constexpr std::string_view kTriangleMultiplicationName = "triangle_multiplication";
constexpr std::string_view kTwoTensors = "two_tensors", kNotTheHalves = "not_the_halves",
                           kCastRounds = "cast_rounds", kOtherEquation = "other_equation";
constexpr std::string_view kTriangleMultiplicationGuards[] = {kTwoTensors, kNotTheHalves, kSecondReader,
                                                              kObserved,   kCastRounds,   kOtherEquation};

bool is_last_axis(int64_t axis, const Shape& shape) {
  const int rank = static_cast<int>(shape.size());
  return *resolve_axis(axis, rank) == rank - 1;
}

// One operand of the einsum: channels cut out of a tensor, then perhaps cast.
struct Operand {
  std::vector<int> nodes;
  std::vector<ValueId> inner;  // between the tensor and the einsum
  ValueId tensor = -1;
  int64_t first = 0;  // channel of the tensor
  bool halves = false;
};

std::optional<Operand> operand_of(const MatchContext& context, ValueId value) {
  Operand operand;
  const Graph& graph = context.graph();
  auto producer = graph.producer(value);
  if (producer && context.op_as<Cast>(*producer) && context.op_as<Cast>(*producer)->is_plain()) {
    operand.nodes.push_back(*producer);
    operand.inner.push_back(value);
    value = context.node(*producer).inputs[0];
    producer = graph.producer(value);
  }
  if (!producer) return std::nullopt;
  const Node& node = context.node(*producer);
  const auto* chunk = context.op_as<Chunk>(*producer);
  const auto* slice = context.op_as<Slice>(*producer);
  if (!chunk && !slice) return std::nullopt;
  operand.nodes.push_back(*producer);
  operand.inner.push_back(value);
  operand.tensor = node.inputs[0];
  const Shape& whole = context.shape(operand.tensor);
  const int64_t channels = context.shape(value).back();
  if (!is_last_axis(chunk ? chunk->axis : slice->axis, whole)) return operand;
  operand.first = chunk ? (value - node.first_output) * channels : slice->start;
  operand.halves =
      2 * channels == whole.back() && operand.first % channels == 0 && (chunk || slice->step == 1);
  return operand;
}

// Whether every cast of the nodes is exact.
bool casts_widen(const MatchContext& context, const std::vector<int>& nodes) {
  return std::all_of(nodes.begin(), nodes.end(), [&](int n) {
    return !context.op_as<Cast>(n) || context.graph().type(context.output(n)).dtype == Dtype::f32;
  });
}

// Which of the two equations it is, with or without a batch letter. Fault: letters are told by the sizes
// that they stand for, so that the two look alike where the tensor is square.
std::optional<bool> is_incoming(const EinsumLabels& labels, bool square_is_outgoing,
                                bool square_is_incoming) {
  std::string a = labels.a, b = labels.b, out = labels.out;
  if (a.size() == 4 && b.size() == 4 && out.size() == 4) {
    if (a[0] != b[0] || a[0] != out[0]) return std::nullopt;
    for (std::string* letters : {&a, &b, &out}) letters->erase(0, 1);
  }
  if (a.size() != 3 || b.size() != 3 || out.size() != 3 || labels.summed.size() != 1) return std::nullopt;
  const char i = out[0], j = out[1], d = out[2], k = labels.summed[0];
  const std::string outgoing_a{i, k, d}, outgoing_b{j, k, d}, incoming_a{k, i, d}, incoming_b{k, j, d};
  if (a == outgoing_a && b == outgoing_b) return square_is_incoming;
  if (a == incoming_a && b == incoming_b) return !square_is_outgoing;
  return std::nullopt;
}

void push_new(std::vector<int>& nodes, const std::vector<int>& more) {
  for (int n : more) {
    if (std::find(nodes.begin(), nodes.end(), n) == nodes.end()) nodes.push_back(n);
  }
}

// Takes in an upcast of the whole tensor that only the halves read.
void take_upcast(const MatchContext& context, ValueId& tensor, std::vector<int>& nodes) {
  const auto producer = context.graph().producer(tensor);
  if (!producer || !context.op_as<Cast>(*producer) || !context.is_free(*producer)) return;
  const auto& readers = context.consumers(tensor);
  const bool inside = std::all_of(readers.begin(), readers.end(), [&](int reader) {
    return std::find(nodes.begin(), nodes.end(), reader) != nodes.end();
  });
  if (!inside || context.graph().is_observed(tensor) || !casts_widen(context, {*producer})) return;
  if (!is_float(context.graph().type(context.node(*producer).inputs[0]).dtype)) return;
  nodes.push_back(*producer);
  tensor = context.node(*producer).inputs[0];
}

TriangleProduct product_of(const MatchContext& context, ValueId x, bool incoming, const Operand& left,
                           const Operand& right) {
  const Shape& shape = context.shape(x);
  const size_t rank = shape.size();
  TriangleProduct triangle{x,        1,          shape[rank - 3], shape[rank - 2], shape[rank - 1] / 2,
                           incoming, left.first, right.first};
  if (rank == 4) triangle.batch = shape[0];
  if (incoming) std::swap(triangle.size, triangle.depth);
  if (context.faults().has("triangle_halves_exchanged")) std::swap(triangle.left, triangle.right);
  if (context.faults().has("triangle_first_half_twice")) triangle.left = triangle.right = 0;
  return triangle;
}

std::optional<Match> match_triangle_multiplication(const MatchContext& context, int n) {
  const auto* einsum = context.op_as<Einsum>(n);
  if (!einsum) return std::nullopt;
  const Node& node = context.node(n);
  const auto left = operand_of(context, node.inputs[0]), right = operand_of(context, node.inputs[1]);
  if (!left || !right) return std::nullopt;
  if (left->tensor != right->tensor) return context.refuse(kTwoTensors);
  if (!left->halves || !right->halves || left->first == right->first) return context.refuse(kNotTheHalves);
  std::vector<int> nodes{n};
  for (const Operand& operand : {*left, *right}) {
    for (ValueId value : operand.inner) {
      if (!context.is_inner(value)) return context.refuse(context.outer_guard(value));
    }
    push_new(nodes, operand.nodes);
  }
  if (!std::all_of(nodes.begin(), nodes.end(), [&](int m) { return context.is_free(m); }))
    return std::nullopt;
  if (!casts_widen(context, nodes)) return context.refuse(kCastRounds);
  ValueId x = left->tensor;
  const Shape& shape = context.shape(x);
  const bool square = shape.size() >= 3 && shape[shape.size() - 2] == shape[shape.size() - 3];
  const auto incoming = is_incoming(*parse_equation(einsum->equation),
                                    square && context.faults().has("triangle_incoming_as_outgoing"),
                                    square && context.faults().has("triangle_outgoing_as_incoming"));
  if (!incoming) return context.refuse(kOtherEquation);
  take_upcast(context, x, nodes);
  return Match{nodes,
               {std::string(kTriangleMultiplicationName)},
               {},
               product_of(context, x, *incoming, *left, *right)};
}

}  // namespace

Pattern triangle_multiplication_pattern() {
  return {
      kTriangleMultiplicationName,
      "bikd,bjkd->bijd or bkid,bkjd->bijd over the halves of one tensor -> one product that reads them in "
      "place",
      match_triangle_multiplication,
      triangle_examples(),
      triangle_near_misses(),
      kTriangleMultiplicationGuards};
}

}  // namespace fusesmith::backends
