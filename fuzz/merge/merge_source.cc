#include "fuzz/merge/merge_source.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>

#include "fuzz/campaign/campaign.h"
#include "fuzz/findings/finding_record.h"
#include "fuzz/run/case_files.h"
#include "graph/json_strict.h"
#include "graph/philox.h"

namespace fusesmith::fuzz {

namespace fs = std::filesystem;
using PlainJson = nlohmann::json;

namespace {

// A name that stays in its folder and is not hidden: names come from files of others.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name[0] != '.' && name.find('/') == std::string::npos && name.size() < 256;
}

PlainJson read_object(const WorkPath& file) {
  const auto text = read_file(file);
  const PlainJson json = text ? PlainJson(parse_record(*text)) : PlainJson();
  return json.is_object() ? json : PlainJson::object();
}

std::string text_of(const PlainJson& object, const std::string& key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

// Names in the folder as it is listed; none where there is no such folder.
std::set<std::string> listed(const WorkPath& folder, const ListFolder& list,
                             std::vector<std::string>& problems) {
  std::set<std::string> names;
  if (kind_of(folder) == FileKind::none) return names;
  const auto entries = list(folder);
  if (!entries) problems.push_back(entries.problem());
  for (const std::string& entry : entries ? *entries : std::vector<std::string>()) {
    if (is_plain_name(entry)) names.insert(entry);
  }
  return names;
}

// Files that lie between the folders are not ours.
std::set<std::string> listed_folders(const WorkPath& folder, const ListFolder& list,
                                     std::vector<std::string>& problems) {
  std::set<std::string> names = listed(folder, list, problems);
  std::erase_if(names, [&](const std::string& name) { return kind_of(folder / name) == FileKind::file; });
  return names;
}

// The shard of a folder that holds campaign.json and stats.json.
Result<Shard> read_shard(const WorkPath& folder) {
  Shard shard;
  const auto identity = read_file(folder / "campaign.json");
  if (!identity) return Problem{identity.problem()};
  auto key = shard_key(*identity);
  if (!key) return Problem{(folder / "campaign.json").string() + ": " + key.problem()};
  shard.key = std::move(*key);
  shard.workdir = folder.string();
  shard.identity_text = *identity;
  shard.stats = Stats::with_patterns();
  const WorkPath file = folder / "stats.json";
  if (kind_of(file) == FileKind::none) return shard;
  auto text = read_file(file);
  auto stats = text ? parse_stats(*text) : Result<Stats>(Problem{""});
  if (!text) {
    shard.problem = text.problem();
  } else if (!stats) {
    shard.problem = file.string() + ": " + stats.problem();
  } else {
    shard.stats = std::move(*stats);
    shard.stats_text = std::move(*text);
  }
  return shard;
}

void read_signatures(MergeSource& source, const ListFolder& list) {
  std::set<std::string> names = listed_folders(WorkPath(source.path) / "findings", list, source.problems);
  for (const Shard& shard : source.shards) {
    for (const auto& [signature, cases] : shard.stats.findings) {
      if (is_plain_name(signature)) names.insert(signature);
    }
  }
  source.signatures = {names.begin(), names.end()};
}

void read_corpus(MergeSource& source, const ListFolder& list) {
  const WorkPath folder = WorkPath(source.path) / "corpus";
  for (const std::string& name : listed(folder, list, source.problems)) {
    if (name.ends_with(".json")) source.corpus.push_back(folder / name);
  }
}

}  // namespace

Result<std::string> shard_key(const std::string& identity_text) {
  PlainJson json = PlainJson(parse_record(identity_text));
  if (!json.is_object()) return Problem{"expected the JSON object that a campaign wrote"};
  const auto seed = json.find("seed");
  if (seed == json.end() || !seed->is_number_integer()) return Problem{"seed: expected a number"};
  const auto index = parse_shard(text_of(json, "shard"));
  if (!index) return Problem{"shard: expected I/N with 0 <= I < N"};
  json["shard"] = *index;  // which cases it has does not depend on N
  json.erase("fusesmith");
  for (PlainJson& value : json) {
    if (value.is_array()) std::sort(value.begin(), value.end());
  }
  const std::string text = json.dump(-1, ' ', false, PlainJson::error_handler_t::replace);
  char hash[9];
  std::snprintf(hash, sizeof hash, "%08x", static_cast<unsigned>(hash_name(text) >> 32U));
  return seed->dump() + "-" + std::to_string(*index) + "-" + hash;
}

bool is_merged(const WorkPath& workdir) {
  return read_object(workdir / "campaign.json").contains(kMergedFrom);
}

std::vector<Shard> read_merged_shards(const WorkPath& workdir, const ListFolder& list,
                                      std::vector<std::string>& problems) {
  std::set<std::string> keys = listed_folders(workdir / kShardsFolder, list, problems);
  const PlainJson campaign = read_object(workdir / "campaign.json");
  if (const auto named = campaign.find(kMergedFrom); named != campaign.end() && named->is_array()) {
    for (const PlainJson& key : *named) {
      if (key.is_string() && is_plain_name(key.get<std::string>())) keys.insert(key.get<std::string>());
    }
  }
  std::vector<Shard> shards;
  for (const std::string& key : keys) {
    const WorkPath folder = workdir / kShardsFolder / key;
    auto shard = read_shard(folder);
    if (!shard) {
      problems.push_back(shard.problem());
      continue;
    }
    if (shard->key != key) {
      problems.push_back((folder / "campaign.json").string() + ": another campaign than its folder names");
      continue;
    }
    if (!shard->problem.empty()) problems.push_back(shard->problem);
    const std::string origin = text_of(read_object(folder / kSourceFile), "workdir");
    if (!origin.empty()) shard->workdir = origin;
    shards.push_back(std::move(*shard));
  }
  return shards;
}

Result<MergeSource> read_source(const std::string& path, const ListFolder& list) {
  MergeSource source;
  source.path = path;
  const WorkPath root(path);
  const auto has = [&](const char* name) { return kind_of(root / name) != FileKind::none; };
  if (kind_of(root) == FileKind::none) return Problem{path + ": cannot read: no such file or directory"};
  if (is_merged(root)) {
    source.merged = true;
    source.shards = read_merged_shards(root, list, source.problems);
  } else if (has("campaign.json")) {
    auto shard = read_shard(root);
    if (!shard) return Problem{shard.problem()};
    if (!shard->problem.empty()) source.problems.push_back(shard->problem);
    std::error_code ignored;
    if (const auto whole = fs::canonical(path, ignored); !whole.empty()) shard->workdir = whole.string();
    source.shards.push_back(std::move(*shard));
  } else if (has("stats.json") || has("findings")) {
    return Problem{path + ": a work directory without its campaign.json; restore it"};
  } else {
    auto cases = list_cases(path);
    if (!cases) return Problem{cases.problem()};
    source.problems = cases->refused;
    if (cases->files.empty()) return Problem{path + ": neither a work directory nor a folder of cases"};
    for (const std::string& file : cases->files) source.corpus.emplace_back(file);
    return source;
  }
  read_signatures(source, list);
  read_corpus(source, list);
  return source;
}

std::optional<FoundCopy> read_found(MergeSource& source, const std::string& signature,
                                    const ListFolder& list) {
  const WorkPath folder = WorkPath(source.path) / "findings" / signature;
  const auto counted = [&](const Shard& shard) { return shard.stats.findings.contains(signature); };
  const bool expected = std::any_of(source.shards.begin(), source.shards.end(), counted);
  const FileKind kind = kind_of(folder / kCaseFile);
  if (kind == FileKind::unknown) {
    source.problems.push_back(size_of(folder / kCaseFile).problem());
    return {};
  }
  if (kind == FileKind::none) {
    if (expected)
      source.problems.push_back(folder.string() +
                                ": counted, but its case.json is not there; merge again later");
    return {};
  }
  FoundCopy copy{.signature = signature, .folder = folder};
  std::set<std::string> names = listed(folder, list, source.problems);
  std::erase_if(names, [](const std::string& name) { return !is_further_case(name); });
  names.insert(kReportedFiles.begin(), kReportedFiles.end());
  for (const std::string& name : names) {
    if (kind_of(folder / name) == FileKind::none) continue;
    const auto size = size_of(folder / name);
    if (size)
      copy.files[name] = *size;
    else
      source.problems.push_back(size.problem());
  }
  for (const char* name : {kCaseFile, "min.json"}) {
    if (!copy.files.contains(name)) continue;
    auto test_case = read_work_case(folder / name);
    if (test_case) {
      copy.smallest = std::move(*test_case);
      continue;
    }
    source.problems.push_back(test_case.problem());
    copy.files.erase(name);
    copy.files.erase("report.md");  // speaks of it
  }
  if (!copy.files.contains(kCaseFile)) return {};
  copy.reported = copy.files.contains("report.md") && is_finished(folder);
  if (!source.merged) {
    copy.key = source.shards[0].key;
    copy.seen[copy.key] = source.shards[0].workdir;
    return copy;
  }
  const PlainJson seen_in = read_object(folder / kSeenInFile);
  copy.key = text_of(seen_in, "kept_from");
  if (const auto shards = seen_in.find("shards"); shards != seen_in.end() && shards->is_array()) {
    for (const PlainJson& shard : *shards) {
      if (shard.is_object()) copy.seen[text_of(shard, "key")] = text_of(shard, "workdir");
    }
  }
  copy.seen.erase("");
  return copy;
}

}  // namespace fusesmith::fuzz
