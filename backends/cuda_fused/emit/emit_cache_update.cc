// CacheUpdate. In a production run the new state is in the memory of the old one; a traced run first copies
// the old state. The launches after that are the same.
#include "backends/cuda/runtime/check.h"
#include "backends/cuda_fused/emit/emit_fused.h"
#include "backends/cuda_fused/rows/cache_update.h"
#include "backends/rewrite/matching/slice_moves.h"

namespace fusesmith::backends {
namespace {

class CacheUpdateEmission {
 public:
  CacheUpdateEmission(const CacheUpdate& update, const DeviceTensor& cache, Emitter& emitter)
      : update_(update),
        cache_(cache),
        emitter_(emitter),
        shape_{static_cast<int>(update.outer), static_cast<int>(update.size), static_cast<int>(update.inner),
               static_cast<int>(size_of(cache.type.dtype))} {}

  void copy(const DeviceTensor& from, const DeviceTensor& to) {
    const auto bytes = static_cast<size_t>(element_count(to.type) * size_of(to.type.dtype));
    emitter_.launch([bytes, from = from.buffer, to = to.buffer](const LaunchContext& at) {
      if (at.at(from) == at.at(to)) return;
      check_cuda(cudaMemcpyAsync(at.at(to), at.at(from), bytes, cudaMemcpyDeviceToDevice, at.stream()),
                 "cudaMemcpyAsync of a state");
    });
  }

  void shift(const SliceMoves& moves, bool races) {
    const int64_t around = moves.around.count;
    if (around == 0) return shift_along(moves, races);
    const Buffer aside = emitter_.temporary(update_.outer * slices(around));
    const size_t whole = bytes(update_.size), part = bytes(around);
    copy_slices(cache_.buffer, bytes(moves.around.from), whole, aside, 0, part, part);
    shift_along(moves, races);
    copy_slices(aside, 0, part, cache_.buffer, bytes(moves.around.to), whole, part);
  }

  void write_rows(const FusedScope& scope) {
    RowWrite write{};
    write.shape = shape_;
    write.count = static_cast<int>(update_.count);
    write.first = static_cast<int>(update_.first);
    write.early = scope.planted("cache_window_off_by_one");
    write.clamps = scope.planted("index_copy_clamps");
    std::optional<Buffer> indices;
    if (update_.indices) indices = scope.at(*update_.indices).buffer;
    emitter_.launch([write, indices, rows = scope.at(update_.rows).buffer,
                     cache = cache_.buffer](const LaunchContext& at) {
      RowWrite placed = write;
      placed.indices = indices ? static_cast<const int*>(at.at(*indices)) : nullptr;
      placed.rows = at.at(rows);
      placed.cache = at.at(cache);
      check_cuda(launch_row_write(placed, at.stream()), "kernel write_rows");
    });
  }

 private:
  int64_t slices(int64_t count) const { return count * update_.inner * shape_.element_bytes; }
  size_t bytes(int64_t count) const { return static_cast<size_t>(slices(count)); }

  void shift_along(const SliceMoves& moves, bool races) {
    SliceShift shift{};
    shift.shape = shape_;
    shift.from = static_cast<int>(moves.along.from);
    shift.to = static_cast<int>(moves.along.to);
    shift.count = static_cast<int>(moves.along.count);
    shift.races = races;
    if (shift.count == 0) return;
    emitter_.launch([shift, cache = cache_.buffer](const LaunchContext& at) {
      SliceShift placed = shift;
      placed.cache = at.at(cache);
      check_cuda(launch_slice_shift(placed, at.stream()), "kernel shift_slices");
    });
  }

  // Copies `width` bytes of every run; the pitch is the distance between runs.
  void copy_slices(Buffer from, size_t skip_from, size_t pitch_from, Buffer to, size_t skip_to,
                   size_t pitch_to, size_t width) {
    const auto height = static_cast<size_t>(update_.outer);
    emitter_.launch([=](const LaunchContext& at) {
      check_cuda(cudaMemcpy2DAsync(static_cast<std::byte*>(at.at(to)) + skip_to, pitch_to,
                                   static_cast<const std::byte*>(at.at(from)) + skip_from, pitch_from, width,
                                   height, cudaMemcpyDeviceToDevice, at.stream()),
                 "cudaMemcpy2DAsync of slices");
    });
  }

  const CacheUpdate& update_;
  const DeviceTensor& cache_;
  Emitter& emitter_;
  CacheShape shape_;
};

}  // namespace

Emitted emit_fused(const CacheUpdate& update, const FusedScope& scope, const DeviceTensor& out,
                   Emitter& emitter) {
  const DeviceTensor& old = scope.at(update.cache);
  // Injected fault: the old state's memory is used up in every run.
  const DeviceTensor& cache = update.old_value_lost ? old : out;
  CacheUpdateEmission emission(update, cache, emitter);
  emission.copy(old, cache);
  CacheUpdate moved = update;
  if (scope.planted("cache_rolls_the_other_way")) moved.shift = (update.size - update.shift) % update.size;
  if (moved.shift != 0) emission.shift(moves_of(moved), scope.planted("cache_shift_races"));
  if (update.count > 0) emission.write_rows(scope);
  emission.copy(cache, out);
  return true;
}

}  // namespace fusesmith::backends
