#include "oracle/known_arithmetic.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "oracle/arithmetic_keys.h"
#include "oracle/evaluate.h"
#include "oracle/lowerings.h"
#include "oracle/online_softmax.h"

namespace fusesmith::oracle {
namespace {

using Grant = std::function<bool(const Graph&, const Region&, Contract&)>;

const Node& node_of(const Graph& graph, int n) { return graph.nodes()[static_cast<size_t>(n)]; }

Grant lowering(const Lowering& how) {
  return [&how](const Graph& graph, const Region& region, Contract& contract) {
    bool any = false;
    for (const int n : region.nodes) any |= allow_lowering(contract, graph, node_of(graph, n), how);
    return any;
  };
}

bool online_attention(const Graph& graph, const Region& region, Contract& contract) {
  bool any = false;
  for (const int n : region.nodes) {
    const Node& node = node_of(graph, n);
    const Dtype dtype = graph.type(node.first_output).dtype;
    if (!std::holds_alternative<Sdpa>(node.op) || !is_narrow(dtype)) continue;
    declare_online_attention(contract, node, dtype, most_rescales(graph, node), contract.arithmetic.exp);
    any = true;
  }
  return any;
}

// Where the region has one of the ops.
template <class... Ops>
Grant where_any(Grant grant) {
  return [grant = std::move(grant)](const Graph& graph, const Region& region, Contract& contract) {
    return std::any_of(region.nodes.begin(), region.nodes.end(),
                       [&](int n) { return (std::holds_alternative<Ops>(node_of(graph, n).op) || ...); }) &&
           grant(graph, region, contract);
  };
}

Grant variance(Arithmetic::Variance form) {
  return where_any<LayerNorm, GroupNorm, VarMean>([form](const Graph&, const Region&, Contract& contract) {
    return change_arithmetic(contract, [&](Arithmetic& arithmetic) { arithmetic.variance = form; });
  });
}

// In the nodes of this op; empty: of any.
Grant inner_roundings(int count, std::string_view op = {}) {
  return [count, op](const Graph& graph, const Region& region, Contract& contract) {
    bool any = false;
    for (const int n : region.nodes) {
      const Node& node = node_of(graph, n);
      const bool is_meant =
          op.empty() ? info(node.op).op_class != OpClass::movement : info(node.op).name == op;
      if (is_meant) any |= allow_inner_roundings(contract, graph, node, count);
    }
    return any;
  };
}

// Not of a contract that says that inner values stay in f32.
Grant where_values_are_rounded(Grant grant) {
  return [grant = std::move(grant)](const Graph& graph, const Region& region, Contract& contract) {
    return contract.roundings != Roundings::products && grant(graph, region, contract);
  };
}

KnownArithmetic customary(std::string name, const std::string& says, const std::string& who,
                          std::string declaration, Grant grant, Within least = Within::undecided) {
  return {{std::move(name), says + ", as " + who, std::move(declaration), true}, std::move(grant), least};
}

void add_customary_roundings(std::vector<KnownArithmetic>& all) {
  all.push_back(customary(
      "attention.online", "probabilities are rounded before they are normalised, and scores stay in f32",
      "FlashAttention (arXiv:2205.14135) does", "attention = \"online\"", online_attention));
  for (const Lowering& how : lowerings()) {
    if (!*how.who) continue;
    all.push_back(customary(how.name, how.doc, how.who + std::string(" does"),
                            "lowerings = [" + in_quotes(how.name) + "]", lowering(how),
                            how.needs_decision ? Within::decidedly : Within::undecided));
    all.back().is_graph = true;
    all.back().of_kernels = how.of_kernels;
  }
  all.push_back(customary("logsumexp.rounded_inside", "the sum of exponentials and its logarithm are rounded",
                          "PyTorch does", "rounded_inside = {\"logsumexp\": 2}",
                          where_values_are_rounded(inner_roundings(2, LogSumExp::info.name))));
  all.back().widens = true;
}

using Errors = std::map<std::string, double>;  // by the keys of function_errors()

// Flags that replace a bound by another one; all others add to it.
bool replaces_bounds(const std::string& flag) {
  return flag == "tf32x3" || flag == "empty_rows_are_zero" || flag == "hidden_keys_left_out";
}
bool replaces_bounds(const Errors&) { return false; }

// At least these.
Grant grant_of(Errors least) {
  return [least = std::move(least)](const Graph&, const Region&, Contract& contract) {
    return change_arithmetic(contract, [&](Arithmetic& arithmetic) {
      for (const auto& [key, error] : least) {
        double& own = arithmetic.*function_errors().at(key);
        own = std::max(own, error);
      }
    });
  };
}

std::string declaration_of(const Errors& least) {
  std::string entries;
  for (const auto& [key, error] : least)
    entries += (entries.empty() ? "" : ", ") + in_quotes(key) + ": " + number_text(error);
  return "arithmetic = {" + entries + "}";
}

// A key of arithmetic_flags().
Grant grant_of(const std::string& flag) {
  return [member = arithmetic_flags().at(flag)](const Graph&, const Region&, Contract& contract) {
    return change_arithmetic(contract, [&](Arithmetic& arithmetic) { arithmetic.*member = true; });
  };
}

std::string declaration_of(const std::string& flag) { return "arithmetic = {" + in_quotes(flag) + ": True}"; }

// Of regions whose results have the dtype.
Grant with_results_of(Dtype dtype, Grant grant) {
  return [dtype, grant = std::move(grant)](const Graph& graph, const Region& region, Contract& contract) {
    return graph.type(node_of(graph, region.nodes.back()).first_output).dtype == dtype &&
           grant(graph, region, contract);
  };
}

// Of regions that have one of the ops; without ops, of any.
template <class... Ops, class ErrorsOrFlag>
KnownArithmetic customary(std::string name, const std::string& says, const std::string& who,
                          const ErrorsOrFlag& errors_or_flag) {
  Grant grant = grant_of(errors_or_flag);
  if constexpr (sizeof...(Ops) > 0) grant = where_any<Ops...>(std::move(grant));
  KnownArithmetic made =
      customary(std::move(name), says, who, declaration_of(errors_or_flag), std::move(grant));
  made.widens = !replaces_bounds(errors_or_flag);
  return made;
}

// Before the lowering softmax.of_logsumexp, whose bound covers it where scores are far from 0.
void add_scores_in_base_2(std::vector<KnownArithmetic>& all) {
  all.push_back(customary<Softmax, Sdpa>(
      "softmax.scores_in_base_2", "scores are multiplied by log2(e) before their maximum is subtracted",
      "Triton's tutorial and PyTorch's memory-efficient attention do",
      Errors{{"exp", 4}, {"exp_argument", 1.5}, {"exp_scores", 1.5}}));
}

void add_customary_functions(std::vector<KnownArithmetic>& all) {
  all.push_back(customary("exp.base_2", "exp(x) is computed by base 2, with an error that grows with |x|",
                          "Triton and CUDA's __expf do", Errors{{"exp", 4}, {"exp_argument", 1.5}}));
  // 1 - p(t) exp(-x^2) (Abramowitz and Stegun, 7.1.26) is off by 1.5e-7 = 2.5 u before its roundings.
  all.push_back(customary("erf.absolute",
                          "erf has an absolute error of 8 units of 2^-24, so that gelu is coarse far below 0",
                          "oneDNN and PyTorch on a CPU do", Errors{{"erf_absolute", 8}}));
  // (1 + tanh(x / 2)) / 2: half of the 4 u of tanh, and of the rounding of the sum.
  all.push_back(
      customary("sigmoid.absolute",
                "the sigmoid has an absolute error of 4 units of 2^-24, since it is computed by tanh",
                "XLA's LogisticExpander does", Errors{{"sigmoid_absolute", 4}}));
  // 2 sigmoid(2 x) - 1 and (1 - e) / (1 + e) with e = exp(-2 x): exponentials and quotients of 4 u each.
  all.push_back(
      customary("tanh.absolute",
                "tanh has an absolute error of 8 units of 2^-24, since it is computed by a sigmoid or by exp",
                "Triton kernels of SGLang do", Errors{{"tanh_absolute", 8}}));
}

// Where the case allows tf32, but the kernel does not use it, as on most CPUs.
void add_products_in_f32(std::vector<KnownArithmetic>& all) {
  all.push_back(customary("tf32.unused", "operands in f32 are not rounded", "CPUs", "",
                          [](const Graph&, const Region&, Contract& c) {
                            return change_arithmetic(c,
                                                     [](Arithmetic& arithmetic) { arithmetic.tf32 = false; });
                          }));
  all.back().is_sharper = all.back().is_plain = true;
}

bool round_for_products(const Graph& graph, const Region& region, Contract& contract) {
  const bool has_product = std::any_of(region.nodes.begin(), region.nodes.end(), [&](int n) {
    const Op& op = node_of(graph, n).op;
    return info(op).op_class == OpClass::product || std::holds_alternative<Sdpa>(op);
  });
  if (contract.roundings != Roundings::any || !has_product || inner_roundings(graph, region).empty())
    return false;
  contract.roundings = Roundings::products;
  return true;
}

// Where any rounding may be left out.
void add_roundings_for_products(std::vector<KnownArithmetic>& all) {
  all.push_back(customary("rounds_for_products", "inner values stay in f32, and products read them rounded",
                          "kernels with tensor cores do", "roundings = \"products\"", round_for_products));
  all.back().is_sharper = all.back().combines = true;
}

// Where tf32 is declared: with the way that a kernel reads operands, its bounds are those of exact operands.
void add_ways_of_tf32(std::vector<KnownArithmetic>& all) {
  const auto add = [&](const std::string& name, const std::string& key, const char* says, const char* who) {
    all.push_back(customary(name, says, who, declaration_of(key),
                            [member = arithmetic_flags().at(key)](const Graph&, const Region&, Contract& c) {
                              return change_arithmetic(c, [&](Arithmetic& arithmetic) {
                                if (std::exchange(arithmetic.tf32, false)) arithmetic.*member = true;
                              });
                            }));
    all.back().is_sharper = true;
  };
  add("tf32.truncated", "tf32_truncated", "the lower 13 bits of operands in f32 are cut off",
      "tensor cores that are given f32 do");
  add("tf32.nearest", "tf32_nearest", "operands in f32 are rounded to the nearest tf32 number",
      "PTX's cvt.rna.tf32 does");
}

// Where the region has a product of three factors or more, one after another.
Grant products_in_any_order() {
  return [](const Graph& graph, const Region& region, Contract& contract) {
    const auto is_product = [&](int n) {
      const Op& op = node_of(graph, n).op;
      const auto* scale = std::get_if<Scale>(&op);
      return std::holds_alternative<Mul>(op) || (scale && !scale->inverse);
    };
    return std::count_if(region.nodes.begin(), region.nodes.end(), is_product) >= 2 &&
           grant_of(std::string("products_in_any_order"))(graph, region, contract);
  };
}

void add_customary_algorithms(std::vector<KnownArithmetic>& all) {
  // Most are named as their flags are.
  const auto flagged = [&](const std::string& flag, const char* says, const char* who) {
    all.push_back(customary(flag, says, who, flag));
  };
  const std::string merged = "merged_logsumexp", hidden = "hidden_keys_left_out", running = "running_means",
                    lost = "zero_signs_lost";
  all.push_back(customary<LogSumExp>("logsumexp.merged",
                                     "a logsumexp is merged from those of parts of the row",
                                     "FlashDecoding and FlashInfer's merge_states do", merged));
  add_ways_of_tf32(all);
  all.push_back(customary("products_in_any_order", "a product of several factors is taken in another order",
                          "DeepGEMM does with scales", declaration_of(std::string("products_in_any_order")),
                          products_in_any_order()));
  all.back().widens = true;
  flagged("tf32x3", "products of f32 are sums of three products in tf32", "3xTF32 of CUTLASS does");
  flagged("empty_rows_are_zero", "a softmax of a row of -inf is 0",
          "PyTorch's attention and FlashAttention do");
  all.push_back(customary<Sdpa>(hidden, "keys that a mask hides are left out, also where v is infinite",
                                "FlashAttention does", hidden));
  all.push_back(customary("variance.welford", "the variance is computed in one pass",
                          "kernels with Welford's algorithm do", "arithmetic = {\"variance\": \"welford\"}",
                          variance(Arithmetic::Variance::welford), Within::sharply));
  all.push_back(customary("variance.moments", "the variance is E[x^2] - E[x]^2",
                          "kernels that sum x and x^2 do", "arithmetic = {\"variance\": \"moments\"}",
                          variance(Arithmetic::Variance::moments), Within::sharply));
  all.back().widens = true;
  flagged("norms_scale_and_shift", "a norm is computed as x * scale + shift", "PyTorch does");
  flagged("means_of_quotients", "a mean is a sum of quotients, or of products with the rounded 1 / n",
          "numpy and PyTorch do");
  all.push_back(
      customary<ReduceMean>(running, "a mean is a running mean", "Welford's algorithm does", running));
  all.push_back(customary<Rsqrt, Div>(lost, "the sign of a zero is lost before the quotient by it",
                                      "pow(x, -0.5) of C does", lost));
  flagged("flushes_subnormals", "numbers below 2^-126 are zeros", "oneDNN and XLA do");
}

// Of products of two 8-bit floats, whose operands carry too few bits for the accumulators to be in f32.
bool is_8_bit_float(const Graph& graph, ValueId value) {
  const Dtype dtype = graph.type(value).dtype;
  return dtype == Dtype::f8e4m3 || dtype == Dtype::f8e5m2;
}

// Whether the value is made of 8-bit floats inside the region, by nothing but casts, scales and movement.
bool is_dequantized(const Graph& graph, const Region& region, ValueId value) {
  std::vector<ValueId> reached = {value};
  for (size_t i = 0; i < reached.size(); ++i) {
    if (is_8_bit_float(graph, reached[i])) return true;
    for (const int n : region.nodes) {
      const Node& node = node_of(graph, n);
      if (reached[i] < node.first_output || reached[i] >= node.first_output + node.output_count) continue;
      const bool passes = std::holds_alternative<Cast>(node.op) || std::holds_alternative<Mul>(node.op) ||
                          std::holds_alternative<Scale>(node.op) ||
                          info(node.op).op_class == OpClass::movement;
      if (passes) reached.insert(reached.end(), node.inputs.begin(), node.inputs.end());
    }
  }
  return false;
}

Grant accumulator(const Accumulator& unit, bool of_dequantized) {
  return [unit, of_dequantized](const Graph& graph, const Region& region, Contract& contract) {
    const auto is_meant = [&](ValueId value) {
      if (!of_dequantized) return is_8_bit_float(graph, value);
      return graph.type(value).dtype == Dtype::f32 && is_dequantized(graph, region, value);
    };
    const bool any = std::any_of(region.nodes.begin(), region.nodes.end(), [&](int n) {
      const Node& node = node_of(graph, n);
      const bool is_product =
          std::holds_alternative<Matmul>(node.op) || std::holds_alternative<Linear>(node.op);
      return is_product && is_meant(node.inputs[0]) && is_meant(node.inputs[1]);
    });
    return any && change_arithmetic(contract, [&](Arithmetic& arithmetic) {
             if (arithmetic.accumulator == Accumulator{}) arithmetic.accumulator = unit;
             if (of_dequantized) arithmetic.accumulates_dequantized = true;
           });
  };
}

// Hopper's groups of 32 were measured (docs/results/fp8.md), Ada's of 16 are those of MMA-Sim (arXiv
// 2511.10909). CUTLASS promotes after 4 instructions of 32 terms, or as many as mma_promotion_interval says.
void add_accumulators(std::vector<KnownArithmetic>& all) {
  const auto add = [&](const std::string& name, int group, int promote_every, const char* who) {
    const Accumulator unit{group, 13, 13, promote_every};
    std::string how = "one accumulator of 13 fraction bits";
    if (promote_every == Accumulator::kAnywhere)
      how = "accumulators of 13 fraction bits, each of some of the terms";
    else if (promote_every > 0)
      how = "accumulators of 13 fraction bits, which are added in f32 after every " +
            std::to_string(promote_every) + " terms";
    const std::string key = "\"accumulator\": " + to_json(unit);
    all.push_back(customary("accumulator." + name, "products of 8-bit floats are added in " + how, who,
                            "arithmetic = {" + key + "}", accumulator(unit, false)));
    all.push_back(customary(
        "dequantized." + name, "products of 8-bit floats are added in " + how + " before they are scaled",
        who, "arithmetic = {" + key + ", \"accumulates_dequantized\": True}", accumulator(unit, true)));
  };
  add("promoted", 32, 128, "DeepGEMM and cuBLAS do on Hopper");
  add("promoted_every_64", 32, 64, "CUTLASS with mma_promotion_interval = 2 does on Hopper");
  add("promoted_every_32", 32, 32, "CUTLASS with mma_promotion_interval = 1 does on Hopper");
  add("not_promoted", 32, 0, "tensor cores of Hopper do, and cuBLAS with fast accumulation");
  add("of_ada", 16, 0, "tensor cores of Ada do");
  add("of_parts", 32, Accumulator::kAnywhere, "kernels that split K do on Hopper");
}

void add_losses(std::vector<KnownArithmetic>& all) {
  const auto add = [&](std::string name, std::string says, std::string declaration, Grant grant,
                       bool widens) {
    all.push_back({{std::move(name), std::move(says), std::move(declaration), false}, std::move(grant)});
    all.back().widens = widens;
  };
  for (const Lowering& how : lowerings()) {
    if (!*how.who) add(how.name, how.doc, "lowerings = [" + in_quotes(how.name) + "]", lowering(how), false);
  }
  const std::string tf32 = "tf32";
  add(tf32, "operands of products are rounded to tf32", declaration_of(tf32), grant_of(tf32), true);
  for (const Dtype dtype : graph::kDtypes) {
    if (!is_narrow(dtype)) continue;
    const std::string type(graph::name(dtype));
    const Errors sums = {{"sum", unit_roundoff(dtype) / kU}};
    add("partial_sums_in_" + type, "partial sums are rounded to " + type, declaration_of(sums),
        with_results_of(dtype, grant_of(sums)), true);
  }
  for (const int count : {1, 2, 4}) {
    const std::string times = count == 1 ? "one value" : std::to_string(count) + " values";
    add("rounded_inside." + std::to_string(count), times + " inside the op may be rounded to its dtype",
        "rounded_inside = {" + std::string(kOpOfRegion) + ": " + std::to_string(count) + "}",
        inner_roundings(count), true);
  }
}

}  // namespace

const std::vector<KnownArithmetic>& known_arithmetics() {
  static const std::vector<KnownArithmetic> all = [] {
    std::vector<KnownArithmetic> made;
    add_products_in_f32(made);
    add_roundings_for_products(made);
    add_scores_in_base_2(made);
    add_customary_roundings(made);
    add_customary_functions(made);
    add_customary_algorithms(made);
    add_accumulators(made);
    add_losses(made);
    return made;
  }();
  return all;
}

std::vector<Granted> ways_to_sharpen(bool is_kernel) {
  Granted alone;
  for (const KnownArithmetic& one : known_arithmetics()) {
    if (one.is_customary(is_kernel)) alone.push_back(&one);
  }
  std::vector<Granted> all;
  for (const KnownArithmetic* one : alone) all.push_back({one});
  for (const KnownArithmetic* one : alone) {
    for (const KnownArithmetic* other : alone) {
      if (one->combines && !other->is_sharper) all.push_back({one, other});
    }
  }
  return all;
}

}  // namespace fusesmith::oracle
