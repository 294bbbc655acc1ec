// The `calibrate` command: measures scalar functions, of the GPU against what contracts declare, or of any
// backend against the reference.
#include <algorithm>
#include <filesystem>
#include <future>
#include <ostream>
#include <thread>

#include "backends/remote/worker_names.h"
#include "fuzz/base/files.h"
#include "fuzz/base/interrupt.h"
#include "fuzz/base/table.h"
#include "fuzz/cli/command.h"
#include "fuzz/cli/progress.h"
#include "fuzz/report/calibration_text.h"
#include "fuzz/report/function_errors_text.h"
#include "fuzz/run/backends.h"
#include "fuzz/run/judging.h"
#ifdef FUSESMITH_HAS_CUDA
#include "backends/cuda/calibrate/calibrate.h"
#endif

namespace fusesmith::fuzz {

namespace {

constexpr std::string_view kCalibrateName = "calibrate";

struct CalibrateFlags {
  JudgeFlags judge;  // its candidate is the backend to measure; empty: the GPU's functions
  bool all = false;
  std::string output;
  int64_t jobs = 0;
  bool json = false;
  bool wide = false;

  FlagTable table();
};

FlagTable CalibrateFlags::table() {
  FlagTable table;
  table.command = kCalibrateName;
  table.doc = "measure the errors of a backend's scalar functions.";
  table.details =
      "With --backend: runs exp, sigmoid, tanh, softcap, silu, gelu, sqrt, rsqrt and 1/x of a backend or a "
      "worker as graphs of one node, on every f16 and bf16 value and on 2^24 f32 values (one of each 256 "
      "neighbours), and compares the results with the exact ones. It prints the worst error in ulps of the "
      "dtype, relative to the result and absolute, the last two in units of u = 2^-24. It reports each "
      "function that is worse than 4 ulp, that is not monotone although the exact function is, that is NaN "
      "or infinite in the wrong places, or that is not exact where contracts assume it, such as exp(0) = 1. "
      "Errors of gelu are in ulps of x/2 where that is larger than the result.\n"
      "\n"
      "Without --backend (builds with CUDA): evaluates each scalar function of the GPU on all 2^32 inputs "
      "and compares its largest relative error with the error that the contracts declare "
      "(backends/cuda/emit/arithmetic.h), which was measured on one model of GPU: run this once on every "
      "other model.\n"
      "\n"
      "Exit codes: 0 nothing to report, 1 wrong usage, 72 interrupted, 73 a file cannot be written, 76 no "
      "GPU "
      "is available, 77 a function is reported, or an error is larger than declared.";
  std::vector<Flag> rows;
  judge.add_to(rows);
  for (Flag& row : rows) {
    if (row.name == "candidate") {
      row.name = "backend";
      row.doc = "The backend to measure, or a worker, such as torch:eager; see `fusesmith list backends`.";
      row.default_text = "the scalar functions of the GPU";
      table.flags.push_back(row);
    } else if (row.name == "compile_timeout" || row.name == "run_timeout") {
      table.flags.push_back(row);
    }
  }
  table.flags.push_back({.name = "all",
                         .target = &all,
                         .doc = "Try all 2^32 f32 values. This takes hours; progress is shown on standard "
                                "error."});
  table.flags.push_back({.name = "jobs",
                         .target = &jobs,
                         .value = "N",
                         .doc = "Number of functions to measure at the same time; 0: one for each core.",
                         .hi = 1024});
  table.flags.push_back({.name = "output",
                         .target = &output,
                         .value = "DIR",
                         .doc = "Write what --json prints to NAME-VERSION-DEVICE.json in this folder, too.",
                         .default_text = "none"});
  table.flags.push_back(wide_flag(wide));
  table.flags.push_back({.name = "json",
                         .target = &json,
                         .doc = "Print one JSON object on standard output and nothing else there."});
  table.examples = {{"calibrate --backend=torch:eager --output=measured", "Measure PyTorch on the CPU."},
                    {"calibrate", "Check a GPU; takes some seconds."}};
  return table;
}

#ifdef FUSESMITH_HAS_CUDA
int check_gpu(const CalibrateFlags& flags, Console& console) {
  if (const auto why = find_backend("cuda")->unavailable())
    return fail(console, kCalibrateName, *why, kDeviceUnhealthy);
  const Calibration calibration = calibrate();
  console.out << (flags.json ? calibration_json(calibration) : calibration_text(calibration));
  return exceeding(calibration).empty() ? kClean : kFindings;
}
#else
int check_gpu(const CalibrateFlags&, Console& console) {
  return fail(console, kCalibrateName, "this build has no CUDA; name a backend to measure with --backend",
              kDeviceUnhealthy);
}
#endif

// Measures in other threads, and shows how far that is.
std::vector<FunctionErrors> measure_and_show(const Backend& backend, const MeasureOptions& options,
                                             Console& console) {
  MeasureProgress progress;
  auto measured = std::async(std::launch::async, [&] {
    return measure_functions(backend, options, progress, Signals::interrupted);
  });
  show_progress(
      console, [&](auto time) { return measured.wait_for(time) == std::future_status::ready; },
      [&] {
        const auto total = static_cast<double>(progress.total);
        return total == 0 ? "" : "measured " + percent(static_cast<double>(progress.done) / total);
      });
  return measured.get();
}

int measure_backend(const CalibrateFlags& flags, Console& console) {
  const std::string& name = flags.judge.candidate;
  if (worker_kind(name)) {
    if (const auto spec = worker_spec(name); !spec)
      return fail(console, kCalibrateName, "--backend: " + spec.problem());
  }
  const Backend& backend = *find_backend(name);
  if (const auto why = backend.unavailable())
    return fail(console, kCalibrateName, "--backend=" + name + " cannot run on this machine: " + *why,
                worker_kind(name) ? kUsage : kDeviceUnhealthy);
  if (!flags.output.empty()) {
    if (const auto problem = make_folder(flags.output))
      return fail(console, kCalibrateName, problem->what, kCannotWrite);
  }
  Signals::finish_first();
  const auto cores = static_cast<int64_t>(std::max(1U, std::thread::hardware_concurrency()));
  const std::vector<FunctionErrors> functions =
      measure_and_show(backend,
                       {flags.all,
                        {flags.judge.compile_timeout, flags.judge.run_timeout},
                        static_cast<int>(flags.jobs > 0 ? flags.jobs : cores)},
                       console);
  if (Signals::interrupted()) return fail(console, kCalibrateName, "interrupted", kInterrupted);
  const MeasuredBackend measured(backend, flags.all);
  const std::string json = function_errors_json(measured, functions);
  console.out << (flags.json
                      ? json
                      : function_errors_text(measured, functions, flags.wide ? kAllColumns : kColumns));
  if (!flags.output.empty()) {
    const auto problem = write_file(std::filesystem::path(flags.output) / measured.file_name(), json);
    if (problem) return fail(console, kCalibrateName, problem->what, kCannotWrite);
  }
  return warnings_text(functions).empty() ? kClean : kFindings;
}

int run(CalibrateFlags& flags, Console& console) {
  if (!flags.judge.candidate.empty()) return measure_backend(flags, console);
  for (const auto& [given, flag] :
       {std::pair(flags.all, "--all"), std::pair(!flags.output.empty(), "--output")}) {
    if (given) return fail(console, kCalibrateName, std::string(flag) + " needs --backend");
  }
  return check_gpu(flags, console);
}

}  // namespace

Command calibrate_command() { return command_of<CalibrateFlags>(); }

}  // namespace fusesmith::fuzz
