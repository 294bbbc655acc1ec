#include "fuzz/order/order.h"

#include <algorithm>
#include <random>

#include "fuzz/order/declared_accumulator.h"
#include "fuzz/order/emulate.h"
#include "fuzz/order/reveal.h"

namespace fusesmith::fuzz {
namespace {

constexpr int64_t kTrials =
    5;  // products on which every possible arithmetic is tried: one of each kind of data

struct Comparison {
  int64_t elements = 0, equal = 0;
};

Comparison compare(const Order& order, const ProductSample& sample) {
  const std::vector<double> expected = expected_results(order, sample);
  Comparison all;
  for (size_t i = 0; i < expected.size(); ++i) {
    if (!sample.is_wanted(i)) continue;
    ++all.elements;
    all.equal += is_same(expected[i], sample.results[i]) ? 1 : 0;
  }
  return all;
}

class Finding {
 public:
  Finding(SumKernel& kernel, const OrderOptions& options, const std::function<bool()>& stop)
      : kernel_(kernel), options_(options), stop_(stop) {}

  OrderReport run() {
    if (find_tree() && find_arithmetic()) compare_all();
    return std::move(report_);
  }

 private:
  bool fail(OrderReport::State state, std::string reason) {
    report_.state = state;
    report_.reason = std::move(reason);
    return false;
  }

  std::optional<SumTree> reveal_once(bool other_probes) {
    const auto revealed =
        reveal(kernel_, {other_probes, options_.seed + (other_probes ? 1 : 0), options_.most_probes});
    if (!revealed) {
      fail(OrderReport::State::no_tree, revealed.problem());
      return {};
    }
    report_.probes += revealed->probes;
    report_.calls += revealed->calls;
    return revealed->tree;
  }

  bool find_tree() {
    if (!same_everywhere()) return false;
    const auto first = reveal_once(false);
    if (!first) return false;
    const auto second = reveal_once(true);
    if (!second) return false;
    tree_ = *first;
    if (*first == *second) return true;
    report_.order.tree = tree_;
    return fail(OrderReport::State::no_tree, "other probes show another tree");
  }

  // Rows, columns and batch: some probes, each in every place of the product.
  bool same_everywhere() {
    const int64_t terms = kernel_.terms();
    if (terms < 2) return true;
    const ProbeDtype dtype = probe_dtype(kernel_.dtype());
    std::vector<int64_t> units;
    for (int64_t k = 0; k < terms && static_cast<int64_t>(units.size()) < dtype.most_units;
         k += (terms + dtype.most_units - 1) / dtype.most_units)
      units.push_back(k);
    const auto shared = std::make_shared<const std::vector<int64_t>>(std::move(units));
    std::mt19937_64 random(options_.seed);
    for (int i = 0; i < 4; ++i) {
      const auto plus = static_cast<int64_t>(random() % static_cast<uint64_t>(terms));
      const auto minus =
          (plus + 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(terms - 1))) % terms;
      if (!kernel_.same_everywhere({plus, minus, shared}, dtype.values))
        return fail(OrderReport::State::no_tree, "the tree depends on the row, the column or the batch");
    }
    return true;
  }

  ProductSample product(int64_t number) {
    const int64_t most =
        std::clamp(options_.most_terms / std::max<int64_t>(kernel_.terms(), 1), int64_t{64}, int64_t{4096});
    const auto kinds = static_cast<int64_t>(std::size(kProductData));
    return kernel_.random_product(kProductData[number % kinds],
                                  options_.seed + 1000 + static_cast<uint64_t>(number), most);
  }

  // Probes cannot tell whether a product that is exact is rounded: that matters to f32 alone.
  Order order_with(const NodeArithmetic& arithmetic) const {
    Order order{tree_, arithmetic};
    if (arithmetic.kind == NodeArithmetic::Kind::f32 && arithmetic.operands == NodeArithmetic::Operands::kept)
      return order;
    for (SumNode& node : order.tree.nodes) node.rounds_products = false;
    return order;
  }

  Comparison compare_with_samples(const Order& order) const {
    Comparison all;
    for (const ProductSample& sample : samples_) {
      const auto [elements, equal] = compare(order, sample);
      all.elements += elements;
      all.equal += equal;
    }
    return all;
  }

  // The first arithmetic that gives all bits of some products; else the nearest one.
  bool find_arithmetic() {
    left_ = possible_arithmetic(tree_, kernel_.dtype(), kernel_.may_use_tf32());
    for (int64_t i = 0; i < kTrials; ++i) samples_.push_back(product(options_.products + i));
    if (take_next_arithmetic()) return true;
    return fail(OrderReport::State::unequal, "no known arithmetic gives the kernel's bits");
  }

  // Of those that were not tried yet, the first one that gives all bits of all samples. Where there is none,
  // the order stays, or is the nearest one if there was none before.
  bool take_next_arithmetic() {
    const bool is_first = report_.order.tree.nodes.empty();
    while (!left_.empty()) {
      const Order order = order_with(left_.front());
      left_.erase(left_.begin());
      const auto [elements, equal] = compare_with_samples(order);
      const bool all = equal == elements;
      const bool is_nearest =
          is_first && (report_.order.tree.nodes.empty() || equal > report_.equal_elements);
      if (!all && !is_nearest) continue;
      report_.order = order;
      report_.elements = elements;
      report_.equal_elements = equal;
      if (all) return true;
    }
    return false;
  }

  void trust() {
    report_.state = OrderReport::State::trusted;
    if (graph::is_quantized(kernel_.dtype())) report_.accumulator = accumulator_of(report_.order);
  }

  // Some kinds of arithmetic differ in one result of 100,000 only: where the one that was taken fails, the
  // next one is held against all products so far.
  void compare_all() {
    report_.elements = report_.equal_elements = 0;
    samples_.clear();
    for (int64_t i = 0; i < options_.products && !(stop_ && stop_()); ++i) {
      samples_.push_back(product(i));
      auto [elements, equal] = compare(report_.order, samples_.back());
      ++report_.products;
      const bool is_replaced = equal != elements && take_next_arithmetic();
      if (is_replaced) {
        report_.equal_products = report_.products;
        continue;
      }
      report_.equal_products += equal == elements ? 1 : 0;
      report_.elements += elements;
      report_.equal_elements += equal;
    }
    if (report_.equal_products == options_.products)
      trust();
    else if (report_.products < options_.products)
      fail(OrderReport::State::unequal, "stopped before all random products were compared");
    else
      fail(OrderReport::State::unequal, "some random products have other bits");
  }

  SumKernel& kernel_;
  const OrderOptions options_;
  const std::function<bool()>& stop_;
  SumTree tree_;
  std::vector<NodeArithmetic> left_;    // not tried yet
  std::vector<ProductSample> samples_;  // on which an arithmetic must give all bits
  OrderReport report_;
};

}  // namespace

std::vector<double> expected_results(const Order& order, const ProductSample& sample) {
  const std::vector<float> sums = emulate(order.tree, order.arithmetic, sample.operands);
  std::vector<double> results;
  results.reserve(sums.size());
  const auto columns = static_cast<size_t>(sample.operands.columns);
  for (size_t i = 0; i < sums.size(); ++i) {
    float y = sums[i];
    if (!sample.bias.empty()) y += sample.bias[i % columns];
    if (sample.relu) y = y > 0 ? y : 0;
    results.push_back(round_to(result_dtype(sample.operands.dtype), static_cast<double>(y)));
  }
  return results;
}

OrderReport find_order(SumKernel& kernel, const OrderOptions& options, const std::function<bool()>& stop) {
  return Finding(kernel, options, stop).run();
}

}  // namespace fusesmith::fuzz
