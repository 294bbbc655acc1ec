#include "backends/remote/worker_names.h"

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <mutex>
#include <set>

#include "backends/remote/plugin_worker.h"

namespace fusesmith::backends {
namespace {

namespace fs = std::filesystem;

using Starts = WorkerKind::Starts;

constexpr WorkerKind kKinds[] = {
    {"remote:", "COMMAND", Starts::command, "", true, false,
     "Any program that speaks the worker protocol (docs/workers.md)."},
    {"plugin:", "PATH.so", Starts::plugin, "", false, false,
     "A kernel in a shared library with the C functions of fusesmith/plugin.h."},
    {"torch:", "MODE", Starts::script, "torch/torch_worker.py", true, true,
     "PyTorch: eager, aot_eager, aot_eager_decomp_partition, inductor."},
    {"ort:", "LEVEL", Starts::script, "onnx/ort_worker.py", true, true,
     "ONNX Runtime on the CPU, with graph optimizations off, basic, extended or all."},
    {"jax:", "MODE", Starts::script, "jax/jax_worker.py", true, true, "JAX on the CPU: op_by_op, jit."},
    {"python:", "FILE.py:FUNCTION", Starts::script, "function/function_worker.py", false, false,
     "A Python function of tensors."},
};

std::string environment(const char* name, const std::string& otherwise) {
  const char* value = std::getenv(name);
  return value && *value ? value : otherwise;
}

// Words at spaces; '...' and "..." group, a backslash takes the next character as it is (not within '...').
Result<std::vector<std::string>> split_command(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
      word += text[++i];
      in_word = true;
    } else if (quote ? c == quote : c == '\'' || c == '"') {
      quote = quote ? 0 : c;
      in_word = true;
    } else if (c == ' ' && !quote) {
      if (in_word) words.push_back(std::move(word));
      word.clear();
      in_word = false;
    } else {
      word += c;
      in_word = true;
    }
  }
  if (quote) return Problem{std::string("a quote (") + quote + ") is not closed"};
  if (in_word) words.push_back(std::move(word));
  return words;
}

// Those that the command line has given.
struct AllowedWorkers {
  std::mutex mutex;
  std::set<std::string, std::less<>> names;
};

AllowedWorkers& allowed_workers() {
  static AllowedWorkers allowed;
  return allowed;
}

Result<WorkerSpec> parse_worker(std::string_view name) {
  const WorkerKind* kind = worker_kind(name);
  if (!kind) return Problem{"'" + std::string(name) + "' names no worker"};
  const std::string_view rest = name.substr(kind->prefix.size());
  WorkerSpec spec{std::string(name), {}};
  if (kind->starts == Starts::command) {
    auto words = split_command(rest);
    if (!words) return Problem{std::string(name) + ": " + words.problem()};
    spec.command = std::move(*words);
  } else if (kind->starts == Starts::plugin && !rest.empty()) {
    // The link rather than its target: it names this program even if the file was replaced meanwhile.
    spec.command = {"/proc/self/exe", std::string(kPluginWorker), std::string(rest)};
  } else if (!rest.empty()) {
    spec.command = script_command(kind->script);
    spec.command.emplace_back(rest);
  }
  if (spec.command.empty()) {
    return Problem{std::string(name) + ": expected " + std::string(kind->prefix) + std::string(kind->value)};
  }
  return spec;
}

}  // namespace

std::string workers_folder() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  const fs::path installed = program.parent_path().parent_path() / "share" / "fusesmith" / "workers";
  const bool is_there = !error && fs::exists(installed, error);
  return environment("FUSESMITH_WORKERS", is_there ? installed.string() : FUSESMITH_WORKERS_SOURCE);
}

std::span<const WorkerKind> worker_kinds() { return kKinds; }

const WorkerKind* worker_kind(std::string_view name) {
  for (const WorkerKind& kind : kKinds) {
    if (name.starts_with(kind.prefix)) return &kind;
  }
  return nullptr;
}

std::vector<std::string> script_command(std::string_view script) {
  return {environment("FUSESMITH_PYTHON", "python3"), (fs::path(workers_folder()) / script).string()};
}

void allow_worker(std::string_view name) {
  AllowedWorkers& allowed = allowed_workers();
  const std::lock_guard guard(allowed.mutex);
  allowed.names.emplace(name);
}

bool may_start(std::string_view name) {
  const WorkerKind* kind = worker_kind(name);
  if (!kind || kind->from_files) return true;
  AllowedWorkers& allowed = allowed_workers();
  const std::lock_guard guard(allowed.mutex);
  return allowed.names.contains(name);
}

std::optional<Problem> worker_name_problem(std::string_view name) {
  const auto spec = parse_worker(name);
  return spec ? std::nullopt : std::optional(Problem{spec.problem()});
}

Result<WorkerSpec> worker_spec(std::string_view name) {
  auto spec = parse_worker(name);
  if (spec && !may_start(name))
    return Problem{"'" + std::string(name) + "' was not named on the command line, so it is not started"};
  return spec;
}

}  // namespace fusesmith::backends
