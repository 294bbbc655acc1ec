#include "fuzz/campaign/guided_choices.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>

#include "fuzz/base/choices.h"
#include "graph/philox.h"
#include "graph/sanitizers.h"

// Not with AddressSanitizer: a test of such a campaign hangs in the preset ci, for a reason not yet known.
#if defined(FUSESMITH_LIBFUZZER_ENGINE) && !FUSESMITH_ADDRESS_SANITIZER

// libFuzzer's interface (llvm.org/docs/LibFuzzer.html).
extern "C" {
int LLVMFuzzerRunDriver(int* argc, char*** argv, int (*callback)(const uint8_t* data, size_t size));
size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);
}

namespace fusesmith::fuzz {

const bool kHasLibFuzzer = true;

namespace {

constexpr size_t kMostCells = size_t{1} << 14;
constexpr size_t kLeastBytes = 256, kMostBytes = 4096;

// libFuzzer reads this section after each call, and sets it to 0 before.
__attribute__((section("__libfuzzer_extra_counters"), used)) volatile uint8_t counters[kMostCells];

struct Exchange {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<uint8_t> bytes;
  bool has_bytes = false, has_answer = false, ended = false;
};

// Lives as long as libFuzzer's thread.
Exchange& exchange() {
  static auto* const one = new Exchange;
  return *one;
}

int run_case(const uint8_t* data, size_t size) {
  if (size == 0) return 0;  // a trial before it begins
  Exchange& x = exchange();
  std::unique_lock lock(x.mutex);
  x.bytes.assign(data, data + size);
  x.has_bytes = true;
  x.has_answer = false;
  x.changed.notify_all();
  x.changed.wait(lock, [&] { return x.has_answer; });
  return 0;
}

// The campaign has its own limits of time and memory, and its own answers to signals.
void run_driver(uint64_t seed, const std::string& corpus) {
  std::vector<std::string> flags = {"fusesmith",
                                    "-seed=" + std::to_string(seed % 0xffffffff + 1),
                                    "-verbosity=0",
                                    "-timeout=0",
                                    "-rss_limit_mb=0",
                                    "-malloc_limit_mb=0",
                                    "-detect_leaks=0",
                                    "-len_control=0",
                                    "-max_len=" + std::to_string(kMostBytes)};
  for (const char* signal : {"abrt", "bus", "fpe", "ill", "int", "segv", "term", "usr1", "usr2", "xfsz"})
    flags.push_back(std::string("-handle_") + signal + "=0");
  flags.push_back(corpus);
  std::vector<char*> words;
  for (std::string& flag : flags) words.push_back(flag.data());
  words.push_back(nullptr);
  int count = static_cast<int>(flags.size());
  char** arguments = words.data();
  LLVMFuzzerRunDriver(&count, &arguments, run_case);
  Exchange& x = exchange();
  const std::lock_guard guard(x.mutex);
  x.ended = true;
  x.changed.notify_all();
}

// Of standard error, while libFuzzer says which functions of a sanitizer this program lacks.
class Silence {
 public:
  Silence() : saved_(dup(STDERR_FILENO)), nothing_(open("/dev/null", O_WRONLY | O_CLOEXEC)) {
    if (saved_ >= 0 && nothing_ >= 0) dup2(nothing_, STDERR_FILENO);
  }
  Silence(const Silence&) = delete;
  Silence& operator=(const Silence&) = delete;
  ~Silence() {
    if (saved_ >= 0 && nothing_ >= 0) dup2(saved_, STDERR_FILENO);
    for (const int file : {saved_, nothing_}) {
      if (file >= 0) close(file);
    }
  }

 private:
  const int saved_, nothing_;
};

// Random numbers for one mutation.
class Draws {
 public:
  explicit Draws(uint32_t seed) : choices_(seed, 0, 0) {}
  size_t below(size_t n) { return n == 0 ? 0 : static_cast<size_t>(choices_.below(static_cast<int64_t>(n))); }
  uint8_t byte() { return static_cast<uint8_t>(choices_.below(256)); }

 private:
  Choices choices_;
};

size_t fill_up(Draws& draws, uint8_t* data, size_t size, size_t wanted) {
  while (size < wanted) data[size++] = draws.byte();
  return size;
}

// Other values for a few choices that lie together.
void change_some(Draws& draws, uint8_t* data, size_t size) {
  const size_t at = draws.below(size), count = 1 + draws.below(8);
  for (size_t i = at; i < std::min(size, at + count); ++i) data[i] = draws.byte();
}

// A part takes the place of another one, which is as long: later choices mean what they meant.
void copy_part(Draws& draws, uint8_t* data, size_t size) {
  const size_t count = 1 + draws.below(std::min<size_t>(size, 64));
  std::memmove(data + draws.below(size - count + 1), data + draws.below(size - count + 1), count);
}

}  // namespace

GuidedChoices::GuidedChoices(uint64_t seed, const std::filesystem::path& corpus) {
  check(coverage_cells().size() <= kMostCells, "GuidedChoices: more coverage cells than counters");
  const Silence silence;
  std::thread(run_driver, seed, corpus.string()).detach();
  Exchange& x = exchange();
  std::unique_lock lock(x.mutex);
  x.changed.wait(lock, [&] { return x.has_bytes || x.ended; });
  // libFuzzer takes the end of the process for a crash. What was registered last comes first.
  on_exit(
      [](int status, void*) {
        std::fflush(nullptr);
        _exit(status);
      },
      nullptr);
}

std::optional<std::vector<uint8_t>> GuidedChoices::next(const std::function<bool()>& stop) {
  Exchange& x = exchange();
  std::unique_lock lock(x.mutex);
  while (!x.has_bytes) {
    if (x.ended || stop()) return std::nullopt;
    x.changed.wait_for(lock, std::chrono::milliseconds(100));
  }
  return x.bytes;
}

void GuidedChoices::tell(const CoverageEvents& events) {
  for (const uint32_t cell : events) counters[cell] = 1;
  Exchange& x = exchange();
  const std::lock_guard guard(x.mutex);
  x.has_bytes = false;
  x.has_answer = true;
  x.changed.notify_all();
}

}  // namespace fusesmith::fuzz

// Any bytes are a case. Too few of them would make all later choices the first one, so there are always some.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  using namespace fusesmith::fuzz;
  Draws draws(seed);
  const size_t least = std::min(kLeastBytes, max_size);
  if (size < least || draws.below(4) == 0)
    return fill_up(draws, data, 0, least + draws.below(max_size - least + 1));
  switch (draws.below(4)) {
    case 0:
      copy_part(draws, data, size);
      change_some(draws, data, size);
      return size;
    case 1:
      return fill_up(draws, data, LLVMFuzzerMutate(data, size, max_size), least);
    default:
      change_some(draws, data, size);
      return size;
  }
}

// The first choices of one, and the last ones of the other.
extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* first, size_t first_size, const uint8_t* second,
                                            size_t second_size, uint8_t* out, size_t max_size,
                                            unsigned seed) {
  using namespace fusesmith::fuzz;
  Draws draws(seed);
  const size_t at = draws.below(std::min({first_size, second_size, max_size}) + 1);
  const size_t size = std::min(max_size, second_size);
  std::copy(first, first + at, out);
  std::copy(second + at, second + size, out + at);
  change_some(draws, out, std::max<size_t>(1, size));  // else often one of the two
  return std::max<size_t>(1, size);
}

#else

namespace fusesmith::fuzz {

const bool kHasLibFuzzer = false;

GuidedChoices::GuidedChoices(uint64_t, const std::filesystem::path&) {
  check(false, "GuidedChoices: not part of this build");
}
std::optional<std::vector<uint8_t>> GuidedChoices::next(const std::function<bool()>&) { return std::nullopt; }
void GuidedChoices::tell(const CoverageEvents&) {}

}  // namespace fusesmith::fuzz

#endif
