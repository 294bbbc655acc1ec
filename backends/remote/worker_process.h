// One worker process and the conversation with it (docs/workers.md). Whatever goes wrong is a WorkerError,
// after which the worker is used no more unless it `goes_on`.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "backends/remote/compile_cache.h"
#include "backends/remote/frame.h"
#include "backends/remote/shared_file.h"
#include "backends/worker_error.h"
#include "graph/tensor.h"

namespace fusesmith::backends {

struct WorkerSpec {
  std::string name;                  // as the user wrote it: "torch:inductor"
  std::vector<std::string> command;  // program and arguments
};

// One line that fits a report: without control characters; of a long text its start and its end.
std::string one_line(std::string text);

struct NamedTensor {
  std::string name;
  const Tensor* tensor;  // not owned
};

struct Reply {
  nlohmann::json header;
  std::map<std::string, Tensor> tensors;
};

class WorkerProcess {
 public:
  // Starts the process and exchanges hello, within `seconds`.
  WorkerProcess(const WorkerSpec& spec, double seconds);

  // One request, and the reply to it, which is of type `expected` (or, to compile, "unsupported").
  // `max_payload`: in bytes, of the reply.
  Reply ask(nlohmann::json header, const std::vector<NamedTensor>& tensors, std::string_view expected,
            uint64_t max_payload, double seconds);

  // Closes the worker's standard input; whether it then ends, within some seconds. Nothing may follow.
  bool end() { return child_->end(); }

  const nlohmann::json& hello() const { return hello_; }
  // After an error: whether the worker answered, so that the next request may be sent.
  bool goes_on() const { return goes_on_; }

 private:
  [[noreturn]] void fail(WorkerError::Kind kind, const std::string& what, std::string details = "");
  [[noreturn]] void fail_io(ChildProcess::Io io, const std::string& request, double seconds);
  Reply parse(Frame frame, const std::string& request, std::string_view expected, uint64_t max_payload);
  void send(nlohmann::json& header, std::vector<std::span<const std::byte>> payload,
            const std::string& request, uint64_t max_payload, const TimeLimit& limit, double seconds);
  void take_file(const nlohmann::json& header, uint64_t max_payload, std::vector<std::byte>& payload);
  void fail_as_told(const nlohmann::json& header);

  WorkerSpec spec_;
  std::unique_ptr<CompileCache> cache_ = std::make_unique<CompileCache>();  // dropped after the process
  std::unique_ptr<ChildProcess> child_;
  nlohmann::json hello_;
  std::unique_ptr<SharedFile> sent_, received_;  // while the worker reads files and there is much to send
  bool goes_on_ = true;
};

}  // namespace fusesmith::backends
