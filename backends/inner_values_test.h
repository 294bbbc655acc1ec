// Tests of kernels that show inner values, on any backend: what they show is what they compute with.
#pragma once

#include <gtest/gtest.h>

#include "backends/backend.h"
#include "backends/inner_values.h"

namespace fusesmith::backends {

struct Looked {
  const char* name;
  Op op;
  std::vector<const char*> inner;
};

inline Case case_of(const Op& op) {
  Builder b;
  const ValueId x = b.input("x", {Dtype::f32, {3, 4, 8}}, Normal{0.5, 2});
  b.output(b.node(op, {x}, "y"));
  Case made;
  made.graph = *b.build();
  return made;
}

// The last region with these inner values given, on what the whole run left; and what its kernel showed.
struct Look {
  Tensor out;
  InnerValues seen;
};
inline Look look(const Backend& backend, const Case& looked, const InnerValues& given) {
  const auto program = backend.compile(looked.graph, {});
  std::vector<TensorPtr> inputs;
  for (Tensor& tensor : make_inputs(looked)) inputs.push_back(std::make_shared<Tensor>(std::move(tensor)));
  Trace trace = (*program)->run(inputs);
  const auto out = static_cast<size_t>(looked.graph.outputs()[0]);
  const TensorPtr whole = trace.values[out];
  Probe probe{given, {}};
  const auto& inside = dynamic_cast<const Inspectable&>(**program);
  inside.run_region((*program)->plan().regions.size() - 1, trace.values, probe);
  if (given.empty()) {
    EXPECT_EQ(*trace.values[out], *whole) << "the region alone";
  }
  return {*trace.values[out], probe.seen};
}

// `on_the_way`: a name that the kernel, given it, starts from, so that it rounds otherwise on its way.
inline void expect_used(const Backend& backend, const Case& looked, const std::vector<const char*>& names,
                        const std::string& on_the_way = "") {
  const Look own = look(backend, looked, {});
  ASSERT_EQ(own.seen.size(), names.size());
  InnerValues same = own.seen;
  same.erase(on_the_way);
  EXPECT_EQ(look(backend, looked, same).out, own.out) << "its own values given";
  for (const char* name : names) {
    ASSERT_TRUE(own.seen.contains(name)) << name;
    InnerValues other{{name, own.seen.at(name)}};
    for (float& x : other.at(name).as<float>()) x = 3 * x + 1;
    const Look changed = look(backend, looked, other);
    EXPECT_NE(changed.out, own.out) << name;
    // Seen is what the kernel computes, not what it is given; what it computes after that may follow.
    EXPECT_EQ(changed.seen.at(name), own.seen.at(name)) << name;
    other.at(name) = Tensor({Dtype::f32, {1}});
    EXPECT_EQ(look(backend, looked, other).out, own.out) << name << " of another size";
  }
}

// The norms, whose statistics every backend shows.
inline std::vector<Looked> norms() {
  return {{"layer_norm", LayerNorm{}, {"mean", "rstd"}},
          {"group_norm", GroupNorm{2}, {"mean", "rstd"}},
          {"rms_norm", RmsNorm{}, {"rstd"}}};
}

}  // namespace fusesmith::backends
