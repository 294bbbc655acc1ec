// Metamorphic checks: the inputs are changed by a symmetry of the graph, the program runs again, and every
// value must have changed as the symmetry says, bit for bit. They need no reference: what they find is wrong
// under any.
#pragma once

#include <optional>
#include <string>

#include "backends/backend.h"
#include "fuzz/run/symmetry.h"

namespace fusesmith::fuzz {

struct MetamorphicCheck {
  std::string name;      // "scaling", "exchange"
  int64_t compared = 0;  // elements
  // The first value, in the plan's order, that did not follow: its region, the value's name, the element.
  struct Broken {
    std::string region, value;
    int64_t element;
    double got, want;
  };
  std::optional<Broken> broken;
};

std::string to_string(const MetamorphicCheck::Broken& broken);

using Inputs = std::vector<TensorPtr>;
Inputs scaled_inputs(const Graph& graph, const Inputs& inputs, const Scaling& scaling);
// `places` is a permutation of exchange.size: element i comes from places[i].
Inputs exchanged_inputs(const Graph& graph, const Inputs& inputs, const Exchange& exchange,
                        const std::vector<int64_t>& places);

// Values in which, or before which, a number is subnormal or huge before or after the scaling are not
// compared: there rounding does notice. `guard` runs the same graph unfused and is asked for these.
MetamorphicCheck check_scaling(Program& program, Program& guard, const Graph& graph, const Inputs& inputs,
                               const Scaling& scaling);
// An exchange that is not bit_for_bit is refused: such runs are judged within bounds instead.
MetamorphicCheck check_exchange(Program& program, const Graph& graph, const Inputs& inputs,
                                const Exchange& exchange, const std::vector<int64_t>& places);

}  // namespace fusesmith::fuzz
