// eris bench: load on a server, or on an engine in this process, from the generators of
// clients/load; checks every answer on request. The main thread shows the figures.
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "clients/cli/bench_flags.h"
#include "clients/cli/files/schema_text.h"
#include "clients/cli/results/bench_compare.h"
#include "clients/cli/text/cli.h"
#include "clients/cli/text/exit_code.h"
#include "clients/cli/text/interrupt.h"
#include "clients/cli/text/output.h"
#include "clients/cli/text/output_file.h"
#include "clients/cli/version.h"
#include "clients/load/embedded_target.h"
#include "clients/load/figures/plot.h"
#include "clients/load/figures/sweep.h"
#include "clients/load/null_target.h"
#include "clients/load/remote_target.h"
#include "clients/load/report.h"
#include "clients/load/run.h"
#include "eris/engine.h"

namespace eris::cli {
namespace {

constexpr char kFooter[] =
    "Workloads: a: 50 % lookups, 50 % upserts. b: 95, 5. c: lookups. d: 95 % lookups of the "
    "latest\n"
    "keys, 5 % inserts. e: 95 % short scans, 5 % inserts. f: 50 % lookups, 50 % "
    "read-modify-writes\n"
    "(a lookup, then a write that compares). mixed: as the percentages say. A request is a batch "
    "of\n"
    "--batch keys of one kind; --batch 1 is YCSB proper. load creates the object, with equal "
    "shares\n"
    "for the AEUs, and writes every key once; the others expect it, with the same --keys and\n"
    "--layout. Values are functions of the keys, and an upsert writes the value again that is "
    "there,\n"
    "so that every run can verify what another one left.\n"
    "\n"
    "Latency counts from the moment at which a request should have been sent. With --rate that is\n"
    "its arrival, whether or not there was room to send it; the service time, from the actual\n"
    "sending, is shown beside it.\n"
    "\n"
    "--sweep finds the peak in a closed loop, and the latency at shares of that rate in open "
    "loops:\n"
    "one command, a line for each rate. --plot draws what was measured; the file is opened before "
    "the\n"
    "run begins. `eris bench compare a.json b.json` shows two results with their ratios.\n"
    "\n"
    "Exit codes: 0 fine; 1 wrong answers (--verify), or no such object; 2 usage; 3 the server\n"
    "cannot be reached or did not answer in time; 4 refused; 130 interrupted: Ctrl-C or SIGTERM "
    "ends\n"
    "the run early, what it has done is reported, and a second one ends the program.\n"
    "\n"
    "Examples:\n"
    "  eris bench load --keys 10000000 --batch 16384 --connections 2\n"
    "  eris bench a --keys 10000000 --batch 1 --connections 2 --in-flight 32 --verify\n"
    "  eris bench c --keys 10000000 --batch 1 --rate 20000 --warm-up 2 --seconds 30 --output json\n"
    "  eris bench c --keys 10000000 --batch 1 --sweep --warm-up 1 --plot sweep.svg\n"
    "  eris bench lookup --keys 10000000 --distribution shifting --hot-part 0.05 --shift-seconds "
    "5\n"
    "  eris bench scan --keys 10000000 --scan-rows 0 --requests 1 --verify\n"
    "  eris bench b --embedded --aeus 2 --memory-limit 4GiB --keys 1000000\n"
    "  eris bench lookup --null --connections 2 --verify\n";

// A line for each interval on stderr; on a terminal it is overwritten.
class LiveView {
 public:
  ~LiveView() {
    if (drawn_) std::fputc('\n', stderr);
  }
  void Show(const load::Interval& interval) {
    std::fprintf(stderr, terminal_ ? "\r\033[K%s" : "%s\n", load::ToLine(interval).c_str());
    std::fflush(stderr);
    drawn_ = terminal_;
  }

 private:
  const bool terminal_ = isatty(STDERR_FILENO) == 1;
  bool drawn_ = false;
};

// Set by the handler of signals; relaxed: they only end loops, and are read again after that.
// Failures set `stop_run` too.
std::atomic<bool> stop_run = false, interrupted = false;

// From now on SIGINT or SIGTERM ends the run, which still reports; a second one ends the program.
void StopOnInterrupt() {
  struct sigaction action = {};
  action.sa_handler = [](int) {
    interrupted.store(true, std::memory_order_relaxed);
    stop_run.store(true, std::memory_order_relaxed);
  };
  action.sa_flags = SA_RESETHAND | SA_RESTART;
  for (const int number : {SIGINT, SIGTERM}) sigaction(number, &action, nullptr);
}

// The target of the load, and everything that it needs.
struct Site {
  std::vector<std::unique_ptr<client::Client>> clients;  // by generator
  std::unique_ptr<Engine> engine;
  std::string name;
};

absl::StatusOr<Site> OpenSite(const Cli& cli, const BenchFlags& flags, const load::Plan& plan) {
  Site site{.clients = {}, .engine = nullptr, .name = "null"};
  if (flags.embedded) {
    Options options;
    const absl::Status status = flags.engine.Apply(options);
    if (!status.ok()) return status;
    absl::StatusOr<std::unique_ptr<Engine>> engine = Engine::Open(options);
    if (!engine.ok()) return engine.status();
    site.engine = *std::move(engine);
    site.name = absl::StrCat("embedded, ", site.engine->Stats().aeus.size(), " AEUs");
  } else if (!flags.null_target) {
    for (uint32_t i = 0; i < plan.generators; ++i) {
      auto client = client::Client::Connect(cli.Options(/*own_connection=*/true));
      if (!client.ok()) return client.status();
      site.clients.push_back(*std::move(client));
    }
    site.name = cli.server;
  }
  return site;
}

// Creates the object for `load`.
absl::Status CreateObject(Site& site, const BenchFlags& flags, const load::Plan& plan,
                          const load::KeySet& keys) {
  CreateOptions options;
  if (flags.kind == "hash") options.kind = ObjectKind::kHash;
  const auto points = [&](const EngineStats& stats) {
    return keys.SplitPoints(static_cast<uint32_t>(stats.aeus.size()));
  };
  if (site.engine) {
    options.split_points = points(site.engine->Stats());
    return site.engine->Create(plan.object, options).status();
  }
  if (site.clients.empty()) return absl::OkStatus();
  client::Client& client = *site.clients[0];
  const absl::StatusOr<EngineStats> stats = client.Stats();
  if (!stats.ok()) return stats.status();
  if (flags.replace) {
    const absl::Status dropped = client.Drop(plan.object);
    if (!dropped.ok() && !absl::IsNotFound(dropped)) return dropped;
  }
  options.split_points = points(*stats);
  return client.Create(plan.object, options).status();
}

absl::StatusOr<load::RunResult> RunPlan(Site& site, const load::Plan& plan,
                                        const load::KeySet& keys) {
  LiveView view;
  return load::RunLoad(
      plan, keys,
      [&](uint32_t index, load::AnswerSink& sink) -> std::unique_ptr<load::Target> {
        if (site.engine) {
          return std::make_unique<load::EmbeddedTarget>(*site.engine, plan.object, plan.slots(),
                                                        sink);
        }
        if (site.clients.empty()) {
          return std::make_unique<load::NullTarget>(keys, sink, plan.load);
        }
        return load::NewRemoteTarget(*site.clients[index],
                                     {.object = plan.object,
                                      .streams = plan.streams,
                                      .in_flight = plan.in_flight,
                                      .unary = plan.unary},
                                     sink);
      },
      stop_run, [&](const load::Interval& interval) { view.Show(interval); });
}

int ExitCode(const load::RunResult& result) {
  if (result.wrong()) return kExitNotFound;
  if (!result.tally.first_failure.ok()) return ExitCodeOf(result.tally.first_failure);
  if (result.tally.failed > 0 || result.unaccounted > 0) return kExitRefused;
  return interrupted.load(std::memory_order_relaxed) ? kExitInterrupted : kExitOk;
}

// Loads an engine of this process before a workload: its keys must exist.
absl::StatusOr<int> LoadEngine(Site& site, const BenchFlags& flags, const load::Plan& plan,
                               const load::KeySet& keys) {
  if (const absl::Status status = CreateObject(site, flags, plan, keys); !status.ok()) {
    return status;
  }
  load::Plan loading = plan;
  loading.load = true;
  loading.rate = 0;
  loading.requests = 0;
  loading.warm_up_s = 0;
  loading.batch = 16384;
  std::fprintf(stderr, "eris: loading %llu keys\n", static_cast<unsigned long long>(plan.keys));
  const absl::StatusOr<load::RunResult> loaded = RunPlan(site, loading, keys);
  if (!loaded.ok()) return loaded.status();
  if (!loaded->tally.first_error.empty()) {
    std::fprintf(stderr, "eris: %s\n", loaded->tally.first_error.c_str());
  }
  return ExitCode(*loaded);
}

// What a workload needs is there before it: the object, with its keys. Returns an exit code if the
// verb ends here.
absl::StatusOr<int> Prepare(Site& site, const BenchFlags& flags, const load::Plan& plan,
                            const load::KeySet& keys) {
  if (plan.load) {
    const absl::Status status = CreateObject(site, flags, plan, keys);
    if (!status.ok()) return status;
  } else if (!site.clients.empty()) {
    const absl::StatusOr<ObjectInfo> found = site.clients[0]->Get(plan.object);
    if (absl::IsNotFound(found.status())) {
      return absl::NotFoundError(absl::StrCat(found.status().message(),
                                              "; `eris bench load --object ", plan.object,
                                              "` makes and fills it"));
    }
    // A server with only data calls, such as bench/remote/echo_server.cc, has no catalogue.
    if (absl::IsUnimplemented(found.status())) return kExitOk;
    if (!found.ok()) return found.status();
    const std::vector<uint32_t>& key = found->schema.key;
    if (key.size() != 1 || found->schema.columns[key[0]].type != ColumnType::kUint64) {
      return absl::InvalidArgumentError(absl::StrCat("bench makes keys of uint64, and ",
                                                     plan.object,
                                                     " has none: ", SchemaText(found->schema)));
    }
  } else if (site.engine) {
    return LoadEngine(site, flags, plan, keys);
  }
  return kExitOk;
}

// The peak, then a run at each share of it, into `runs`. Ends with the first run that does not end
// well. Errors: those of making a target, and a peak that is too low; `runs` then has what was
// measured before.
absl::Status RunSweep(Site& site, const load::Plan& plan, const load::KeySet& keys,
                      const std::vector<uint32_t>& shares, std::vector<load::SweepRun>& runs) {
  std::fputs("eris: the peak, in a closed loop\n", stderr);
  load::SweepRun run{.plan = plan, .result = {}};
  for (size_t i = 0;; ++i) {
    absl::StatusOr<load::RunResult> result = RunPlan(site, run.plan, keys);
    if (!result.ok()) return result.status();
    run.result = *std::move(result);
    runs.push_back(std::move(run));
    if (i == shares.size() || ExitCode(runs.back().result) != kExitOk) return absl::OkStatus();
    absl::StatusOr<load::Plan> next = load::PlanAt(runs.front(), shares[i]);
    if (!next.ok()) return next.status();
    std::fprintf(stderr, "eris: %u %% of the peak: %.0f requests/s\n", shares[i], next->rate);
    run = {.percent = shares[i], .plan = *std::move(next), .result = {}};
  }
}

// What is written of a run or a sweep.
struct BenchReport {
  std::string text;  // by --output
  std::string plot;
  std::vector<std::string> remarks;
  int code = kExitOk;
};

BenchReport ReportOf(const load::Plan& plan, const load::ReportContext& context,
                     const load::RunResult& result, const std::string& format) {
  return {.text = format == "json"  ? load::ToJson(plan, context, result).DumpLines() + "\n"
                  : format == "csv" ? load::ToCsv(plan, result)
                                    : load::ToTable(plan, context, result),
          .plot = load::PlotRun(plan, context, result),
          .remarks = load::Remarks(plan, context, result),
          .code = ExitCode(result)};
}

BenchReport ReportOf(const load::ReportContext& context, const std::vector<load::SweepRun>& runs,
                     const std::string& format) {
  BenchReport report{.text = format == "json"  ? load::SweepToJson(context, runs).DumpLines() + "\n"
                             : format == "csv" ? load::SweepToCsv(runs)
                                               : load::SweepToTable(context, runs),
                     .plot = load::PlotSweep(context, runs),
                     .remarks = {},
                     .code = ExitCode(runs.back().result)};
  for (const load::SweepRun& run : runs) {
    for (const std::string& remark : load::Remarks(run.plan, context, run.result)) {
      report.remarks.push_back(absl::StrCat(run.name(), ": ", remark));
    }
  }
  return report;
}

int RunBench(const Cli& cli, const BenchFlags& flags, const Flags& verb) {
  absl::StatusOr<load::Plan> plan = flags.ToPlan(verb);
  if (!plan.ok()) return Report(plan.status());
  const absl::StatusOr<std::vector<uint32_t>> shares = flags.SweepShares(verb);
  if (!shares.ok()) return Report(shares.status());
  plan->timeout_s = cli.timeout_s;
  OutputFile plot;
  if (flags.plot) {
    if (absl::Status status = plot.Open(*flags.plot); !status.ok()) return Report(status);
  }
  const load::KeySet keys(plan->keys, plan->layout);
  absl::StatusOr<Site> site = OpenSite(cli, flags, *plan);
  if (!site.ok()) return Report(site.status());
  StopOnInterrupt();
  // Since plot.Open a signal has only been recorded.
  if (absl::Status status = CheckInterrupted(); !status.ok()) return Report(status);
  const absl::StatusOr<int> prepared = Prepare(*site, flags, *plan, keys);
  if (!prepared.ok()) return Report(prepared.status());
  if (*prepared != kExitOk) return *prepared;

  const load::ReportContext context{.target = site->name,
                                    .null_target = flags.null_target,
                                    .version = ProjectVersion(),
                                    .commit = Commit(),
                                    .build = ERIS_BUILD_TYPE,
                                    .flags = GivenFlags(verb, *plan)};
  const std::string format = flags.output.value_or(cli.output);
  BenchReport report;
  if (shares->empty()) {
    const absl::StatusOr<load::RunResult> result = RunPlan(*site, *plan, keys);
    if (!result.ok()) return Report(result.status());
    report = ReportOf(*plan, context, *result, format);
  } else {
    std::vector<load::SweepRun> runs;
    const absl::Status swept = RunSweep(*site, *plan, keys, *shares, runs);
    if (runs.empty()) return Report(swept);
    report = ReportOf(context, runs, format);
    if (!swept.ok()) report.code = Report(swept);
  }
  Output output;
  output.Write(report.text);
  for (const std::string& remark : report.remarks) {
    std::fprintf(stderr, "eris: %s\n", remark.c_str());
  }
  const int code = output.Finish(report.code);
  if (!flags.plot) return code;
  Output image(plot.file());
  image.Write(report.plot);
  if (const int drawn = image.Finish(kExitOk); drawn != kExitOk) return drawn;
  const absl::Status kept = plot.Keep();
  return kept.ok() ? code : Report(kept);
}

}  // namespace

void AddBench(Flags& program, Cli& cli) {
  auto flags = std::make_shared<BenchFlags>();
  Flags& verb = program.AddVerb("bench", "Load a server, or an engine in this process");
  flags->AddTo(verb);
  AddBenchCompare(verb, flags->output, cli);
  verb.SetFooter(kFooter);
  verb.SetRun([flags, &verb, &cli] { return RunBench(cli, *flags, verb); });
}

}  // namespace eris::cli
