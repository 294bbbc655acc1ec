// The `list` command: the lists of ops, dtypes, patterns, backends and faults of this build, and what
// campaigns cover.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "backends/remote/worker_names.h"
#include "backends/rewrite/pattern.h"
#include "fuzz/base/table.h"
#include "fuzz/cli/command.h"
#include "fuzz/cli/list_coverage.h"
#include "fuzz/run/backends.h"
#include "graph/describe.h"
#include "graph/op.h"

namespace fusesmith::fuzz {

namespace {

struct ListFlags {
  bool json = false;
  bool wide = false;
  std::vector<std::string> what;

  FlagTable table();
};

using Json = nlohmann::ordered_json;

// Rows of columns; the heading's words are the JSON keys. Cells are strings, bools or numbers.
using Rows = std::vector<std::vector<Json>>;

Rows op_rows() {
  Rows rows = {{"name", "inputs", "attributes", "doc"}};
  for_each_op([&]<class T>(std::type_identity<T>) {
    std::vector<std::string> attributes;
    for_each_field<T>([&](const auto& field) { attributes.emplace_back(field.name); });
    const OpInfo& info = T::info;
    std::string inputs = std::to_string(info.min_inputs);
    if (info.max_inputs != info.min_inputs) inputs += "-" + std::to_string(info.max_inputs);
    rows.push_back({std::string(info.name), inputs, list_text(attributes), std::string(info.doc)});
  });
  return rows;
}

Rows pattern_rows() {
  Rows rows = {{"name", "doc"}};
  for (const Pattern& pattern : all_patterns())
    rows.push_back({std::string(pattern.name), std::string(pattern.doc)});
  return rows;
}

Rows backend_rows() {
  Rows rows = {{"name", "available", "why_not", "doc"}};
  for (const Backend* backend : all_backends()) {
    const auto why_not = backend->unavailable();
    rows.push_back(
        {std::string(backend->name()), !why_not, why_not.value_or(""), std::string(backend->doc())});
  }
  // Whether a worker can run is known only once it is started: `check-worker` does that.
  for (const WorkerKind& kind : worker_kinds())
    rows.push_back({std::string(kind.prefix) + std::string(kind.value), Json(), "", std::string(kind.doc)});
  return rows;
}

Rows fault_rows() {
  Rows rows = {{"name", "pattern", "backends", "cause", "doc"}};
  for (const FaultInfo& fault : all_faults()) {
    std::string carriers;
    for (const char* backend : {"cpu_fused", "cuda_fused"}) {
      if (fault.affects(backend)) carriers += (carriers.empty() ? "" : ",") + std::string(backend);
    }
    rows.push_back({std::string(fault.name), std::string(fault.pattern), carriers, std::string(fault.cause),
                    std::string(fault.doc)});
  }
  return rows;
}

// What the rows do not hold: each op's attributes in full, its arity and class, and the operands of an op
// that a formula defines.
void add_op_details(Json& items) {
  const Json ops = Json::parse(ops_json());
  for (size_t i = 0; i < items.size(); ++i) {
    items[i]["arity"] = ops[i]["inputs"];
    items[i]["class"] = ops[i]["class"];
    items[i]["attribute_details"] = ops[i]["attributes"];
    for (const char* key : {"operands", "outputs", "spelling"}) {
      if (ops[i].contains(key)) items[i][key] = ops[i][key];
    }
  }
}

Rows dtype_rows() {
  Rows rows = {{}};
  for (const Json& dtype : Json::parse(dtypes_json())) {
    std::vector<Json> row;
    for (const auto& [key, value] : dtype.items()) {
      if (rows.size() == 1) rows[0].emplace_back(key);
      row.push_back(value);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

struct Listing {
  std::string name;
  Rows (*rows)();
  std::string_view when_empty = {};
  void (*add_details)(Json& items) = nullptr;
};

const std::vector<Listing>& all_listings() {
  static const std::vector<Listing> listings = {
      {"ops", op_rows, "", add_op_details},
      {"dtypes", dtype_rows},
      {"patterns", pattern_rows},
      {"backends", backend_rows},
      {"faults", fault_rows,
       "This build contains no faults; configure with -DFUSESMITH_FAULTS=ON (preset dev).\n"},
  };
  return listings;
}

std::string json_text(const Listing& listing, const Rows& rows) {
  Json items = Json::array();
  for (size_t i = 1; i < rows.size(); ++i) {
    Json item = Json::object();
    for (size_t column = 0; column < rows[0].size(); ++column)
      item[rows[0][column].get<std::string>()] = rows[i][column];
    items.push_back(item);
  }
  if (listing.add_details) listing.add_details(items);
  return Json{{listing.name, items}}.dump(2) + "\n";
}

std::string cell_text(const Json& cell) {
  if (cell.is_null()) return "";
  if (cell.is_boolean()) return cell.get<bool>() ? "yes" : "no";
  if (cell.is_number()) return number_text(cell.get<double>());
  return cell.get<std::string>();
}

// Without the columns that are empty in every row.
std::string plain_text(const Rows& rows, size_t columns) {
  const auto row_text = [&](const std::vector<Json>& row) {
    std::vector<std::string> cells;
    for (size_t column = 0; column < row.size(); ++column) {
      const bool shown = std::any_of(rows.begin() + 1, rows.end(),
                                     [&](const auto& other) { return !cell_text(other[column]).empty(); });
      if (shown) cells.push_back(cell_text(row[column]));
    }
    return cells;
  };
  Table table(row_text(rows[0]));
  for (size_t i = 1; i < rows.size(); ++i) table.add(row_text(rows[i]));
  return table.text(0, columns);
}

FlagTable ListFlags::table() {
  FlagTable table;
  table.command = "list";
  table.shows = true;
  table.doc = "list ops, dtypes, patterns, backends or faults of this build, or the coverage of campaigns.";
  table.positional = {"ops|dtypes|patterns|backends|faults|coverage [WORKDIR...]", &what, 1};
  table.flags.push_back(wide_flag(wide));
  table.flags.push_back({.name = "json",
                         .target = &json,
                         .doc = "Print one JSON object on standard output and nothing else there."});
  table.examples = {
      {"list patterns", "Print the names that --skip_patterns takes."},
      {"list ops --json", "Print every op with its attributes, for scripts."},
      {"list coverage fusesmith-work",
       "Print how often each pattern, guard and op occurred in a campaign, and which ones did not."},
  };
  return table;
}

// Exit code: 0, 1. With --json: {"faults": [{"name": .., "pattern": .., "doc": ..}]}, the key being what is
// listed. `coverage` with folders of campaigns: what these have counted together.
int run(ListFlags& flags, Console& console) {
  std::vector<std::string> names;
  for (const Listing& listing : all_listings()) names.push_back(listing.name);
  names.emplace_back(kCoverageListing);
  const auto chosen = std::find(names.begin(), names.end(), flags.what[0]);
  if (chosen == names.end()) {
    return fail(console, "list",
                "expected one of " + list_text(names) + "; got '" + flags.what[0] + "'" +
                    suggestion(flags.what[0], names));
  }
  const size_t columns = flags.wide ? kAllColumns : kColumns;
  if (*chosen == kCoverageListing)
    return list_coverage({flags.what.begin() + 1, flags.what.end()}, flags.json, columns, console);
  if (flags.what.size() > 1)
    return fail(console, "list", "expected nothing after " + *chosen + "; got '" + flags.what[1] + "'");
  const Listing& listing = all_listings()[static_cast<size_t>(chosen - names.begin())];
  const Rows rows = listing.rows();
  if (flags.json) {
    console.out << json_text(listing, rows);
  } else if (rows.size() == 1) {
    console.out << listing.when_empty;
  } else {
    console.out << plain_text(rows, columns);
  }
  return kClean;
}

}  // namespace

Command list_command() { return command_of<ListFlags>(); }

}  // namespace fusesmith::fuzz
