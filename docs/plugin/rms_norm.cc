// RMSNorm on the CPU as a plug-in of fusesmith: y = x / sqrt(mean(x^2) + eps) * weight over the last axis.
// With RMS_NORM_BUG, the elements behind the last full block of 8 are missing in the mean.
#include <cmath>
#include <cstdint>
#include <cstring>

#include "rms_norm_graph.h"

namespace {

constexpr int64_t kBlock = 8;

struct Bf16 {
  uint16_t bits;
};

float load(float x) { return x; }
float load(Bf16 x) {
  const uint32_t bits = static_cast<uint32_t>(x.bits) << 16;
  float y;
  std::memcpy(&y, &bits, sizeof y);
  return y;
}

void store(float x, float& y) { y = x; }
void store(float x, Bf16& y) {  // to nearest even
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  y.bits = static_cast<uint16_t>(std::isnan(x) ? 0x7FC0 : (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

template <class T>
float sum_of_squares(const T* x, int64_t n) {
  float lanes[kBlock] = {};
  int64_t i = 0;
  for (; i + kBlock <= n; i += kBlock) {
    for (int64_t j = 0; j < kBlock; ++j) lanes[j] += load(x[i + j]) * load(x[i + j]);
  }
#ifndef RMS_NORM_BUG
  for (; i < n; ++i) lanes[i % kBlock] += load(x[i]) * load(x[i]);
#endif
  float sum = 0;
  for (const float lane : lanes) sum += lane;
  return sum;
}

template <class T>
void rms_norm(const RmsNorm& norm, const DLTensor* inputs, const DLTensor& output) {
  const Rows rows = rows_of(output);
  const T* x = static_cast<const T*>(inputs[norm.x].data);
  const T* weight = norm.weight < 0 ? nullptr : static_cast<const T*>(inputs[norm.weight].data);
  T* y = static_cast<T*>(output.data);
  for (int64_t row = 0; row < rows.count; ++row, x += rows.length, y += rows.length) {
    const float mean = sum_of_squares(x, rows.length) / static_cast<float>(rows.length);
    const float factor = 1 / std::sqrt(mean + norm.eps);
    for (int64_t i = 0; i < rows.length; ++i)
      store(load(x[i]) * factor * (weight ? load(weight[i]) : 1), y[i]);
  }
}

RmsNorm current;  // of the graph that fusesmith_plugin_supports has seen last

}  // namespace

uint32_t fusesmith_plugin_abi_version(void) { return FUSESMITH_PLUGIN_ABI_VERSION; }

const char* fusesmith_plugin_supports(const char* graph) { return parse_rms_norm(graph, current); }

const char* fusesmith_plugin_run(const char*, const DLTensor* inputs, size_t, const DLTensor* outputs, size_t,
                                 void*) {
  if (outputs[0].dtype.code == kDLBfloat)
    rms_norm<Bf16>(current, inputs, outputs[0]);
  else
    rms_norm<float>(current, inputs, outputs[0]);
  return nullptr;
}
