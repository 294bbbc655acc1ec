// For tests: every op with its attributes and input types, over shapes with broadcasting, size-1 axes,
// transposes and scalars.
#pragma once

#include <limits>

#include "graph/fill.h"
#include "graph/op.h"

namespace fusesmith::backends::testing_cases {

struct OpCase {
  Op op;
  Types inputs;  // f32 stands for the float dtype under test
};

inline TensorType f(Shape shape) { return {Dtype::f32, std::move(shape)}; }
inline TensorType mask(Shape shape) { return {Dtype::boolean, std::move(shape)}; }
inline TensorType indices(Shape shape) { return {Dtype::i32, std::move(shape)}; }

// For i32 inputs: below 8, and the first 8 differ, as index_copy wants them.
inline Fill index_fill(const TensorType& type) {
  Tensor tensor(type);
  for (int64_t i = 0; i < tensor.size(); ++i) tensor.set(i, static_cast<double>((3 * i + 1) % 8));
  return literal_of(tensor);
}

inline std::vector<OpCase> product_cases() {
  std::vector<OpCase> cases = {
      {Matmul{}, {f({3, 4}), f({4, 5})}},
      {Matmul{}, {f({1, 1}), f({1, 1})}},
      {Matmul{}, {f({1, 64}), f({64, 33})}},
      {Matmul{}, {f({33, 64}), f({64, 1})}},
      {Matmul{}, {f({2, 3, 17, 9}), f({2, 3, 9, 15})}},
      {Matmul{}, {f({2, 1, 17, 9}), f({3, 9, 15})}},
      {Matmul{}, {f({4, 17, 9}), f({9, 15})}},
      {Matmul{}, {f({17, 9}), f({4, 9, 15})}},
      {Matmul{true, false}, {f({4, 9, 17}), f({9, 15})}},
      {Matmul{false, true}, {f({4, 17, 9}), f({15, 9})}},
      {Matmul{true, true}, {f({2, 9, 17}), f({2, 15, 9})}},
      {Linear{}, {f({5}), f({3, 5})}},
      {Linear{}, {f({2, 7, 16}), f({32, 16}), f({32})}},
      {Linear{}, {f({1, 40}), f({1, 40}), f({1})}},
  };
  const auto einsum = [&](const char* equation, Shape a, Shape b) {
    cases.push_back({Einsum{equation}, {f(std::move(a)), f(std::move(b))}});
  };
  einsum("bid,bdh->bih", {3, 8, 10}, {3, 10, 12});
  einsum("bikd,bjkd->bijd", {2, 5, 6, 7}, {2, 4, 6, 7});
  einsum("bthd,bshd->bhts", {2, 9, 3, 8}, {2, 10, 3, 8});
  einsum("bhts,bshd->bthd", {2, 3, 9, 10}, {2, 10, 3, 8});
  einsum("abc,cbd->da", {9, 4, 5}, {5, 4, 11});
  einsum("ki,kj->ji", {16, 12}, {16, 10});
  einsum("ij,jk->ik", {1, 30}, {30, 1});
  einsum("ij,ij->ij", {4, 5}, {4, 5});
  einsum("ij,ij->i", {40, 50}, {40, 50});
  einsum("i,i->", {1000}, {1000});
  einsum("i,j->ij",
         {
             20,
         },
         {30});
  einsum(",->", {}, {});
  einsum(",ij->ji", {}, {3, 4});
  einsum("ii,ij->j", {6, 6}, {6, 20});
  einsum("ii,ij->ij", {6, 6}, {6, 20});
  einsum("iij,jk->ik", {9, 9, 10}, {10, 11});
  einsum("ij,k->k", {9, 10}, {11});  // letters summed over one operand alone
  einsum("aij,jkb->ik", {3, 9, 10}, {10, 11, 2});
  einsum("ab,cd->", {3, 4}, {5, 2});
  return cases;
}

inline std::vector<OpCase> pointwise_cases() {
  return {
      {Add{}, {f({4, 5}), f({4, 5})}},
      {Add{}, {f({}), f({})}},
      {Add{}, {f({3, 1, 5}), f({4, 1})}},
      {Sub{}, {f({2, 3}), f({3})}},
      {Sub{}, {f({}), f({2, 3})}},
      {Mul{}, {f({5, 1}), f({1, 6})}},
      {Div{}, {f({2, 1, 3, 1}), f({4, 1, 5})}},
      {Maximum{}, {f({3, 1, 5}), f({4, 1})}},
      {Scale{0.1}, {f({7})}},
      {Scale{3, true}, {f({2, 2})}},
      {Relu{}, {f({50})}},
      {Gelu{Gelu::Form::erf}, {f({50})}},
      {Gelu{Gelu::Form::tanh}, {f({50})}},
      {Silu{}, {f({50})}},
      {Sigmoid{}, {f({5, 10})}},
      {Tanh{}, {f({50})}},
      {Exp{}, {f({50})}},
      {Sqrt{}, {f({5, 10})}},
      {Rsqrt{}, {f({50})}},
      {Softcap{}, {f({50})}},
      {Softcap{0.3}, {f({50})}},
      {Cast{Dtype::f32}, {f({3, 3})}},
      {Cast{Dtype::f16}, {f({3, 3})}},
      {Cast{Dtype::bf16}, {f({3, 3})}},
      {Cast{Dtype::bf16}, {indices({9})}},
      {Cast{Dtype::f32}, {mask({9})}},
      {Where{}, {mask({4, 5}), f({4, 5}), f({4, 5})}},
      {Where{}, {mask({3, 1}), f({}), f({2, 1, 5})}},
      {MaskedFill{-std::numeric_limits<double>::infinity()}, {f({2, 4, 5}), mask({4, 1})}},
      {MaskedFill{-4, true}, {f({4, 5}), mask({5})}},
      {MaskedFill{1}, {f({}), mask({})}},
      {Softmax{}, {f({3, 17})}},
      {Softmax{0}, {f({5, 3})}},
      {Softmax{1}, {f({2, 5, 3})}},
      {Softmax{-1}, {f({4, 1})}},
      {LayerNorm{}, {f({16})}},
      {LayerNorm{1e-3}, {f({3, 2, 33}), f({33})}},
      {LayerNorm{}, {f({4, 8}), f({8}), f({8})}},
      {RmsNorm{}, {f({3, 33})}},
      {RmsNorm{1e-3}, {f({3, 2, 16}), f({16})}},
      {GroupNorm{2}, {f({3, 4})}},
      {GroupNorm{4, 1e-3}, {f({2, 8, 3, 2}), f({8}), f({8})}},
      {GroupNorm{1}, {f({1, 5, 40}), f({5})}},
      {ReduceSum{{0}}, {f({17})}},
      {ReduceSum{{1, -1}, true}, {f({2, 3, 4})}},
      {ReduceSum{{0, 2}}, {f({3, 4, 50})}},
      {ReduceMean{{-1}}, {f({3, 10})}},
      {ReduceMean{{0}, true}, {f({64, 3})}},
      {ReduceMax{{1}}, {f({3, 40, 2})}},
      {ReduceMax{{-2}, true}, {f({1, 1})}},
      {VarMean{{-1}}, {f({4, 33})}},
      {VarMean{{0, 1}, 0, true}, {f({4, 8})}},
  };
}

inline std::vector<OpCase> movement_cases() {
  return {
      {Dropout{}, {f({3, 4})}},
      {Reshape{{2, 6}}, {f({3, 4})}},
      {Reshape{{}}, {f({1, 1})}},
      {Unsqueeze{-1}, {f({3, 4})}},
      {Squeeze{1}, {f({3, 1, 4})}},
      {Permute{{1, 0}}, {f({3, 4})}},
      {Permute{{0, 2, 1, 3}}, {f({2, 3, 4, 5})}},
      {Permute{{2, 0, 1}}, {indices({2, 3, 4})}},
      {Permute{{}}, {f({})}},
      {BroadcastTo{{2, 3, 4}}, {f({3, 1})}},
      {BroadcastTo{{2, 2}}, {mask({})}},
      {Slice{1, 1, 6, 2}, {f({3, 7, 2})}},
      {Slice{-1, 0, 3, 1}, {f({3, 7})}},
      {Slice{0, 2, 3, 5}, {indices({3})}},
      {Gather{}, {f({8, 5}), indices({2, 3})}},
      {Gather{}, {f({8}), indices({})}},
      {Gather{}, {mask({9, 2, 2}), indices({4})}},
      {Chunk{1, 3}, {f({3, 6, 2})}},
      {Chunk{-1, 2}, {mask({2, 4})}},
      {Concat{0}, {f({2, 3}), f({1, 3}), f({4, 3})}},
      {Concat{-1}, {indices({2, 3}), indices({2, 1})}},
      {Roll{0, 2}, {f({5, 3})}},
      {Roll{-2, -1}, {f({2, 4, 3})}},
      {Roll{1, 9}, {mask({2, 4})}},
      {Flip{{0}}, {f({5, 3})}},
      {Flip{{0, -1}}, {indices({2, 3, 4})}},
      {IndexCopy{0}, {f({8, 3}), indices({4}), f({4, 3})}},
      {IndexCopy{1}, {f({2, 9, 3}), indices({1}), f({2, 1, 3})}},
      {IndexCopy{-1}, {mask({2, 8}), indices({8}), mask({2, 8})}},
      {Arange{5, 3, 2}, {}},
      {CausalMask{4, 6, CausalAlignment::top_left}, {}},
      {CausalMask{4, 6, CausalAlignment::bottom_right}, {}},
      {CausalMask{6, 4, CausalAlignment::bottom_right}, {}},
      {CausalMask{6, 4, CausalAlignment::top_left, 1}, {}},
      {CausalMask{4, 6, CausalAlignment::bottom_right, 2}, {}},
      {CausalMask{6, 5, CausalAlignment::bottom_right, 3, true}, {}},
  };
}

inline std::vector<OpCase> rope_cases() {
  return {
      {Rope{}, {f({2, 3, 5, 8}), f({5, 4}), f({5, 4})}},
      {Rope{Rope::Pairing::interleaved}, {f({2, 3, 5, 6}), f({2, 1, 5, 3}), f({3})}},
      {Rope{}, {f({2}), f({1}), f({1})}},
  };
}

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

inline std::vector<OpCase> op_cases() {
  std::vector<OpCase> cases;
  for (const auto& family :
       {product_cases(), pointwise_cases(), movement_cases(), rope_cases(), attention_cases()}) {
    cases.insert(cases.end(), family.begin(), family.end());
  }
  return cases;
}

}  // namespace fusesmith::backends::testing_cases
