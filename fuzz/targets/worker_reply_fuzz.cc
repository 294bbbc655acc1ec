// libFuzzer target: any bytes as what a worker sends (docs/workers.md): the start of a frame, its JSON header
// and the payload. Each is refused with one line that says why, or gives a plan that can run or tensors.
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>

#include "backends/remote/frame.h"
#include "backends/remote/remote_plan.h"
#include "backends/remote/reply_tensors.h"
#include "fuzz/targets/plan_check.h"
#include "graph/graph.h"
#include "graph/json_strict.h"

namespace {

using namespace fusesmith;

// An attention with a cast, a sum that is an output, and a state: what contracts can name.
fuzz::Graph sample() {
  fuzz::Builder b;
  const fuzz::TensorType type{fuzz::Dtype::bf16, {4, 4}};
  const auto x = b.input("x", type, fuzz::Normal{}), y = b.input("y", type, fuzz::Normal{});
  const auto sums = b.node(fuzz::Einsum{"ij,ik->ij"}, {x, y}, "sums");
  const auto p = b.node(fuzz::Softmax{-1}, {sums}, "p");
  const auto attention = b.node(fuzz::Sdpa{}, {p, x, y}, "attention");
  b.output(b.node(fuzz::Cast{fuzz::Dtype::f32}, {attention}, "wide"));
  b.output(sums);
  return *b.build();
}

void check_problem(const std::string& problem) {
  fuzz::check(!problem.empty() && problem.size() < 1000, "a problem is short");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const fuzz::Graph graph = sample();
  constexpr uint64_t kMostPayload = 1 << 20;
  backends::FramePrefix prefix;
  if (size < sizeof prefix) return 0;
  std::memcpy(&prefix, data, sizeof prefix);
  if (const auto problem = backends::check_prefix(prefix, kMostPayload)) check_problem(problem->what);
  // Whatever the lengths say, the rest is a header, a byte 0, and the payload.
  const auto* text = reinterpret_cast<const char*>(data) + sizeof prefix;
  const size_t left = size - sizeof prefix, header_size = strnlen(text, left);
  const auto parsed = graph::parse_strict_json(std::string_view(text, header_size));
  if (!parsed.ok()) return check_problem(parsed.problem()), 0;
  const auto& header = *parsed;
  if (!header.is_object()) return 0;
  const auto plan = backends::parse_plan(graph, header);
  if (plan.ok()) {
    fuzz::check_plan(graph, *plan);
    check_problem("grants " + backends::granted_text(plan->regions[0].contract).substr(0, 100));
  } else {
    check_problem(plan.problem());
  }
  const auto payload = std::as_bytes(std::span(text, left)).subspan(std::min(header_size + 1, left));
  const auto tensors = backends::reply_tensors(header, payload);
  if (!tensors) return check_problem(tensors.problem()), 0;
  const size_t bytes =
      std::accumulate(tensors->begin(), tensors->end(), size_t{0},
                      [](size_t sum, const auto& one) { return sum + one.second.bytes.size(); });
  fuzz::check(bytes == payload.size(), "the tensors are the payload");
  return 0;
}
