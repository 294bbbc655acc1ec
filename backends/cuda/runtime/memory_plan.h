// Memory layouts of a program, for the traced and for the production run. Needs no device.
//
// In the traced layout every buffer has its own memory between guard zones, so that each value can be read
// back and a write past the end of a tensor is detected. In the production layout memory is reused as soon as
// its readers are done, and independent regions run on two streams, as in a real executor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fusesmith::backends {

inline constexpr int64_t kAlignment = 256;  // of every buffer, in bytes
inline int64_t aligned(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }
inline constexpr int64_t kGuardBytes = 256;  // before and after every buffer of the traced layout

struct Span {
  int64_t offset = 0, bytes = 0;
  bool operator==(const Span&) const = default;
};

// The buffers that one region uses; regions are listed in the plan's order.
struct RegionBuffers {
  std::vector<int> reads, writes;  // buffer ids, each once; temporaries are written
};

struct TracedLayout {
  std::vector<int64_t> offsets;  // by buffer
  std::vector<Span> guards;      // the guard zones around inputs come first
  size_t input_guards = 0;
  int64_t input_bytes = 0;  // inputs and their guard zones, at the start
  int64_t value_bytes = 0;  // then the values of the trace; both parts are copied back
  int64_t total_bytes = 0;  // then temporaries
};

struct ProductionLayout {
  std::vector<int64_t> offsets;
  std::vector<int> stream;  // of each region: 0 or 1
  std::vector<int> waits;   // the region on the other stream that must finish first, or -1
  int64_t input_bytes = 0;  // at the start, as in the traced layout
  int64_t total_bytes = 0;
};

// Buffers are numbered in this order: the graph's sources, its other values, temporaries. `bytes` is indexed
// by buffer, and 0 for values that are never stored.
struct BufferTable {
  int sources = 0, values = 0;
  std::vector<int64_t> bytes;
  std::vector<RegionBuffers> regions;
  std::vector<int> kept;  // graph outputs and next states: needed until the end of the run
  // Kept values that production runs write into the memory of a source. The source is not read afterwards and
  // is not kept itself.
  struct InPlace {
    int value, source;
  };
  std::vector<InPlace> in_place;
};

TracedLayout traced_layout(const BufferTable& table);
ProductionLayout production_layout(const BufferTable& table);

}  // namespace fusesmith::backends
