// Coverage: the class of a shape, the events of a case, the file that holds the counts, the gaps in them.
#include "fuzz/counts/coverage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "backends/rewrite/matching/example_graph.h"
#include "fuzz/cli/test_support.h"
#include "fuzz/counts/coverage_gaps.h"
#include "fuzz/counts/coverage_json.h"
#include "fuzz/run/known_names.h"
#include "graph/json_strict.h"

namespace fusesmith::fuzz {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

struct Sizes {
  const char* what;
  std::vector<Shape> inputs;
  Shape output;
  ShapeClass expected;
};
const Sizes kSizes[] = {
    {"scalar", {{}}, {}, ShapeClass::unit},
    {"no input", {}, {32, 16}, ShapeClass::aligned},
    {"batch does not count", {{1, 3, 32, 16}}, {5, 64, 48}, ShapeClass::aligned},
    {"vector", {{64}}, {64}, ShapeClass::aligned},
    {"vector of 1", {{1}}, {1}, ShapeClass::unit},
    {"one row", {{4, 1, 64}}, {4, 1, 64}, ShapeClass::unit},
    {"a small operand does not count", {{1}, {16, 16}}, {16, 16}, ShapeClass::aligned},
    {"k of the larger operand counts", {{16, 33}, {33, 32}}, {16, 32}, ShapeClass::ragged},
    {"off a tile by one", {{17, 16}}, {17, 16}, ShapeClass::ragged},
    {"half a tile", {{8, 16}}, {8, 16}, ShapeClass::ragged},
    {"wide before unit", {{1, 1024}}, {1, 1024}, ShapeClass::wide},
    {"wide before ragged", {{3, 1025}}, {3, 5}, ShapeClass::wide},
    {"not yet wide", {{16, 1008}}, {16, 1008}, ShapeClass::aligned},
};

TEST(Coverage, ShapeClasses) {
  for (const Sizes& sizes : kSizes) {
    Builder builder;
    std::vector<ValueId> inputs;
    for (const Shape& shape : sizes.inputs)
      inputs.push_back(builder.input("x" + std::to_string(inputs.size()), {Dtype::f32, shape}, Normal{}));
    const ValueId output = builder.input("y", {Dtype::f32, sizes.output}, Normal{});
    builder.output(builder.node(Relu{}, {output}));
    const auto graph = builder.build();
    ASSERT_TRUE(graph.ok()) << graph.problem();
    EXPECT_EQ(shape_class(*graph, inputs, output), sizes.expected) << sizes.what;
  }
}

TEST(Coverage, CellsAreDifferentAndOfTheirTablesDepth) {
  std::set<std::vector<std::string_view>> seen;
  std::set<std::string_view> tables;
  for (const CoverageCell& cell : coverage_cells()) {
    const auto* table = std::find_if(kCoverageTables.begin(), kCoverageTables.end(),
                                     [&](const auto& t) { return t.name == cell.table; });
    ASSERT_NE(table, kCoverageTables.end()) << cell.table;
    EXPECT_EQ(cell.words.size(), table->depth) << cell.table;
    std::vector<std::string_view> all = {cell.table};
    all.insert(all.end(), cell.words.begin(), cell.words.end());
    EXPECT_TRUE(seen.insert(all).second) << testing::PrintToString(all);
    tables.insert(cell.table);
  }
  EXPECT_EQ(tables.size(), kCoverageTables.size());
}

// relu(x w) + x w in f16: the product's second reader keeps relu outside; x is read by nobody else.
Graph shared_product() {
  ExampleGraph g(Dtype::f16);
  const ValueId x = g.tensor("x", {32, 1024}), w = g.tensor("w", {1024, 48});
  const ValueId product = g.node(Matmul{}, x, w);
  const ValueId sum = g.node(Add{}, g.node(Relu{}, product), product);
  return g.outputs(g.node(Scale{2}, sum));
}

Coverage coverage_of(const Graph& graph, std::string_view style) {
  const auto program = cpu_fused_backend().compile(graph, {});
  EXPECT_TRUE(program.ok());
  CoverageEvents events;
  add_graph_events(events, graph, style);
  add_plan_events(events, graph, (*program)->plan());
  Coverage coverage;
  coverage.add(events);
  return coverage;
}

TEST(Coverage, SizesAtTheEdgesOfTiles) {
  ExampleGraph g(Dtype::f32);
  const ValueId x = g.tensor("x", {65, 40}), w = g.tensor("w", {40, 15});
  const Coverage coverage = coverage_of(g.outputs(g.node(Relu{}, g.node(Matmul{}, x, w))), "");
  const auto met = [&](std::string_view tile, std::string_view fit) {
    return coverage.sum("tiles", {"gemm_bias_act", tile, fit});
  };
  EXPECT_EQ(met("64", "one_more"), 1);  // 65
  EXPECT_EQ(met("64", "one_less"), 0);
  EXPECT_EQ(met("16", "one_more"), 1);  // 65
  EXPECT_EQ(met("16", "one_less"), 1);  // 15
  EXPECT_EQ(met("16", "other"), 1);     // 40, counted once though two tensors have it
  EXPECT_EQ(met("16", "whole"), 0);
  EXPECT_EQ(coverage.sum("tiles", {"sdpa"}), 0);
}

TEST(Coverage, EventsOfACase) {
  const Coverage coverage = coverage_of(shared_product(), "special");
  EXPECT_EQ(coverage.sum("refused", {"gemm_bias_act", "second_reader", "f16", "wide"}), 1);
  EXPECT_EQ(coverage.sum("refused", {"gemm_bias_act"}), 1);
  EXPECT_EQ(coverage.sum("matched", {"gemm_bias_act"}), 0);
  EXPECT_EQ(coverage.sum("matched", {"pointwise_chain", "f16", "aligned"}), 1)
      << "relu, add, scale of [32, 48]";
  EXPECT_EQ(coverage.sum("matched", {"pointwise_chain"}), 1);
  EXPECT_EQ(coverage.sum("made", {"matmul", "f16"}), 1);
  EXPECT_EQ(coverage.sum("made", {}), 4);
  EXPECT_EQ(coverage.sum("read", {"add", "f16"}), 2);
  EXPECT_EQ(coverage.sum("op_pairs", {"matmul", "add"}), 1);
  EXPECT_EQ(coverage.sum("op_pairs", {"matmul"}), 2);
  EXPECT_EQ(coverage.sum("op_pairs", {}), 4) << "inputs of the graph are no ops";
  EXPECT_EQ(coverage.sum("styles", {"special"}), 1);
  EXPECT_EQ(coverage_of(shared_product(), "").sum("styles", {}), 0);
}

nlohmann::ordered_json json_of(const Coverage& coverage) {
  nlohmann::ordered_json json;
  write_coverage(json, coverage, 1);
  return json;
}

// The problem of reading it, or empty.
std::string read_problem(const std::string& text, Coverage& coverage) {
  auto tree = parse_strict_json(text);
  std::optional<Problem> problem;
  read_coverage(Place(*tree, problem), coverage);
  return problem ? problem->what : "";
}

TEST(Coverage, ComesBackAsItWasWritten) {
  Coverage coverage;
  for (size_t cell = 0; cell < coverage_cells().size(); ++cell)
    coverage.set(cell, static_cast<int64_t>(cell) % 3 * 7);
  Coverage again;
  EXPECT_EQ(read_problem(json_of(coverage).dump(), again), "");
  for (size_t cell = 0; cell < coverage_cells().size(); ++cell)
    EXPECT_EQ(again.count(cell), coverage.count(cell)) << cell;
  again.add(coverage);
  EXPECT_EQ(again.sum("op_pairs", {}), 2 * coverage.sum("op_pairs", {}));
}

TEST(Coverage, OtherBuildsFilesAreRead) {
  Coverage coverage;
  EXPECT_EQ(read_problem("{}", coverage), "");
  EXPECT_EQ(
      read_problem(R"({"matched": {"once_a_pattern": {"f32": {"unit": 3}}, "sdpa": {"f32": {"unit": 2}}}})",
                   coverage),
      "");
  EXPECT_EQ(coverage.sum("matched", {}), 2);
}

TEST(Coverage, EditsAreRefusedWithTheKey) {
  const std::pair<const char*, const char*> edits[] = {
      {R"({"matched": 1})", "matched: expected an object"},
      {R"({"matched": {"sdpa": {"f32": 4}}})", "matched.sdpa.f32: expected an object"},
      {R"({"matched": {"sdpa": {"f32": {"unit": -1}}}})",
       "matched.sdpa.f32.unit: expected a count between 0 and 2^53, got -1"},
      {R"({"op_pairs": {"add": {"mul": {}}}})", "op_pairs.add.mul: expected an integer"},
      {R"({"styles": {"natural": "3"}})", "styles.natural: expected an integer"},
  };
  for (const auto& [text, problem] : edits) {
    Coverage coverage;
    EXPECT_THAT(read_problem(text, coverage), testing::StartsWith(problem)) << text;
  }
}

TEST(CoverageGaps, OfNothingAreEverythingButPairs) {
  const CoverageGaps gaps = coverage_gaps({}, 0);
  EXPECT_EQ(gaps.rare.size(), 3 * all_patterns().size());
  EXPECT_EQ(gaps.ops.size(), std::variant_size_v<OpVariant>);
  EXPECT_EQ(gaps.pairs_possible, 0) << "nothing says yet what could follow what";
  size_t guards = 0;
  for (const Pattern& pattern : all_patterns()) guards += pattern.guards.size();
  EXPECT_EQ(gaps.guards.size(), guards);
  EXPECT_EQ(gaps.count(), static_cast<int64_t>(gaps.rare.size() + guards + gaps.ops.size()));
  EXPECT_TRUE(rewrites_graphs("cpu_fused") && rewrites_graphs("cpu_fused, demo") &&
              !rewrites_graphs("cpu, demo"));
  const CoverageGaps unrewritten = coverage_gaps({}, 0, rewrites_graphs("demo"));
  EXPECT_EQ(unrewritten.count(), static_cast<int64_t>(unrewritten.ops.size())) << "no pattern has gaps";
}

TEST(CoverageGaps, CloseWithEachEvent) {
  const Coverage coverage = coverage_of(shared_product(), "natural");
  const CoverageGaps gaps = coverage_gaps(coverage, 100);
  EXPECT_THAT(gaps.guards, Not(Contains("gemm_bias_act.second_reader")));
  EXPECT_THAT(gaps.guards, Contains("gemm_bias_act.observed"));
  EXPECT_THAT(gaps.ops, AllOf(Contains("softmax"), Not(Contains("matmul"))));
  EXPECT_EQ(gaps.rare.size(), 3 * all_patterns().size() - 1) << "pointwise_chain in f16";
  // Each of matmul, add, relu and scale could feed each of them; four pairs are there.
  EXPECT_EQ(gaps.pairs_possible, 16);
  EXPECT_EQ(gaps.pairs_missing, 12);
  EXPECT_EQ(gaps.first_pairs.size(), 8U);
  EXPECT_THAT(gaps.first_pairs, Contains("matmul -> matmul"));
  EXPECT_THAT(gaps_text(gaps),
              HasSubstr("Pairs of ops that never occurred, of 16 possible: matmul -> matmul, "));
}

TEST(CoverageGaps, AskForAsManyMatchesAsTheCasesAllow) {
  EXPECT_EQ(wanted_matches(0), 1);
  EXPECT_EQ(wanted_matches(2000), 4);
  EXPECT_EQ(wanted_matches(100'000), 200);
  EXPECT_EQ(wanted_matches(10'000'000), 200);
  Coverage coverage;
  for (size_t cell = 0; cell < coverage_cells().size(); ++cell) coverage.set(cell, 200);
  EXPECT_EQ(coverage_gaps(coverage, 100'000).count(), 0) << gaps_text(coverage_gaps(coverage, 100'000));
  EXPECT_EQ(gaps_text(coverage_gaps(coverage, 100'000)), "");
}

std::vector<std::string> fuzz_in(const std::string& workdir, const std::string& shard) {
  return {"fuzz",
          "--runs=20",
          "--baseline=cpu",
          "--candidate=cpu_fused",
          "--workdir=" + workdir,
          "--shard=" + shard};
}

TEST(ListCoverage, AddsUpShards) {
  const TemporaryFolder folder;
  const auto counts = [&](const std::vector<std::string>& workdirs) {
    std::vector<std::string> args = {"list", "coverage", "--json"};
    args.insert(args.end(), workdirs.begin(), workdirs.end());
    const Ran ran = fusesmith_command(args);
    EXPECT_EQ(ran.code, kClean) << ran.err;
    return nlohmann::json::parse(ran.out).at("coverage");
  };
  const std::string a = folder / "a", b = folder / "b";
  const Ran ran = fusesmith_command(fuzz_in(a, "0/2"));
  ASSERT_EQ(ran.code, kClean) << ran.out << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("Guards that never rejected a rewrite: "));
  ASSERT_EQ(fusesmith_command(fuzz_in(b, "1/2")).code, kClean);
  const auto one = counts({a}), other = counts({b}), both = counts({a, b});
  EXPECT_EQ(one["cases"], 20);
  EXPECT_EQ(both["cases"], 40);
  const auto adds = [](const nlohmann::json& counted) {
    return counted["counts"]["made"]["add"]["f32"].get<int>();
  };
  EXPECT_GT(adds(one), 0);
  EXPECT_EQ(adds(both), adds(one) + adds(other));
  EXPECT_FALSE(counts({}).contains("counts"));
  EXPECT_THAT(counts({})["patterns"]["pointwise_chain"].get<std::vector<std::string>>(),
              ElementsAre("second_reader", "observed", "smaller_shape"));
}

TEST(ListCoverage, AsText) {
  const TemporaryFolder folder;
  const std::string all = fusesmith_command({"list", "coverage"}).out;
  EXPECT_THAT(all, AllOf(HasSubstr("gemm_bias_act"), HasSubstr("enlarging_addend"), HasSubstr("ragged"),
                         HasSubstr("one_signed")));
  ASSERT_EQ(fusesmith_command(fuzz_in(folder / "w", "0/1")).code, kClean);
  const Ran counted = fusesmith_command({"list", "coverage", folder / "w"});
  EXPECT_EQ(counted.code, kClean);
  EXPECT_THAT(counted.out, AllOf(HasSubstr("20 cases\n"), HasSubstr("outcome"),
                                 HasSubstr("Pairs of ops that never occurred")));
}

TEST(ListCoverage, RefusesWhatItCannotRead) {
  const TemporaryFolder folder;
  folder.file("w/stats.json", "{\"cases\": -1}");
  for (const std::string& workdir : {folder / "none", folder / "w"}) {
    const Ran ran = fusesmith_command({"list", "coverage", workdir});
    EXPECT_EQ(ran.code, kUsage);
    EXPECT_EQ(ran.out, "");
    EXPECT_TRUE(is_one_line(ran.err)) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr(workdir + "/stats.json: "));
  }
}

}  // namespace
}  // namespace fusesmith::fuzz
