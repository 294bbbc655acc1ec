#include "fuzz/order/invariance.h"

#include "fuzz/base/table.h"

namespace fusesmith::fuzz {
namespace {

// A result, and how it is added.
struct Place {
  int64_t rows = 0, row = 0;
  const Order* order = nullptr;
};

std::string place_text(const Place& place) {
  return "row " + std::to_string(place.row) + " of " + std::to_string(place.rows);
}

std::string difference_text(const Place& first, const Place& other, int64_t column) {
  const bool trees = first.order->tree != other.order->tree;
  return std::string(trees ? "the trees" : "the arithmetic of the operations") + " of column " +
         std::to_string(column) + " differ" + (trees ? "" : "s") + " between " + place_text(first) + " and " +
         place_text(other);
}

}  // namespace

std::string dependence_on_rows(std::span<const OrderOfRows> orders, int64_t n) {
  for (const OrderOfRows& one : orders) {
    if (!one.order.is_known()) return "the order with " + counted(one.rows, "row") + " is not known";
  }
  std::vector<Place> first(static_cast<size_t>(n));
  for (const OrderOfRows& one : orders) {
    for (const PartOrder& part : one.order.parts) {
      const Order& own = part.report.order;
      for (size_t i = 0; i < part.results.size(); ++i) {
        if (!part.results[i]) continue;
        const auto at = static_cast<int64_t>(i);
        const Place place{one.rows, at / n, &own};
        Place& known = first[static_cast<size_t>(at % n)];
        if (!known.order)
          known = place;
        else if (known.order != &own && !(*known.order == own))
          return difference_text(known, place, at % n);
        else
          known.order = &own;  // equal ones are compared once
      }
    }
  }
  return "";
}

std::string invariance_text(std::span<const OrderOfRows> orders, int64_t n) {
  std::vector<std::string> rows;
  for (const OrderOfRows& one : orders) rows.push_back(std::to_string(one.rows));
  const std::string &backend = orders.front().order.backend, difference = dependence_on_rows(orders, n);
  if (difference.empty())
    return backend + " is batch invariant here: with " + list_text(rows) +
           " rows, every result is added along the same tree by the same arithmetic, so that its bits do not "
           "depend on the number of rows, or on its row, whatever the data is.\n";
  return backend + " is not shown to be batch invariant: " + difference + ".\n";
}

}  // namespace fusesmith::fuzz
