// For tests: data for every op on which all correct executions agree in every bit, in any order, tiling or
// fusion. The reference must prove e = 0 for every element, and every backend must give exactly these
// bits.
#pragma once

#include <cmath>
#include <limits>

#include "graph/graph.h"

namespace fusesmith::graph {

struct ExactInput {
  Shape shape;
  Fill fill;
  Dtype dtype = Dtype::f32;  // f32 stands for the float dtype under test
};

struct ExactCase {
  Op op;
  std::vector<ExactInput> inputs;
  bool two_pass = false;  // only for two-pass variances: a running mean rounds on these rows
};

// Small integers: no partial sum of products needs more than 24 bits.
inline std::vector<ExactCase> exact_products() {
  const Fill grid = Lattice{8, -1};
  return {{Einsum{"bid,bdh->bih"}, {{{2, 4, 16}, grid}, {{2, 16, 5}, grid}}},
          {Einsum{"ij,ij->j"}, {{{33, 4}, grid}, {{33, 4}, grid}}},
          {Matmul{}, {{{3, 40}, grid}, {{40, 5}, grid}}},
          {Matmul{false, true}, {{{2, 3, 8}, OneHot{5, 0.5}}, {{2, 4, 8}, Normal{}}}},
          {Linear{}, {{{4, 16}, grid}, {{5, 16}, grid}, {{5}, grid}}},
          {Rope{}, {{{2, 3, 8}, grid}, {{3, 4}, grid}, {{3, 4}, grid}}},
          {Rope{Rope::Pairing::interleaved}, {{{2, 3, 8}, grid}, {{3, 4}, grid}, {{4}, grid}}}};
}

// 0 and saturated arguments; powers of four for roots.
inline std::vector<ExactCase> exact_pointwise() {
  const Fill grid = Lattice{8, -1}, ends = Lattice{2, 7};
  return {{Add{}, {{{3, 5}, grid}, {{5}, grid}}},
          {Sub{}, {{{3, 5}, grid}, {{3, 1}, grid}}},
          {Mul{}, {{{3, 5}, grid}, {{5}, grid}}},
          {Div{}, {{{3, 5}, grid}, {{}, Constant{4}}}},
          {Maximum{}, {{{3, 5}, Normal{}}, {{5}, Normal{}}}},
          {Scale{0.5}, {{{20}, grid}}},
          {Scale{-8, true}, {{{20}, grid}}},
          {Relu{}, {{{20}, Normal{}}}},
          {Gelu{Gelu::Form::erf}, {{{20}, ends}}},
          {Gelu{Gelu::Form::tanh}, {{{20}, ends}}},
          {Silu{}, {{{20}, ends}}},
          {Sigmoid{}, {{{20}, ends}}},
          {Tanh{}, {{{20}, ends}}},
          {Softcap{0.75}, {{{20}, ends}}},
          {Exp{}, {{{20}, OneHot{3, -128}}}},
          {Sqrt{}, {{{20}, OneHot{3, 2.25}}}},
          {Rsqrt{}, {{{20}, Constant{0.0625}}}},
          {Cast{Dtype::bf16}, {{{20}, Normal{}}}},
          {Where{}, {{{20}, Bernoulli{}, Dtype::boolean}, {{20}, Normal{}}, {{20}, Normal{}}}},
          {MaskedFill{-2.5}, {{{4, 5}, Normal{}}, {{5}, Bernoulli{}, Dtype::boolean}}}};
}

// Rows of 16 elements. Hadamard rows of +-16 have mean 0 and variance 256; the first one has mean 16 and
// variance 0.
inline std::vector<ExactCase> exact_reductions() {
  const Fill grid = Lattice{8, -1}, deviations = Hadamard{16};
  return {{Softmax{}, {{{4, 16}, Constant{3}}}},
          {Softmax{}, {{{4, 16}, OneHot{5, 128}}}},
          {Softmax{0}, {{{2, 3}, OneHot{5, -104}}}},
          {LayerNorm{}, {{{3, 16}, Constant{0.75}}, {{16}, grid}, {{16}, grid}}},
          {LayerNorm{}, {{{6, 16}, deviations}}, true},
          {LayerNorm{1e-6}, {{{6, 16}, deviations}, {{16}, grid}, {{16}, grid}}, true},
          {GroupNorm{2}, {{{2, 4, 8}, Constant{-3}}, {{4}, grid}, {{4}, grid}}},
          {GroupNorm{4}, {{{2, 4, 16}, deviations}, {{4}, grid}, {{4}, grid}}, true},
          {RmsNorm{}, {{{6, 16}, deviations}}},
          {RmsNorm{}, {{{6, 16}, deviations}, {{16}, grid}}},
          {ReduceSum{{-1}}, {{{4, 30}, grid}}},
          {ReduceMean{{0, 1}}, {{{4, 8, 2}, grid}}},
          {ReduceMax{{-1}, true}, {{{4, 9}, Normal{}}}},
          {VarMean{{-1}, 0}, {{{6, 16}, deviations}}, true},
          {VarMean{{-1}, 1}, {{{6, 16}, Constant{2.5}}}}};
}

inline std::vector<ExactCase> exact_movement() {
  const ExactInput x{{3, 4}, Normal{}};
  const ExactInput places{{2}, Literal{"0000000200000000"}, Dtype::i32};
  return {{Dropout{}, {x}},
          {Reshape{{2, 6}}, {x}},
          {Permute{{1, 0}}, {x}},
          {Unsqueeze{1}, {x}},
          {Squeeze{0}, {{{1, 5}, Normal{}}}},
          {BroadcastTo{{2, 3, 4}}, {x}},
          {Slice{1, 1, 4, 2}, {x}},
          {Chunk{1, 2}, {x}},
          {Concat{0}, {x, {{2, 4}, Normal{}}}},
          {Roll{1, 3}, {x}},
          {Flip{{0, 1}}, {x}},
          {Gather{}, {x, {{5}, Tokens{3}, Dtype::i32}}},
          {IndexCopy{0}, {x, places, {{2, 4}, Normal{}}}},
          {Arange{5, 2, 3}, {}},
          {CausalMask{4, 6, CausalAlignment::bottom_right}, {}}};
}

// Attention as a gather: the score of a query with its own key exceeds its other scores, which are 0, by
// 128 or more. And attention over constant scores, a mean of 2^k values: only this detects an extra key
// with score 0.
inline std::vector<ExactCase> exact_attention() {
  constexpr auto kTopLeft = CausalAlignment::top_left;
  std::vector<ExactCase> cases;
  for (const bool upcast : {false, true}) {
    for (const auto on : {Sdpa::ScaleOn::scores, Sdpa::ScaleOn::both}) {
      const bool both = on == Sdpa::ScaleOn::both;  // whose factor is the fourth root of 1 / depth
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

// At least one case for every op.
inline std::vector<ExactCase> exact_cases() {
  std::vector<ExactCase> cases;
  for (const auto& family :
       {exact_products(), exact_pointwise(), exact_reductions(), exact_movement(), exact_attention()}) {
    cases.insert(cases.end(), family.begin(), family.end());
  }
  return cases;
}

inline Result<Graph> exact_graph(const ExactCase& one, Dtype dtype) {
  Builder b;
  std::vector<ValueId> inputs;
  for (const ExactInput& input : one.inputs) {
    const TensorType type{input.dtype == Dtype::f32 ? dtype : input.dtype, input.shape};
    inputs.push_back(b.input("x" + std::to_string(inputs.size()), type, input.fill));
  }
  const ValueId first = b.node(one.op, inputs, "y");
  for (ValueId v = first; v < b.value_count(); ++v) b.output(v);
  return b.build();
}

}  // namespace fusesmith::graph
