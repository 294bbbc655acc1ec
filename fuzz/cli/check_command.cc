// The `check` command: imports models, judges them on two backends, and reports what is wrong.
#include <atomic>
#include <filesystem>
#include <future>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "fuzz/base/clock.h"
#include "fuzz/base/color.h"
#include "fuzz/base/files.h"
#include "fuzz/base/interrupt.h"
#include "fuzz/base/table.h"
#include "fuzz/cli/command.h"
#include "fuzz/cli/imported_model.h"
#include "fuzz/cli/progress.h"
#include "fuzz/findings/finding.h"
#include "fuzz/findings/finding_record.h"
#include "fuzz/report/resolution_text.h"
#include "fuzz/report/verdict_text.h"
#include "fuzz/run/case_files.h"

namespace fusesmith::fuzz {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kCheckName = "check";

struct CheckFlags {
  JudgeFlags judge;
  ModelFlags model;
  std::string output = "fusesmith-check";
  int64_t minimize = 1;
  bool json = false;
  bool wide = false;
  std::vector<std::string> files;

  FlagTable table();
};

// A case of a model, judged.
struct CheckedPart {
  std::string file;
  int64_t nodes = 0, regions = 0;
  Verdict verdict = {};
  OutputData data = {};
  std::string report = {};  // file; empty: no finding
  double seconds = 0;
};

struct CheckedModel {
  std::string file;
  ImportedModel imported = {};
  std::vector<CheckedPart> parts = {};
  std::optional<CannotRun> problem = {};  // why it was not judged to its end

  VerdictClass verdict() const {
    VerdictClass worst = VerdictClass::identical;
    for (const CheckedPart& part : parts) worst = std::max(worst, part.verdict.verdict);
    return worst;
  }
};

std::string stem_of(const std::string& file) { return std::filesystem::path(file).stem().string(); }

// Of the candidate's regions, the one with the largest error as a share of its bound; null if there is none.
const RegionVerdict* worst_region(const BackendVerdict& candidate) {
  const RegionVerdict* worst = nullptr;
  for (const RegionVerdict& region : candidate.regions) {
    if (!worst || region.worst_share > worst->worst_share) worst = &region;
  }
  return worst;
}

// One call of the command.
class ModelCheck {
 public:
  ModelCheck(const CheckFlags& flags, Console& console)
      : flags_(flags), console_(console), judging_(flags.judge) {
    Signals::finish_first();
    judging_.options.stop = Signals::interrupted;
  }

  int run() {
    std::set<std::string> names;
    for (const std::string& file : flags_.files) {
      if (!names.insert(stem_of(file)).second)
        return fail(console_, kCheckName,
                    file + ": another model is named " + stem_of(file) + ", and its files would be replaced");
    }
    if (auto problem = make_folder(flags_.output))
      return fail(console_, kCheckName, problem->what, kCannotWrite);
    for (const std::string& file : flags_.files) {
      if (device_failed_ || Signals::interrupted()) break;
      take(checked(file));
    }
    if (flags_.json)
      console_.out << Json{{"models", std::move(models_)}}.dump(2, ' ', false, Json::error_handler_t::replace)
                   << "\n";
    if (!device_failed_ && Signals::interrupted())
      return fail(console_, kCheckName, "interrupted after " + counted(judged_, "case"), kInterrupted);
    return code_;
  }

 private:
  // In a thread of its own, so that the terminal shows what it is at.
  CheckedModel checked(const std::string& file) {
    auto job = std::async(std::launch::async, [&] { return check(file); });
    const auto start = Clock::now();
    show_progress(
        console_, [&](auto time) { return job.wait_for(time) == std::future_status::ready; },
        [&] {
          const int64_t part = part_, parts = parts_;
          return file + ": " +
                 (reporting_  ? "minimizing what failed"
                  : parts > 0 ? "judging " + std::to_string(part) + " of " + counted(parts, "case")
                              : "reading the model") +
                 ", " + std::to_string(static_cast<int64_t>(seconds_since(start))) + " s";
        });
    return job.get();
  }

  CheckedModel check(const std::string& file) {
    part_ = parts_ = 0;
    CheckedModel model{file, import_model(file, flags_.model)};
    model.problem = model.imported.problem;
    if (!model.problem) model.problem = whole_function_problem(model.imported);
    if (model.problem) return model;
    parts_ = static_cast<int64_t>(model.imported.cases.size());
    for (const ImportedCase& one : model.imported.cases) {
      ++part_;
      if (!check_part(one, model) || model.problem) break;
    }
    return model;
  }

  // Whether the candidate is a function, which has the weights itself: of a case with other weights or fewer
  // nodes it would compute another model.
  bool is_whole_function() const { return flags_.judge.candidate.starts_with("python:"); }

  // A function computes the model from its inputs alone. What has no counterpart is data of the case, and the
  // function's value may differ from that where floats are rounded.
  std::optional<CannotRun> whole_function_problem(const ImportedModel& imported) const {
    const auto summary = imported.facts.find("summary");
    if (!is_whole_function() || summary == imported.facts.end()) return {};
    const auto inputs = summary->at("made_inputs").get<int64_t>();
    if (inputs == 0) return {};
    return CannotRun{counted(inputs, "operator") +
                         " without counterpart, so that a function of the "
                         "whole model cannot be judged; `fusesmith import` lists them",
                     kUsage};
  }

  // False where it was interrupted.
  bool check_part(const ImportedCase& one, CheckedModel& model) {
    const auto start = Clock::now();
    const auto path = std::filesystem::path(flags_.output) / (one.name + ".json");
    CheckedPart part{path.string(), static_cast<int64_t>(one.test_case.graph.nodes().size())};
    if (auto problem = write_case_file(path, one.test_case)) {
      model.problem = CannotRun{problem->what, kCannotWrite};
      return true;
    }
    try {
      CaseRun run = judging_.run(one.test_case, [&](CaseRun& judged) {
        if (judged.baseline) part.data = output_data(one.test_case.graph, judged.baseline_trace);
      });
      part.verdict = std::move(run.verdict);
      part.regions = static_cast<int64_t>(part.verdict.candidate.regions.size());
      part.seconds = seconds_since(start);
      if (part.verdict.finding) report(one, part, model);
    } catch (const DeviceError& error) {
      device_failed_ = true;
      model.problem = CannotRun{error.what(), kDeviceUnhealthy};
    } catch (const Interrupted&) {
      return false;
    }
    model.parts.push_back(std::move(part));
    return true;
  }

  // Writes findings/NAME/ as a campaign writes the folder of a finding.
  void report(const ImportedCase& one, CheckedPart& part, CheckedModel& model) {
    reporting_ = true;
    const WorkPath folder = WorkPath(flags_.output) / "findings" / one.name;
    const std::string signature = part.verdict.signature_text();
    FindingOptions options;
    options.judging = without_issue_of(judging_, signature);
    options.flags = flags_.judge.beside_case().text();
    options.program = console_.program;
    options.commit = console_.commit;
    options.minimize = flags_.minimize != 0 && !is_whole_function();
    options.stop = Signals::interrupted;
    auto problem = make_folder(std::filesystem::path(flags_.output) / "findings" / one.name);
    const Case kept = with_options(one.test_case, judging_.options);
    if (!problem) problem = write_file(folder / kCaseFile, to_json(kept));
    if (!problem) problem = finish_finding(folder, signature, options);
    if (problem) model.problem = CannotRun{problem->what, kCannotWrite};
    part.report = (folder / "report.md").string();
    reporting_ = false;
  }

  void take(const CheckedModel& model) {
    judged_ += static_cast<int64_t>(model.parts.size());
    for (const CheckedPart& part : model.parts) {
      const VerdictClass found = part.verdict.verdict;
      if (part.verdict.finding)
        code_ = more_severe(code_, found == VerdictClass::timeout ? kTimeout : kFindings);
      if (is_shortage(found)) code_ = more_severe(code_, code_of_shortage(found));
    }
    if (model.problem)
      code_ = more_severe(
          code_, fail(console_, kCheckName, model.file + ": " + model.problem->why, model.problem->code));
    if (flags_.json)
      models_.push_back(json_of(model));
    else if (!model.parts.empty())
      print(model);
  }

  void print(const CheckedModel& model) {
    Table table({"case", "nodes", "regions", "verdict", "worst/bound", "in", "resolution", "seconds"});
    OutputData data;
    double seconds = 0;
    bool finding = false;
    for (const CheckedPart& part : model.parts) {
      const RegionVerdict* worst = worst_region(part.verdict.candidate);
      const RegionVerdict* coarsest = part.verdict.candidate.coarsest();
      table.add({part.file, std::to_string(part.nodes), std::to_string(part.regions),
                 std::string(name(part.verdict.verdict)), worst ? short_number(worst->worst_share) : "",
                 worst ? worst->name : "", coarsest ? percent_text(coarsest->resolution.median) : "",
                 short_number(part.seconds)});
      data += part.data;
      seconds += part.seconds;
      finding |= part.verdict.finding;
    }
    console_.out << (finding ? Color::red : Color::green) << model.file << ": " << name(model.verdict())
                 << Color::plain << ", " << counted(model.imported.nodes(), "node") << " in "
                 << short_number(seconds) << " s\n";
    for (const std::string& line :
         {operators_text(model.imported), approximated_text(model.imported), data.text()}) {
      if (!line.empty()) console_.out << "  " << line << "\n";
    }
    console_.out << table.text(2, flags_.wide ? kAllColumns : kColumns);
    for (const CheckedPart& part : model.parts) {
      const std::string known = known_text(part.verdict);
      if (!part.verdict.finding && part.verdict.verdict < VerdictClass::inconclusive && known.empty())
        continue;
      console_.out << "  " << sentence(part.verdict) << known << "\n";
      if (!part.report.empty()) console_.out << "  FAILED: " << part.report << "\n";
    }
    console_.out << std::flush;
  }

  static Json json_of(const CheckedPart& part) {
    const RegionVerdict* worst = worst_region(part.verdict.candidate);
    const RegionVerdict* coarsest = part.verdict.candidate.coarsest();
    Json json = {{"file", part.file},
                 {"nodes", part.nodes},
                 {"regions", part.regions},
                 {"verdict", name(part.verdict.verdict)},
                 {"finding", part.verdict.finding},
                 {"signature", part.verdict.signature_text()},
                 {"reason", sentence(part.verdict)}};
    json["worst_share"] = worst ? Json(worst->worst_share) : Json();
    json["worst_region"] = worst ? Json(worst->name) : Json();
    json["resolution"] = coarsest ? Json(coarsest->resolution.median) : Json();
    json["outputs"] = to_json(part.data);
    json["report"] = part.report.empty() ? Json() : Json(part.report);
    json["seconds"] = part.seconds;
    return json;
  }

  static Json json_of(const CheckedModel& model) {
    Json json = {{"file", model.file}, {"problem", model.problem ? Json(model.problem->why) : Json()}};
    if (model.imported.problem) return json;
    json["verdict"] = name(model.verdict());
    json["nodes"] = model.imported.nodes();
    const auto& facts = model.imported.facts;
    if (facts.contains("summary")) json["summary"] = facts["summary"];
    json["unmapped"] = Json::array();
    for (const auto& entry : facts.at("unmapped"))
      json["unmapped"].push_back({{"op", entry["op"]}, {"count", entry["count"]}, {"why", entry["why"]}});
    json["approximated"] = facts.at("approximated").size();
    json["cases"] = Json::array();
    for (const CheckedPart& part : model.parts) json["cases"].push_back(json_of(part));
    return json;
  }

  const CheckFlags& flags_;
  Console& console_;
  Judging judging_;
  Json models_ = Json::array();
  std::atomic<int64_t> part_ = 0, parts_ = 0;  // what is judged now
  std::atomic<bool> reporting_ = false;
  int64_t judged_ = 0;
  int code_ = kClean;
  bool device_failed_ = false;
};

FlagTable CheckFlags::table() {
  FlagTable table;
  table.command = kCheckName;
  table.doc = "judge a model of ONNX or torch.export on two backends.";
  table.details =
      "Imports each MODEL as `fusesmith import` does, runs it on the data that it was exported with, and "
      "judges every region of the candidate. Prints for each model its verdict, how many of its operators "
      "were judged, and a table with a row for each case: the worst error as a share of its bound, and the "
      "resolution, which is the change of the results that would have been found. The cases are written to "
      "--output, where `replay`, `explain` and `export` can use them. For a case that fails, "
      "findings/CASE/ in that folder has report.md and the minimized case min.json.\n"
      "\n"
      "The script that reads a model needs the package torch or onnx (docs/export.md); FUSESMITH_PYTHON "
      "names "
      "the interpreter that has it.\n"
      "\n"
      "Exit codes: 0 no finding; 77 a finding; else 70 a worker or the script did not answer in time; else "
      "71 "
      "memory ran out; else 75 the machine was too busy for a worker to answer; else 1 a model cannot be "
      "read "
      "(the other models are still judged). 72 interrupted, 73 a file cannot be written, 76 the GPU is "
      "missing, or it failed.";
  table.positional = {"MODEL.onnx|PROGRAM.pt2...", &files, 1};
  judge.add_to(table.flags);
  model.add_to(table.flags, "import_timeout");
  table.flags.push_back({.name = "output",
                         .target = &output,
                         .value = "DIR",
                         .doc = "The folder for the cases and reports, which is created if needed; files of "
                                "the same name are replaced."});
  table.flags.push_back({.name = "minimize",
                         .target = &minimize,
                         .value = "0|1",
                         .doc = "Minimize a case that fails.",
                         .hi = 1});
  table.flags.push_back(wide_flag(wide));
  table.flags.push_back({.name = "json",
                         .target = &json,
                         .doc = "Print {\"models\": [...]} on standard output and nothing else there."});
  table.examples = {
      {"check model.onnx --dim=batch=1,sequence=64", "Judge a model on the default pair of backends."},
      {"check model.pt2 --baseline=cpu --candidate=torch:inductor", "Judge what a compiler makes of it."},
  };
  return table;
}

// Exit code: 0, 1, 70, 71, 72, 73, 75, 76, 77.
int run(CheckFlags& flags, Console& console) {
  if (const auto why = flags.judge.cannot_run()) return fail(console, kCheckName, why->why, why->code);
  if (const auto problem = flags.judge.read_known()) return fail(console, kCheckName, problem->what);
  return ModelCheck(flags, console).run();
}

}  // namespace

Command check_command() { return command_of<CheckFlags>(); }

}  // namespace fusesmith::fuzz
