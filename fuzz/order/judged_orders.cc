#include "fuzz/order/judged_orders.h"

#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "fuzz/base/clock.h"
#include "fuzz/base/table.h"
#include "fuzz/order/order_json.h"
#include "fuzz/run/backends.h"

namespace fusesmith::fuzz {
namespace {

using Json = nlohmann::ordered_json;

// JSON has no infinities and NaN: they are words.
Json number(double x) { return std::isfinite(x) ? Json(x) : Json(number_text(x)); }

}  // namespace

std::vector<OrderProof> judge_orders(const Case& test_case, const CaseRun& run, const Judging& judging,
                                     OrderCache& cache, double seconds) {
  std::vector<OrderProof> proofs;
  if (!run.baseline || !run.candidate) return proofs;
  const CompileOptions options = compile_options(with_options(test_case, judging.options), judging.options);
  const auto start = std::chrono::steady_clock::now();
  OrderProver prover(test_case.graph, cache, [&] { return seconds_since(start) > seconds; });
  const Side sides[] = {
      {find_backend(judging.baseline), options, run.baseline.get(), &run.baseline_trace},
      {find_backend(judging.candidate), options, run.candidate.get(), &run.candidate_trace}};
  for (const Side& side : sides) {
    for (size_t region = 0; region < side.plan().regions.size(); ++region) {
      if (auto proof = prover.prove(side, region)) proofs.push_back(std::move(*proof));
    }
  }
  return proofs;
}

std::string judged_orders_text(const std::vector<OrderProof>& proofs, size_t columns) {
  if (proofs.empty()) return "";
  Table table({"product", "on", "equal", "order of additions"});
  std::string broken;
  for (const OrderProof& proof : proofs) {
    const bool made = proof.why_not.empty();
    table.add({proof.region, proof.backend,
               made ? std::to_string(proof.equal) + " of " + std::to_string(proof.elements) : "",
               made ? proof.order : "not known: " + proof.why_not});
    if (!proof.is_broken()) continue;
    broken +=
        wrapped(proof.backend + " leaves its order of additions in " +
                    std::to_string(proof.elements - proof.equal) + " of " + std::to_string(proof.elements) +
                    " elements of '" + proof.region + "': element " + std::to_string(proof.element) + " is " +
                    number_text(proof.got) + ", where that order gives " + number_text(proof.want) + ".",
                2) +
        "\n";
  }
  return table.text(2, columns) + broken;
}

nlohmann::ordered_json judged_orders_json(const std::vector<OrderProof>& proofs) {
  Json json = Json::array();
  for (const OrderProof& proof : proofs) {
    Json one = proof_json(proof);
    one["broken"] = proof.is_broken();
    if (proof.element >= 0) {
      one["element"] = proof.element;
      one["got"] = number(proof.got);
      one["want"] = number(proof.want);
    }
    json.push_back(std::move(one));
  }
  return json;
}

}  // namespace fusesmith::fuzz
