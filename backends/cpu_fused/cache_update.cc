// CacheUpdate: the new state starts as a copy of the old one; then every run of slices is shifted and
// overwritten in place.
#include <algorithm>
#include <cstring>

#include "backends/common/floats.h"
#include "backends/cpu_fused/intermittent_fault.h"
#include "backends/cpu_fused/step_names.h"
#include "backends/rewrite/matching/slice_moves.h"

namespace fusesmith::backends {
namespace {

// One run of slices.
struct Line {
  std::byte* start;
  int64_t slice, pitch;  // bytes of a slice, and from slice to slice

  std::byte* at(int64_t i) const { return start + i * pitch; }
  void copy(int64_t from, const Line& other, int64_t to) const {
    std::memcpy(other.at(to), at(from), static_cast<size_t>(slice));
  }
};

// Moves [begin, end) of the slices that move along.
void move_along(const Line& line, const SliceMoves& moves, int64_t begin, int64_t end) {
  const auto& [from, to, count] = moves.along;
  for (int64_t k = begin; k < end; ++k) {
    const int64_t i = moves.last_first ? count - 1 - k : k;
    line.copy(from + i, line, to + i);
  }
}

void shift(const Line& line, const SliceMoves& moves, bool out_of_order, std::vector<std::byte>& aside) {
  aside.resize(static_cast<size_t>(moves.around.count * line.slice));
  const Line kept{aside.data(), line.slice, line.slice};
  for (int64_t i = 0; i < moves.around.count; ++i) line.copy(moves.around.from + i, kept, i);
  const int64_t count = moves.along.count, middle = out_of_order ? count / 2 : 0;
  move_along(line, moves, middle, count);
  move_along(line, moves, 0, middle);
  for (int64_t i = 0; i < moves.around.count; ++i) kept.copy(i, line, moves.around.to + i);
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

// What the kernel shows: the old state and the new rows as it reads them, the state once it is shifted, and
// the state that it leaves. Nothing of a state without floats.
class CacheValues {
 public:
  CacheValues(const CacheUpdate& update, const RegionScope& scope, Dtype dtype) : dtype_(dtype) {
    Probe* const probe = is_float(dtype) ? detailed(scope.probe) : nullptr;
    if (!probe) return;
    const StepNames names(scope);
    const auto size = static_cast<size_t>(update.outer * update.size * update.inner);
    const auto of_rows = static_cast<size_t>(update.outer * update.count * update.inner);
    state = InnerValue(probe, names.operand_that_is(update.cache), size);
    const auto moves_state = [&](const Node* node) { return node && node->inputs[0] == update.cache; };
    const bool gathers = moves_state(names.find<Gather>());
    if (update.count > 0 && (gathers || moves_state(names.find<Roll>())))
      shifted = InnerValue(probe, gathers ? Gather::info.name : Roll::info.name, size);
    if (update.count > 0) rows = InnerValue(probe, names.operand_that_is(update.rows), of_rows);
    result = InnerValue(probe, names.last(), size, true);
  }

  // `count` stored elements, the value's elements from `first` on, go through the probe.
  void show(const InnerValue& value, int64_t first, std::byte* stored, int64_t count) const {
    if (!value.shown()) return;
    std::vector<float> x(static_cast<size_t>(count));
    load_floats(dtype_, stored, x);
    value(static_cast<size_t>(first), x);
    store_floats(x, dtype_, stored);
  }

  InnerValue state, shifted, rows, result;

 private:
  Dtype dtype_;
};

// The memory of the state: that of the output, or memory with the layout of the old state, from which the
// output is copied at the end. A probe sees the former alone.
class UpdatedState {
 public:
  UpdatedState(const CacheUpdate& update, const RegionScope& scope, Tensor& out)
      : update_(update), scope_(scope), out_(out) {
    const PlacedTensor* const old = detailed(scope.probe) ? nullptr : scope.place(update.cache);
    if (old)
      memory_ = old->copy();
    else
      out.bytes = scope.at(update.cache).bytes;
  }

  Line line(int64_t run, int64_t slice) const {
    const int64_t size = size_of(out_.type.dtype);
    if (!memory_) return {out_.bytes.data() + run * update_.size * slice, slice, slice};
    return {memory_->elements() + run * update_.run_pitch * size, slice, update_.slice_pitch * size};
  }

  void finish() {
    if (!memory_) return;
    if (!memory_->is_intact()) scope_.placed->note_damage(update_.cache);
    out_ = memory_->dense();
  }

 private:
  const CacheUpdate& update_;
  const RegionScope& scope_;
  Tensor& out_;
  std::unique_ptr<PlacedTensor> memory_;
};

}  // namespace

void run_fused(const CacheUpdate& update, const RegionScope& scope, Tensor& out) {
  CacheUpdate done = update;
  if (scope.planted("cache_rolls_the_other_way")) done.shift = (update.size - update.shift) % update.size;
  const SliceMoves moves = moves_of(done);
  const std::vector<int64_t> places = places_of(update, scope);
  const bool races = scope.planted("cache_shift_races") && strikes_now<3>();
  const CacheValues shown(update, scope, out.type.dtype);
  const int64_t inner = update.inner, slice = inner * size_of(out.type.dtype);
  UpdatedState state(update, scope, out);
  shown.show(shown.state, 0, out.bytes.data(), out.size());
  std::vector<std::byte> aside, new_row(static_cast<size_t>(slice));
  const bool first_rows_only = scope.planted("cache_rows_of_first_run");
  int64_t row = 0;
  for (int64_t run = 0; run < update.outer; ++run) {
    if (first_rows_only) row = 0;
    const Line line = state.line(run, slice);
    shift(line, moves, races, aside);
    for (int64_t i = 0; shown.shifted.shown() && i < update.size; ++i) {
      const bool overwritten = std::find(places.begin(), places.end(), i) != places.end();
      if (!overwritten) shown.show(shown.shifted, (run * update.size + i) * inner, line.at(i), inner);
    }
    for (int64_t place : places) {
      std::memcpy(new_row.data(), scope.at(update.rows).bytes.data() + row * slice, new_row.size());
      shown.show(shown.rows, row * inner, new_row.data(), inner);
      std::memcpy(line.at(place), new_row.data(), new_row.size());
      ++row;
    }
  }
  state.finish();
  shown.show(shown.result, 0, out.bytes.data(), out.size());
}

}  // namespace fusesmith::backends
