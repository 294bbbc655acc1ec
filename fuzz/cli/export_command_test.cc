// `export` and `show` as a user calls them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "fuzz/base/color.h"
#include "fuzz/cli/test_support.h"
#include "fuzz/export/format.h"

namespace fusesmith::fuzz {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kSmallCase = R"({"fusesmith": 1, "comment": "<b>\n\"\"\"", "graph": {
  "inputs": [{"name": "x", "type": "bf16[2,3]", "fill": {"normal": {}}}],
  "nodes": [{"name": "p/q", "op": "softmax", "inputs": ["x"]}], "outputs": ["p/q"]}})";

std::string small_case(const TemporaryFolder& folder) { return folder.file("case.json", kSmallCase); }

std::vector<std::string> names_in_export(const TemporaryFolder& folder) {
  std::vector<std::string> names = *names_in(WorkPath(folder.string()));
  std::sort(names.begin(), names.end());
  return names;
}

TEST(ExportCommand, BinaryFormatsDoNotGoToATerminal) {
  const TemporaryFolder folder;
  const std::string file = small_case(folder);
  set_terminals({.out = true, .err = false});
  const Ran refused = fusesmith_command({"export", "--to=npz", file});
  const Ran text = fusesmith_command({"export", "--to=dot", file});
  set_terminals({});
  EXPECT_EQ(refused.code, kUsage);
  EXPECT_EQ(refused.out, "");
  EXPECT_TRUE(is_one_line(refused.err)) << refused.err;
  EXPECT_EQ(text.code, kClean) << text.err;
  EXPECT_EQ(fusesmith_command({"export", "--to=npz", file}).code, kClean) << "a pipe";
}

TEST(ExportCommand, WritesEveryFormatToOneFileOrToStandardOutput) {
  for (const ExportFormat& format : export_formats()) {
    if (format.needs_python) continue;  // python/tests/workers/test_models.py
    const TemporaryFolder folder;
    const std::string file = small_case(folder), output = folder / ("out" + std::string(format.suffix));
    const std::string to = "--to=" + std::string(format.name);
    const Ran written = fusesmith_command({"export", file, to, "--output=" + output});
    EXPECT_EQ(written.code, kClean) << written.err;
    EXPECT_EQ(written.out, output + "\n");
    EXPECT_THAT(names_in_export(folder), ElementsAre("case.json", "out" + std::string(format.suffix)));
    const Ran printed = fusesmith_command({"export", file, to});
    EXPECT_EQ(printed.code, kClean) << printed.err;
    EXPECT_EQ(printed.out, *read_file(output)) << format.name;
    const Ran json = fusesmith_command({"export", file, to, "--output=" + output, "--json"});
    EXPECT_EQ(nlohmann::json::parse(json.out), (nlohmann::json{{"files", {output}}}));
  }
}

// What the command writes about a failing case: a kernel that returns other numbers.
class OneOffBackend : public Backend {
 public:
  // One in `period` programs is wrong.
  explicit OneOffBackend(int period = 1) : period_(period), listed_(*this) {}
  std::string_view name() const override { return "one_off"; }
  std::string_view doc() const override { return "adds 1 to the first element of every output"; }
  std::optional<std::string> unavailable() const override { return {}; }
  Result<std::unique_ptr<Program>> compile(const Graph& graph, const CompileOptions& options) const override {
    auto program = cpu_fused_backend().compile(graph, options);
    if (!program) return Problem{program.problem()};
    if (++compiled_ % period_ != 0) return program;
    return std::unique_ptr<Program>(std::make_unique<OneOffProgram>(std::move(*program)));
  }

 private:
  class OneOffProgram : public Program {
   public:
    explicit OneOffProgram(std::unique_ptr<Program> inner) : inner_(std::move(inner)) {}
    const Plan& plan() const override { return inner_->plan(); }
    Trace run(std::span<const TensorPtr> sources) override {
      Trace trace = inner_->run(sources);
      for (const Region& region : plan().regions) {
        for (ValueId value : region.outputs) {
          Tensor wrong = *trace.values[static_cast<size_t>(value)];
          wrong.set(0, wrong.value(0) + 1);
          trace.values[static_cast<size_t>(value)] = std::make_shared<const Tensor>(std::move(wrong));
        }
      }
      return trace;
    }
    std::optional<Disagreement> recheck(std::span<const TensorPtr>, const Trace&) override { return {}; }

   private:
    std::unique_ptr<Program> inner_;
  };
  const int period_;
  mutable int compiled_ = 0;
  const ListedBackend listed_;
};

TEST(ExportCommand, WithResultsSaysWhatIsWrong) {
  const OneOffBackend one_off;
  const TemporaryFolder folder;
  const std::string file = small_case(folder);
  const auto exported = [&](const std::string& to) {
    const Ran ran = fusesmith_command(
        {"export", file, "--to=" + to, "--with_results", "--baseline=cpu", "--candidate=one_off"});
    EXPECT_EQ(ran.code, kClean) << ran.err;
    return ran.out;
  };
  EXPECT_THAT(exported("svg"), HasSubstr("class=\"failing worst\""));
  EXPECT_THAT(exported("dot"), HasSubstr("penwidth=3"));
  EXPECT_THAT(exported("markdown"), HasSubstr("one_off computes p/q (bf16) with its kernel for softmax."));
  for (const char* script : {"numpy", "torch"})
    EXPECT_THAT(exported(script), testing::ContainsRegex("\\(\"p/q\", \\(0, 0\\), 1\\.[0-9]+, 0\\.[0-9]+, "));
  const std::string npz = exported("npz");
  for (const char* key : {"input.x.npy", "input.x.f32.npy", "baseline.got.p_q.npy", "candidate.got.p_q.npy",
                          "candidate.exact.p_q.npy", "candidate.low.p_q.npy", "candidate.high.p_q.npy"})
    EXPECT_THAT(npz, HasSubstr(key));
}

TEST(ExportCommand, SaysThatACaseFailsOnlySometimes) {
  const OneOffBackend one_off(3);
  const TemporaryFolder folder;
  const std::string file = small_case(folder);
  folder.file("verdict.json",
              R"({"file": "case.json", "signature": "defect-one_off-softmax-bf16-out_of_bounds",
                                  "report": {"failed": 8, "runs": 20}})");
  const std::string recorded = "does not fail every time, but in 8 of 20 runs.";
  for (const char* format : {"numpy", "torch", "markdown"})
    EXPECT_THAT(fusesmith_command({"export", file, std::string("--to=") + format}).out, HasSubstr(recorded));
  const auto with_results = [&](const std::string& candidate, const std::string& format) {
    return fusesmith_command({"export", file, "--to=" + format, "--with_results", "--baseline=cpu",
                              "--candidate=" + candidate})
        .out;
  };
  EXPECT_THAT(with_results("one_off", "markdown"), testing::ContainsRegex("It fails in [0-9]+ of 20 runs"));
  for (const char* format : {"numpy", "torch", "npz"})
    EXPECT_THAT(with_results("one_off", format), HasSubstr("does not fail every time, but in ")) << format;
  EXPECT_THAT(with_results("one_off", "svg"), HasSubstr(">It does not"));
  EXPECT_THAT(with_results("one_off", "numpy"), HasSubstr("of a run that failed."));
  EXPECT_THAT(with_results("cpu", "npz"),
              HasSubstr("It did not fail in 30 runs, although a campaign recorded "
                        "defect-one_off-softmax-bf16-out_of_bounds."));
  folder.file("verdict.json",
              R"({"file": "case.json", "signature": "x", "report": {"failed": 5, "runs": 5}})");
  EXPECT_THAT(fusesmith_command({"export", file, "--to=numpy"}).out, testing::Not(HasSubstr("5 runs")));
}

// Whatever stands in names, comments and the name of the file.
TEST(ExportCommand, ScriptsAndMarkdownHoldAnyText) {
  const TemporaryFolder folder;
  const std::string text = R"({"fusesmith": 1, "comment": "\"\"\"\n```\n<script>\r\nimport nothing\u0000 \\",
    "graph": {"inputs": [{"name": "import", "type": "f32[2]", "fill": {"normal": {}}},
                         {"name": "a.b/c-d", "type": "f32[2]", "fill": {"constant": {"value": 1}}}],
    "nodes": [{"name": "np", "op": "add", "inputs": ["import", "a.b/c-d"]},
              {"name": "0", "op": "div", "inputs": ["np", "import"]}], "outputs": ["np", "0"]}})";
  const std::string file = folder.file("a\"\"\"\n'<b>\\.json", text);
  for (const std::string to : {"numpy", "torch"}) {
    const std::string script = folder / ("to_" + to + ".py");
    const Ran ran = fusesmith_command({"export", file, "--to=" + to, "--with_results", "--baseline=cpu",
                                       "--candidate=cpu", "--output=" + script});
    EXPECT_EQ(ran.code, kClean) << ran.err;
    EXPECT_EQ(run_shell("python3 -c 'compile(open(\"" + script + "\").read(), \"x\", \"exec\")'", folder), 0)
        << *read_file(folder / "err");
  }
  const std::string markdown = fusesmith_command({"export", file, "--to=markdown"}).out;
  EXPECT_THAT(markdown, HasSubstr("````\n\"\"\"\n```\n<script>"));  // in a longer fence
  EXPECT_THAT(markdown, testing::Not(HasSubstr("<b>")));
}

TEST(ExportCommand, FlagsOfJudgingNeedResults) {
  const TemporaryFolder folder;
  const Ran ran = fusesmith_command({"export", small_case(folder), "--to=numpy", "--candidate=cpu"});
  EXPECT_EQ(ran.code, kUsage);
  EXPECT_TRUE(is_one_line(ran.err)) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("--with_results: --candidate=cpu"));
}

TEST(ExportCommand, MarksWhatACampaignRecorded) {
  const TemporaryFolder folder;
  const std::string file = small_case(folder);
  const auto svg = [&](const std::string& verdict) {
    folder.file("verdict.json", verdict);
    return fusesmith_command({"export", file, "--to=svg"}).out;
  };
  const std::string about =
      R"("signature": "defect-<b>", "failing_region": {"backend": "none", "role": "candidate",
      "region": 0}, "candidate": {"regions": [{"name": "p/q", "worst": {"value": "p/q"}}]}})";
  const std::string marked = svg(R"({"file": "case.json", )" + about);
  EXPECT_THAT(marked, HasSubstr("class=\"failing worst\""));
  EXPECT_THAT(marked, HasSubstr("defect-&lt;b&gt;"));
  EXPECT_THAT(svg(R"({"file": "x.json", "minimized": {"file": "case.json", )" + about + "}"),
              HasSubstr("class=\"failing worst\""));
  for (const std::string& other :
       {R"({"file": "other.json", )" + about, std::string("["), std::string("[]"),
        std::string(R"({"file": "case.json", "failing_region": {"role": "candidate",
                                               "region": 7}})")})
    EXPECT_THAT(svg(other), testing::Not(HasSubstr("class=\"failing")));
}

TEST(ExportCommand, WritesLargeDataBesideTheScript) {
  const TemporaryFolder folder;
  const std::string file = folder.file("large.json", R"({"fusesmith": 1, "graph": {
    "inputs": [{"name": "x", "type": "f32[100,100]", "fill": {"normal": {}}}],
    "nodes": [{"name": "y", "op": "relu", "inputs": ["x"]}], "outputs": ["y"]}})");
  for (const std::string to : {"numpy", "torch"}) {
    const Ran printed = fusesmith_command({"export", file, "--to=" + to});
    EXPECT_EQ(printed.code, kUsage);
    EXPECT_TRUE(is_one_line(printed.err)) << printed.err;
    EXPECT_EQ(printed.out, "");
    const std::string output = folder / ("to_" + to);
    const Ran written = fusesmith_command({"export", file, "--to=" + to, "--output=" + output + ".py"});
    EXPECT_EQ(written.code, kClean) << written.err;
    EXPECT_EQ(written.out, output + ".py\n" + output + ".npz\n");
    EXPECT_LT(read_file(output + ".py")->size(), 10000U);
  }
  EXPECT_THAT(names_in_export(folder),
              ElementsAre("large.json", "to_numpy.npz", "to_numpy.py", "to_torch.npz", "to_torch.py"));
}

TEST(ExportCommand, AScriptDoesNotHideAModuleThatItImports) {
  const TemporaryFolder folder;
  const std::string file = small_case(folder);
  for (const auto& [to, name] :
       {std::pair("torch", "torch.py"), std::pair("numpy", "math.py"), std::pair("onnx", "onnx.onnx")}) {
    const Ran ran =
        fusesmith_command({"export", file, std::string("--to=") + to, "--output=" + (folder / name)});
    EXPECT_EQ(ran.code, kUsage) << name;
    EXPECT_THAT(ran.err, HasSubstr("choose another name")) << name;
    EXPECT_FALSE(std::filesystem::exists(folder / name)) << name;
  }
}

TEST(ExportCommand, CannotWrite) {
  const TemporaryFolder folder;
  const std::string file = small_case(folder);
  const Ran ran = fusesmith_command({"export", file, "--to=dot", "--output=" + (folder / "none/x.dot")});
  EXPECT_EQ(ran.code, kCannotWrite);
  EXPECT_TRUE(is_one_line(ran.err)) << ran.err;
  EXPECT_THAT(names_in_export(folder), ElementsAre("case.json"));
}

TEST(ShowCommand, PrintsCodeAndValues) {
  const TemporaryFolder folder;
  const std::string file = small_case(folder);
  EXPECT_EQ(fusesmith_command({"show", file}).out,
            "# seed 0\n"
            "x = normal(mean=0, stddev=1)  # bf16[2,3]\n"
            "p_q = softmax(x, axis=-1)     # bf16[2,3]\n"
            "return p_q\n");
  EXPECT_THAT(fusesmith_command({"show", file, "--values"}).out, HasSubstr("# bf16[2,3]: "));
  const auto json = nlohmann::json::parse(fusesmith_command({"show", file, "--values", "--json"}).out);
  EXPECT_EQ(json["lines"][1]["code"], "p_q = softmax(x, axis=-1)");
  EXPECT_EQ(json["lines"][1]["type"], "bf16[2,3]");
  EXPECT_EQ(json["values"].size(), 1U);
}

}  // namespace
}  // namespace fusesmith::fuzz
