// The `reveal` command: in which order a backend adds the terms of a product or a sum.
#include <nlohmann/json.hpp>
#include <ostream>

#include "backends/remote/worker_names.h"
#include "fuzz/base/table.h"
#include "fuzz/cli/command.h"
#include "fuzz/order/invariance.h"
#include "fuzz/order/order_json.h"
#include "fuzz/order/order_text.h"
#include "fuzz/run/backends.h"
#include "fuzz/run/judging.h"

namespace fusesmith::fuzz {

namespace {

constexpr std::string_view kRevealName = "reveal";

struct RevealFlags {
  JudgeFlags judge;  // its candidate is the backend
  std::string against;
  SumSpec spec;
  std::vector<std::string> m = {"64"};
  bool invariant = false;
  std::string dtype = "f32";
  int64_t products = 100;
  uint64_t seed = 1;
  bool json = false;

  FlagTable table();
  void add_sum(std::vector<Flag>& rows);
};

std::vector<std::string> dtype_names() {
  std::vector<std::string> names;
  for (const Dtype dtype : kProbeDtypes) names.emplace_back(name(dtype));
  return names;
}

// "f32|f16".
const std::string& dtype_choices() {
  static const std::string text = [] {
    std::string all;
    for (const std::string& name : dtype_names()) all += (all.empty() ? "" : "|") + name;
    return all;
  }();
  return text;
}

void RevealFlags::add_sum(std::vector<Flag>& rows) {
  rows.push_back(
      {.name = "op",
       .target = &spec.op,
       .value = "matmul|linear|einsum|reduce_sum",
       .doc = "The op. reduce_sum sums the axis of k terms of [m, k, n], or of [m, k] where n is 1.",
       .choices = {std::begin(kSumOps), std::end(kSumOps)}});
  rows.push_back({.name = "dtype",
                  .target = &dtype,
                  .value = dtype_choices(),
                  .doc = "Of the operands and of the result, which is f32 if the operands are 8-bit floats.",
                  .choices = dtype_names()});
  const auto size = [&](std::string_view flag, int64_t& target, std::string_view doc) {
    rows.push_back({.name = flag, .target = &target, .value = "N", .doc = doc, .lo = 1, .hi = 1 << 20});
  };
  rows.push_back({.name = "m",
                  .target = &m,
                  .value = "N",
                  .doc = "Rows of the result; with --invariant, several numbers: --m=1,16,257."});
  size("n", spec.n, "Columns of the result.");
  size("k", spec.k, "Terms of each sum.");
  size("batch", spec.batch, "Number of products (matmul, einsum), or of blocks of m rows (linear).");
  const auto given = [&](std::string_view flag, bool& target, std::string_view doc) {
    rows.push_back({.name = flag, .target = &target, .doc = doc});
  };
  given("transpose_a", spec.transpose_a, "matmul, einsum: a is stored as [k, m].");
  given("transpose_b", spec.transpose_b, "matmul, einsum: b is stored as [n, k].");
  given("bias", spec.bias, "linear: with a bias.");
  given("relu", spec.relu, "Followed by a relu, so that fused backends use their fused kernel.");
  given("tf32", spec.tf32, "Products of f32 operands may round them to tf32.");
}

FlagTable RevealFlags::table() {
  FlagTable table;
  table.command = kRevealName;
  table.doc = "reveal in which order a backend adds the terms of a product or a sum.";
  table.details =
      "Runs a graph of one node on inputs that show which terms are added first: a large number and its "
      "negative erase the small terms that are added to only one of them. It prints the tree of additions as "
      "a sentence, how each addition is computed, and whether both are trusted: the tree is revealed twice, "
      "with other inputs, and results that are computed along it on the CPU must equal those of the backend, "
      "bit for bit, on random products. With --against, it says whether two backends add alike, and with "
      "--invariant, whether one adds alike for several numbers of rows. See docs/orders.md.\n"
      "\n"
      "Exit codes: 0 the order is known, and what was compared adds alike, 1 wrong usage, 71 out of memory, "
      "76 "
      "the "
      "GPU is missing, or it failed, 77 the order is not known, or what was compared does not add alike.";
  std::vector<Flag> rows;
  judge.add_to(rows);
  for (Flag& row : rows) {
    if (row.name == "candidate") {
      row.name = "backend";
      row.doc = "The backend, or a worker, such as torch:eager; see `fusesmith list backends`.";
      row.default_text = "cuda where it can run, else cpu";
      table.flags.push_back(row);
      row.name = "against";
      row.target = &against;
      row.doc = "Another backend or worker, to compare with.";
      row.default_text = "none";
      table.flags.push_back(row);
    }
  }
  add_sum(table.flags);
  table.flags.push_back(
      {.name = "invariant",
       .target = &invariant,
       .doc = "Whether the results have one tree and one arithmetic for all of these numbers of "
              "rows, so that their bits do not depend on it, whatever the data is."});
  table.flags.push_back({.name = "products",
                         .target = &products,
                         .value = "N",
                         .doc = "Number of random products that must be equal bit for bit.",
                         .lo = 1,
                         .hi = 1e6});
  table.flags.push_back({.name = "seed", .target = &seed, .value = "N", .doc = "Of the random products."});
  for (const Flag& row : rows) {
    if (row.name == "compile_timeout" || row.name == "run_timeout") table.flags.push_back(row);
  }
  table.flags.push_back({.name = "json",
                         .target = &json,
                         .doc = "Print one JSON object on standard output and nothing else there."});
  table.examples = {{"reveal --op=matmul --dtype=f32 --k=512", "How this machine's own kernel adds."},
                    {"reveal --backend=torch:eager --against=ort:all --op=linear --m=32 --n=48 --k=1000",
                     "Whether PyTorch and ONNX Runtime add alike."},
                    {"reveal --backend=torch:eager --op=linear --m=1,16,257 --invariant",
                     "Whether PyTorch's linear is batch invariant for these shapes."}};
  return table;
}

// Why the backend of this name cannot run, in one line.
std::optional<CannotRun> cannot_run(const std::string& flag, const std::string& name) {
  if (worker_kind(name)) {
    if (const auto spec = worker_spec(name); !spec)
      return CannotRun{"--" + flag + ": " + spec.problem(), kUsage};
  }
  if (const auto why = find_backend(name)->unavailable())
    return CannotRun{"--" + flag + "=" + name + " cannot run on this machine: " + *why,
                     worker_kind(name) ? kUsage : kDeviceUnhealthy};
  return {};
}

// A flag that the op does not have.
std::optional<Problem> wrong_flag(const SumSpec& spec) {
  const bool is_linear = spec.op == "linear", is_sum = spec.op == "reduce_sum";
  if ((spec.transpose_a || spec.transpose_b) && (is_linear || is_sum))
    return Problem{"--transpose_a and --transpose_b are for --op=matmul and --op=einsum"};
  if (spec.bias && !is_linear) return Problem{"--bias is for --op=linear"};
  if (spec.batch > 1 && is_sum) return Problem{"--batch is not for --op=reduce_sum"};
  if (spec.tf32 && spec.dtype != Dtype::f32) return Problem{"--tf32 is for --dtype=f32"};
  return {};
}

// The numbers of rows that --m gives.
Result<std::vector<int64_t>> rows_of(const RevealFlags& flags) {
  std::vector<int64_t> all;
  for (const std::string& text : flags.m) {
    int64_t rows = 0;
    if (const auto problem =
            set_flag({.name = "m", .target = &rows, .value = "N", .lo = 1, .hi = 1 << 20}, text))
      return *problem;
    all.push_back(rows);
  }
  if (all.size() != 1 && !flags.invariant) return Problem{"several numbers in --m are for --invariant"};
  if (flags.invariant && all.size() < 2)
    return Problem{"--invariant compares several numbers of rows: --m=1,16,257"};
  if (flags.invariant && !flags.against.empty())
    return Problem{"--against and --invariant exclude each other"};
  return all;
}

// Of two backends, or of several numbers of rows.
struct Compared {
  std::string difference, text;  // both empty: nothing to compare, or, of the first, no difference
};

Compared compared_of(const RevealFlags& flags, const std::vector<OrderOfRows>& orders) {
  if (flags.invariant)
    return {dependence_on_rows(orders, flags.spec.n), invariance_text(orders, flags.spec.n)};
  if (orders.size() < 2) return {};
  const BackendOrder &a = orders[0].order, &b = orders[1].order;
  return {difference_between(a, b), comparison_text(a, b)};
}

void print_text(const RevealFlags& flags, const std::vector<OrderOfRows>& orders, const Compared& compared,
                Console& console) {
  SumSpec spec = flags.spec;
  for (size_t i = 0; i < orders.size(); ++i) {
    spec.m = orders[i].rows;
    if (i == 0 || flags.invariant) console.out << (i > 0 ? "\n" : "") << to_string(spec) << "\n";
    console.out << "\n" << order_text(orders[i].order);
  }
  if (!compared.text.empty()) console.out << "\n" << wrapped(compared.text, 0);
}

void print_json(const RevealFlags& flags, const std::vector<OrderOfRows>& orders, const Compared& compared,
                Console& console) {
  const SumSpec& spec = flags.spec;
  nlohmann::ordered_json all = {
      {"op", spec.op},    {"dtype", name(spec.dtype)}, {"m", orders[0].rows}, {"n", spec.n},
      {"k", spec.k},      {"batch", spec.batch},       {"bias", spec.bias},   {"relu", spec.relu},
      {"tf32", spec.tf32}};
  all["transpose_a"] = spec.transpose_a;
  all["transpose_b"] = spec.transpose_b;
  all["orders"] = nlohmann::ordered_json::array();
  for (const OrderOfRows& one : orders) {
    all["orders"].push_back(order_json(one.order));
    if (flags.invariant) all["orders"].back()["m"] = one.rows;
  }
  if (orders.size() > 1) {
    all[flags.invariant ? "invariant" : "alike"] = compared.difference.empty();
    all["difference"] = compared.difference;
  }
  console.out << all.dump(2) << "\n";
}

int run(RevealFlags& flags, Console& console) {
  flags.spec.dtype = *parse_dtype(flags.dtype);
  if (const auto problem = wrong_flag(flags.spec)) return fail(console, kRevealName, problem->what);
  const auto rows = rows_of(flags);
  if (!rows) return fail(console, kRevealName, rows.problem());
  const std::string first = flags.judge.candidate.empty() ? default_baseline() : flags.judge.candidate;
  std::vector<std::pair<std::string, std::string>> names = {{"backend", first}};
  if (!flags.against.empty()) names.emplace_back("against", flags.against);
  for (const auto& [flag, name] : names) {
    if (const auto why = cannot_run(flag, name)) return fail(console, kRevealName, why->why, why->code);
  }
  OrderOptions options;
  options.products = flags.products;
  options.seed = flags.seed;
  std::vector<OrderOfRows> orders;
  for (const auto& [flag, name] : names) {
    for (const int64_t m : *rows) {
      flags.spec.m = m;
      const auto graph = graph_of(flags.spec);
      if (!graph) return fail(console, kRevealName, graph.problem());
      try {
        orders.push_back({m, order_on(*find_backend(name), flags.spec, *graph,
                                      {flags.judge.compile_timeout, flags.judge.run_timeout}, options)});
      } catch (const DeviceError& error) {
        return fail_device(console, kRevealName, name, error);
      }
    }
  }
  const Compared compared = compared_of(flags, orders);
  if (flags.json)
    print_json(flags, orders, compared, console);
  else
    print_text(flags, orders, compared, console);
  const bool known =
      std::all_of(orders.begin(), orders.end(), [](const auto& one) { return one.order.is_known(); });
  return known && compared.difference.empty() ? kClean : kFindings;
}

}  // namespace

Command reveal_command() { return command_of<RevealFlags>(); }

}  // namespace fusesmith::fuzz
