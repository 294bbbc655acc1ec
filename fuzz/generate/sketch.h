// Sketch: a graph under construction. Unlike Builder it accepts inputs at any time and can return to an
// earlier mark. It knows what its values cost and their approximate magnitude; an exact sketch also knows
// their grids. Ops must accept their inputs: pieces are valid by construction.
#pragma once

#include <deque>
#include <string_view>
#include <vector>

#include "fuzz/generate/grid.h"
#include "fuzz/generate/magnitude.h"
#include "graph/graph.h"

namespace fusesmith::fuzz {

class Sketch {
 public:
  using Value = int;

  // `exact`: every value must lie on a grid.
  explicit Sketch(bool exact = false) : exact_(exact) {}

  // The name will be `role` ("x", "w", "mask", ...) and a number.
  Value input(std::string_view role, TensorType type, Fill fill);
  // A tensor carried from step to step; its next value must be set. Throws NotExact in an exact sketch.
  Value state(std::string_view role, TensorType type, Fill fill);
  void set_next(Value state, Value next);
  // Thrown if a value would exceed the largest tensor; the sketch is unchanged.
  struct TooLarge {};
  // Thrown, in an exact sketch, if a value is not known to lie on a grid; the sketch is unchanged.
  struct NotExact {};
  // Returns the first output. `known`: the grid of the outputs, if it does not follow from the grids of
  // the inputs. Aborts if the op does not accept the inputs for a reason other than the two above.
  Value node(Op op, std::vector<Value> inputs, std::optional<Grid> known = {});

  const TensorType& type(Value v) const { return values_[static_cast<size_t>(v)].type; }
  const Magnitude& magnitude(Value v) const { return values_[static_cast<size_t>(v)].magnitude; }
  const Grid& grid(Value v) const { return values_[static_cast<size_t>(v)].grid; }  // exact sketches only
  bool consumed(Value v) const { return values_[static_cast<size_t>(v)].consumers > 0; }
  // True for inputs and states.
  bool is_input(Value v) const { return values_[static_cast<size_t>(v)].node < 0; }
  int value_count() const { return static_cast<int>(values_.size()); }
  bool has_states() const { return !states_.empty(); }
  int node_count() const { return static_cast<int>(nodes_.size()); }
  const Work& work() const { return work_; }

  struct Mark {
    size_t values, inputs, states, nodes;
    Work work;
  };
  Mark mark() const { return {values_.size(), inputs_.size(), states_.size(), nodes_.size(), work_}; }
  void rollback(const Mark& mark);

  // Removes inputs that no node reads. The outputs are all values that no node reads and no state takes,
  // and those of `observed`; if there are none, the next values of the states.
  Graph build(const std::vector<Value>& observed) const;

 private:
  struct Drawn {
    TensorType type;
    Magnitude magnitude;
    Grid grid;
    int node = -1;  // -1: an input or a state
    int consumers = 0;
  };
  struct DrawnInput {
    std::string_view role;
    Value value;
    Fill fill;
  };
  struct DrawnState {
    std::string_view role;
    Value value;
    Fill fill;
    Value next = -1;
  };
  struct DrawnNode {
    Op op;
    std::vector<Value> inputs;
    Value first;
  };
  Grid grid_after(const Op& op, const std::vector<Value>& inputs, TypeSpan types, const TensorType& output,
                  const std::optional<Grid>& known) const;

  bool exact_;
  std::deque<Drawn> values_;  // a deque: references to types and shapes stay valid while values are added
  std::vector<DrawnInput> inputs_;
  std::vector<DrawnState> states_;
  std::vector<DrawnNode> nodes_;
  Work work_;
};

}  // namespace fusesmith::fuzz
