#include "fuzz/run/reach.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "backends/common/run_node.h"
#include "graph/expand.h"
#include "graph/op_traits.h"

namespace fusesmith::fuzz {
namespace {

using Marks = std::vector<uint8_t>;  // one for each element

// A value in both runs. `vague`: correct executors may have another number there, also where it is not
// reached; of computed values, only some zeros and infinities are not. `wild`: it, or what it is computed
// from, has numbers near the ends of the range, so that a sum may overflow in another order.
struct Traced {
  TensorPtr before, after;
  Marks reached, vague;
  bool wild = false;

  const TensorType& type() const { return before->type; }
  bool any() const { return std::find(reached.begin(), reached.end(), 1) != reached.end(); }
};
using Operands = std::vector<const Traced*>;

Marks marks(const TensorType& type, uint8_t mark) {
  return Marks(static_cast<size_t>(element_count(type)), mark);
}

bool is_special(double x) { return x == 0 || std::isinf(x); }

// Whether it is this number in every correct execution.
bool is_always(const Traced& x, size_t i, double number) {
  return !x.vague[i] && !x.reached[i] && x.before->value(static_cast<int64_t>(i)) == number;
}

// No sum of products of two such numbers overflows in f32, in any order.
double moderate(Dtype dtype) { return dtype == Dtype::f16 ? 1024 : 0x1p32; }

// Finite in both runs, and in those of every correct executor.
bool is_tame(const Traced& x, size_t i) {
  const auto at = static_cast<int64_t>(i);
  const double most = moderate(x.type().dtype);
  return !x.wild && std::fabs(x.before->value(at)) <= most && std::fabs(x.after->value(at)) <= most;
}

bool has_wild_elements(const Traced& x) {
  if (!is_rounded(x.type().dtype)) return false;
  const double most = moderate(x.type().dtype);
  for (size_t i = 0; i < x.reached.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    const bool small = std::fabs(x.before->value(at)) <= most && std::fabs(x.after->value(at)) <= most;
    const bool hides = is_always(x, i, -INFINITY);
    if (!small && !hides) return true;
  }
  return false;
}

Tensor as_tensor(const Marks& of, const Shape& shape) {
  Tensor tensor({Dtype::f32, shape});
  std::copy(of.begin(), of.end(), tensor.as<float>().begin());
  return tensor;
}

Marks as_marks(const Tensor& tensor) {
  Marks found;
  for (const float x : tensor.as<float>()) found.push_back(x != 0);
  return found;
}

// The op on numbers in place of its operands.
std::vector<Tensor> computed(const Op& op, const std::vector<Tensor>& operands) {
  std::vector<const Tensor*> inputs;
  Types types;
  for (const Tensor& tensor : operands) {
    inputs.push_back(&tensor);
    types.push_back(tensor.type);
  }
  return run_node(op, inputs, *infer(op, types));
}

// Of one node: how its outputs are reached along the axes that run along with each other, and everywhere
// along those that do not (graph/traits/axis_relations.h).
class ByAxes {
 public:
  ByAxes(const Op& op, const Operands& operands, TypeSpan outputs) {
    Types inputs;
    for (const Traced* operand : operands) inputs.push_back(operand->type());
    for (const TypeSpan all : {TypeSpan(inputs), outputs}) {
      for (const TensorType& type : all) {
        first_.push_back(parents_.size());
        parents_.resize(parents_.size() + type.shape.size());
      }
    }
    std::iota(parents_.begin(), parents_.end(), size_t{0});
    fixed_.resize(parents_.size());
    const AxisRelations relations = axis_relations_of(op, inputs, outputs);
    for (const auto& [a, b] : relations.united()) parents_[find(id(a))] = find(id(b));
    for (const TensorAxis& axis : relations.fixed()) fixed_[find(id(axis))] = true;
  }

  // Adds what an operand reaches of an output; both by number, as in AxisRelations.
  void add(const Traced& operand, size_t input, const Shape& shape, size_t output, Marks& reached) {
    const Shape& own = operand.type().shape;
    const Shape steps = strides_of(shape);
    Shape to(own.size(), 0);                  // steps in the output
    std::vector<bool> covered(shape.size());  // by an axis of the operand
    for (size_t i = 0; i < own.size(); ++i) {
      const auto axis = counterpart(input, static_cast<int>(i), own.size(), output, shape.size());
      if (!axis) continue;
      to[i] = steps[*axis];
      covered[*axis] = true;
    }
    Marks there(reached.size());
    for_each(own, [&](size_t at, const Shape& place) {
      if (operand.reached[at]) there[static_cast<size_t>(inner(place, to))] = 1;
    });
    Shape from = steps;
    for (size_t j = 0; j < shape.size(); ++j) {
      if (!covered[j]) from[j] = 0;
    }
    for_each(shape, [&](size_t at, const Shape& place) {
      reached[at] |= there[static_cast<size_t>(inner(place, from))];
    });
  }

 private:
  template <class F>
  static void for_each(const Shape& shape, F visit) {
    Shape place(shape.size(), 0);
    const auto count = static_cast<size_t>(element_count(shape));
    for (size_t at = 0; at < count; ++at) {
      visit(at, place);
      for (size_t axis = shape.size(); axis-- > 0;) {
        if (++place[axis] < shape[axis]) break;
        place[axis] = 0;
      }
    }
  }
  static int64_t inner(const Shape& place, const Shape& steps) {
    return std::inner_product(place.begin(), place.end(), steps.begin(), int64_t{0});
  }

  // The one axis of the output that runs along with this one, where there is one and the operand has no
  // second one that does.
  std::optional<size_t> counterpart(size_t input, int axis, size_t rank, size_t output, size_t output_rank) {
    const size_t root = find(id({input, axis}));
    if (fixed_[root]) return std::nullopt;
    for (size_t i = 0; i < rank; ++i) {
      if (static_cast<int>(i) != axis && find(id({input, static_cast<int>(i)})) == root) return std::nullopt;
    }
    std::optional<size_t> found;
    for (size_t j = 0; j < output_rank; ++j) {
      if (find(id({output, static_cast<int>(j)})) != root) continue;
      if (found) return std::nullopt;
      found = j;
    }
    return found;
  }

  size_t id(const TensorAxis& a) const { return first_[a.tensor] + static_cast<size_t>(a.axis); }
  size_t find(size_t at) const {
    while (parents_[at] != at) at = parents_[at];
    return at;
  }

  std::vector<size_t> first_, parents_;
  std::vector<bool> fixed_;
};

std::vector<Marks> by_axes(const Op& op, const Operands& operands, TypeSpan outputs) {
  ByAxes axes(op, operands, outputs);
  std::vector<Marks> reached;
  for (size_t k = 0; k < outputs.size(); ++k) {
    Marks& own = reached.emplace_back(marks(outputs[k], 0));
    for (size_t i = 0; i < operands.size(); ++i) {
      if (operands[i]->any()) axes.add(*operands[i], i, outputs[k].shape, operands.size() + k, own);
    }
  }
  return reached;
}

// Elements move as the numbers that they are: the same op moves their marks. What is no number decides which
// elements are moved, and stays.
std::vector<Marks> moved(Op op, const Operands& operands, Marks Traced::*mark) {
  if (auto* fill = std::get_if<MaskedFill>(&op)) fill->value = 0;
  std::vector<Tensor> numbers;
  for (const Traced* operand : operands) {
    const TensorType& type = operand->type();
    numbers.push_back(is_rounded(type.dtype) ? as_tensor(operand->*mark, type.shape) : *operand->before);
  }
  std::vector<Marks> found;
  for (const Tensor& result : computed(op, numbers)) found.push_back(as_marks(result));
  return found;
}

bool any_decision_reached(const Operands& operands) {
  return std::any_of(operands.begin(), operands.end(),
                     [](const Traced* x) { return !is_rounded(x->type().dtype) && x->any(); });
}

bool has_exact_zero(const Traced& x) {
  for (size_t i = 0; i < x.vague.size(); ++i) {
    if (is_always(x, i, 0)) return true;
  }
  return false;
}

// A term of a product is not reached where one factor is 0 in every correct execution and the other is tame.
// The terms that are reached are counted by the same op.
Marks reached_by_terms(const Op& op, const Operands& operands, const Marks& along_axes,
                       const Tensor& result) {
  const auto part = [&](size_t input, auto wanted) {
    const Traced& x = *operands[input];
    Marks found = marks(x.type(), 0);
    for (size_t i = 0; i < found.size(); ++i) found[i] = wanted(x, i);
    return as_tensor(found, x.type().shape);
  };
  const auto tame = [](const Traced& x, size_t i) { return x.reached[i] && is_tame(x, i); };
  const auto wild = [](const Traced& x, size_t i) { return x.reached[i] && !is_tame(x, i); };
  const auto counts = [](const Traced& x, size_t i) { return !is_always(x, i, 0); };
  const auto each = [](const Traced&, size_t) { return true; };
  Marks reached(along_axes.size());
  const auto add = [&](const Tensor& a, const Tensor& b) {
    const Marks found = as_marks(computed(op, {a, b}).front());
    for (size_t i = 0; i < found.size(); ++i) reached[i] |= found[i];
  };
  add(part(0, tame), part(1, counts));
  add(part(0, counts), part(1, tame));
  add(part(0, wild), part(1, each));
  add(part(0, each), part(1, wild));
  for (size_t i = 0; i < reached.size(); ++i) {  // the sign of a zero may depend on a term that is 0
    if (result.value(static_cast<int64_t>(i)) == 0) reached[i] |= along_axes[i];
  }
  return reached;
}

bool is_product(const Op& op) {
  return info(op).op_class == OpClass::product || std::holds_alternative<Mul>(op);
}

bool is_sum(const Op& op) { return std::holds_alternative<Add>(op) || std::holds_alternative<Sub>(op); }

// Calls visit(element of the result, places of both operands in row-major order).
template <class F>
void for_each_pair(const Traced& a, const Traced& b, const Shape& shape, F visit) {
  const Shape from_a = broadcast_strides(a.type().shape, shape);
  const Shape from_b = broadcast_strides(b.type().shape, shape);
  const Shape steps = strides_of(shape);
  for (int64_t at = 0; at < element_count(shape); ++at) {
    int64_t rest = at, in_a = 0, in_b = 0;
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      const int64_t place = rest / steps[axis];
      rest %= steps[axis];
      in_a += place * from_a[axis];
      in_b += place * from_b[axis];
    }
    visit(static_cast<size_t>(at), static_cast<size_t>(in_a), static_cast<size_t>(in_b));
  }
}

// A tame number added to an infinity leaves it as it is: hidden scores with an additive mask.
void sums_with_infinities(const Traced& a, const Traced& b, const Shape& shape, Marks& reached,
                          Marks& vague) {
  const auto absorbs = [](const Traced& x, size_t i, const Traced& other, size_t j) {
    return (is_always(x, i, INFINITY) || is_always(x, i, -INFINITY)) && is_tame(other, j);
  };
  for_each_pair(a, b, shape, [&](size_t at, size_t i, size_t j) {
    if (!absorbs(a, i, b, j) && !absorbs(b, j, a, i)) return;
    reached[at] = 0;
    vague[at] = 0;
  });
}

// All but the computed zeros and infinities that every correct execution has: a function of an exact 0 or
// infinity, and what softmax makes of -inf.
Marks all_but_specials(const Op& op, const Operands& operands, const Tensor& result) {
  Marks vague = marks(result.type, 1);
  const Traced& x = *operands[0];
  if (operands.size() != 1 || x.type().shape != result.type.shape) return vague;
  const bool pointwise = info(op).op_class == OpClass::pointwise;
  for (size_t i = 0; i < vague.size(); ++i) {
    const double from = x.before->value(static_cast<int64_t>(i)), to = result.value(static_cast<int64_t>(i));
    const bool known = pointwise ? is_special(from) && is_special(to) : from == -INFINITY && to == 0;
    vague[i] = x.vague[i] || !known;
  }
  return vague;
}

class Tracer {
 public:
  explicit Tracer(const Graph& graph) : graph_(graph) {}

  std::vector<Traced> trace(std::vector<Traced> inputs) {
    values_ = std::move(inputs);
    for (const Node& node : graph_.nodes()) add(node);
    return std::move(values_);
  }

 private:
  void add(const Node& node) {
    Operands operands;
    for (const ValueId v : node.inputs) operands.push_back(&values_[static_cast<size_t>(v)]);
    Types inputs, outputs;
    for (const Traced* operand : operands) inputs.push_back(operand->type());
    for (int k = 0; k < node.output_count; ++k) outputs.push_back(graph_.type(node.first_output + k));
    std::vector<Traced> results = info(node.op).op_class == OpClass::composite
                                      ? of_expansion(node.op, operands, inputs)
                                      : of_primitive(node.op, operands, outputs);
    for (Traced& result : results) {
      result.wild = has_wild_elements(result) ||
                    std::any_of(operands.begin(), operands.end(), [](const Traced* x) { return x->wild; });
    }
    std::move(results.begin(), results.end(), std::back_inserter(values_));
  }

  static std::vector<Traced> of_expansion(const Op& op, const Operands& operands, TypeSpan inputs) {
    const auto kept = expansion(op, inputs);
    const Graph& parts = *kept;
    std::vector<Traced> own;
    for (const Traced* operand : operands) own.push_back(*operand);
    const std::vector<Traced> values = Tracer(parts).trace(std::move(own));
    std::vector<Traced> results;
    for (const ValueId v : parts.outputs()) results.push_back(values[static_cast<size_t>(v)]);
    return results;
  }

  static std::vector<Traced> of_primitive(const Op& op, const Operands& operands, TypeSpan outputs) {
    std::vector<Traced> results = both_runs(op, operands, outputs);
    const OpClass kind = info(op).op_class;
    const bool moves = kind == OpClass::movement || kind == OpClass::select;
    const bool follows = moves && is_rounded(outputs[0].dtype) && !any_decision_reached(operands);
    const std::vector<Marks> reached =
        follows ? moved(op, operands, &Traced::reached) : by_axes(op, operands, outputs);
    const std::vector<Marks> vague = follows ? moved(op, operands, &Traced::vague) : std::vector<Marks>{};
    for (size_t k = 0; k < results.size(); ++k) {
      results[k].reached = reached[k];
      results[k].vague = follows ? vague[k]
                         : moves || kind == OpClass::source
                             ? marks(outputs[k], 0)
                             : all_but_specials(op, operands, *results[k].before);
    }
    Traced& first = results.front();
    if (is_sum(op))
      sums_with_infinities(*operands[0], *operands[1], outputs[0].shape, first.reached, first.vague);
    const bool zeros = is_product(op) && first.any() && operands.size() == 2 &&
                       (has_exact_zero(*operands[0]) || has_exact_zero(*operands[1]));
    if (zeros) first.reached = reached_by_terms(op, operands, first.reached, *first.before);
    return results;
  }

  static std::vector<Traced> both_runs(const Op& op, const Operands& operands, TypeSpan outputs) {
    std::vector<const Tensor*> before, after;
    bool same = true;
    for (const Traced* operand : operands) {
      before.push_back(operand->before.get());
      after.push_back(operand->after.get());
      same = same && operand->before == operand->after;
    }
    std::vector<Traced> results(outputs.size());
    std::vector<Tensor> first = run_node(op, before, outputs);
    for (size_t k = 0; k < results.size(); ++k)
      results[k].after = results[k].before = std::make_shared<const Tensor>(std::move(first[k]));
    if (same) return results;
    std::vector<Tensor> second = run_node(op, after, outputs);
    for (size_t k = 0; k < results.size(); ++k)
      results[k].after = std::make_shared<const Tensor>(std::move(second[k]));
    return results;
  }

  const Graph& graph_;
  std::vector<Traced> values_;
};

}  // namespace

Reach reach_of(const Graph& graph, const Inputs& before, const Inputs& after) {
  std::vector<Traced> inputs;
  for (size_t i = 0; i < before.size(); ++i) {
    Traced own{before[i], after[i], marks(before[i]->type, 0), marks(before[i]->type, 0)};
    const size_t size = before[i]->bytes.size() / own.reached.size();
    for (size_t at = 0; at < own.reached.size() && before[i] != after[i]; ++at)
      own.reached[at] =
          !std::equal(before[i]->bytes.begin() + at * size, before[i]->bytes.begin() + (at + 1) * size,
                      after[i]->bytes.begin() + at * size);
    own.wild = has_wild_elements(own);
    inputs.push_back(std::move(own));
  }
  Reach reach;
  for (Traced& value : Tracer(graph).trace(std::move(inputs))) reach.push_back(std::move(value.reached));
  return reach;
}

}  // namespace fusesmith::fuzz
