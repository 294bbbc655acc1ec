#include "oracle/sample_indices.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "graph/philox.h"

namespace fusesmith::oracle {
namespace {

constexpr int64_t kTiles[] = {64, 128, 32, 256, 16, 8};

// Numbers below a bound, one after another.
class Draws {
 public:
  explicit Draws(uint64_t key) : key_(key) {}
  int64_t below(int64_t bound) {
    const graph::PhiloxBlock block = graph::philox(key_, 0, next_++);
    const uint64_t bits = static_cast<uint64_t>(block[0]) << 32 | block[1];
    return static_cast<int64_t>(bits % static_cast<uint64_t>(bound));
  }

 private:
  uint64_t key_, next_ = 0;
};

// Beside the start of the last tile of each size, which may be incomplete, and of one other tile.
void add_tile_edges(std::set<int64_t>& chosen, int64_t size, size_t most, Draws& draws) {
  for (const bool last : {true, false}) {
    for (const int64_t tile : kTiles) {
      const int64_t tiles = (size - 1) / tile;  // beside the first one
      if (tiles == 0) continue;
      const int64_t start = tile * (last ? tiles : 1 + draws.below(tiles));
      for (const int64_t at : {start - 1, start, start + 1}) {
        if (at < size && chosen.size() < most) chosen.insert(at);
      }
    }
  }
}

// Divides the indices that are not chosen yet into parts, and chooses one of each, until there are `count`.
void add_one_of_each_part(std::set<int64_t>& chosen, int64_t size, int64_t count, Draws& draws) {
  const std::vector<int64_t> taken(chosen.begin(), chosen.end());
  const int64_t left = size - static_cast<int64_t>(taken.size());
  const int64_t parts = count - static_cast<int64_t>(taken.size());
  auto next = taken.begin();
  for (int64_t part = 0; part < parts; ++part) {
    const int64_t first = left * part / parts, end = left * (part + 1) / parts;
    const int64_t rank = first + draws.below(end - first);  // among those that are left
    while (next != taken.end() && *next <= rank + (next - taken.begin())) ++next;
    chosen.insert(rank + (next - taken.begin()));
  }
}

}  // namespace

std::vector<int64_t> sample_indices(int64_t size, int64_t count, uint64_t key,
                                    std::span<const int64_t> wanted) {
  if (count >= size) {
    std::vector<int64_t> all(static_cast<size_t>(size));
    std::iota(all.begin(), all.end(), int64_t{0});
    return all;
  }
  std::set<int64_t> chosen(wanted.begin(), wanted.end());
  chosen.insert(0);
  if (count > 1) chosen.insert(size - 1);
  Draws draws(key);
  const size_t most = static_cast<size_t>(count) + wanted.size();
  add_tile_edges(chosen, size, std::min(chosen.size() + static_cast<size_t>(count / 2), most), draws);
  add_one_of_each_part(chosen, size, std::min(static_cast<int64_t>(most), size), draws);
  return {chosen.begin(), chosen.end()};
}

}  // namespace fusesmith::oracle
