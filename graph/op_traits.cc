#include "graph/op_traits.h"

#include <algorithm>

#include "graph/expand.h"
#include "graph/formula.h"
#include "graph/formula_traits.h"

namespace fusesmith::graph {
namespace {

template <class T>
concept HasOutputs = std::same_as<std::remove_cv_t<decltype(T::outputs)>, OutputCount>;
template <class T>
concept HasInnerErrors = requires {
  bool{T::inner_errors};
};
template <class T>
concept HasWork = requires(const T& op, TypeSpan types, const TensorType& output) {
  { op.work(types, output) } -> std::same_as<Work>;
};
template <class T>
concept HasMagnitude = requires(const T& op, const MagnitudeOperands& operands) {
  { op.magnitude(operands) } -> std::same_as<Magnitude>;
};
template <class T>
concept HasGrid = requires(const T& op, const GridOperands& operands) {
  { op.grid(operands) } -> std::same_as<std::optional<Grid>>;
};
template <class T>
concept HasScaling = requires(const T& op, ScalingNode& node) {
  { op.scaling(node) } -> std::same_as<OutputForms>;
};
template <class T>
concept HasAxisRelations = requires(const T& op, AxisRelations& axes) {
  op.axis_relations(axes);
};

// An op that a formula defines declares `outputs` and `inner_errors` alone.
#define FUSESMITH_CHECK_TRAITS(T)                                                                           \
  static_assert(HasOutputs<T>, "op " #T " declares no `outputs` (graph/op_fields.h)");                      \
  static_assert(HasInnerErrors<T>, "op " #T " declares no `inner_errors` (graph/op_fields.h)");             \
  static_assert(HasWork<T> || DefinedOp<T>, "op " #T " declares no `work` (graph/traits/work.h)");          \
  static_assert(HasMagnitude<T> || DefinedOp<T>,                                                            \
                "op " #T " declares no `magnitude` (graph/traits/magnitude.h)");                            \
  static_assert(HasGrid<T> || DefinedOp<T>, "op " #T " declares no `grid` (graph/traits/grid.h)");          \
  static_assert(HasScaling<T> || DefinedOp<T>, "op " #T " declares no `scaling` (graph/traits/scaling.h)"); \
  static_assert(HasAxisRelations<T> || DefinedOp<T>,                                                        \
                "op " #T " declares no `axis_relations` (graph/traits/axis_relations.h)");
FUSESMITH_FOR_EACH_OP(FUSESMITH_CHECK_TRAITS)
#undef FUSESMITH_CHECK_TRAITS

// Below, what lacks a trait is passed over, so that the lines above are the only errors.

double operations_per_output(const Op& op, TypeSpan inputs, const TensorType& output) {
  return static_cast<double>(work_of(op, inputs, output).operations) /
         static_cast<double>(element_count(output));
}

Magnitude of_all(std::span<const Magnitude> inputs) {
  Magnitude all{0, true, true};
  for (const Magnitude& in : inputs) {
    all.rms = std::max(all.rms, in.rms);
    all.finite = all.finite && in.finite;
    all.one_signed = all.one_signed && in.one_signed;
  }
  return all;
}

}  // namespace

bool has_inner_errors(const Op& op) {
  return std::visit(
      []<class T>(const T&) {
        if constexpr (HasInnerErrors<T>)
          return T::inner_errors;
        else
          return false;
      },
      op);
}

Work work_of(const Op& op, TypeSpan inputs, const TensorType& output) {
  return std::visit(
      [&]<class T>(const T& x) {
        if constexpr (HasWork<T>)
          return x.work(inputs, output);
        else if constexpr (DefinedOp<T>)
          return formula_traits::work(*expansion(op, inputs));
        else
          return Work();
      },
      op);
}

Magnitude magnitude_of(const Op& op, std::span<const Magnitude> inputs, TypeSpan input_types,
                       const TensorType& output) {
  const MagnitudeOperands operands{inputs, of_all(inputs), operations_per_output(op, input_types, output)};
  return std::visit(
      [&]<class T>(const T& x) {
        if constexpr (HasMagnitude<T>)
          return x.magnitude(operands);
        else if constexpr (DefinedOp<T>)
          return formula_traits::magnitude(*expansion(op, input_types), inputs);
        else
          return Magnitude();
      },
      op);
}

std::optional<Grid> derived_grid(const Op& op, std::span<const Grid> inputs, TypeSpan input_types,
                                 const TensorType& output) {
  const GridOperands operands{inputs, operations_per_output(op, input_types, output), output.dtype};
  return std::visit(
      [&]<class T>(const T& x) {
        if constexpr (HasGrid<T>)
          return x.grid(operands);
        else if constexpr (DefinedOp<T>)
          return formula_traits::grid(*expansion(op, input_types), inputs);
        else
          return std::optional<Grid>();
      },
      op);
}

OutputForms scaling_of(const Op& op, ScalingNode& node, TypeSpan input_types, size_t outputs) {
  OutputForms forms = std::visit(
      [&]<class T>(const T& x) {
        if constexpr (HasScaling<T>)
          return x.scaling(node);
        else if constexpr (DefinedOp<T>)
          return formula_traits::scaling(*expansion(op, input_types), node);
        else
          return OutputForms();
      },
      op);
  if (forms.size() == 1) forms.resize(outputs, LinearForm(forms[0]));
  check(forms.size() == outputs, "scaling: one form, or one for each output");
  return forms;
}

AxisRelations axis_relations_of(const Op& op, TypeSpan inputs, TypeSpan outputs) {
  AxisRelations axes(inputs, outputs);
  std::visit(
      [&]<class T>(const T& x) {
        if constexpr (HasAxisRelations<T>)
          x.axis_relations(axes);
        else if constexpr (DefinedOp<T>)
          formula_traits::axis_relations(*expansion(op, inputs), axes);
      },
      op);
  return axes;
}

}  // namespace fusesmith::graph
