// Resolution: the smallest relative change of a correct result that the judge finds, so what a verdict that a
// region is right does not exclude. docs/verdicts.md derives it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "oracle/bounded.h"

namespace fusesmith::oracle {

// What a verdict on code of others must resolve. A change that is smaller than 1/64 may be rounding in bf16,
// whose exact elements have a resolution of 2^-7.
inline constexpr double kCoarsest = 0x1p-6;

struct Resolution {
  // That have one: their result is finite, and neither 0 nor too small to be stored as a normal number. The
  // figures below are 0 if there are none.
  int64_t elements = 0;
  double least = 0;   // found if all elements of an output change by it
  double median = 0;  // found in half of the elements, as a sample of them says
  double worst = 0;   // found in each element; infinite where nothing is known of one

  // Those of another output of the region. The coarser output counts.
  void add(const Resolution& other) {
    elements += other.elements;
    least = std::max(least, other.least);
    median = std::max(median, other.median);
    worst = std::max(worst, other.worst);
  }
};

// Of one element, (w + ulp(v)) / |v| with w = error_before_store: the exact result v, made smaller by more
// than that, is stored as a value outside of [rnd(v - w), rnd(v + w)]. Infinite if v is 0, underflows or
// overflows, and e reaches further than that. Negative if the element has no resolution.
double resolution_of_element(Dtype dtype, bool computed, double v, double e);

enum class ReadElements : uint8_t {
  all,
  sample,  // elements, least and worst are those of the sample as well
};

// Of an output of a region. Integers and booleans have none, since every change of them is found.
Resolution resolution_of(const Bounded& output, bool computed, ReadElements read = ReadElements::all);

}  // namespace fusesmith::oracle
