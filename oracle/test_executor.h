// A textbook executor for the judge's tests: loops in f32, one rounding to the storage dtype after each op
// that computes, except for the values whose rounding a test leaves out ("node", or "node/inner" inside a
// composite op).
#pragma once

#include <memory>
#include <set>

#include "graph/expand.h"
#include "oracle/plan.h"
#include "oracle/test_support.h"

namespace fusesmith::oracle::testing_support {

class Executor {
 public:
  explicit Executor(std::set<std::string> dropped = {}) : dropped_(std::move(dropped)) {}

  // The whole graph on these inputs; every value reaches memory rounded to its dtype.
  Trace run(const Graph& graph, const std::vector<Tensor>& inputs) const {
    Trace trace;
    std::vector<std::vector<float>> values;
    for (const Tensor& x : inputs) {
      trace.values.push_back(std::make_shared<Tensor>(x));
      values.push_back(to_f32(x));
    }
    for (const Node& node : graph.nodes()) {
      values.push_back(evaluate_node(graph, node, values, node.name));
      trace.values.push_back(
          std::make_shared<Tensor>(from_f32(values.back(), graph.type(node.first_output))));
    }
    return trace;
  }

 private:
  using Values = std::vector<std::vector<float>>;

  std::vector<float> evaluate_node(const Graph& graph, const Node& node, const Values& values,
                                   const std::string& name) const {
    Types types;
    Values inputs;
    for (ValueId v : node.inputs)
      types.push_back(graph.type(v)), inputs.push_back(values[static_cast<size_t>(v)]);
    const TensorType& out = graph.type(node.first_output);
    std::vector<float> y;
    if (const auto inner = expansion(node.op, types)) {
      Values inner_values = inputs;
      for (const Node& part : inner->nodes())
        inner_values.push_back(evaluate_node(*inner, part, inner_values, name + "/" + part.name));
      y = inner_values[static_cast<size_t>(inner->outputs()[0])];
    } else {
      y = compute(node.op, inputs, types, out);
    }
    if (computes(node.op) && !dropped_.count(name)) {
      for (float& v : y) v = static_cast<float>(store(out.dtype, v));
    }
    return y;
  }

  template <class F>
  static std::vector<float> each(const TensorType& out, const Values& in, const Types& types, F f) {
    std::vector<float> y(static_cast<size_t>(element_count(out)));
    for (size_t i = 0; i < y.size(); ++i) {
      float x[2] = {0, 0};
      for (size_t k = 0; k < in.size(); ++k) {
        const Shape strides = broadcast_strides(types[k].shape, out.shape), own = strides_of(out.shape);
        int64_t at = 0;
        for (size_t d = 0; d < own.size(); ++d)
          at += static_cast<int64_t>(i) / own[d] % out.shape[d] * strides[d];
        x[k] = in[k][static_cast<size_t>(at)];
      }
      y[i] = f(x[0], x[1]);
    }
    return y;
  }

  static std::vector<float> softmax(const std::vector<float>& x, size_t n) {
    std::vector<float> y(x.size());
    for (size_t start = 0; start < x.size(); start += n) {
      const float max = *std::max_element(&x[start], &x[start] + n);
      float sum = 0;
      for (size_t i = start; i < start + n; ++i) sum += y[i] = std::exp(x[i] - max);
      for (size_t i = start; i < start + n; ++i) y[i] /= sum;
    }
    return y;
  }

  static std::vector<float> matmul(const Matmul& op, const Values& in, const Types& types,
                                   const TensorType& out) {
    const auto m = static_cast<size_t>(out.shape[out.shape.size() - 2]),
               n = static_cast<size_t>(out.shape.back());
    const auto depth = static_cast<size_t>(types[0].shape.back());
    std::vector<float> y(static_cast<size_t>(element_count(out)));
    for (size_t i = 0; i < y.size(); ++i) {
      const size_t batch = i / (m * n), row = i / n % m, column = i % n;
      for (size_t k = 0; k < depth; ++k) {
        const size_t b = op.transpose_b ? column * depth + k : k * n + column;
        y[i] += in[0][(batch * m + row) * depth + k] * in[1][batch * n * depth + b];
      }
    }
    return y;
  }

  // Only what the judge's tests use; matmul without broadcasting.
  static std::vector<float> compute(const Op& op, const Values& in, const Types& types,
                                    const TensorType& out) {
    const auto pointwise = [&](auto f) { return each(out, in, types, f); };
    if (std::get_if<Add>(&op)) return pointwise([](float a, float b) { return a + b; });
    if (std::get_if<Mul>(&op)) return pointwise([](float a, float b) { return a * b; });
    if (std::get_if<Sigmoid>(&op)) return pointwise([](float a, float) { return 1 / (1 + std::exp(-a)); });
    if (std::get_if<Silu>(&op)) return pointwise([](float a, float) { return a / (1 + std::exp(-a)); });
    if (std::get_if<Cast>(&op) || std::get_if<Reshape>(&op)) return in[0];
    if (const auto* scale = std::get_if<Scale>(&op)) {
      return pointwise([f = static_cast<float>(scale->factor)](float a, float) { return a * f; });
    }
    if (std::get_if<CausalMask>(&op)) {
      const Bounded mask = evaluate_op(op, {});
      return {mask.v.begin(), mask.v.end()};
    }
    if (const auto* fill = std::get_if<MaskedFill>(&op)) {
      return pointwise([&](float a, float mask) {
        return (mask != 0) != fill->inverted ? static_cast<float>(fill->value) : a;
      });
    }
    if (std::get_if<Softmax>(&op)) return softmax(in[0], static_cast<size_t>(out.shape.back()));
    if (const auto* product = std::get_if<Matmul>(&op)) return matmul(*product, in, types, out);
    check(false, "Executor: op not in use by these tests");
    return {};
  }

  std::set<std::string> dropped_;
};

}  // namespace fusesmith::oracle::testing_support
