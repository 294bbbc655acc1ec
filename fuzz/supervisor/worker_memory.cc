#include "fuzz/supervisor/worker_memory.h"

#include <algorithm>
#include <vector>

#include "backends/remote/process_tree.h"
#include "fuzz/base/clock.h"

namespace fusesmith::fuzz {

// Pages that a process shares with what it forked would count several times: where the sum is too large, they
// are divided among those that share them, which takes the kernel longer to tell.
bool WorkerMemory::exceeds(pid_t id, double limit_mb) {
  constexpr auto kShortest = std::chrono::milliseconds(250);
  constexpr int kRest = 50;  // times what it takes
  double sum = resident_mb(id);
  if (sum > limit_mb) return true;
  const auto start = Clock::now();
  if (start < next_) return false;
  std::vector<pid_t> tree = tree_below(id);
  for (const pid_t below : tree) sum += resident_mb(below);
  bool exceeds = !tree.empty() && sum > limit_mb;
  if (exceeds) {
    tree.push_back(id);
    sum = 0;
    for (const pid_t one : tree) sum += proportional_mb(one);
    exceeds = sum > limit_mb;
  }
  const auto now = Clock::now();
  next_ = now + std::max<Clock::duration>(kShortest, kRest * (now - start));
  return exceeds;
}

}  // namespace fusesmith::fuzz
