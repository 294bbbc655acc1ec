#include "minimizer/fingerprint.h"

#include <bit>
#include <cstring>

namespace fusesmith::minimizer {
namespace {

// 64-bit words mixed one after the other (the finalizer of SplitMix64).
class Hash {
 public:
  void add(uint64_t word) {
    state_ += word + 0x9e3779b97f4a7c15u;
    state_ = (state_ ^ (state_ >> 30)) * 0xbf58476d1ce4e5b9u;
    state_ = (state_ ^ (state_ >> 27)) * 0x94d049bb133111ebu;
    state_ ^= state_ >> 31;
  }
  void add(const std::string& text) {
    add(uint64_t{text.size()});
    size_t at = 0;
    for (; at + 8 <= text.size(); at += 8) {
      uint64_t word = 0;
      std::memcpy(&word, text.data() + at, 8);
      add(word);
    }
    uint64_t rest = 0;
    for (; at < text.size(); ++at) rest = rest << 8 | static_cast<uint8_t>(text[at]);
    add(rest);
  }
  void add(const Shape& shape) {
    add(uint64_t{shape.size()});
    for (int64_t dim : shape) add(static_cast<uint64_t>(dim));
  }
  void add(double x) { add(std::bit_cast<uint64_t>(x)); }
  template <class T>
  requires std::integral<T> || std::is_enum_v<T>
  void add(T x) { add(static_cast<uint64_t>(x)); }
  template <class... T>
  void add(const std::variant<T...>& choice) {  // of ops and fills
    add(uint64_t{choice.index()});
    std::visit([&](const auto& x) { add_fields(x); }, choice);
  }
  template <class T>
  void add_fields(const T& x) {
    for_each_field<T>([&](const auto& field) { add(x.*field.member); });
  }
  uint64_t value() const { return state_; }

 private:
  uint64_t state_ = 0;
};

void add_source(Hash& hash, const auto& source) {
  hash.add(source.name);
  hash.add(source.type.dtype);
  hash.add(source.type.shape);
  hash.add(source.fill);
  if constexpr (requires { source.repeat; }) {
    if (!source.repeat.empty()) hash.add(source.repeat);
  }
  if (source.layout) hash.add_fields(*source.layout);
}

}  // namespace

uint64_t fingerprint(const Case& test_case) {
  Hash hash;
  hash.add(test_case.seed);
  hash.add(test_case.steps);
  hash.add(test_case.policy.tf32);
  hash.add(test_case.policy.implicit_casts);
  hash.add(test_case.policy.skip_patterns.size());
  for (const std::string& pattern : test_case.policy.skip_patterns) hash.add(pattern);
  hash.add(test_case.policy.metamorphic.size());
  for (const std::string& check : test_case.policy.metamorphic) hash.add(check);
  hash.add(test_case.policy.replaced);
  hash.add(test_case.stand_ins.size());
  for (const StandIn& pair : test_case.stand_ins) {
    hash.add(pair.value);
    hash.add(pair.by);
  }
  const Graph& graph = test_case.graph;
  hash.add(graph.inputs().size());
  for (const Input& input : graph.inputs()) add_source(hash, input);
  hash.add(graph.states().size());
  for (const State& state : graph.states()) {
    add_source(hash, state);
    hash.add(state.next);
  }
  hash.add(graph.nodes().size());
  for (const Node& node : graph.nodes()) {
    hash.add(node.name);
    hash.add(node.op);
    hash.add(node.inputs.size());
    for (ValueId v : node.inputs) hash.add(v);
  }
  for (ValueId v : graph.outputs()) hash.add(v);
  return hash.value();
}

}  // namespace fusesmith::minimizer
