// For tests: sdpa; its definition follows its formula, not its expansion.
#pragma once

#include "graph/op_tests/op_test.h"

namespace fusesmith::graph::op_tests {

inline std::vector<OpCase> attention_cases() {
  const TensorType q = f({2, 3, 9, 8}), k = f({2, 3, 12, 8}), v = f({2, 3, 12, 5});
  std::vector<OpCase> cases;
  for (Sdpa::ScaleOn scale_on : {Sdpa::ScaleOn::scores, Sdpa::ScaleOn::both}) {
    for (bool upcast : {false, true}) {
      cases.push_back({Sdpa{scale_on, upcast}, {q, k, v}});
      cases.push_back({Sdpa{scale_on, upcast, Sdpa::Mask::causal}, {q, k, v}});
      cases.push_back({Sdpa{scale_on, upcast, Sdpa::Mask::causal, CausalAlignment::bottom_right}, {q, k, v}});
      cases.push_back({Sdpa{scale_on, upcast, Sdpa::Mask::boolean}, {q, k, v, mask({3, 1, 12})}});
      cases.push_back({Sdpa{scale_on, upcast, Sdpa::Mask::additive, CausalAlignment::top_left, 0.5},
                       {q, k, v, f({9, 12})}});
    }
  }
  Sdpa grouped{Sdpa::ScaleOn::both, true, Sdpa::Mask::causal, CausalAlignment::bottom_right};
  grouped.grouped_heads = true;
  cases.push_back({grouped, {f({2, 6, 9, 8}), f({2, 2, 12, 8}), f({2, 2, 12, 5})}});
  Sdpa windowed{Sdpa::ScaleOn::scores, false, Sdpa::Mask::none, CausalAlignment::bottom_right};
  windowed.window = 4;
  windowed.softcap = 1.5;
  cases.push_back({windowed, {q, k, v}});
  windowed.mask = Sdpa::Mask::causal;
  cases.push_back({windowed, {q, k, v}});
  return cases;
}

// Attention as a gather: a query's score with its own key is 128 or more above its scores with the others,
// which are 0. And over constant scores, as a mean of 2^k values: an extra key of score 0 shows there alone.
inline std::vector<ExactCase> exact_attention() {
  constexpr auto kTopLeft = CausalAlignment::top_left;
  std::vector<ExactCase> cases;
  for (const bool upcast : {false, true}) {
    for (const auto on : {Sdpa::ScaleOn::scores, Sdpa::ScaleOn::both}) {
      const bool both = on == Sdpa::ScaleOn::both;  // whose factor is the fourth root of the depth's inverse
      const int64_t depth = both ? 16 : 64;
      const double value = both ? 8 : 4;
      const ExactInput drawn{{2, 7, depth}, Hadamard{value, 16, true}},
          in_order{{2, 16, depth}, Hadamard{value, 16}};
      const ExactInput v{{2, 16, 5}, Normal{}};
      cases.push_back({Sdpa{on, upcast}, {drawn, in_order, v}});
      cases.push_back({Sdpa{on, upcast, Sdpa::Mask::causal}, {in_order, in_order, v}});
      cases.push_back({Sdpa{on, upcast, Sdpa::Mask::boolean},
                       {drawn, in_order, v, {{7, 16}, Constant{1}, Dtype::boolean}}});
      cases.push_back(
          {Sdpa{on, upcast, Sdpa::Mask::additive}, {drawn, in_order, v, {{7, 16}, Lattice{1, 2}}}});
      cases.push_back({Sdpa{on, upcast, Sdpa::Mask::none, kTopLeft, both ? 0.25 : 0.5},
                       {{{2, 7, 16}, Constant{1}}, {{2, 32, 16}, Constant{-0.5}}, {{2, 32, 5}, Lattice{}}}});
    }
  }
  return cases;
}

// A query without a key; one whose hidden key has a finite value, and an infinite one.
inline std::vector<SpecialCase> special_attention(Dtype dtype) {
  [[maybe_unused]] const double max = max_finite(dtype), tiny = smallest_subnormal(dtype);
  std::vector<SpecialCase> cases;
  for (const bool upcast : {false, true}) {
    const SpecialInput q{{2, 4}, Row(8, 1)}, k = q, mask{{2, 2}, {0, 0, 1, 0}, Dtype::boolean};
    const Op op = Sdpa{Sdpa::ScaleOn::scores, upcast, Sdpa::Mask::boolean};
    cases.push_back({op, {q, k, {{2, 1}, {3, 5}}, mask}, {{nan, 3}}});
    cases.push_back({op, {q, k, {{2, 1}, {3, inf}}, mask}, {{nan, nan}}});
    cases.push_back({op, {q, k, {{2, 1}, {inf, 5}}, mask}, {{nan, inf}}});
  }
  return cases;
}

inline Values eval(const Sdpa& op, const Args& x, const Shape& shape) {
  const size_t last = shape.size() - 1;
  const int64_t t = shape[last - 1], s = x[1].shape[last - 1], d = x[0].shape[last];
  const double scale = op.scale != 0 ? op.scale : 1 / std::sqrt(static_cast<double>(d));
  const int64_t shift = op.alignment == CausalAlignment::bottom_right ? s - t : 0;
  return generate(shape, [&](const Index& index) {
    double weighted = 0, sum = 0;
    for (int64_t j = 0; j < s; ++j) {
      double score = 0;
      Index q = index, k = index, v = index, m = index;
      k[last - 1] = v[last - 1] = m[last] = j;
      if (op.grouped_heads)
        k[last - 2] = v[last - 2] = index[last - 2] / (shape[last - 2] / x[1].shape[last - 2]);
      for (q[last] = k[last] = 0; q[last] < d; ++q[last], ++k[last]) score += x[0].at(q) * x[1].at(k);
      score *= scale;
      if (op.softcap != 0) score = op.softcap * std::tanh(score / op.softcap);
      const int64_t behind = index[last - 1] + shift - j;
      if (op.mask == Sdpa::Mask::causal && behind < 0) continue;
      if (op.window != 0 && behind >= op.window) continue;
      if (op.mask == Sdpa::Mask::boolean && x[3].broadcast_at(m) == 0) continue;
      if (op.mask == Sdpa::Mask::additive) score += x[3].broadcast_at(m);
      sum += std::exp(score);
      weighted += std::exp(score) * x[2].at(v);
    }
    return weighted / sum;
  });
}

}  // namespace fusesmith::graph::op_tests
