#include "fuzz/order/order_text.h"

#include <algorithm>

#include "fuzz/base/table.h"
#include "oracle/arithmetic_keys.h"

namespace fusesmith::fuzz {
namespace {

std::string title(const BackendOrder& order) {
  std::vector<std::string> words;
  for (const auto& [library, version] : order.versions) words.push_back(library + " " + version);
  if (!order.device.empty()) words.push_back(order.device);
  return order.backend + (words.empty() ? "" : " (" + list_text(words) + ")");
}

std::string line(const std::string& name, const std::string& text) {
  return wrapped("  " + name + std::string(12 - name.size(), ' ') + text, 14) + "\n";
}

// How products enter f32 sums.
std::string products_text(const Order& order) {
  if (order.arithmetic.kind != NodeArithmetic::Kind::f32) return "";
  const auto rounded = std::count_if(order.tree.nodes.begin(), order.tree.nodes.end(),
                                     [](const SumNode& node) { return node.rounds_products; });
  if (rounded == 0) return "";
  const bool all = std::all_of(order.tree.nodes.begin(), order.tree.nodes.end(), [](const SumNode& node) {
    return node.rounds_products || node.term_count() < 2;
  });
  return all ? "; products are rounded first" : "; some products are rounded first";
}

std::string part_text(const OrderReport& report, double declared_height) {
  if (report.order.tree.nodes.empty()) return line("not known", report.reason);
  std::string text = line("tree", to_string(report.order.tree));
  text += line("arithmetic", to_string(report.order.arithmetic) + products_text(report.order));
  if (report.accumulator) text += line("contract", "\"accumulator\": " + to_json(*report.accumulator));
  text += line("height",
               counted(report.order.tree.height(), "addition") +
                   (declared_height > 0 ? "; the contract allows " + short_number(declared_height) : ""));
  text += line("probes", std::to_string(report.probes) + " in " + counted(report.calls, "call"));
  const std::string of = std::to_string(report.equal_elements) + " of " +
                         counted(report.elements, "element") + " of " +
                         counted(report.products, "random product") + " equal bit for bit";
  if (report.state == OrderReport::State::trusted) return text + line("trusted", of);
  return text + line("not known", report.reason + (report.elements > 0 ? ": " + of : ""));
}

}  // namespace

std::string order_text(const BackendOrder& order) {
  std::string text = title(order) + "\n";
  if (!order.unsupported.empty()) return text + line("not run", order.unsupported);
  for (const PartOrder& part : order.parts) {
    if (order.parts.size() > 1) {
      const auto first = std::find(part.results.begin(), part.results.end(), true) - part.results.begin();
      text += line("results", std::to_string(part.size()) + " of " + std::to_string(part.results.size()) +
                                  ", the first is number " + std::to_string(first));
    }
    text += part_text(part.report, order.declared_height);
  }
  return text;
}

std::string comparison_text(const BackendOrder& a, const BackendOrder& b) {
  const std::string difference = difference_between(a, b);
  if (difference.empty()) return a.backend + " and " + b.backend + " add alike.\n";
  const bool known = a.is_known() && b.is_known();
  return a.backend + " and " + b.backend + (known ? " do not add alike: " : ": not compared, because ") +
         difference + ".\n";
}

}  // namespace fusesmith::fuzz
