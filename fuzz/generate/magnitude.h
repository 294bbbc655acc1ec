// Rough sizes of values, by which the generator keeps graphs in the range of f16 and its data natural.
// Estimates only: nothing is judged by them.
#pragma once

#include <span>

#include "graph/fill.h"
#include "graph/op.h"

namespace fusesmith::fuzz {

struct Magnitude {
  double rms = 1;
  bool finite = true;       // no infinity or NaN is to be expected
  bool one_signed = false;  // sums of such values grow with their number, not with its root
};

Magnitude magnitude_of(const Fill& fill);
// Of the op's outputs, from those of its inputs; `output` is the first.
Magnitude magnitude_of(const Op& op, std::span<const Magnitude> inputs, TypeSpan input_types,
                       const TensorType& output);

// Multiply-adds (for the rest: elements touched) and elements held while the op's first output is computed.
struct Work {
  int64_t operations = 0;
  int64_t elements = 0;
};
Work work_of(const Op& op, TypeSpan inputs, const TensorType& output);

}  // namespace fusesmith::fuzz
