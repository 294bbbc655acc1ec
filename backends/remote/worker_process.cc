#include "backends/remote/worker_process.h"

#include <cstring>

#include "backends/remote/reply_tensors.h"
#include "graph/json_strict.h"

namespace fusesmith::backends {
namespace {

using Json = nlohmann::json;
using Kind = WorkerError::Kind;

constexpr int kProtocol = 1;
constexpr uint64_t kNoPayload = 0;

std::string seconds_text(double seconds) {
  std::string text = std::to_string(seconds);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text + " s";
}

// The start and the end of a longer text, without blanks after it.
std::string shortened(std::string text, size_t start, size_t end) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  if (text.size() <= start + end) return text;
  return text.substr(0, start) + " ... " + text.substr(text.size() - end);
}

// Lines of a worker for a report.
std::string details_text(std::string text) {
  constexpr size_t kStart = 2000, kEnd = 6000;
  return shortened(std::move(text), kStart, kEnd);
}

}  // namespace

std::string one_line(std::string text) {
  constexpr size_t kStart = 300, kEnd = 300;
  text = shortened(std::move(text), kStart, kEnd);
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  }
  return text;
}

WorkerProcess::WorkerProcess(const WorkerSpec& spec, double seconds) : spec_(spec) {
  auto child = ChildProcess::start(spec.command, {}, cache_->variables());
  if (!child) throw WorkerError(Kind::died, spec.name, child.problem());
  child_ = std::move(*child);
  hello_ = ask({{"type", "hello"}, {"protocol", kProtocol}}, {}, "hello", kNoPayload, seconds).header;
  const auto protocol = hello_.find("protocol");
  if (protocol == hello_.end() || *protocol != kProtocol)
    fail(Kind::bad_reply, "hello: expected \"protocol\": " + std::to_string(kProtocol));
  for (const char* key : {"name", "device"}) {
    if (text_of(hello_, key).empty())
      fail(Kind::bad_reply, std::string("hello: expected a text in \"") + key + "\"");
  }
}

Reply WorkerProcess::ask(Json header, const std::vector<NamedTensor>& tensors, std::string_view expected,
                         uint64_t max_payload, double seconds) {
  const auto request = header["type"].get<std::string>();
  const TimeLimit limit = child_->limit_from_now(seconds);
  std::vector<std::span<const std::byte>> payload;
  if (!tensors.empty() || request == "run") header["tensors"] = Json::array();
  for (const NamedTensor& t : tensors) {
    header["tensors"].push_back({{"name", t.name}, {"type", to_string(t.tensor->type)}});
    payload.emplace_back(t.tensor->bytes);
  }
  goes_on_ = false;
  if (child_->has_output()) fail(Kind::bad_reply, "it sent more than the reply to the request before");
  send(header, std::move(payload), request, max_payload, limit, seconds);
  Received received = receive_frame(*child_, max_payload, limit);
  if (received.io != ChildProcess::Io::done) fail_io(received.io, request, seconds);
  if (!received.problem.empty()) fail(Kind::bad_reply, received.problem);
  return parse(std::move(received.frame), request, expected, max_payload);
}

// Much data goes through a file where the worker can read one.
void WorkerProcess::send(Json& header, std::vector<std::span<const std::byte>> payload,
                         const std::string& request, uint64_t max_payload, const TimeLimit& limit,
                         double seconds) {
  uint64_t bytes = 0;
  for (const auto& part : payload) bytes += part.size();
  const bool files = hello_.is_object() && hello_.value("files", Json()) == true;
  if (files && bytes >= kLargePayload) {
    if (!sent_) sent_ = std::make_unique<SharedFile>("fusesmith-inputs");
    if (sent_->ok() && sent_->write(payload)) {
      payload.clear();
      header["payload_file"] = sent_->path();
      header["payload_bytes"] = bytes;
    }
  }
  if (files && max_payload >= kLargePayload) {
    if (!received_) received_ = std::make_unique<SharedFile>("fusesmith-results");
    if (received_->ok()) header["reply_file"] = received_->path();
  }
  const auto io = send_frame(*child_, header.dump(), payload, limit);
  if (io != ChildProcess::Io::done) fail_io(io, request, seconds);
}

void WorkerProcess::take_file(const Json& header, uint64_t max_payload, std::vector<std::byte>& payload) {
  const auto file = header.find("payload_file");
  if (file == header.end()) return;
  const Json bytes = header.value("payload_bytes", Json());
  if (!received_ || *file != received_->path())
    fail(Kind::bad_reply, "\"payload_file\" is not the file it was given");
  if (!bytes.is_number_unsigned() || bytes.get<uint64_t>() > max_payload)
    fail(Kind::bad_reply, "\"payload_bytes\": expected a number up to " + std::to_string(max_payload));
  if (bytes.get<uint64_t>() > received_->size())
    fail(Kind::bad_reply, "the file holds less than \"payload_bytes\"");
  payload.resize(bytes.get<uint64_t>());
  if (!received_->read(payload)) fail(Kind::bad_reply, "the file holds less than \"payload_bytes\"");
}

void WorkerProcess::fail(Kind kind, const std::string& what, std::string details) {
  if (!goes_on_) child_->kill();
  throw WorkerError(kind, spec_.name, one_line(what), details_text(std::move(details)));
}

void WorkerProcess::fail_io(ChildProcess::Io io, const std::string& request, double seconds) {
  if (io == ChildProcess::Io::timed_out)
    fail(Kind::timed_out, "no answer to " + request + " within " + seconds_text(seconds) + " (--" +
                              (request == "run" ? "run" : "compile") + "_timeout)");
  if (io == ChildProcess::Io::overloaded)
    fail(Kind::overloaded, "no answer to " + request + " within " + std::to_string(TimeLimit::kOverload) +
                               " times " + seconds_text(seconds) +
                               ", in which the worker did not have that much time of a CPU");
  if (io == ChildProcess::Io::stopped)
    fail(Kind::overloaded, "the worker was stopped by a signal for " +
                               std::to_string(TimeLimit::kMostStopped.count()) + " s at " + request);
  std::string how = child_->how_it_ended();
  how = how.empty() ? "the worker closed its standard output" : "the worker ended with " + how;
  const std::string errors = one_line(child_->last_errors(ChildProcess::kLineOfErrors));
  fail(Kind::died, how + " at " + request + (errors.empty() ? "" : "; its last words: " + errors),
       child_->last_errors());
}

Reply WorkerProcess::parse(Frame frame, const std::string& request, std::string_view expected,
                           uint64_t max_payload) {
  Reply reply;
  auto header = parse_strict_json(frame.header);
  if (!header || !header->is_object())
    fail(Kind::bad_reply, "the header is no JSON object" + (header ? "" : ": " + header.problem()));
  reply.header = std::move(*header);
  const std::string type = text_of(reply.header, "type");
  if (type == "error") fail_as_told(reply.header);
  if (type != expected && !(request == "compile" && type == "unsupported"))
    fail(Kind::bad_reply, "expected a reply of type \"" + std::string(expected) + "\", got \"" + type + "\"");
  take_file(reply.header, max_payload, frame.payload);
  auto tensors = reply_tensors(reply.header, frame.payload);
  if (!tensors) fail(Kind::bad_reply, tensors.problem());
  reply.tensors = std::move(*tensors);
  goes_on_ = true;
  return reply;
}

void WorkerProcess::fail_as_told(const Json& header) {
  const std::string kind = text_of(header, "kind"), what = one_line(text_of(header, "what"));
  if (kind == "unavailable") fail(Kind::died, what);
  goes_on_ = true;
  if (kind == "out_of_memory") fail(Kind::out_of_memory, what);
  if (kind == "failed") fail(Kind::failed, what, text_of(header, "traceback"));
  if (kind == "wrong_result") fail(Kind::bad_reply, what);
  goes_on_ = false;
  fail(Kind::bad_reply, "unknown kind of error \"" + kind + "\"");
}

}  // namespace fusesmith::backends
