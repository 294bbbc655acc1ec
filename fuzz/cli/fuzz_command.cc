// The `fuzz` command: the flags of a campaign (fuzz/campaign/campaign.h).
#include <ostream>

#include "fuzz/base/given_flags.h"
#include "fuzz/campaign/campaign.h"
#include "fuzz/campaign/guided_choices.h"
#include "fuzz/cli/command.h"
#include "fuzz/generate/generator.h"
#include "fuzz/run/metamorphic.h"
#include "fuzz/workdir/event_log.h"
#include "fuzz/workdir/identity.h"

namespace fusesmith::fuzz {

namespace {

struct FuzzFlags {
  CampaignOptions campaign;

  FlagTable table();
};

void add_limits(CampaignOptions& options, std::vector<Flag>& flags) {
  flags.push_back({.name = "runs",
                   .target = &options.runs,
                   .value = "N",
                   .doc = "Number of generated cases to judge, such as 20000 or 2e4; 0: no limit."});
  flags.push_back({.name = "total_runs",
                   .target = &options.total_runs,
                   .value = "N",
                   .doc =
                       "Stop when the campaign has judged this many generated cases, those of earlier calls "
                       "included, so that a job that is started again needs no other flags; 0: no limit."});
  flags.push_back({.name = "max_total_time",
                   .target = &options.max_total_time,
                   .value = "TIME",
                   .doc = "Start no new case after this time, in seconds or as 90s, 5m or 2h; 0: no limit. "
                          "Findings are minimized for a tenth of it longer, at least 10 s and at most 2 min; "
                          "those that are left are reported as they were found.",
                   .unit = Flag::Unit::seconds});
  flags.push_back({.name = "max_findings",
                   .target = &options.max_findings,
                   .value = "N",
                   .doc =
                       "Stop after this many new findings; 0: no limit. Findings that occur while these are "
                       "minimized are kept, too."});
  flags.push_back(
      {.name = "error_exitcode",
       .target = &options.error_exitcode,
       .value = "N",
       .doc = "Exit code if the work directory contains findings, for a batch system that takes every "
              "code but 0 as a failed job.",
       .hi = 255});
}

void add_processes(CampaignOptions& options, std::vector<Flag>& flags) {
  flags.push_back(
      {.name = "processes",
       .target = &options.processes,
       .value = "N",
       .doc = "Number of worker processes, which share the threads of --jobs. 0: run the cases in the "
              "process of the command, so that a crash or a hang ends the campaign; for debuggers.",
       .hi = 1024});
  flags.push_back(
      {.name = "gpus",
       .target = &options.gpus,
       .value = "all|0,2|UUID,...",
       .doc = "Use these GPUs, with a worker process each, or as many as --processes says; the threads of "
              "--jobs are shared between all. An index is CUDA's; a UUID may be cut short. Without the flag, "
              "every worker process uses the first GPU."});
  flags.push_back(
      {.name = "timeout",
       .target = &options.timeout,
       .value = "TIME",
       .doc = "How long the compilation, a run or the judgement of a case may take in a worker process, "
              "in seconds or as 90s, 5m or 2h. Cases that are much larger than generated ones have more "
              "time. 0: no limit.",
       .unit = Flag::Unit::seconds});
  flags.push_back({.name = "rss_limit_mb",
                   .target = &options.rss_limit_mb,
                   .value = "N",
                   .doc = "How much memory a worker process may use, in MiB, with all processes that it "
                          "started, such as workers of other programs and their compilers; memory that they "
                          "share counts once. 0: no limit.",
                   .hi = 1e9});
}

void add_cases(CampaignOptions& options, std::vector<Flag>& flags) {
  flags.push_back({.name = "seed",
                   .target = &options.seed,
                   .value = "N",
                   .doc = "Selects the sequence of cases.",
                   .hi = 0x1p64});
  flags.push_back({.name = "shard",
                   .target = &options.shard,
                   .value = "I/N",
                   .doc = "Generate part I of N of the cases, counted from 0, for example on N machines."});
  flags.push_back(
      {.name = "engine",
       .target = &options.engine,
       .value = "random|focused|libfuzzer",
       .doc = "What draws the cases. random: always with the same chances. focused: most cases concentrate "
              "on an op or a pattern that random cases seldom meet. libfuzzer, in builds that have it: "
              "libFuzzer, guided by coverage, in one thread. A campaign that is continued keeps its engine.",
       .default_text = kDefaultEngine,
       .choices = campaign_engines()});
  if (!kHasLibFuzzer) {
    flags.back().missing_choices = {{kLibFuzzer,
                                     "this build has no libFuzzer; install clang's runtime library (Debian: "
                                     "libclang-rt-14-dev), then configure and build again"}};
  }
  flags.push_back({.name = "data",
                   .target = &options.data,
                   .value = kDataMixValue,
                   .doc = "The kind of data in generated cases. lattice: data for which every correct "
                          "execution gives the same bits, so that a single wrong bit is a finding.",
                   .choices = data_mixes()});
  flags.push_back(
      {.name = "ops",
       .target = &options.ops,
       .value = "A,B",
       .doc = "Generate cases of one node each, of these ops, for kernels that compute nothing else; "
              "see `fusesmith list ops`.",
       .choices = op_names()});
  flags.push_back(
      {.name = "metamorphic",
       .target = &options.metamorphic,
       .value = "N",
       .doc =
           "Run one in N generated cases again with inputs scaled by powers of two, with batch elements "
           "exchanged, and with NaN, infinities or other numbers in some rows; all values must change "
           "correspondingly, bit for bit, and what is not computed from the replaced rows must not change. "
           "Regions that are batch invariant by their contracts run again with fewer rows. 0: none.",
       .hi = 1e6});
  flags.push_back({.name = "require",
                   .target = &options.require,
                   .value = "A,B",
                   .doc = "Require of the candidate, in every case, that a row has the same bits among fewer "
                          "rows (batch_invariance) or at another place among the others "
                          "(position_invariance); docs/invariance.md.",
                   .default_text = "what its contract says",
                   .choices = {kInvariances.begin(), kInvariances.end()}});
}

constexpr std::string_view kDetails =
    "Judges the cases of the corpus folders, then generated cases, until --runs or --max_total_time is "
    "reached; without these flags, until it is interrupted. Both limits apply to this call of the command; "
    "--total_runs counts the cases of all calls. "
    "Case number n depends only on --seed, --shard, --engine, --data, --ops and n, so that --jobs does not "
    "change the "
    "verdicts.\n"
    "\n"
    "If the work directory contains a campaign, the command continues it. Flags that decide what the "
    "campaign "
    "judges (--seed, --shard, --engine, --data, --ops, --require, --metamorphic, --policy, --skip_patterns, "
    "--faults, "
    "and "
    "the backends) need not be given again: those that are not given come from its campaign.json, "
    "except the names of programs (remote:, plugin:, python:), since no file may start one. Each "
    "finding has a folder WORKDIR/findings/SIGNATURE/ with report.md (read this first), case.json, min.json "
    "(the minimized case) and verdict.json (the evidence). WORKDIR/corpus/ contains the first generated "
    "case with each op, each rewrite pattern and each piece of the generator. These cases can be replayed "
    "or given to another campaign.\n"
    "\n"
    "Cases run in worker processes, which the command starts and watches. A case that ends its process, "
    "that hangs (--timeout) or after which the GPU fails runs again in a process of its own. If that "
    "fails, too, the case is a finding (crash or timeout), which is minimized in such processes, and the "
    "campaign goes on. A case that needs too much memory is counted, but is not a finding.\n"
    "\n"
    "stats.json, metrics.prom (for Prometheus), plot_data (for AFL++'s afl-plot) and log.jsonl in the work "
    "directory "
    "tell how the campaign is doing (docs/workdir.md).\n"
    "\n"
    "With --processes=0, a crash, a hang or a GPU that fails ends the campaign, and the case is not found.\n"
    "\n"
    "Where a file cannot be written, the campaign says so, goes on, holds what it finds in memory, and tries "
    "again. It ends with exit code 73 if it still cannot write at its end, or has no more room. Damaged "
    "files "
    "of the work directory are renamed to FILE.damaged and named; the campaign goes on without them.\n"
    "\n"
    "SIGINT, SIGTERM and SIGHUP end the campaign within some seconds; cases that were not finished run "
    "again when it is continued. SIGUSR1, SIGUSR2 and SIGXCPU, by which batch systems announce the end of "
    "a job, let the running cases finish. A second SIGINT, SIGTERM or SIGHUP ends the command at once. "
    "Whatever ends it, also SIGKILL, all processes that it started end with it.\n"
    "\n"
    "Exit codes: 0 no finding, 1 wrong usage or a corpus file that cannot be read, 71 out of memory (on "
    "the host, or in 20 consecutive cases), 72 interrupted, 73 a file cannot be written, 75 preempted "
    "(SIGUSR1): start it again, 76 the GPU is missing, or it failed, 77 the work directory contains "
    "findings.";

FlagTable FuzzFlags::table() {
  FlagTable table;
  table.command = "fuzz";
  table.doc = "judge random graphs on two backends and minimize those that fail.";
  table.details = kDetails;
  table.positional = {"[CORPUS_DIR...]", &campaign.corpus, 0};
  add_limits(campaign, table.flags);
  table.flags.push_back({.name = "workdir",
                         .target = &campaign.workdir,
                         .value = "DIR",
                         .doc = "The work directory, which contains all files that the campaign writes."});
  table.flags.push_back(
      {.name = "wait_for_workdir",
       .target = &campaign.wait_for_workdir,
       .value = "TIME",
       .doc =
           "How long to wait while another process is at work in the work directory, in seconds or as 90s, "
           "5m or 2h. The lease of a machine that was lost ends after 60 s.",
       .unit = Flag::Unit::seconds});
  table.flags.push_back({.name = "jobs",
                         .target = &campaign.jobs,
                         .value = "N",
                         .doc = "Number of threads; 0: one for each core.",
                         .hi = 1024});
  add_processes(campaign, table.flags);
  add_cases(campaign, table.flags);
  campaign.judge.add_to(table.flags);
  table.flags.push_back({.name = "minimize",
                         .target = &campaign.minimize,
                         .value = "0|1",
                         .doc = "Minimize the first case of each finding.",
                         .hi = 1});
  table.flags.push_back({.name = "log_level",
                         .target = &campaign.log_level,
                         .value = "debug|info|warning|error",
                         .doc = "What is written to WORKDIR/log.jsonl. debug: a line for each case.",
                         .choices = EventLog::level_names()});
  table.flags.push_back(
      {.name = "json",
       .target = &campaign.json,
       .doc = "Print the contents of stats.json on standard output and nothing else there."});
  table.examples = {
      {"fuzz --max_total_time=1m", "Run for one minute on all cores, in fusesmith-work/."},
      {"fuzz --runs=2e4 --seed=7 --workdir=w7 --json > stats.json",
       "Judge a fixed number of cases, from a script."},
      {"fuzz --ops=rms_norm --baseline=cpu --candidate=plugin:build/rms_norm.so --runs=2000",
       "Judge a kernel in a shared library on cases of its op (docs/plugin/README.md)."},
      {"fuzz --runs=1000 --workdir=w8 corpus/scenarios",
       "Judge the cases of a folder, then a thousand generated ones."},
  };
  return table;
}

int run(FuzzFlags& flags, Console& console) { return run_campaign(flags.campaign, console); }

// With what the work directory has for flags that the arguments do not have.
int run_arguments(std::span<const std::string> args, Console& console) {
  FuzzFlags flags;
  const FlagTable table = flags.table();
  const auto help = parse_flags(table, args);
  if (!help) return fail(console, table.command, help.problem());
  if (*help) {
    console.out << help_text(table);
    return kClean;
  }
  if (const auto problem = take_recorded(table, given_flags(table, args), flags.campaign))
    return fail(console, table.command, problem->what);
  return run(flags, console);
}

}  // namespace

Command fuzz_command() {
  Command command = command_of<FuzzFlags>();
  command.run = run_arguments;
  return command;
}

}  // namespace fusesmith::fuzz
