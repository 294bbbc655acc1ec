#include "backends/remote/script_call.h"

#include "backends/remote/worker_names.h"
#include "graph/json_strict.h"

namespace fusesmith::backends {
namespace {

using Io = ChildProcess::Io;

constexpr uint64_t kMaxPayload = uint64_t{1} << 32;  // bytes of a reply

std::string ended_text(std::string_view script, ChildProcess& child) {
  const std::string how = child.how_it_ended(),
                    errors = one_line(child.last_errors(ChildProcess::kLineOfErrors));
  return std::string(script) + (how.empty() ? " sent no reply" : " ended with " + how) +
         (errors.empty() ? "" : ": " + errors);
}

}  // namespace

ScriptReply call_script(const ScriptRequest& request) {
  std::vector<std::string> command = script_command(request.script);
  command.insert(command.end(), request.arguments.begin(), request.arguments.end());
  auto child = ChildProcess::start(command);
  if (!child) return {child.problem() + "; FUSESMITH_PYTHON names the interpreter"};
  const TimeLimit limit = (*child)->limit_from_now(request.seconds);
  const std::span<const std::byte> payload[] = {request.payload};
  Io io = send_frame(**child, request.header, payload, limit);
  Received received{io};
  const auto is_late = [&] { return received.io != Io::done && received.io != Io::closed; };
  if (!is_late()) received = receive_frame(**child, kMaxPayload, limit);
  if (is_late()) return {std::string(request.script) + ": no reply within the time limit", true};
  if (received.io != Io::done) {
    ScriptReply ended{ended_text(request.script, **child)};
    // Where a library of C++ ends the process, for example.
    for (const char* words : {"bad_alloc", "MemoryError", "Cannot allocate memory"})
      ended.out_of_memory |= ended.problem.find(words) != std::string::npos;
    return ended;
  }
  if (!received.problem.empty()) return {std::string(request.script) + ": " + received.problem};
  ScriptReply reply;
  auto header = parse_strict_json(received.frame.header);
  if (!header || !header->is_object())
    return {std::string(request.script) + ": the reply is no JSON object" +
            (header ? "" : ": " + header.problem())};
  reply.header = std::move(*header);
  if (const auto error = reply.header.find("error"); error != reply.header.end()) {
    const auto memory = reply.header.find("out_of_memory");
    return {error->is_string() ? one_line(error->get<std::string>()) : "an error without a text", false,
            memory != reply.header.end() && *memory == true};
  }
  reply.payload = std::move(received.frame.payload);
  return reply;
}

}  // namespace fusesmith::backends
