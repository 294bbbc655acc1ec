// Samples: a region whose reference would cost too much is judged at some places along its independent axes
// (docs/bounds.md). What is judged there is judged exactly as the whole region would be.
#pragma once

#include <map>

#include "oracle/region_part.h"
#include "oracle/sample_options.h"

namespace fusesmith::oracle {

struct RegionSample {
  RegionPart::Cut cut;
  int64_t all_elements = 0;  // of the outputs of the region

  // The row-major index in the whole tensor of this element of an output in the sample.
  int64_t in_whole(const std::string& value, int64_t element) const;

 private:
  friend class Sampler;
  struct Places {
    Shape whole;
    std::vector<std::vector<int64_t>> kept;  // by axis
  };
  std::map<std::string, Places> places_;  // by output
};

// Nothing where the whole region is to be judged. The sample has the elements of the region's outputs that
// are not finite, and those that differ most from `other`, the trace of another backend, if that is given.
std::optional<RegionSample> draw_sample(const Graph& graph, const Region& region, const Trace& trace,
                                        const SampleOptions& options, const Trace* other = nullptr);

// A few elements, among them this one of an output of the region: what is outside its bounds here is outside
// in the whole region. Nothing where this would save little.
std::optional<RegionSample> draw_small_sample(const Graph& graph, const Region& region, const Trace& trace,
                                              const std::string& value, int64_t element);

}  // namespace fusesmith::oracle
