// The `merge` command: one work directory out of those of several shards (fuzz/merge/merge.h).
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "fuzz/base/escape.h"
#include "fuzz/base/files.h"
#include "fuzz/base/interrupt.h"
#include "fuzz/base/table.h"
#include "fuzz/cli/command.h"
#include "fuzz/cli/folder_arguments.h"
#include "fuzz/merge/merge.h"

namespace fusesmith::fuzz {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kMergeName = "merge";

struct MergeFlags {
  bool json = false;
  bool wide = false;
  std::vector<std::string> folders;

  FlagTable table();
};

FlagTable MergeFlags::table() {
  FlagTable table;
  table.command = kMergeName;
  table.doc = "make one work directory out of those of several campaigns, for example of shards.";
  table.details =
      "The first folder is the destination; it is made, or is one of an earlier merge. Each of the others is "
      "a "
      "work directory of `fuzz`, a merged one, or a folder of cases. They are only read, and may belong to "
      "campaigns that are running, on this machine or another one that shares the file system.\n"
      "\n"
      "The destination then holds every finding of the sources: of those with one signature, the simplest "
      "minimized case with its report, and seen_in.json, which says which shards met it and how often. "
      "stats.json has the sums of the counts; elapsed_s is that of the longest campaign. corpus/ has few "
      "cases that cover what all corpora cover: ops, pairs of ops, and what the rewriter matches and "
      "refuses. "
      "`report`, `whatsup` and `list coverage` read the destination like any work directory, and `replay` "
      "reads its findings/ and corpus/; `fuzz` refuses to continue it.\n"
      "\n"
      "Merge again whenever you like: nothing is counted twice, and what was merged stays if its source is "
      "removed. A merge that was interrupted is completed by the next one. Two work directories with the "
      "same "
      "seed, index of the shard, backends and flags have the same cases, of which those of the longer "
      "campaign count.\n"
      "\n"
      "Exit codes: 0 all was merged, 1 wrong usage, or something could not be read, which is named, while "
      "the rest was merged, 72 interrupted, 73 the destination cannot be written, 75 preempted (SIGUSR1).";
  table.positional = {"DESTINATION SOURCE...", &folders, 2};
  table.flags.push_back(wide_flag(wide));
  table.flags.push_back({.name = "json",
                         .target = &json,
                         .doc = "Print one JSON object on standard output and nothing else there."});
  table.examples = {
      {"merge all work/shard-*", "Merge all shards of a campaign into the folder all/."},
      {"report all --output=all.html", "Then write one page about them."},
      {"merge small corpus-a corpus-b", "Merge folders of cases: the result is in small/corpus/."},
  };
  return table;
}

Json shard_json(const Shard& shard) {
  return {{"key", shard.key},           {"workdir", shard.workdir},
          {"seed", shard.stats.seed},   {"shard", shard.stats.shard},
          {"cases", shard.stats.cases}, {"findings", shard.stats.findings.size()}};
}

Json json_of(const MergeResult& result, const std::string& destination) {
  Json shards = Json::array();
  for (const Shard& shard : result.shards) shards.push_back(shard_json(shard));
  return {{"workdir", destination},
          {"shards", shards},
          {"cases", result.stats.cases},
          {"findings", result.findings},
          {"new_findings", result.new_findings},
          {"corpus", {{"read", result.corpus_read}, {"kept", result.corpus_kept}, {"cells", result.cells}}},
          {"notes", result.notes},
          {"problems", result.problems}};
}

std::string text_of(const MergeResult& result, const std::string& destination, size_t columns) {
  Table table({"work directory", "seed", "shard", "cases", "findings"});
  for (const Shard& shard : result.shards)
    table.add({printable(shard.workdir), std::to_string(shard.stats.seed), shard.stats.shard,
               std::to_string(shard.stats.cases), std::to_string(shard.stats.findings.size())});
  const auto count = [](size_t number) { return static_cast<int64_t>(number); };
  return (table.empty() ? "" : table.text(0, columns) + "\n") + printable(destination) + ": " +
         counted(result.stats.cases, "case") + " of " + counted(count(result.shards.size()), "shard") + ", " +
         counted(count(result.findings), "finding") + ", of which " + std::to_string(result.new_findings) +
         " new; corpus: " + std::to_string(result.corpus_kept) + " of " +
         counted(count(result.corpus_read), "case") + " with all " + counted(count(result.cells), "cell") +
         " of coverage\n";
}

// Exit code: 0, 1, 72, 73, 75.
int run(MergeFlags& flags, Console& console) {
  Signals::finish_first();
  leave_out_files(flags.folders, console, 1);
  MergeOptions options;
  options.destination = flags.folders[0];
  options.sources.assign(flags.folders.begin() + 1, flags.folders.end());
  options.list = names_in;
  options.stop = Signals::interrupted;
  const auto merged = merge(options);
  if (const auto* failure = std::get_if<MergeFailure>(&merged))
    return fail(console, kMergeName, failure->what, failure->code);
  const auto& result = std::get<MergeResult>(merged);
  for (const std::string& problem : result.problems) fail(console, kMergeName, printable(problem));
  if (result.stopped) {
    const bool preempted = Signals::preempted();
    return fail(console, kMergeName, "interrupted; the next merge completes it",
                preempted ? kPreempted : kInterrupted);
  }
  for (const std::string& note : result.notes) console.err << "note: " << printable(note) << "\n";
  if (flags.json)
    console.out << json_of(result, options.destination).dump(2, ' ', false, Json::error_handler_t::replace)
                << "\n";
  else
    console.out << text_of(result, options.destination, flags.wide ? kAllColumns : kColumns);
  return result.problems.empty() ? kClean : kUsage;
}

}  // namespace

Command merge_command() { return command_of<MergeFlags>(); }

}  // namespace fusesmith::fuzz
