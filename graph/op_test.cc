// Laws over the whole list of ops.
#include "graph/op.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <set>

#include "graph/attributes.h"
#include "graph/case.h"
#include "graph/op_samples.h"

namespace fusesmith::graph {
namespace {

using testing::HasSubstr;

constexpr int kTries = 20000;
constexpr size_t kEnough = 60;

TEST(OpLaw, NamesAreUniqueAndDocsAreOneLine) {
  std::set<std::string_view> names;
  for_each_op([&]<class T>(std::type_identity<T>) {
    EXPECT_TRUE(names.insert(T::info.name).second) << T::info.name;
    EXPECT_THAT(std::string(T::info.name), testing::MatchesRegex("[a-z][a-z_]*"));
    EXPECT_GT(T::info.doc.size(), 5u) << T::info.name;
    EXPECT_EQ(T::info.doc.find('\n'), std::string_view::npos) << T::info.name;
    EXPECT_LE(0, T::info.min_inputs) << T::info.name;
    EXPECT_LE(T::info.min_inputs, T::info.max_inputs) << T::info.name;
    EXPECT_EQ(T::info.op_class == OpClass::source, T::info.max_inputs == 0) << T::info.name;
    const auto found = default_op(T::info.name);
    ASSERT_TRUE(found) << T::info.name;
    EXPECT_EQ(name(*found), T::info.name);
  });
  EXPECT_EQ(names.size(), std::variant_size_v<OpVariant>);
  EXPECT_FALSE(default_op("no_such_op"));
}

TEST(OpLaw, AttributeNamesAreFreeOfTheNodesOwnKeys) {
  for_each_op([]<class T>(std::type_identity<T>) {
    std::set<std::string_view> names = {"name", "op", "inputs"};
    for_each_field<T>([&](const auto& field) {
      EXPECT_TRUE(names.insert(field.name).second) << T::info.name << "." << field.name;
    });
  });
}

TEST(OpLaw, DefaultsOfOptionalAttributesAreInRange) {
  for_each_op([]<class T>(std::type_identity<T>) {
    T op;
    for_each_field<T>([&](const auto& field) {
      if constexpr (Range<std::decay_t<decltype(field.domain)>>) {
        if (field.required) op.*field.member = field.domain.lo;
      }
    });
    EXPECT_FALSE(range_problem(op)) << T::info.name << ": " << range_problem(op)->what;
  });
}

TEST(OpLaw, EveryOpHasValidSamples) {
  for_each_op([]<class T>(std::type_identity<T>) {
    EXPECT_GE(valid_samples<T>(kTries, kEnough).size(), 10u) << T::info.name;
  });
}

TEST(OpLaw, CasesOfEveryOpSurviveJson) {
  for_each_op([]<class T>(std::type_identity<T>) {
    for (const OpSample& sample : valid_samples<T>(kTries, kEnough)) {
      Case test_case;
      auto graph = graph_of(sample);
      ASSERT_TRUE(graph) << to_string(sample.op) << ": " << graph.problem();
      test_case.graph = std::move(*graph);
      const std::string text = to_json(test_case);
      const auto back = parse_case(text);
      ASSERT_TRUE(back) << back.problem() << "\n" << text;
      EXPECT_TRUE(*back == test_case) << text;
      EXPECT_EQ(to_json(*back), text);
    }
  });
}

TEST(OpLaw, WrongNumbersOfInputsAreRefused) {
  for_each_op([]<class T>(std::type_identity<T>) {
    for (int count = 0; count < T::info.max_inputs + 3; ++count) {
      if (count >= T::info.min_inputs && count <= T::info.max_inputs) continue;
      const auto types = infer(Op{T{}}, Types(static_cast<size_t>(count), TensorType{Dtype::f32, {2, 2}}));
      ASSERT_FALSE(types) << T::info.name << " of " << count;
      EXPECT_THAT(types.problem(), HasSubstr("inputs, got " + std::to_string(count)));
    }
  });
}

TEST(OpLaw, InferenceAnswersEverything) {
  // Whatever the attributes and types: types within the limits, or one line.
  for_each_op([]<class T>(std::type_identity<T>) {
    SampleStream s(hash_name(T::info.name) + 1);
    for (int i = 0; i < 3000; ++i) {
      const Op op = sample_op<T>(s);
      Types inputs = sample_types(
          T::info.min_inputs + static_cast<int>(s.below(T::info.max_inputs - T::info.min_inputs + 1)), s);
      if (!inputs.empty() && !inputs[0].shape.empty() && s.below(4) == 0) inputs[0].shape[0] = kMaxElements;
      const auto types = infer(op, inputs);
      if (!types) {
        EXPECT_FALSE(types.problem().empty());
        ASSERT_EQ(types.problem().find('\n'), std::string::npos) << types.problem();
        continue;
      }
      ASSERT_FALSE(types->empty());
      for (const TensorType& type : *types) {
        ASSERT_LE(element_count(type), kMaxElements) << to_string(op);
        ASSERT_LE(type.rank(), kMaxRank) << to_string(op);
        for (int64_t dim : type.shape) ASSERT_GE(dim, 1) << to_string(op) << " of " << to_string(inputs[0]);
      }
    }
  });
}

TEST(OpLaw, ClassesThatComputeNothingKeepTheDtype) {
  for_each_op([]<class T>(std::type_identity<T>) {
    if (T::info.op_class != OpClass::movement) return;
    for (const OpSample& sample : valid_samples<T>(kTries, kEnough)) {
      const auto types = infer(sample.op, sample.inputs);
      for (const TensorType& type : *types) EXPECT_EQ(type.dtype, sample.inputs[0].dtype) << T::info.name;
    }
  });
}

TEST(Op, PrintsItsAttributes) {
  EXPECT_EQ(to_string(Op{Softmax{-1}}), "softmax(axis=-1)");
  EXPECT_EQ(to_string(Op{Add{}}), "add");
  EXPECT_EQ(to_string(Op{Scale{0.125, true}}), "scale(factor=0.125, inverse=true)");
  EXPECT_EQ(to_string(Op{MaskedFill{-INFINITY, false}}), "masked_fill(value=-inf, inverted=false)");
  EXPECT_EQ(to_string(Op{Permute{{1, 0}}}), "permute(dims=[1,0])");
  EXPECT_EQ(to_string(Op{Gelu{Gelu::Form::tanh}}), "gelu(form=tanh)");
}

TEST(Op, SemanticNamesLeaveSizesOut) {
  EXPECT_EQ(semantic_name(Op{Softmax{1}}), "softmax");
  EXPECT_EQ(semantic_name(Op{Cast{Dtype::bf16}}), "cast.bf16");
  EXPECT_EQ(semantic_name(Op{Cast{Dtype::f8e4m3, Overflow::saturate}}), "cast.f8e4m3.saturate");
  EXPECT_EQ(semantic_name(Op{Gelu{Gelu::Form::tanh}}), "gelu.tanh");
  EXPECT_EQ(semantic_name(Op{Sdpa{Sdpa::ScaleOn::both, true, Sdpa::Mask::causal}}),
            "sdpa.both.upcast.causal.top_left");
}

TEST(Op, NumbersReadBackTheSame) {
  for (const double x : {0.1, 1e-5, -0.0, 5e-324, 1.7976931348623157e308, 1e22, 123456789012345680.0}) {
    EXPECT_EQ(std::strtod(number_text(x).c_str(), nullptr), x);
  }
  EXPECT_EQ(number_text(INFINITY), "inf");
  EXPECT_EQ(number_text(-INFINITY), "-inf");
  EXPECT_EQ(number_text(NAN), "nan");
}

Sdpa grouped() {
  Sdpa op;
  op.grouped_heads = true;
  return op;
}
Sdpa windowed(Sdpa::Mask mask) {
  Sdpa op;
  op.mask = mask;
  op.window = 2;
  return op;
}
Sdpa capped(double softcap) {
  Sdpa op;
  op.softcap = softcap;
  return op;
}

// Shapes worked out by hand, and the sentence for a mistake.
struct Inference {
  Op op;
  std::vector<const char*> inputs;
  const char* result;  // the output's type, or part of the problem
};
const Inference kInferences[] = {
    {Einsum{"bid,bdh->bih"}, {"f32[2,3,4]", "f32[2,4,5]"}, "f32[2,3,5]"},
    {Einsum{"ii,i->"}, {"f32[3,3]", "f32[3]"}, "f32[]"},
    {Einsum{"ab,bc->ac"}, {"f32[2,3]", "f32[4,5]"}, "expected one size for letter 'b', got 3 and 4"},
    {Einsum{"ab,bc->ad"}, {"f32[2,3]", "f32[3,5]"}, "expected every output letter in an operand"},
    {Einsum{"ab,bc->aa"}, {"f32[2,3]", "f32[3,5]"}, "expected no letter twice in the output"},
    {Einsum{"ab,bc"}, {"f32[2,3]", "f32[3,5]"}, "expected an equation like"},
    {Matmul{}, {"f16[7,1,2,3]", "f16[5,3,4]"}, "f16[7,5,2,4]"},
    {Matmul{true, true}, {"f16[3,2]", "f16[4,3]"}, "f16[2,4]"},
    {Matmul{},
     {"f16[2,3]", "bf16[3,4]"},
     "expected two float tensors of one dtype, or two of quantized floats, got f16[2,3] and bf16[3,4]"},
    {Linear{}, {"f32[2,3,4]", "f32[5,4]", "f32[5]"}, "f32[2,3,5]"},
    {Linear{}, {"f32[2,3,4]", "f32[5,4]", "f32[4]"}, "expected a bias f32[5], got f32[4]"},
    {Add{}, {"f32[2,1]", "f32[3]"}, "f32[2,3]"},
    {Add{}, {"i32[2]", "i32[2]"}, "expected two float tensors"},
    {Maximum{}, {"f16[2,1]", "f16[3]"}, "f16[2,3]"},
    {Softcap{0}, {"f32[2]"}, "expected cap between 0.01 and 10000, got 0"},
    {Scale{0, true}, {"f32[2]"}, "expected a factor that is not 0 when inverse"},
    {Scale{1e31, false}, {"f32[2]"}, "expected factor between -1e+30 and 1e+30, got 1e+31"},
    {Softmax{2}, {"f32[2,3]"}, "expected an axis between -2 and 1, got 2"},
    {LayerNorm{}, {"f32[2,3]", "f32[3]", "f32[3]"}, "f32[2,3]"},
    {RmsNorm{}, {"f32[2,3]", "f32[3]"}, "f32[2,3]"},
    {RmsNorm{}, {"f32[2,3]", "f32[2]"}, "expected a weight f32[3], got f32[2]"},
    {GroupNorm{3}, {"f32[2,6,4]", "f32[6]", "f32[6]"}, "f32[2,6,4]"},
    {GroupNorm{4}, {"f32[2,6,4]"}, "expected groups that divide 6 channels, got 4"},
    {ReduceSum{{0, -1}}, {"f32[2,3,4]"}, "f32[3]"},
    {ReduceMean{{0, -1}, true}, {"f32[2,3,4]"}, "f32[1,3,1]"},
    {ReduceMax{{}}, {"f32[2,3]"}, "expected at least one axis"},
    {ReduceMax{{1, -1}}, {"f32[2,3]"}, "expected every axis once, got [1,-1]"},
    {ReduceSum{{2}}, {"f32[2,3]"}, "expected an axis between -2 and 1, got 2"},
    {ReduceSum{{0}}, {"i32[2]"}, "expected a float tensor, got i32[2]"},
    {VarMean{{1}}, {"f32[2,3]"}, "f32[2]"},
    {Dropout{0.5}, {"f32[2]"}, "expected p between 0 and 0, got 0.5"},
    {Cast{Dtype::i32}, {"f32[2]"}, "expected a float or quantized dtype, got i32"},
    {Cast{Dtype::s4}, {"f32[2]"}, "s4[2]"},
    {Cast{Dtype::bf16, Overflow::saturate}, {"f32[2]"}, "expected overflow \"special\" and rounding"},
    {Matmul{}, {"f8e4m3[2,3]", "f4e2m1[3,4]"}, "f32[2,4]"},
    {Matmul{}, {"f8e4m3[2,3]", "s8[3,4]"}, "expected two float tensors of one dtype, or two of"},
    {Linear{}, {"f8e5m2[2,3]", "f8e4m3[4,3]", "f32[4]"}, "f32[2,4]"},
    {Add{}, {"f8e4m3[2]", "f8e4m3[2]"}, "expected two float tensors of one dtype"},
    {Cast{Dtype::bf16}, {"f32[2]"}, "bf16[2]"},
    {Reshape{{6}}, {"f32[2,3]"}, "f32[6]"},
    {Reshape{{5}}, {"f32[2,3]"}, "expected a shape of 6 elements, got [5]"},
    {Reshape{{-1, -6}}, {"f32[2,3]"}, "expected dimensions of 1 or more, got [-1,-6]"},
    {Permute{{2, 0, 1}}, {"f32[2,3,4]"}, "f32[4,2,3]"},
    {Permute{{0, 0}}, {"f32[2,3]"}, "expected a permutation of 0..1, got [0,0]"},
    {Unsqueeze{-1}, {"f32[2]"}, "f32[2,1]"},
    {Squeeze{0}, {"f32[2]"}, "expected an axis of size 1, got axis 0 of f32[2]"},
    {BroadcastTo{{4, 2}}, {"f32[2]"}, "f32[4,2]"},
    {BroadcastTo{{1}}, {"f32[2]"}, "expected a shape that f32[2] broadcasts to, got [1]"},
    {BroadcastTo{{0}}, {"f32[1]"}, "expected dimensions of 1 or more, got f32[0]"},
    {Slice{1, 1, 6, 2}, {"f32[2,7]"}, "f32[2,3]"},
    {Slice{0, 1, 3, 1}, {"f32[2]"}, "expected 0 <= start < stop <= 2"},
    {Chunk{-1, 3}, {"f32[2,6]"}, "f32[2,2]"},
    {Chunk{0, 3}, {"f32[2,6]"}, "expected chunks that divide 2, got 3"},
    {Concat{1}, {"f32[2,3]", "f32[2,1]", "f32[2,4]"}, "f32[2,8]"},
    {Concat{1}, {"f32[2,3]", "f32[3,3]"}, "expected inputs like f32[2,3] but along the axis, got f32[3,3]"},
    {Concat{0}, {"f32[2]", "f16[2]"}, "expected inputs like f32[2] but along the axis, got f16[2]"},
    {Roll{0, -5}, {"i32[3]"}, "i32[3]"},
    {Flip{{0, 1}}, {"bool[2,3]"}, "bool[2,3]"},
    {Flip{{0, -2}}, {"bool[2,3]"}, "expected every axis once, got [0,-2]"},
    {IndexCopy{1}, {"f32[2,5,3]", "i32[2]", "f32[2,2,3]"}, "f32[2,5,3]"},
    {IndexCopy{1}, {"f32[2,5]", "i32[6]", "f32[2,6]"}, "expected at most 5 indices, got i32[6]"},
    {IndexCopy{1}, {"f32[2,5]", "i32[2]", "f32[2,3]"}, "expected a source f32[2,2], got f32[2,3]"},
    {Rope{}, {"f32[2,8,6]", "f32[8,3]", "f32[2,1,3]"}, "f32[2,8,6]"},
    {Rope{}, {"f32[8,5]", "f32[8,2]", "f32[8,2]"}, "expected a float tensor with a last axis of even size"},
    {Rope{}, {"f32[8,6]", "f32[8,1]", "f32[8,3]"}, "expected cos and sin that broadcast to f32[8,3]"},
    {Rope{Rope::Pairing::half, 4}, {"f32[2,8,7]", "f32[8,2]", "f32[2]"}, "f32[2,8,7]"},
    {Rope{Rope::Pairing::half, 4},
     {"f32[8,6]", "f32[8,3]", "f32[8,3]"},
     "expected cos and sin that broadcast to f32[8,2]"},
    {Rope{Rope::Pairing::half, 3},
     {"f32[8,6]", "f32[8,1]", "f32[8,1]"},
     "expected an even rotary_dim of at most"},
    {Rope{Rope::Pairing::half, 8},
     {"f32[8,6]", "f32[8,4]", "f32[8,4]"},
     "expected an even rotary_dim of at most"},
    {Gather{}, {"f32[9,4]", "i32[2,3]"}, "f32[2,3,4]"},
    {Arange{5, 0, 1}, {}, "i32[5]"},
    {Where{}, {"bool[2,1]", "f32[3]", "f32[]"}, "f32[2,3]"},
    {MaskedFill{0, false}, {"f32[2,3]", "bool[3]"}, "f32[2,3]"},
    {MaskedFill{0, false}, {"f32[3]", "bool[2,3]"}, "expected"},
    {CausalMask{3, 4}, {}, "bool[3,4]"},
    {CausalMask{3, 4, CausalAlignment::top_left, 2, true}, {}, "bool[3,4]"},
    {CausalMask{3, 4, CausalAlignment::top_left, 0, true},
     {},
     "expected a window of 1 or more when shows_future"},
    {Sdpa{}, {"f32[2,3,4]", "f32[2,5,4]", "f32[2,5,6]"}, "f32[2,3,6]"},
    {Sdpa{}, {"f32[2,3,4]", "f32[2,5,4]", "f32[2,5,6]", "bool[3,5]"}, "expected a fourth input exactly when"},
    {Sdpa{}, {"f32[4,3,4]", "f32[2,5,4]", "f32[2,5,6]"}, "expected equal leading axes"},
    {grouped(), {"f32[4,3,4]", "f32[2,5,4]", "f32[2,5,6]"}, "f32[4,3,6]"},
    {grouped(), {"f32[4,3,4]", "f32[3,5,4]", "f32[3,5,6]"}, "expected as many heads in k and v, dividing"},
    {grouped(), {"f32[4,3,4]", "f32[2,5,4]", "f32[4,5,6]"}, "expected as many heads in k and v, dividing"},
    {grouped(), {"f32[3,4]", "f32[5,4]", "f32[5,6]"}, "expected q, k, v of rank 3 to 7 for grouped_heads"},
    {windowed(Sdpa::Mask::causal), {"f32[3,4]", "f32[5,4]", "f32[5,6]"}, "f32[3,6]"},
    {windowed(Sdpa::Mask::boolean),
     {"f32[3,4]", "f32[5,4]", "f32[5,6]", "bool[3,5]"},
     "expected a window only when mask is"},
    {capped(0.001), {"f32[3,4]", "f32[5,4]", "f32[5,6]"}, "expected softcap 0 or at least 0.01"},
    {capped(-1), {"f32[3,4]", "f32[5,4]", "f32[5,6]"}, "expected softcap between 0 and 10000, got -1"},
    {Sdpa{}, {"f32[65536,1]", "f32[65536,1]", "f32[65536,1]"}, "f32[65536,1]"},
    {Sdpa{}, {"f32[262145,1]", "f32[262144,1]", "f32[262144,1]"}, "expected at most 2^36 scores"},
    {windowed(Sdpa::Mask::causal),
     {"f32[1,1]", "f32[65537,1]", "f32[65537,1]"},
     "expected at most 2^16 queries and keys"},
};

TEST(Op, OutputsOfSeveral) {
  EXPECT_EQ(infer(Op{VarMean{{0}}}, Types{{Dtype::bf16, {3, 4}}})->size(), 2u);
  const auto parts = infer(Op{Chunk{1, 4}}, Types{{Dtype::i32, {3, 8}}});
  ASSERT_TRUE(parts);
  EXPECT_EQ(*parts, Types(4, TensorType{Dtype::i32, {3, 2}}));
}

TEST(Op, InfersShapes) {
  for (const Inference& example : kInferences) {
    Types inputs;
    for (const char* text : example.inputs) inputs.push_back(*parse_tensor_type(text));
    const auto types = infer(example.op, inputs);
    EXPECT_THAT(types ? to_string(types->front()) : types.problem(), HasSubstr(example.result))
        << to_string(example.op);
  }
}

}  // namespace
}  // namespace fusesmith::graph
