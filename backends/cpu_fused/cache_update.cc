// CacheUpdate: the new state starts as a copy of the old one; then every run of slices is shifted and
// overwritten in place.
#include <cstring>

#include "backends/cpu_fused/intermittent_fault.h"
#include "backends/cpu_fused/run_fused.h"
#include "backends/rewrite/matching/slice_moves.h"

namespace fusesmith::backends {
namespace {

// One run of slices.
struct Line {
  std::byte* start;
  int64_t slice;  // bytes

  std::byte* at(int64_t i) const { return start + i * slice; }
  void move(int64_t from, int64_t to) const { std::memcpy(at(to), at(from), static_cast<size_t>(slice)); }
};

// Moves [begin, end) of the slices that move along.
void move_along(const Line& line, const SliceMoves& moves, int64_t begin, int64_t end) {
  const auto& [from, to, count] = moves.along;
  for (int64_t k = begin; k < end; ++k) {
    const int64_t i = moves.last_first ? count - 1 - k : k;
    line.move(from + i, to + i);
  }
}

void shift(const Line& line, const SliceMoves& moves, bool out_of_order, std::vector<std::byte>& aside) {
  const size_t around = static_cast<size_t>(moves.around.count * line.slice);
  aside.resize(around);
  if (around > 0) std::memcpy(aside.data(), line.at(moves.around.from), around);
  const int64_t count = moves.along.count, middle = out_of_order ? count / 2 : 0;
  move_along(line, moves, middle, count);
  move_along(line, moves, 0, middle);
  if (around > 0) std::memcpy(line.at(moves.around.to), aside.data(), around);
}

// Where the new rows go.
std::vector<int64_t> places_of(const CacheUpdate& update, const RegionScope& scope) {
  std::vector<int64_t> places;
  for (int64_t i = 0; i < update.count; ++i) {
    int64_t place = update.first + i;
    if (update.indices) place = scope.at(*update.indices).as<int32_t>()[static_cast<size_t>(i)];
    if (scope.planted("cache_window_off_by_one")) place -= place > 0;
    if (scope.planted("index_copy_clamps")) place = std::min(place, std::max<int64_t>(0, update.size - 2));
    places.push_back(place);
  }
  return places;
}

}  // namespace

void run_fused(const CacheUpdate& update, const RegionScope& scope, Tensor& out) {
  CacheUpdate done = update;
  if (scope.planted("cache_rolls_the_other_way")) done.shift = (update.size - update.shift) % update.size;
  const SliceMoves moves = moves_of(done);
  const std::vector<int64_t> places = places_of(update, scope);
  const bool races = scope.planted("cache_shift_races") && strikes_now<3>();
  out.bytes = scope.at(update.cache).bytes;
  const int64_t slice = update.inner * size_of(out.type.dtype);
  const std::byte* row = update.count > 0 ? scope.at(update.rows).bytes.data() : nullptr;
  std::vector<std::byte> aside;
  for (int64_t run = 0; run < update.outer; ++run) {
    const Line line{out.bytes.data() + run * update.size * slice, slice};
    shift(line, moves, races, aside);
    for (int64_t place : places) {
      std::memcpy(line.at(place), row, static_cast<size_t>(slice));
      row += slice;
    }
  }
}

}  // namespace fusesmith::backends
