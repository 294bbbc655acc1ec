// Every op as PyTorch code: what a user of PyTorch would write, for the exported script.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "graph/op.h"

namespace fusesmith::fuzz {

struct TorchOperands {
  std::vector<std::string> names;
  Types types;
  TensorType output;  // the first one

  const std::string& operator[](size_t i) const { return names[i]; }
};

// Whether PyTorch has the op, or code of a few lines computes it; the others are written as their expansions.
bool has_torch_code(const Op& op);

// An expression, "F.softmax(x, dim=-1)"; a tuple where the op has several outputs. The functions that it
// calls beside those of PyTorch are added to `helpers`.
std::string torch_code(const Op& op, const TorchOperands& operands, std::set<std::string_view>& helpers);

// All that `helpers` may hold: names that no value of a script may have.
std::vector<std::string_view> torch_helper_names();

// The definitions of these functions.
std::string torch_definitions(const std::set<std::string_view>& helpers);

// "torch.bfloat16".
std::string_view torch_dtype(Dtype dtype);

}  // namespace fusesmith::fuzz
