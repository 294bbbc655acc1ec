#include "oracle/reference_memo.h"

#include <algorithm>

namespace fusesmith::oracle {
namespace {

// Of 16 bytes each, at most. Regions of larger cases are evaluated again, as their references need the
// memory.
constexpr size_t kMostElements = size_t{1} << 21;

size_t elements_of(const BoundedPtrs& values) {
  size_t elements = 0;
  for (const BoundedPtr& value : values) elements += value->v.size();
  return elements;
}

}  // namespace

bool ReferenceMemo::holds(size_t elements) {
  if (elements_ + elements > kMostElements) return false;
  elements_ += elements;
  return true;
}

BoundedPtr ReferenceMemo::stored(const TensorPtr& tensor) {
  for (const Stored& s : stored_) {
    if (s.tensor == tensor) return s.bounded;
  }
  auto bounded = std::make_shared<const Bounded>(*tensor);
  if (holds(bounded->v.size())) stored_.push_back({tensor, bounded});
  return bounded;
}

const BoundedPtrs* ReferenceMemo::find(const Op& op, const Arithmetic& arithmetic,
                                       const BoundedPtrs& inputs) {
  for (const Computed& c : computed_) {
    if (c.inputs != inputs || !(c.op == op) || !(c.arithmetic == arithmetic)) continue;
    reused_elements_ += elements_of(c.results);
    return &c.results;
  }
  return nullptr;
}

void ReferenceMemo::add(const Op& op, const Arithmetic& arithmetic, const BoundedPtrs& inputs,
                        const BoundedPtrs& results) {
  const size_t elements = elements_of(results);
  computed_elements_ += elements;
  if (holds(elements)) computed_.push_back({op, arithmetic, inputs, results});
}

BoundedPtr ReferenceMemo::find_rounded(const BoundedPtr& value, const RoundingKey& key) const {
  for (const Rounded& r : rounded_) {
    if (r.value == value && r.key == key) return r.rounded;
  }
  return nullptr;
}

void ReferenceMemo::add_rounded(const BoundedPtr& value, const RoundingKey& key, const BoundedPtr& rounded) {
  if (holds(rounded->v.size())) rounded_.push_back({value, key, rounded});
}

}  // namespace fusesmith::oracle
