#include "fuzz/run/gpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fuzz/cli/test_support.h"

namespace fusesmith::fuzz {
namespace {

using testing::HasSubstr;

const std::vector<Gpu> kGpus = {{"GPU-11aa", "one"}, {"GPU-22bb", "two"}, {"GPU-22cc", "three"}};

std::vector<Gpu> chosen(const std::vector<std::string>& wanted) {
  const auto gpus = choose_gpus(wanted, kGpus);
  EXPECT_TRUE(gpus.ok()) << gpus.problem();
  return gpus ? *gpus : std::vector<Gpu>{};
}

std::string refused(const std::vector<std::string>& wanted) {
  const auto gpus = choose_gpus(wanted, kGpus);
  return gpus ? "" : gpus.problem();
}

TEST(Gpus, AreNamedByIndexAndUuid) {
  EXPECT_EQ(chosen({"all"}), kGpus);
  EXPECT_EQ(chosen({"2", "0"}), (std::vector<Gpu>{kGpus[2], kGpus[0]}));
  EXPECT_EQ(chosen({"GPU-22bb"}), std::vector<Gpu>{kGpus[1]});
  EXPECT_EQ(chosen({"GPU-1", "1"}), (std::vector<Gpu>{kGpus[0], kGpus[1]})) << "the beginning is enough";
}

TEST(Gpus, WhatIsNotThereIsNamed) {
  EXPECT_EQ(refused({"3"}),
            "--gpus=3: there is no such GPU; there are 0 (GPU-11aa), 1 (GPU-22bb), 2 (GPU-22cc)");
  EXPECT_THAT(refused({"0", "GPU-33"}), HasSubstr("--gpus=GPU-33: there is no such GPU"));
  EXPECT_THAT(refused({"99999999999999999999"}), HasSubstr("there is no such GPU"));
  EXPECT_THAT(refused({"GPU-22"}), HasSubstr("several GPUs"));
  EXPECT_EQ(refused({"1", "GPU-22b"}), "--gpus names GPU-22bb twice");
}

TEST(Gpus, OtherNamesAreRefused) {
  for (const std::vector<std::string>& names :
       {std::vector<std::string>{"all", "0"}, {"-1"}, {""}, {"0", ""}, {"GPU-"}, {"first"}, {"0-2"}})
    EXPECT_TRUE(gpu_names_problem(names)) << names[0];
  for (const std::vector<std::string>& names :
       {std::vector<std::string>{}, {"all"}, {"0", "2"}, {"GPU-8c5f"}})
    EXPECT_FALSE(gpu_names_problem(names));
}

TEST(Gpus, APairWithoutAGpuIsRefusedInOneLine) {
  const TemporaryFolder folder;
  const Ran ran = fusesmith_command(
      {"fuzz", "--gpus=all", "--baseline=cpu", "--candidate=cpu_fused", "--workdir=" + (folder / "w")});
  EXPECT_EQ(ran.code, kUsage);
  EXPECT_TRUE(is_one_line(ran.err)) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("--gpus: cpu against cpu_fused uses no GPU"));
  EXPECT_FALSE(std::filesystem::exists(folder / "w"));
  EXPECT_EQ(fusesmith_command({"fuzz", "--gpus=0", "--processes=0"}).code, kUsage);
}

}  // namespace
}  // namespace fusesmith::fuzz
