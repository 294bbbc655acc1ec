// Access to values that a kernel computes and never stores, such as the mean of a row. explain takes them
// from one backend and gives them to the other, to find the one that causes a difference.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "oracle/plan.h"

namespace fusesmith::backends {

// Every name, in dataflow order: a kernel computes each from its inputs and from those before it.
//   product   of a matrix product, before bias and activation: an element for each of the output
//   scores    of attention and softmax, scaled and masked: an element for each query and key
//   maximum   of a row of scores; a kernel that is given it starts from it
//   mean, rstd  of a row that is normalised
//   sum       of the exponentials of a row
inline constexpr std::string_view kInnerNames[] = {"product", "scores", "maximum", "mean", "rstd", "sum"};

// f32 tensors of one dimension, by name.
using InnerValues = std::map<std::string, Tensor, std::less<>>;

// Larger ones (256 MB) are not shown.
inline constexpr size_t kMaxInnerElements = size_t{1} << 26;

// What a kernel is asked, once: to show its inner values, and to go on from given ones in place of its own.
struct Probe {
  InnerValues given = {};  // ignored if the kernel does not know the name or the size differs
  InnerValues seen = {};   // what the kernel itself computed
};

// One inner value of `count` elements in a running kernel; does nothing without a probe.
class InnerValue {
 public:
  InnerValue(Probe* probe, std::string_view name, size_t count) {
    if (!probe || count > kMaxInnerElements) return;
    const TensorType type{Dtype::f32, {static_cast<int64_t>(count)}};
    seen_ = probe->seen.insert_or_assign(std::string(name), Tensor(type)).first->second.as<float>();
    const auto given = probe->given.find(name);
    if (given != probe->given.end() && given->second.type == type)
      given_ = std::as_const(given->second).as<float>();
  }
  // Records x, the kernel's own element i. Returns the value with which the kernel continues.
  float operator()(size_t i, float x) const {
    if (seen_.empty()) return x;
    seen_[i] = x;
    return given_.empty() ? x : given_[i];
  }
  // For kernels that need element i before they have computed their own.
  float given_or(size_t i, float x) const { return given_.empty() ? x : given_[i]; }

 private:
  std::span<float> seen_;
  std::span<const float> given_;
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
