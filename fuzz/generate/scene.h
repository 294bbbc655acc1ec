// Scene: the state that the pieces share while a graph is generated: the choices, the sketch, the pool of
// live values, the sizes and dtype of the main stream, and the style of the data.
#pragma once

#include <array>
#include <functional>
#include <string_view>

#include "fuzz/base/choices.h"
#include "fuzz/generate/generator.h"
#include "fuzz/generate/layouts.h"
#include "fuzz/generate/sketch.h"

namespace fusesmith::fuzz {

// The purpose of an input; decides its fill.
enum class Role { activation, weight, bias, gain, denominator };

// How the data of a whole case is generated.
enum class DataStyle { natural, lattice, one_signed, special };
inline constexpr std::array<std::string_view, 4> kDataStyles = {"natural", "lattice", "one_signed",
                                                                "special"};

// Chances that differ from case to case.
struct Habits {
  double fresh = 0.08;   // a piece reads a new input although a live value would do
  double unit_axis = 0;  // an op that needs an axis of size 1 reads a new input with one
  std::array<int, 4> sizes = {60, 14, 8, 18};  // weights of usual, aligned, wide and tile-edge examples
  double layouts = kLayoutShare;               // the case has memory layouts
};

class Scene {
 public:
  using Value = Sketch::Value;

  Scene(Choices& choices, const GeneratorOptions& options);

  Choices& choices;
  const bool exact;  // every value lies on a grid
  Sketch sketch;
  CaseParts parts;
  Dtype dtype;                   // dtype of the main stream
  int64_t batch, tokens, width;  // the main stream is [batch, tokens, width]
  DataStyle style;
  int64_t steps;  // steps to run if the case has states; its budget is shared by all of them
  int64_t max_operations, max_elements;
  Habits habits;

  bool flip(double p = 0.5) { return choices.flip(p); }
  const TensorType& type(Value v) const { return sketch.type(v); }
  const Shape& shape(Value v) const { return sketch.type(v).shape; }

  // Sizes around tile boundaries, powers of two and odd numbers. wide_dim goes up to 4096.
  int64_t dim(int64_t max = 128);
  int64_t wide_dim(int64_t max = 4096);

  // A value for a piece to read: from the pool, usually a recent one of the main dtype, or a new input
  // with the stream's type.
  Value any(int min_rank = 1, int max_rank = 5);
  // A value of exactly this float type: usually from the pool if it has one, otherwise a new input.
  Value like(const TensorType& type);
  // A value of exactly this type from the pool, if there is one.
  std::optional<Value> live(const TensorType& type);
  // A value that broadcasts to the given shape: the same shape, or with some axes of size 1 or left out.
  Value broadcastable(const TensorType& type, Role role = Role::activation);

  Value activation(const TensorType& type) { return source("x", type, Role::activation); }
  Value weight(const TensorType& type, int64_t fan_in) { return source("w", type, Role::weight, fan_in); }
  Value bias(const TensorType& type) { return source("b", type, Role::bias); }
  Value gain(const TensorType& type) { return source("g", type, Role::gain); }
  Value mask(const Shape& shape, double p) {
    return sketch.input("mask", {Dtype::boolean, shape}, Bernoulli{p});
  }
  Value token_ids(const Shape& shape, int64_t count) {
    return sketch.input("ids", {Dtype::i32, shape}, Tokens{count});
  }
  // A value that is never near 0: the sigmoid of a live value, or an input of one sign.
  Value denominator(const TensorType& type);
  // A float state, initialised with activations or zeros.
  Value state(const TensorType& type);
  Value source(std::string_view role_name, const TensorType& type, Role role, int64_t fan_in = 1);

  Value op(Op op, std::vector<Value> inputs, std::optional<Grid> known = {}) {
    return sketch.node(std::move(op), std::move(inputs), known);
  }
  // Adds a value to the pool (unless its magnitude is too large or too small to continue with).
  void keep(Value value);

  // Runs a piece. Undoes what it added if it declines, adds no node, exceeds the budget or, in an exact
  // scene, leaves the grids.
  bool attempt(const std::function<bool(Scene&)>& piece);
  Graph finish();

 private:
  Fill fill_for(const TensorType& type, Role role, int64_t fan_in);
  Fill exact_fill(const TensorType& type, Role role);
  bool within_budget() const;

  int max_nodes_;
  std::vector<Value> pool_;
  std::vector<Value> observed_;
};

// The exponent of the smallest power of two that is at least the square root of n.
int root_exponent(int64_t n);

}  // namespace fusesmith::fuzz
