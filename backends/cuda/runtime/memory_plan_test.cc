// Layouts: traced ones leave a guard between any two buffers; production ones use memory again only where the
// schedule makes that safe.
#include "backends/cuda/runtime/memory_plan.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace fusesmith::backends {
namespace {

// A random program: each region reads a few earlier buffers and writes one value and up to two temporaries.
BufferTable random_table(uint64_t seed) {
  uint64_t state = seed * 0x9E3779B97F4A7C15U + 1;
  const auto draw = [&](uint64_t n) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<int>((state >> 33) % n);
  };
  const int regions = 1 + draw(30);
  BufferTable table;
  table.sources = 1 + draw(4);
  table.values = table.sources + regions;
  for (int b = 0; b < table.values; ++b) table.bytes.push_back(1 + draw(3000));
  for (int r = 0; r < regions; ++r) {
    RegionBuffers region;
    for (int i = 0; i < 3; ++i) region.reads.push_back(draw(static_cast<uint64_t>(table.sources + r)));
    std::sort(region.reads.begin(), region.reads.end());
    region.reads.erase(std::unique(region.reads.begin(), region.reads.end()), region.reads.end());
    region.writes.push_back(table.sources + r);
    for (int t = draw(3); t > 0; --t) {
      region.writes.push_back(static_cast<int>(table.bytes.size()));
      table.bytes.push_back(1 + draw(5000));
    }
    table.regions.push_back(std::move(region));
  }
  table.kept = {table.values - 1};
  return table;
}

TEST(TracedLayout, GuardsAndBuffersTileTheMemory) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    const BufferTable table = random_table(seed);
    const TracedLayout layout = traced_layout(table);
    std::vector<Span> pieces = layout.guards;
    for (size_t b = 0; b < table.bytes.size(); ++b) {
      EXPECT_EQ(layout.offsets[b] % kAlignment, 0);
      pieces.push_back({layout.offsets[b], table.bytes[b]});
    }
    std::sort(pieces.begin(), pieces.end(), [](const Span& a, const Span& b) { return a.offset < b.offset; });
    int64_t at = 0;
    for (const Span& piece : pieces) {
      EXPECT_EQ(piece.offset, at);
      at += piece.bytes;
    }
    EXPECT_EQ(at, layout.total_bytes);
    for (const Span& guard : layout.guards) EXPECT_GE(guard.bytes, kGuardBytes);
    for (size_t g = 0; g < layout.input_guards; ++g) EXPECT_LT(layout.guards[g].offset, layout.input_bytes);
    EXPECT_GE(layout.guards[layout.input_guards].offset, layout.input_bytes);
  }
}

// Whether region q is surely done when r starts: earlier on the same stream, or before something waited for.
bool ordered(const ProductionLayout& layout, size_t q, size_t r) {
  for (size_t s = 0; s <= r; ++s) {
    if (layout.stream[s] != layout.stream[r]) continue;
    if (s < r && s == q) return true;
    const int waited = layout.waits[s];
    if (waited < 0) continue;
    const auto w = static_cast<size_t>(waited);
    if (q == w || ordered(layout, q, w)) return true;
  }
  return false;
}

TEST(ProductionLayout, NoRegionTouchesWhatAnotherOneStillUses) {
  int reused = 0, other_stream = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const BufferTable table = random_table(seed);
    const ProductionLayout layout = production_layout(table);
    const auto overlap = [&](int a, int b) {
      const auto i = static_cast<size_t>(a), j = static_cast<size_t>(b);
      return layout.offsets[i] < layout.offsets[j] + table.bytes[j] &&
             layout.offsets[j] < layout.offsets[i] + table.bytes[i];
    };
    for (size_t r = 0; r < table.regions.size(); ++r) {
      other_stream += layout.stream[r];
      for (size_t q = 0; q < r; ++q) {
        bool conflict = false;
        for (int x : table.regions[r].writes) {
          for (int y : table.regions[q].writes) conflict |= overlap(x, y), reused += x != y && overlap(x, y);
          for (int y : table.regions[q].reads) conflict |= overlap(x, y);
        }
        for (int x : table.regions[r].reads) {
          for (int y : table.regions[q].writes) conflict |= overlap(x, y);
        }
        if (conflict) {
          EXPECT_TRUE(ordered(layout, q, r)) << "seed " << seed << ": " << q << " before " << r;
        }
      }
      // Nothing that is still to be read is overwritten.
      for (int x : table.regions[r].writes) {
        for (size_t later = r; later < table.regions.size(); ++later) {
          for (int y : table.regions[later].reads) {
            const bool made_before = y < table.sources || y - table.sources < static_cast<int>(r);
            if (made_before) {
              EXPECT_FALSE(overlap(x, y)) << "seed " << seed;
            }
          }
        }
      }
    }
  }
  EXPECT_GT(reused, 100);
  EXPECT_GT(other_stream, 100);
}

// A state, rows, the next state in the old one's memory: readers of the old value come first, on any stream.
TEST(ProductionLayout, AnUpdateInPlaceWaitsForTheReadersOfTheOldValue) {
  BufferTable table;
  table.sources = 2;
  table.values = 5;
  table.bytes = {4000, 100, 300, 4000, 300};
  table.regions = {{{0}, {2}}, {{0, 1}, {3}}, {{3}, {4}}};  // of the old value, the update, of the new one
  table.kept = {2, 3, 4};
  table.in_place = {{3, 0}};
  const ProductionLayout layout = production_layout(table);
  EXPECT_EQ(layout.offsets[3], layout.offsets[0]);
  EXPECT_LT(layout.offsets[3], layout.input_bytes);
  EXPECT_TRUE(ordered(layout, 0, 1));
  EXPECT_TRUE(ordered(layout, 1, 2));
  EXPECT_GE(layout.offsets[2], layout.input_bytes);
  EXPECT_LT(layout.total_bytes, layout.input_bytes + 4000);
  const TracedLayout traced = traced_layout(table);
  EXPECT_NE(traced.offsets[3], traced.offsets[0]);
}

}  // namespace
}  // namespace fusesmith::backends
