// A graph as the body of a function of PyTorch, one line for each node.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "fuzz/export/torch_ops.h"
#include "fuzz/render/code.h"

namespace fusesmith::fuzz {

class TorchWriter {
 public:
  // Both must outlive it.
  TorchWriter(const Graph& graph, Identifiers& names);

  const std::string& text() const { return text_; }
  // The functions that it calls beside those of PyTorch (torch_definitions).
  const std::set<std::string_view>& helpers() const { return helpers_; }

 private:
  void add_node(const Node& node);
  void add_line(const std::string& result, const Op& op, const TorchOperands& operands,
                const std::string& types);
  void add_composite(const Node& node, const TorchOperands& operands);

  const Graph& graph_;
  Identifiers& names_;
  std::string text_;
  std::set<std::string_view> helpers_;
};

}  // namespace fusesmith::fuzz
