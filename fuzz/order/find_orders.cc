#include "fuzz/order/find_orders.h"

#include <chrono>
#include <cmath>

#include "backends/device_error.h"
#include "fuzz/order/backend_kernel.h"

namespace fusesmith::fuzz {

namespace {

// sum_height also counts the rounding of the product.
double declared_height(const SumSpec& spec, const Arithmetic& arithmetic) {
  if (spec.op != "reduce_sum") return std::fmax(arithmetic.sum_height - 1, 0);
  return arithmetic.row_sums.any_order() ? 0 : arithmetic.row_sums.height(static_cast<double>(spec.k));
}

}  // namespace

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
      order.report = find_order(kernel, options);
    }
  } catch (const DeviceError& error) {
    if (error.kind() == DeviceError::Kind::unhealthy) throw;
    order.unsupported = error.what();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    order.unsupported = error.what();
  }
  order.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  order.versions = backend.versions();
  order.device = backend.device();
  return order;
}

std::string difference_between(const BackendOrder& a, const BackendOrder& b) {
  for (const BackendOrder* order : {&a, &b}) {
    if (!order->is_known()) return "the order of " + order->backend + " is not known";
  }
  if (a.report.order.tree != b.report.order.tree) return "the trees differ";
  if (a.report.order.arithmetic != b.report.order.arithmetic)
    return "the arithmetic of the operations differs";
  return "";
}

}  // namespace fusesmith::fuzz
