// Whether the outputs of a case say anything: results that are NaN, or all equal, hide what a kernel does.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "graph/graph.h"
#include "oracle/plan.h"

namespace fusesmith::fuzz {

struct OutputData {
  int64_t outputs = 0;
  int64_t constant = 0;  // outputs of two or more elements that are all equal
  int64_t elements = 0;
  int64_t nan = 0;  // elements

  OutputData& operator+=(const OutputData& other);
  // "2 of 14 outputs are constant, 3.1 % of the elements are NaN"; empty where neither is the case.
  std::string text() const;
};

// Of what a backend stored in a step.
OutputData output_data(const Graph& graph, const Trace& trace);

nlohmann::ordered_json to_json(const OutputData& data);

}  // namespace fusesmith::fuzz
