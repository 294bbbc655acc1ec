#include "fuzz/run/function_errors.h"

#include <algorithm>
#include <cmath>
#include <future>
#include <limits>

#include "backends/device_error.h"
#include "oracle/evaluate.h"

namespace fusesmith::fuzz {

namespace {

constexpr double kU = 0x1p-24;
constexpr int64_t kChunk = int64_t{1} << 18;  // values of one run

// The bits of the value at this place in the order of all values: NaN, then from -inf to inf, then NaN.
uint32_t bits_at(uint64_t place, int width) {
  const uint64_t half = uint64_t{1} << (width - 1);
  return static_cast<uint32_t>(place < half ? 2 * half - 1 - place : place - half);
}

// Spreads the places of a sample evenly over each interval (splitmix64).
uint64_t mixed(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// Which values of a dtype are tried, in rising order: all, or one of every 256 neighbours.
class Sample {
 public:
  Sample(Dtype dtype, bool every_f32)
      : width_(8 * size_of(dtype)), step_(dtype == Dtype::f32 && !every_f32 ? 256 : 1) {}

  int64_t size() const { return (int64_t{1} << width_) / step_; }
  uint32_t bits(int64_t i) const {
    const auto first = static_cast<uint64_t>(i * step_);
    return bits_at(first + mixed(first) % static_cast<uint64_t>(step_), width_);
  }

 private:
  int width_;
  int64_t step_;
};

void put_bits(Tensor& tensor, int64_t i, uint32_t bits) {
  if (tensor.type.dtype == Dtype::f32)
    tensor.as<float>()[static_cast<size_t>(i)] = std::bit_cast<float>(bits);
  else
    tensor.as<uint16_t>()[static_cast<size_t>(i)] = static_cast<uint16_t>(bits);
}

std::vector<double> special_values(Dtype dtype) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double normal = std::ldexp(1, min_exponent(dtype));
  const double subnormal = std::ldexp(1, min_exponent(dtype) - precision(dtype) + 1);
  // The zeros come first: what is read as 0 is compared with them.
  std::vector<double> values = {0, std::numeric_limits<double>::quiet_NaN()};
  for (const double x : {0.0, kInfinity, max_finite(dtype), normal, subnormal, normal - subnormal, 1.0})
    values.insert(values.end(), {-x, x});
  return values;
}

void add(WrongResults& wrong, double x, double got, double want) {
  if (wrong.count++ == 0) wrong = {1, x, got, want};
}

void raise(WorstAt& worst, double error, double x) {
  if (error > worst.error) worst = {error, x};
}

// Compares result after result.
class Account {
 public:
  Account(const ScalarFunction& function, Dtype dtype, FunctionErrors& errors)
      : function_(function),
        dtype_(dtype),
        smallest_(std::ldexp(1, min_exponent(dtype))),
        top_(std::ldexp(1, std::ilogb(max_finite(dtype)) + 1)),
        errors_(errors) {}

  void set_zeros(double of_zero, double of_negative_zero) {
    of_zero_ = of_zero;
    of_negative_zero_ = of_negative_zero;
  }

  // `assumed`: contracts assume the exact result v.
  void compare(double x, double v, bool assumed, double got) {
    ++errors_.values;
    if (std::isnan(v) && std::isnan(got)) return;
    const bool subnormal = x != 0 && std::fabs(x) < smallest_;
    if (subnormal && is_far(x, v, got) && got == (x < 0 ? of_negative_zero_ : of_zero_))
      return add(errors_.flushed_inputs, x, got, v);
    if (std::isnan(v) || std::isnan(got) || (std::isinf(v) && got != v))
      return add(errors_.exceptional, x, got, v);
    const double want = round_to(dtype_, v), distance = distance_of(v, got), scale = scale_of(x, v);
    if (scale < smallest_) {
      if (got == 0 && want != 0) return add(errors_.flushed_results, x, got, v);
      raise(errors_.tiny, distance / smallest_, x);
    } else {
      raise(errors_.ulp, distance / ulp(scale), x);
    }
    if (assumed && want == v && got != v) add(errors_.inexact, x, got, v);
    if (std::fabs(v) >= smallest_)
      raise(errors_.relative_u, distance / std::fmin(std::fabs(v), top_) / kU, x);
    if (std::fabs(v) < top_) raise(errors_.absolute_u, distance / kU, x);
  }

  // The results for values in rising order.
  void follow(double x, double got) {
    const bool comparable = !std::isnan(got) && !std::isnan(last_) &&
                            (function_.trend == ScalarFunction::Trend::rising || last_x_ * x > 0);
    const bool falls = got<last_, rises = got> last_;
    if (comparable && (function_.trend == ScalarFunction::Trend::rising ? falls : rises))
      add(errors_.reversals, x, got, last_);
    last_x_ = x;
    last_ = got;
  }

 private:
  // An infinity counts as the power of two after the largest number.
  double limited(double y) const { return std::clamp(y, -top_, top_); }
  double distance_of(double v, double got) const { return std::fabs(limited(got) - limited(v)); }
  double scale_of(double x, double v) const {
    return std::fmax(std::fabs(limited(v)), function_.of_half_x ? std::fabs(limited(x)) / 2 : 0);
  }
  double ulp(double scale) const {
    return std::ldexp(1, std::max(std::ilogb(scale), min_exponent(dtype_)) - precision(dtype_) + 1);
  }
  bool is_far(double x, double v, double got) const {
    if (std::isnan(v) || std::isnan(got)) return true;
    const double distance = distance_of(v, got), scale = scale_of(x, v);
    // A result below the smallest normal number may be returned as 0.
    return scale < smallest_ ? distance > smallest_ : distance > kMostUlp * ulp(scale);
  }

  const ScalarFunction& function_;
  const Dtype dtype_;
  const double smallest_, top_;
  FunctionErrors& errors_;
  double of_zero_ = 0, of_negative_zero_ = 0;
  double last_x_ = 0, last_ = std::numeric_limits<double>::quiet_NaN();
};

// One function of one dtype on a backend.
class Measurement {
 public:
  Measurement(const Backend& backend, const ScalarFunction& function, Dtype dtype,
              const MeasureOptions& options)
      : function_(function),
        sample_(dtype, options.every_f32),
        count_(std::min(kChunk, sample_.size())),
        graph_(graph_of(function, dtype, count_)),
        region_(make_region(graph_, {0})),
        account_(function, dtype, errors) {
    errors.function = function.name;
    errors.dtype = dtype;
    CompileOptions compile_options;
    compile_options.deadlines = options.deadlines;
    auto program = backend.compile(graph_, compile_options);
    if (program)
      program_ = std::move(*program);
    else
      errors.unsupported = program.problem();
  }

  // False where it was stopped.
  bool run(MeasureProgress& progress, const std::function<bool()>& stop) {
    if (!program_) {
      progress.done += sample_.size();
      return true;
    }
    run_specials();
    for (int64_t first = 0; first < sample_.size(); first += count_) {
      if (stop && stop()) return false;
      for (int64_t i = 0; i < count_; ++i) put_bits(x_, i, sample_.bits(first + i));
      compute();
      for (int64_t i = 0; i < count_; ++i) {
        compare(i);
        if (function_.trend != ScalarFunction::Trend::none) follow(i);
      }
      progress.done += count_;
    }
    return true;
  }

  FunctionErrors errors;

 private:
  const TensorType& type() const { return graph_.type(static_cast<ValueId>(graph_.inputs().size()) - 1); }

  void run_specials() {
    const std::vector<double> specials = special_values(type().dtype);
    for (int64_t i = 0; i < count_; ++i) x_.set(i, 1);
    for (size_t i = 0; i < specials.size(); ++i) x_.set(static_cast<int64_t>(i), specials[i]);
    compute();
    account_.set_zeros(got_[0], got_[2]);
    for (size_t i = 0; i < specials.size(); ++i) compare(static_cast<int64_t>(i));
  }

  // The results of the backend and of the reference for the values in x_.
  void compute() {
    std::vector<TensorPtr> inputs;
    if (function_.is_quotient) {
      Tensor one(graph_.type(0));
      one.set(0, 1);
      inputs.push_back(std::make_shared<const Tensor>(std::move(one)));
    }
    inputs.push_back(std::make_shared<const Tensor>(x_));
    const ValueId result = graph_.nodes()[0].first_output;
    got_ = to_f64(*program_->run(inputs).values.at(static_cast<size_t>(result)));
    Trace trace;
    trace.values = std::move(inputs);
    trace.values.resize(static_cast<size_t>(graph_.value_count()));
    exact_ = evaluate(graph_, region_, trace, {}).at(0).bounded;
  }

  void compare(int64_t i) {
    const auto at = static_cast<size_t>(i);
    account_.compare(x_.value(i), exact_->v[at], exact_->error(at) == 0, got_[at]);
  }
  void follow(int64_t i) { account_.follow(x_.value(i), got_[static_cast<size_t>(i)]); }

  const ScalarFunction& function_;
  const Sample sample_;
  const int64_t count_;
  const Graph graph_;
  const Region region_;
  Tensor x_ = Tensor(type());
  Account account_;
  std::unique_ptr<Program> program_;
  std::vector<double> got_;
  BoundedPtr exact_;
};

struct Item {
  const ScalarFunction* function;
  Dtype dtype;
};

std::vector<Item> all_items() {
  std::vector<Item> items;
  for (const ScalarFunction& function : scalar_functions()) {
    for (const Dtype dtype : kFloatDtypes) items.push_back({&function, dtype});
  }
  return items;
}

// Nothing where it was stopped. What the backend throws is the function's; a device that failed is not.
std::optional<FunctionErrors> measure(const Backend& backend, const Item& item, const MeasureOptions& options,
                                      MeasureProgress& progress, const std::function<bool()>& stop) {
  FunctionErrors failed;
  failed.function = item.function->name;
  failed.dtype = item.dtype;
  try {
    Measurement measurement(backend, *item.function, item.dtype, options);
    if (!measurement.run(progress, stop)) return {};
    return measurement.errors;
  } catch (const DeviceError& error) {
    if (error.kind() == DeviceError::Kind::unhealthy) throw;
    failed.failed = error.what();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    failed.failed = error.what();
  }
  return failed;
}

}  // namespace

bool FunctionErrors::is_suspicious() const {
  return ulp.error > kMostUlp || tiny.error > 1 || exceptional.count > 0 || inexact.count > 0 ||
         reversals.count > 0 || !failed.empty();
}

std::vector<FunctionErrors> measure_functions(const Backend& backend, const MeasureOptions& options,
                                              MeasureProgress& progress, const std::function<bool()>& stop) {
  const std::vector<Item> items = all_items();
  for (const Item& item : items) progress.total += Sample(item.dtype, options.every_f32).size();
  std::vector<std::optional<FunctionErrors>> results(items.size());
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next++; i < items.size() && !(stop && stop()); i = next++)
      results[i] = measure(backend, items[i], options, progress, stop);
  };
  std::vector<std::future<void>> others;
  for (int job = 1; job < options.jobs; ++job) others.push_back(std::async(std::launch::async, work));
  work();
  for (auto& other : others) other.get();
  std::vector<FunctionErrors> finished;
  for (auto& result : results) {
    if (result) finished.push_back(std::move(*result));
  }
  return finished;
}

}  // namespace fusesmith::fuzz
