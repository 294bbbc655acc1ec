// Op: one of the structs under graph/ops/. This is the one list of ops; everything else is derived from it.
#pragma once

#include <concepts>
#include <string>
#include <type_traits>
#include <variant>

#include "graph/op_fields.h"
#include "graph/ops/add.h"
#include "graph/ops/arange.h"
#include "graph/ops/broadcast_to.h"
#include "graph/ops/cast.h"
#include "graph/ops/causal_mask.h"
#include "graph/ops/chunk.h"
#include "graph/ops/concat.h"
#include "graph/ops/div.h"
#include "graph/ops/dropout.h"
#include "graph/ops/einsum.h"
#include "graph/ops/exp.h"
#include "graph/ops/flip.h"
#include "graph/ops/gather.h"
#include "graph/ops/gelu.h"
#include "graph/ops/group_norm.h"
#include "graph/ops/index_copy.h"
#include "graph/ops/layer_norm.h"
#include "graph/ops/linear.h"
#include "graph/ops/masked_fill.h"
#include "graph/ops/matmul.h"
#include "graph/ops/maximum.h"
#include "graph/ops/mul.h"
#include "graph/ops/permute.h"
#include "graph/ops/reduce_max.h"
#include "graph/ops/reduce_mean.h"
#include "graph/ops/reduce_sum.h"
#include "graph/ops/relu.h"
#include "graph/ops/reshape.h"
#include "graph/ops/rms_norm.h"
#include "graph/ops/roll.h"
#include "graph/ops/rope.h"
#include "graph/ops/rsqrt.h"
#include "graph/ops/scale.h"
#include "graph/ops/sdpa.h"
#include "graph/ops/sigmoid.h"
#include "graph/ops/silu.h"
#include "graph/ops/slice.h"
#include "graph/ops/softcap.h"
#include "graph/ops/softmax.h"
#include "graph/ops/sqrt.h"
#include "graph/ops/squeeze.h"
#include "graph/ops/sub.h"
#include "graph/ops/tanh.h"
#include "graph/ops/unsqueeze.h"
#include "graph/ops/var_mean.h"
#include "graph/ops/where.h"

namespace fusesmith::graph {

using OpVariant = std::variant<Einsum, Matmul, Linear, Add, Sub, Mul, Div, Maximum, Scale, Relu, Gelu, Silu,
                               Sigmoid, Tanh, Exp, Sqrt, Rsqrt, Softcap, Softmax, LayerNorm, RmsNorm,
                               GroupNorm, ReduceSum, ReduceMean, ReduceMax, VarMean, Dropout, Cast, Reshape,
                               Permute, Unsqueeze, Squeeze, BroadcastTo, Slice, Chunk, Concat, Roll, Flip,
                               Gather, IndexCopy, Arange, Where, MaskedFill, CausalMask, Rope, Sdpa>;

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
