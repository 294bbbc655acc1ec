// What the references of one judgement have computed so far, to be used again: by the next reading of a
// region, which changes few of its nodes, and by a region of the other backend that received the same bits.
// Values are the same if they are the same object; for this, equal tensors of both traces must be one object.
//
// Not for several threads. Holds what it was given until it ends, or until that has too many elements.
#pragma once

#include <vector>

#include "graph/op.h"
#include "oracle/bounded.h"
#include "oracle/plan.h"

namespace fusesmith::oracle {

using BoundedPtrs = std::vector<BoundedPtr>;

// How an inner value was made what other nodes of its region read.
struct RoundingKey {
  bool computed = false;
  double slack = 0;
  bool deviates = false;  // of the deviation, if there is one:
  Deviation::Kind kind = Deviation::Kind::drop;
  Dtype dtype = Dtype::f32;
  double relative = 0;
  bool operator==(const RoundingKey&) const = default;
};

class ReferenceMemo {
 public:
  // A stored tensor as a reference reads it.
  BoundedPtr stored(const TensorPtr& tensor);

  // The results of the op with these inputs, before rounding; null if they are not known.
  const BoundedPtrs* find(const Op& op, const Arithmetic& arithmetic, const BoundedPtrs& inputs);
  void add(const Op& op, const Arithmetic& arithmetic, const BoundedPtrs& inputs, const BoundedPtrs& results);

  // The same for the rounding of a value.
  BoundedPtr find_rounded(const BoundedPtr& value, const RoundingKey& key) const;
  void add_rounded(const BoundedPtr& value, const RoundingKey& key, const BoundedPtr& rounded);

  // Elements of all results that were added, and of those that were found.
  size_t computed_elements() const { return computed_elements_; }
  size_t reused_elements() const { return reused_elements_; }

 private:
  struct Stored {
    TensorPtr tensor;
    BoundedPtr bounded;
  };
  struct Computed {
    Op op;
    Arithmetic arithmetic;
    BoundedPtrs inputs, results;
  };
  struct Rounded {
    BoundedPtr value;
    RoundingKey key;
    BoundedPtr rounded;
  };
  // Whether there is room for so many more elements.
  bool holds(size_t elements);

  std::vector<Stored> stored_;
  std::vector<Computed> computed_;
  std::vector<Rounded> rounded_;
  size_t elements_ = 0;  // held
  size_t computed_elements_ = 0, reused_elements_ = 0;
};

}  // namespace fusesmith::oracle
