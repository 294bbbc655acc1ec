// Scene: what the pieces share while a graph is drawn: the choices, the sketch, the pool of live values that
// they read from and add to, the sizes and dtype of the main stream, and the style of the data.
#pragma once

#include <array>
#include <functional>
#include <string_view>

#include "fuzz/base/choices.h"
#include "fuzz/generate/generator.h"
#include "fuzz/generate/sketch.h"

namespace fusesmith::fuzz {

// What an input is for: decides its fill.
enum class Role { activation, weight, bias, gain, denominator };

// How the data of a whole case is made.
enum class DataStyle { natural, lattice, one_signed, special };
inline constexpr std::array<std::string_view, 4> kDataStyles = {"natural", "lattice", "one_signed",
                                                                "special"};

class Scene {
 public:
  using Value = Sketch::Value;

  Scene(Choices& choices, const GeneratorOptions& options);

  Choices& choices;
  const bool exact;  // every value lies on a grid
  Sketch sketch;
  CaseParts parts;
  Dtype dtype;                   // of the main stream
  int64_t batch, tokens, width;  // the main stream is [batch, tokens, width]
  DataStyle style;
  int64_t steps;  // that the case may run, if it comes to have states; then its budget is for all of them
  int64_t max_operations, max_elements;

  bool flip(double p = 0.5) { return choices.flip(p); }
  const TensorType& type(Value v) const { return sketch.type(v); }
  const Shape& shape(Value v) const { return sketch.type(v).shape; }

  // Sizes: from a lattice of tile boundaries, powers of two and odd numbers; `wide` ones go on to 4096.
  int64_t dim(int64_t max = 128);
  int64_t wide_dim(int64_t max = 4096);

  // A live value for a piece to read: from the pool, mostly a recent one of the main dtype, or a new input of
  // the stream's type.
  Value any(int min_rank = 1, int max_rank = 5);
  // One of exactly this float type: from the pool where it has one, more often than not, or a new input.
  Value like(const TensorType& type);
  // One of exactly this type from the pool, or nothing.
  std::optional<Value> live(const TensorType& type);
  // One that broadcasts with the shape without enlarging it: the same shape, or some axes 1 or left out.
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
  // Never near 0: sigmoid of a live value, or an input of one sign.
  Value denominator(const TensorType& type);
  // A float tensor carried from step to step, of activations or zeros at first.
  Value state(const TensorType& type);
  Value source(std::string_view role_name, const TensorType& type, Role role, int64_t fan_in = 1);

  Value op(Op op, std::vector<Value> inputs, std::optional<Grid> known = {}) {
    return sketch.node(std::move(op), std::move(inputs), known);
  }
  // Makes a value available to the pieces that follow (unless it is too large or too small to go on with).
  void keep(Value value);

  // Runs a piece; takes back what it added where it declines, adds no node, leaves the budget or, in an exact
  // scene, the grids.
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

// The smallest power of two, as an exponent, that is not below n's square root.
int root_exponent(int64_t n);

}  // namespace fusesmith::fuzz
