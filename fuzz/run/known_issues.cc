#include "fuzz/run/known_issues.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "backends/remote/worker_names.h"
#include "fuzz/base/files.h"
#include "fuzz/base/wildcard.h"
#include "fuzz/run/backends.h"
#include "graph/json_place.h"
#include "graph/json_strict.h"
#include "graph/op.h"

namespace fusesmith::fuzz {

namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string_view>;

constexpr size_t kMostIssues = 10000, kLongest = 1000;  // characters of a pattern
constexpr std::string_view kNoDtype = "any";            // as in signatures

constexpr JsonKey kFileKeys[] = {{"fusesmith_known", true}, {"issues", true}, {"comment", false}};
constexpr JsonKey kIssueKeys[] = {
    {"name", true},      {"signature", false}, {"verdict", false}, {"backend", false}, {"component", false},
    {"dtype", false},    {"symptom", false},   {"reason", false},  {"ops", false},     {"layouts", false},
    {"versions", false}, {"case", false},      {"filed", false},   {"why", false}};

// Verdicts that a finding may have.
constexpr std::array kVerdicts = {
    VerdictClass::precision_policy, VerdictClass::timeout,     VerdictClass::crash,
    VerdictClass::nondeterministic, VerdictClass::exceptional, VerdictClass::defect};

bool is_wildcard(char c) { return c == '*' || c == '?'; }

bool is_of_signatures(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
         c == '.';
}

bool matches_all(const std::string& pattern) { return pattern.find_first_not_of('*') == std::string::npos; }

std::string read_text(const Place& issue, std::string_view key) {
  std::string text;
  const auto place = issue.member(key);
  if (!place) return text;
  place->read(text);
  const bool printable = std::none_of(text.begin(), text.end(), [](char c) { return c >= 0 && c < ' '; });
  if (text.empty() || text.size() > kLongest || !printable)
    place->fail("expected one line of 1 to " + std::to_string(kLongest) + " characters");
  return text;
}

// A pattern that no signature can match would never be noticed.
std::string read_signature(const Place& issue) {
  std::string text = read_text(issue, "signature");
  const auto wrong =
      std::find_if(text.begin(), text.end(), [](char c) { return !is_wildcard(c) && !is_of_signatures(c); });
  if (wrong != text.end())
    issue.at("signature")
        .fail("no signature contains '" + shortened(std::string(1, *wrong)) +
              "': expected letters, digits, '_', '-', '.', and the wildcards '*' and '?'");
  return text;
}

void read_words(const Place& place, KnownIssue& issue) {
  Names verdicts, dtypes, symptoms;
  for (const VerdictClass verdict : kVerdicts) verdicts.push_back(name(verdict));
  for (const Dtype dtype : kDtypes) dtypes.push_back(name(dtype));
  dtypes.push_back(kNoDtype);
  // Not the first, which is none, nor the last: a device that fails ends the campaign, whatever is known.
  for (size_t i = 1; i < static_cast<size_t>(Symptom::device_error); ++i)
    symptoms.push_back(kSymptomNames[i]);
  if (const auto at = place.member("verdict"))
    issue.verdict = parse_verdict(verdicts[at->read_choice("verdict", verdicts)]);
  if (const auto at = place.member("dtype")) issue.dtype = dtypes[at->read_choice("dtype", dtypes)];
  if (const auto at = place.member("symptom"))
    issue.symptom = static_cast<Symptom>(1 + at->read_choice("symptom", symptoms));
}

// An op that no graph can have would never be noticed.
std::vector<std::string> read_ops(const Place& issue) {
  std::vector<std::string> ops;
  const auto place = issue.member("ops");
  if (!place) return ops;
  Names names;
  for_each_op([&]<class T>(std::type_identity<T>) { names.push_back(T::info.name); });
  for (const Place& at : place->elements(names.size())) ops.emplace_back(names[at.read_choice("op", names)]);
  if (place->ok() && ops.empty()) place->fail("expected the name of an op");
  return ops;
}

std::vector<graph::LayoutClass> read_layouts(const Place& issue) {
  std::vector<graph::LayoutClass> layouts;
  const auto place = issue.member("layouts");
  if (!place) return layouts;
  const Names names(graph::kLayoutClasses.begin(), graph::kLayoutClasses.end());
  for (const Place& at : place->elements(names.size()))
    layouts.push_back(static_cast<graph::LayoutClass>(at.read_choice("layout", names)));
  if (place->ok() && layouts.empty()) place->fail("expected a kind of layout");
  return layouts;
}

KnownIssue read_issue(const Place& place) {
  KnownIssue issue;
  if (!place.has_keys(kIssueKeys)) return issue;
  issue.name = read_text(place, "name");
  issue.signature = read_signature(place);
  issue.backend = read_text(place, "backend");
  issue.component = read_text(place, "component");
  read_words(place, issue);
  issue.reason = read_text(place, "reason");
  issue.ops = read_ops(place);
  issue.layouts = read_layouts(place);
  if (const auto versions = place.member("versions")) {
    for (const auto& [library, at] : versions->members()) {
      std::string text;
      at.read(text);
      const auto range = VersionRange::parse(text);
      if (range)
        issue.versions.emplace_back(library, *range);
      else
        at.fail(range.problem());
    }
  }
  issue.case_file = read_text(place, "case");
  issue.filed = read_text(place, "filed");
  issue.why = read_text(place, "why");
  if (issue.filed.empty() && issue.why.empty())
    place.fail("expected the key \"filed\" or \"why\"; both are missing");
  const bool anything = matches_all(issue.signature) && matches_all(issue.backend) &&
                        matches_all(issue.component) && !issue.verdict && issue.dtype.empty() &&
                        !issue.symptom;
  if (anything)
    place.fail(
        "expected \"signature\", \"verdict\", \"backend\", \"component\", \"dtype\" or \"symptom\" to name "
        "the failures; this issue would match every one");
  return issue;
}

std::vector<KnownIssue> read_issues(const Place& file) {
  std::vector<KnownIssue> issues;
  if (!file.has_keys(kFileKeys)) return issues;
  if (const auto comment = file.member("comment")) {
    std::string any;
    comment->read(any);
  }
  int64_t format = 0;
  file.at("fusesmith_known").read(format);
  if (format != 1) file.at("fusesmith_known").fail_expected("1, the version of the format");
  for (const Place& place : file.at("issues").elements(kMostIssues)) {
    issues.push_back(read_issue(place));
    const auto same = std::find_if(issues.begin(), issues.end() - 1,
                                   [&](const KnownIssue& other) { return other.name == issues.back().name; });
    if (same != issues.end() - 1)
      place.fail("expected every name once, got \"" + shortened(issues.back().name) + "\" twice");
  }
  return issues;
}

bool has_versions(const KnownIssue& issue, const std::string& backend_name) {
  if (issue.versions.empty()) return true;
  const Backend* backend = find_backend(backend_name);
  Versions told = backend ? backend->versions() : Versions{};
  told["fusesmith"] = FUSESMITH_VERSION;
  return std::all_of(issue.versions.begin(), issue.versions.end(), [&](const auto& entry) {
    const auto version = told.find(entry.first);
    return version != told.end() && entry.second.contains(version->second);
  });
}

bool fits(const std::string& pattern, const std::string& text) {
  return pattern.empty() || matches(pattern, text);
}

bool fits(const KnownIssue& issue, const CaseTraits& traits) {
  const bool has_ops = std::all_of(issue.ops.begin(), issue.ops.end(), [&](const std::string& op) {
    return std::find(traits.ops.begin(), traits.ops.end(), op) != traits.ops.end();
  });
  const auto& layouts = traits.layouts;
  return has_ops &&
         (issue.layouts.empty() || std::find_first_of(layouts.begin(), layouts.end(), issue.layouts.begin(),
                                                      issue.layouts.end()) != layouts.end());
}

bool covers(const KnownIssue& issue, const Signature& signature) {
  const std::string_view dtype = signature.dtype ? name(*signature.dtype) : kNoDtype;
  return fits(issue.signature, to_string(signature)) && fits(issue.backend, signature.backend) &&
         fits(issue.component, signature.component) &&
         (!issue.verdict || *issue.verdict == signature.verdict) &&
         (issue.dtype.empty() || issue.dtype == dtype) &&
         (!issue.symptom || *issue.symptom == signature.symptom) && has_versions(issue, signature.backend);
}

// Whether the issue is about failures of a backend of this name.
bool is_about(const KnownIssue& issue, const std::string& backend) {
  const bool named =
      issue.signature.empty() || std::any_of(kVerdicts.begin(), kVerdicts.end(), [&](VerdictClass verdict) {
        const std::string begin = std::string(name(verdict)) + "-" + signature_word(backend);
        return overlap(issue.signature, begin + "-*");
      });
  return named && fits(issue.backend, backend);
}

}  // namespace

bool KnownIssue::is_of(std::string_view failing) const { return is_about(*this, std::string(failing)); }

std::string KnownIssue::text() const { return name + " (" + (filed.empty() ? why : filed) + ")"; }

Result<KnownIssues> KnownIssues::read(const std::string& path) {
  const auto text = read_file(path);
  if (!text) return Problem{text.problem()};
  auto tree = parse_strict_json(*text);
  if (!tree) return Problem{path + ": " + tree.problem()};
  std::optional<Problem> problem;
  KnownIssues known;
  known.issues_ = read_issues(Place(*tree, problem));
  if (problem) return Problem{path + ": " + problem->what};
  known.folder_ = fs::path(path).parent_path().string();
  return known;
}

CaseTraits CaseTraits::of(const graph::Graph& graph) {
  CaseTraits traits;
  for (const Node& node : graph.nodes()) traits.ops.push_back(graph::name(node.op));
  for (graph::ValueId v = 0; v < graph.source_count(); ++v) {
    for (const graph::LayoutClass one : graph::classes_of(graph.layout(v), graph.type(v)))
      traits.layouts.push_back(one);
  }
  return traits;
}

const KnownIssue* KnownIssues::find(const Signature& signature, const CaseTraits& traits,
                                    const std::string& reason) const {
  const auto found = std::find_if(issues_.begin(), issues_.end(), [&](const KnownIssue& issue) {
    return covers(issue, signature) && fits(issue.reason, reason) && fits(issue, traits);
  });
  return found == issues_.end() ? nullptr : &*found;
}

const KnownIssue* KnownIssues::find(std::string_view name) const {
  const auto found = std::find_if(issues_.begin(), issues_.end(),
                                  [&](const KnownIssue& issue) { return issue.name == name; });
  return found == issues_.end() ? nullptr : &*found;
}

std::vector<const KnownIssue*> KnownIssues::of_case(const std::string& file,
                                                    std::span<const std::string> backends) const {
  const auto is_file = [&](const std::string& wanted) {
    if (wanted.find('/') == std::string::npos) return fs::path(file).filename() == wanted;
    std::error_code failed;
    const fs::path one = fs::weakly_canonical(fs::path(folder_) / wanted, failed);
    return !failed && one == fs::weakly_canonical(file, failed) && !failed;
  };
  std::vector<const KnownIssue*> found;
  for (const KnownIssue& issue : issues_) {
    const bool of_these = std::any_of(backends.begin(), backends.end(), [&](const std::string& backend) {
      return is_about(issue, backend) && has_versions(issue, backend);
    });
    if (!issue.case_file.empty() && of_these && is_file(issue.case_file)) found.push_back(&issue);
  }
  return found;
}

const KnownIssues& shipped_known_issues() {
  static const KnownIssues issues = [] {
    auto known = KnownIssues::read((fs::path(backends::workers_folder()) / "known.json").string());
    return known ? std::move(*known) : KnownIssues();
  }();
  return issues;
}

}  // namespace fusesmith::fuzz
