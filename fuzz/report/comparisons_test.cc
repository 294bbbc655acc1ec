// Comparisons with tolerances, and their agreement with PyTorch, where a Python that FUSESMITH_PYTHON names
// (or python3) has it.
#include "fuzz/report/comparisons.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "fuzz/cli/test_support.h"
#include "fuzz/run/judging.h"
#include "oracle/difference.h"
#include "oracle/test_support.h"

namespace fusesmith::fuzz {
namespace {

Tensor tensor_of(Dtype dtype, const std::vector<double>& values) {
  Tensor tensor({dtype, {static_cast<int64_t>(values.size())}});
  for (size_t i = 0; i < values.size(); ++i) tensor.set(static_cast<int64_t>(i), values[i]);
  return tensor;
}

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(IsSame, ComparesTheErrorsOfBothFromTheExactResult) {
  const std::vector<double> exact = {1, 1};
  const auto same = [&](double reference, double result, Dtype dtype = Dtype::f32) {
    return is_same(tensor_of(dtype, {reference, 1}), tensor_of(dtype, {result, 1}), exact);
  };
  EXPECT_TRUE(same(1, 1.00005)) << "close";
  EXPECT_FALSE(same(1, 1.01)) << "the reference has no error";
  EXPECT_TRUE(same(1.01, 0.98)) << "twice the error of the reference";
  EXPECT_FALSE(same(1.01, 0.96)) << "four times";
  EXPECT_TRUE(same(kNan, kNan));
  EXPECT_FALSE(same(1, kNan));
  EXPECT_TRUE(same(kNan, 1)) << "only the reference is NaN";
}

// A missing NaN is not close to it.
TEST(Comparisons, NanAndInfinityAreFarFromNumbers) {
  const Tensor numbers = tensor_of(Dtype::f32, {0, 0, 1}),
               special = tensor_of(Dtype::f32, {kNan, std::numeric_limits<double>::infinity(), 1});
  EXPECT_EQ(difference(special, numbers).beyond, 2);
  EXPECT_EQ(difference(numbers, special).beyond, 2);
  EXPECT_EQ(difference(special, special).beyond, 0);
}

// Tensors near an exact result, at distances on both sides of the limits.
struct Drawn {
  Dtype dtype;
  std::vector<double> exact, reference, result;
};

std::vector<Drawn> drawn() {
  std::vector<Drawn> all;
  testing_support::Rng rng(5);
  for (int i = 0; i < 600; ++i) {
    const Dtype dtype = std::array{Dtype::f32, Dtype::f16, Dtype::bf16}[static_cast<size_t>(i % 3)];
    Drawn one{dtype, {}, {}, {}};
    const size_t size = i % 5 == 4 ? 1200 : 1 + static_cast<size_t>(i % 7);
    const double scale = std::pow(10, -1 - static_cast<double>(rng.below(5)));
    const double ratio = 0.5 + static_cast<double>(rng.below(8)) / 2;
    for (size_t k = 0; k < size; ++k) {
      const double exact = rng.normal();
      one.exact.push_back(exact);
      one.reference.push_back(round_to(dtype, exact + scale * rng.normal()));
      one.result.push_back(round_to(dtype, exact + ratio * scale * rng.normal()));
    }
    if (i % 17 == 0) one.reference[0] = kNan;
    if (i % 34 == 0) one.result[0] = kNan;
    if (i % 51 == 0) one.exact[0] = kNan;
    all.push_back(std::move(one));
  }
  return all;
}

std::string list_of(const std::vector<double>& values) {
  std::ostringstream text;
  text.precision(17);
  for (size_t i = 0; i < values.size(); ++i) {
    text << (i == 0 ? "" : ", ");
    std::isnan(values[i]) ? text << "nan" : text << values[i];
  }
  return "[" + text.str() + "]";
}

TEST(IsSame, AgreesWithPyTorch) {
  const char* named = std::getenv("FUSESMITH_PYTHON");
  const std::string python = shell_quoted(named ? named : "python3");
  const TemporaryFolder folder;
  if (run_shell(python + " -c 'import torch'", folder) != 0) GTEST_SKIP() << python << " has no PyTorch";
  std::string script =
      "import logging\nfrom math import nan\nimport torch\nfrom torch._dynamo.utils import same\n"
      "logging.disable()\nTYPES = {'f32': torch.float32, 'f16': torch.float16, 'bf16': torch.bfloat16}\n"
      "def check(dtype, exact, reference, result):\n"
      "    make = lambda x: torch.tensor(x, dtype=TYPES[dtype])\n"
      "    print(int(same(make(reference), make(result), torch.tensor(exact, dtype=torch.float64),"
      " equal_nan=True)), end='')\n";
  std::string ours;
  for (const Drawn& one : drawn()) {
    script += "check('" + std::string(name(one.dtype)) + "', " + list_of(one.exact) + ", " +
              list_of(one.reference) + ", " + list_of(one.result) + ")\n";
    ours +=
        is_same(tensor_of(one.dtype, one.reference), tensor_of(one.dtype, one.result), one.exact) ? '1' : '0';
  }
  ASSERT_EQ(run_shell(python + " " + folder.file("check.py", script), folder), 0)
      << *read_file(folder / "err");
  EXPECT_EQ(*read_file(folder / "out"), ours);
  EXPECT_GT(std::count(ours.begin(), ours.end(), '1'), 100);
  EXPECT_GT(std::count(ours.begin(), ours.end(), '0'), 100);
}

}  // namespace
}  // namespace fusesmith::fuzz
