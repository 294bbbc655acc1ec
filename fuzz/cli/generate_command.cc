// The `generate` command: the cases that a campaign would judge, as files.
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>

#include "fuzz/base/files.h"
#include "fuzz/base/interrupt.h"
#include "fuzz/base/table.h"
#include "fuzz/campaign/campaign.h"
#include "fuzz/cli/command.h"
#include "fuzz/generate/generator.h"

namespace fusesmith::fuzz {

namespace {

struct GenerateFlags {
  uint64_t seed = 1;
  uint64_t count = 10;
  uint64_t first = 0;
  std::string shard = "0/1";
  std::string engine = std::string(kDefaultEngine);
  std::string data = "mixed";
  std::vector<std::string> ops;
  std::string output;
  bool json = false;

  FlagTable table();
};

constexpr std::string_view kGenerateName = "generate";

FlagTable GenerateFlags::table() {
  FlagTable table;
  table.command = "generate";
  table.doc = "write generated cases as files.";
  table.details =
      "Case number n is case number n of `fusesmith fuzz` with the same seed, shard, engine, data and ops.\n"
      "\n"
      "Exit codes: 0 all files are written, 1 wrong usage, 72 interrupted (files that are already written "
      "are kept), 73 a file cannot be written.";
  table.flags.push_back({.name = "output",
                         .target = &output,
                         .value = "DIR",
                         .doc = "Folder for the files SEED-SHARD-NUMBER.json; it is created if needed "
                                "(required)."});
  table.flags.push_back(
      {.name = "seed", .target = &seed, .value = "N", .doc = "Selects the sequence of cases.", .hi = 0x1p64});
  table.flags.push_back(
      {.name = "count", .target = &count, .value = "K", .doc = "Number of cases.", .hi = 1e7});
  table.flags.push_back(
      {.name = "first", .target = &first, .value = "N", .doc = "Number of the first case."});
  table.flags.push_back(
      {.name = "shard", .target = &shard, .value = "I/N", .doc = "Part I of N, counted from 0."});
  table.flags.push_back({.name = "engine",
                         .target = &engine,
                         .value = kEngineValue,
                         .doc = "What draws the cases, as for `fusesmith fuzz`.",
                         .choices = engines()});
  table.flags.push_back({.name = "data",
                         .target = &data,
                         .value = kDataMixValue,
                         .doc = "The kind of data in the cases, as for `fusesmith fuzz`.",
                         .choices = data_mixes()});
  table.flags.push_back({.name = "ops",
                         .target = &ops,
                         .value = "A,B",
                         .doc = "Cases of one node each, of these ops, as for `fusesmith fuzz`.",
                         .choices = op_names()});
  table.flags.push_back({.name = "json",
                         .target = &json,
                         .doc = "Print {\"files\": [...]} on standard output and nothing else there."});
  table.examples = {
      {"generate --seed=1 --count=100 --output=cases",
       "Write a hundred cases, to read them or to run them elsewhere."},
      {"generate --seed=1 --first=4711 --count=1 --output=.", "Write one case of a campaign."},
  };
  return table;
}

// Exit code: 0, 1, 72, 73.
int run(GenerateFlags& flags, Console& console) {
  if (flags.output.empty()) return fail(console, kGenerateName, "needs --output=DIR");
  const auto shard = parse_shard(flags.shard);
  if (!shard) return fail(console, kGenerateName, shard.problem());
  const std::filesystem::path folder(flags.output);
  if (auto problem = make_folder(folder)) return fail(console, kGenerateName, problem->what, kCannotWrite);
  GeneratorOptions options;
  options.data = parse_data_mix(flags.data);
  options.ops = flags.ops;
  options.engine = parse_engine(flags.engine);
  Signals::finish_first();
  std::vector<std::string> files;
  for (uint64_t i = 0; i < flags.count && !Signals::interrupted(); ++i) {
    const uint64_t counter = flags.first + i;
    const std::string file_name =
        std::to_string(flags.seed) + "-" + std::to_string(*shard) + "-" + std::to_string(counter) + ".json";
    const auto file = (folder / file_name).string();
    const Case test_case = generate_case(flags.seed, *shard, counter, options);
    if (auto problem = write_file(file, to_json(test_case)))
      return fail(console, kGenerateName, problem->what, kCannotWrite);
    files.push_back(file);
  }
  const std::string count = counted(static_cast<int64_t>(files.size()), "case");
  if (flags.json)
    console.out << nlohmann::json{{"files", files}}.dump(2, ' ', false,
                                                         nlohmann::json::error_handler_t::replace)
                << "\n";
  else
    console.out << count << " in " << folder.string() << "\n";
  if (files.size() < flags.count)
    return fail(console, kGenerateName, "interrupted after " + count, kInterrupted);
  return kClean;
}

}  // namespace

Command generate_command() { return command_of<GenerateFlags>(); }

}  // namespace fusesmith::fuzz
