#include "graph/op.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "graph/attributes.h"
#include "graph/expand.h"

namespace fusesmith::graph {

Op::Op(const Op& other) = default;
Op::Op(Op&& other) noexcept = default;
Op& Op::operator=(const Op& other) = default;
Op& Op::operator=(Op&& other) noexcept = default;
Op::~Op() = default;

bool operator==(const Op& a, const Op& b) {
  return static_cast<const OpVariant&>(a) == static_cast<const OpVariant&>(b);
}

const OpInfo& info(const Op& op) {
  return std::visit([](const auto& x) -> const OpInfo& { return std::decay_t<decltype(x)>::info; }, op);
}

std::optional<Op> default_op(std::string_view op_name) {
  std::optional<Op> found;
  for_each_op([&]<class T>(std::type_identity<T>) {
    if (T::info.name == op_name) found = T{};
  });
  return found;
}

Result<Types> infer(const Op& op, TypeSpan inputs) {
  const OpInfo& about = info(op);
  const int count = static_cast<int>(inputs.size());
  if (count < about.min_inputs || count > about.max_inputs) {
    std::string arity = std::to_string(about.min_inputs);
    if (about.max_inputs != about.min_inputs) arity += " to " + std::to_string(about.max_inputs);
    return expected(arity + " inputs, got " + std::to_string(count));
  }
  return std::visit(
      [&](const auto& x) -> Result<Types> {
        if (const auto problem = range_problem(x)) return *problem;
        auto types = infer(x, inputs);
        if (!types) return types;
        for (const TensorType& type : *types) {
          for (int64_t dim : type.shape) {
            if (dim < 1) return expected("dimensions of 1 or more, got " + to_string(type));
          }
          if (element_count(type) > kMaxElements)
            return expected("at most 2^27 elements, got " + to_string(type));
          if (type.rank() > kMaxRank) return expected("rank 8 or less, got " + to_string(type));
        }
        return types;
      },
      op);
}

namespace {

// Scores and repeated keys, which an sdpa holds without being seen; the limits are those of its infer.
bool has_large_inner_values(TypeSpan inputs) {
  if (inputs.size() < 2 || inputs[0].rank() < 2 || inputs[1].rank() < 2) return false;
  Shape keys = inputs[0].shape;
  keys.end()[-2] = inputs[1].shape.end()[-2];
  constexpr int64_t kMostRows = 1 << 16;
  return score_count(inputs) > kMaxScores || element_count(keys) > kMaxElements ||
         inputs[0].shape.end()[-2] > kMostRows || keys.end()[-2] > kMostRows;
}

}  // namespace

bool is_too_large(const Op& op, TypeSpan inputs) {
  if (std::holds_alternative<Sdpa>(op) && has_large_inner_values(inputs)) return true;
  const auto types = std::visit([&](const auto& x) { return infer(x, inputs); }, op);
  return types && std::any_of(types->begin(), types->end(),
                              [](const TensorType& type) { return element_count(type) > kMaxElements; });
}

std::string to_string(const Op& op) {
  return std::visit(
      [&]<class T>(const T& x) {
        std::string text;
        for_each_field<T>([&](const auto& field) {
          text += (text.empty() ? "" : ", ") + std::string(field.name) + "=" +
                  attribute_text(x.*field.member, field.domain);
        });
        return std::string(T::info.name) + (text.empty() ? "" : "(" + text + ")");
      },
      op);
}

std::string semantic_name(const Op& op) {
  return std::visit(
      [&]<class T>(const T& x) {
        std::string text(T::info.name);
        for_each_field<T>([&](const auto& field) {
          using V = std::decay_t<decltype(x.*field.member)>;
          // Those of cast that are not required came later: names of older failures stay.
          if (std::same_as<T, Cast> && !field.required && x.*field.member == T{}.*field.member) return;
          if constexpr (std::same_as<V, bool>)
            text += x.*field.member ? "." + std::string(field.name) : "";
          else if constexpr (std::is_enum_v<V>)
            text += "." + attribute_text(x.*field.member, field.domain);
        });
        return text;
      },
      op);
}

std::string number_text(double x) {
  if (std::isnan(x)) return "nan";
  if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
  char buffer[32];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, x);
  check(error == std::errc(), "number_text: buffer too small");
  return {buffer, end};
}

}  // namespace fusesmith::graph
