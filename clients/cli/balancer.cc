// eris balancer: the load balancer of a running server.
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "clients/balancer_client.h"
#include "clients/cli/balancer_flags.h"
#include "clients/cli/balancer_text.h"
#include "clients/cli/cell_text.h"
#include "clients/cli/cli.h"
#include "clients/cli/exit_code.h"
#include "clients/cli/output.h"
#include "clients/cli/parse.h"
#include "clients/cli/within.h"
#include "clients/table_client.h"
#include "eris/key_text.h"

namespace eris::cli {
namespace {

struct MoveFlags {
  std::string object;
  std::string from;
  std::string to;
  uint32_t parts = 0;
  uint32_t aeu = 0;
  std::string kind;
};

struct HistoryFlags {
  std::string object;
  uint32_t limit = 0;
};

// Prints `result` as text or JSON.
template <class Result, class Text>
int Print(const Cli& cli, const absl::StatusOr<Result>& result, Text to_text) {
  if (!result.ok()) return Report(result.status());
  Output output;
  if (cli.json()) {
    output.WriteJson(ToJson(*result));
  } else {
    output.Write(to_text(*result));
  }
  return output.Finish(kExitOk);
}

int Say(const Cli& cli, const nlohmann::ordered_json& json, absl::string_view text) {
  Output output;
  if (cli.json()) {
    output.WriteJson(json);
  } else {
    output.Write(text);
  }
  return output.Finish(kExitOk);
}

int RunStatus(const Cli& cli) {
  const auto client = cli.Connect();
  if (!client.ok()) return Report(client.status());
  return Print(cli, client::BalancerClient(**client).Status(),
               [](const client::Balance& balance) { return ToText(balance); });
}

int RunHistory(const Cli& cli, const HistoryFlags& flags) {
  const auto client = cli.Connect();
  if (!client.ok()) return Report(client.status());
  return Print(cli, client::BalancerClient(**client).History(flags.object, flags.limit),
               [](const std::vector<client::Transfer>& transfers) { return ToText(transfers); });
}

int RunSet(const Cli& cli, const BalancerFlags& flags) {
  const absl::StatusOr<client::BalancerChange> change = flags.Change();
  if (!change.ok()) return Report(change.status());
  const auto client = cli.Connect();
  if (!client.ok()) return Report(client.status());
  return Print(cli, client::BalancerClient(**client).Set(*change),
               [](const BalancerOptions& options) { return ToText(options); });
}

int RunPause(const Cli& cli, bool pause) {
  const auto client = cli.Connect();
  if (!client.ok()) return Report(client.status());
  client::BalancerClient balancer(**client);
  const absl::Status status = pause ? balancer.Pause() : balancer.Resume();
  if (!status.ok()) return Report(status);
  return Say(cli, {{"paused", pause}}, pause ? "paused\n" : "resumed\n");
}

int RunPlan(const Cli& cli, const std::string& object, bool rebalance) {
  const auto client = cli.Connect();
  if (!client.ok()) return Report(client.status());
  client::BalancerClient balancer(**client);
  return Print(cli, rebalance ? balancer.Rebalance(object) : balancer.PlanFor(object),
               [rebalance](const client::Plan& plan) { return ToText(plan, rebalance); });
}

// What the bounds of the object's ranges are.
absl::StatusOr<KeyType> BoundTypeOf(const Cli::ObjectClient& to) {
  if (to.info.kind != ObjectKind::kTable) return to.info.key_type.first;
  const absl::StatusOr<client::TableInfo> table = client::TableClient(*to.client).Get(to.info.name);
  if (!table.ok()) return table.status();
  return SampleTypeOf(table->schema.columns[table->schema.key[0]]);
}

absl::Status ReadBound(absl::string_view option, const std::string& text, KeyType type,
                       std::optional<uint64_t>& out) {
  if (text.empty()) return absl::OkStatus();
  const absl::StatusOr<uint64_t> key = KeyFromText(type, text);
  if (!key.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(option, ": ", key.status().message()));
  }
  out = *key;
  return absl::OkStatus();
}

// Of an object found: the range that the flags name.
absl::StatusOr<KeyRange> RangeOf(const MoveFlags& flags, KeyType type) {
  std::optional<uint64_t> lo, hi;
  absl::Status status = ReadBound("--from", flags.from, type, lo);
  status.Update(ReadBound("--to", flags.to, type, hi));
  if (!status.ok()) return status;
  return KeyRange{.lo = lo.value_or(0), .hi = hi};
}

int RunMove(const Cli& cli, const MoveFlags& flags, bool presplit) {
  const auto to = cli.ConnectTo(flags.object);
  if (!to.ok()) return Report(to.status());
  const absl::StatusOr<KeyType> type = BoundTypeOf(*to);
  if (!type.ok()) return Report(type.status());
  const absl::StatusOr<KeyRange> range = RangeOf(flags, *type);
  if (!range.ok()) return Report(range.status());
  client::BalancerClient balancer(*to->client);
  // As they were given; null: no bound on that side.
  nlohmann::ordered_json where{{"lo", nullptr}, {"hi", nullptr}};
  if (!flags.from.empty()) where["lo"] = flags.from;
  if (!flags.to.empty()) where["hi"] = flags.to;
  if (presplit) {
    const absl::Status status = balancer.Presplit(flags.object, *range, flags.parts, *type);
    if (!status.ok()) return Report(status);
    return Say(cli, {{"object", flags.object}, {"range", where}, {"parts", flags.parts}},
               absl::StrCat("split for ", flags.parts, " AEUs\n"));
  }
  std::optional<TransferKind> kind;
  if (flags.kind == "link") kind = TransferKind::kLink;
  if (flags.kind == "copy") kind = TransferKind::kCopy;
  const absl::Status status = balancer.Move(flags.object, *range, AeuId{flags.aeu}, kind, *type);
  if (!status.ok()) return Report(status);
  return Say(cli, {{"object", flags.object}, {"range", where}, {"aeu", flags.aeu}},
             absl::StrCat("moved to AEU ", flags.aeu, "\n"));
}

// The range of `move` and `presplit`.
void AddRange(CLI::App& verb, MoveFlags& flags) {
  verb.add_option("object", flags.object, "Name")->required()->check(CheckName);
  verb.add_option("--from", flags.from, "First key, or first part; default: from the lowest")
      ->check(CheckNotEmpty);
  verb.add_option("--to", flags.to, "First key behind the range; default: to the end")
      ->check(CheckNotEmpty);
}

constexpr char kStops[] =
    "It is done when the command ends. After --timeout, or when it is interrupted, it stops where\n"
    "it is: what has moved by then stays there.\n";

void AddShowing(CLI::App& verb, Cli& cli) {
  CLI::App* status = verb.add_subcommand("status", "Options, totals, and each AEU's load");
  status->footer(
      "LOAD is the time an AEU spends on the object, in seconds per second; the last period "
      "counts\n"
      "as much as all before it. Of heap tables, and with the algorithm size, it counts rows. The\n"
      "imbalance is the standard deviation of the loads in units of their mean: from the "
      "threshold\n"
      "on ranges are moved. While the balancer is disabled nobody looks, and there are no loads.\n"
      "\n"
      "Examples:\n"
      "  eris balancer status\n"
      "  watch -n1 eris balancer status\n"
      "  eris balancer status --output json | jq '.objects[].imbalance'\n");
  status->callback([&cli] { cli.run = [&cli] { return RunStatus(cli); }; });

  auto history = std::make_shared<HistoryFlags>();
  CLI::App* past = verb.add_subcommand("history", "The last 1024 transfers, the newest first");
  past->add_option("object", history->object, "Of this one alone")->check(CheckName);
  past->add_option("--limit", history->limit, "At most so many")->check(Within(1u, 1024u));
  past->footer(
      "A link hands a part of the index over inside a NumaNode, a copy moves rows in chunks. LO "
      "and\n"
      "HI are the range, - where it has no end on that side (of tables: the first column of the\n"
      "key). LONGEST PAUSE is the CPU time that one turn of an AEU spent on it at most; ON THE "
      "WALL\n"
      "is the same by the clock, other threads on that core included.\n"
      "\n"
      "Examples:\n"
      "  eris balancer history --limit 10\n"
      "  eris balancer history orders --output json | jq '.[].longest_pause_us'\n");
  past->callback(
      [history, &cli] { cli.run = [history, &cli] { return RunHistory(cli, *history); }; });

  auto object = std::make_shared<std::string>();
  CLI::App* plan = verb.add_subcommand("plan", "What rebalance would do now; moves nothing");
  plan->add_option("object", *object, "Name")->required()->check(CheckName);
  plan->footer(
      "Whatever the threshold: by itself the balancer makes such a plan only when the imbalance "
      "is\n"
      "above it, is not chance, and lasts.\n"
      "\n"
      "Example:\n"
      "  eris balancer plan orders\n");
  plan->callback(
      [object, &cli] { cli.run = [object, &cli] { return RunPlan(cli, *object, false); }; });
}

void AddSteering(CLI::App& verb, Cli& cli) {
  CLI::App* pause = verb.add_subcommand("pause", "Stop what moves, and let nothing move");
  pause->footer(
      "A transfer under way ends at the border of its chunk. It stays paused until `eris balancer\n"
      "resume`, or until the server starts again.\n"
      "\n"
      "Example:\n  eris balancer pause\n");
  pause->callback([&cli] { cli.run = [&cli] { return RunPause(cli, true); }; });
  CLI::App* resume = verb.add_subcommand("resume", "Let ranges move again");
  resume->footer(
      "What a pause has stopped is not taken up again: the next period looks at the loads anew.\n"
      "\n"
      "Example:\n  eris balancer resume\n");
  resume->callback([&cli] { cli.run = [&cli] { return RunPause(cli, false); }; });

  auto flags = std::make_shared<BalancerFlags>();
  CLI::App* set = verb.add_subcommand("set", "Change options of the balancer, at once");
  flags->AddTo(*set, "", "Options");
  set->footer(
      "What is not given stays as it is. The server's configuration file is not changed.\n"
      "\n"
      "Examples:\n"
      "  eris balancer set --algorithm moving_average --window 2\n"
      "  eris balancer set --threshold 0.1 --period-ms 500\n"
      "  eris balancer set --max-pause-us 100 --max-bytes-per-s 200MiB\n"
      "  eris balancer set --enabled false\n");
  set->callback([flags, &cli] { cli.run = [flags, &cli] { return RunSet(cli, *flags); }; });
}

void AddMoving(CLI::App& verb, Cli& cli) {
  auto object = std::make_shared<std::string>();
  CLI::App* rebalance =
      verb.add_subcommand("rebalance", "One cycle now, whatever the threshold; shows its plan");
  rebalance->add_option("object", *object, "Name")->required()->check(CheckName);
  rebalance->footer(absl::StrCat(kStops, "\nExample:\n  eris balancer rebalance orders\n"));
  rebalance->callback(
      [object, &cli] { cli.run = [object, &cli] { return RunPlan(cli, *object, true); }; });

  auto split = std::make_shared<MoveFlags>();
  CLI::App* presplit = verb.add_subcommand(
      "presplit", "Cut a range that is going to be hot, and give its pieces to other AEUs");
  AddRange(*presplit, *split);
  presplit->add_option("--parts", split->parts, "Even pieces; each goes to another AEU")
      ->required()
      ->check(CheckU64);
  presplit->footer(
      absl::StrCat("AEUs that have the least to do come first. ", kStops,
                   "\n"
                   "Example:\n"
                   "  eris balancer presplit orders --from 6000000 --to 6100000 --parts 4\n"));
  presplit->callback(
      [split, &cli] { cli.run = [split, &cli] { return RunMove(cli, *split, true); }; });

  auto moved = std::make_shared<MoveFlags>();
  CLI::App* move = verb.add_subcommand("move", "Give a range to an AEU, whoever has it");
  AddRange(*move, *moved);
  move->add_option("--aeu", moved->aeu, "The AEU that gets it; `eris stats` lists them")
      ->required()
      ->check(CheckU64);
  move->add_option("--kind", moved->kind, "link or copy; default: a link where it can be one")
      ->check(CLI::IsMember({"link", "copy"}));
  move->footer(absl::StrCat(
      kStops,
      "The balancer may move it on later: `eris balancer set --enabled false` keeps it there.\n"
      "\n"
      "Examples:\n"
      "  eris balancer move orders --from 1000 --to 2000 --aeu 3\n"
      "  eris balancer move rainfall --from 2024-01-01 --aeu 0 --kind copy --timeout 600\n"));
  move->callback(
      [moved, &cli] { cli.run = [moved, &cli] { return RunMove(cli, *moved, false); }; });
}

}  // namespace

void AddBalancer(CLI::App& app, Cli& cli) {
  CLI::App* verb = app.add_subcommand("balancer", "Watch and steer how ranges move between AEUs");
  verb->require_subcommand(1);
  AddShowing(*verb, cli);
  AddSteering(*verb, cli);
  AddMoving(*verb, cli);
  verb->footer("Each has its own: eris balancer move --help\n");
}

}  // namespace eris::cli
