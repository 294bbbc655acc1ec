#include "fuzz/supervisor/devices.h"

#include <algorithm>

namespace fusesmith::fuzz {

Devices::Devices(std::vector<Gpu> gpus) {
  if (gpus.empty()) gpus.emplace_back();
  for (Gpu& gpu : gpus) devices_.push_back({std::move(gpu), "", 0});
}

bool Devices::is_usable(size_t index) const {
  const std::lock_guard guard(mutex_);
  return devices_[index].quarantined.empty();
}

size_t Devices::usable() const {
  const std::lock_guard guard(mutex_);
  return static_cast<size_t>(std::count_if(devices_.begin(), devices_.end(),
                                           [](const Device& device) { return device.quarantined.empty(); }));
}

std::optional<size_t> Devices::next(std::optional<size_t> not_on) {
  const std::lock_guard guard(mutex_);
  for (size_t i = 0; i < devices_.size(); ++i) {
    const size_t index = ++turn_ % devices_.size();
    if (devices_[index].quarantined.empty() && index != not_on) return index;
  }
  if (not_on && devices_[*not_on].quarantined.empty()) return not_on;
  return {};
}

void Devices::quarantine(size_t index, const std::string& why) {
  const std::lock_guard guard(mutex_);
  if (devices_[index].quarantined.empty()) devices_[index].quarantined = why;
}

void Devices::add_innocent_failure(size_t index, const std::string& what) {
  {
    const std::lock_guard guard(mutex_);
    if (++devices_[index].innocent_failures < kMostInnocentFailures) return;
  }
  quarantine(index, "the device failed " + std::to_string(kMostInnocentFailures) +
                        " times with cases that run alone without a failure, the last: " + what);
}

void Devices::add_explained_failure(size_t index) {
  const std::lock_guard guard(mutex_);
  devices_[index].innocent_failures = 0;
}

std::vector<CampaignGpu> Devices::states() const {
  const std::lock_guard guard(mutex_);
  std::vector<CampaignGpu> states;
  for (const Device& device : devices_) {
    if (!device.gpu.uuid.empty()) states.push_back({device.gpu, device.quarantined});
  }
  return states;
}

std::string Devices::why_none() const {
  const std::lock_guard guard(mutex_);
  if (devices_[0].gpu.uuid.empty()) return devices_[0].quarantined;
  std::string text = "no GPU is left: ";
  for (const Device& device : devices_)
    text += (&device == devices_.data() ? "" : "; ") + device.gpu.uuid + ": " + device.quarantined;
  return text;
}

}  // namespace fusesmith::fuzz
