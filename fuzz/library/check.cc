// The functions of include/fusesmith/check.h.
#include <fusesmith/check.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "fuzz/library/judge_call.h"
#include "fuzz/library/tensor_copy.h"
#include "graph/json_strict.h"

namespace fusesmith::fuzz {

namespace {

using Json = nlohmann::ordered_json;

bool has_indices(const Graph& graph) {
  const auto& inputs = graph.inputs();
  return std::any_of(inputs.begin(), inputs.end(),
                     [](const Input& input) { return input.type.dtype == Dtype::i32; });
}

// The case with the indices of this call as its data, so that its graph is valid only if they are in range.
// States are no indices: of their later values no range is known.
Result<Case> with_indices(const Case& test_case, const fusesmith_call& call) {
  auto json = nlohmann::json::parse(to_json(test_case));
  for (size_t i = 0; i < std::min(test_case.graph.inputs().size(), call.input_count); ++i) {
    const Input& input = test_case.graph.inputs()[i];
    if (input.type.dtype != Dtype::i32) continue;
    const auto copy = copy_of(call.inputs[i], input.type, input.name);
    if (!copy) return Problem{copy.problem()};
    json["graph"]["inputs"][i]["fill"] = {{"literal", {{"bits", literal_of(*copy).bits}}}};
  }
  return parse_case(json.dump());
}

Json judged(const Case& test_case, const fusesmith_call& call, const CallOptions& options) {
  try {
    if (!has_indices(test_case.graph)) return judge_call(test_case, call, options);
    const auto own = with_indices(test_case, call);
    return own ? judge_call(*own, call, options) : Json{{"error", own.problem()}};
  } catch (const std::exception& error) {  // out of memory
    return {{"error", error.what()}};
  }
}

Json judge_all(const Case& test_case, std::span<const fusesmith_call> calls, const CallOptions& options) {
  std::vector<Json> results(calls.size());
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next++; i < calls.size(); i = next++) results[i] = judged(test_case, calls[i], options);
  };
  const size_t wanted = options.threads > 0 ? options.threads : std::thread::hardware_concurrency();
  std::vector<std::jthread> others;
  try {
    for (size_t t = 1; t < std::min(wanted, calls.size()); ++t) others.emplace_back(work);
  } catch (const std::system_error&) {  // no more threads here: fewer do the same work
  }
  work();
  others.clear();
  return {{"results", std::move(results)}};
}

Json check(const char* graph, const char* options_text, std::span<const fusesmith_call> calls) {
  const auto test_case = parse_case(graph ? graph : "");
  if (!test_case) return {{"error", test_case.problem()}};
  const auto options = parse_call_options(options_text ? options_text : "{}");
  if (!options) return {{"error", options.problem()}};
  return judge_all(*test_case, calls, *options);
}

char* text_for_c(const std::string& text) {
  auto* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy) std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

}  // namespace

}  // namespace fusesmith::fuzz

extern "C" {

uint32_t fusesmith_check_abi_version(void) { return FUSESMITH_CHECK_ABI_VERSION; }

char* fusesmith_check(const char* graph, const char* options, const fusesmith_call* calls,
                      size_t call_count) {
  using namespace fusesmith;
  try {
    const auto json = fuzz::check(graph, options, {calls, call_count});
    return fuzz::text_for_c(json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  } catch (const std::exception& error) {
    return fuzz::text_for_c("{\"error\": " + graph::json_quoted(error.what()) + "}");
  }
}

void fusesmith_check_free(char* json) { std::free(json); }

}  // extern "C"
