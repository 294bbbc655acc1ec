#include "backends/cuda/runtime/memory_plan.h"

#include <algorithm>

namespace fusesmith::backends {
namespace {

// Places buffers one after the other, with a guard zone before each and after the last. Alignment bytes after
// a buffer belong to the guard zone that follows it.
class GuardedSpace {
 public:
  explicit GuardedSpace(TracedLayout& layout) : layout_(layout) { guard(kGuardBytes); }
  void place(int buffer, int64_t bytes) {
    if (bytes == 0) return;
    layout_.offsets[static_cast<size_t>(buffer)] = at_;
    at_ += bytes;
    guard(aligned(at_) - at_ + kGuardBytes);
  }
  int64_t end() const { return at_; }

 private:
  void guard(int64_t bytes) {
    layout_.guards.push_back({at_, bytes});
    at_ += bytes;
  }
  TracedLayout& layout_;
  int64_t at_ = 0;
};

// First-fit allocation from memory that is no longer needed.
class Pool {
 public:
  explicit Pool(int64_t start) : end_(start) {}
  int64_t take(int64_t bytes) {
    const int64_t size = aligned(bytes);
    for (size_t i = 0; i < free_.size(); ++i) {
      if (free_[i].bytes < size) continue;
      const int64_t offset = free_[i].offset;
      free_[i] = {offset + size, free_[i].bytes - size};
      if (free_[i].bytes == 0) free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(i));
      return offset;
    }
    const int64_t offset = end_;
    end_ += size;
    return offset;
  }
  void give(int64_t offset, int64_t bytes) {
    const auto at = std::lower_bound(free_.begin(), free_.end(), offset,
                                     [](const Span& span, int64_t o) { return span.offset < o; });
    const auto own = free_.insert(at, {offset, aligned(bytes)});
    join(static_cast<size_t>(own - free_.begin()));
    if (own != free_.begin()) join(static_cast<size_t>(own - free_.begin()) - 1);
  }
  int64_t end() const { return end_; }

 private:
  void join(size_t i) {
    if (i + 1 >= free_.size() || free_[i].offset + free_[i].bytes != free_[i + 1].offset) return;
    free_[i].bytes += free_[i + 1].bytes;
    free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
  std::vector<Span> free_;  // by offset
  int64_t end_;
};

// The last region that uses each buffer; regions.size() for buffers that are kept.
std::vector<size_t> last_uses(const BufferTable& table) {
  std::vector<size_t> last(table.bytes.size(), 0);
  for (size_t r = 0; r < table.regions.size(); ++r) {
    for (int b : table.regions[r].reads) last[static_cast<size_t>(b)] = r;
    for (int b : table.regions[r].writes) last[static_cast<size_t>(b)] = r;
  }
  for (int b : table.kept) last[static_cast<size_t>(b)] = table.regions.size();
  return last;
}

class Scheduler {
 public:
  Scheduler(const BufferTable& table, ProductionLayout& layout) : table_(table), layout_(layout) {}

  void run() {
    for (size_t r = 0; r < table_.regions.size(); ++r) {
      const std::vector<bool> needed = dependencies(r);
      const bool follows = r > 0 && needed[r - 1];
      layout_.stream.push_back(r == 0 || follows ? (r == 0 ? 0 : layout_.stream[r - 1])
                                                 : 1 - layout_.stream[r - 1]);
      layout_.waits.push_back(wait(r, needed));
    }
  }

 private:
  bool overlap(int a, int b) const {
    const auto i = static_cast<size_t>(a), j = static_cast<size_t>(b);
    return layout_.offsets[i] < layout_.offsets[j] + table_.bytes[j] &&
           layout_.offsets[j] < layout_.offsets[i] + table_.bytes[i];
  }
  bool any_overlap(const std::vector<int>& a, const std::vector<int>& b) const {
    return std::any_of(a.begin(), a.end(), [&](int x) {
      return std::any_of(b.begin(), b.end(), [&](int y) { return overlap(x, y); });
    });
  }
  // The earlier regions that write memory which r reads, or read or write memory which r writes.
  std::vector<bool> dependencies(size_t r) const {
    const RegionBuffers& own = table_.regions[r];
    std::vector<bool> needed(r, false);
    for (size_t q = 0; q < r; ++q) {
      const RegionBuffers& other = table_.regions[q];
      needed[q] = any_overlap(own.reads, other.writes) || any_overlap(own.writes, other.writes) ||
                  any_overlap(own.writes, other.reads);
    }
    return needed;
  }
  // A stream runs in order, so waiting for the latest dependency on the other stream is enough.
  int wait(size_t r, const std::vector<bool>& needed) const {
    for (size_t q = r; q-- > 0;) {
      if (needed[q] && layout_.stream[q] != layout_.stream[r]) return static_cast<int>(q);
    }
    return -1;
  }

  const BufferTable& table_;
  ProductionLayout& layout_;
};

}  // namespace

TracedLayout traced_layout(const BufferTable& table) {
  TracedLayout layout;
  layout.offsets.assign(table.bytes.size(), 0);
  GuardedSpace space(layout);
  const auto place = [&](size_t first, size_t last) {
    for (size_t b = first; b < last; ++b) space.place(static_cast<int>(b), table.bytes[b]);
  };
  place(0, static_cast<size_t>(table.sources));
  layout.input_guards = layout.guards.size();
  layout.input_bytes = space.end();
  place(static_cast<size_t>(table.sources), static_cast<size_t>(table.values));
  layout.value_bytes = space.end() - layout.input_bytes;
  place(static_cast<size_t>(table.values), table.bytes.size());
  layout.total_bytes = space.end();
  return layout;
}

ProductionLayout production_layout(const BufferTable& table) {
  ProductionLayout layout;
  const TracedLayout traced = traced_layout(table);
  layout.offsets = traced.offsets;  // of inputs
  layout.input_bytes = traced.input_bytes;
  const std::vector<size_t> last = last_uses(table);
  Pool pool(layout.input_bytes);
  std::vector<bool> placed(table.bytes.size(), false);
  for (const auto& [value, source] : table.in_place) {
    placed[static_cast<size_t>(value)] = true;
    layout.offsets[static_cast<size_t>(value)] = layout.offsets[static_cast<size_t>(source)];
  }
  for (size_t r = 0; r < table.regions.size(); ++r) {
    for (int b : table.regions[r].writes) {
      const auto i = static_cast<size_t>(b);
      if (!placed[i]) layout.offsets[i] = pool.take(table.bytes[i]);
    }
    const auto give_back = [&](const std::vector<int>& buffers) {
      for (int b : buffers) {
        const auto i = static_cast<size_t>(b);
        if (b >= table.sources && last[i] == r && !placed[i]) pool.give(layout.offsets[i], table.bytes[i]);
      }
    };
    give_back(table.regions[r].reads);
    give_back(table.regions[r].writes);
  }
  layout.total_bytes = pool.end();
  Scheduler(table, layout).run();
  return layout;
}

}  // namespace fusesmith::backends
