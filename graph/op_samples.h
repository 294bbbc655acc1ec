// Random applications of every op, drawn from nothing but the ops' declarations: attributes from the domains
// of their fields, inputs of small random types. For tests that hold for every op: a new op is covered
// without a line here.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "graph/graph.h"
#include "graph/philox.h"

namespace fusesmith::graph {

// Small choices, one after another, the same on every platform.
class SampleStream {
 public:
  explicit SampleStream(uint64_t seed) : seed_(seed) {}
  int64_t below(int64_t bound) {
    return static_cast<int64_t>(philox(seed_, 0, next_++)[0] % static_cast<uint32_t>(bound));
  }
  bool flip() { return below(2) == 1; }

 private:
  uint64_t seed_;
  uint64_t next_ = 0;
};

template <class T, class Domain>
T sample_attribute([[maybe_unused]] const Domain& domain, SampleStream& s) {
  if constexpr (std::same_as<T, bool>) {
    return s.flip();
  } else if constexpr (std::same_as<Domain, IntRange>) {  // small ones, and sometimes the ends
    const int64_t ends[] = {domain.lo, domain.hi};
    return s.below(8) == 0 ? ends[s.below(2)]
                           : std::min(domain.hi, std::max(domain.lo, int64_t{0}) + s.below(4));
  } else if constexpr (std::same_as<T, int64_t>) {
    return s.below(7) - 3;
  } else if constexpr (std::same_as<Domain, RealRange>) {
    const double share = static_cast<double>(s.below(5)) / 4;
    return domain.lo + share * (domain.hi - domain.lo);
  } else if constexpr (std::same_as<T, double>) {
    const double values[] = {0.0,
                             -0.0,
                             0.1,
                             -1e30,
                             std::numeric_limits<double>::infinity(),
                             -std::numeric_limits<double>::infinity()};
    return values[s.below(6)];
  } else if constexpr (std::same_as<T, std::string>) {  // the only strings among attributes are equations
    std::string text;
    for (const char* separator : {",", "->", ""}) {
      for (int64_t i = s.below(4); i > 0; --i) text += static_cast<char>('a' + s.below(3));
      text += separator;
    }
    return text;
  } else if constexpr (std::same_as<T, Dtype>) {
    return kDtypes[static_cast<size_t>(s.below(kDtypes.size()))];
  } else if constexpr (std::same_as<T, Shape>) {
    T shape;
    for (int64_t i = s.below(5); i > 0; --i) shape.push_back(s.below(4));
    return shape;
  } else {
    return static_cast<T>(s.below(static_cast<int64_t>(domain.names.size())));
  }
}

template <class T>
T sample_op(SampleStream& s) {
  T op;
  for_each_field<T>([&](const auto& field) {
    using V = std::decay_t<decltype(op.*field.member)>;
    if (field.required || s.flip()) op.*field.member = sample_attribute<V>(field.domain, s);
  });
  return op;
}

// Types that often agree in dtype and rank, as most ops want, and sometimes do not.
inline Types sample_types(int count, SampleStream& s) {
  const Dtype dtype = kDtypes[static_cast<size_t>(s.below(kDtypes.size()))];
  const int64_t rank = s.below(5), largest = 1 + s.below(3);
  Types types;
  for (int i = 0; i < count; ++i) {
    TensorType type{s.below(4) ? dtype : kDtypes[static_cast<size_t>(s.below(kDtypes.size()))], {}};
    for (int64_t axis = s.below(3) ? rank : s.below(3); axis > 0; --axis)
      type.shape.push_back(s.below(4) ? largest : 1 + s.below(3));
    types.push_back(type);
  }
  return types;
}

struct OpSample {
  Op op;
  Types inputs;
};

// Valid applications of T: those of `tries` random ones that shape inference accepts.
template <class T>
std::vector<OpSample> valid_samples(int tries, size_t enough) {
  SampleStream s(hash_name(T::info.name));
  std::vector<OpSample> samples;
  for (int i = 0; i < tries && samples.size() < enough; ++i) {
    const T op = sample_op<T>(s);
    Types types = sample_types(
        T::info.min_inputs + static_cast<int>(s.below(T::info.max_inputs - T::info.min_inputs + 1)), s);
    if (infer(Op{op}, types).ok()) samples.push_back({op, std::move(types)});
  }
  return samples;
}

// 0, 1, 2, ... as an input's bits.
inline Literal counting(const TensorType& type) {
  Tensor tensor(type);
  for (int64_t i = 0; i < tensor.size(); ++i) tensor.set(i, static_cast<double>(i));
  return literal_of(tensor);
}

// A graph of that one node; i32 inputs are zeros, so that they index anything, or count where they must be
// distinct. Errors: what the builder refuses.
inline Result<Graph> graph_of(const OpSample& sample) {
  const bool distinct = std::holds_alternative<IndexCopy>(sample.op);
  Builder b;
  std::vector<ValueId> inputs;
  for (const TensorType& type : sample.inputs) {
    Fill fill = Constant{0};
    if (is_rounded(type.dtype)) fill = Normal{};
    if (type.dtype == Dtype::i32 && distinct) fill = counting(type);
    inputs.push_back(b.input("x" + std::to_string(inputs.size()), type, fill));
  }
  const ValueId first = b.node(sample.op, inputs, "y");
  for (ValueId v = first; v < b.value_count(); ++v) b.output(v);
  return b.build();
}

}  // namespace fusesmith::graph
