// Every valid case compiles on both GPU backends or is rejected with a reason; compiling needs no GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/common/lawful_test.h"
#include "backends/cuda/cuda_backend.h"
#include "backends/cuda_fused/cuda_fused_backend.h"
#include "graph/philox.h"

namespace fusesmith::backends {
namespace {

class Draws {
 public:
  explicit Draws(uint64_t key) : key_(key) {}
  uint32_t below(uint32_t n) { return philox(key_, 0, at_++)[0] % n; }
  // The letters of `from` in another order.
  std::string shuffled(std::string from) {
    for (size_t i = from.size(); i > 1; --i) std::swap(from[i - 1], from[below(static_cast<uint32_t>(i))]);
    return from;
  }

 private:
  uint64_t key_, at_ = 0;
};

constexpr std::string_view kLetters = "abcdefghijklmnop";

std::string equation_of_rank_eight(Draws& draws) {
  const auto operand = [&] { return draws.shuffled(std::string(kLetters)).substr(0, 1 + draws.below(8)); };
  const std::string a = operand(), b = operand();
  std::string letters;
  for (char c : kLetters) {
    if ((a + b).find(c) != std::string::npos) letters += c;
  }
  letters = draws.shuffled(letters);
  return a + "," + b + "->" + letters.substr(0, draws.below(std::min<uint32_t>(letters.size(), 8) + 1));
}

Graph einsum_of_twos(const std::string& equation, Dtype dtype) {
  const EinsumLabels labels = *parse_equation(equation);
  Builder b;
  const ValueId x = b.input("x", {dtype, Shape(labels.a.size(), 2)}, Lattice{});
  const ValueId y = b.input("y", {dtype, Shape(labels.b.size(), 2)}, Lattice{});
  b.output(b.node(Einsum{equation}, {x, y}, "z"));
  return *b.build();
}

void expect_compiled(const Graph& graph) {
  for (const Backend* backend : {&cuda_backend(), &cuda_fused_backend()}) {
    const auto program = backend->compile(graph, {});
    ASSERT_TRUE(program.ok()) << backend->name() << ": " << program.problem();
    EXPECT_GT((*program)->plan().regions.size(), 0u);
  }
}

constexpr const char* kManyAxes[] = {"abcdefgh,i->hgfedcba", "abcdefgh,hij->gfedcbai", "abcdefgh,ijklmnop->",
                                     "acegbdfh,hfdbijkl->lgcjeaki"};

TEST(CudaCompile, EinsumsWhoseAxesDoNotMerge) {
  for (const char* equation : kManyAxes) {
    SCOPED_TRACE(equation);
    expect_compiled(einsum_of_twos(equation, Dtype::f32));
  }
}

TEST(CudaCompile, EinsumsOfEveryRank) {
  Draws draws(11);
  for (int trial = 0; trial < 2000; ++trial) {
    const std::string equation = equation_of_rank_eight(draws);
    SCOPED_TRACE(equation);
    expect_compiled(einsum_of_twos(equation, Dtype::bf16));
    if (HasFatalFailure()) return;
  }
}

// The result of a product of the largest rank, permuted and broadcast, goes on through every kind of region.
TEST(CudaCompile, GraphsOfTheLargestRank) {
  Draws draws(12);
  for (int trial = 0; trial < 300; ++trial) {
    Builder b;
    const auto permutation = [&] {
      Shape dims;
      for (char c : draws.shuffled("01234567")) dims.push_back(c - '0');
      return Permute{dims};
    };
    const auto operand = [&](const char* name) {
      Shape shape;
      for (int i = 0; i < kMaxRank; ++i) shape.push_back(i + 2 < kMaxRank && draws.below(3) == 0 ? 1 : 2);
      return b.input(name, {Dtype::f16, shape}, Lattice{});
    };
    const ValueId x = operand("x"), y = operand("y"), z = operand("z");
    const ValueId product = b.node(Matmul{}, {x, y});
    const ValueId moved = b.node(permutation(), {b.node(Silu{}, {product})});
    const ValueId sum = b.node(Add{}, {moved, z});
    const ValueId chain = b.node(Scale{0.5}, {b.node(Sigmoid{}, {sum})});
    b.output(b.node(ReduceMean{{1, 4, 6}}, {b.node(permutation(), {chain})}));
    b.output(b.node(LayerNorm{}, {b.node(permutation(), {sum})}));
    const auto graph = b.build();
    ASSERT_TRUE(graph.ok()) << graph.problem();
    expect_compiled(*graph);
    if (HasFatalFailure()) return;
  }
}

// cuBLAS would need both operands repeated along the other's letter, 2^28 elements each.
TEST(CudaCompile, PackedOperandsThatNoTensorCouldHoldAreUnsupported) {
  Builder b;
  const ValueId x = b.input("x", {Dtype::f32, {1 << 14}}, Lattice{});
  const ValueId y = b.input("y", {Dtype::f32, {1 << 14}}, Lattice{});
  b.output(b.node(Einsum{"i,j->"}, {x, y}, "z"));
  const Graph graph = *b.build();
  CompileOptions single_nodes;
  single_nodes.skip_patterns = {"einsum_to_pointwise"};
  for (const Backend* backend : {&cuda_backend(), &cuda_fused_backend()}) {
    const auto program = backend->compile(graph, single_nodes);
    ASSERT_FALSE(program.ok()) << backend->name();
    EXPECT_THAT(program.problem(), testing::HasSubstr("2^27 elements"));
  }
  EXPECT_TRUE(cuda_fused_backend().compile(graph, {}).ok());  // its own kernel needs no packing
}

TEST(CudaCompile, EinsumsWhoseAxesDoNotMergeAreExact) {
  for (const Backend* backend : {&cuda_backend(), &cuda_fused_backend()}) {
    if (const auto why = backend->unavailable()) GTEST_SKIP() << *why;
    for (const char* equation : kManyAxes) {
      for (Dtype dtype : kFloatDtypes) {
        SCOPED_TRACE(std::string(equation) + " on " + std::string(backend->name()));
        for (const RegionVerdict& region :
             testing_cases::judge_on(*backend, einsum_of_twos(equation, dtype), 5).regions)
          EXPECT_EQ(region.verdict, VerdictClass::reassociation) << testing_cases::evidence(region);
      }
    }
  }
}

}  // namespace
}  // namespace fusesmith::backends
