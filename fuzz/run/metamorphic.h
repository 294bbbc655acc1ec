// Metamorphic checks: the inputs are changed by a symmetry of the graph, the program runs again, and every
// value must have changed as the symmetry says, bit for bit. They need no reference: what they find is wrong
// under any.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "backends/backend.h"
#include "fuzz/run/symmetry.h"

namespace fusesmith::fuzz {

// As policy.metamorphic and stats.json name them.
inline constexpr std::array<std::string_view, 2> kMetamorphicChecks = {"scaling", "exchange"};

struct MetamorphicCheck {
  int64_t compared = 0;  // elements
  // The first element, in the plan's order, that did not follow: what it must be, and what it is.
  std::optional<Disagreement> broken;
};

using Inputs = std::vector<TensorPtr>;
Inputs scaled_inputs(const Graph& graph, std::span<const TensorPtr> inputs, const Scaling& scaling);
// `places` is a permutation of exchange.size: element i comes from places[i].
Inputs exchanged_inputs(const Graph& graph, std::span<const TensorPtr> inputs, const Exchange& exchange,
                        const std::vector<int64_t>& places);

// `before` is the program's own trace of the inputs. Values in which, or before which, a number is subnormal
// or huge before or after the scaling are not compared: there rounding does notice. `unfused` is another
// trace of the same inputs, which is asked for these; what it lacks is not compared either.
MetamorphicCheck check_scaling(Program& program, const Graph& graph, const Trace& before,
                               const Trace& unfused, const Scaling& scaling);
// An exchange that is not bit_for_bit is refused: such runs are judged within bounds instead.
MetamorphicCheck check_exchange(Program& program, const Graph& graph, const Trace& before,
                                const Exchange& exchange, const std::vector<int64_t>& places);

// Whether the plan's softmax and attention regions all add up rows in a stated order. One that does not (in
// cuDNN) may walk a row by where it starts, so that exchanged rows need not keep their bits.
bool promises_exchanged_bits(const Graph& graph, const Plan& plan);

}  // namespace fusesmith::fuzz
