// Coverage: what campaigns can meet, and how often one met it: rewrites by pattern, guard, dtype and shape
// class; ops by the dtypes they make and read and by the op they read from; styles of data; memory layouts by
// pattern and by op; sizes at the edges of tiles, by pattern. One flat list of cells holds it all, so that to
// count a case is one increment for each event in it.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "oracle/plan.h"

namespace fusesmith::fuzz {

// Of the last two axes of a region's largest input and of its first output (all axes where there are fewer).
enum class ShapeClass : uint8_t {
  unit,     // one of them is 1, or there is none
  aligned,  // all are multiples of 16, the step of tensor cores
  ragged,   // another size
  wide,     // one is 1024 or more, whatever the others are
};
inline constexpr std::array<std::string_view, 4> kShapeClasses = {"unit", "aligned", "ragged", "wide"};

ShapeClass shape_class(const Graph& graph, std::span<const ValueId> inputs, ValueId output);

// The tables of stats.json that cells stand in, with the number of words that lead to a count.
struct CoverageTable {
  std::string_view name;
  size_t depth;
};
inline constexpr std::array<CoverageTable, 9> kCoverageTables = {{
    {"matched", 3},     // pattern, dtype of the first output, shape class
    {"refused", 4},     // pattern, guard, dtype, shape class
    {"made", 2},        // op, dtype of its first output
    {"read", 2},        // op, dtype of an input
    {"op_pairs", 2},    // op, op that reads its result
    {"styles", 1},      // style of the data of generated cases
    {"layouts", 3},     // pattern, dtype of an input that has a layout, what the layout does (LayoutClass)
    {"op_layouts", 2},  // op, the same of what it reads
    {"tiles", 3},       // pattern, size of a tile of its kernels (kernel_tiles.h), how sizes fit it (TileFit)
}};

struct CoverageCell {
  std::string_view table;
  std::vector<std::string_view> words;
};

// All that this build can count, tables in their order.
const std::vector<CoverageCell>& coverage_cells();

// What one case adds: an index of coverage_cells() for each event.
using CoverageEvents = std::vector<uint32_t>;
// Ops, and the style ("" of cases that were not generated).
void add_graph_events(CoverageEvents& events, const Graph& graph, std::string_view style);
// Regions that patterns formed, and rewrites that guards refused.
void add_plan_events(CoverageEvents& events, const Graph& graph, const Plan& plan);

class Coverage {
 public:
  Coverage() : counts_(coverage_cells().size()) {}

  void add(const CoverageEvents& events) {
    for (const uint32_t cell : events) ++counts_[cell];
  }
  void add(const Coverage& other) {
    for (size_t cell = 0; cell < counts_.size(); ++cell) counts_[cell] += other.counts_[cell];
  }

  int64_t count(size_t cell) const { return counts_[cell]; }
  void set(size_t cell, int64_t count) { counts_[cell] = count; }
  // Over all cells of the table whose words begin with these.
  int64_t sum(std::string_view table, std::initializer_list<std::string_view> words) const;

 private:
  std::vector<int64_t> counts_;  // by cell
};

}  // namespace fusesmith::fuzz
