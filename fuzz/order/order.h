// Order: how a kernel adds up, revealed and then held against the kernel on random products.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "fuzz/order/node_arithmetic.h"
#include "fuzz/order/sum_kernel.h"
#include "fuzz/order/sum_tree.h"
#include "oracle/contract.h"

namespace fusesmith::fuzz {

struct Order {
  SumTree tree;
  NodeArithmetic arithmetic;
  bool operator==(const Order&) const = default;
};

struct OrderOptions {
  int64_t products = 100;                 // random ones, of which every one must be equal
  int64_t most_terms = int64_t{1} << 21;  // that are emulated for one product
  int64_t most_probes = int64_t{1} << 20;
  uint64_t seed = 1;
};

// What was found out about a kernel.
struct OrderReport {
  enum class State : uint8_t {
    trusted,  // every emulated result had the kernel's bits
    unequal,  // there is a tree, but no known arithmetic gives the kernel's bits
    no_tree,  // the probes contradict each other
  };
  State state = State::no_tree;
  std::string reason;  // why it is not trusted, in one line
  Order order;         // empty without a tree; of `unequal`, with the nearest arithmetic
  int64_t probes = 0, calls = 0;
  int64_t products = 0, equal_products = 0;  // random ones with that arithmetic
  int64_t elements = 0, equal_elements = 0;
  // Of a trusted order of 8-bit floats that the contract key `accumulator` describes.
  std::optional<oracle::Accumulator> accumulator = {};
};

// Reveals the tree twice, with other probes; looks for the arithmetic on some random products; and holds both
// against `products` further ones. `stop` ends it early, with what was found so far.
OrderReport find_order(SumKernel& kernel, const OrderOptions& options = {},
                       const std::function<bool()>& stop = {});

// The results that the kernel must have for this sample, as stored numbers.
std::vector<double> expected_results(const Order& order, const ProductSample& sample);

}  // namespace fusesmith::fuzz
