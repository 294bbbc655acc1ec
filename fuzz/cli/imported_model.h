// A model of ONNX or torch.export as cases: what `import` writes and `check` judges. A Python script reads it
// (python/workers/import/import_model.py); what it makes is read as any case file.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "fuzz/base/flags.h"
#include "fuzz/base/table.h"
#include "fuzz/run/judging.h"
#include "fuzz/run/output_data.h"
#include "graph/case.h"

namespace fusesmith::fuzz {

// How a model is read, as flags.
struct ModelFlags {
  std::vector<std::string> dim;  // NAME=SIZE
  int64_t split = 0;             // nodes of a case; 0: one case
  std::string data;              // "drawn", or a file of inputs; empty: those of the model
  double timeout = 300;          // seconds
  int64_t rss_limit_mb = 4096;

  // Appends its rows. `time`: the name of the flag for the time limit.
  void add_to(std::vector<Flag>& flags, std::string_view time);
};

struct ImportedCase {
  std::string name;  // of the model, and the number of the case where there are several
  Case test_case;
};

struct ImportedModel {
  std::vector<ImportedCase> cases;
  // What the script says: `unmapped` (operators without counterpart), `approximated` (constants and results
  // that became random data) and `summary` (counts of operators).
  nlohmann::json facts;
  std::optional<CannotRun> problem = {};  // why there is nothing else here

  int64_t nodes() const;  // of all cases
};

// Reads the model. `problem` has exit code 1, 70 or 71.
ImportedModel import_model(const std::string& file, const ModelFlags& flags);

// "615 operators: 540 became nodes, 60 were computed by the import, 15 have no counterpart (2.7 % of those
// that depend on inputs)"; empty where the script gives no counts.
std::string operators_text(const ImportedModel& model);
// One row for each kind of operator without counterpart: how many, why, and where the first one is.
Table unmapped_table(const ImportedModel& model);
// A line that says how many constants and results became random data; empty if none did.
std::string approximated_text(const ImportedModel& model);

}  // namespace fusesmith::fuzz
