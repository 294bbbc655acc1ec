// Operands that have a memory layout: how a fused kernel reads them in place, by strides, as kernels do in
// the field. What a kernel's parameters cannot express (a norm whose rows have no common distance, a bias) is
// left to a dense copy.
#pragma once

#include "backends/rewrite/rewrite.h"

namespace fusesmith::backends {

// For every input of the region that has a layout: puts its strides into the op and moves it from `copied` to
// `strided`, if the op can express all of its reads that have strides at all. For executors whose kernels
// read strided inputs in place. `faults` are those that are on; mistakes of reading strides are made here.
void read_in_place(const Graph& graph, const Faults& faults, FusedRegion& fused);

}  // namespace fusesmith::backends
