// Edit: one step towards a smaller case, as data. Edits name values, so a list of them stays meaningful when
// earlier ones have removed others; an edit that does not fit gives nothing. Values that stay keep
// their names, and with them their data; only Rename changes names, and then data that is drawn changes too.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "graph/case.h"

namespace fusesmith::minimizer {

struct SetOutputs {  // these values are observed, no others
  std::vector<std::string> values;
};
struct Bypass {  // readers of the node read this operand of it instead
  std::string node;
  int operand = 0;
};
struct Pin {  // the value (or state) becomes an input
  std::string value;
  std::shared_ptr<const Tensor> bits;  // with exactly these; null: data of a simple recipe
};
struct DropNode {  // one that nothing reads
  std::string node;
};
struct Merge {  // readers of the value read another one instead
  std::string value, into;
};
struct Resize {  // an axis gets another size, all shapes that follow from it move along; literals are cropped
                 // or repeated
  std::string value;
  int axis = 0;
  int64_t size = 1;
};
struct SetOp {  // another op or other attributes, and only the first operands
  std::string node;
  Op op;
  int operands = 0;
  std::vector<int> order = {};  // or these operands, by their indices, in this order
};
struct ChangeDtype {  // of the value and of all that must have its dtype; an empty name: of all floats
  std::string value;
  Dtype to = Dtype::f32;
};
struct SetFill {  // of an input or a state
  std::string source;
  Fill fill;
  std::optional<TensorType> type = {};  // that it gets with the data; none: it keeps its own
};
struct SetLayout {  // of an input or a state, and along which axes the data of an input repeats
  std::string source;
  std::optional<MemoryLayout> layout;
  Shape repeat;
};
struct ZeroElements {  // [begin, end) of a literal
  std::string source;
  int64_t begin = 0, end = 0;
};
struct SetSteps {
  int64_t steps = 1;
};
struct SetPolicy {
  Policy policy;
};
struct Rename {  // inputs, states and nodes, all at once
  std::map<std::string, std::string> names;
};

using Edit = std::variant<SetOutputs, Bypass, Pin, DropNode, Merge, Resize, SetOp, ChangeDtype, SetFill,
                          SetLayout, ZeroElements, SetSteps, SetPolicy, Rename>;
using Edits = std::vector<Edit>;

// "resize x axis 1 to 16", for people.
std::string to_string(const Edit& edit);
std::string to_string(const Edits& edits);

// The edited case, valid, or nothing. A list is applied in order and need only be valid as a whole.
std::optional<Case> apply_edit(const Case& test_case, const Edit& edit);
std::optional<Case> apply_edits(const Case& test_case, const Edits& edits);

}  // namespace fusesmith::minimizer
