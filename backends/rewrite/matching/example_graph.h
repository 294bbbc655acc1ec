// Short words for building the examples and near misses of patterns.
#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include "backends/rewrite/pattern.h"

namespace fusesmith::backends {

// A Builder for graphs of one float dtype whose parts are known to fit together.
class ExampleGraph {
 public:
  explicit ExampleGraph(Dtype dtype) : dtype_(dtype) {}

  // A float input, by default of normal data.
  ValueId tensor(std::string name, Shape shape, Fill fill = Normal{}) {
    return tensor_of(dtype_, std::move(name), std::move(shape), std::move(fill));
  }
  // The same of another dtype.
  ValueId tensor_of(Dtype dtype, std::string name, Shape shape, Fill fill = Normal{}) {
    return builder_.input(std::move(name), {dtype, std::move(shape)}, std::move(fill));
  }
  // True with probability p.
  ValueId mask(std::string name, Shape shape, double p = 0.25) {
    return builder_.input(std::move(name), {Dtype::boolean, std::move(shape)}, Bernoulli{p});
  }
  // i32, each in [0, count).
  ValueId tokens(std::string name, Shape shape, int64_t count) {
    return builder_.input(std::move(name), {Dtype::i32, std::move(shape)}, Tokens{count});
  }
  // States stand behind all inputs.
  ValueId state(std::string name, Shape shape) {
    states_.push_back(builder_.state(std::move(name), {dtype_, std::move(shape)}, Normal{}));
    return states_.back();
  }
  void next(ValueId state, ValueId value) {
    const auto at = std::find(states_.begin(), states_.end(), state);
    builder_.next_state(static_cast<int>(at - states_.begin()), value);
  }
  template <class... V>
  ValueId node(Op op, V... inputs) {
    return builder_.node(std::move(op), {inputs...});
  }
  const Shape& shape(ValueId value) const { return builder_.type(value).shape; }
  Dtype dtype() const { return dtype_; }
  // A float dtype that is not this graph's.
  Dtype other_dtype() const { return dtype_ == Dtype::f32 ? Dtype::bf16 : Dtype::f32; }

  template <class... V>
  Graph outputs(V... values) {
    (builder_.output(values), ...);
    auto graph = builder_.build();
    if (!graph) check(false, graph.problem().c_str());
    return *graph;
  }

 private:
  Builder builder_;
  Dtype dtype_;
  std::vector<ValueId> states_;
};

}  // namespace fusesmith::backends
