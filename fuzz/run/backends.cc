#include "fuzz/run/backends.h"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backends/cpu/cpu_backend.h"
#include "backends/cpu_fused/cpu_fused_backend.h"
#include "backends/demo/demo_backend.h"
#include "backends/remote/remote_backend.h"
#ifdef FUSESMITH_HAS_CUDA
#include "backends/cuda/cuda_backend.h"
#include "backends/cuda_fused/cuda_fused_backend.h"
#endif

namespace fusesmith::fuzz {

namespace {

std::vector<const Backend*>& list() {
  static std::vector<const Backend*> backends = {
      &cpu_backend(),
      &cpu_fused_backend(),
#ifdef FUSESMITH_HAS_CUDA
      &cuda_backend(),
      &cuda_fused_backend(),
#endif
  };
  return backends;
}

const Backend* find_worker(std::string_view name) {
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<Backend>, std::less<>> workers;
  auto spec = worker_spec(name);
  if (!spec) return nullptr;
  const std::lock_guard guard(mutex);
  auto& worker = workers[std::string(name)];
  if (!worker) worker = make_remote_backend(std::move(*spec), worker_kind(name)->doc);
  return worker.get();
}

}  // namespace

std::span<const Backend* const> all_backends() { return list(); }

const Backend* find_backend(std::string_view name) {
  for (const Backend* backend : all_backends()) {
    if (backend->name() == name) return backend;
  }
  if (name == kDemoBackend) return &demo_backend();
  return worker_kind(name) ? find_worker(name) : nullptr;
}

ListedBackend::ListedBackend(const Backend& backend) : backend_(&backend) {
  list().insert(list().begin(), backend_);
}

ListedBackend::~ListedBackend() { std::erase(list(), backend_); }

}  // namespace fusesmith::fuzz
