#include "fuzz/order/order_proof.h"

#include <algorithm>

#include "fuzz/order/emulate.h"
#include "fuzz/order/product_region.h"

namespace fusesmith::fuzz {
namespace {

// Larger products are not computed again: an emulated term takes a nanosecond or more.
constexpr int64_t kMostProducts = int64_t{1} << 30;
constexpr int kProducts = 10;  // random ones: the case itself is the test

// The sums of the product, in the order of its tensor.
std::vector<float> emulated_sums(const ProductRegion& product, const BackendOrder& order,
                                 std::span<const TensorPtr> values) {
  const SumSpec& spec = product.spec();
  std::vector<float> sums(static_cast<size_t>(spec.batch * spec.m * spec.n));
  for (int64_t batch = 0; batch < spec.batch; ++batch) {
    const Operands operands = product.operands(values, batch);
    for (const PartOrder& part : order.parts) {
      const Order& known = part.report.order;
      const std::vector<float> emulated = emulate(known.tree, known.arithmetic, operands);
      for (int64_t i = 0; i < spec.m * spec.n; ++i) {
        if (part.results[static_cast<size_t>(batch * spec.m * spec.n + i)])
          sums[product.place(batch, i / spec.n, i % spec.n)] = emulated[static_cast<size_t>(i)];
      }
    }
  }
  return sums;
}

std::string text_of(const BackendOrder& order) {
  std::string text = to_string(order.parts.front().report.order.tree);
  const size_t others = order.parts.size() - 1;
  if (others > 0)
    text += "; elsewhere in the result " + std::to_string(others) +
            (others == 1 ? " other order" : " other orders");
  return text;
}

std::string why_unknown(const BackendOrder& order) {
  if (!order.unsupported.empty()) return order.unsupported;
  for (const PartOrder& part : order.parts) {
    if (part.report.state != OrderReport::State::trusted) return part.report.reason;
  }
  return "its order is not known";
}

}  // namespace

const BackendOrder& OrderCache::of(const Side& side, const SumSpec& spec) {
  const auto [found, is_new] = orders_.try_emplace(std::string(side.backend->name()) + " " + to_string(spec));
  if (!is_new) return found->second;
  const auto graph = graph_of(spec);
  if (!graph) {
    found->second.unsupported = graph.problem();
  } else {
    OrderOptions options;
    options.products = kProducts;
    found->second = order_on(*side.backend, spec, *graph, side.options.deadlines, options);
  }
  return found->second;
}

std::optional<OrderProof> OrderProver::prove(const Side& side, size_t region) {
  const Region& planned = side.plan().regions[region];
  const auto product = ProductRegion::of(graph_, planned);
  if (!product) return {};
  OrderProof proof;
  proof.region = graph_.name(product->result());
  proof.backend = side.backend->name();
  SumSpec spec = product->spec();
  spec.tf32 = side.options.tf32;
  if (spec.batch * spec.m * spec.n > kMostProducts / spec.k)
    proof.why_not = "it is too large";
  else if (out_of_time_())
    proof.why_not = "no time was left";
  if (!proof.why_not.empty()) return proof;
  const BackendOrder& known = cache_.of(side, spec);
  if (!known.is_known()) {
    proof.why_not = why_unknown(known);
    return proof;
  }
  proof.order = text_of(known);
  const std::vector<TensorPtr>& values = side.trace->values;
  const std::vector<double> expected = product->stored(values, emulated_sums(*product, known, values));
  const std::vector<double> left = to_f64(*values[static_cast<size_t>(product->result())]);
  proof.elements = static_cast<int64_t>(left.size());
  proof.is_uniform = known.parts.size() == 1;
  for (size_t i = 0; i < left.size(); ++i) {
    if (is_same(expected[i], left[i])) {
      ++proof.equal;
    } else if (proof.element < 0) {
      proof.element = static_cast<int64_t>(i);
      proof.got = left[i], proof.want = expected[i];
    }
  }
  return proof;
}

OrderProofs prove_orders(const Graph& graph, const Side& baseline, const Side& candidate,
                         const std::vector<size_t>& regions, const std::function<bool()>& out_of_time) {
  OrderCache cache;
  OrderProver prover(graph, cache, out_of_time);
  OrderProofs proofs;
  for (const size_t region : regions) {
    const auto product = ProductRegion::of(graph, candidate.plan().regions[region]);
    if (!product) continue;
    const std::vector<Region>& others = baseline.plan().regions;
    const auto same = std::find_if(others.begin(), others.end(), [&](const Region& other) {
      return std::find(other.nodes.begin(), other.nodes.end(), product->product()) != other.nodes.end();
    });
    if (same == others.end() || !ProductRegion::of(graph, *same)) continue;
    auto first = prover.prove(baseline, static_cast<size_t>(same - others.begin()));
    auto second = prover.prove(candidate, region);
    if (first && second) proofs.emplace_back(std::move(*first), std::move(*second));
  }
  return proofs;
}

}  // namespace fusesmith::fuzz
