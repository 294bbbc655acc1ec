// The one list of backends: what --baseline, --candidate and `list backends` know, beside the kinds of
// workers (backends/remote/worker_names.h).
#pragma once

#include <span>
#include <string_view>

#include "backends/backend.h"

namespace fusesmith::fuzz {

std::span<const Backend* const> all_backends();

// The backend of that name, or null; also the one of `fusesmith demo`, which is not in the list. A name of a
// worker ("torch:eager") becomes a backend when it is first asked for, whether or not the worker can run; its
// processes live until the program ends.
const Backend* find_backend(std::string_view name);

// For tests: heads the list while it lives, so that it also hides another of its name. No command may be
// running when it comes or goes.
class ListedBackend {
 public:
  explicit ListedBackend(const Backend& backend);
  ListedBackend(const ListedBackend&) = delete;
  ListedBackend& operator=(const ListedBackend&) = delete;
  ~ListedBackend();

 private:
  const Backend* backend_;
};

}  // namespace fusesmith::fuzz
