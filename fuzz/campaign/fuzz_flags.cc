// The flags of `fuzz`.
#include "fuzz/campaign/campaign.h"
#include "fuzz/generate/generator.h"

namespace fusesmith::fuzz {

namespace {

void add_flags(FuzzFlags& f, std::vector<Flag>& flags) {
  flags.push_back(
      {.name = "runs", .target = &f.runs, .value = "N", .doc = "Generated cases to judge; 0: no limit."});
  flags.push_back({.name = "max_total_time",
                   .target = &f.max_total_time,
                   .value = "S",
                   .doc = "Seconds after which no new case is begun; 0: no limit."});
  flags.push_back(
      {.name = "workdir", .target = &f.workdir, .value = "DIR", .doc = "Where everything is kept."});
  flags.push_back({.name = "seed",
                   .target = &f.seed,
                   .value = "N",
                   .doc = "Which sequence of cases.",
                   .hi = 0x1p64,
                   .identity = true});
  flags.push_back({.name = "shard",
                   .target = &f.shard,
                   .value = "I/N",
                   .doc = "Part I of N, from 0: machines with other parts judge other cases.",
                   .identity = true});
  flags.push_back(
      {.name = "jobs", .target = &f.jobs, .value = "N", .doc = "Threads; 0: all cores.", .hi = 1024});
  f.judge.add_to(flags, true);
  flags.push_back({.name = "engine",
                   .target = &f.engine,
                   .value = "random|libfuzzer",
                   .doc = "What chooses the cases.",
                   .choices = {"random", "libfuzzer"},
                   .identity = true});
  flags.push_back({.name = "data",
                   .target = &f.data,
                   .value = kDataMixValue,
                   .doc = "How the data of generated cases is made; lattice: so that no lawful execution can "
                          "differ in a bit, which makes the judge strictest.",
                   .choices = data_mixes(),
                   .identity = true});
  flags.push_back({.name = "metamorphic",
                   .target = &f.metamorphic,
                   .value = "N",
                   .doc =
                       "One generated case in N is run again with inputs scaled by powers of two, and with "
                       "batch elements exchanged; its values must follow, bit for bit. 0: none.",
                   .hi = 1e6,
                   .identity = true,
                   .added_later = true});
  flags.push_back({.name = "minimize",
                   .target = &f.minimize,
                   .value = "0|1",
                   .doc = "Minimize the first case of each finding.",
                   .hi = 1});
  flags.push_back(
      {.name = "max_findings",
       .target = &f.max_findings,
       .value = "N",
       .doc = "Stop after so many new findings; 0: no limit. Minimizing these may meet others, which "
              "are kept too."});
  flags.push_back(
      {.name = "json", .target = &f.json, .doc = "Print stats.json on standard output, nothing else there."});
}

}  // namespace

FlagTable FuzzFlags::table() {
  FlagTable table;
  table.command = "fuzz";
  table.doc = "judge random graphs on two backends, and shrink what fails.";
  table.details =
      "Runs any corpus cases first, then generated ones, until --runs or --max_total_time is reached, or for "
      "ever; both "
      "count from the start of this command. Case number n depends on --seed, --shard, --data and n alone: "
      "the same "
      "campaign gives "
      "the same verdict counts with any --jobs.\n"
      "\n"
      "Started again in the same work directory it goes on where it stopped, however it was stopped, with "
      "the "
      "pair of backends that it began with. Each finding is in "
      "WORKDIR/findings/SIGNATURE/: case.json, min.json (minimized), verdict.json (evidence), report.md "
      "(start there). WORKDIR/corpus/ keeps each generated case that met something first in its campaign (an "
      "op, a "
      "rewrite pattern that fired, a piece of the generator), to be replayed or given to another campaign.\n"
      "\n"
      "When the GPU fails, what ran is saved in WORKDIR/suspects/. Started again, the campaign runs each of "
      "these alone "
      "first; the one that makes the GPU fail again is a finding and is left out from then on. A case that "
      "is too large for "
      "memory is counted.\n"
      "\n"
      "Exit codes: 0 clean, 1 wrong usage or a corpus file that cannot be read, 71 out of memory (20 cases "
      "in "
      "a row, or of the host), "
      "72 interrupted, 73 cannot write, 76 the GPU is missing or failed, 77 the work directory holds "
      "findings.";
  table.positional = {"[CORPUS_DIR...]", &corpus, 0};
  add_flags(*this, table.flags);
  table.examples = {
      {"fuzz --max_total_time=60", "A minute on all cores, in fusesmith-work/."},
      {"fuzz --runs=20000 --seed=7 --workdir=w7 --json > stats.json",
       "A fixed number of cases, for a script."},
      {"fuzz --runs=1000 --workdir=w8 corpus/scenarios",
       "The cases of a folder first, then a thousand generated ones."},
      {"fuzz --runs=2000 --workdir=w9 --faults=$(fusesmith list faults --json | jq -r '.faults[0].name')",
       "Does it find a planted fault? Needs a build with faults (preset dev); exit 77 says yes."},
  };
  return table;
}

}  // namespace fusesmith::fuzz
