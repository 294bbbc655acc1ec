// Access to values that a kernel computes and never stores, such as the mean of a row. explain takes them
// from one backend and gives them to the other, to find the one that causes a difference.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "oracle/plan.h"

namespace fusesmith::backends {

// The inner values that a probe always sees:
//   product   of a matrix product, before bias and activation: an element for each of the output
//   scores    of attention and softmax, scaled and masked: an element for each query and key
//   maximum   of a row of scores; a kernel that is given it starts from it
//   sum       of the exponentials of a row
//   mean, rstd  of a row that is normalised
inline constexpr std::string_view kInnerNames[] = {"product", "scores", "maximum", "mean", "rstd", "sum"};

// Those that it sees only if it asks for everything:
//   X         (add, gelu, layer_norm, ...) what the step of this op computes, before it is stored
//   left of X, right of X, input of X, bias of X, operand 2 of X
//             the operands of the step as the kernel reads them
// A name that a probe has seen already gets a number: "add 2". The nodes of a region are shown in graph order
// and fused kernels number their steps alike, so that one name is one value on all backends.

// f32 tensors of one dimension, by name.
using InnerValues = std::map<std::string, Tensor, std::less<>>;

// Larger ones (256 MB) are not shown; where everything is shown, none above 16 MB.
inline constexpr size_t kMaxInnerElements = size_t{1} << 26, kMaxDetailElements = size_t{1} << 22;

// Stands for an element that a kernel never computed; a kernel that is given it keeps its own.
inline constexpr uint32_t kNotComputed = 0xFFFFFFFF;
inline bool is_computed(float x) { return std::bit_cast<uint32_t>(x) != kNotComputed; }

// What a kernel is asked, once: to show its inner values, and to go on from given ones in place of its own.
struct Probe {
  InnerValues given = {};  // ignored if the kernel does not know the name or the size differs
  InnerValues seen = {};   // what the kernel itself computed
  bool everything = false;
  std::vector<std::string> order = {};              // of `seen`, as the kernel computes them
  std::set<std::string, std::less<>> results = {};  // those that are what a node of the graph leaves

  // The name, with a number if it was seen already.
  std::string numbered(std::string_view name) const {
    std::string found(name);
    for (int number = 2; seen.contains(found); ++number)
      found = std::string(name) + " " + std::to_string(number);
    return found;
  }
};

// The probe if it asks for everything, else null.
inline Probe* detailed(Probe* probe) { return probe && probe->everything ? probe : nullptr; }

// What an operand is called: which of how many, of which step.
inline std::string operand_name(size_t which, size_t count, std::string_view step) {
  const std::string role = count == 1   ? "input"
                           : count == 2 ? (which == 0 ? "left" : "right")
                                        : "operand " + std::to_string(which + 1);
  return role + " of " + std::string(step);
}

// One inner value of `count` elements in a running kernel; does nothing without a probe.
class InnerValue {
 public:
  InnerValue() = default;
  InnerValue(Probe* probe, std::string_view name, size_t count, bool is_result = false) {
    if (!probe || count > (probe->everything ? kMaxDetailElements : kMaxInnerElements)) return;
    const TensorType type{Dtype::f32, {static_cast<int64_t>(count)}};
    const std::string known = probe->numbered(name);
    seen_ = probe->seen.emplace(known, Tensor(type)).first->second.as<float>();
    std::fill(seen_.begin(), seen_.end(), std::bit_cast<float>(kNotComputed));
    probe->order.push_back(known);
    if (is_result) probe->results.insert(known);
    const auto given = probe->given.find(known);
    if (given != probe->given.end() && given->second.type == type)
      given_ = std::as_const(given->second).as<float>();
  }
  // Records x, the kernel's own element i. Returns the value with which the kernel continues.
  float operator()(size_t i, float x) const {
    if (seen_.empty()) return x;
    seen_[i] = x;
    return given_or(i, x);
  }
  bool shown() const { return !seen_.empty(); }
  // For kernels that need element i before they have computed their own.
  float given_or(size_t i, float x) const {
    return given_.empty() || !is_computed(given_[i]) ? x : given_[i];
  }
  // Elements from `first` on.
  void operator()(size_t first, std::span<float> x) const {
    for (size_t i = 0; shown() && i < x.size(); ++i) x[i] = (*this)(first + i, x[i]);
  }
  // The same where x is read: x itself if nothing is shown, else a copy that holds what to go on with.
  std::span<const float> read(size_t first, std::span<const float> x, std::vector<float>& copy) const {
    if (!shown()) return x;
    copy.assign(x.begin(), x.end());
    (*this)(first, copy);
    return copy;
  }

 private:
  std::span<float> seen_;
  std::span<const float> given_;
};

// A step of an elementwise computation: its operands as they are read, one element for each of the result,
// and its result. Does nothing unless the probe asks for everything.
class StepValues {
 public:
  StepValues(Probe* probe, std::string_view step, size_t operands, size_t count) {
    if (!detailed(probe)) return;
    for (size_t i = 0; i < operands; ++i)
      operands_.emplace_back(probe, operand_name(i, operands, step), count);
    result_ = InnerValue(probe, step, count, true);
  }
  bool shown() const { return !operands_.empty(); }
  float operand(size_t which, size_t i, float x) const { return shown() ? operands_[which](i, x) : x; }
  float result(size_t i, float x) const { return result_(i, x); }

 private:
  std::vector<InnerValue> operands_;
  InnerValue result_;
};

// A Program whose inner values can be read and replaced.
class Inspectable {
 public:
  virtual ~Inspectable() = default;
  // Runs one region of the plan by itself, with the same kernel as in every run. `values`, by ValueId,
  // contain its inputs and receive its outputs.
  virtual void run_region(size_t region, std::span<TensorPtr> values, Probe& probe) const = 0;
};

}  // namespace fusesmith::backends
