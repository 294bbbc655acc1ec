// Measures the scalar functions of a backend against the reference: its worst errors over all 16-bit values
// and over a sample of the f32 values, and where it is not what contracts assume.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "fuzz/run/scalar_functions.h"

namespace fusesmith::fuzz {

struct WorstAt {
  double error = 0;
  double x = 0;
};

// Results of one kind: how many, and the first.
struct WrongResults {
  int64_t count = 0;
  double x = 0, got = 0, want = 0;
};

struct FunctionErrors {
  std::string function;
  Dtype dtype = Dtype::f32;
  std::string unsupported;  // why it was not measured, else empty
  std::string failed;       // what the backend threw, else empty
  int64_t values = 0;       // that were tried

  // |got - exact| where the exact result is at least the smallest normal number of the dtype: in ulps of the
  // exact result (for gelu of x/2, if that is larger), and divided by it.
  WorstAt ulp, relative_u;
  WorstAt absolute_u;  // where the exact result is finite
  WorstAt tiny;        // below the smallest normal number: in units of it; contracts allow 1

  WrongResults exceptional;  // NaN or an infinity, and the exact result is not, or the reverse
  WrongResults inexact;      // contracts assume the exact result there, such as exp(0) = 1
  WrongResults reversals;    // of a monotone function: `want` is the result for the value before x
  WrongResults flushed_inputs, flushed_results;  // subnormal numbers that are read or returned as 0

  // Worse than 4 ulp, wrong, or not monotone.
  bool is_suspicious() const;
};

inline constexpr double kMostUlp = 4;

struct MeasureOptions {
  bool every_f32 = false;  // all 2^32 values instead of 2^24
  Deadlines deadlines;
  int jobs = 1;
};

struct MeasureProgress {
  std::atomic<int64_t> done = 0;  // values
  std::atomic<int64_t> total = 0;
};

// One result for each function and dtype, in the order of the list. Ends early, without those that are not
// finished, once `stop` says so. Throws DeviceError if the device fails.
std::vector<FunctionErrors> measure_functions(const Backend& backend, const MeasureOptions& options,
                                              MeasureProgress& progress, const std::function<bool()>& stop);

}  // namespace fusesmith::fuzz
