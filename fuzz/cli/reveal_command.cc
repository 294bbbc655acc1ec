// The `reveal` command: in which order a backend adds the terms of a product or a sum.
#include <nlohmann/json.hpp>
#include <ostream>

#include "backends/remote/worker_names.h"
#include "fuzz/cli/command.h"
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
  std::string dtype = "f32";
  int64_t products = 100;
  uint64_t seed = 1;
  bool json = false;

  FlagTable table();
  void add_sum(std::vector<Flag>& rows);
};

void RevealFlags::add_sum(std::vector<Flag>& rows) {
  rows.push_back(
      {.name = "op",
       .target = &spec.op,
       .value = "matmul|linear|einsum|reduce_sum",
       .doc = "The op. reduce_sum sums the axis of k terms of [m, k, n], or of [m, k] where n is 1.",
       .choices = {std::begin(kSumOps), std::end(kSumOps)}});
  rows.push_back({.name = "dtype",
                  .target = &dtype,
                  .value = "f32|f16|bf16",
                  .doc = "Of the operands and of the result.",
                  .choices = {"f32", "f16", "bf16"}});
  const auto size = [&](std::string_view flag, int64_t& target, std::string_view doc) {
    rows.push_back({.name = flag, .target = &target, .value = "N", .doc = doc, .lo = 1, .hi = 1 << 20});
  };
  size("m", spec.m, "Rows of the result.");
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
      "bit for bit, on random products. With --against, it says whether two backends add alike. See "
      "docs/orders.md.\n"
      "\n"
      "Exit codes: 0 the order is known, and both backends add alike, 1 wrong usage, 71 out of memory, 76 "
      "the "
      "GPU is missing, or it failed, 77 the order is not known, or the backends do not add alike.";
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
                     "Whether PyTorch and ONNX Runtime add alike."}};
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

void print(const SumSpec& spec, const std::vector<BackendOrder>& orders, bool json, Console& console) {
  if (!json) {
    console.out << to_string(spec) << "\n";
    for (const BackendOrder& order : orders) console.out << "\n" << order_text(order);
    if (orders.size() > 1) console.out << "\n" << comparison_text(orders[0], orders[1]);
    return;
  }
  nlohmann::ordered_json all = {
      {"op", spec.op},    {"dtype", name(spec.dtype)}, {"m", spec.m},       {"n", spec.n},
      {"k", spec.k},      {"batch", spec.batch},       {"bias", spec.bias}, {"relu", spec.relu},
      {"tf32", spec.tf32}};
  all["transpose_a"] = spec.transpose_a;
  all["transpose_b"] = spec.transpose_b;
  all["orders"] = nlohmann::ordered_json::array();
  for (const BackendOrder& order : orders) all["orders"].push_back(order_json(order));
  if (orders.size() > 1) {
    const std::string difference = difference_between(orders[0], orders[1]);
    all["alike"] = difference.empty();
    all["difference"] = difference;
  }
  console.out << all.dump(2) << "\n";
}

int run(RevealFlags& flags, Console& console) {
  flags.spec.dtype = *parse_dtype(flags.dtype);
  if (const auto problem = wrong_flag(flags.spec)) return fail(console, kRevealName, problem->what);
  const auto graph = graph_of(flags.spec);
  if (!graph) return fail(console, kRevealName, graph.problem());
  const std::string first = flags.judge.candidate.empty() ? default_baseline() : flags.judge.candidate;
  std::vector<std::pair<std::string, std::string>> names = {{"backend", first}};
  if (!flags.against.empty()) names.emplace_back("against", flags.against);
  for (const auto& [flag, name] : names) {
    if (const auto why = cannot_run(flag, name)) return fail(console, kRevealName, why->why, why->code);
  }
  OrderOptions options;
  options.products = flags.products;
  options.seed = flags.seed;
  std::vector<BackendOrder> orders;
  for (const auto& [flag, name] : names) {
    try {
      orders.push_back(order_on(*find_backend(name), flags.spec, *graph,
                                {flags.judge.compile_timeout, flags.judge.run_timeout}, options));
    } catch (const DeviceError& error) {
      return fail_device(console, kRevealName, name, error);
    }
  }
  print(flags.spec, orders, flags.json, console);
  const bool known =
      std::all_of(orders.begin(), orders.end(), [](const auto& order) { return order.is_known(); });
  const bool alike = orders.size() < 2 || difference_between(orders[0], orders[1]).empty();
  return known && alike ? kClean : kFindings;
}

}  // namespace

Command reveal_command() { return command_of<RevealFlags>(); }

}  // namespace fusesmith::fuzz
