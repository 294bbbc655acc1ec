#include "minimizer/naming.h"

#include <algorithm>
#include <set>
#include <vector>

namespace fusesmith::minimizer {
namespace {

template <class... Ops>
bool is_any(const Op& op) {
  return (std::holds_alternative<Ops>(op) || ...);
}

bool is_product(const Op& op) { return is_any<Matmul, Einsum>(op); }

// Whether the output is the first operand in another place or dtype.
bool only_moves(const Op& op) {
  return is_any<Cast>(op) || (info(op).op_class == OpClass::movement && !is_any<Gather, IndexCopy>(op));
}

// Whether the op may stand between a product and the softmax of it.
bool adjusts_scores(const Op& op) {
  return only_moves(op) || is_any<Scale, Softcap, Add, Sub, Mul, Div, Where, MaskedFill>(op);
}

// What is known of a value.
struct Trace {
  bool product = false;        // of two tensors, perhaps adjusted since
  bool probabilities = false;  // a softmax, moved at most
  bool scores = false;         // softmax is taken of it, perhaps after adjustments
  std::string role;            // as an operand of its readers; empty without any
};

class Naming {
 public:
  explicit Naming(const Graph& graph) : graph_(graph), traces_(static_cast<size_t>(graph.value_count())) {
    for (const Node& node : graph.nodes()) trace_forwards(node);
    for (size_t n = graph.nodes().size(); n-- > 0;) trace_backwards(graph.nodes()[n]);
  }

  std::map<std::string, std::string> renames() const {
    std::map<std::string, int> uses;
    for (ValueId v = 0; v < graph_.source_count(); ++v) ++uses[source_name(v)];
    for (const Node& node : graph_.nodes()) uses["scores"] += is_scores(node) ? 1 : 0;
    std::set<std::string> taken;
    std::map<std::string, std::string> renames;
    const auto rename = [&](const std::string& from, const std::string& base, bool numbered) {
      std::string to = numbered ? base + "0" : base;
      for (int i = 1; !taken.insert(to).second; ++i) to = base + std::to_string(i);
      if (from != to) renames[from] = to;
    };
    for (ValueId v = 0; v < graph_.source_count(); ++v)
      rename(graph_.name(v), source_name(v), uses[source_name(v)] > 1);
    for (const Node& node : graph_.nodes()) {
      if (is_scores(node))
        rename(node.name, "scores", uses["scores"] > 1);
      else
        rename(node.name, std::string(name(node.op)), true);
    }
    return renames;
  }

 private:
  Trace& trace(ValueId v) { return traces_[static_cast<size_t>(v)]; }
  const Trace& trace(ValueId v) const { return traces_[static_cast<size_t>(v)]; }

  bool is_scores(const Node& node) const { return is_product(node.op) && trace(node.first_output).scores; }

  std::string source_name(ValueId v) const {
    if (graph_.is_state(v)) return "state";
    const std::string& role = trace(v).role;
    if (!role.empty() && role != "x") return role;
    return graph_.type(v).dtype == Dtype::boolean ? "mask" : "x";
  }

  void trace_forwards(const Node& node) {
    for (ValueId v = node.first_output; v < node.first_output + node.output_count; ++v) {
      trace(v).product = is_product(node.op) || is_any<Linear>(node.op);
      trace(v).probabilities = is_any<Softmax>(node.op);
      for (ValueId input : node.inputs) {
        trace(v).product |= adjusts_scores(node.op) && trace(input).product;
        trace(v).probabilities |= only_moves(node.op) && trace(input).probabilities;
      }
    }
  }

  void trace_backwards(const Node& node) {
    bool scores = is_any<Softmax>(node.op);
    for (int i = 0; i < node.output_count; ++i)
      scores |= adjusts_scores(node.op) && trace(node.first_output + i).scores;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      Trace& operand = trace(node.inputs[i]);
      operand.scores |= scores;
      for (int out = 0; out < node.output_count; ++out) {
        const bool moved = only_moves(node.op);
        add_role(operand, moved ? trace(node.first_output + out).role : role(node, i));
      }
    }
  }

  // What readers call differently is `x`.
  static void add_role(Trace& operand, const std::string& role) {
    if (operand.role.empty())
      operand.role = role;
    else if (!role.empty() && operand.role != role)
      operand.role = "x";
  }

  std::string role(const Node& node, size_t i) const {
    const Op& op = node.op;
    const auto of = [&](std::vector<const char*> names) {
      return std::string(names[std::min(i, names.size() - 1)]);
    };
    if (is_any<Linear, LayerNorm, RmsNorm, GroupNorm>(op)) return of({"x", "weight", "bias"});
    if (is_any<Sdpa>(op)) return of({"q", "k", "v", "mask"});
    if (is_any<Rope>(op)) return of({"x", "cos", "sin"});
    if (is_any<Gather>(op)) return of({"table", "indices"});
    if (is_any<IndexCopy>(op)) return of({"x", "indices", "source"});
    if (is_any<Where>(op)) return of({"condition", "x", "y"});
    if (is_any<Softmax>(op)) return "scores";
    const bool scores = trace(node.first_output).scores;
    if (is_any<MaskedFill>(op)) return of({scores ? "scores" : "x", "mask"});
    if (node.inputs.size() != 2) return of({"x", "y"});
    const ValueId value = node.inputs[i], other = node.inputs[1 - i];
    if (is_product(op)) {
      if (scores) return of({"q", "k"});
      if (trace(other).probabilities) return "v";
      return of({"x", graph_.type(node.inputs[1]).rank() <= 2 ? "weight" : "y"});
    }
    const bool smaller = graph_.type(value).rank() < graph_.type(other).rank();
    const bool of_product = trace(other).product && !trace(value).product;
    if (is_any<Add>(op) && (of_product || smaller)) return scores ? "mask" : "bias";
    if (is_any<Mul, Div>(op) && smaller) return element_count(graph_.type(value)) == 1 ? "scale" : "weight";
    return scores && trace(value).scores ? "scores" : of({"x", "y"});
  }

  const Graph& graph_;
  std::vector<Trace> traces_;
};

}  // namespace

std::map<std::string, std::string> descriptive_renames(const Graph& graph) { return Naming(graph).renames(); }

}  // namespace fusesmith::minimizer
