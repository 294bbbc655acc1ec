// Op: one of the structs that graph/op_list.h lists.
#pragma once

#include <concepts>
#include <string>
#include <type_traits>
#include <variant>

#include "graph/op_fields.h"
#include "graph/op_list.h"

namespace fusesmith::graph {

template <class, class... T>
using OpsVariant = std::variant<T...>;
#define FUSESMITH_NEXT_TYPE(T) , T
using OpVariant = OpsVariant<void FUSESMITH_FOR_EACH_OP(FUSESMITH_NEXT_TYPE)>;
#undef FUSESMITH_NEXT_TYPE

template <class T>
concept IsOp = requires(const OpVariant& op) {
  std::get_if<T>(&op);
};

// Copies, moves and compares in one place: instantiated in every file that holds a graph, they were half of
// its compile time.
class Op : public OpVariant {
 public:
  template <IsOp T>
  Op(T op) : OpVariant(std::in_place_type<T>, std::move(op)) {}
  Op(const Op& other);
  Op(Op&& other) noexcept;
  Op& operator=(const Op& other);
  Op& operator=(Op&& other) noexcept;
  ~Op();
};
bool operator==(const Op& a, const Op& b);

// Calls f(std::type_identity<T>{}) for every op T, in the list's order.
template <class F>
void for_each_op(F f) {
  [&]<size_t... I>(std::index_sequence<I...>) {
    (f(std::type_identity<std::variant_alternative_t<I, OpVariant>>{}), ...);
  }
  (std::make_index_sequence<std::variant_size_v<OpVariant>>{});
}

const OpInfo& info(const Op& op);
inline std::string_view name(const Op& op) { return info(op).name; }

// The op of that name with its default attributes, or nothing.
std::optional<Op> default_op(std::string_view name);

// Output types for these input types. Errors: wrong number of inputs, wrong dtypes or shapes, an attribute
// out of its range.
Result<Types> infer(const Op& op, TypeSpan inputs);
// Whether infer refuses because an output would have more elements than a tensor may.
bool is_too_large(const Op& op, TypeSpan inputs);

// "softmax(axis=-1)", for people.
std::string to_string(const Op& op);
// The attributes that choose an algorithm rather than a size (enums, bools, dtypes): "sdpa.both.causal"; for
// signatures.
std::string semantic_name(const Op& op);

template <class T>
concept EnumAttribute = std::is_enum_v<T> && !std::same_as<T, Dtype>;

// A number as files and reports write it: shortest form that reads back the same; "inf", "-inf", "nan".
std::string number_text(double x);

}  // namespace fusesmith::graph
