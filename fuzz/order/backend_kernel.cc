#include "fuzz/order/backend_kernel.h"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "fuzz/order/random_operands.h"

namespace fusesmith::fuzz {
namespace {

constexpr int kPlaceProbes = 32;  // of each kind

void fill_with(Tensor& tensor, double x) {
  tensor.set(0, x);
  const auto size = static_cast<std::ptrdiff_t>(size_of(tensor.type.dtype));
  for (auto at = tensor.bytes.begin() + size; at != tensor.bytes.end(); at += size)
    std::copy(tensor.bytes.begin(), tensor.bytes.begin() + size, at);
}

TensorPtr shared(Tensor tensor) { return std::make_shared<const Tensor>(std::move(tensor)); }

// `count` of them in a random order.
std::vector<int64_t> some_of(std::vector<int64_t> all, int64_t count, std::mt19937_64& random) {
  std::shuffle(all.begin(), all.end(), random);
  all.resize(static_cast<size_t>(count));
  return all;
}

std::vector<int64_t> first_numbers(int64_t count) {
  std::vector<int64_t> all(static_cast<size_t>(count));
  std::iota(all.begin(), all.end(), int64_t{0});
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
  want(std::vector<bool>(static_cast<size_t>(element_count(graph_.type(result_))), true));
}

void BackendKernel::want(std::vector<bool> results) {
  wanted_ = std::move(results);
  places_.clear();
  std::set<int64_t> used;  // places of the other operand
  for (int64_t place = 0; place < probed_.places(); ++place) {
    const std::vector<size_t> results_there = results_at(place);
    const auto found = std::find_if(results_there.begin(), results_there.end(), [&](size_t result) {
      return !is_paired() || used.insert(other_place(result)).second;
    });
    if (found != results_there.end()) places_.push_back({place, other_place(*found), *found});
  }
}

int64_t BackendKernel::other_place(size_t result) const {
  if (!has_products()) return 0;
  const auto at = static_cast<int64_t>(result);
  const int64_t m = spec_.m, n = spec_.n, batch = at / (m * n);
  return by_columns_ ? batch * m + at / n % m : batch * n + at % n;
}

// Of both operands: with one probe in all of them, every result is that of the probe.
std::vector<BackendKernel::Place> BackendKernel::every_place() const {
  std::vector<Place> all;
  for (int64_t i = 0; i < std::max(probed_.places(), other_.places()); ++i)
    all.push_back({i % probed_.places(), i % other_.places(), 0});
  return all;
}

// A random probe; every other one has one of the last terms, which kernels like to treat apart.
Probe BackendKernel::place_probe(int number, const ProbeDtype& dtype, std::mt19937_64& random) const {
  std::vector<int64_t> units = some_of(first_numbers(spec_.k), std::min(spec_.k, dtype.most_units), random);
  std::sort(units.begin(), units.end());
  const auto terms = static_cast<uint64_t>(spec_.k);
  auto plus = static_cast<int64_t>(random() % terms);
  if (number % 2 == 1) plus = spec_.k - 1 - plus % std::min<int64_t>(spec_.k, 16);
  const auto minus = (plus + 1 + static_cast<int64_t>(random() % (terms - 1))) % spec_.k;
  return {plus, minus, std::make_shared<const std::vector<int64_t>>(std::move(units))};
}

// Results are told apart by what they give for random probes, each of which stands in all places.
std::vector<std::vector<bool>> BackendKernel::places_of_orders(uint64_t seed) {
  std::vector<uint64_t> answers(wanted_.size(), 0);  // hashes
  std::mt19937_64 random(seed);
  const ProbeDtype dtype = probe_dtype(spec_.dtype);
  const bool may_round = has_products() && spec_.dtype == Dtype::f32;
  for (int i = 0; i < (may_round ? 2 : 1) * kPlaceProbes && spec_.k > 1; ++i) {
    Probe probe = place_probe(i, dtype, random);
    if (i >= kPlaceProbes) probe.units = nullptr;
    const ProbeValues& values = i < kPlaceProbes ? dtype.values : kProductProbe;
    const std::vector<double> y = results_of({probe}, values, every_place());
    for (size_t result = 0; result < y.size(); ++result) {
      const uint64_t mixed = (answers[result] ^ std::bit_cast<uint64_t>(y[result])) * 0x9e3779b97f4a7c15U;
      answers[result] = mixed ^ (mixed >> 32);
    }
  }
  std::map<uint64_t, std::vector<bool>> sets;
  for (size_t result = 0; result < answers.size(); ++result) {
    std::vector<bool>& set = sets[answers[result]];
    set.resize(answers.size(), false);
    set[result] = true;
  }
  std::vector<std::vector<bool>> all;
  for (auto& [answer, set] : sets) all.push_back(std::move(set));
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return std::count(a.begin(), a.end(), true) > std::count(b.begin(), b.end(), true);
  });
  return all;
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
  other_ = layouts_.size() > 1 ? layouts_[by_columns_ ? 0 : 1] : Layout{};
}

std::vector<double> BackendKernel::run_program(const std::vector<TensorPtr>& inputs) {
  return to_f64(*program_->run(inputs).values.at(static_cast<size_t>(result_)));
}

Tensor BackendKernel::with_probes(const std::vector<Probe>& probes, const ProbeValues& values,
                                  const std::vector<Place>& places) const {
  Tensor tensor(graph_.type(by_columns_ ? 1 : 0));
  const auto put = [&](int64_t first, int64_t term, float x) {
    tensor.set(first + term * probed_.term_stride, static_cast<double>(x));
  };
  for (size_t i = 0; i < places.size(); ++i) {
    const Probe& probe = probes[i % probes.size()];
    const int64_t first = probed_.first(places[i].probed);
    if (probe.units) {
      for (const int64_t term : *probe.units) put(first, term, values.unit);
    }
    put(first, probe.plus, values.large);
    put(first, probe.minus, -values.large);
  }
  return tensor;
}

Tensor BackendKernel::with_factors(const std::vector<Probe>& probes, const ProbeValues& values,
                                   const std::vector<Place>& places) const {
  Tensor tensor(graph_.type(by_columns_ ? 0 : 1));
  fill_with(tensor, static_cast<double>(values.is_paired() ? values.unit_factor : values.factor));
  for (size_t i = 0; i < places.size() && values.is_paired(); ++i) {
    const Probe& probe = probes[i % probes.size()];
    for (const int64_t term : {probe.plus, probe.minus})
      tensor.set(other_.first(places[i].other) + term * other_.term_stride,
                 static_cast<double>(values.factor));
  }
  return tensor;
}

std::vector<double> BackendKernel::results_of(const std::vector<Probe>& probes, const ProbeValues& values,
                                              const std::vector<Place>& places) {
  std::vector<TensorPtr> inputs;
  const auto count = static_cast<ValueId>(graph_.inputs().size());
  for (ValueId input = 0; input < count; ++input) {
    if (input == (by_columns_ ? 1 : 0))
      inputs.push_back(shared(with_probes(probes, values, places)));
    else if (input < 2)
      inputs.push_back(shared(with_factors(probes, values, places)));
    else
      inputs.push_back(shared(Tensor(graph_.type(input))));  // the bias, which is 0
  }
  return run_program(inputs);
}

std::vector<size_t> BackendKernel::results_at(int64_t place) const {
  if (!has_products()) {
    const auto result = static_cast<size_t>(place);
    return wanted_[result] ? std::vector<size_t>{result} : std::vector<size_t>{};
  }
  const int64_t m = spec_.m, n = spec_.n, batch = place / probed_.outer, index = place % probed_.outer;
  std::vector<size_t> results;
  for (int64_t other = 0; other < (by_columns_ ? m : n); ++other) {
    const auto result =
        static_cast<size_t>(batch * m * n + (by_columns_ ? other * n + index : index * n + other));
    if (wanted_[result]) results.push_back(result);
  }
  return results;
}

std::optional<std::vector<double>> BackendKernel::run(const std::vector<Probe>& probes,
                                                      const ProbeValues& values, bool backwards) {
  std::vector<Place> places;
  for (size_t i = 0; i < probes.size(); ++i)
    places.push_back(places_[backwards ? places_.size() - 1 - i : i]);
  const std::vector<double> y = results_of(probes, values, places);
  std::vector<double> results;
  for (const Place& place : places) {
    const std::vector<size_t> at = is_paired() ? std::vector{place.result} : results_at(place.probed);
    results.push_back(y[at[0]]);
    if (!std::all_of(at.begin(), at.end(), [&](size_t i) { return y[i] == y[at[0]]; })) return {};
  }
  return results;
}

bool BackendKernel::same_everywhere(const Probe& probe, const ProbeValues& values) {
  const std::vector<double> y = results_of({probe}, values, every_place());
  std::optional<double> first;
  for (size_t result = 0; result < y.size(); ++result) {
    if (wanted_[result] && first && y[result] != *first) return false;
    if (wanted_[result]) first = y[result];
  }
  return true;
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

// A batch element that has wanted results, and their rows and columns.
BackendKernel::Wanted BackendKernel::some_wanted(int64_t rows, int64_t columns,
                                                 std::mt19937_64& random) const {
  std::vector<int64_t> batches;
  const auto at = [&](int64_t batch, int64_t row, int64_t column) {
    return wanted_[static_cast<size_t>((batch * rows + row) * columns + column)];
  };
  const auto size = static_cast<std::ptrdiff_t>(rows * columns);
  for (int64_t batch = 0; batch < spec_.batch; ++batch) {
    const auto first = wanted_.begin() + batch * size;
    if (std::find(first, first + size, true) != first + size) batches.push_back(batch);
  }
  Wanted wanted{batches[random() % batches.size()], {}, {}};
  std::vector<bool> has_column(static_cast<size_t>(columns), false);
  for (int64_t row = 0; row < rows; ++row) {
    bool has_row = false;
    for (int64_t column = 0; column < columns; ++column) {
      if (!at(wanted.batch, row, column)) continue;
      has_row = has_column[static_cast<size_t>(column)] = true;
    }
    if (has_row) wanted.rows.push_back(row);
  }
  for (int64_t column = 0; column < columns; ++column) {
    if (has_column[static_cast<size_t>(column)]) wanted.columns.push_back(column);
  }
  return wanted;
}

ProductSample BackendKernel::random_product(ProductData data, uint64_t seed, int64_t most_elements) {
  std::mt19937_64 random(seed);
  std::vector<Tensor> tensors;
  for (ValueId input = 0; input < static_cast<ValueId>(graph_.inputs().size()); ++input)
    tensors.emplace_back(graph_.type(input));
  Wanted wanted =
      has_products() ? some_wanted(spec_.m, spec_.n, random) : some_wanted(spec_.m * spec_.n, 1, random);
  Operands all;
  for (int64_t i = 0; i < spec_.batch; ++i) {
    Operands in = random_batch(data, random(), tensors, i);
    if (i == wanted.batch) all = std::move(in);
  }
  std::vector<float> bias;
  if (tensors.size() > 2 && data != ProductData::cancelling) {  // there it would hide the rounding errors
    Operands drawn{1, spec_.n, 1, result_dtype(spec_.dtype), {}, {}};
    fill_random(data, random(), false, drawn);
    bias = drawn.a;
    for (size_t i = 0; i < bias.size(); ++i)
      tensors[2].set(static_cast<int64_t>(i), static_cast<double>(bias[i]));
  }
  const auto most_rows = static_cast<int64_t>(wanted.rows.size()),
             most_columns = static_cast<int64_t>(wanted.columns.size());
  const int64_t rows = std::clamp<int64_t>(most_elements / std::min<int64_t>(most_columns, 64), 1, most_rows),
                columns = std::clamp<int64_t>(most_elements / rows, 1, most_columns);
  wanted.rows = some_of(std::move(wanted.rows), rows, random);
  wanted.columns = some_of(std::move(wanted.columns), columns, random);
  std::vector<TensorPtr> inputs;
  for (Tensor& tensor : tensors) inputs.push_back(shared(std::move(tensor)));
  return sample_of(all, bias, wanted, run_program(inputs));
}

ProductSample BackendKernel::sample_of(const Operands& all, const std::vector<float>& bias,
                                       const Wanted& wanted, const std::vector<double>& y) const {
  ProductSample sample;
  sample.relu = spec_.relu;
  sample.operands = {static_cast<int64_t>(wanted.rows.size()),
                     all.terms,
                     static_cast<int64_t>(wanted.columns.size()),
                     all.dtype,
                     {},
                     {}};
  for (const int64_t row : wanted.rows) {
    const auto first = all.a.begin() + row * all.terms;
    sample.operands.a.insert(sample.operands.a.end(), first, first + all.terms);
    for (const int64_t column : wanted.columns) {
      const auto result = static_cast<size_t>((wanted.batch * all.rows + row) * all.columns + column);
      sample.results.push_back(y[result]);
      sample.wanted.push_back(wanted_[result]);
    }
  }
  for (int64_t k = 0; k < all.terms; ++k) {
    for (const int64_t column : wanted.columns)
      sample.operands.b.push_back(all.b[static_cast<size_t>(k * all.columns + column)]);
  }
  for (const int64_t column : wanted.columns) {
    if (!bias.empty()) sample.bias.push_back(bias[static_cast<size_t>(column)]);
  }
  return sample;
}

}  // namespace fusesmith::fuzz
