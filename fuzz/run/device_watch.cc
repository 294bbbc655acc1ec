#include "fuzz/run/device_watch.h"

#include <utility>

namespace fusesmith::fuzz {

DeviceWatch::Task::Task(DeviceWatch& watch, std::string name) : watch_(watch) {
  const std::lock_guard guard(watch_.mutex_);
  watch_.threads_[std::this_thread::get_id()] = {std::move(name), nullptr};
}

DeviceWatch::Task::~Task() {
  const std::lock_guard guard(watch_.mutex_);
  watch_.threads_.erase(std::this_thread::get_id());
}

DeviceWatch::Run::Run(DeviceWatch* watch, const Case& test_case) : watch_(watch) {
  if (!watch_) return;
  const std::lock_guard guard(watch_->mutex_);
  watch_->threads_.at(std::this_thread::get_id()).test_case = &test_case;
}

DeviceWatch::Run::~Run() {
  if (!watch_) return;
  const std::lock_guard guard(watch_->mutex_);
  watch_->threads_.at(std::this_thread::get_id()).test_case = nullptr;
}

void DeviceWatch::fail() {
  const std::lock_guard guard(mutex_);
  if (std::exchange(failed_, true)) return;
  std::vector<Running> running;
  for (const auto& [thread, task] : threads_) {
    if (task.test_case) running.push_back(task);
  }
  on_failure_(running);
}

bool DeviceWatch::failed() const {
  const std::lock_guard guard(mutex_);
  return failed_;
}

}  // namespace fusesmith::fuzz
