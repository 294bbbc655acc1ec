// Proofs that a product's order of additions explains its bits: the product is computed again along the order
// that was revealed, from the operands that the backend read, and held against what the backend left.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "fuzz/order/find_orders.h"
#include "fuzz/run/side.h"

namespace fusesmith::fuzz {

struct OrderProof {
  std::string region, backend;
  std::string order;    // "8 interleaved chains of 64 terms, added pairwise"; empty: not known
  std::string why_not;  // why nothing was computed again
  int64_t elements = 0, equal = 0;
  bool is_uniform = false;  // all elements have this order
  // The first one with other bits than the order gives: its row-major index, what it is, and what it should
  // be.
  int64_t element = -1;
  double got = 0, want = 0;

  bool holds() const { return elements > 0 && equal == elements; }
  // By majority: the order gives the bits of nearly all elements, so that it is the one that the kernel has,
  // and others are wrong, however near they are.
  bool is_broken() const {
    return is_uniform && elements >= 20 && equal < elements && 10 * equal >= 9 * elements;
  }
};

// Of one product: the baseline's, then the candidate's.
using OrderProofs = std::vector<std::pair<OrderProof, OrderProof>>;

// Reveals each order once.
class OrderCache {
 public:
  const BackendOrder& of(const Side& side, const SumSpec& spec);

 private:
  std::map<std::string, BackendOrder> orders_;  // by backend and spec
};

class OrderProver {
 public:
  // Refers to all of them. No order is revealed once `out_of_time`.
  OrderProver(const Graph& graph, OrderCache& cache, std::function<bool()> out_of_time)
      : graph_(graph), cache_(cache), out_of_time_(std::move(out_of_time)) {}

  // Of a region of the side's plan; nothing where it is no product (product_region.h). What the backend
  // throws becomes `why_not`, a device that failed is passed on.
  std::optional<OrderProof> prove(const Side& side, size_t region);

 private:
  const Graph& graph_;
  OrderCache& cache_;
  std::function<bool()> out_of_time_;
};

// Of the regions of the candidate's plan that are products there and on the baseline.
OrderProofs prove_orders(const Graph& graph, const Side& baseline, const Side& candidate,
                         const std::vector<size_t>& regions, const std::function<bool()>& out_of_time);

}  // namespace fusesmith::fuzz
