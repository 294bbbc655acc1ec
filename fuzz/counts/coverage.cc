#include "fuzz/counts/coverage.h"

#include <algorithm>
#include <map>

#include "backends/rewrite/kernel_tiles.h"
#include "backends/rewrite/pattern.h"
#include "fuzz/generate/scene.h"
#include "graph/op.h"

namespace fusesmith::fuzz {
namespace {

constexpr int64_t kTile = 16, kWide = 1024;

// The cells, and where the first ones of each table and row stand.
struct Layout {
  std::vector<CoverageCell> cells;
  std::map<std::string_view, uint32_t> matched;                               // by pattern
  std::map<std::pair<std::string_view, std::string_view>, uint32_t> refused;  // by pattern and guard
  std::vector<std::string_view> ops;
  std::map<std::string_view, uint32_t> layouts;  // by pattern
  std::map<std::string_view, uint32_t> tiles;    // by pattern; those without tiles are missing
  uint32_t made = 0, read = 0, op_pairs = 0, styles = 0, op_layouts = 0;

  Layout() {
    for_each_op([&]<class T>(std::type_identity<T>) { ops.push_back(T::info.name); });
    for (const Pattern& pattern : all_patterns()) {
      matched[pattern.name] = next();
      add_rewrite("matched", {pattern.name});
    }
    for (const Pattern& pattern : all_patterns()) {
      for (std::string_view guard : pattern.guards) {
        refused[{pattern.name, guard}] = next();
        add_rewrite("refused", {pattern.name, guard});
      }
    }
    made = next();
    add_dtypes("made");
    read = next();
    add_dtypes("read");
    op_pairs = next();
    for (std::string_view op : ops) {
      for (std::string_view reader : ops) cells.push_back({"op_pairs", {op, reader}});
    }
    styles = next();
    for (std::string_view style : kDataStyles) cells.push_back({"styles", {style}});
    for (const Pattern& pattern : all_patterns()) {
      layouts[pattern.name] = next();
      for (Dtype dtype : kDtypes) {
        for (std::string_view of : kLayoutClasses)
          cells.push_back({"layouts", {pattern.name, name(dtype), of}});
      }
    }
    op_layouts = next();
    for (std::string_view op : ops) {
      for (std::string_view of : kLayoutClasses) cells.push_back({"op_layouts", {op, of}});
    }
    for (const Pattern& pattern : all_patterns()) add_tiles(pattern.name);
  }

  void add_tiles(std::string_view pattern) {
    const uint32_t first = next();
    for (size_t i = 0; i < kTileSizes.size(); ++i) {
      if (!is_kernel_tile(pattern, kTileSizes[i])) continue;
      for (std::string_view fit : kTileFits) cells.push_back({"tiles", {pattern, kTileSizeNames[i], fit}});
    }
    if (next() > first) tiles[pattern] = first;
  }

  uint32_t next() const { return static_cast<uint32_t>(cells.size()); }

  void add_rewrite(std::string_view table, const std::vector<std::string_view>& row) {
    for (Dtype dtype : kDtypes) {
      for (std::string_view shape : kShapeClasses) {
        cells.push_back({table, row});
        cells.back().words.insert(cells.back().words.end(), {name(dtype), shape});
      }
    }
  }

  void add_dtypes(std::string_view table) {
    for (std::string_view op : ops) {
      for (Dtype dtype : kDtypes) cells.push_back({table, {op, name(dtype)}});
    }
  }
};

const Layout& layout() {
  static const Layout built;
  return built;
}

uint32_t within_rewrite(Dtype dtype, ShapeClass shape) {
  return static_cast<uint32_t>(dtype) * static_cast<uint32_t>(kShapeClasses.size()) +
         static_cast<uint32_t>(shape);
}

uint32_t within_dtypes(size_t op, Dtype dtype) {
  return static_cast<uint32_t>(op * kDtypes.size()) + static_cast<uint32_t>(dtype);
}

// An event for each thing that the value's layout does, counted from the row's first cell; none without one.
void add_layout_events(CoverageEvents& events, const Graph& graph, ValueId value, size_t row) {
  if (!graph.layout(value)) return;
  for (const LayoutClass of : classes_of(graph.layout(value), graph.type(value)))
    events.push_back(static_cast<uint32_t>(row) + static_cast<uint32_t>(of));
}

uint32_t place_in_row(const Graph& graph, std::span<const ValueId> inputs, ValueId output) {
  return within_rewrite(graph.type(output).dtype, shape_class(graph, inputs, output));
}

// The different sizes of the last two axes of what the region reads and makes.
std::vector<int64_t> edge_sizes(const Graph& graph, const Region& region) {
  std::vector<int64_t> sizes;
  for (const auto* values : {&region.inputs, &region.outputs}) {
    for (ValueId v : *values) {
      const Shape& shape = graph.type(v).shape;
      sizes.insert(sizes.end(), shape.end() - std::min<std::ptrdiff_t>(2, std::ssize(shape)), shape.end());
    }
  }
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

// An event for each fit that some of the sizes have, for each tile of the pattern.
void add_tile_events(CoverageEvents& events, std::string_view pattern, std::span<const int64_t> sizes) {
  const auto row = layout().tiles.find(pattern);
  if (row == layout().tiles.end()) return;
  uint32_t cell = row->second;
  for (const int64_t tile : kTileSizes) {
    if (!is_kernel_tile(pattern, tile)) continue;
    std::array<bool, kTileFits.size()> met{};
    for (const int64_t size : sizes) met[static_cast<size_t>(fit_of(size, tile))] = true;
    for (size_t fit = 0; fit < met.size(); ++fit, ++cell) {
      if (met[fit]) events.push_back(cell);
    }
  }
}

}  // namespace

ShapeClass shape_class(const Graph& graph, std::span<const ValueId> inputs, ValueId output) {
  bool any = false, unit = false, aligned = true, wide = false;
  const auto look_at = [&](ValueId v) {
    const Shape& shape = graph.type(v).shape;
    for (size_t axis = shape.size() - std::min<size_t>(2, shape.size()); axis < shape.size(); ++axis) {
      any = true;
      unit = unit || shape[axis] == 1;
      aligned = aligned && shape[axis] % kTile == 0;
      wide = wide || shape[axis] >= kWide;
    }
  };
  const auto size = [&](ValueId v) { return element_count(graph.type(v)); };
  const auto largest =
      std::max_element(inputs.begin(), inputs.end(), [&](ValueId a, ValueId b) { return size(a) < size(b); });
  if (largest != inputs.end()) look_at(*largest);
  look_at(output);
  if (wide) return ShapeClass::wide;
  if (unit || !any) return ShapeClass::unit;
  return aligned ? ShapeClass::aligned : ShapeClass::ragged;
}

const std::vector<CoverageCell>& coverage_cells() { return layout().cells; }

void add_graph_events(CoverageEvents& events, const Graph& graph, std::string_view style) {
  const Layout& cells = layout();
  for (const Node& node : graph.nodes()) {
    const size_t op = node.op.index();
    events.push_back(cells.made + within_dtypes(op, graph.type(node.first_output).dtype));
    for (ValueId v : node.inputs) {
      events.push_back(cells.read + within_dtypes(op, graph.type(v).dtype));
      add_layout_events(events, graph, v, cells.op_layouts + op * kLayoutClasses.size());
      if (const auto producer = graph.producer(v)) {
        const size_t from = graph.nodes()[static_cast<size_t>(*producer)].op.index();
        events.push_back(cells.op_pairs + static_cast<uint32_t>(from * cells.ops.size() + op));
      }
    }
  }
  const auto known = std::find(kDataStyles.begin(), kDataStyles.end(), style);
  if (known != kDataStyles.end())
    events.push_back(cells.styles + static_cast<uint32_t>(known - kDataStyles.begin()));
}

void add_plan_events(CoverageEvents& events, const Graph& graph, const Plan& plan) {
  const Layout& cells = layout();
  for (const Region& region : plan.regions) {
    if (region.patterns.empty()) continue;
    const uint32_t place = place_in_row(graph, region.inputs, region.outputs.front());
    const std::vector<int64_t> sizes = edge_sizes(graph, region);
    for (const std::string& pattern : region.patterns) {
      const auto row = cells.matched.find(pattern);
      if (row == cells.matched.end()) continue;
      events.push_back(row->second + place);
      add_tile_events(events, pattern, sizes);
      for (ValueId v : region.inputs) {
        const auto dtype = static_cast<size_t>(graph.type(v).dtype);
        add_layout_events(events, graph, v, cells.layouts.at(pattern) + dtype * kLayoutClasses.size());
      }
    }
  }
  for (const Refusal& refusal : plan.refusals) {
    const auto row = cells.refused.find({refusal.pattern, refusal.guard});
    if (row == cells.refused.end()) continue;
    const Node& node = graph.nodes()[static_cast<size_t>(refusal.node)];
    events.push_back(row->second + place_in_row(graph, node.inputs, node.first_output));
  }
}

int64_t Coverage::sum(std::string_view table, std::initializer_list<std::string_view> words) const {
  int64_t total = 0;
  const auto& cells = coverage_cells();
  for (size_t i = 0; i < cells.size(); ++i) {
    const CoverageCell& cell = cells[i];
    if (counts_[i] != 0 && cell.table == table && cell.words.size() >= words.size() &&
        std::equal(words.begin(), words.end(), cell.words.begin()))
      total += counts_[i];
  }
  return total;
}

}  // namespace fusesmith::fuzz
