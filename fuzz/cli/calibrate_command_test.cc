// `calibrate --backend`: the measured errors of a backend's scalar functions, and what is reported of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "backends/cpu/cpu_backend.h"
#include "fuzz/cli/test_support.h"
#include "fuzz/report/function_errors_text.h"
#include "fuzz/run/function_errors.h"

namespace fusesmith::fuzz {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;
using testing::Not;

// What the reference says of exp and rsqrt, after a change of one's choice: (x, exact result) -> result.
class ChangedFunctions : public Backend {
 public:
  using Change = std::function<double(double x, double result)>;
  explicit ChangedFunctions(Change change) : change_(std::move(change)), listed_(*this) {}

  std::string_view name() const override { return "changed"; }
  std::string_view doc() const override { return "exp and rsqrt with an error"; }
  std::optional<std::string> unavailable() const override { return {}; }
  std::string device() const override { return "a device/1"; }
  Result<std::unique_ptr<Program>> compile(const Graph& graph, const CompileOptions&) const override {
    const Op& op = graph.nodes()[0].op;
    const bool is_exp = std::holds_alternative<Exp>(op);
    const bool wide = graph.type(0).dtype == Dtype::f32;
    if (wide || (!is_exp && !std::holds_alternative<Rsqrt>(op)))
      return Problem{"only exp and rsqrt of 16 bits"};
    return std::unique_ptr<Program>(std::make_unique<Changed>(graph, is_exp, change_));
  }

 private:
  class Changed : public Program {
   public:
    Changed(const Graph& graph, bool is_exp, Change change)
        : type_(graph.type(0)), is_exp_(is_exp), change_(std::move(change)) {
      plan_.regions.push_back(make_region(graph, {0}));
    }
    const Plan& plan() const override { return plan_; }
    Trace run(std::span<const TensorPtr> inputs) override {
      Tensor y(type_);
      for (int64_t i = 0; i < y.size(); ++i) {
        const double x = inputs[0]->value(i);
        y.set(i, change_(x, is_exp_ ? std::exp(x) : 1 / std::sqrt(x)));
      }
      return {{inputs[0], std::make_shared<const Tensor>(std::move(y))}};
    }
    std::optional<Disagreement> recheck(std::span<const TensorPtr>, const Trace&) override { return {}; }

   private:
    TensorType type_;
    bool is_exp_;
    Change change_;
    Plan plan_;
  };

  const Change change_;
  const ListedBackend listed_;
};

FunctionErrors errors_of(const std::string& function, Dtype dtype, ChangedFunctions::Change change) {
  const ChangedFunctions backend(std::move(change));
  MeasureProgress progress;
  for (FunctionErrors& errors : measure_functions(backend, {}, progress, {})) {
    if (errors.function == function && errors.dtype == dtype) return errors;
  }
  return {};
}

TEST(FunctionErrors, ExactResultsAreHalfAnUlpOff) {
  for (const Dtype dtype : {Dtype::f16, Dtype::bf16}) {
    const FunctionErrors errors = errors_of("exp", dtype, [](double, double y) { return y; });
    EXPECT_GE(errors.values, 1 << 16);
    EXPECT_LE(errors.ulp.error, 0.5);
    EXPECT_GT(errors.ulp.error, 0.45);
    EXPECT_LE(errors.relative_u.error, std::ldexp(1, 24 - precision(dtype)));
    EXPECT_LE(errors.tiny.error, 1);
    EXPECT_FALSE(errors.is_suspicious());
  }
}

TEST(FunctionErrors, AnErrorIsSeenWhereItIs) {
  const auto change = [](double x, double y) { return x == 2 ? y * (1 + 0x1p-5) : y; };
  const FunctionErrors errors = errors_of("exp", Dtype::f16, change);
  EXPECT_EQ(errors.ulp.x, 2);
  EXPECT_NEAR(errors.ulp.error, std::exp(2) * 0x1p-5 / 0x1p-8, 1);
  EXPECT_EQ(errors.relative_u.x, 2);
  EXPECT_NEAR(errors.relative_u.error, 0x1p-5 / 0x1p-24, 0x1p13);
  EXPECT_GT(errors.reversals.count, 0) << "the next value has a smaller result";
  EXPECT_TRUE(errors.is_suspicious());
}

TEST(FunctionErrors, SpecialValues) {
  const double nan = std::nan("");
  const FunctionErrors lost =
      errors_of("exp", Dtype::bf16, [](double x, double y) { return std::isnan(x) ? 0 : y; });
  EXPECT_GT(lost.exceptional.count, 0);
  EXPECT_TRUE(std::isnan(lost.exceptional.want));
  const FunctionErrors made =
      errors_of("exp", Dtype::bf16, [&](double x, double y) { return std::isinf(x) ? nan : y; });
  EXPECT_GE(made.exceptional.count, 2);
  const FunctionErrors at_zero =
      errors_of("exp", Dtype::f16, [](double x, double y) { return x == 0 ? y * (1 + 0x1p-10) : y; });
  EXPECT_GT(at_zero.inexact.count, 0) << "contracts assume exp(0) = 1";
  EXPECT_EQ(at_zero.inexact.want, 1);
  EXPECT_LE(at_zero.ulp.error, kMostUlp);
  EXPECT_TRUE(at_zero.is_suspicious());
}

TEST(FunctionErrors, FlushedSubnormalsAreCountedApart) {
  const double smallest = 0x1p-14;  // normal number of f16
  const FunctionErrors inputs = errors_of(
      "rsqrt", Dtype::f16, [&](double x, double y) { return x > 0 && x < smallest ? HUGE_VAL : y; });
  EXPECT_GE(inputs.flushed_inputs.count, 1023);
  EXPECT_FALSE(inputs.is_suspicious());
  const FunctionErrors results =
      errors_of("exp", Dtype::f16, [&](double, double y) { return y < smallest ? 0 : y; });
  EXPECT_GT(results.flushed_results.count, 100);
  EXPECT_FALSE(results.is_suspicious());
}

TEST(FunctionErrors, FallingFunctionsFallForEachSign) {
  const FunctionErrors rsqrt = errors_of("rsqrt", Dtype::bf16, [](double, double y) { return y; });
  EXPECT_EQ(rsqrt.reversals.count, 0);
  EXPECT_FALSE(rsqrt.is_suspicious());
}

TEST(Calibrate, ReportsWhatIsWrongAndWritesAFile) {
  const TemporaryFolder folder;
  const ChangedFunctions backend([](double x, double y) { return x == 2 ? 9 * y : y; });
  const std::vector<std::string> args = {"calibrate", "--backend=changed", "--output=" + folder / "measured"};
  const Ran text = fusesmith_command(args);
  EXPECT_EQ(text.code, kFindings) << text.err;
  EXPECT_THAT(text.out, HasSubstr("WORSE THAN 4 ULP: exp f16: "));
  EXPECT_THAT(text.out, HasSubstr("NOT MONOTONE: exp f16: "));
  EXPECT_THAT(text.out, HasSubstr("Unsupported: exp f32: only exp and rsqrt of 16 bits"));
  const std::string file = folder / "measured/changed-" FUSESMITH_VERSION "-a_1.json";
  ASSERT_TRUE(read_file(file).ok()) << file;
  const Json json = Json::parse(*read_file(file));
  EXPECT_EQ(json["backend"], "changed");
  EXPECT_EQ(json["functions"].size(), scalar_functions().size() * 3);
  EXPECT_EQ(json["functions"][1]["function"], "exp");
  EXPECT_EQ(json["functions"][1]["dtype"], "f16");
  EXPECT_EQ(json["functions"][1]["ulp"]["x"], 2);
  EXPECT_EQ(json["functions"][1]["suspicious"], true);
}

TEST(Calibrate, WrongUsageIsOneLine) {
  for (const std::vector<std::string>& args : {std::vector<std::string>{"calibrate", "--all"},
                                               {"calibrate", "--output=x"},
                                               {"calibrate", "--backend=cpuu"},
                                               {"calibrate", "--backend=remote:/no/such/program"},
                                               {"calibrate", "--backend=remote:"},
                                               {"calibrate", "--candidate=cpu"}}) {
    const Ran ran = fusesmith_command(args);
    EXPECT_EQ(ran.code, kUsage) << args[1];
    EXPECT_TRUE(is_one_line(ran.err)) << ran.err;
    EXPECT_EQ(ran.out, "");
  }
}

// The faulty worker has no kernel for any of them: measured is nothing, and that is no error.
TEST(Calibrate, WorkersAreAsked) {
  const std::string worker = std::string("--backend=remote:python3 '") + FUSESMITH_SOURCE_DIR +
                             "/python/tests/workers/faulty_worker.py' none";
  const Ran ran = fusesmith_command({"calibrate", worker, "--json", "--jobs=1"});
  EXPECT_EQ(ran.code, kClean) << ran.err;
  const Json json = Json::parse(ran.out);
  EXPECT_EQ(json["versions"]["faulty"], "1.4.2");
  EXPECT_EQ(json["device"], "cpu");
  for (const Json& function : json["functions"]) EXPECT_EQ(function["unsupported"], "only relu and add");
}

TEST(Calibrate, FileNamesHaveTheVersionOfTheLibrary) {
  MeasuredBackend measured(cpu_backend(), false);
  EXPECT_EQ(measured.file_name(), "cpu-" FUSESMITH_VERSION "-cpu.json");
  measured.name = "torch:eager+cuda";
  measured.versions = {{"numpy", "2.3.1"}, {"torch", "2.11.0+cu130"}};
  measured.device = "NVIDIA H200";
  EXPECT_EQ(measured.file_name(), "torch_eager_cuda-2.11.0_cu130-NVIDIA_H200.json");
  measured.name = "ort:all";
  measured.versions = {{"onnx", "1.22.0"}, {"onnxruntime", "1.31.1"}};
  EXPECT_EQ(measured.file_name(), "ort_all-onnx1.22.0-onnxruntime1.31.1-NVIDIA_H200.json");
}

}  // namespace
}  // namespace fusesmith::fuzz
