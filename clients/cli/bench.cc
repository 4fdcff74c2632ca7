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
#include "clients/cli/text/cli.h"
#include "clients/cli/text/exit_code.h"
#include "clients/cli/text/output.h"
#include "clients/cli/version.h"
#include "clients/load/embedded_target.h"
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
    "Exit codes: 0 fine; 1 wrong answers (--verify), or no such object; 2 usage; 3 the server\n"
    "cannot be reached or did not answer in time; 4 refused; 130 interrupted: Ctrl-C ends the run "
    "\n"
    "early, what it did by then is reported, and a second one ends the program.\n"
    "\n"
    "Examples:\n"
    "  eris bench load --keys 10000000 --batch 16384 --connections 2\n"
    "  eris bench a --keys 10000000 --batch 1 --connections 2 --in-flight 32 --verify\n"
    "  eris bench c --keys 10000000 --batch 1 --rate 20000 --warm-up 2 --seconds 30 --output json\n"
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

// Set by the handler of SIGINT; relaxed: they only end loops, and are read again after that.
// Failures set `stop_run` too.
std::atomic<bool> stop_run = false, interrupted = false;

// From now on SIGINT ends the run, which still reports; a second one ends the program.
void StopOnInterrupt() {
  struct sigaction action = {};
  action.sa_handler = [](int) {
    interrupted.store(true, std::memory_order_relaxed);
    stop_run.store(true, std::memory_order_relaxed);
  };
  action.sa_flags = SA_RESETHAND | SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
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

int RunBench(const Cli& cli, const BenchFlags& flags, const Flags& verb) {
  absl::StatusOr<load::Plan> plan = flags.ToPlan(verb);
  if (!plan.ok()) return Report(plan.status());
  plan->timeout_s = cli.timeout_s;
  const load::KeySet keys(plan->keys, plan->layout);
  absl::StatusOr<Site> site = OpenSite(cli, flags, *plan);
  if (!site.ok()) return Report(site.status());
  StopOnInterrupt();
  if (plan->load) {
    const absl::Status status = CreateObject(*site, flags, *plan, keys);
    if (!status.ok()) return Report(status);
  } else if (!site->clients.empty()) {
    const absl::Status found = site->clients[0]->Get(plan->object).status();
    if (absl::IsNotFound(found)) {
      return Report(absl::NotFoundError(absl::StrCat(
          found.message(), "; `eris bench load --object ", plan->object, "` makes and fills it")));
    }
    // A server with only data calls, such as bench/remote/echo_server.cc, has no catalogue.
    if (!found.ok() && !absl::IsUnimplemented(found)) return Report(found);
  } else if (site->engine) {
    const absl::StatusOr<int> code = LoadEngine(*site, flags, *plan, keys);
    if (!code.ok()) return Report(code.status());
    if (*code != kExitOk) return *code;
  }
  const absl::StatusOr<load::RunResult> result = RunPlan(*site, *plan, keys);
  if (!result.ok()) return Report(result.status());

  const load::ReportContext context{.target = site->name,
                                    .null_target = flags.null_target,
                                    .version = ProjectVersion(),
                                    .commit = Commit(),
                                    .build = ERIS_BUILD_TYPE,
                                    .flags = GivenFlags(verb)};
  const std::string format = flags.output.value_or(cli.output);
  Output output;
  if (format == "json") {
    output.WriteJson(load::ToJson(*plan, context, *result));
  } else if (format == "csv") {
    output.Write(load::ToCsv(*plan, *result));
  } else {
    output.Write(load::ToTable(*plan, context, *result));
  }
  for (const std::string& remark : load::Remarks(*plan, context, *result)) {
    std::fprintf(stderr, "eris: %s\n", remark.c_str());
  }
  return output.Finish(ExitCode(*result));
}

}  // namespace

void AddBench(Flags& program, Cli& cli) {
  auto flags = std::make_shared<BenchFlags>();
  Flags& verb = program.AddVerb("bench", "Load a server, or an engine in this process");
  flags->AddTo(verb);
  verb.SetFooter(kFooter);
  verb.SetRun([flags, &verb, &cli] { return RunBench(cli, *flags, verb); });
}

}  // namespace eris::cli
