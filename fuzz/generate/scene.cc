#include "fuzz/generate/scene.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace fusesmith::fuzz {
namespace {

constexpr std::array<int64_t, 24> kDims = {1,  2,  3,  4,  5,  7,  8,  9,  12, 15,  16,  17,
                                           24, 31, 32, 33, 48, 63, 64, 65, 96, 100, 127, 128};
constexpr std::array<int64_t, 18> kWideDims = {160, 192,  255,  256,  257,  320,  384,  511,  512,
                                               513, 1000, 1023, 1024, 1025, 2047, 2048, 4095, 4096};

int64_t pick_at_most(Choices& choices, std::span<const int64_t> sizes, int64_t max) {
  const auto end = std::upper_bound(sizes.begin(), sizes.end(), max);
  return choices.pick(sizes.first(std::max<size_t>(1, static_cast<size_t>(end - sizes.begin()))));
}

// Values outside this range are left as outputs: their products would overflow or vanish in f16.
constexpr double kLargest = 256, kSmallest = 1.0 / 1024;

constexpr double kStepping = 0.08;  // share of cases that run several steps

}  // namespace

int root_exponent(int64_t n) {
  const int log2 = std::bit_width(static_cast<uint64_t>(n)) - 1;
  return (log2 + 1) / 2;
}

Scene::Scene(Choices& c, const GeneratorOptions& options)
    : choices(c), exact(options.data == DataMix::lattice), sketch(exact), max_nodes_(options.max_nodes) {
  dtype = c.pick({Dtype::f32, Dtype::f32, Dtype::f16, Dtype::bf16, Dtype::bf16});
  static constexpr int kStyleWeights[] = {80, 12, 6, 2};
  style = static_cast<DataStyle>(c.weighted(kStyleWeights));
  if (options.data == DataMix::natural) style = DataStyle::natural;
  if (options.data == DataMix::lattice) style = DataStyle::lattice;
  if (options.data == DataMix::special) style = DataStyle::special;
  max_operations = c.flip(1.0 / 32) ? options.max_operations * 4 : options.max_operations >> c.below(7);
  max_elements = options.max_elements >> c.below(5);
  // Exact scenes have no states, because a state does not stay on a grid.
  steps = c.flip(kStepping) && !exact ? c.between(2, 6) : 1;
  max_operations = std::max<int64_t>(1, max_operations / steps);
  max_elements = std::max<int64_t>(64, max_elements / steps);
  const int64_t room = std::max<int64_t>(1, max_elements / 24);
  batch = std::min(c.pick<int64_t>({1, 2, 3, 4}), room);
  tokens = dim(room / batch);
  width = dim(room / (batch * tokens));
  if (flip()) std::swap(tokens, width);
}

int64_t Scene::dim(int64_t max) { return pick_at_most(choices, kDims, std::max<int64_t>(1, max)); }

int64_t Scene::wide_dim(int64_t max) {
  return max < kWideDims.front() ? dim(max) : pick_at_most(choices, kWideDims, max);
}

Scene::Value Scene::any(int min_rank, int max_rank) {
  const auto fits = [&](Value v, bool main_dtype) {
    const int rank = type(v).rank();
    return rank >= min_rank && rank <= max_rank && (!main_dtype || type(v).dtype == dtype);
  };
  if (!flip(habits.fresh)) {
    const bool main_dtype = flip(0.75);
    std::vector<Value> found;
    for (Value v : pool_) {
      if (fits(v, main_dtype)) found.push_back(v);
    }
    if (const auto n = static_cast<int64_t>(found.size()); n > 0) {
      const int64_t age = std::min(choices.below(n), choices.below(n));
      return found[static_cast<size_t>(n - 1 - age)];
    }
  }
  Shape shape = {choices.between(1, 2), batch, tokens, width};
  const int rank = std::clamp(3, min_rank, max_rank);
  while (static_cast<int>(shape.size()) < rank) shape.insert(shape.begin(), 1);
  shape.erase(shape.begin(), shape.end() - rank);
  const Value value = activation({dtype, shape});
  keep(value);
  return value;
}

std::optional<Scene::Value> Scene::live(const TensorType& wanted) {
  std::vector<Value> found;
  for (Value v : pool_) {
    if (type(v) == wanted) found.push_back(v);
  }
  if (found.empty()) return std::nullopt;
  return choices.pick(std::span<const Value>(found));
}

Scene::Value Scene::like(const TensorType& wanted) {
  if (flip(std::min(0.7, 1 - habits.fresh))) {
    if (const auto value = live(wanted)) return *value;
  }
  return activation(wanted);
}

Scene::Value Scene::broadcastable(const TensorType& wanted, Role role) {
  if (flip(0.5)) {
    std::vector<Value> found;
    for (Value v : pool_) {
      const auto shape = broadcast(type(v).shape, wanted.shape);
      if (type(v).dtype == wanted.dtype && shape && *shape == wanted.shape) found.push_back(v);
    }
    if (!found.empty()) return choices.pick(std::span<const Value>(found));
  }
  Shape shape = wanted.shape;
  const bool drop = flip(0.4);
  if (drop)
    shape.erase(shape.begin(), shape.begin() + choices.between(0, static_cast<int64_t>(shape.size())));
  if (flip(0.4)) {
    for (int64_t& size : shape) {
      if (flip(0.5)) size = 1;
    }
  }
  return source(role == Role::bias ? "b" : "x", {wanted.dtype, shape}, role);
}

Scene::Value Scene::denominator(const TensorType& wanted) {
  const auto value = flip() ? live(wanted) : std::nullopt;
  return value ? op(Sigmoid{}, {*value}) : source("d", wanted, Role::denominator);
}

Scene::Value Scene::source(std::string_view role_name, const TensorType& wanted, Role role, int64_t fan_in) {
  return sketch.input(role_name, wanted, fill_for(wanted, role, fan_in));
}

Scene::Value Scene::state(const TensorType& wanted) {
  const Fill fill = flip(0.3) ? Fill(Constant{0}) : fill_for(wanted, Role::activation, 1);
  return sketch.state("state", wanted, fill);
}

// Few small numbers: their sums of products soon need all bits of a 16-bit dtype.
Fill Scene::exact_fill(const TensorType& wanted, Role role) {
  const bool wide = wanted.dtype == Dtype::f32;
  switch (role) {
    case Role::denominator:
      return Constant{choices.pick({1.0, 2.0, 4.0, 0.5})};
    case Role::gain:
      return choices.flip(0.5) ? Fill(Constant{1}) : Fill(Lattice{2, 0});
    case Role::weight:
      return Lattice{wide ? choices.pick<int64_t>({1, 1, 2, 4}) : 1, choices.pick<int64_t>({0, 0, -1})};
    default:
      return Lattice{wide ? choices.pick<int64_t>({1, 2, 4, 8}) : choices.pick<int64_t>({1, 1, 2}),
                     choices.pick<int64_t>({0, 0, -1})};
  }
}

Fill Scene::fill_for(const TensorType& wanted, Role role, int64_t fan_in) {
  if (exact) return exact_fill(wanted, role);
  if (role == Role::denominator)
    return style == DataStyle::lattice ? Fill(Constant{4}) : Fill(Uniform{0.5, 2});
  const int exponent = role == Role::weight ? -root_exponent(fan_in) : role == Role::activation ? 0 : -2;
  const double mean = role == Role::gain ? 1 : 0, stddev = std::ldexp(1.0, exponent);
  const auto lattice = [&]() -> Fill {
    if (role == Role::gain) return Constant{1};
    return Lattice{choices.pick<int64_t>({2, 4, 8}), exponent - 1};
  };
  // A bias or weight of one sign stays small, because its sums over thousands of terms grow.
  const auto one_signed = [&]() -> Fill { return Uniform{0, role == Role::activation ? 1 : stddev}; };
  if (style == DataStyle::lattice) return lattice();
  if (style == DataStyle::one_signed && role == Role::activation) return one_signed();
  if (style == DataStyle::special && role == Role::activation && flip(0.5)) return Special{0.03, flip(0.4)};
  static constexpr int kWeights[] = {86, 5, 3, 3, 2, 1};
  switch (choices.weighted(kWeights)) {
    case 1:
      return Uniform{mean - stddev, mean + stddev};
    case 2:
      return one_signed();
    case 3:
      return lattice();
    case 4:
      // Equal weights for all terms would sum what a norm has centred, which leaves only cancellation.
      if (role != Role::weight) return Constant{mean + stddev};
      return Normal{mean, stddev};
    case 5:
      return OneHot{choices.below(element_count(wanted)), 1};
    default:
      return Normal{mean, stddev};
  }
}

void Scene::keep(Value value) {
  const Magnitude& size = sketch.magnitude(value);
  const bool usable =
      size.finite && size.rms < kLargest && size.rms > kSmallest && is_float(type(value).dtype);
  const bool anyway = style == DataStyle::special || exact;  // all grid values are usable
  if (usable || (anyway && is_float(type(value).dtype))) pool_.push_back(value);
}

bool Scene::within_budget() const {
  return sketch.work().operations <= max_operations && sketch.work().elements <= max_elements &&
         sketch.node_count() <= max_nodes_;
}

bool Scene::attempt(const std::function<bool(Scene&)>& piece) {
  const Sketch::Mark mark = sketch.mark();
  const std::vector<Value> pool = pool_;
  const CaseParts before = parts;
  try {
    if (piece(*this) && within_budget() && sketch.mark().nodes > mark.nodes) return true;
  } catch (const Sketch::TooLarge&) {  // far beyond the budget
  } catch (const Sketch::NotExact&) {
  }
  sketch.rollback(mark);
  pool_ = pool;
  parts = before;
  return false;
}

Graph Scene::finish() {
  // Occasionally an inner value becomes an output, which forbids its fusion.
  const double p = choices.pick({0.0, 0.0, 0.0, 0.05, 0.2});
  for (Value v = 0; v < sketch.value_count(); ++v) {
    if (!sketch.is_input(v) && sketch.consumed(v) && flip(p)) observed_.push_back(v);
  }
  return sketch.build(observed_);
}

}  // namespace fusesmith::fuzz
