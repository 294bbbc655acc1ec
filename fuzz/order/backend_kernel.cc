#include "fuzz/order/backend_kernel.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "oracle/order/random_operands.h"

namespace fusesmith::fuzz {
namespace {

void fill_with(Tensor& tensor, double x) {
  const float value = static_cast<float>(x);
  if (tensor.type.dtype == Dtype::f32) {
    std::fill(tensor.as<float>().begin(), tensor.as<float>().end(), value);
    return;
  }
  tensor.set(0, x);
  const std::span<uint16_t> bits = tensor.as<uint16_t>();
  std::fill(bits.begin(), bits.end(), bits[0]);
}

TensorPtr shared(Tensor tensor) { return std::make_shared<const Tensor>(std::move(tensor)); }

// The first `count` of a random order of 0, 1, ..., size - 1.
std::vector<int64_t> some_of(int64_t size, int64_t count, std::mt19937_64& random) {
  std::vector<int64_t> all(static_cast<size_t>(size));
  std::iota(all.begin(), all.end(), int64_t{0});
  std::shuffle(all.begin(), all.end(), random);
  all.resize(static_cast<size_t>(count));
  return all;
}

}  // namespace

BackendKernel::BackendKernel(const SumSpec& spec, const Graph& graph, std::unique_ptr<Program> program)
    : spec_(spec), graph_(graph), program_(std::move(program)), result_(graph_.outputs()[0]) {
  if (spec_.op == "linear") {  // x [batch, m, k] is one tall matrix
    spec_.m *= spec_.batch;
    spec_.batch = 1;
  }
  lay_out();
}

void BackendKernel::lay_out() {
  const int64_t m = spec_.m, n = spec_.n, k = spec_.k;
  if (!has_products()) {
    layouts_ = {{1, m, n, 0, k * n, 1, n}};
  } else {
    const bool b_by_rows = spec_.op == "linear" || spec_.transpose_b;
    layouts_ = {{spec_.batch, m, 1, m * k, spec_.transpose_a ? 1 : k, 1, spec_.transpose_a ? m : 1},
                {spec_.batch, n, 1, n * k, b_by_rows ? k : 1, 1, b_by_rows ? 1 : n}};
    by_columns_ = n > m;
  }
  probed_ = layouts_[by_columns_ ? 1 : 0];
}

std::vector<double> BackendKernel::run_program(const std::vector<TensorPtr>& inputs) {
  return to_f64(*program_->run(inputs).values.at(static_cast<size_t>(result_)));
}

Tensor BackendKernel::with_probes(const std::vector<Probe>& probes, const ProbeValues& values,
                                  const std::vector<int64_t>& places) const {
  Tensor tensor(graph_.type(by_columns_ ? 1 : 0));
  const auto put = [&](int64_t first, int64_t term, float x) {
    tensor.set(first + term * probed_.term_stride, static_cast<double>(x));
  };
  for (size_t i = 0; i < places.size(); ++i) {
    const Probe& probe = probes[i % probes.size()];
    const int64_t first = probed_.first(places[i]);
    if (probe.units) {
      for (const int64_t term : *probe.units) put(first, term, values.unit);
    }
    put(first, probe.plus, values.large);
    put(first, probe.minus, -values.large);
  }
  return tensor;
}

std::vector<double> BackendKernel::results_of(Tensor probed, const ProbeValues& values) {
  std::vector<TensorPtr> inputs;
  const auto count = static_cast<ValueId>(graph_.inputs().size());
  for (ValueId input = 0; input < count; ++input) {
    if (input == (by_columns_ ? 1 : 0)) {
      inputs.push_back(shared(std::move(probed)));
      continue;
    }
    Tensor other(graph_.type(input));
    if (input < 2) fill_with(other, static_cast<double>(values.factor));  // else the bias, which is 0
    inputs.push_back(shared(std::move(other)));
  }
  return run_program(inputs);
}

std::vector<size_t> BackendKernel::results_at(int64_t place) const {
  if (!has_products()) return {static_cast<size_t>(place)};
  const int64_t m = spec_.m, n = spec_.n, batch = place / probed_.outer, index = place % probed_.outer;
  std::vector<size_t> results(static_cast<size_t>(by_columns_ ? m : n));
  for (size_t i = 0; i < results.size(); ++i) {
    const auto other = static_cast<int64_t>(i);
    results[i] = static_cast<size_t>(batch * m * n + (by_columns_ ? other * n + index : index * n + other));
  }
  return results;
}

std::optional<std::vector<double>> BackendKernel::run(const std::vector<Probe>& probes,
                                                      const ProbeValues& values, bool backwards) {
  std::vector<int64_t> places(probes.size());
  std::iota(places.begin(), places.end(), int64_t{0});
  if (backwards) {
    for (int64_t& place : places) place = capacity() - 1 - place;
  }
  const std::vector<double> y = results_of(with_probes(probes, values, places), values);
  std::vector<double> results;
  for (const int64_t place : places) {
    const std::vector<size_t> at = results_at(place);
    results.push_back(y[at[0]]);
    if (!std::all_of(at.begin(), at.end(), [&](size_t i) { return y[i] == y[at[0]]; })) return {};
  }
  return results;
}

bool BackendKernel::same_everywhere(const Probe& probe, const ProbeValues& values) {
  std::vector<int64_t> places(static_cast<size_t>(capacity()));
  std::iota(places.begin(), places.end(), int64_t{0});
  const std::vector<double> y = results_of(with_probes({probe}, values, places), values);
  return std::all_of(y.begin(), y.end(), [&](double x) { return x == y[0]; });
}

// Fills the batch's part of the tensors.
Operands BackendKernel::random_batch(ProductData data, uint64_t seed, std::vector<Tensor>& tensors,
                                     int64_t batch) const {
  Operands in{has_products() ? spec_.m : spec_.m * spec_.n,
              spec_.k,
              has_products() ? spec_.n : 1,
              spec_.dtype,
              {},
              {}};
  fill_random(data, seed, has_products(), in);
  const auto store = [&](size_t operand, int64_t place, auto value) {
    const int64_t first = layouts_[operand].first(place);
    for (int64_t k = 0; k < spec_.k; ++k)
      tensors[operand].set(first + k * layouts_[operand].term_stride, static_cast<double>(value(k)));
  };
  for (int64_t row = 0; row < in.rows; ++row)
    store(0, batch * in.rows + row, [&](int64_t k) { return in.a[static_cast<size_t>(row * in.terms + k)]; });
  for (int64_t column = 0; has_products() && column < in.columns; ++column) {
    store(1, batch * in.columns + column,
          [&](int64_t k) { return in.b[static_cast<size_t>(k * in.columns + column)]; });
  }
  return in;
}

ProductSample BackendKernel::random_product(ProductData data, uint64_t seed, int64_t most_elements) {
  std::mt19937_64 random(seed);
  std::vector<Tensor> tensors;
  for (ValueId input = 0; input < static_cast<ValueId>(graph_.inputs().size()); ++input)
    tensors.emplace_back(graph_.type(input));
  const auto batch = static_cast<int64_t>(random() % static_cast<uint64_t>(spec_.batch));  // is looked at
  Operands all;
  for (int64_t i = 0; i < spec_.batch; ++i) {
    Operands in = random_batch(data, random(), tensors, i);
    if (i == batch) all = std::move(in);
  }
  ProductSample sample;
  sample.relu = spec_.relu;
  std::vector<float> bias;
  if (tensors.size() > 2 && data != ProductData::cancelling) {  // there it would hide the rounding errors
    Operands drawn{1, spec_.n, 1, spec_.dtype, {}, {}};
    fill_random(data, random(), false, drawn);
    bias = drawn.a;
    for (size_t i = 0; i < bias.size(); ++i)
      tensors[2].set(static_cast<int64_t>(i), static_cast<double>(bias[i]));
  }
  const int64_t fewest = std::min<int64_t>(all.columns, 64),
                rows = std::clamp<int64_t>(most_elements / fewest, 1, all.rows),
                columns = std::clamp<int64_t>(most_elements / rows, 1, all.columns);
  sample.operands = {rows, all.terms, columns, all.dtype, {}, {}};
  const std::vector<int64_t> at_rows = some_of(all.rows, rows, random),
                             at_columns = some_of(all.columns, columns, random);
  std::vector<TensorPtr> inputs;
  for (Tensor& tensor : tensors) inputs.push_back(shared(std::move(tensor)));
  const std::vector<double> y = run_program(inputs);
  for (const int64_t row : at_rows) {
    const auto first = all.a.begin() + row * all.terms;
    sample.operands.a.insert(sample.operands.a.end(), first, first + all.terms);
    for (const int64_t column : at_columns)
      sample.results.push_back(y[static_cast<size_t>((batch * all.rows + row) * all.columns + column)]);
  }
  for (int64_t k = 0; k < all.terms; ++k) {
    for (const int64_t column : at_columns)
      sample.operands.b.push_back(all.b[static_cast<size_t>(k * all.columns + column)]);
  }
  for (const int64_t column : at_columns) {
    if (!bias.empty()) sample.bias.push_back(bias[static_cast<size_t>(column)]);
  }
  return sample;
}

}  // namespace fusesmith::fuzz
