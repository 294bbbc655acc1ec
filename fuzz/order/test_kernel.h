// Kernels with a known summation tree, for tests. They compute operation by operation in f64, without the
// code that emulates.
#pragma once

#include <algorithm>
#include <cmath>
#include <random>

#include "fuzz/order/random_operands.h"
#include "fuzz/order/raw_tree.h"
#include "fuzz/order/sum_kernel.h"

namespace fusesmith::fuzz {

// Of an operation on two products the first one is there first; `rounded` tells of the others.
struct TestOrder {
  RawTree tree;
  std::vector<ProductUse> uses;
  NodeArithmetic arithmetic;
  Dtype dtype = Dtype::f32;
};

class TestKernel : public SumKernel {
 public:
  explicit TestKernel(TestOrder order, int64_t rows = 7, int64_t columns = 3)
      : order_(std::move(order)), rows_(rows), columns_(columns), order_of_nodes_(bottom_up(order_.tree)) {}

  int64_t terms() const override { return static_cast<int64_t>(order_.uses.size()); }
  Dtype dtype() const override { return order_.dtype; }
  bool has_products() const override { return true; }
  int64_t capacity() const override { return rows_; }

  std::optional<std::vector<double>> run(const std::vector<Probe>& probes, const ProbeValues& values,
                                         bool backwards) override {
    std::vector<double> results;
    for (size_t i = 0; i < probes.size(); ++i) {
      const auto row = static_cast<int64_t>(backwards ? static_cast<size_t>(rows_) - 1 - i : i);
      const std::vector<float> a = row_of(probes[i], values), b = column_of(probes[i], values);
      results.push_back(result(a.data(), b.data(), row, 0));
      for (int64_t column = 1; column < columns_; ++column) {
        if (result(a.data(), b.data(), row, column) != results.back()) return {};
      }
    }
    return results;
  }

  bool same_everywhere(const Probe& probe, const ProbeValues& values) override {
    const std::vector<float> a = row_of(probe, values), b = column_of(probe, values);
    const double first = result(a.data(), b.data(), 0, 0);
    for (int64_t i = 0; i < rows_ * columns_; ++i) {
      if (result(a.data(), b.data(), i / columns_, i % columns_) != first) return false;
    }
    return true;
  }

  ProductSample random_product(ProductData data, uint64_t seed, int64_t) override {
    ProductSample sample;
    sample.operands = {rows_, terms(), columns_, order_.dtype, {}, {}};
    fill_random(data, seed, true, sample.operands);
    std::vector<float> column(static_cast<size_t>(terms()));
    for (int64_t i = 0; i < rows_ * columns_; ++i) {
      for (size_t k = 0; k < column.size(); ++k)
        column[k] = sample.operands.b[k * static_cast<size_t>(columns_) + static_cast<size_t>(i % columns_)];
      const float* a = sample.operands.a.data() + i / columns_ * terms();
      sample.results.push_back(result(a, column.data(), i / columns_, i % columns_));
    }
    return sample;
  }

 protected:
  // Along the tree, rounded to the dtype.
  virtual double result(const float* a, const float* b, int64_t /*row*/, int64_t /*column*/) {
    return round_to(result_dtype(order_.dtype), static_cast<double>(static_cast<float>(sum(a, b))));
  }

  double sum(const float* a, const float* b) const {
    std::vector<double> sums(order_.tree.nodes.size());
    for (const int at : order_of_nodes_) {
      const RawTree::Node& node = order_.tree.nodes[static_cast<size_t>(at)];
      const bool is_group =
          order_.arithmetic.kind == NodeArithmetic::Kind::tensor_core && !node.terms.empty();
      sums[static_cast<size_t>(at)] = is_group ? group(node, sums, a, b) : operation(node, sums, a, b);
    }
    return sums[static_cast<size_t>(order_.tree.root)];
  }

 private:
  std::vector<float> row_of(const Probe& probe, const ProbeValues& values) const {
    std::vector<float> a(static_cast<size_t>(terms()), 0.0f);
    if (probe.units) {
      for (const int64_t k : *probe.units) a[static_cast<size_t>(k)] = values.unit;
    }
    a[static_cast<size_t>(probe.plus)] = values.large;
    a[static_cast<size_t>(probe.minus)] = -values.large;
    return a;
  }

  std::vector<float> column_of(const Probe& probe, const ProbeValues& values) const {
    std::vector<float> b(static_cast<size_t>(terms()),
                         values.is_paired() ? values.unit_factor : values.factor);
    b[static_cast<size_t>(probe.plus)] = b[static_cast<size_t>(probe.minus)] = values.factor;
    return b;
  }

  // x y + z with one rounding, where the product is exact in f64.
  double rounded(double x, double y, double z) const {
    using Kind = NodeArithmetic::Kind;
    if (order_.arithmetic.kind == Kind::f64) return std::fma(x, y, z);
    const float f = std::fma(static_cast<float>(x), static_cast<float>(y), static_cast<float>(z));
    return order_.arithmetic.kind == Kind::narrow_sums ? round_to(order_.dtype, static_cast<double>(f))
                                                       : static_cast<double>(f);
  }

  double operation(const RawTree::Node& node, const std::vector<double>& sums, const float* a,
                   const float* b) const {
    double sum = 0;
    bool first = true;
    for (const int child : node.nodes) {
      sum = first ? sums[static_cast<size_t>(child)] : rounded(sum, 1, sums[static_cast<size_t>(child)]);
      first = false;
    }
    for (const int64_t k : node.terms) {
      const auto x = static_cast<double>(a[k]), y = static_cast<double>(b[k]);
      if (first || order_.uses[static_cast<size_t>(k)].rounded)
        sum = first ? rounded(x, y, 0) : rounded(sum, 1, rounded(x, y, 0));
      else
        sum = rounded(x, y, sum);
      first = false;
    }
    return sum;
  }

  static int top_of(double x) { return x == 0 ? -500 : std::ilogb(x); }
  int top_of_factor(float x) const {
    const int top = std::ilogb(x);
    return order_.arithmetic.normalises ? top : std::max(top, min_exponent(order_.dtype));
  }

  double group(const RawTree::Node& node, const std::vector<double>& sums, const float* a,
               const float* b) const {
    int largest = -500;
    for (const int child : node.nodes) largest = std::max(largest, top_of(sums[static_cast<size_t>(child)]));
    for (const int64_t k : node.terms) {
      if (a[k] != 0 && b[k] != 0) largest = std::max(largest, top_of_factor(a[k]) + top_of_factor(b[k]));
    }
    const double unit = std::ldexp(1, largest - order_.arithmetic.fraction_bits);
    double sum = 0;
    for (const int child : node.nodes) sum += std::trunc(sums[static_cast<size_t>(child)] / unit);
    for (const int64_t k : node.terms)
      sum += std::trunc(static_cast<double>(a[k]) * static_cast<double>(b[k]) / unit);
    if (order_.arithmetic.out_bits != 23 && sum != 0) {
      const double last = std::ldexp(1, std::ilogb(sum) - order_.arithmetic.out_bits);
      sum =
          (order_.arithmetic.rounds_to_nearest ? std::nearbyint(sum / last) : std::trunc(sum / last)) * last;
    }
    const auto y = static_cast<float>(sum * unit);
    const bool away = std::fabs(static_cast<double>(y)) > std::fabs(sum * unit);
    return static_cast<double>(away && !order_.arithmetic.rounds_to_nearest ? std::nextafter(y, 0.0f) : y);
  }

  TestOrder order_;
  int64_t rows_, columns_;
  std::vector<int> order_of_nodes_;
};

// `terms` in chains that begin with a term each: interleaved, or blocks of consecutive terms; their sums are
// added one after the other.
inline RawTree chains(int64_t terms, int64_t count, bool interleaved) {
  RawTree tree;
  std::vector<int> sums;
  for (int64_t c = 0; c < count; ++c) {
    const int64_t step = interleaved ? count : 1, size = terms / count;
    int last = -1;
    for (int64_t i = 0, k = interleaved ? c : c * size; i < size; ++i, k += step) {
      if (i == 1) {
        tree.nodes.push_back({{k - step, k}, {}});
        last = static_cast<int>(tree.nodes.size()) - 1;
      } else if (i > 1) {
        tree.nodes.push_back({{k}, {last}});
        last = static_cast<int>(tree.nodes.size()) - 1;
      }
    }
    sums.push_back(last);
  }
  int sum = sums[0];
  for (size_t i = 1; i < sums.size(); ++i) {
    tree.nodes.push_back({{}, {sum, sums[i]}});
    sum = static_cast<int>(tree.nodes.size()) - 1;
  }
  tree.root = sum;
  return tree;
}

// Groups of `group` consecutive terms, each added to the sum so far at once.
inline RawTree groups(int64_t terms, int64_t group) {
  RawTree tree;
  for (int64_t k = 0; k < terms; k += group) {
    RawTree::Node node;
    for (int64_t i = k; i < std::min(terms, k + group); ++i) node.terms.push_back(i);
    if (k > 0) node.nodes.push_back(static_cast<int>(tree.nodes.size()) - 1);
    tree.nodes.push_back(std::move(node));
  }
  tree.root = static_cast<int>(tree.nodes.size()) - 1;
  return tree;
}

// Operations of 2 to `most_operands` random operands; partial sums alone are added two at a time.
inline RawTree random_tree(int64_t terms, size_t most_operands, std::mt19937_64& random) {
  RawTree tree;
  std::vector<int64_t> operands;  // terms, and -1 - node
  for (int64_t k = 0; k < terms; ++k) operands.push_back(k);
  while (operands.size() > 1) {
    std::shuffle(operands.begin(), operands.end(), random);
    const size_t count =
        std::min(operands.size(), std::uniform_int_distribution<size_t>(2, most_operands)(random));
    RawTree::Node node;
    for (size_t i = 0; i < count && !(i == 2 && node.terms.empty() && operands.back() < 0); ++i) {
      if (operands.back() >= 0)
        node.terms.push_back(operands.back());
      else
        node.nodes.push_back(static_cast<int>(-1 - operands.back()));
      operands.pop_back();
    }
    tree.nodes.push_back(std::move(node));
    operands.push_back(-static_cast<int64_t>(tree.nodes.size()));
  }
  tree.root = static_cast<int>(tree.nodes.size()) - 1;
  return tree;
}

}  // namespace fusesmith::fuzz
