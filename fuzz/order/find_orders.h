// The order of a sum on a backend: compiled, revealed, and held against random products.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "fuzz/order/order.h"
#include "fuzz/order/sum_spec.h"

namespace fusesmith::fuzz {

// The results of a product whose sums have one order.
struct PartOrder {
  std::vector<bool> results;  // which ones, in the order of the tensor
  OrderReport report;

  int64_t size() const { return std::count(results.begin(), results.end(), true); }
};

struct BackendOrder {
  std::string backend;
  Versions versions;
  std::string device;
  std::string unsupported;       // or why the backend failed; else empty
  std::vector<PartOrder> parts;  // the largest first; empty if it did not run
  // The largest number of additions that a term passes, as the contract has it; 0: it allows any order.
  double declared_height = 0;
  double seconds = 0;

  bool is_known() const;  // in all parts
};

// What a worker throws becomes `unsupported`; a device that failed is passed on.
BackendOrder order_on(const Backend& backend, const SumSpec& spec, const Graph& graph,
                      const Deadlines& deadlines, const OrderOptions& options);

// Whether both orders are known and give the same bits on all data; what keeps them from it, or empty.
std::string difference_between(const BackendOrder& a, const BackendOrder& b);

}  // namespace fusesmith::fuzz
