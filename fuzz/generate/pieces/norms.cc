// LayerNorm, RMSNorm and GroupNorm on live values, before or after a residual addition, with and without
// weight and bias, and in f32 between casts.
#include "fuzz/generate/pieces/pieces.h"

namespace fusesmith::fuzz {

namespace {

// Groups are formed along the channels, axis 1. Weight and bias have one element for each channel.
Value group_norm(Scene& s, Value x, double eps) {
  const int64_t channels = s.shape(x)[1];
  std::vector<int64_t> divisors;
  for (int64_t groups : {1, 2, 3, 4, 8, 16, 32}) {
    if (channels % groups == 0) divisors.push_back(groups);
  }
  const TensorType affine{s.type(x).dtype, {channels}};
  std::vector<Value> inputs = {x};
  if (s.flip(0.8)) inputs.push_back(s.gain(affine));
  if (inputs.size() == 2 && s.flip(0.8)) inputs.push_back(s.bias(affine));
  return s.op(GroupNorm{s.choices.pick(std::span<const int64_t>(divisors)), eps}, inputs);
}

}  // namespace

Value normalize(Scene& s, Value x) {
  const Dtype dtype = s.type(x).dtype;
  const bool in_f32 = dtype != Dtype::f32 && s.flip(0.25);
  if (in_f32) x = s.op(Cast{Dtype::f32}, {x});
  const double eps = s.choices.pick({1e-5, 1e-5, 1e-6, 1e-3, 0.1});
  const bool rms = s.flip(0.25), grouped = !rms && s.type(x).rank() >= 2 && s.flip(0.15);
  const TensorType affine{s.type(x).dtype, {s.shape(x).back()}};
  std::vector<Value> inputs = {x};
  if (!grouped && s.flip(0.8)) inputs.push_back(s.gain(affine));
  if (!rms && inputs.size() == 2 && s.flip(0.8)) inputs.push_back(s.bias(affine));
  const Value y = grouped ? group_norm(s, x, eps)
                  : rms   ? s.op(RmsNorm{eps}, inputs)
                          : s.op(LayerNorm{eps}, inputs);
  return in_f32 ? s.op(Cast{dtype}, {y}) : y;
}

bool add_norm(Scene& s) {
  Value x = s.any(1, 5);
  if (s.shape(x).back() == 1 && !s.flip(0.1)) return false;  // the norm of one element is its bias
  const Value residual = x;
  if (s.flip(0.4)) {
    const Value other = s.like(s.type(x));
    x = add_either_way(s, x, other);
    if (s.flip(0.5)) s.keep(x);  // the sum has another reader, as in pre-norm blocks
  }
  Value y = normalize(s, x);
  if (s.flip(0.3)) y = add_either_way(s, residual, y);
  s.keep(y);
  return true;
}

}  // namespace fusesmith::fuzz
