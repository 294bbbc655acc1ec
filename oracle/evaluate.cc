#include "oracle/evaluate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "graph/expand.h"
#include "oracle/lowerings.h"
#include "oracle/reference.h"

namespace fusesmith::oracle {
namespace {

struct Context {
  const Contract& contract;
  const Reading& reading;
  ReferenceMemo* memo = nullptr;
  const Arithmetic* inside = nullptr;  // of the composite op whose expansion is evaluated

  const Arithmetic& arithmetic(const Op& op) const { return inside ? *inside : arithmetic_for(contract, op); }
  // What happens to the rounding of a value.
  const Deviation* deviation(const std::string& value) const { return find(value, false); }
  // Which other graph computes a node.
  const Deviation* lowering(const std::string& node) const { return find(node, true); }
  double slack(const std::string& value) const {
    double relative = 0;
    for (const Slack& s : contract.slacks) {
      if (s.value == value) relative += s.relative;
    }
    return relative;
  }

 private:
  const Deviation* find(const std::string& value, bool lowers) const {
    for (const Deviation& d : reading.deviations) {
      if (d.value == value && is_lowering(d) == lowers) return &d;
    }
    return nullptr;
  }
};

using Values = std::vector<BoundedPtr>;  // by ValueId

// What the nodes of a region, or of an expansion, read.
struct Readings {
  Values values;
  Values for_products;  // where products read something else; else null

  explicit Readings(int count) : values(static_cast<size_t>(count)), for_products(values) {}
  BoundedPtrs inputs_of(const Node& node) const {
    return read(node, info(node.op).op_class == OpClass::product || std::holds_alternative<Sdpa>(node.op));
  }
  BoundedPtrs read(const Node& node, bool as_products_do) const {
    BoundedPtrs inputs;
    for (const ValueId v : node.inputs) {
      const auto at = static_cast<size_t>(v);
      inputs.push_back(as_products_do && for_products[at] ? for_products[at] : values[at]);
    }
    return inputs;
  }
};

BoundedPtrs compute_node(const Graph& graph, const Node& node, const BoundedPtrs& inputs,
                         const std::string& name, const Context& context);

// `value` becomes a copy of it that f has changed.
template <class F>
void change(BoundedPtr& value, F f) {
  auto changed = std::make_shared<Bounded>(*value);
  f(*changed);
  value = std::move(changed);
}

// Half of the smallest subnormal: the largest error of a rounding that underflows.
double half_subnormal(Dtype dtype) { return std::ldexp(1.0, min_exponent(dtype) - precision(dtype)); }

// Applies roundings inside the op that the graph does not contain. The result of logsumexp is off by those of
// its differences x - max, whose magnitudes, weighted by probabilities, are at most log n, of its sum and of
// its logarithm, at most log n.
void add_rounding(Bounded& value, const Deviation& added, const Op& op, size_t input_size) {
  const double roundings = std::fmax(1, added.relative / unit_roundoff(added.dtype));
  const size_t terms = input_size / value.v.size();  // of a logsumexp
  const double absolute =
      std::holds_alternative<LogSumExp>(op) ? 1 + std::log(static_cast<double>(terms)) : 0;
  for (size_t i = 0; i < value.v.size(); ++i) {
    const double v = std::fabs(value.v[i]), e = value.error(i);
    if (!std::isfinite(v)) continue;
    const double scale = absolute > 0 ? absolute : v + e;
    const double rounded = added.relative * scale;
    value.set(i, value.v[i], e + rounded * (1 + rounded) + roundings * half_subnormal(added.dtype));
  }
}

// A value that a processor may read or write as 0, if it flushes subnormals.
void flush(Bounded& value) {
  for (size_t i = 0; i < value.v.size(); ++i) {
    const double v = std::fabs(value.v[i]), e = value.error(i);
    if (v != 0 && v - e < 0x1p-126) value.set(i, value.v[i], std::fmax(e, v));
  }
}

bool may_flush(const Op& op, const Arithmetic& arithmetic) {
  const OpClass op_class = info(op).op_class;
  return arithmetic.flushes_subnormals && op_class != OpClass::movement && op_class != OpClass::source;
}

void round_as(Bounded& value, const RoundingKey& key) {
  const double relative = key.slack + key.relative;
  if (key.deviates && key.kind == Deviation::Kind::maybe) {
    if (relative > 0) pass_on(value, false, false, relative);
    return pass_on_either(value, key.computed);
  }
  // A moved rounding may produce subnormals of its dtype: it is then off by up to half of the smallest
  // one.
  const bool moved = key.deviates && key.kind == Deviation::Kind::move;
  const double absolute = moved ? half_subnormal(key.dtype) : 0;
  if (key.computed || relative > 0) pass_on(value, key.computed, !key.deviates, relative, absolute);
}

// The value as other nodes of the region read it.
BoundedPtr round_inner(BoundedPtr value, const Op& op, const std::string& name, const Context& context) {
  RoundingKey key{.computed = computes(op), .slack = context.slack(name)};
  if (const Deviation* deviation = context.deviation(name)) {
    key.deviates = true;
    key.kind = deviation->kind;
    key.dtype = deviation->dtype;
    key.relative = deviation->relative;
  } else if (!key.computed && key.slack == 0) {
    return value;  // nothing rounds
  }
  if (context.memo) {
    if (BoundedPtr known = context.memo->find_rounded(value, key)) return known;
  }
  BoundedPtr rounded = value;
  change(rounded, [&](Bounded& b) { round_as(b, key); });
  if (context.memo) context.memo->add_rounded(value, key, rounded);
  return rounded;
}

// The same, without its implicit rounding to 16 bits.
BoundedPtr in_f32(BoundedPtr value, const Op& op) {
  const RoundingKey key{.computed = computes(op), .deviates = true};
  if (key.computed) change(value, [&](Bounded& b) { round_as(b, key); });
  return value;
}

// What products read of a node that does not round, as a permute or a maximum: made of what they read of its
// operands. Null where that is what all others read.
BoundedPtrs moved_for_products(const Graph& graph, const Node& node, const Readings& readings,
                               const std::string& name, const Context& context) {
  const auto is_read = [&](ValueId v) { return readings.for_products[static_cast<size_t>(v)] != nullptr; };
  if (computes(node.op) || std::none_of(node.inputs.begin(), node.inputs.end(), is_read))
    return BoundedPtrs(static_cast<size_t>(node.output_count));
  return compute_node(graph, node, readings.read(node, true), name, context);
}

// Makes the value of a node what other nodes read. `moved`: as moved_for_products has it, or null.
void pass_to_readers(Readings& readings, size_t at, BoundedPtr value, BoundedPtr moved, const Op& op,
                     const std::string& name, const Context& context) {
  readings.values[at] = round_inner(value, op, name, context);
  if (context.contract.roundings != Roundings::products || std::holds_alternative<Cast>(op)) return;
  if (computes(op))
    readings.for_products[at] = std::exchange(readings.values[at], in_f32(std::move(value), op));
  else
    readings.for_products[at] = std::move(moved);
}

// The roundings of the inner values of a lowering.
struct LoweredRoundings {
  bool optional = false;     // each may be left out
  bool narrow_sums = false;  // Lowering::narrow_sums
};

// Adds the n - 1 roundings of the partial sums of a reduce_sum to its dtype, each relative to at most
// sum |x| (1 + u16)^n.
void add_partial_roundings(Bounded& value, const Node& node, const BoundedPtrs& inputs) {
  const auto* sum = std::get_if<ReduceSum>(&node.op);
  if (!sum) return;
  const Bounded& x = *inputs[0];
  Bounded magnitudes(x.type);
  for (size_t i = 0; i < x.v.size(); ++i) {
    const double m = std::fabs(x.v[i]) + x.error(i);
    magnitudes.v[i] = std::isfinite(m) ? m : 0;
  }
  const Bounded* operand[] = {&magnitudes};
  const TensorType type[] = {value.type};
  const Bounded sums = std::move(reference(*sum, operand, type, {})[0]);
  const Dtype dtype = value.type.dtype;
  const size_t terms = x.v.size() / value.v.size();
  const double growth = (static_cast<double>(terms) - 1) * unit_roundoff(dtype);
  const double relative = growth < 0.5 ? growth / (1 - growth) : std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < value.v.size(); ++i) {
    if (!std::isfinite(value.v[i]) || terms < 2) continue;
    const double largest = sums.v[i] * (1 + relative);
    const double e = relative * sums.v[i] + terms * half_subnormal(dtype);
    value.set(i, value.v[i],
              largest < max_finite(dtype) ? value.error(i) + e : std::numeric_limits<double>::infinity());
  }
}

// At an element, the magnitudes of the finite values of a formula.
struct Magnitudes {
  double smallest = std::numeric_limits<double>::infinity();  // of those that are not 0
  double largest = 1;                                         // or 1
};

std::vector<Magnitudes> magnitudes_at(const Values& values, size_t size) {
  std::vector<Magnitudes> found(size);
  for (const BoundedPtr& value : values) {
    if (!value || value->v.size() != size) continue;
    for (size_t i = 0; i < size; ++i) {
      const double m = std::fabs(value->v[i]) + value->error(i);
      if (!std::isfinite(m)) continue;
      found[i].largest = std::fmax(found[i].largest, m);
      if (value->v[i] != 0) found[i].smallest = std::fmin(found[i].smallest, std::fabs(value->v[i]));
    }
  }
  return found;
}

// A processor that flushes subnormals loses products below 2^-126. Which ones occur depends on the order of
// the factors, which libraries choose. In a formula of pointwise ops, what is lost is then multiplied by at
// most the largest value of the formula at that element, or by an infinity, which gives NaN.
void add_lost_products(const Graph& formula, const Values& values, BoundedPtrs& outputs) {
  double products = 0;
  for (const Node& node : formula.nodes()) {
    const OpClass op_class = info(node.op).op_class;
    if (op_class == OpClass::product || op_class == OpClass::reduction || op_class == OpClass::composite)
      return;
    products += std::holds_alternative<Mul>(node.op) ? 1 : 0;
  }
  if (products < 2) return;
  for (BoundedPtr& output : outputs) {
    const std::vector<Magnitudes> magnitudes = magnitudes_at(values, output->v.size());
    change(output, [&](Bounded& b) {
      for (size_t i = 0; i < b.v.size(); ++i) {
        const double lost = products * 0x1p-126 * magnitudes[i].largest;
        if (std::isinf(b.v[i]) && magnitudes[i].smallest < lost)
          b.set(i, b.v[i], std::numeric_limits<double>::infinity());
        if (b.v[i] != 0 && std::fabs(b.v[i]) < lost) b.set(i, b.v[i], b.error(i) + lost);
      }
    });
  }
}

// Evaluates the expansion of a composite op. Its outputs are returned before rounding, as for every op.
// Inputs of `inner` beyond those of the op are constants.
BoundedPtrs compute_composite(const Graph& inner, const BoundedPtrs& inputs, const std::string& name,
                              const Context& context, const LoweredRoundings& lowered) {
  Readings readings(inner.value_count());
  Values& values = readings.values;
  Values unrounded = values;
  std::copy(inputs.begin(), inputs.end(), values.begin());
  std::copy(inputs.begin(), inputs.end(), unrounded.begin());
  for (size_t i = inputs.size(); i < inner.inputs().size(); ++i) {
    Bounded constant(inner.inputs()[i].type);
    std::fill(constant.v.begin(), constant.v.end(), std::get<Constant>(inner.inputs()[i].fill).value);
    values[i] = std::make_shared<Bounded>(std::move(constant));
  }
  const auto readers = inner.consumers();
  for (const Node& node : inner.nodes()) {
    auto at = static_cast<size_t>(node.first_output);
    const BoundedPtrs operands = readings.inputs_of(node);
    const std::string node_name = name + "/" + node.name;
    const BoundedPtrs moved = moved_for_products(inner, node, readings, node_name, context);
    for (BoundedPtr& value : compute_node(inner, node, operands, node_name, context)) {
      if (lowered.narrow_sums) change(value, [&](Bounded& b) { add_partial_roundings(b, node, operands); });
      unrounded[at] = value;
      const std::string inner_name = name + "/" + inner.name(static_cast<ValueId>(at));
      if (readers[at].empty()) {
        // an output alone
      } else if (lowered.optional) {
        change(value, [&](Bounded& b) { pass_on_either(b, computes(node.op)); });
        values[at] = std::move(value);
      } else {
        const size_t k = at - static_cast<size_t>(node.first_output);
        pass_to_readers(readings, at, std::move(value), moved[k], node.op, inner_name, context);
      }
      ++at;
    }
  }
  BoundedPtrs outputs;
  for (const ValueId output : inner.outputs()) {
    outputs.push_back(unrounded[static_cast<size_t>(output)]);
    check(outputs.back() != nullptr, "composite: the expansion's output is not a node");
  }
  if (context.inside && context.inside->flushes_subnormals) add_lost_products(inner, unrounded, outputs);
  return outputs;
}

// Marks elements of a product of unnormalised rows (exponentials, at most 1 each) as unknown where their
// partial sums, at most sum |b|, may overflow f32.
void forget_overflowing(Bounded& product, const Op& op, const Bounded& left, const Bounded& right,
                        const Arithmetic& arithmetic) {
  // Products of elements that are not finite are not finite either.
  const auto magnitude = [&](size_t i) {
    const double m = std::fabs(right.v[i]) + right.error(i);
    return std::isfinite(m) ? m : 0;
  };
  double largest = 0;
  for (size_t i = 0; i < right.v.size(); ++i) largest = std::fmax(largest, magnitude(i));
  constexpr double kRounded = 1.01;  // margin for the sums, exponentials of 0, and tf32 rounding up
  const double safe = max_finite(Dtype::f32) / kRounded;
  if (largest * static_cast<double>(left.v.size()) < safe) return;
  Bounded ones(left.type), magnitudes(right.type);
  std::fill(ones.v.begin(), ones.v.end(), 1.0);
  for (size_t i = 0; i < right.v.size(); ++i) magnitudes.v[i] = magnitude(i);
  const Bounded* operands[] = {&ones, &magnitudes};
  const TensorType types[] = {product.type};
  const Bounded sums = std::move(reference(op, operands, types, arithmetic)[0]);
  for (size_t i = 0; i < product.v.size(); ++i) {
    if (!(sums.v[i] < safe)) product.set(i, product.v[i], std::numeric_limits<double>::infinity());
  }
}

std::vector<Bounded> compute_flushed(const Op& op, const std::vector<const Bounded*>& inputs,
                                     TypeSpan outputs, const Arithmetic& arithmetic) {
  std::vector<Bounded> flushed;
  flushed.reserve(inputs.size());
  std::vector<const Bounded*> pointers;
  for (const Bounded* input : inputs) {
    flush(flushed.emplace_back(*input));
    pointers.push_back(&flushed.back());
  }
  std::vector<Bounded> results = reference(op, pointers, outputs, arithmetic);
  for (Bounded& result : results) flush(result);
  return results;
}

// Passes on whether the signs of zeros are known: not of sums. A quotient by a zero of unknown sign may be
// either infinity, and nothing else.
void follow_zero_signs(const Op& op, const std::vector<const Bounded*>& inputs, bool are_lost,
                       Bounded& result) {
  const OpClass op_class = info(op).op_class;
  result.zero_signs_known = op_class != OpClass::product && op_class != OpClass::reduction;
  for (const Bounded* input : inputs) result.zero_signs_known &= input->zero_signs_known;
  const size_t divisor = std::holds_alternative<Div>(op) ? 1 : 0;
  if (divisor == 0 && !std::holds_alternative<Rsqrt>(op)) return;
  if (inputs[divisor]->zero_signs_known && !are_lost) return;
  for (size_t i = 0; i < result.v.size(); ++i) {
    if (!std::isinf(result.v[i])) continue;
    if (result.error(i) == 0) result.either_infinity.push_back(static_cast<int64_t>(i));
    result.set(i, result.v[i], std::numeric_limits<double>::infinity());
  }
}

// Of a product, only weights of a softmax tell which keys are hidden.
bool has_weights(const Graph& graph, const Node& node) {
  const auto producer = node.inputs.empty() ? std::nullopt : graph.producer(node.inputs[0]);
  return producer && std::holds_alternative<Softmax>(graph.nodes()[static_cast<size_t>(*producer)].op);
}

// What the op computes itself, without a lowering.
BoundedPtrs compute_op(const Graph& graph, const Node& node, const BoundedPtrs& inputs,
                       const Context& context) {
  Arithmetic arithmetic = context.arithmetic(node.op);
  arithmetic.hidden_keys_left_out = arithmetic.hidden_keys_left_out && has_weights(graph, node);
  if (context.memo) {
    if (const BoundedPtrs* known = context.memo->find(node.op, arithmetic, inputs)) return *known;
  }
  Types outputs;
  for (int i = 0; i < node.output_count; ++i) outputs.push_back(graph.type(node.first_output + i));
  std::vector<const Bounded*> operands;
  for (const BoundedPtr& input : inputs) operands.push_back(input.get());
  std::vector<Bounded> computed = may_flush(node.op, arithmetic)
                                      ? compute_flushed(node.op, operands, outputs, arithmetic)
                                      : reference(node.op, operands, outputs, arithmetic);
  BoundedPtrs results;
  for (Bounded& result : computed) {
    follow_zero_signs(node.op, operands, arithmetic.zero_signs_lost, result);
    results.push_back(std::make_shared<const Bounded>(std::move(result)));
  }
  if (context.memo) context.memo->add(node.op, arithmetic, inputs, results);
  return results;
}

// The roundings inside of an op that the reading adds to its result.
void add_inner_roundings(BoundedPtr& value, const Node& node, const std::string& name,
                         const BoundedPtrs& inputs, const Context& context) {
  if (context.reading.deviations.empty()) return;
  for (const char* inner : {kExponentials, kInner}) {
    if (const Deviation* added = context.deviation(name + inner))
      change(value, [&](Bounded& b) { add_rounding(b, *added, node.op, inputs[0]->v.size()); });
  }
}

BoundedPtrs compute_node(const Graph& graph, const Node& node, const BoundedPtrs& inputs,
                         const std::string& name, const Context& context) {
  const Deviation* const lowered = context.lowering(name);
  if (lowered || info(node.op).op_class == OpClass::composite) {
    Types types;
    for (ValueId v : node.inputs) types.push_back(graph.type(v));
    const Context inside{context.contract, context.reading, context.memo, &context.arithmetic(node.op)};
    const auto as_expanded = [&] {
      return compute_composite(*expansion(node.op, types), inputs, name, inside, {});
    };
    if (!lowered) return as_expanded();
    const bool either = lowered->kind == Deviation::Kind::maybe_lower;
    const Lowering& lowering = *find_lowering(lowered->lowering);
    BoundedPtrs as_graph =
        compute_composite(*lowering.graph(node.op, types), inputs, name, inside,
                          {either && context.contract.roundings == Roundings::any, lowering.narrow_sums});
    if (!either) return as_graph;
    const bool is_composite = info(node.op).op_class == OpClass::composite;
    BoundedPtrs as_op = is_composite ? as_expanded() : compute_op(graph, node, inputs, context);
    add_inner_roundings(as_op[0], node, name, inputs, context);
    for (size_t k = 0; k < as_op.size(); ++k) change(as_op[k], [&](Bounded& b) { cover(b, *as_graph[k]); });
    return as_op;
  }
  BoundedPtrs results = compute_op(graph, node, inputs, context);
  const auto& unnormalised = context.contract.unnormalised;
  if (std::find(unnormalised.begin(), unnormalised.end(), name) != unnormalised.end()) {
    change(results[0], [&](Bounded& b) {
      forget_overflowing(b, node.op, *inputs[0], *inputs[1], context.arithmetic(node.op));
    });
  }
  add_inner_roundings(results[0], node, name, inputs, context);
  return results;
}

bool is_output(const Region& region, ValueId value) {
  return std::find(region.outputs.begin(), region.outputs.end(), value) != region.outputs.end();
}

void collect_roundings(const Node& node, const TensorType& type, const Types& inputs, const std::string& name,
                       bool inner, std::vector<InnerRounding>& found) {
  if (const auto graph = expansion(node.op, inputs)) {
    for (const Node& part : graph->nodes()) {
      Types part_inputs;
      for (ValueId v : part.inputs) part_inputs.push_back(graph->type(v));
      const auto& outputs = graph->outputs();
      if (std::find(outputs.begin(), outputs.end(), part.first_output) == outputs.end())
        collect_roundings(part, graph->type(part.first_output), part_inputs, name + "/" + part.name, true,
                          found);
    }
  }
  if (inner && computes(node.op) && is_narrow(type.dtype)) {
    // A cast to the dtype that its input has anyway asks for no rounding: compilers never see it.
    const bool narrows = std::holds_alternative<Cast>(node.op) && inputs[0].dtype != type.dtype;
    found.push_back({name, type.dtype, narrows});
  }
}

}  // namespace

std::vector<InnerRounding> inner_roundings(const Graph& graph, const Region& region) {
  std::vector<InnerRounding> found;
  std::set<ValueId> read;
  for (int n : region.nodes) {
    const auto& inputs = graph.nodes()[static_cast<size_t>(n)].inputs;
    read.insert(inputs.begin(), inputs.end());
  }
  for (int n : region.nodes) {
    const Node& node = graph.nodes()[static_cast<size_t>(n)];
    Types inputs;
    for (ValueId v : node.inputs) inputs.push_back(graph.type(v));
    for (ValueId v = node.first_output; v < node.first_output + node.output_count; ++v)
      collect_roundings(node, graph.type(v), inputs, graph.name(v), read.count(v) > 0, found);
  }
  return found;
}

std::vector<RegionOutput> evaluate(const Graph& graph, const Region& region, const Trace& trace,
                                   const Reading& reading, ReferenceMemo* memo) {
  const Context context{region.contract, reading, memo};
  Readings readings(graph.value_count());
  const auto stored = [&](ValueId v) {
    const TensorPtr& tensor = trace.values[static_cast<size_t>(v)];
    return memo ? memo->stored(tensor) : std::make_shared<const Bounded>(*tensor);
  };
  for (ValueId v : region.inputs) {
    BoundedPtr& input = readings.values[static_cast<size_t>(v)];
    input = stored(v);
    if (context.deviation(graph.name(v))) change(input, unround);
  }
  std::vector<RegionOutput> outputs;
  const bool copies = std::all_of(region.nodes.begin(), region.nodes.end(), [&](int n) {
    return info(graph.nodes()[static_cast<size_t>(n)].op).op_class == OpClass::movement;
  });
  for (int n : region.nodes) {
    const Node& node = graph.nodes()[static_cast<size_t>(n)];
    const BoundedPtrs moved = moved_for_products(graph, node, readings, node.name, context);
    ValueId v = node.first_output;
    for (const BoundedPtr& result : compute_node(graph, node, readings.inputs_of(node), node.name, context)) {
      const auto at = static_cast<size_t>(v);
      const auto k = static_cast<size_t>(v - node.first_output);
      if (is_output(region, v) && region.contract.roundings == Roundings::products)
        readings.values[at] = stored(v);
      else if (region.nodes.size() > 1)
        pass_to_readers(readings, at, result, moved[k], node.op, graph.name(v), context);
      if (is_output(region, v)) outputs.push_back({v, result, computes(node.op), copies});
      ++v;
    }
  }
  return outputs;
}

}  // namespace fusesmith::oracle
