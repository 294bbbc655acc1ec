// Injected faults: small realistic mistakes in fused executors, selected by name in builds that contain
// them (FUSESMITH_FAULTS). In other builds the list is empty and has() is a constant false.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fusesmith::backends {

#ifdef FUSESMITH_FAULTS
inline constexpr bool kFaultsBuilt = true;
#else
inline constexpr bool kFaultsBuilt = false;
#endif

// Which fused executors contain a fault.
enum class FaultSite : uint8_t { both, cpu_fused, cuda_fused };

struct FaultInfo {
  std::string_view name;
  std::string_view pattern;  // the pattern that a finding must report
  std::string_view doc;      // the mistake, and the public bug that it reproduces, if any
  FaultSite site = FaultSite::both;
  // What explain may name as the cause: inner values of the kernel (inner_values.h) without their numbers,
  // operands without their op ("right" of any step), "store" or "rounding", separated by commas. Empty: none
  // of these is the cause, so that naming one is wrong.
  std::string_view cause = {};

  bool affects(std::string_view backend) const {
    return site == FaultSite::both || backend == (site == FaultSite::cpu_fused ? "cpu_fused" : "cuda_fused");
  }
};

// The one list; empty in builds without faults.
std::span<const FaultInfo> all_faults();

// The faults turned on for one compilation.
class Faults {
 public:
  Faults() = default;
  explicit Faults(std::vector<std::string> names) : names_(std::move(names)) {}
  bool has(std::string_view name) const {
    if constexpr (!kFaultsBuilt) return false;
    return std::find(names_.begin(), names_.end(), name) != names_.end();
  }
  const std::vector<std::string>& names() const { return names_; }

 private:
  std::vector<std::string> names_;
};

}  // namespace fusesmith::backends
