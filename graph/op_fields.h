// How an op declares itself: OpInfo (name, doc, arity, class), a tuple of Fields (its attributes with their
// domains), and its traits. JSON, printing, sampling, shrinking, `list ops` and the op table are all derived
// from these declarations. No trait has a default: op_traits.cc names each that an op lacks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "graph/result.h"
#include "graph/tensor.h"
#include "graph/traits/axis_relations.h"
#include "graph/traits/grid.h"
#include "graph/traits/magnitude.h"
#include "graph/traits/scaling.h"
#include "graph/traits/work.h"

namespace fusesmith::graph {

enum class OpClass {
  movement,   // output elements are input elements: nothing is computed, nothing rounds
  select,     // output elements are input elements or constants, chosen by data: nothing rounds
  pointwise,  // one value from the elements at the same (broadcast) place
  product,    // sums of products
  reduction,  // normalisations and reductions along an axis
  source,     // made from attributes alone
  composite,  // defined by its expansion into other ops
};

inline constexpr std::string_view kOpClasses[] = {"movement",  "select", "pointwise", "product",
                                                  "reduction", "source", "composite"};

struct OpInfo {
  std::string_view name;
  std::string_view doc;  // one line
  int min_inputs;
  int max_inputs;
  OpClass op_class;
};

// The trait `outputs`: whether the op may have more than one, as many as infer() says.
enum class OutputCount : uint8_t { one, several };

// Of an op with several outputs that no formula defines: how many there are, or the attribute that says so.
struct SeveralOutputs {
  int count = 0;
  std::string_view attribute = {};
};

// How libraries write an op that they compute as it is: the name of a function of its operands, in their
// order, that takes none of the op's attributes. Empty where a library has none. An op declares it as
// `spelling`; workers, exported PyTorch and the importers follow it (python/fusesmith/vocabulary.json).
struct Spelling {
  std::string_view torch = {};  // of the modules torch, F (torch.nn.functional) and aten (torch.ops.aten)
  std::string_view onnx = {};   // the operator
  std::string_view jax = {};    // of the modules jnp (jax.numpy), lax (jax.lax) and jax
};
template <class Op>
constexpr Spelling spelling_of() {
  if constexpr (requires { Op::spelling; }) return Op::spelling;
  return {};
}

// The trait `inner_errors`: true where rounding errors of inner values (statistics, exponentials, inner
// products) may be large against the output, so that its bound may be too loose to judge by. The error of a
// single sum, product or function is as small as its inputs allow.

// Domains of attributes.
struct IntRange {
  int64_t lo, hi;
};
struct RealRange {
  double lo, hi;
};
struct Axis {  // an axis of input 0 (or of the output, for ops that add one); negative counts from the end
  bool of_output = false;
};
struct AnyOf {  // the names of an enum's values, in order
  std::span<const std::string_view> names;
};
struct Free {  // checked by shape inference alone
  std::string_view what;
};

template <class S, class T, class Domain>
struct Field {
  std::string_view name;
  T S::*member;
  Domain domain;
  bool required = false;
};
template <class S, class T, class Domain>
Field(std::string_view, T S::*, Domain) -> Field<S, T, Domain>;
template <class S, class T, class Domain>
Field(std::string_view, T S::*, Domain, bool) -> Field<S, T, Domain>;

template <class S, class F>
constexpr void for_each_field(F f) {
  std::apply([&](const auto&... field) { (f(field), ...); }, S::fields());
}

// Shared steps of shape inference; each error is one line that says what was expected.
Problem expected(std::string what);
Result<int> resolve_axis(int64_t axis, int rank);
Result<Types> same_float_type(TypeSpan inputs);        // unary: a float tensor, returned as it is
Result<Types> broadcast_float_types(TypeSpan inputs);  // binary: equal float dtypes, broadcast shapes
Result<Types> one(TensorType type);
// Of the product of two operands: their dtype if it is one float dtype, and f32 of two quantized floats.
std::optional<Dtype> product_dtype(Dtype a, Dtype b);

}  // namespace fusesmith::graph
