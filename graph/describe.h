// Descriptions derived from the declarations of ops, fills, policy and expectations: the JSON Schema of case
// files, the tables in docs/, and what `fusesmith list ops --json` prints. Tests keep the committed files
// equal to these.
#pragma once

#include <string>

namespace fusesmith::graph {

// docs/case.schema.json: JSON Schema 2020-12. Looser than the reader in what a schema cannot say: shapes,
// names, integers written as fractions.
std::string case_schema();

// docs/ops.md: one row per op.
std::string op_table_markdown();
// The rows of docs/case.md's table of fills, with their header.
std::string fill_table_markdown();

// [{"name", "doc", "inputs": [min, max], "class", "attributes": [{"name", "type", "range" | "choices" |
// "meaning", "default", "required"}]}]; a required attribute has no default.
std::string ops_json();

}  // namespace fusesmith::graph
