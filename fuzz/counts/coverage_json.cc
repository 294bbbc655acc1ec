#include "fuzz/counts/coverage_json.h"

#include <map>
#include <nlohmann/json.hpp>

#include "fuzz/counts/coverage_gaps.h"

namespace fusesmith::fuzz {

namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kMaxCount = int64_t{1} << 53;

// operator[] of a null makes it an object first, and leaves what no destructor accepts if memory runs out.
Json& member_of(Json& object, std::string_view name) {
  if (object.is_null()) object = Json::object();
  return object[std::string(name)];
}

Json gaps_json(const CoverageGaps& gaps) {
  Json rare = Json::object();
  for (const RareRewrite& rewrite : gaps.rare)
    member_of(member_of(rare, rewrite.pattern), name(rewrite.dtype)) = rewrite.matched;
  return {
      {"wanted_matches", gaps.wanted},
      {"matched", rare},
      {"guards", gaps.guards},
      {"ops", gaps.ops},
      {"op_pairs",
       {{"missing", gaps.pairs_missing}, {"possible", gaps.pairs_possible}, {"first", gaps.first_pairs}}}};
}

// Cells by their table and words.
using Known = std::map<std::string, size_t>;

std::string with_word(const std::string& path, std::string_view word) {
  return path + "/" + std::string(word);
}

const Known& known_cells() {
  static const Known known = [] {
    Known cells;
    for (size_t i = 0; i < coverage_cells().size(); ++i) {
      std::string path(coverage_cells()[i].table);
      for (std::string_view word : coverage_cells()[i].words) path = with_word(path, word);
      cells[path] = i;
    }
    return cells;
  }();
  return known;
}

void read_table(const Place& place, const std::string& path, size_t depth, Coverage& coverage) {
  for (const auto& [word, entry] : place.members()) {
    const std::string here = with_word(path, word);
    if (depth > 1) {
      read_table(entry, here, depth - 1, coverage);
      continue;
    }
    int64_t count = 0;
    read_count(entry, count);
    const auto cell = known_cells().find(here);
    if (cell != known_cells().end()) coverage.set(cell->second, count);
  }
}

}  // namespace

void read_count(const Place& place, int64_t& count) {
  place.read(count);
  if (count < 0 || count > kMaxCount) place.fail_expected("a count between 0 and 2^53");
}

void write_coverage(Json& object, const Coverage& coverage, int64_t cases) {
  for (const CoverageTable& table : kCoverageTables) object[std::string(table.name)] = Json::object();
  const auto& cells = coverage_cells();
  for (size_t i = 0; i < cells.size(); ++i) {
    if (coverage.count(i) == 0) continue;
    Json* place = &object[std::string(cells[i].table)];
    for (std::string_view word : cells[i].words) place = &member_of(*place, word);
    *place = coverage.count(i);
  }
  object["holes"] = gaps_json(coverage_gaps(coverage, cases));
}

void read_coverage(const Place& object, Coverage& coverage) {
  for (const CoverageTable& table : kCoverageTables) {
    if (const auto place = object.member(table.name))
      read_table(*place, std::string(table.name), table.depth, coverage);
  }
}

}  // namespace fusesmith::fuzz
