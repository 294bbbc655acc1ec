// The resolutions of the cases of a campaign: what of a backend's results would have been found, as a
// histogram. A case counts with the median resolution of its coarsest region (oracle/resolution.h).
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "graph/json_place.h"

namespace fusesmith::fuzz {

class Resolutions {
 public:
  // Nothing is counted of a case without one. What is not positive is none, either.
  void add(std::optional<double> resolution);
  void add(const Resolutions& other);

  int64_t cases() const;
  // Of half of the cases: at least 2^-60, at most 1, and up to 19 % too large, since a bin is a quarter of an
  // octave. 0 where no case is counted.
  double median() const;

  nlohmann::ordered_json json() const;
  void read(const Place& place);

 private:
  std::map<int, int64_t> bins_;  // bin b: above 2^((b - 1) / 4), up to 2^(b / 4)
};

}  // namespace fusesmith::fuzz
