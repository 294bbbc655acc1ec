// Arithmetics that kernels of others are known to use beyond what their contracts say.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "oracle/plan.h"
#include "oracle/verdict.h"

namespace fusesmith::oracle {

enum class Within : uint8_t {
  no,
  undecided,  // the bounds say nothing of what failed
  loosely,    // but they are too coarse for a verdict
  decidedly,
  sharply
};

struct KnownArithmetic {
  Diagnosis diagnosis;
  // Grants it to the contract of a region. Whether it can apply there.
  std::function<bool(const Graph& graph, const Region& region, Contract& contract)> grant;
  Within least = Within::undecided;  // to be an excuse; more where the bounds with it may allow a mistake
  // Narrows what the contract declares, so that it explains no failure, but may decide what is inconclusive.
  bool is_sharper = false;
  bool narrows() const { return is_sharper && !is_plain; }
  // What the graph says, although the contract allows more: nothing is named where it decides.
  bool is_plain = false;
  // May also decide beside another one, each of which says too little alone.
  bool combines = false;
  bool of_kernels = false;  // Lowering::of_kernels
  bool is_graph = false;    // computes the op as another graph (oracle/lowerings.h)
  // Adds to bounds, also beside others that do: what all of these together leave outside, each leaves
  // outside.
  bool widens = false;

  // `is_kernel`: as in Execution.
  bool is_customary(bool is_kernel) const { return diagnosis.customary && (is_kernel || !of_kernels); }
};

inline constexpr std::string_view kOpOfRegion = "OP";  // in a declaration: the name of this op

inline std::string in_quotes(std::string_view text) { return "\"" + std::string(text) + "\""; }

// Changes the arithmetic of the region and those of single ops; whether any changed.
template <class Change>
bool change_arithmetic(Contract& contract, Change change) {
  const Contract before = contract;
  change(contract.arithmetic);
  for (auto& [op, arithmetic] : contract.arithmetic_of) change(arithmetic);
  return contract != before;
}

// In the order in which they are tried: the customary ones first.
const std::vector<KnownArithmetic>& known_arithmetics();

using Granted = std::vector<const KnownArithmetic*>;  // together

// What may decide where a contract leaves too much open: each customary one alone, then those that combine
// beside each other one. `is_kernel`: as in Execution.
std::vector<Granted> ways_to_sharpen(bool is_kernel);

}  // namespace fusesmith::oracle
