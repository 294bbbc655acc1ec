// Cases that the tests take apart: transformer pieces with every kind of op that names sizes, states, dead
// code, all dtypes.
#pragma once

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "graph/case.h"

namespace fusesmith::minimizer {

inline Case case_of(Builder& builder, int64_t steps = 1) {
  auto graph = builder.build();
  check(graph.ok(), graph.ok() ? "" : graph.problem().c_str());
  return Case{7, steps, {}, std::move(*graph), std::nullopt, {}};
}

struct BlockSizes {
  int64_t batch = 2, tokens = 17, heads = 4, head_size = 8, hidden = 96;
  Dtype dtype = Dtype::f32;
};

// Pre-norm transformer block: batch-specific einsum projections with sliced biases, heads, attention,
// feed-forward.
inline Case transformer_block(const BlockSizes& s = {}) {
  Builder b;
  const int64_t d = s.heads * s.head_size;
  const auto input = [&](const std::string& name, Shape shape) {
    return b.input(name, {s.dtype, shape}, Normal{0, 0.5});
  };
  const ValueId x = input("x", {s.batch, s.tokens, d});
  const ValueId gain = input("gain", {d}), shift = input("shift", {d});
  std::vector<ValueId> weights, biases;
  for (const char* name : {"q", "k", "v", "o"}) {
    weights.push_back(input(std::string("w") + name, {s.batch, d, d}));
    biases.push_back(input(std::string("b") + name, {s.batch + 1, s.tokens + 3, d}));
  }
  const ValueId up = input("up", {s.hidden, d}), up_bias = input("up_bias", {s.hidden}),
                down = input("down", {d, s.hidden});
  const ValueId root = b.input("root", {s.dtype, {}}, Constant{std::sqrt(static_cast<double>(s.head_size))});

  const auto project = [&](const std::string& name, size_t which, ValueId from) {
    const ValueId product = b.node(Einsum{"bid,bdh->bih"}, {from, weights[which]}, name + "_product");
    const ValueId rows = b.node(Slice{0, 0, s.batch}, {biases[which]}, name + "_rows");
    const ValueId bias = b.node(Slice{1, 0, s.tokens}, {rows}, name + "_bias");
    return b.node(Add{}, {product, bias}, name);
  };
  const auto heads = [&](const std::string& name, ValueId from) {
    const ValueId split = b.node(Reshape{{s.batch, s.tokens, s.heads, s.head_size}}, {from}, name + "_split");
    return b.node(Permute{{0, 2, 1, 3}}, {split}, name + "_heads");
  };
  const ValueId norm = b.node(LayerNorm{}, {x, gain, shift}, "norm");
  const ValueId q = heads("q", project("q", 0, norm)), k = heads("k", project("k", 1, norm));
  const ValueId v = heads("v", project("v", 2, norm));
  const ValueId scores = b.node(Matmul{false, true}, {q, k}, "scores");
  const ValueId scaled = b.node(Div{}, {scores, root}, "scaled");
  const ValueId p = b.node(Softmax{-1}, {scaled}, "p");
  const ValueId out = b.node(Permute{{0, 2, 1, 3}}, {b.node(Matmul{}, {p, v}, "pv")}, "back");
  const ValueId merged = b.node(Reshape{{s.batch, s.tokens, d}}, {out}, "merged");
  const ValueId attended = b.node(Add{}, {x, project("o", 3, merged)}, "attended");
  const ValueId again = b.node(LayerNorm{1e-6}, {attended, gain, shift}, "norm_again");
  const ValueId act = b.node(Gelu{}, {b.node(Linear{}, {again, up, up_bias}, "wide")}, "act");
  b.output(b.node(Add{}, {attended, b.node(Linear{}, {act, down}, "narrow")}, "y"));
  return case_of(b);
}

// Token and position embedding, one head with an axis added and removed, dropout; the scores are observed
// too.
inline Case embedded_head(Dtype dtype = Dtype::f32) {
  Builder b;
  const int64_t batch = 3, tokens = 8, d = 16;
  const ValueId ids = b.input("ids", {Dtype::i32, {batch, tokens}}, Tokens{50});
  const ValueId table = b.input("table", {dtype, {50, d}}, Normal{});
  const ValueId positions = b.input("positions", {dtype, {12, d}}, Normal{});
  const ValueId w = b.input("w", {dtype, {d, d}}, Uniform{-1, 1});
  const ValueId places =
      b.node(BroadcastTo{{batch, tokens}}, {b.node(Arange{tokens}, {}, "places")}, "all_places");
  const ValueId x = b.node(
      Add{}, {b.node(Gather{}, {table, ids}, "words"), b.node(Gather{}, {positions, places}, "where")}, "x");
  const auto head = [&](const std::string& name, ValueId from) {
    return b.node(Permute{{0, 1, 2, 3}}, {b.node(Unsqueeze{1}, {from}, name + "_4d")}, name + "_head");
  };
  const ValueId q = head("q", b.node(Linear{}, {x, w}, "q")), k = head("k", x), v = head("v", x);
  const ValueId scores = b.node(Scale{0.25}, {b.node(Matmul{false, true}, {q, k}, "qk")}, "scores");
  const ValueId p = b.node(Dropout{}, {b.node(Softmax{3}, {scores}, "p")}, "dropped");
  b.output(b.node(Squeeze{1}, {b.node(Matmul{}, {p, v}, "pv")}, "y"));
  b.output(scores);
  return case_of(b);
}

// Masks of all kinds around composite attention, mixed dtypes with casts, dead code.
inline Case masked_mix() {
  Builder b;
  const int64_t heads = 2, t = 6, d = 4;
  const TensorType type{Dtype::bf16, {1, heads, t, d}};
  const ValueId q = b.input("q", type, Normal{}), k = b.input("k", type, Special{0.2}),
                v = b.input("v", type, Lattice{});
  const ValueId keep = b.input("keep", {Dtype::boolean, {t, t}}, Bernoulli{0.7});
  const ValueId half = b.input("half", {Dtype::f16, {heads, t, t}}, OneHot{5});
  const ValueId out =
      b.node(Sdpa{Sdpa::ScaleOn::both, true, Sdpa::Mask::boolean}, {q, k, v, keep}, "attention");
  const ValueId causal =
      b.node(Sdpa{Sdpa::ScaleOn::scores, false, Sdpa::Mask::causal, CausalAlignment::bottom_right, 0.5},
             {q, k, out}, "causal");
  const ValueId hidden = b.node(CausalMask{t, t}, {}, "hidden");
  const ValueId filled =
      b.node(MaskedFill{-INFINITY}, {b.node(Cast{Dtype::f32}, {half}, "wide"), hidden}, "filled");
  const ValueId chosen = b.node(Where{}, {keep, filled, b.node(Silu{}, {filled}, "silu")}, "chosen");
  b.node(Sigmoid{}, {chosen}, "nobody_reads");
  b.node(Relu{}, {b.node(Relu{}, {chosen}, "dead_chain")}, "nobody_reads_either");
  b.output(b.node(Slice{2, 1, 6, 2}, {causal}, "every_second"));
  b.output(b.node(Cast{Dtype::bf16}, {chosen}, "narrow"));
  return case_of(b);
}

// A state that moves on for some steps.
inline Case stepping() {
  Builder b;
  const TensorType type{Dtype::bf16, {4, 6}};
  const ValueId x = b.input("x", type, Normal{}), w = b.input("w", {Dtype::bf16, {6, 6}}, Normal{});
  const ValueId cache = b.state("cache", type, Constant{0});
  const ValueId seen = b.node(Add{}, {cache, x}, "seen");
  const ValueId updated = b.node(Mul{}, {seen, b.node(Sub{}, {x, cache}, "news")}, "updated");
  b.output(b.node(Matmul{}, {seen, w}, "y"));
  b.next_state(0, updated);
  return case_of(b, 5);
}

// Products of inputs that are read transposed: by a permute, by an attribute, and by several readers.
inline Case transposed_operands() {
  Builder b;
  const ValueId x = b.input("x", {Dtype::f32, {2, 5, 3}}, Normal{}),
                w = b.input("w", {Dtype::f32, {4, 3}}, Uniform{}),
                u = b.input("u", {Dtype::f32, {6, 4}}, OneHot{5, 2});
  const ValueId turned = b.node(Permute{{1, 0}}, {w}, "turned");
  const ValueId wide = b.node(Matmul{}, {x, turned}, "wide"), again = b.node(Matmul{}, {x, turned}, "again");
  b.output(b.node(Matmul{false, true}, {b.node(Add{}, {wide, again}, "sum"), u}, "y"));
  return case_of(b);
}

// Sources that are permuted, padded, at an offset, expanded and badly aligned.
inline Case laid_out() {
  Builder b;
  const TensorType type{Dtype::bf16, {4, 6}};
  const ValueId x = b.input({"x", type, Normal{}, {0}, MemoryLayout{{1, 0}, {3, 2}, 5, {0}, 4}});
  const ValueId y = b.input({"y", type, Normal{}, {}, MemoryLayout{.pad = {0, 7}}});
  const ValueId s = b.state({"s", type, Normal{}, -1, MemoryLayout{.align = 2}});
  const ValueId sum = b.node(Add{}, {b.node(Add{}, {x, y}, "a"), s}, "sum");
  b.output(sum);
  b.next_state(0, sum);
  return case_of(b);
}

inline std::vector<Case> sample_cases() {
  BlockSizes narrow;
  narrow.dtype = Dtype::f16;
  return {transformer_block(),   transformer_block(narrow),
          embedded_head(),       embedded_head(Dtype::bf16),
          masked_mix(),          stepping(),
          transposed_operands(), laid_out()};
}

// Bits for every value, as a trace would have them: i / 8 in floats, in range for every index.
inline std::vector<std::shared_ptr<const Tensor>> some_bits(const Graph& graph) {
  std::vector<std::shared_ptr<const Tensor>> values;
  for (ValueId v = 0; v < graph.value_count(); ++v) {
    Tensor tensor(graph.type(v));
    for (int64_t i = 0; i < tensor.size() && is_float(tensor.type.dtype); ++i)
      tensor.set(i, static_cast<double>(i % 31) / 8);
    values.push_back(std::make_shared<const Tensor>(std::move(tensor)));
  }
  return values;
}

// The first node of this kind, or null.
template <class T>
const Node* first_node(const Graph& graph) {
  for (const Node& node : graph.nodes()) {
    if (std::holds_alternative<T>(node.op)) return &node;
  }
  return nullptr;
}

}  // namespace fusesmith::minimizer
