#include "fuzz/cli/list_coverage.h"

#include <nlohmann/json.hpp>
#include <ostream>

#include "backends/rewrite/kernel_tiles.h"
#include "backends/rewrite/pattern.h"
#include "fuzz/base/table.h"
#include "fuzz/base/work_path.h"
#include "fuzz/counts/coverage_gaps.h"
#include "fuzz/counts/coverage_json.h"
#include "fuzz/counts/stats.h"
#include "fuzz/generate/scene.h"
#include "graph/op.h"

namespace fusesmith::fuzz {

namespace {

using Json = nlohmann::ordered_json;
using Words = std::vector<std::string>;

struct Counted {
  Coverage coverage;
  int64_t cases = 0;
};

Result<Counted> read_counts(const std::vector<std::string>& workdirs) {
  Counted counted;
  for (const std::string& workdir : workdirs) {
    const WorkPath path = WorkPath(workdir) / "stats.json";
    const auto text = read_file(path);
    if (!text) return Problem{text.problem()};
    const auto stats = parse_stats(*text);
    if (!stats) return Problem{path.string() + ": " + stats.problem()};
    counted.coverage.add(stats->met);
    counted.cases += stats->cases;
  }
  return counted;
}

Words op_names() {
  Words names;
  for_each_op([&]<class T>(std::type_identity<T>) { names.emplace_back(T::info.name); });
  return names;
}

Words dtype_names(std::span<const Dtype> dtypes) {
  Words names;
  for (Dtype dtype : dtypes) names.emplace_back(name(dtype));
  return names;
}

// A row for each pattern's matches and for each of its guards; `cells` gives what stands beside its name.
template <class Cells>
void add_rows(Table& table, const Cells& cells) {
  const auto add = [&](std::string_view pattern, std::string_view guard) {
    Words row = {std::string(guard.empty() ? pattern : ""), guard.empty() ? "matched" : std::string(guard)};
    for (std::string& cell : cells(pattern, guard)) row.push_back(std::move(cell));
    table.add(std::move(row));
  };
  for (const Pattern& pattern : all_patterns()) {
    add(pattern.name, "");
    for (std::string_view guard : pattern.guards) add(pattern.name, guard);
  }
}

// How often a rewrite was matched or refused: in all, by float dtype, by shape class.
Words rewrite_counts(const Coverage& coverage, std::string_view pattern, std::string_view guard) {
  const auto sum = [&](std::string_view dtype, std::string_view shape) {
    int64_t total = 0;
    const auto& cells = coverage_cells();
    for (size_t i = 0; i < cells.size(); ++i) {
      const auto& [table, words] = cells[i];
      if (coverage.count(i) == 0 || table != (guard.empty() ? "matched" : "refused")) continue;
      const bool row = words[0] == pattern && (guard.empty() || words[1] == guard);
      const bool column =
          (dtype.empty() || words[words.size() - 2] == dtype) && (shape.empty() || words.back() == shape);
      if (row && column) total += coverage.count(i);
    }
    return std::to_string(total);
  };
  Words counts = {sum("", "")};
  for (Dtype dtype : kFloatDtypes) counts.push_back(sum(name(dtype), ""));
  for (std::string_view shape : kShapeClasses) counts.push_back(sum("", shape));
  return counts;
}

Table rewrite_table(const Coverage& coverage) {
  Words heading = {"pattern", "outcome", "times"};
  for (std::string& dtype : dtype_names(kFloatDtypes)) heading.push_back(std::move(dtype));
  heading.insert(heading.end(), kShapeClasses.begin(), kShapeClasses.end());
  Table table(heading);
  add_rows(table, [&](auto pattern, auto guard) { return rewrite_counts(coverage, pattern, guard); });
  return table;
}

Table op_table(const Coverage& coverage) {
  Words heading = {"op", "times"};
  for (std::string& dtype : dtype_names(kDtypes)) heading.push_back(std::move(dtype));
  Table table(heading);
  for (const std::string& op : op_names()) {
    Words row = {op, std::to_string(coverage.sum("made", {op}))};
    for (Dtype dtype : kDtypes) row.push_back(std::to_string(coverage.sum("made", {op, name(dtype)})));
    table.add(std::move(row));
  }
  return table;
}

// How often each pattern read an input whose layout does this.
Table layout_table(const Coverage& coverage) {
  Words heading = {"pattern"};
  heading.insert(heading.end(), kLayoutClasses.begin(), kLayoutClasses.end());
  Table table(heading);
  for (const Pattern& pattern : all_patterns()) {
    Words row = {std::string(pattern.name)};
    for (std::string_view of : kLayoutClasses) {
      int64_t times = 0;
      for (Dtype dtype : kDtypes) times += coverage.sum("layouts", {pattern.name, name(dtype), of});
      row.push_back(std::to_string(times));
    }
    table.add(std::move(row));
  }
  return table;
}

// How often a size fitted a tile of the pattern's kernels.
Table tile_table(const Coverage& coverage) {
  Words heading = {"pattern", "tile"};
  for (std::string_view fit : kTileFits) heading.emplace_back(fit);
  Table table(heading);
  for (const Pattern& pattern : all_patterns()) {
    for (size_t i = 0; i < kTileSizes.size(); ++i) {
      if (!is_kernel_tile(pattern.name, kTileSizes[i])) continue;
      Words row = {std::string(pattern.name), std::string(kTileSizeNames[i])};
      for (std::string_view fit : kTileFits)
        row.push_back(std::to_string(coverage.sum("tiles", {pattern.name, kTileSizeNames[i], fit})));
      table.add(std::move(row));
    }
  }
  return table;
}

std::string counts_text(const Counted& counted_cases, size_t columns) {
  const Coverage& coverage = counted_cases.coverage;
  Table styles({"style of data", "cases"});
  for (std::string_view style : kDataStyles)
    styles.add({std::string(style), std::to_string(coverage.sum("styles", {style}))});
  const std::string gaps = gaps_text(coverage_gaps(coverage, counted_cases.cases));
  return counted(counted_cases.cases, "case") + "\n\n" + rewrite_table(coverage).text(0, columns) + "\n" +
         op_table(coverage).text(0, columns) + "\n" + layout_table(coverage).text(0, columns) + "\n" +
         tile_table(coverage).text(0, columns) + "\n" + styles.text() + "\n" +
         (gaps.empty() ? "No coverage gaps.\n" : gaps);
}

Words words(std::span<const std::string_view> views) { return {views.begin(), views.end()}; }

std::string all_text() {
  Table table({"pattern", "outcome"});
  add_rows(table, [](auto, auto) { return Words(); });
  return table.text() + "\nCounted by dtype: " + list_text(dtype_names(kFloatDtypes)) +
         "; and by shape class: " + list_text(words(kShapeClasses)) +
         "\n\nOps and pairs of ops: " + list_text(op_names()) +
         "\n\nStyles of data: " + list_text(words(kDataStyles)) +
         "\n\nMemory layouts, by pattern and by op: " + list_text(words(kLayoutClasses)) +
         "\n\nSizes at the edges of tiles, by pattern and tile: " + list_text(words(kTileFits)) + "\n";
}

Json all_json() {
  Json patterns = Json::object();
  for (const Pattern& pattern : all_patterns()) patterns[std::string(pattern.name)] = pattern.guards;
  return {{"patterns", patterns},           {"dtypes", dtype_names(kFloatDtypes)},
          {"shape_classes", kShapeClasses}, {"ops", op_names()},
          {"styles", kDataStyles},          {"layout_classes", kLayoutClasses},
          {"tile_sizes", kTileSizes},       {"tile_fits", kTileFits}};
}

}  // namespace

int list_coverage(const std::vector<std::string>& workdirs, bool json, size_t columns, Console& console) {
  const auto counts = read_counts(workdirs);
  if (!counts) return fail(console, "list", counts.problem());
  if (json) {
    Json coverage = all_json();
    if (!workdirs.empty()) {
      coverage["cases"] = counts->cases;
      Json& tables = coverage["counts"] = Json::object();
      write_coverage(tables, counts->coverage, counts->cases);
    }
    console.out << Json{{std::string(kCoverageListing), coverage}}.dump(2) << "\n";
  } else {
    console.out << (workdirs.empty() ? all_text() : counts_text(*counts, columns));
  }
  return kClean;
}

}  // namespace fusesmith::fuzz
