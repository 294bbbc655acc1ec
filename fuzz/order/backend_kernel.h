// BackendKernel: the product or sum of a graph of one node on a backend, as find_order (order.h) calls
// it.
#pragma once

#include <memory>
#include <random>

#include "backends/backend.h"
#include "fuzz/order/sum_kernel.h"
#include "fuzz/order/sum_spec.h"

namespace fusesmith::fuzz {

class BackendKernel : public SumKernel {
 public:
  // `graph`: that of the spec. The program is the graph's.
  BackendKernel(const SumSpec& spec, const Graph& graph, std::unique_ptr<Program> program);

  const Plan& plan() const { return program_->plan(); }

  // The results whose sums have the same order, as far as some probes tell: one set for most kernels.
  std::vector<std::vector<bool>> places_of_orders(uint64_t seed);
  // From now on only these results are looked at.
  void want(std::vector<bool> results);

  int64_t terms() const override { return spec_.k; }
  Dtype dtype() const override { return spec_.dtype; }
  bool has_products() const override { return spec_.op != "reduce_sum"; }
  bool may_use_tf32() const override { return spec_.tf32 && spec_.dtype == Dtype::f32; }
  int64_t capacity() const override { return static_cast<int64_t>(places_.size()); }
  std::optional<std::vector<double>> run(const std::vector<Probe>& probes, const ProbeValues& values,
                                         bool backwards) override;
  bool same_everywhere(const Probe& probe, const ProbeValues& values) override;
  ProductSample random_product(ProductData data, uint64_t seed, int64_t most_elements) override;

 private:
  // Where the terms of each place of an operand lie: place p = (batch, outer, inner), in elements.
  struct Layout {
    int64_t batches = 1, outer = 1, inner = 1;
    int64_t batch_stride = 0, outer_stride = 0, inner_stride = 1, term_stride = 1;

    int64_t places() const { return batches * outer * inner; }
    int64_t first(int64_t place) const {
      return place / (outer * inner) * batch_stride + place / inner % outer * outer_stride +
             place % inner * inner_stride;
    }
  };

  // Where a probe lies in the probed operand, and where its factors lie in the other one if they are its own.
  struct Place {
    int64_t probed = 0, other = 0;
    size_t result = 0;  // of both
  };

  void lay_out();
  bool is_paired() const { return has_products() && probe_dtype(spec_.dtype).values.is_paired(); }
  Probe place_probe(int number, const ProbeDtype& dtype, std::mt19937_64& random) const;
  std::vector<Place> every_place() const;
  Tensor with_probes(const std::vector<Probe>& probes, const ProbeValues& values,
                     const std::vector<Place>& places) const;
  Tensor with_factors(const std::vector<Probe>& probes, const ProbeValues& values,
                      const std::vector<Place>& places) const;
  // The results with the probes in these places, one after the other, and again where there are more places.
  std::vector<double> results_of(const std::vector<Probe>& probes, const ProbeValues& values,
                                 const std::vector<Place>& places);
  std::vector<double> run_program(const std::vector<TensorPtr>& inputs);
  // The wanted results of one place of the probed operand.
  std::vector<size_t> results_at(int64_t place) const;
  int64_t other_place(size_t result) const;
  Operands random_batch(ProductData data, uint64_t seed, std::vector<Tensor>& tensors, int64_t batch) const;

  // Rows and columns of the result of one batch element.
  struct Wanted {
    int64_t batch;
    std::vector<int64_t> rows, columns;
  };
  Wanted some_wanted(int64_t rows, int64_t columns, std::mt19937_64& random) const;
  ProductSample sample_of(const Operands& all, const std::vector<float>& bias, const Wanted& wanted,
                          const std::vector<double>& y) const;

  SumSpec spec_;
  Graph graph_;
  std::unique_ptr<Program> program_;
  ValueId result_;
  std::vector<Layout> layouts_;  // of the operands
  bool by_columns_ = false;      // probes lie in b
  Layout probed_, other_;
  std::vector<bool> wanted_;
  std::vector<Place> places_;  // with wanted results
};

}  // namespace fusesmith::fuzz
