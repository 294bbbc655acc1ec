#include "fuzz/order/find_orders.h"

#include <chrono>
#include <cmath>

#include "backends/device_error.h"
#include "fuzz/base/clock.h"
#include "fuzz/order/backend_kernel.h"

namespace fusesmith::fuzz {

namespace {

// sum_height also counts the rounding of the product.
double declared_height(const SumSpec& spec, const Arithmetic& arithmetic) {
  if (spec.op != "reduce_sum") return std::fmax(arithmetic.sum_height - 1, 0);
  return arithmetic.row_sums.any_order() ? 0 : arithmetic.row_sums.height(static_cast<double>(spec.k));
}

// Kernels may add in another way at the edges of the result. More ways than this are not looked into.
constexpr size_t kMostParts = 8;

std::vector<PartOrder> orders_of(BackendKernel& kernel, const OrderOptions& options) {
  std::vector<PartOrder> parts;
  for (std::vector<bool>& results : kernel.places_of_orders(options.seed)) {
    parts.push_back({std::move(results), {}});
    OrderReport& report = parts.back().report;
    if (parts.size() > kMostParts) {
      report.reason = "the tree depends on the place in more than " + std::to_string(kMostParts) + " ways";
      break;
    }
    kernel.want(parts.back().results);
    report = find_order(kernel, options);
  }
  return parts;
}

}  // namespace

bool BackendOrder::is_known() const {
  return !parts.empty() && std::all_of(parts.begin(), parts.end(), [](const PartOrder& part) {
    return part.report.state == OrderReport::State::trusted;
  });
}

BackendOrder order_on(const Backend& backend, const SumSpec& spec, const Graph& graph,
                      const Deadlines& deadlines, const OrderOptions& options) {
  BackendOrder order;
  order.backend = backend.name();
  CompileOptions compile_options;
  compile_options.tf32 = spec.tf32;
  compile_options.deadlines = deadlines;
  const auto start = std::chrono::steady_clock::now();
  try {
    auto program = backend.compile(graph, compile_options);
    if (!program) {
      order.unsupported = program.problem();
    } else {
      BackendKernel kernel(spec, graph, std::move(*program));
      order.declared_height = declared_height(spec, kernel.plan().regions[0].contract.arithmetic);
      order.parts = orders_of(kernel, options);
    }
  } catch (const DeviceError& error) {
    if (error.kind() == DeviceError::Kind::unhealthy) throw;
    order.unsupported = error.what();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    order.unsupported = error.what();
  }
  order.seconds = seconds_since(start);
  order.versions = backend.versions();
  order.device = backend.device();
  return order;
}

std::string difference_between(const BackendOrder& a, const BackendOrder& b) {
  for (const BackendOrder* order : {&a, &b}) {
    if (!order->is_known()) return "the order of " + order->backend + " is not known";
  }
  if (a.parts.size() != b.parts.size()) return "one has other orders in other places";
  for (size_t i = 0; i < a.parts.size(); ++i) {
    const auto same = std::find_if(b.parts.begin(), b.parts.end(),
                                   [&](const PartOrder& part) { return part.results == a.parts[i].results; });
    if (same == b.parts.end()) return "both have several orders, in other places";
    const Order &first = a.parts[i].report.order, &second = same->report.order;
    if (first.tree != second.tree) return "the trees differ";
    if (first.arithmetic != second.arithmetic) return "the arithmetic of the operations differs";
  }
  return "";
}

}  // namespace fusesmith::fuzz
