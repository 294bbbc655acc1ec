// The `calibrate` command: measures the GPU's scalar functions and compares them with what contracts declare.
#include <ostream>

#include "fuzz/cli/command.h"
#include "fuzz/report/calibration_text.h"
#include "fuzz/run/backends.h"
#ifdef FUSESMITH_HAS_CUDA
#include "backends/cuda/calibrate/calibrate.h"
#endif

namespace fusesmith::fuzz {

namespace {

struct CalibrateFlags {
  bool json = false;

  FlagTable table();
};

#ifdef FUSESMITH_HAS_CUDA
constexpr std::string_view kMissing = "";
#else
constexpr std::string_view kMissing = "this build has no CUDA; configure with -DFUSESMITH_CUDA=ON";
#endif

FlagTable CalibrateFlags::table() {
  FlagTable table;
  table.command = "calibrate";
  table.doc = "compare the errors of the GPU's scalar functions with the declared errors.";
  table.details =
      "Evaluates each function on all 2^32 inputs and prints its largest relative error against f64, in "
      "units of u = 2^-24. The errors that the contracts declare (backends/cuda/emit/arithmetic.h) were "
      "measured on one model of GPU: run this once on every other model.\n"
      "\n"
      "Exit codes: 0 no error is larger than declared, 76 no GPU is available, 77 an error is larger.";
  table.flags.push_back({.name = "json",
                         .target = &json,
                         .doc = "Print one JSON object on standard output and nothing else there."});
  table.examples = {{"calibrate", "Takes some seconds."}};
  table.missing = kMissing;
  return table;
}

#ifdef FUSESMITH_HAS_CUDA
int run(CalibrateFlags& flags, Console& console) {
  if (const auto why = find_backend("cuda")->unavailable())
    return fail(console, "calibrate", *why, kDeviceUnhealthy);
  const Calibration calibration = calibrate();
  console.out << (flags.json ? calibration_json(calibration) : calibration_text(calibration));
  return exceeding(calibration).empty() ? kClean : kFindings;
}
#else
int run(CalibrateFlags&, Console& console) { return fail(console, "calibrate", kMissing, kDeviceUnhealthy); }
#endif

}  // namespace

Command calibrate_command() { return command_of<CalibrateFlags>(); }

}  // namespace fusesmith::fuzz
