// What the proofs of orders show, as a sentence and as a table.
#include "fuzz/explain/proofs_text.h"

#include "fuzz/base/table.h"

namespace fusesmith::fuzz {

constexpr int kMostNamed = 3;  // in the sentence; the table has all

std::string proofs_sentence(const OrderProofs& orders) {
  std::string text;
  int named = 0;
  for (const auto& [baseline, candidate] : orders) {
    if (!baseline.holds() || !candidate.holds() || ++named > kMostNamed) continue;
    text += (text.empty() ? " Emulating the order in which each backend adds gives its bits: " : "; ") +
            baseline.backend + "'s in all " + std::to_string(baseline.elements) + " elements of region '" +
            baseline.region + "', " + candidate.backend + "'s in all " + std::to_string(candidate.elements) +
            " elements of region '" + candidate.region + "'";
  }
  return text.empty() ? "" : text + ".";
}

std::string proofs_table(const OrderProofs& orders, size_t columns) {
  if (orders.empty()) return "";
  Table table({"region", "on", "equal", "order of additions"});
  for (const auto& [baseline, candidate] : orders) {
    for (const OrderProof* proof : {&baseline, &candidate}) {
      const bool made = proof->why_not.empty();
      table.add({proof->region, proof->backend,
                 made ? std::to_string(proof->equal) + " of " + std::to_string(proof->elements) : "",
                 made ? proof->order : "not emulated: " + proof->why_not});
    }
  }
  return "\n" +
         wrapped(
             "Products computed again from the operands that the backend read, in the order that was "
             "revealed (docs/orders.md).") +
         "\n" + table.text(2, columns);
}

}  // namespace fusesmith::fuzz
