// --data=lattice: graphs and data on which nearly every region of every case is exact, as the verdicts count
// it, and which still are of all kinds.
#include <gtest/gtest.h>

#include "fuzz/cli/test_support.h"
#include "fuzz/generate/generator.h"
#include "fuzz/generate/grid.h"
#include "fuzz/run/backends.h"
#include "fuzz/run/run_case.h"

namespace fusesmith::fuzz {
namespace {

constexpr int kCases = 300;

struct Walk {
  GenerationCoverage coverage;
  int exact = 0, findings = 0;
  std::string first_inexact;
};

GeneratorOptions lattice_options() {
  GeneratorOptions options;
  options.data = DataMix::lattice;
  return options;
}

void note_inexact(const BackendVerdict& backend, const Case& test_case, std::string& first) {
  for (const RegionVerdict& region : backend.regions) {
    if (region.exact == region.elements || !first.empty()) continue;
    first = backend.backend + " region " + region.name + ": " + std::to_string(region.exact) + " of " +
            std::to_string(region.elements) + "\n" + to_string(test_case.graph);
  }
}

const Walk& walk() {
  static const Walk made = [] {
    Walk walk;
    for (uint64_t counter = 0; counter < kCases; ++counter) {
      CaseParts parts;
      const Case test_case = generate_case(5, 0, counter, lattice_options(), &parts);
      const Verdict verdict = run_case(test_case, *find_backend("cpu"), *find_backend("cpu_fused"));
      walk.coverage.add(test_case, parts);
      walk.findings += verdict.finding;
      std::string inexact;
      note_inexact(verdict.baseline, test_case, inexact);
      note_inexact(verdict.candidate, test_case, inexact);
      walk.exact += inexact.empty();
      if (walk.first_inexact.empty()) walk.first_inexact = inexact;
    }
    return walk;
  }();
  return made;
}

TEST(LatticeData, NineInTenCasesAreExactInEveryElement) {
  EXPECT_GE(walk().exact, kCases * 9 / 10) << walk().first_inexact;
  EXPECT_EQ(walk().findings, 0);
}

TEST(LatticeData, GraphsAreOfAllKinds) {
  const auto& coverage = walk().coverage;
  EXPECT_GT(coverage.nodes, kCases * 8);
  for (std::string_view op :
       {"einsum",      "matmul",     "linear",      "add",        "sub",        "mul",        "div",
        "maximum",     "scale",      "relu",        "gelu",       "silu",       "sigmoid",    "tanh",
        "exp",         "sqrt",       "rsqrt",       "softcap",    "softmax",    "layer_norm", "rms_norm",
        "group_norm",  "reduce_sum", "reduce_mean", "reduce_max", "var_mean",   "cast",       "reshape",
        "permute",     "slice",      "concat",      "gather",     "index_copy", "where",      "masked_fill",
        "causal_mask", "rope",       "sdpa"}) {
    EXPECT_TRUE(coverage.ops.count(std::string(op))) << op << "\n" << to_string(coverage);
  }
  for (std::string_view piece : {"exact_attention", "flat_rows", "spread_rows", "saturation", "roots"})
    EXPECT_TRUE(coverage.pieces.count(std::string(piece))) << piece;
}

TEST(LatticeData, CampaignsCountExactCases) {
  const TemporaryFolder folder;
  const Ran ran = fusesmith_command({"fuzz", "--runs=40", "--data=lattice", "--baseline=cpu",
                                     "--candidate=cpu_fused", "--workdir=" + (folder / "w")});
  EXPECT_EQ(ran.code, kClean) << ran.err;
  EXPECT_NE(
      ran.out.find(" with exact data: every element of every region has exactly one correct bit pattern"),
      std::string::npos)
      << ran.out;
}

TEST(Grid, KnowsWhatADtypeHolds) {
  EXPECT_TRUE(holds(Dtype::bf16, {0, 256}));
  EXPECT_FALSE(holds(Dtype::bf16, {0, 257}));
  EXPECT_TRUE(holds(Dtype::f16, {-3, 256}));
  EXPECT_FALSE(holds(Dtype::f16, {-15, 1})) << "subnormals";
  EXPECT_FALSE(holds(Dtype::f16, {10, 65536}));
  EXPECT_FALSE(grid_of(Normal{}, Dtype::f32));
  EXPECT_FALSE(grid_of(Constant{0.1}, Dtype::f16));
  EXPECT_EQ(grid_of(Lattice{3, -2}, Dtype::bf16), (Grid{-2, 0.75}));
}

TEST(Grid, SumsOfProductsEndWhereTheyRound) {
  const TensorType a{Dtype::f32, {2, 1024}}, b{Dtype::f32, {1024, 2}}, out{Dtype::f32, {2, 2}};
  const TensorType types[] = {a, b};
  const Grid fits[] = {{0, 128}, {-1, 64}}, large[] = {{0, 128}, {-1, 128}};
  EXPECT_EQ(grid_of(Matmul{}, fits, types, out), (Grid{-1, 0x1p23}));
  EXPECT_FALSE(grid_of(Matmul{}, large, types, out));
}

}  // namespace
}  // namespace fusesmith::fuzz
