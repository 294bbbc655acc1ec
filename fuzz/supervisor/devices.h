// The GPUs of a campaign, and which of them are in quarantine: no case runs on these any more. All functions
// may be called from any thread.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "backends/gpu.h"

namespace fusesmith::fuzz {

// One of them, as stats.json has it.
struct CampaignGpu {
  Gpu gpu;
  std::string quarantined;  // why; empty: it works
};

class Devices {
 public:
  // A GPU that fails so often, though every case that ran then comes through alone, is itself the cause.
  static constexpr int kMostInnocentFailures = 3;

  // None: one that has no name, whatever the backends use by themselves.
  explicit Devices(std::vector<Gpu> gpus);

  size_t size() const { return devices_.size(); }
  const Gpu& gpu(size_t index) const { return devices_[index].gpu; }
  bool is_named(size_t index) const { return !devices_[index].gpu.uuid.empty(); }
  bool is_usable(size_t index) const;
  size_t usable() const;
  // The next one in turn that is usable, another than `not_on` where there is one; nothing: none is usable.
  std::optional<size_t> next(std::optional<size_t> not_on);

  // The first reason stays.
  void quarantine(size_t index, const std::string& why);
  // The device failed, as `what` says, but no case is to blame. The third time in a row, it is quarantined.
  void add_innocent_failure(size_t index, const std::string& what);
  // The device failed because of a case.
  void add_explained_failure(size_t index);

  // Those that have names.
  std::vector<CampaignGpu> states() const;
  // Why none is usable, in one line.
  std::string why_none() const;

 private:
  struct Device {
    Gpu gpu;
    std::string quarantined;
    int innocent_failures = 0;  // in a row
  };
  mutable std::mutex mutex_;  // of all but the names
  std::vector<Device> devices_;
  size_t turn_ = 0;
};

}  // namespace fusesmith::fuzz
