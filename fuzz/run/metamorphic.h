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
inline constexpr std::array<std::string_view, 4> kMetamorphicChecks = {"scaling", "exchange", "isolation",
                                                                       "subset"};
// What policy.metamorphic may require of the candidate, whatever its contract says: a row has the same bits
// among fewer rows (the check `subset`), and at another place among the others (`exchange`).
inline constexpr std::string_view kBatchInvariance = "batch_invariance",
                                  kPositionInvariance = "position_invariance";
inline constexpr std::array kInvariances = {kBatchInvariance, kPositionInvariance};
// The check that an entry of policy.metamorphic asks for, one of kMetamorphicChecks.
constexpr std::string_view check_of(std::string_view entry) {
  return entry == kBatchInvariance ? "subset" : entry == kPositionInvariance ? "exchange" : entry;
}

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

// Two runs of one program: of the inputs, and of the scaled ones.
struct ScaledRuns {
  const Trace &before, &after;
};
// Values in which, or before which, a number is subnormal or huge in one of the runs are not compared: there
// rounding does notice the scaling. `unfused` are runs that show the values inside of regions; where they do
// not, nothing is compared.
MetamorphicCheck check_scaling(const Plan& plan, const Graph& graph, const ScaledRuns& own,
                               const ScaledRuns& unfused, const Scaling& scaling);
// `before` is the program's own trace of the inputs. For an exchange that is bit_for_bit, or that the program
// promises (promises_all_positions).
MetamorphicCheck check_exchange(Program& program, const Graph& graph, const Trace& before,
                                const Exchange& exchange, const std::vector<int64_t>& places);

// Up to eight elements along the last axis, the given one among them.
BothRuns row_of(const Tensor& before, const Tensor& after, int64_t element);

// Nothing where a worker's program refuses the inputs by an exception: it need not take NaN, infinities or
// other shapes, and that says nothing of its results.
std::optional<Trace> run_unless_refused(Program& program, const Inputs& inputs);

// Whether every region of the plan is position invariant by its contract.
bool promises_all_positions(const Plan& plan);

// Whether the plan's softmax and attention regions all add up rows in a stated order. One that does not (in
// cuDNN) may walk a row by where it starts, so that exchanged rows need not keep their bits.
bool promises_exchanged_bits(const Graph& graph, const Plan& plan);

}  // namespace fusesmith::fuzz
