// Known issues: a file of failures that are filed or explained already (docs/known.md). A case that fails by
// one of them is no finding.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fuzz/run/version_range.h"
#include "graph/graph.h"
#include "oracle/signature.h"

namespace fusesmith::fuzz {

struct KnownIssue {
  std::string name;
  // What a failure's signature must have; patterns (wildcard.h) in the first three. Empty: anything.
  std::string signature, backend, component;
  std::string reason;            // a pattern for what the backend said; empty: anything
  std::vector<std::string> ops;  // names, each of which the graph of the case must have
  // An input or state of the case must have one of them; empty: anything.
  std::vector<graph::LayoutClass> layouts;
  std::optional<VerdictClass> verdict;
  std::string dtype;  // "any": of a failure of no dtype
  std::optional<Symptom> symptom;
  std::vector<std::pair<std::string, VersionRange>> versions;  // of libraries; each must be in its range
  std::string filed;                                           // where
  std::string why;                                             // it is known, in one sentence
  std::string case_file;                                       // that fails by it

  // Whether it is about failures of a backend of this name, whatever the versions of its libraries.
  bool is_of(std::string_view failing) const;
  // "NAME (where it is filed, else why it is known)".
  std::string text() const;
};

// What issues may ask of the case that fails.
struct CaseTraits {
  std::vector<std::string_view> ops = {};        // names
  std::vector<graph::LayoutClass> layouts = {};  // of its inputs and states

  static CaseTraits of(const graph::Graph& graph);
};

class KnownIssues {
 public:
  // The problem names the file and the key.
  static Result<KnownIssues> read(const std::string& path);

  std::span<const KnownIssue> all() const { return issues_; }
  // The first issue that the failure of a case belongs to, or null. `reason`: what the backend said, in one
  // line; empty where it ran. An issue with versions applies only where the backend tells the version of each
  // of these libraries; "fusesmith" is told of every backend.
  const KnownIssue* find(const Signature& signature, const CaseTraits& traits,
                         const std::string& reason = "") const;
  // Null where there is none of that name.
  const KnownIssue* find(std::string_view name) const;
  // The issues by which this case file fails, if it is judged with these backends.
  std::vector<const KnownIssue*> of_case(const std::string& file,
                                         std::span<const std::string> backends) const;

 private:
  std::vector<KnownIssue> issues_;
  std::string folder_;  // of the file: paths of cases are relative to it
};

// Of the file that is installed with the workers: what is known of the libraries that these drive.
const KnownIssues& shipped_known_issues();

}  // namespace fusesmith::fuzz
