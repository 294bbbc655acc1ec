// The exported scripts against the reference: for applications of every op, what a script computes must be a
// lawful result. Skipped where there is no Python with NumPy or PyTorch: FUSESMITH_PYTHON names another one
// than python3.
#include <gtest/gtest.h>

#include <cctype>
#include <cstdlib>
#include <limits>
#include <regex>
#include <set>
#include <sstream>

#include "fuzz/cli/test_support.h"
#include "fuzz/export/format.h"
#include "fuzz/export/numpy_ops.h"
#include "graph/op_samples.h"
#include "graph/op_tests/op_tests.h"
#include "graph/rebuild.h"

namespace fusesmith::fuzz {
namespace {

std::string python() {
  const char* named = std::getenv("FUSESMITH_PYTHON");
  return shell_quoted(named ? named : "python3");
}
bool has_module(const std::string& module) {
  return std::system((python() + " -c 'import " + module + "' >/dev/null 2>&1").c_str()) == 0;
}

// Runs the scripts 0.py, 1.py, ... of a folder, and checks them against the intervals in 0.results.npz, ...
constexpr const char* kDriver = R"(
import contextlib, io, json, os, runpy, sys
import numpy as np

def rounded(dtype, x):
    x = np.asarray(x, np.float64)
    if dtype == "bf16":
        unit = np.ldexp(1.0, np.maximum(np.frexp(x)[1], -125) - 8)
        y = np.rint(x / unit) * unit
        return np.where(abs(y) >= 2.0**128, np.copysign(np.inf, x), y)
    return x.astype({"f32": np.float32, "f16": np.float16}.get(dtype, np.float64)).astype(np.float64)

np.seterr(all="ignore")
folder, kind, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
sys.argv = ["script", "--eager_only", "--device=cpu"]
checked = bad = 0
for i in range(count):
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            script = runpy.run_path(os.path.join(folder, f"{i}.py"))
    except Exception as error:
        bad += 1
        print(f"{i}: {error!r}")
        continue
    with np.load(os.path.join(folder, f"{i}.results.npz")) as data:
        for array in json.loads(data["manifest.json"])["arrays"]:
            if array["role"] != "candidate":
                continue
            low, high = (data["candidate." + end + array["key"][len("candidate.got"):]] for end in ("low", "high"))
            if kind == "numpy":
                own = np.asarray(script["results"][array["value"]], np.float64)
            else:
                index = script["LABELS"].index(array["value"])
                own = rounded(array["type"].split("[")[0], script["reference"][index].double().numpy())
            lawful = ((low <= own) & (own <= high)) | (np.isnan(low) & np.isnan(own)) | ((low == -np.inf) & (high == np.inf))
            checked += lawful.size
            if own.shape != low.shape or not lawful.all():
                bad += 1
                at = np.unravel_index(np.argmin(lawful), lawful.shape)
                print(f"{i}: {array['value']}{at}: {own[at]!r} is not in [{low[at]!r}, {high[at]!r}]")
print(f"{count} scripts, {checked} elements, {bad} bad")
sys.exit(bad > 0 or checked == 0)
)";

// Writes cases as scripts with what they must agree with, and runs all in one process.
class ScriptChecks {
 public:
  using Write = Result<Exported> (*)(const ExportSource&);
  ScriptChecks(std::string kind, Write write) : kind_(std::move(kind)), write_(write) {}

  void add(Graph graph) {
    Case test_case;
    test_case.seed = 7;
    test_case.graph = std::move(graph);
    JudgeFlags flags;
    flags.baseline = flags.candidate = "cpu";
    auto results = results_of(test_case, *Judging::of_case(flags, "case.json", test_case));
    ASSERT_TRUE(results.ok()) << results.problem();
    ExportSource source{test_case, "case.json", "data.npz"};
    const auto script = write_(source);
    ASSERT_TRUE(script.ok()) << script.problem();
    source.results = &*results;
    const auto data = export_npz(source);
    ASSERT_TRUE(data.ok()) << data.problem();
    const std::string name = std::to_string(what_.size());
    folder_.file(name + ".py", script->text);
    if (!script->data.empty()) folder_.file(name + ".npz", script->data);
    folder_.file(name + ".results.npz", data->text);
    what_.push_back(to_string(test_case.graph));
  }

  void run() {
    folder_.file("driver", kDriver);
    const std::string command = python() + " '" + (folder_ / "driver") + "' '" + folder_.string() + "' " +
                                kind_ + " " + std::to_string(what_.size());
    const int code = run_shell(command, folder_);
    const std::string said = *read_file(folder_ / "out") + *read_file(folder_ / "err");
    if (code == 0) {
      std::cout << said;
      return;
    }
    std::istringstream lines(said);
    for (std::string line; std::getline(lines, line);) {
      const size_t script = std::strtoul(line.c_str(), nullptr, 10);
      if (line.find(": ") != std::string::npos && std::isdigit(line[0]) != 0 && script < what_.size())
        ADD_FAILURE() << line << "\n" << what_[script];
    }
    EXPECT_EQ(code, 0) << said;
  }

 private:
  const std::string kind_;
  const Write write_;
  const TemporaryFolder folder_;
  std::vector<std::string> what_;
};

// Values that the op does not read: inputs, and nodes before that of the op.
struct OtherValues {
  std::vector<std::string> inputs = {}, nodes = {};
};

Result<Graph> op_case_graph(const op_tests::OpCase& one, Dtype dtype, const OtherValues& others = {}) {
  Builder b;
  std::vector<ValueId> inputs;
  for (TensorType type : one.inputs) {
    Fill fill = Bernoulli{};
    if (type.dtype == Dtype::i32) fill = op_tests::index_fill(type);
    if (is_float(type.dtype)) {
      type.dtype = dtype;
      fill = Normal{};
    }
    inputs.push_back(b.input("x" + std::to_string(inputs.size()), type, fill));
  }
  const TensorType scalar{Dtype::f32, {}};
  std::vector<ValueId> more;
  for (const std::string& name : others.inputs) more.push_back(b.input(name, scalar, Constant{0}));
  const ValueId zero = others.nodes.empty() ? -1 : b.input("zero", scalar, Constant{0});
  for (const std::string& name : others.nodes) b.output(b.node(Relu{}, {zero}, name));
  const ValueId first = b.node(one.op, inputs, "y");
  for (ValueId v = first; v < b.value_count(); ++v) b.output(v);
  for (size_t i = 0; i < more.size(); ++i) b.output(b.node(Tanh{}, {more[i]}, "read." + std::to_string(i)));
  return b.build();
}

template <class F>
void for_each_op_case(F f) {
  for (const Dtype dtype : kFloatDtypes) {
    for (const op_tests::OpCase& one : op_tests::op_cases()) {
      auto graph = op_case_graph(one, dtype);
      if (graph) f(std::move(*graph), one.op, dtype);
    }
  }
}

// The words of a script, most of which its code uses, and names that mean something to Python.
std::vector<std::string> words_of(const std::string& script) {
  std::set<std::string> words = {
      "__builtins__", "__name__", "__file__",  "__doc__", "__import__", "__build_class__",
      "__debug__",    "None",     "class",     "match",   "_",          "np.",
      "from/bits",    "1",        "received_y"};
  const std::regex word("[A-Za-z_][A-Za-z_0-9]*");
  for (std::sregex_iterator at(script.begin(), script.end(), word), end; at != end; ++at) {
    const bool is_data = at->str().find_first_not_of("0123456789abcdef") == std::string::npos;
    if (at->length() <= 60 && !is_data) words.insert(at->str());
  }
  return {words.begin(), words.end()};
}

// Every op beside values that have the names of which its script is made.
void check_with_names_of_the_script(const std::string& kind, ScriptChecks::Write write) {
  ScriptChecks checks(kind, write);
  for (const op_tests::OpCase& one : op_tests::op_cases()) {
    auto plain = op_case_graph(one, Dtype::f32);
    if (!plain) continue;
    Case test_case;
    test_case.graph = std::move(*plain);
    std::vector<std::string> words = words_of(write({test_case, "case.json"})->text);
    std::erase_if(words, [&](const std::string& word) {
      return test_case.graph.find(word) || word == "y" || word == "zero";
    });
    for (const OtherValues& others : {OtherValues{words, {}}, OtherValues{{}, words}}) {
      auto graph = op_case_graph(one, Dtype::f32, others);
      ASSERT_TRUE(graph.ok()) << graph.problem();
      checks.add(std::move(*graph));
    }
  }
  checks.run();
}

TEST(NumpyScript, DefinesEveryOp) {
  for_each_op([]<class T>(std::type_identity<T>) {
    const bool needs_one = T::info.op_class != OpClass::composite && T::info.name != Cast::info.name;
    EXPECT_EQ(has_numpy_definition(T::info.name), needs_one) << T::info.name;
  });
}

TEST(NumpyScript, ValuesMayHaveItsNames) {
  if (!has_module("numpy")) GTEST_SKIP() << "no NumPy for " << python() << "; FUSESMITH_PYTHON names another";
  check_with_names_of_the_script("numpy", export_numpy);
}

TEST(TorchScript, ValuesMayHaveItsNames) {
  if (!has_module("torch"))
    GTEST_SKIP() << "no PyTorch for " << python() << "; FUSESMITH_PYTHON names another";
  check_with_names_of_the_script("torch", export_torch);
}

// A running sum of exact data: its state after the last step has one correct value.
TEST(NumpyScript, PassesStatesOn) {
  if (!has_module("numpy")) GTEST_SKIP() << "no NumPy for " << python() << "; FUSESMITH_PYTHON names another";
  Case test_case;
  test_case.steps = 3;
  Builder b;
  const ValueId x = b.input("x", {Dtype::f32, {4}}, Lattice{});
  const ValueId sum = b.state("np", {Dtype::f32, {4}}, Lattice{});
  const ValueId next = b.node(Add{}, {sum, x}, "next");
  b.next_state(0, next);
  b.output(next);
  test_case.graph = *b.build();
  const TemporaryFolder folder;
  folder.file("x.py",
              export_numpy({test_case, "case.json"})->text + "print('last', *(f'{y:.0f}' for y in np_))\n");
  const auto states = final_states(test_case, *find_backend("cpu"));
  std::string want = "last";
  for (int64_t i = 0; i < 4; ++i) want += " " + number_text((*states)[0]->value(i));
  EXPECT_EQ(run_shell(python() + " '" + (folder / "x.py") + "' | tail -1", folder), 0);
  EXPECT_EQ(*read_file(folder / "out"), want + "\n") << *read_file(folder / "err");
}

TEST(NumpyScript, AgreesWithTheReferenceForEveryOp) {
  if (!has_module("numpy")) GTEST_SKIP() << "no NumPy for " << python() << "; FUSESMITH_PYTHON names another";
  ScriptChecks checks("numpy", export_numpy);
  for_each_op_case([&](Graph graph, const Op&, Dtype) { checks.add(std::move(graph)); });
  for_each_op([&]<class T>(std::type_identity<T>) {
    for (const OpSample& sample : valid_samples<T>(3000, 4)) {
      if (auto graph = graph_of(sample)) checks.add(std::move(*graph));
    }
  });
  for (const Dtype dtype : kFloatDtypes) {
    for (const auto& one : op_tests::special_cases(dtype)) checks.add(*op_tests::special_graph(one, dtype));
    for (const auto& one : op_tests::exact_cases()) {
      if (auto graph = op_tests::exact_graph(one, dtype)) checks.add(std::move(*graph));
    }
  }
  checks.run();
}

// Attention with a mask that shows no key to some queries, or to any.
std::vector<Graph> rows_without_keys() {
  const auto attention = [](Sdpa op, const TensorType& mask, const Fill& fill) {
    Builder b;
    std::vector<ValueId> inputs;
    for (const char* name : {"q", "k", "v"})
      inputs.push_back(b.input(name, {Dtype::f32, {2, 3, 4}}, Normal{}));
    if (op.takes_mask()) inputs.push_back(b.input("mask", mask, fill));
    b.output(b.node(op, inputs, "y"));
    return *b.build();
  };
  const Sdpa boolean{.mask = Sdpa::Mask::boolean}, additive{.mask = Sdpa::Mask::additive};
  const double inf = std::numeric_limits<double>::infinity();
  return {attention(boolean, {Dtype::boolean, {3, 3}}, Bernoulli{.p = 0.3}),
          attention(boolean, {Dtype::boolean, {3}}, Constant{0}),
          attention(additive, {Dtype::f32, {2, 1, 3}}, Constant{-inf})};
}

// PyTorch's f64 results, rounded once. It rounds nothing inside of attention, unlike the op in 16 bits.
TEST(TorchScript, ComputesEveryOp) {
  if (!has_module("torch"))
    GTEST_SKIP() << "no PyTorch for " << python() << "; FUSESMITH_PYTHON names another";
  ScriptChecks checks("torch", export_torch);
  for_each_op_case([&](Graph graph, const Op& op, Dtype dtype) {
    if (!std::holds_alternative<Sdpa>(op) || dtype == Dtype::f32) checks.add(std::move(graph));
  });
  for (Graph& graph : rows_without_keys()) checks.add(std::move(graph));
  checks.run();
}

// A permuted and padded input, one with a stride of 0, and an unaligned mask.
Graph laid_out(Dtype dtype) {
  Builder b;
  const MemoryLayout permuted{.order = {1, 0}, .pad = {2, 3}, .offset = 5}, expanded{.expand = {0}},
      misaligned{.offset = 1, .align = 1};
  const ValueId x = b.input({"x", {dtype, {3, 4}}, Normal{}, {}, permuted});
  const ValueId y = b.input({"y", {dtype, {3, 4}}, Normal{}, {0}, expanded});
  const ValueId mask = b.input({"m", {Dtype::boolean, {4}}, Bernoulli{}, {}, misaligned});
  const ValueId sum = b.node(Add{}, {x, y}, "sum");
  b.output(sum);
  b.output(b.node(Where{}, {mask, sum, y}, "out"));
  return *b.build();
}

TEST(TorchScript, ShowsWhatHasToStay) {
  Builder b;
  b.output(b.node(Softmax{}, {b.input("x", {Dtype::f32, {2, 3}}, Normal{})}, "y"));
  Case test_case;
  test_case.graph = *b.build();
  test_case.policy.replaced = "x[1,:] = nan";
  const auto script = export_torch({test_case, "case.json"});
  ASSERT_TRUE(script) << script.problem();
  for (const char* line : {"keeps_y = tensor(\"bool\", (2, 3), \"01 01 01 00 00 00\")", "KEEPS = [keeps_y]",
                           "return function(x), function(x_replaced)", "with NaN in x[1,:]"})
    EXPECT_NE(script->text.find(line), std::string::npos) << line << "\n" << script->text;
  test_case.policy.replaced = "";
  EXPECT_EQ(export_torch({test_case, "case.json"})->text.find("KEEPS"), std::string::npos);
  if (!has_module("torch"))
    GTEST_SKIP() << "the script was not run: no PyTorch for " << python()
                 << "; FUSESMITH_PYTHON names another";
  const TemporaryFolder folder;
  folder.file("script.py", script->text);
  ASSERT_EQ(run_shell(python() + " '" + (folder / "script.py") + "' --eager_only --device=cpu", folder), 0)
      << *read_file(folder / "err");
  const std::string said = *read_file(folder / "out");
  EXPECT_NE(said.find("eager: y: 0 of 3 elements change that have to stay\n"), std::string::npos) << said;
}

TEST(TorchScript, PlacesInputsAsTheirLayoutsSay) {
  Case test_case;
  test_case.graph = laid_out(Dtype::f32);
  const auto script = export_torch({test_case, "case.json"});
  ASSERT_TRUE(script.ok()) << script.problem();
  for (const char* line : {"x = placed(x, (1, 5), 5, 35, 256)\n", "y = placed(y, (0, 1), 0, 4, 256)\n",
                           "m = placed(m, (1,), 1, 4, 1)\n"})
    EXPECT_NE(script->text.find(line), std::string::npos) << line << script->text;
  test_case.graph = *rebuild(test_case.graph,
                             {{"x", {Dtype::f32, {3, 4}}, Normal{}},
                              {"y", {Dtype::f32, {3, 4}}, Normal{}},
                              {"m", {Dtype::boolean, {4}}, Bernoulli{}}},
                             {}, test_case.graph.outputs());
  EXPECT_EQ(export_torch({test_case, "case.json"})->text.find("placed"), std::string::npos);
  if (!has_module("torch")) return;
  ScriptChecks checks("torch", export_torch);
  for (const Dtype dtype : kFloatDtypes) checks.add(laid_out(dtype));
  checks.run();
}

}  // namespace
}  // namespace fusesmith::fuzz
