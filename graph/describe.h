// Descriptions derived from the declarations of ops, fills, policy and expectations: the JSON Schema of case
// files, the tables in docs/, and what `fusesmith list ops --json` prints. Tests keep the committed files
// equal to these.
#pragma once

#include <string>

namespace fusesmith::graph {

// docs/case.schema.json: JSON Schema 2020-12. It is looser than the reader where a schema cannot express a
// rule: shapes, names, integers written as fractions.
std::string case_schema();

// docs/ops.md: one row per op.
std::string op_table_markdown();
// The rows of docs/case.md's table of fills, with their header.
std::string fill_table_markdown();

// [{"name", "doc", "inputs": [min, max], "class", "attributes": [{"name", "type", "range" | "choices" |
// "meaning", "default", "required"}]}]; a required attribute has no default.
std::string ops_json();

// [{"name", "bytes", "precision", "min_exponent", "max_finite"}], as DtypeInfo has them.
std::string dtypes_json();

// python/fusesmith/vocabulary.json: {"dtypes": as dtypes_json(), "spellings": {OP: {LIBRARY: NAME}}}. The
// workers read it, which cannot ask the program.
std::string vocabulary_json();

}  // namespace fusesmith::graph
