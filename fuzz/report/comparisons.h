// What comparisons with tolerances say of the outputs of both backends.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "fuzz/run/run_case.h"

namespace fusesmith::fuzz {

struct Comparison {
  std::string name, rule;  // "torch.testing.assert_close", "rtol 0.001, atol 1e-05"
  int64_t beyond = 0, elements = 0;
};

// assert_close, same and allclose with their defaults; nothing if a backend returned nothing.
std::vector<Comparison> comparisons_of(const Case& test_case, const CaseRun& run);

// The rule of torch._dynamo.utils.same(reference, result, fp64_ref=exact, equal_nan=True) for one tensor
// (torch/_dynamo/utils.py, PyTorch 2.11): the result is close to the reference, or its root mean square error
// from the result in f64 is at most two or three times that of the reference.
bool is_same(const Tensor& reference, const Tensor& result, std::span<const double> exact);

}  // namespace fusesmith::fuzz
