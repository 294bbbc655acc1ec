// quantize: the scale of a tensor, of its rows or of blocks of them, made from their largest magnitude, and
// the codes, x divided by the scale. The scale is stored if other nodes read it, as the product of the codes
// does. It is not rounded but where the graph casts it. No path leaves the region and returns, since the
// scale depends on all that the region reads.
#include <algorithm>

#include "backends/rewrite/matching/deviations.h"
#include "backends/rewrite/matching/example_graph.h"
#include "backends/rewrite/patterns.h"

namespace fusesmith::backends {
namespace {

constexpr std::string_view kOtherAxes = "other_axes", kInnerRead = "inner_value_read";
constexpr std::string_view kQuantizeGuards[] = {kOtherAxes, kInnerRead};

// Walks from the codes to x; every step adds the node that it passes.
class Walk {
 public:
  Walk(const MatchContext& context, int last) : context_(&context), nodes_{last} {}

  // The producer of the value if it is a free T.
  template <class T>
  const Node* step(ValueId value) {
    const auto n = context_->graph().producer(value);
    if (!n || !context_->is_free(*n) || !context_->op_as<T>(*n)) return nullptr;
    if (std::find(nodes_.begin(), nodes_.end(), *n) == nodes_.end()) nodes_.push_back(*n);
    return &context_->node(*n);
  }
  const std::vector<int>& nodes() const { return nodes_; }

  // Whether nothing but the nodes reads the value.
  bool is_inside(ValueId value) const {
    const auto& readers = context_->consumers(value);
    return !context_->graph().is_observed(value) && std::ranges::all_of(readers, [&](int n) {
      return std::find(nodes_.begin(), nodes_.end(), n) != nodes_.end();
    });
  }

 private:
  const MatchContext* context_;
  std::vector<int> nodes_;
};

// max(x, -x), x being either operand.
std::optional<ValueId> argument_of_magnitude(Walk& walk, ValueId value) {
  const Node* larger = walk.step<Maximum>(value);
  if (!larger) return std::nullopt;
  for (const size_t side : {size_t{0}, size_t{1}}) {
    const Node* negated = walk.step<Scale>(larger->inputs[1 - side]);
    if (!negated || negated->inputs[0] != larger->inputs[side]) continue;
    const Scale& op = std::get<Scale>(negated->op);
    if (op.factor == -1) return larger->inputs[side];
  }
  return std::nullopt;
}

// Whether the last axis is reduced alone, or all axes are; they stay in both cases.
enum class Groups { none, rows, whole };
Groups groups_of(const ReduceMax& op, int rank) {
  const auto axes = resolve_axes(op.axes, rank);
  if (!axes || !op.keepdims) return Groups::none;
  if (static_cast<int>(axes->size()) == rank) return Groups::whole;
  return *axes == std::vector<int>{rank - 1} ? Groups::rows : Groups::none;
}

// What the scale is made of; x is the value that is divided.
struct ScaleParts {
  ValueId least = -1;
  const Scale* divisor = nullptr;
  const ReduceMax* reduction = nullptr;
  std::optional<RoundTo> power;
};

std::optional<ScaleParts> scale_parts(Walk& walk, ValueId scale, ValueId x) {
  ScaleParts parts;
  if (const Node* widened = walk.step<Cast>(scale)) {
    const Node* power = walk.step<Cast>(widened->inputs[0]);
    if (!power || std::get<Cast>(power->op).dtype != Dtype::f8e8m0) return std::nullopt;
    parts.power = std::get<Cast>(power->op).rounds();
    scale = power->inputs[0];
  }
  const Node* divided = walk.step<Scale>(scale);
  if (!divided || divided->inputs.empty() || !std::get<Scale>(divided->op).inverse) return std::nullopt;
  parts.divisor = &std::get<Scale>(divided->op);
  const Node* clamped = walk.step<Maximum>(divided->inputs[0]);
  if (!clamped) return std::nullopt;
  const Node* reduced = walk.step<ReduceMax>(clamped->inputs[0]);
  if (!reduced) return std::nullopt;
  parts.least = clamped->inputs[1];
  parts.reduction = &std::get<ReduceMax>(reduced->op);
  if (argument_of_magnitude(walk, reduced->inputs[0]) != x) return std::nullopt;
  return parts;
}

// Every value inside but the scale and the codes is read by the nodes alone.
bool only_the_scale_leaves(const MatchContext& context, const Walk& walk, ValueId scale, ValueId codes) {
  return std::ranges::all_of(walk.nodes(), [&](int n) {
    const ValueId value = context.output(n);
    return value == scale || value == codes || walk.is_inside(value);
  });
}

std::optional<Match> match_quantize(const MatchContext& context, int n) {
  const Cast* to = context.op_as<Cast>(n);
  if (!to || !is_quantized(to->dtype)) return std::nullopt;
  Walk walk(context, n);
  const Node* division = walk.step<Div>(context.node(n).inputs[0]);
  if (!division) return std::nullopt;
  ValueId x = division->inputs[0];
  const ValueId scale = division->inputs[1];
  const auto parts = scale_parts(walk, scale, x);
  if (!parts || context.graph().type(x).dtype != Dtype::f32) return std::nullopt;
  const Shape& shape = context.shape(x);
  const Groups groups = groups_of(*parts->reduction, static_cast<int>(shape.size()));
  const bool one_least =
      element_count(context.shape(parts->least)) == 1 && context.shape(parts->least).size() <= shape.size();
  if (groups == Groups::none || !one_least) return context.refuse(kOtherAxes);
  if (const auto producer = context.graph().producer(x);
      producer && context.is_free(*producer) && context.op_as<Cast>(*producer)) {
    Walk with_cast = walk;
    const Node* widened = with_cast.step<Cast>(x);
    const bool is_float_source = is_float(context.graph().type(widened->inputs[0]).dtype);
    if (is_float_source && with_cast.is_inside(x)) {
      walk = with_cast;
      x = widened->inputs[0];
    }
  }
  if (!only_the_scale_leaves(context, walk, scale, context.output(n))) return context.refuse(kInnerRead);
  const int64_t size = groups == Groups::whole ? element_count(shape) : shape.back();
  const double largest = static_cast<double>(static_cast<float>(parts->divisor->factor));
  return Match{
      walk.nodes(),
      {"quantize"},
      {},
      Quantize{x, parts->least, element_count(shape) / size, size, largest, parts->power, to->rounds()}};
}

struct Steps {
  Dtype format = Dtype::f8e4m3;
  Shape axes = {-1};
  std::optional<Rounding> power = {};
  bool keepdims = true;
};

struct Quantized {
  ValueId codes, scale, largest;
};

Quantized quantized(ExampleGraph& g, ValueId x, ValueId least, const Steps& steps) {
  if (g.dtype() != Dtype::f32) x = g.node(Cast{Dtype::f32}, x);
  const ValueId magnitude = g.node(Maximum{}, x, g.node(Scale{-1}, x));
  const ValueId largest = g.node(ReduceMax{steps.axes, steps.keepdims}, magnitude);
  const ValueId clamped = g.node(Maximum{}, largest, least);
  ValueId scale = g.node(Scale{max_finite(steps.format), true}, clamped);
  if (steps.power) {
    scale = g.node(Cast{Dtype::f8e8m0, Overflow::special, *steps.power}, scale);
    scale = g.node(Cast{Dtype::f32}, scale);
  }
  const ValueId codes = g.node(Cast{steps.format, Overflow::saturate}, g.node(Div{}, x, scale));
  return {codes, scale, largest};
}

ValueId least(ExampleGraph& g) { return g.tensor_of(Dtype::f32, "least", {1}, Constant{0x1p-20}); }

constexpr GraphRecipe kQuantizeExamples[] = {
    {"rows_and_their_scales",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = g.tensor("x", {d.batch, d.rows, d.depth});
       const Quantized q = quantized(g, x, least(g), {});
       return g.outputs(q.scale, q.codes);
     }},
    {"codes_alone",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = g.tensor("x", {d.rows, d.depth}, Normal{1, 3});
       return g.outputs(quantized(g, x, least(g), {.format = Dtype::f8e5m2}).codes);
     }},
    {"whole_tensor_of_integers",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = g.tensor("x", {d.batch, d.rows, d.depth}, Normal{0, 100});
       const Quantized q = quantized(g, x, least(g), {.format = Dtype::s8, .axes = {0, 1, 2}});
       return g.outputs(q.codes, q.scale);
     }},
    {"blocks_with_powers_of_two",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = g.tensor("x", {d.rows, d.heads, d.depth}, Normal{0, 0.01});
       const Quantized q = quantized(g, x, least(g), {.format = Dtype::f4e2m1, .power = Rounding::up});
       return g.outputs(q.scale, q.codes);
     }},
    {"nearest_power_of_two",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = g.tensor("x", {d.rows, d.depth});
       const Quantized q = quantized(g, x, least(g), {.power = Rounding::nearest});
       return g.outputs(q.scale, q.codes);
     }},
    {"zeros",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = g.tensor("x", {d.rows, d.depth}, Constant{0});
       const Quantized q = quantized(g, x, least(g), {});
       return g.outputs(q.scale, q.codes);
     }},
    // The scale is 1 + 2^-11, which bf16 rounds to 1.
    {"just_above_a_power_of_two",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = g.tensor("x", {d.rows, d.depth}, Constant{448 * (1 + 0x1p-11)});
       const Quantized q = quantized(g, x, least(g), {.power = Rounding::up});
       return g.outputs(q.scale, q.codes);
     }},
};

constexpr GraphRecipe kQuantizeNearMisses[] = {
    {"columns",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = g.tensor("x", {d.rows + 1, d.depth + 1});
       const Quantized q = quantized(g, x, least(g), {.axes = {0}});
       return g.outputs(q.scale, q.codes);
     }},
    {"largest_magnitude_is_an_output",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = g.tensor("x", {d.rows, d.depth});
       const Quantized q = quantized(g, x, least(g), {});
       return g.outputs(q.largest, q.codes);
     }},
    {"codes_of_what_the_scale_makes",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = g.tensor_of(Dtype::f32, "x", {d.rows, d.depth}), floor = least(g);
       const ValueId magnitude = g.node(Maximum{}, x, g.node(Scale{-1}, x));
       const ValueId largest = g.node(ReduceMax{{-1}, true}, magnitude);
       const ValueId scale = g.node(Scale{448, true}, g.node(Maximum{}, largest, floor));
       const ValueId other = g.node(Mul{}, x, scale);
       return g.outputs(g.node(Cast{Dtype::f8e4m3, Overflow::saturate}, g.node(Div{}, other, scale)));
     },
     kUnrecognised},
    {"largest_number_instead_of_magnitude",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = g.tensor_of(Dtype::f32, "x", {d.rows, d.depth}), floor = least(g);
       const ValueId clamped = g.node(Maximum{}, g.node(ReduceMax{{-1}, true}, x), floor);
       const ValueId scale = g.node(Scale{448, true}, clamped);
       return g.outputs(g.node(Cast{Dtype::f8e4m3}, g.node(Div{}, x, scale)));
     },
     kUnrecognised},
    {"scale_given",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = g.tensor_of(Dtype::f32, "x", {d.rows, d.depth});
       const ValueId scale = g.tensor_of(Dtype::f32, "scale", {d.rows, 1}, Uniform{0.5, 2});
       return g.outputs(g.node(Cast{Dtype::f8e4m3}, g.node(Div{}, x, scale)));
     },
     kUnrecognised},
};

}  // namespace

Pattern quantize_pattern() {
  return {"quantize",
          "the largest magnitude, the scale made of it, and x divided by it as codes -> one pass",
          match_quantize,
          kQuantizeExamples,
          kQuantizeNearMisses,
          kQuantizeGuards};
}

}  // namespace fusesmith::backends
