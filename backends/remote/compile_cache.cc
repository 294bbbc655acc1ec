#include "backends/remote/compile_cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "backends/remote/open_folder.h"

namespace fusesmith::backends {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "fusesmith-cache-";

// Each a folder of its own below that of the worker.
constexpr std::pair<const char*, const char*> kFolders[] = {{"TORCHINDUCTOR_CACHE_DIR", "inductor"},
                                                            {"TRITON_CACHE_DIR", "triton"},
                                                            {"TORCH_EXTENSIONS_DIR", "extensions"},
                                                            {"PYTORCH_KERNEL_CACHE_PATH", "kernels"},
                                                            {"NUMBA_CACHE_DIR", "numba"}};
// JAX keeps nothing on disk unless it is told to.
constexpr const char* kOnlyIfSet[] = {"JAX_COMPILATION_CACHE_DIR"};

fs::path temporary_folder() {
  std::error_code error;
  const fs::path folder = fs::temp_directory_path(error);
  return error ? "/tmp" : folder;
}

// Of a folder whose process is at work; -1: it is of another, or is no such folder.
int lock_of(const fs::path& folder) {
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (descriptor < 0) return -1;
  struct stat status {};
  const bool ours = fstat(descriptor, &status) == 0 && status.st_uid == geteuid();
  if (ours && flock(descriptor, LOCK_EX | LOCK_NB) == 0) return descriptor;
  close(descriptor);
  return -1;
}

// The process whose id is in the name of a folder, as CompileCache makes them: fusesmith-cache-123-a1B2c3. 0:
// a folder of the user, who may call it as he likes.
pid_t maker_of(std::string_view name) {
  constexpr size_t kUnique = 6;  // characters that mkdtemp chooses
  if (!name.starts_with(kPrefix)) return 0;
  name.remove_prefix(kPrefix.size());
  pid_t maker = 0;
  const auto [at, error] = std::from_chars(name.data(), name.data() + name.size(), maker);
  name.remove_prefix(static_cast<size_t>(at - name.data()));
  const bool made =
      error == std::errc() && name.size() == kUnique + 1 && name[0] == '-' &&
      std::all_of(name.begin() + 1, name.end(), [](unsigned char c) { return std::isalnum(c); });
  return made && maker > 0 ? maker : 0;
}

}  // namespace

CompileCache::CompileCache() {
  remove_left_ones();
  const std::string start = std::string(kPrefix) + std::to_string(getpid()) + "-XXXXXX";
  std::string name = (temporary_folder() / start).string();
  if (!mkdtemp(name.data())) return;
  path_ = name;
  lock_ = lock_of(path_);
}

void CompileCache::remove_left_ones() {
  const fs::path folder = temporary_folder();
  const OpenFolder listed(opendir(folder.c_str()));
  while (const dirent* entry = listed ? readdir(listed.get()) : nullptr) {
    const std::string_view name = entry->d_name;
    const pid_t maker = maker_of(name);
    // Between its making and its lock, a folder belongs to a process that lives.
    if (maker == 0 || kill(maker, 0) == 0) continue;
    const int lock = lock_of(folder / name);
    if (lock < 0) continue;
    std::error_code ignored;
    fs::remove_all(folder / name, ignored);
    close(lock);
  }
}

CompileCache::~CompileCache() {
  try {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  } catch (const std::bad_alloc&) {
    // The next start removes it.
  }
  if (lock_ >= 0) close(lock_);
}

std::map<std::string, std::string> CompileCache::variables() const {
  std::map<std::string, std::string> variables;
  if (path_.empty()) return variables;
  for (const auto& [name, folder] : kFolders) variables[name] = (path_ / folder).string();
  for (const char* name : kOnlyIfSet) {
    if (std::getenv(name)) variables[name] = (path_ / name).string();
  }
  return variables;
}

}  // namespace fusesmith::backends
