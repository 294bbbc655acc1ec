// Random ops on live values: any op of the list, with attributes drawn from the domains that its fields
// declare. Only an op whose operand shapes depend on each other needs a function below, which derives its
// operands from the first one.
#include <algorithm>
#include <limits>

#include "fuzz/generate/pieces/pieces.h"
#include "graph/formula.h"

namespace fusesmith::fuzz {
namespace {

using Values = std::vector<Value>;

template <class T, class Domain>
void draw_attribute(Scene& s, T& value, const Domain& domain, int rank) {
  if constexpr (std::same_as<T, bool>) {
    value = s.flip();
  } else if constexpr (std::same_as<T, Dtype>) {
    value = s.choices.pick(std::span<const Dtype>(kFloatDtypes));
  } else if constexpr (std::same_as<Domain, Axis>) {
    const int axes = rank + (domain.of_output ? 1 : 0);
    if (axes > 0) value = s.choices.between(-axes, axes - 1);
  } else if constexpr (std::same_as<Domain, IntRange>) {
    value = std::clamp(s.dim(), domain.lo, domain.hi);
  } else if constexpr (std::same_as<T, double>) {
    value = s.choices.pick({1.0, 0.5, 2.0, 0.125, 0.1, -1.0, 3.0, 0.0, 1e-3, 1e-5});
    if constexpr (std::same_as<Domain, RealRange>) value = std::clamp(value, domain.lo, domain.hi);
  } else if constexpr (EnumAttribute<T>) {
    value = static_cast<T>(s.choices.below(static_cast<int64_t>(domain.names.size())));
  }
}

// Adds operands to the first one (a live value of rank 1 to 4; none for source ops) and sets the
// attributes that depend on shapes. The default: float operands that broadcast with the first.
template <class T>
void complete(Scene& s, T&, Values& inputs) {
  const int64_t count = s.choices.between(T::info.min_inputs, T::info.max_inputs);
  while (static_cast<int64_t>(inputs.size()) < count) inputs.push_back(s.broadcastable(s.type(inputs[0])));
}

void complete(Scene& s, Permute& op, Values& inputs) { op = random_permute(s, s.shape(inputs[0])); }
void complete(Scene& s, Reshape& op, Values& inputs) { op = random_reshape(s, s.shape(inputs[0])); }
void complete(Scene& s, Slice& op, Values& inputs) { op = random_slice(s, s.shape(inputs[0])); }
void complete(Scene& s, BroadcastTo& op, Values& inputs) { op = random_broadcast(s, s.shape(inputs[0])); }

template <class T>
requires requires(T& op) { op.axes; }
void complete(Scene& s, T& op, Values& inputs) { op.axes = random_axes(s, s.type(inputs[0]).rank()); }
void complete(Scene& s, VarMean& op, Values& inputs) {
  op.axes = random_axes(s, s.type(inputs[0]).rank());
  op.correction = s.choices.below(2);
}
void complete(Scene& s, Chunk& op, Values& inputs) { op = random_chunk(s, s.shape(inputs[0])).value_or(op); }

// Shifts may exceed the size of the axis.
void complete(Scene& s, Roll& op, Values&) { op.shift = s.choices.between(-150, 150); }

// f8e8m0 has no numbers of either sign.
void complete(Scene& s, Cast& op, Values& inputs) {
  if (s.flip(0.7)) {
    op = Cast{op.dtype};
    return;
  }
  op.dtype = s.choices.pick({Dtype::f8e4m3, Dtype::f8e5m2, Dtype::f4e2m1, Dtype::s8, Dtype::s4});
  inputs[0] = s.any(1, 4);
}

void complete(Scene& s, Concat& op, Values& inputs) {
  const TensorType type = s.type(inputs[0]);
  const auto axis = static_cast<size_t>(*resolve_axis(op.axis, type.rank()));
  for (int64_t more = s.choices.between(1, 3); more > 0; --more) {
    TensorType part = type;
    part.shape[axis] = s.dim(16);
    inputs.push_back(s.like(part));
  }
}

void complete(Scene& s, IndexCopy& op, Values& inputs) {
  TensorType source = s.type(inputs[0]);
  int64_t& size = source.shape[static_cast<size_t>(*resolve_axis(op.axis, source.rank()))];
  const int64_t count = s.choices.between(1, size);
  inputs.push_back(distinct_indices(s, count, size));
  size = count;
  inputs.push_back(s.like(source));
}

// Derives the operands from x.
void complete(Scene& s, Rope& op, Values& inputs) {
  TensorType table = s.type(inputs[0]);
  const int64_t width = table.shape.back();
  if (width < 2) return;
  op.rotary_dim = draw_rotary_dim(s, width);
  table.shape.back() = op.rotated(width) / 2;
  if (table.rank() > 1 && s.flip(0.3)) table.shape.front() = 1;
  inputs.push_back(s.like(table));
  inputs.push_back(s.like(table));
}

void complete(Scene& s, Squeeze& op, Values& inputs) {
  TensorType type = s.type(inputs[0]);
  if (s.flip(s.habits.unit_axis)) {
    type.shape[static_cast<size_t>(*resolve_axis(op.axis, type.rank()))] = 1;
    inputs[0] = s.activation(type);
    return;
  }
  if (!s.flip(0.3)) inputs[0] = s.op(Unsqueeze{op.axis}, {inputs[0]});
}

void complete(Scene& s, Arange& op, Values&) {
  op.start = s.flip() ? 0 : op.start;
  op.step = s.flip() ? 1 : op.step;
}

void complete(Scene& s, Scale& op, Values&) {
  if (op.inverse && op.factor == 0) op.factor = s.choices.pick({4.0, 0.3});
}

void complete(Scene& s, Gather&, Values& inputs) {
  const int64_t rows = s.shape(inputs[0])[0];
  Shape shape = {s.dim(16)};
  if (s.flip(0.4)) shape.push_back(s.dim(8));
  inputs.push_back(s.token_ids(shape, rows));
}

void complete(Scene& s, Where&, Values& inputs) {
  const TensorType type = s.type(inputs[0]);
  inputs.push_back(s.broadcastable(type));
  Shape shape = type.shape;
  if (s.flip(0.4)) shape.erase(shape.begin());
  inputs.insert(inputs.begin(), s.mask(shape, 0.5));
}

void complete(Scene& s, MaskedFill& op, Values& inputs) {
  if (s.flip(0.2)) op.value = -std::numeric_limits<double>::infinity();
  Shape shape = s.shape(inputs[0]);
  if (s.flip(0.4)) shape.front() = 1;
  inputs.push_back(s.mask(shape, 0.3));
}

void complete(Scene& s, LayerNorm& op, Values& inputs) {
  op.eps = std::max(op.eps, 1e-6);
  const TensorType affine{s.type(inputs[0]).dtype, {s.shape(inputs[0]).back()}};
  const int64_t count = s.choices.between(1, 3);
  if (count > 1) inputs.push_back(s.gain(affine));
  if (count > 2) inputs.push_back(s.bias(affine));
}

void complete(Scene& s, RmsNorm& op, Values& inputs) {
  op.eps = std::max(op.eps, 1e-6);
  if (s.flip()) inputs.push_back(s.gain({s.type(inputs[0]).dtype, {s.shape(inputs[0]).back()}}));
}

void complete(Scene& s, GroupNorm& op, Values& inputs) {
  if (s.type(inputs[0]).rank() < 2) return;
  op.eps = std::max(op.eps, 1e-6);
  const int64_t channels = s.shape(inputs[0])[1];
  if (channels % op.groups != 0) op.groups = channels % 2 == 0 ? 2 : channels;
  const TensorType affine{s.type(inputs[0]).dtype, {channels}};
  const int64_t count = s.choices.between(1, 3);
  if (count > 1) inputs.push_back(s.gain(affine));
  if (count > 2) inputs.push_back(s.bias(affine));
}

void complete(Scene& s, Linear&, Values& inputs) {
  const Dtype dtype = s.type(inputs[0]).dtype;
  const int64_t k = s.shape(inputs[0]).back(), n = s.dim();
  inputs.push_back(s.weight({dtype, {n, k}}, k));
  if (s.flip()) inputs.push_back(s.bias({dtype, {n}}));
}

void complete(Scene& s, Matmul& op, Values& inputs) {
  const TensorType type = s.type(inputs[0]);
  if (type.rank() < 2) return;
  const int64_t k = type.shape.end()[op.transpose_a ? -2 : -1], n = s.dim();
  Shape other(type.shape.begin(), type.shape.end() - 2);
  if (!other.empty() && s.flip(0.3)) other.erase(other.begin());
  if (other.empty() && s.flip(0.2)) other.push_back(s.dim(3));
  other.insert(other.end(), {op.transpose_b ? n : k, op.transpose_b ? k : n});
  inputs.push_back(s.weight({type.dtype, other}, k));
}

template <DefinedOp T>
void complete(Scene& s, T&, Values& inputs) {
  for (const Operand& operand : std::span<const Operand>(T::operands).subspan(1)) {
    const TensorType type = operand_type(operand, s.type(inputs[0]));
    inputs.push_back(operand.is_row ? s.gain(type) : s.like(type));
  }
}

void complete(Scene& s, Sdpa& op, Values& inputs) {
  if (s.type(inputs[0]).rank() >= 2) inputs = sdpa_operands(s, op, inputs[0]);
}

// Chooses letters for the axes of the first operand (two axes of equal size may share one: the diagonal),
// some of these and new ones for the second, and any of all for the output, in any order.
void complete(Scene& s, Einsum& op, Values& inputs) {
  const TensorType type = s.type(inputs[0]);
  std::string a, b, out;
  for (size_t axis = 0; axis < type.shape.size(); ++axis) {
    const auto same = std::find(type.shape.begin(), type.shape.begin() + static_cast<std::ptrdiff_t>(axis),
                                type.shape[axis]);
    const auto earlier = static_cast<size_t>(same - type.shape.begin());
    a += earlier < axis && s.flip(0.15) ? a[earlier] : static_cast<char>('a' + axis);
  }
  Shape other;
  for (size_t axis = 0; axis < a.size(); ++axis) {
    if (b.find(a[axis]) != std::string::npos || s.flip(0.4)) continue;
    b += a[axis];
    other.push_back(type.shape[axis]);
  }
  for (char letter = 'x'; letter <= 'z' && other.size() < 4 && s.flip(0.5); ++letter) {
    const auto at = static_cast<size_t>(s.choices.below(static_cast<int64_t>(b.size()) + 1));
    b.insert(b.begin() + static_cast<std::ptrdiff_t>(at), letter);
    other.insert(other.begin() + static_cast<std::ptrdiff_t>(at), s.dim(33));
  }
  int64_t summed = 1;
  const std::string letters = a + b;
  for (size_t i = 0; i < letters.size(); ++i) {
    if (letters.find(letters[i]) != i) continue;
    const int64_t size = i < a.size() ? type.shape[i] : other[i - a.size()];
    if (s.flip(0.7))
      out.insert(out.begin() + s.choices.below(static_cast<int64_t>(out.size()) + 1), letters[i]);
    else
      summed *= size;
  }
  op.equation = a + "," + b + "->" + out;
  inputs.push_back(s.weight({type.dtype, other}, std::min<int64_t>(summed, 1 << 20)));
}

template <class T>
bool add_free(Scene& s) {
  T op;
  Values inputs;
  if (T::info.max_inputs > 0) inputs.push_back(s.any(1, 4));
  const int rank = inputs.empty() ? 0 : s.type(inputs[0]).rank();
  for_each_field<T>([&](const auto& field) { draw_attribute(s, op.*field.member, field.domain, rank); });
  complete(s, op, inputs);
  Types types;
  for (Value v : inputs) types.push_back(s.type(v));
  if (!infer(Op(op), types)) return false;
  for (Value v = s.op(op, inputs); v < s.sketch.value_count(); ++v) s.keep(v);
  return true;
}

using Adders = std::vector<bool (*)(Scene&)>;

}  // namespace

bool add_free_op(Scene& s) {
  Adders adders;
  for_each_op([&]<class T>(std::type_identity<T>) { adders.push_back(add_free<T>); });
  const std::vector<int> weights(adders.size(), 1);
  return adders[s.choices.weighted_of_grown(weights, kFirstOps)](s);
}

bool add_op_of(Scene& s, const std::vector<std::string>& names) {
  Adders adders;
  for_each_op([&]<class T>(std::type_identity<T>) {
    if (std::find(names.begin(), names.end(), T::info.name) != names.end()) adders.push_back(add_free<T>);
  });
  check(!adders.empty(), "no such op");
  return s.choices.pick(std::span<bool (*const)(Scene&)>(adders))(s);
}

}  // namespace fusesmith::fuzz
