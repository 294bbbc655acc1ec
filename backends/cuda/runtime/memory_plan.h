// Where the buffers of a program stand in memory, for both ways to run it. Device-free.
//
// Traced: every buffer has its own place, between guard zones, so that each value can be looked at and a
// write past any tensor is seen. Production: as a user would run it, places are used again once their readers
// are done, and independent regions go to two streams.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fusesmith::backends {

inline constexpr int64_t kAlignment = 256;   // bytes, of every buffer
inline constexpr int64_t kGuardBytes = 256;  // before and after every buffer of the traced layout

struct Span {
  int64_t offset = 0, bytes = 0;
  bool operator==(const Span&) const = default;
};

// What memory planning must know of one region, in the plan's order.
struct RegionBuffers {
  std::vector<int> reads, writes;  // buffer ids, each once; temporaries are written
};

struct TracedLayout {
  std::vector<int64_t> offsets;  // by buffer
  std::vector<Span> guards;      // those around inputs first
  size_t input_guards = 0;
  int64_t input_bytes = 0;  // inputs, with their guards, stand at the start
  int64_t value_bytes = 0;  // then values of the trace; both are copied back
  int64_t total_bytes = 0;  // then temporaries
};

struct ProductionLayout {
  std::vector<int64_t> offsets;
  std::vector<int> stream;  // of each region: 0 or 1
  std::vector<int> waits;   // the region on the other stream that must be done first, or -1
  int64_t input_bytes = 0;  // at the start, as in the traced layout
  int64_t total_bytes = 0;
};

// Buffers are numbered: the graph's sources, its other values, then temporaries. `bytes` by buffer; 0 for
// values that never reach memory.
struct BufferTable {
  int sources = 0, values = 0;
  std::vector<int64_t> bytes;
  std::vector<RegionBuffers> regions;
  std::vector<int> kept;  // graph outputs and next states: they hold until the end
  // Kept values that production runs make in the memory of a source, which nobody reads after that and which
  // is not kept.
  struct InPlace {
    int value, source;
  };
  std::vector<InPlace> in_place;
};

TracedLayout traced_layout(const BufferTable& table);
ProductionLayout production_layout(const BufferTable& table);

}  // namespace fusesmith::backends
