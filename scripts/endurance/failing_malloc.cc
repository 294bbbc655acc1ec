// Preloaded by out_of_memory_sweep: makes one allocation of a program fail, once its main() runs.
//
//   FAIL_ALLOCATION  which one, from 1; 0 or absent: none
//   FAIL_MINIMUM     counts only allocations of at least so many bytes (default 0)
//   FAIL_REPORT      a file that gets the number of allocations counted, when the program ends by exit()
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
}

namespace {

std::atomic<bool> counting = false;
std::atomic<long> counted = 0;
long failing = 0;
size_t minimum = 0;

long number(const char* name) {
  const char* text = std::getenv(name);
  return text ? std::atol(text) : 0;
}

bool fails(size_t size) {
  if (!counting || size < minimum) return false;
  if (++counted != failing) return false;
  errno = ENOMEM;
  return true;
}

void report() {
  counting = false;
  const char* path = std::getenv("FAIL_REPORT");
  if (!path) return;
  char text[24];
  const int length = std::snprintf(text, sizeof text, "%ld\n", counted.load());
  const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) return;
  if (write(file, text, static_cast<size_t>(length)) != length) unlink(path);
  close(file);
}

int (*main_of_program)(int, char**, char**);

int counted_main(int argc, char** argv, char** environment) {
  failing = number("FAIL_ALLOCATION");
  minimum = static_cast<size_t>(number("FAIL_MINIMUM"));
  std::atexit(report);
  counting = true;
  return main_of_program(argc, argv, environment);
}

}  // namespace

extern "C" {

int __libc_start_main(int (*main)(int, char**, char**), int argc, char** argv, void (*init)(), void (*fini)(),
                      void (*rtld_fini)(), void* stack_end) {
  main_of_program = main;
  const auto start = reinterpret_cast<decltype(&__libc_start_main)>(dlsym(RTLD_NEXT, "__libc_start_main"));
  return start(counted_main, argc, argv, init, fini, rtld_fini, stack_end);
}

void* malloc(size_t size) { return fails(size) ? nullptr : __libc_malloc(size); }
void* calloc(size_t count, size_t size) { return fails(count * size) ? nullptr : __libc_calloc(count, size); }
void* realloc(void* memory, size_t size) { return fails(size) ? nullptr : __libc_realloc(memory, size); }
void* memalign(size_t alignment, size_t size) {
  return fails(size) ? nullptr : __libc_memalign(alignment, size);
}
void* aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void** memory, size_t alignment, size_t size) {
  if (fails(size)) return ENOMEM;
  *memory = __libc_memalign(alignment, size);
  return *memory ? 0 : ENOMEM;
}

}  // extern "C"
