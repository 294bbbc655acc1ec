// For tests: the result of every op for NaN, infinities, subnormals, huge values and zeros of both signs,
// as its doc line says. The reference and every backend must agree.
#pragma once

#include <cmath>
#include <limits>

#include "graph/graph.h"

namespace fusesmith::graph {

struct SpecialInput {
  Shape shape;
  std::vector<double> values;
  Dtype dtype = Dtype::f32;  // f32 stands for the float dtype under test
};

struct SpecialCase {
  Op op;
  std::vector<SpecialInput> inputs;
  std::vector<std::vector<double>> want;  // for each output, before it is rounded to its dtype
};

class SpecialCases {
 public:
  explicit SpecialCases(Dtype dtype)
      : max_(max_finite(dtype)), tiny_(std::ldexp(1.0, min_exponent(dtype) - precision(dtype) + 1)) {}

  // At least one case for every op that has inputs.
  std::vector<SpecialCase> all() const {
    std::vector<SpecialCase> cases;
    for (const auto& family : {arithmetic(), functions(), products(), reductions(), norms(), movement(),
                               selection(), attention()}) {
      cases.insert(cases.end(), family.begin(), family.end());
    }
    return cases;
  }

 private:
  static constexpr double inf = std::numeric_limits<double>::infinity();
  static constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const double max_, tiny_;  // the largest finite number, and the smallest subnormal

  using Row = std::vector<double>;
  static SpecialInput row(const Row& values) { return {{static_cast<int64_t>(values.size())}, values}; }
  static SpecialCase unary(const Op& op, const Row& x, const Row& y) { return {op, {row(x)}, {y}}; }
  static SpecialCase binary(const Op& op, const Row& a, const Row& b, const Row& y) {
    return {op, {row(a), row(b)}, {y}};
  }

  std::vector<SpecialCase> arithmetic() const {
    return {
        binary(Add{}, {inf, inf, nan, max_, tiny_, tiny_}, {-inf, inf, 1, max_, tiny_, -tiny_},
               {nan, inf, nan, inf, 2 * tiny_, 0}),
        binary(Sub{}, {inf, inf, nan, max_, tiny_}, {inf, -inf, 1, -max_, tiny_}, {nan, inf, nan, inf, 0}),
        binary(Mul{}, {inf, 0, inf, max_, tiny_, nan}, {0, -inf, -2, 2, 2, 0},
               {nan, nan, -inf, inf, 2 * tiny_, nan}),
        binary(Div{}, {1, -1, 0, inf, inf, 1, tiny_, nan}, {0, 0, 0, inf, 0, inf, tiny_, 1},
               {inf, -inf, nan, nan, inf, 0, 1, nan}),
        binary(Maximum{}, {nan, 1, -inf, inf, tiny_}, {1, nan, inf, -inf, 0}, {nan, nan, inf, inf, tiny_}),
        unary(Scale{0}, {inf, nan, max_}, {nan, nan, 0}),
        unary(Scale{2}, {max_, tiny_, -inf}, {inf, 2 * tiny_, -inf})};
  }

  std::vector<SpecialCase> functions() const {
    const Row x = {nan, inf, -inf, 0, max_, -max_};
    const Row ramp = {nan, inf, nan, 0, max_, 0};
    return {unary(Relu{}, {nan, inf, -inf, -0.0, tiny_, -tiny_}, {nan, inf, 0, 0, tiny_, 0}),
            unary(Gelu{Gelu::Form::erf}, x, ramp),
            unary(Gelu{Gelu::Form::tanh}, x, ramp),
            unary(Silu{}, x, ramp),
            unary(Sigmoid{}, x, {nan, 1, 0, 0.5, 1, 0}),
            unary(Tanh{}, x, {nan, 1, -1, 0, 1, -1}),
            unary(Softcap{2}, x, {nan, 2, -2, 0, 2, -2}),
            unary(Exp{}, x, {nan, inf, 0, 1, inf, 0}),
            unary(Sqrt{}, {nan, inf, -inf, -1, -0.0}, {nan, inf, nan, nan, 0}),
            unary(Rsqrt{}, {nan, inf, -inf, -1, 0, -0.0}, {nan, 0, nan, nan, inf, -inf})};
  }

  // Rows (inf, 1), (nan, 1), (inf, -inf), (1, 2) times columns (0, 1) and (1, 1).
  std::vector<SpecialCase> products() const {
    const SpecialInput a{{4, 2}, {inf, 1, nan, 1, inf, -inf, 1, 2}}, b{{2, 2}, {0, 1, 1, 1}};
    const Row y = {nan, inf, nan, nan, nan, nan, 2, 3};
    return {{Matmul{}, {a, b}, {y}},
            {Einsum{"ij,jk->ik"}, {a, b}, {y}},
            {Linear{}, {a, b}, {y}},
            {Linear{}, {a, b, row({1, -inf})}, {{nan, nan, nan, nan, nan, nan, 3, -inf}}},
            {Rope{}, {row({inf, 1}), row({0}), row({1})}, {{nan, inf}}}};
  }

  std::vector<SpecialCase> reductions() const {
    const SpecialInput x{{5, 2}, {inf, -inf, nan, 1, inf, 1, -inf, -inf, tiny_, tiny_}};
    return {{Softmax{},
             {{{5, 4}, {-inf, -inf, -inf, -inf, nan,  1, 1,    1,     inf,   1,
                        1,    1,    -inf, 5,    -inf, 5, max_, -max_, -max_, -max_}}},
             {{nan, nan, nan, nan, nan, nan, nan, nan, nan, nan, nan, nan, 0, 0.5, 0, 0.5, 1, 0, 0, 0}}},
            {ReduceSum{{-1}}, {x}, {{nan, nan, inf, -inf, 2 * tiny_}}},
            {ReduceSum{{-1}}, {{{1, 2}, {max_, max_}}}, {{inf}}},
            {ReduceMean{{-1}}, {x}, {{nan, nan, inf, -inf, tiny_}}},
            {ReduceMax{{-1}}, {x}, {{inf, nan, inf, -inf, tiny_}}},
            {VarMean{{-1}, 1},
             {{{4, 2}, {inf, -inf, nan, 1, inf, 1, 3, 3}}},
             {{nan, nan, nan, 0}, {nan, nan, inf, 3}}},
            {VarMean{{-1}, 1}, {{{1, 1}, {3}}}, {{nan}, {3}}}};
  }

  // Rows with NaN, with an infinity, of one value, and of zeros of both signs.
  std::vector<SpecialCase> norms() const {
    const Row rows = {nan, 1, 1, 1, inf, 1, 1, 1, 3, 3, 3, 3, 0, -0.0, 0, -0.0};
    const Row centred = {nan, nan, nan, nan, nan, nan, nan, nan, 0, 0, 0, 0, 0, 0, 0, 0};
    return {{LayerNorm{}, {{{4, 4}, rows}}, {centred}},
            {GroupNorm{1}, {{{4, 2, 2}, rows}}, {centred}},
            {RmsNorm{},
             {{{3, 4}, {nan, 1, 1, 1, inf, 1, -inf, 1, 0, -0.0, 0, -0.0}}},
             {{nan, nan, nan, nan, nan, 0, nan, 0, 0, 0, 0, 0}}}};
  }

  // Movement ops preserve every bit.
  std::vector<SpecialCase> movement() const {
    const Row x = {nan, inf, -0.0, tiny_};
    const Row twice = {nan, inf, -0.0, tiny_, nan, inf, -0.0, tiny_};
    const auto places = [](Row at) {
      return SpecialInput{{static_cast<int64_t>(at.size())}, at, Dtype::i32};
    };
    return {unary(Dropout{}, x, x),
            unary(Reshape{{2, 2}}, x, x),
            unary(Unsqueeze{0}, x, x),
            {Squeeze{0}, {{{1, 4}, x}}, {x}},
            {Permute{{1, 0}}, {{{2, 2}, x}}, {{nan, -0.0, inf, tiny_}}},
            unary(BroadcastTo{{2, 4}}, x, twice),
            unary(Slice{0, 1, 4, 2}, x, {inf, tiny_}),
            {Chunk{0, 2}, {row(x)}, {{nan, inf}, {-0.0, tiny_}}},
            binary(Concat{0}, x, x, twice),
            unary(Roll{0, 1}, x, {tiny_, nan, inf, -0.0}),
            unary(Flip{{0}}, x, {tiny_, -0.0, inf, nan}),
            {Gather{}, {row(x), places({2, 0})}, {{-0.0, nan}}},
            {IndexCopy{0}, {row(x), places({1}), row({-inf})}, {{nan, -inf, -0.0, tiny_}}}};
  }

  std::vector<SpecialCase> selection() const {
    const SpecialInput flags{{4}, {1, 0, 1, 0}, Dtype::boolean};
    return {{Where{}, {flags, row({1, nan, nan, -inf}), row({nan, tiny_, 3, inf})}, {{1, tiny_, nan, inf}}},
            {MaskedFill{-inf}, {row({nan, inf, 1, tiny_}), flags}, {{-inf, inf, -inf, tiny_}}},
            unary(Cast{Dtype::bf16}, {nan, inf, -inf, max_, tiny_}, {nan, inf, -inf, max_, tiny_})};
  }

  // A query without visible keys; one whose hidden key has a finite value, and one whose hidden key has an
  // infinite one.
  std::vector<SpecialCase> attention() const {
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
};

inline Result<Graph> special_graph(const SpecialCase& one, Dtype dtype) {
  Builder b;
  std::vector<ValueId> inputs;
  for (const SpecialInput& input : one.inputs) {
    Tensor tensor(TensorType{input.dtype == Dtype::f32 ? dtype : input.dtype, input.shape});
    for (size_t i = 0; i < input.values.size(); ++i) tensor.set(static_cast<int64_t>(i), input.values[i]);
    inputs.push_back(b.input("x" + std::to_string(inputs.size()), tensor.type, literal_of(tensor)));
  }
  const ValueId first = b.node(one.op, inputs, "y");
  for (ValueId v = first; v < b.value_count(); ++v) b.output(v);
  return b.build();
}

}  // namespace fusesmith::graph
