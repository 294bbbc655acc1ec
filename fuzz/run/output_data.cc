#include "fuzz/run/output_data.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "fuzz/base/table.h"

namespace fusesmith::fuzz {

OutputData& OutputData::operator+=(const OutputData& other) {
  outputs += other.outputs;
  constant += other.constant;
  elements += other.elements;
  nan += other.nan;
  return *this;
}

std::string OutputData::text() const {
  std::vector<std::string> parts;
  if (constant > 0)
    parts.push_back(std::to_string(constant) + " of " + counted(outputs, "output") + " constant");
  if (nan > 0)
    parts.push_back(percent(static_cast<double>(nan) / static_cast<double>(elements)) +
                    " of the elements NaN");
  return list_text(parts);
}

OutputData output_data(const Graph& graph, const Trace& trace) {
  OutputData data;
  for (const ValueId output : graph.outputs()) {
    const TensorPtr& tensor = trace.values[static_cast<size_t>(output)];
    if (!tensor) continue;
    const std::vector<double> values = to_f64(*tensor);
    ++data.outputs;
    data.elements += tensor->size();
    data.nan += std::count_if(values.begin(), values.end(), [](double x) { return std::isnan(x); });
    data.constant += values.size() > 1 &&
                     std::all_of(values.begin(), values.end(), [&](double x) { return x == values.front(); });
  }
  return data;
}

nlohmann::ordered_json to_json(const OutputData& data) {
  return {{"outputs", data.outputs},
          {"constant_outputs", data.constant},
          {"elements", data.elements},
          {"nan_elements", data.nan}};
}

}  // namespace fusesmith::fuzz
