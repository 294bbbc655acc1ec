#include "fuzz/order/emulate.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "fuzz/order/tensor_core.h"

namespace fusesmith::fuzz {
namespace {

using Kind = NodeArithmetic::Kind;
constexpr int64_t kBlock = 16;  // columns at once

// A node with its terms as a list.
struct Step {
  const SumNode* node;
  std::vector<int64_t> terms;
};

std::vector<Step> steps_of(const SumTree& tree) {
  std::vector<Step> steps;
  for (const SumNode& node : tree.nodes) steps.push_back({&node, node.term_list()});
  return steps;
}

struct InF32 {
  using Value = float;
  static float product(float a, float b) { return a * b; }
  static float add(float x, float y) { return x + y; }
  static float add_product(float sum, float a, float b) { return std::fma(a, b, sum); }
};

struct InF64 {
  using Value = double;
  static double product(double a, double b) { return a * b; }
  static double add(double x, double y) { return x + y; }
  static double add_product(double sum, double a, double b) { return std::fma(a, b, sum); }
};

template <graph::Dtype kDtype>
struct Narrow {
  using Value = float;
  static float rounded(float x) {
    return static_cast<float>(graph::round_to(kDtype, static_cast<double>(x)));
  }
  static float product(float a, float b) { return rounded(a * b); }
  static float add(float x, float y) { return rounded(x + y); }
  static float add_product(float sum, float a, float b) { return rounded(std::fma(a, b, sum)); }
};

template <class Ops>
using Block = std::array<typename Ops::Value, kBlock>;

template <class Ops>
void add_term(Block<Ops>& sum, bool first, bool rounds, float a, const float* b) {
  using Value = typename Ops::Value;
  const auto left = static_cast<Value>(a);
  if (first) {
    for (size_t j = 0; j < kBlock; ++j) sum[j] = Ops::product(left, static_cast<Value>(b[j]));
  } else if (rounds) {
    for (size_t j = 0; j < kBlock; ++j)
      sum[j] = Ops::add(sum[j], Ops::product(left, static_cast<Value>(b[j])));
  } else {
    for (size_t j = 0; j < kBlock; ++j) sum[j] = Ops::add_product(sum[j], left, static_cast<Value>(b[j]));
  }
}

// `panel` has the block's columns of each term side by side.
template <class Ops>
void run_block(const std::vector<Step>& steps, const float* a, const float* panel, float* out,
               size_t columns) {
  std::vector<Block<Ops>> sums(steps.size());
  for (size_t i = 0; i < steps.size(); ++i) {
    Block<Ops>& sum = sums[i];
    const SumNode& node = *steps[i].node;
    bool first = node.children.empty();
    for (size_t c = 0; c < node.children.size(); ++c) {
      const Block<Ops>& other = sums[static_cast<size_t>(node.children[c])];
      for (size_t j = 0; j < kBlock; ++j) sum[j] = c == 0 ? other[j] : Ops::add(sum[j], other[j]);
    }
    for (const int64_t k : steps[i].terms) {
      add_term<Ops>(sum, first, node.rounds_products, a[k], panel + k * kBlock);
      first = false;
    }
  }
  for (size_t j = 0; j < columns; ++j) out[j] = static_cast<float>(sums.back()[j]);
}

template <class Ops>
std::vector<float> emulate_blocks(const SumTree& tree, const Operands& in) {
  const std::vector<Step> steps = steps_of(tree);
  std::vector<float> out(static_cast<size_t>(in.rows * in.columns));
  std::vector<float> panel(static_cast<size_t>(in.terms * kBlock));
  for (int64_t first = 0; first < in.columns; first += kBlock) {
    const int64_t columns = std::min(kBlock, in.columns - first);
    for (int64_t k = 0; k < in.terms; ++k)
      std::copy_n(in.b.data() + k * in.columns + first, columns, panel.data() + k * kBlock);
    for (int64_t row = 0; row < in.rows; ++row) {
      run_block<Ops>(steps, in.a.data() + row * in.terms, panel.data(), out.data() + row * in.columns + first,
                     static_cast<size_t>(columns));
    }
  }
  return out;
}

// One element.
float on_tensor_core(const std::vector<Step>& steps, TensorCore& core, std::span<const Significand> a,
                     std::span<const Significand> b, size_t stride) {
  std::vector<float> sums(steps.size());
  for (size_t i = 0; i < steps.size(); ++i) {
    const SumNode& node = *steps[i].node;
    const std::vector<int64_t>& terms = steps[i].terms;
    if (terms.empty()) {
      float sum = sums[static_cast<size_t>(node.children[0])];
      for (size_t c = 1; c < node.children.size(); ++c) sum += sums[static_cast<size_t>(node.children[c])];
      sums[i] = sum;
      continue;
    }
    for (const int child : node.children) core.add(sums[static_cast<size_t>(child)]);
    auto count = static_cast<size_t>(node.first_terms());
    for (size_t at = 0; at < terms.size(); count = static_cast<size_t>(node.group)) {
      if (at > 0) core.add(sums[i]);
      for (const size_t end = std::min(terms.size(), at + count); at < end; ++at) {
        const auto k = static_cast<size_t>(terms[at]);
        core.add(a[k], b[k * stride]);
      }
      sums[i] = core.take();
    }
  }
  return sums.back();
}

std::vector<float> emulate_tensor_core(const SumTree& tree, const NodeArithmetic& arithmetic,
                                       const Operands& in) {
  const std::vector<Step> steps = steps_of(tree);
  TensorCore core(arithmetic);
  const int least_top = arithmetic.normalises ? kNormalises : graph::min_exponent(in.dtype);
  const auto split = [&](const std::vector<float>& values) {
    std::vector<Significand> parts(values.size());
    std::transform(values.begin(), values.end(), parts.begin(),
                   [&](float x) { return significand_of(x, least_top); });
    return parts;
  };
  const std::vector<Significand> a = split(in.a), b = split(in.b);
  const auto terms = static_cast<size_t>(in.terms), columns = static_cast<size_t>(in.columns);
  std::vector<float> out;
  out.reserve(static_cast<size_t>(in.rows) * columns);
  for (size_t row = 0; row < static_cast<size_t>(in.rows); ++row) {
    for (size_t column = 0; column < columns; ++column) {
      out.push_back(on_tensor_core(steps, core, std::span(a).subspan(row * terms, terms),
                                   std::span(b).subspan(column), columns));
    }
  }
  return out;
}

// tf32 keeps 10 explicit significand bits of f32.
float to_tf32(float x, NodeArithmetic::Operands how) {
  if (!std::isfinite(x)) return x;
  constexpr uint32_t kDropped = 0x1fffU, kHalf = 0x1000U;
  auto bits = std::bit_cast<uint32_t>(x);
  if (how == NodeArithmetic::Operands::tf32_nearest_away) bits += kHalf;
  if (how == NodeArithmetic::Operands::tf32_nearest) bits += kHalf - 1 + (bits >> 13 & 1U);
  return std::bit_cast<float>(bits & ~kDropped);
}

Operands as_read(Operands in, NodeArithmetic::Operands read) {
  if (read == NodeArithmetic::Operands::kept) return in;
  for (std::vector<float>* values : {&in.a, &in.b}) {
    for (float& x : *values) x = to_tf32(x, read);
  }
  return in;
}

}  // namespace

std::vector<float> emulate(const SumTree& tree, const NodeArithmetic& arithmetic, const Operands& operands) {
  const bool converts = arithmetic.operands != NodeArithmetic::Operands::kept;
  const Operands converted = converts ? as_read(operands, arithmetic.operands) : Operands{};
  const Operands& in = converts ? converted : operands;
  switch (arithmetic.kind) {
    case Kind::f64:
      return emulate_blocks<InF64>(tree, in);
    case Kind::narrow_sums:
      return in.dtype == graph::Dtype::f16 ? emulate_blocks<Narrow<graph::Dtype::f16>>(tree, in)
                                           : emulate_blocks<Narrow<graph::Dtype::bf16>>(tree, in);
    case Kind::tensor_core:
      return emulate_tensor_core(tree, arithmetic, in);
    default:
      return emulate_blocks<InF32>(tree, in);
  }
}

}  // namespace fusesmith::fuzz
