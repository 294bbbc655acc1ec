#include "backends/cuda/runtime/program_runs.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "backends/cuda/runtime/check.h"
#include "backends/cuda/runtime/device_probe.h"
#include "backends/cuda/runtime/run_checks.h"
#include "backends/cuda/runtime/worker.h"

namespace fusesmith::backends {
namespace {

// What fills memory before the three runs, the guard zones around inputs too: NaN, zero, a large finite
// number. A value that depends on bytes beyond its operands is then not the same in every run.
enum RunIndex { kTraced, kAgain, kProduction, kRuns };
constexpr uint8_t kPoison[kRuns] = {0xFF, 0x00, 0x7B};

// What the checks on the device found, in the order of the checks; kNothingFound if there was nothing.
struct Report {
  int input_guard[kRuns];
  int guard[kRuns];  // not used by the production run
  int unequal_value, unequal_output;
};

constexpr size_t kInputsReady = 0, kAgainDone = 1, kTracedDone = 2, kFirstRegion = 3;

bool found_something(int found) { return found != kNothingFound; }

class DeviceProgram final : public Program, public Inspectable {
 public:
  DeviceProgram(const Graph& graph, const Plan& plan, std::vector<DeviceRegion> regions,
                const BufferTable& table)
      : graph_(graph),
        plan_(plan),
        regions_(std::move(regions)),
        table_(table),
        traced_(traced_layout(table)),
        production_(production_layout(table)) {
    place_blocks();
    list_pairs();
  }

  const Plan& plan() const override { return plan_; }
  Trace run(std::span<const TensorPtr> inputs) override;
  std::optional<Disagreement> recheck(std::span<const TensorPtr> inputs, const Trace& trace) override;
  void run_region(size_t region, std::span<TensorPtr> values, Probe& probe) const override;
  double production_microseconds(std::span<const TensorPtr> inputs, int repeats) const;
  size_t launch_count() const;

 private:
  // Device memory: tables and report, then the three runs.
  struct Blocks {
    int64_t spans = 0, values = 0, outputs = 0, report = 0, upload_end = 0;
    int64_t run[kRuns] = {0, 0, 0};
    int64_t end = 0;
  };
  void place_blocks();
  void list_pairs();
  void upload(Worker& worker, std::span<const TensorPtr> inputs) const;
  void fill_input_guards(Worker& worker, RunIndex run, RunIndex poison) const;
  void launch_region(Worker& worker, size_t region, int stream, RunIndex run) const;
  void run_traced(Worker& worker, int stream, RunIndex run) const;
  void run_production(Worker& worker) const;
  void check_runs(Worker& worker) const;
  Trace download(Worker& worker, std::span<const TensorPtr> inputs, Report& report) const;
  size_t find_failing_region(Worker& worker, std::span<const TensorPtr> inputs) const;
  Disagreement at_value(Disagreement::Kind kind, ValueId value) const;
  Trace run_once(Worker& worker, std::span<const TensorPtr> inputs, RunIndex poison) const;
  std::byte* base(Worker& worker, RunIndex run) const {
    return worker.device_memory(blocks_.end) + blocks_.run[run];
  }

  Graph graph_;
  Plan plan_;
  std::vector<DeviceRegion> regions_;
  BufferTable table_;
  TracedLayout traced_;
  ProductionLayout production_;
  Blocks blocks_;
  std::vector<DeviceSpanPair> value_pairs_, output_pairs_;
  std::vector<ValueId> value_ids_;  // of value_pairs_
  Report report_{};                 // of the last run
};

void DeviceProgram::list_pairs() {
  for (int v = table_.sources; v < table_.values; ++v) {
    const auto i = static_cast<size_t>(v);
    if (table_.bytes[i] == 0) continue;
    value_pairs_.push_back({traced_.offsets[i], traced_.offsets[i], table_.bytes[i]});
    value_ids_.push_back(v);
  }
  for (int v : table_.kept) {
    const auto i = static_cast<size_t>(v);
    output_pairs_.push_back({traced_.offsets[i], production_.offsets[i], table_.bytes[i]});
  }
}

void DeviceProgram::place_blocks() {
  int64_t at = 0;
  const auto take = [&](int64_t bytes) { return std::exchange(at, at + aligned(bytes)); };
  blocks_.spans = take(static_cast<int64_t>(traced_.guards.size() * sizeof(DeviceSpan)));
  blocks_.values = take(table_.values * static_cast<int64_t>(sizeof(DeviceSpanPair)));
  blocks_.outputs = take(static_cast<int64_t>(table_.kept.size() * sizeof(DeviceSpanPair)));
  blocks_.report = take(sizeof(Report));
  blocks_.upload_end = at;
  blocks_.run[kTraced] = take(traced_.total_bytes);
  blocks_.run[kAgain] = take(traced_.total_bytes);
  blocks_.run[kProduction] = take(production_.total_bytes);
  blocks_.end = at;
}

// Copies tables, an empty report and the inputs with their guard zones in one transfer, then the inputs of
// the other runs from those of the first, with guard zones of their own. All other memory is filled with
// poison.
void DeviceProgram::upload(Worker& worker, std::span<const TensorPtr> inputs) const {
  std::byte* const device = worker.device_memory(blocks_.end);
  const cudaStream_t stream = worker.handles(0).stream;
  const int64_t bytes = blocks_.upload_end + traced_.input_bytes;
  std::byte* const host = worker.upload_memory(bytes);
  static_assert(sizeof(DeviceSpan) == sizeof(Span));
  std::memcpy(host + blocks_.spans, traced_.guards.data(), traced_.guards.size() * sizeof(Span));
  std::memcpy(host + blocks_.values, value_pairs_.data(), value_pairs_.size() * sizeof(DeviceSpanPair));
  std::memcpy(host + blocks_.outputs, output_pairs_.data(), output_pairs_.size() * sizeof(DeviceSpanPair));
  std::memset(host + blocks_.report, 0x7f, sizeof(Report));
  std::byte* const staged = host + blocks_.upload_end;
  std::memset(staged, kPoison[kTraced], static_cast<size_t>(traced_.input_bytes));
  for (size_t i = 0; i < inputs.size(); ++i)
    std::memcpy(staged + traced_.offsets[i], inputs[i]->bytes.data(), inputs[i]->bytes.size());

  const int64_t sizes[kRuns] = {traced_.total_bytes, traced_.total_bytes, production_.total_bytes};
  for (int run = 0; run < kRuns; ++run) {
    check_cuda(
        cudaMemsetAsync(device + blocks_.run[run], kPoison[run], static_cast<size_t>(sizes[run]), stream),
        "filling memory");
  }
  check_cuda(cudaMemcpyAsync(device, host, static_cast<size_t>(bytes), cudaMemcpyHostToDevice, stream),
             "copying inputs");
  for (const RunIndex run : {kAgain, kProduction}) {
    check_cuda(cudaMemcpyAsync(device + blocks_.run[run], device + blocks_.run[kTraced],
                               static_cast<size_t>(traced_.input_bytes), cudaMemcpyDeviceToDevice, stream),
               "copying inputs");
    fill_input_guards(worker, run, run);
  }
  worker.record(kInputsReady, 0);
}

void DeviceProgram::fill_input_guards(Worker& worker, RunIndex run, RunIndex poison) const {
  const std::byte* const device = worker.device_memory(blocks_.end);
  check_cuda(
      launch_fill_guards(base(worker, run), reinterpret_cast<const DeviceSpan*>(device + blocks_.spans),
                         static_cast<int>(traced_.input_guards), kPoison[poison], worker.handles(0).stream),
      "kernel fill_guards");
}

void DeviceProgram::launch_region(Worker& worker, size_t region, int stream, RunIndex run) const {
  const auto& offsets = run == kProduction ? production_.offsets : traced_.offsets;
  const LaunchContext context(worker.handles(stream), base(worker, run), offsets);
  for (const Launch& launch : regions_[region].launches) launch(context);
}

void DeviceProgram::run_traced(Worker& worker, int stream, RunIndex run) const {
  for (size_t r = 0; r < regions_.size(); ++r) launch_region(worker, r, stream, run);
}

void DeviceProgram::run_production(Worker& worker) const {
  for (size_t r = 0; r < regions_.size(); ++r) {
    const int stream = production_.stream[r];
    if (production_.waits[r] >= 0)
      worker.wait(kFirstRegion + static_cast<size_t>(production_.waits[r]), stream);
    launch_region(worker, r, stream, kProduction);
    worker.record(kFirstRegion + r, stream);
  }
  for (size_t r = regions_.size(); r-- > 0;) {  // the streams join
    if (production_.stream[r] == 0) continue;
    worker.wait(kFirstRegion + r, 0);
    break;
  }
}

void DeviceProgram::check_runs(Worker& worker) const {
  std::byte* const device = worker.device_memory(blocks_.end);
  const cudaStream_t stream = worker.handles(0).stream;
  auto* const report = reinterpret_cast<Report*>(device + blocks_.report);
  const auto* const guards = reinterpret_cast<const DeviceSpan*>(device + blocks_.spans);
  const int around_inputs = static_cast<int>(traced_.input_guards);
  const int rest = static_cast<int>(traced_.guards.size()) - around_inputs;
  for (int run = 0; run < kRuns; ++run) {
    const std::byte* const start = device + blocks_.run[run];
    check_cuda(
        launch_check_guards(start, guards, around_inputs, kPoison[run], &report->input_guard[run], stream),
        "kernel check_guards");
    if (run == kProduction) continue;
    check_cuda(
        launch_check_guards(start, guards + around_inputs, rest, kPoison[run], &report->guard[run], stream),
        "kernel check_guards");
  }
  const auto compare = [&](int64_t table, const std::vector<DeviceSpanPair>& pairs, RunIndex run,
                           int* found) {
    check_cuda(launch_compare(device + blocks_.run[kTraced], device + blocks_.run[run],
                              reinterpret_cast<const DeviceSpanPair*>(device + table),
                              static_cast<int>(pairs.size()), found, stream),
               "kernel compare");
  };
  compare(blocks_.values, value_pairs_, kAgain, &report->unequal_value);
  compare(blocks_.outputs, output_pairs_, kProduction, &report->unequal_output);
}

Trace DeviceProgram::download(Worker& worker, std::span<const TensorPtr> inputs, Report& report) const {
  std::byte* const device = worker.device_memory(blocks_.end);
  const cudaStream_t stream = worker.handles(0).stream;
  const int64_t bytes = traced_.input_bytes + traced_.value_bytes;
  std::byte* const host = worker.download_memory(bytes + static_cast<int64_t>(sizeof(Report)));
  const auto copy = [&](std::byte* to, int64_t from, size_t count) {
    check_cuda(cudaMemcpyAsync(to, device + from, count, cudaMemcpyDeviceToHost, stream), "copying results");
  };
  copy(host, blocks_.run[kTraced], static_cast<size_t>(bytes));
  copy(host + bytes, blocks_.report, sizeof(Report));
  worker.synchronize(0);
  std::memcpy(&report, host + bytes, sizeof(Report));

  Trace trace;
  trace.values.resize(static_cast<size_t>(table_.values));
  for (size_t v = 0; v < trace.values.size(); ++v) {
    if (table_.bytes[v] == 0) continue;
    const std::byte* const from = host + traced_.offsets[v];
    const auto size = static_cast<size_t>(table_.bytes[v]);
    if (v < inputs.size() && std::memcmp(from, inputs[v]->bytes.data(), size) == 0) {
      trace.values[v] = inputs[v];
      continue;
    }
    Tensor tensor(graph_.type(static_cast<ValueId>(v)));
    std::memcpy(tensor.bytes.data(), from, size);
    trace.values[v] = std::make_shared<const Tensor>(std::move(tensor));
  }
  return trace;
}

Trace DeviceProgram::run(std::span<const TensorPtr> inputs) {
  check(inputs.size() == static_cast<size_t>(graph_.source_count()), "run: wrong number of inputs");
  WorkerLease worker;
  upload(*worker, inputs);
  worker->wait(kInputsReady, 1);
  run_traced(*worker, 0, kTraced);
  run_traced(*worker, 1, kAgain);
  run_production(*worker);
  worker->record(kAgainDone, 1);
  worker->wait(kAgainDone, 0);
  check_runs(*worker);
  return download(*worker, inputs, report_);
}

// One more traced run, with nothing else on the device, in memory filled with `poison`.
Trace DeviceProgram::run_once(Worker& worker, std::span<const TensorPtr> inputs, RunIndex poison) const {
  upload(worker, inputs);
  check_cuda(cudaMemsetAsync(base(worker, kTraced) + traced_.input_bytes, kPoison[poison],
                             static_cast<size_t>(traced_.total_bytes - traced_.input_bytes),
                             worker.handles(0).stream),
             "filling memory");
  fill_input_guards(worker, kTraced, poison);
  run_traced(worker, 0, kTraced);
  Report report;
  return download(worker, inputs, report);
}

// Runs region by region until a guard zone has changed. If no run shows it again, returns the last region.
size_t DeviceProgram::find_failing_region(Worker& worker, std::span<const TensorPtr> inputs) const {
  for (const RunIndex run : {kTraced, kAgain, kProduction}) {
    upload(worker, inputs);
    for (size_t r = 0; r < regions_.size(); ++r) {
      launch_region(worker, r, 0, run);
      check_runs(worker);
      Report report;
      download(worker, inputs, report);
      if (found_something(report.guard[run]) || found_something(report.input_guard[run])) return r;
    }
  }
  return regions_.size() - 1;
}

// For differences that do not show again: the region of the value in which the device found one.
Disagreement DeviceProgram::at_value(Disagreement::Kind kind, ValueId value) const {
  for (size_t r = 0; r < plan_.regions.size(); ++r) {
    const auto& outputs = plan_.regions[r].outputs;
    if (std::find(outputs.begin(), outputs.end(), value) != outputs.end()) return {kind, r, value, 0, 0, 0};
  }
  return {kind, 0, value, 0, 0, 0};
}

std::optional<Disagreement> DeviceProgram::recheck(std::span<const TensorPtr> inputs, const Trace& trace) {
  using Kind = Disagreement::Kind;
  const Report report = report_;
  const bool guards =
      std::any_of(std::begin(report.guard), std::end(report.guard), found_something) ||
      std::any_of(std::begin(report.input_guard), std::end(report.input_guard), found_something);
  if (!guards && !found_something(report.unequal_value) && !found_something(report.unequal_output))
    return std::nullopt;
  WorkerLease worker;
  if (guards) {
    const size_t region = find_failing_region(*worker, inputs);
    return Disagreement{Kind::guard, region, plan_.regions[region].outputs.back(), 0, 0, 0};
  }
  constexpr int kTries = 5;
  for (int i = 0; i < kTries; ++i) {
    if (auto found = first_difference(Kind::repeat, plan_, trace, run_once(*worker, inputs, kTraced)))
      return found;
  }
  if (!found_something(report.unequal_value))
    return at_value(Kind::production, table_.kept[static_cast<size_t>(report.unequal_output)]);
  if (auto found = first_difference(Kind::poison, plan_, trace, run_once(*worker, inputs, kAgain)))
    return found;
  return at_value(Kind::repeat, value_ids_[static_cast<size_t>(report.unequal_value)]);
}

// Uses the memory of the traced run.
void DeviceProgram::run_region(size_t region, std::span<TensorPtr> values, Probe& probe) const {
  WorkerLease worker;
  const StreamHandles& handles = worker->handles(0);
  std::byte* const device = base(*worker, kTraced);
  const auto place = [&](ValueId v) { return device + traced_.offsets[static_cast<size_t>(v)]; };
  for (ValueId v : plan_.regions[region].inputs) {
    const auto& bytes = values[static_cast<size_t>(v)]->bytes;
    check_cuda(cudaMemcpyAsync(place(v), bytes.data(), bytes.size(), cudaMemcpyHostToDevice, handles.stream),
               "copying inputs");
  }
  DeviceProbe on_device(probe, handles.stream);
  const LaunchContext context(handles, device, traced_.offsets, &on_device);
  for (const Launch& launch : regions_[region].launches) launch(context);
  for (ValueId v : plan_.regions[region].outputs) {
    Tensor tensor(graph_.type(v));
    check_cuda(cudaMemcpyAsync(tensor.bytes.data(), place(v), tensor.bytes.size(), cudaMemcpyDeviceToHost,
                               handles.stream),
               "copying results");
    worker->synchronize(0);
    values[static_cast<size_t>(v)] = std::make_shared<const Tensor>(std::move(tensor));
  }
  on_device.collect();
}

double DeviceProgram::production_microseconds(std::span<const TensorPtr> inputs, int repeats) const {
  WorkerLease worker;
  const cudaStream_t stream = worker->handles(0).stream;
  upload(*worker, inputs);
  worker->wait(kInputsReady, 1);
  run_production(*worker);
  const auto make_event = [](cudaEvent_t* made) { check_cuda(cudaEventCreate(made), "cudaEventCreate"); };
  const OwnedEvent start = owned<OwnedEvent>(make_event), end = owned<OwnedEvent>(make_event);
  check_cuda(cudaEventRecord(start.get(), stream), "cudaEventRecord");
  for (int i = 0; i < repeats; ++i) {  // each starts on both streams when the previous one has ended
    worker->record(kInputsReady, 0);
    worker->wait(kInputsReady, 1);
    run_production(*worker);
  }
  check_cuda(cudaEventRecord(end.get(), stream), "cudaEventRecord");
  worker->synchronize(0);
  float milliseconds = 0;
  check_cuda(cudaEventElapsedTime(&milliseconds, start.get(), end.get()), "cudaEventElapsedTime");
  return 1000.0 * static_cast<double>(milliseconds) / repeats;
}

size_t DeviceProgram::launch_count() const {
  size_t count = 0;
  for (const DeviceRegion& region : regions_) count += region.launches.size();
  return count;
}

}  // namespace

std::unique_ptr<Program> make_device_program(const Graph& graph, const Plan& plan,
                                             std::vector<DeviceRegion> regions, const BufferTable& table) {
  return std::make_unique<DeviceProgram>(graph, plan, std::move(regions), table);
}

double production_microseconds(Program& program, std::span<const TensorPtr> inputs, int repeats) {
  return dynamic_cast<const DeviceProgram&>(program).production_microseconds(inputs, repeats);
}

size_t launch_count(const Program& program) {
  return dynamic_cast<const DeviceProgram&>(program).launch_count();
}

}  // namespace fusesmith::backends
