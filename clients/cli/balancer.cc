// eris balancer: the load balancer of a running server.
#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "clients/balancer_client.h"
#include "clients/cli/balancer_flags.h"
#include "clients/cli/balancer_text.h"
#include "clients/cli/files/key_bounds.h"
#include "clients/cli/text/cli.h"
#include "clients/cli/text/exit_code.h"
#include "clients/cli/text/output.h"
#include "clients/cli/text/parse.h"
#include "clients/cli/text/progress_bar.h"
#include "clients/cli/text/progress_watch.h"
#include "eris/key_encoding.h"

namespace eris::cli {
namespace {

// How often `move --until-home` looks.
constexpr absl::Duration kUntilHomeAgain = absl::Milliseconds(20);

struct MoveFlags {
  std::string object;
  std::string from;
  std::string to;
  uint32_t parts = 0;
  uint32_t aeu = 0;
  std::string kind;
  bool until_home = false;
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

int Say(const Cli& cli, const Json& json, absl::string_view text) {
  Output output;
  if (cli.json()) {
    output.WriteJson(json);
  } else {
    output.Write(text);
  }
  return output.Finish(kExitOk);
}

int RunStatus(const Cli& cli, bool loads) {
  const auto client = cli.Connect();
  if (!client.ok()) return Report(client.status());
  absl::StatusOr<client::Balance> balance = client::BalancerClient(**client).Status();
  if (balance.ok()) {
    const absl::StatusOr<std::vector<ObjectInfo>> objects = (*client)->List();
    if (!objects.ok()) return Report(objects.status());
    AddOthers(*objects, balance->status);
  }
  return Print(cli, balance,
               [loads](const client::Balance& shown) { return ToText(shown, loads); });
}

int RunHistory(const Cli& cli, const HistoryFlags& flags) {
  const auto client = cli.Connect();
  if (!client.ok()) return Report(client.status());
  return Print(cli, client::BalancerClient(**client).History(flags.object, flags.limit),
               [](const std::vector<client::Transfer>& transfers) { return ToText(transfers); });
}

int RunSet(const Cli& cli, const BalancerFlags& flags) {
  if (!flags.any()) {
    return Report(absl::InvalidArgumentError(
        "no option is given, so nothing would change; `eris balancer set --help` lists them"));
  }
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

// Adds to an error at the deadline what has already been moved.
absl::Status WithWhatStays(const absl::Status& status, const Cli& cli, const std::string& object) {
  if (!absl::IsDeadlineExceeded(status)) return status;
  return absl::DeadlineExceededError(absl::StrCat(
      "not done within --timeout ", cli.timeout_s,
      ": what has moved by then stays, `eris balancer history ", object, "` shows it"));
}

// Rows that transfers have moved until now, done or under way; unset: the server does not tell.
std::optional<uint64_t> RowsMoved(client::Client& client) {
  const absl::StatusOr<client::Balance> balance = client::BalancerClient(client).Status();
  if (!balance.ok()) return std::nullopt;
  uint64_t rows = balance->status.rows_moved;
  for (const TransferRecord& transfer : balance->status.running) rows += transfer.rows;
  return rows;
}

// Tells how many rows have moved since this call, through a client that does not wait long.
ProgressWatch::Look MovesFromNow(const client::Client& client) {
  if (!ProgressIsSeen()) return nullptr;
  const std::shared_ptr<client::Client> quick = client.WithTimeout(absl::Seconds(1));
  const uint64_t before = RowsMoved(*quick).value_or(0);
  return [quick, before]() -> std::optional<uint64_t> {
    const std::optional<uint64_t> now = RowsMoved(*quick);
    if (!now) return std::nullopt;
    return *now - std::min(*now, before);
  };
}

// The result of `call`, which moves ranges, with the rows moved meanwhile shown.
template <class Call>
absl::Status WithMovesShown(const client::Client& client, Call call) {
  const ProgressWatch watch(/*total=*/0, MovesFromNow(client));
  return call();
}

// One cycle, with a bar whose total is what the plan of this moment would move.
absl::StatusOr<client::Plan> Rebalance(client::Client& client, const std::string& object) {
  client::BalancerClient balancer(client);
  uint64_t rows = 0;
  if (ProgressIsSeen()) {
    const absl::StatusOr<client::Plan> plan = balancer.PlanFor(object);
    if (!plan.ok()) return plan.status();
    for (const PlannedTransfer& transfer : plan->plan.transfers) rows += transfer.rows;
  }
  const ProgressWatch watch(rows, MovesFromNow(client));
  return balancer.Rebalance(object);
}

int RunPlan(const Cli& cli, const std::string& object, bool rebalance) {
  const auto client = cli.Connect();
  if (!client.ok()) return Report(client.status());
  absl::StatusOr<client::Plan> plan =
      rebalance ? Rebalance(**client, object) : client::BalancerClient(**client).PlanFor(object);
  if (rebalance && !plan.ok()) plan = WithWhatStays(plan.status(), cli, object);
  return Print(cli, plan,
               [rebalance](const client::Plan& shown) { return ToText(shown, rebalance); });
}

// The first column of the object's key; bounds are values of it. A heap table, whose ranges do not
// move, has none.
ColumnSchema BoundColumn(const ObjectInfo& object) {
  if (object.schema.has_key()) return object.schema.columns[object.schema.key[0]];
  return {.name = "key", .type = ColumnType::kUint64};
}

absl::Status ReadBound(absl::string_view option, const std::string& text,
                       const ColumnSchema& column, std::optional<uint64_t>& out) {
  if (text.empty()) return absl::OkStatus();
  const absl::StatusOr<uint64_t> word = WordFromText(column, text);
  if (!word.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(option, ": ", word.status().message()));
  }
  out = NearestKey(column.type, *word);  // as clients/balancer_client.h has bounds
  return absl::OkStatus();
}

// The range given by the flags.
absl::StatusOr<KeyRange> RangeOf(const MoveFlags& flags, const ColumnSchema& column) {
  std::optional<uint64_t> lo, hi;
  absl::Status status = ReadBound("--from", flags.from, column, lo);
  status.Update(ReadBound("--to", flags.to, column, hi));
  if (!status.ok()) return status;
  return KeyRange{.lo = lo.value_or(0), .hi = hi};
}

// Errors: InvalidArgument (fewer AEUs than the flags need).
absl::Status CheckAeus(client::Client& client, const MoveFlags& flags, bool presplit) {
  const absl::StatusOr<EngineStats> stats = client.Stats();
  if (!stats.ok()) return stats.status();
  const size_t aeus = stats->aeus.size();
  if (presplit && (flags.parts < 1 || flags.parts > aeus)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--parts is ", flags.parts, ", must be from 1 to ", aeus, ", the number of AEUs"));
  }
  if (!presplit && flags.aeu >= aeus) {
    return absl::InvalidArgumentError(
        absl::StrCat("--aeu is ", flags.aeu, ", must be from 0 to ", aeus - 1));
  }
  return absl::OkStatus();
}

// The object's transfers to that AEU after the given one, the newest first.
absl::StatusOr<std::vector<client::Transfer>> TransfersAfter(client::BalancerClient& balancer,
                                                             const MoveFlags& flags, uint64_t id) {
  absl::StatusOr<std::vector<client::Transfer>> transfers = balancer.History(flags.object);
  if (!transfers.ok()) return transfers;
  std::erase_if(*transfers, [&](const client::Transfer& transfer) {
    return transfer.record.id <= id || transfer.record.to != AeuId{flags.aeu};
  });
  return transfers;
}

bool AnyIs(const std::vector<client::Transfer>& transfers, MemoryFollows home) {
  return std::any_of(transfers.begin(), transfers.end(), [home](const client::Transfer& transfer) {
    return transfer.record.home == home;
  });
}

// Waits until no memory follows the transfers that the move took. Errors: DeadlineExceeded;
// ResourceExhausted (some stays where it was); the server's.
absl::Status AwaitHome(const Cli& cli, const MoveFlags& flags, client::BalancerClient& balancer,
                       uint64_t before, absl::Time deadline,
                       std::vector<client::Transfer>& transfers) {
  while (AnyIs(transfers, MemoryFollows::kUnderWay)) {
    if (absl::Now() >= deadline) {
      return absl::DeadlineExceededError(absl::StrCat(
          "the range has moved to AEU ", flags.aeu, ", but not all of its memory was there within ",
          "--timeout ", cli.timeout_s, ": it is still being brought, `eris balancer history ",
          flags.object, "` shows it"));
    }
    absl::SleepFor(kUntilHomeAgain);
    const uint64_t newest = transfers.front().record.id;
    auto now = TransfersAfter(balancer, flags, before);
    if (!now.ok()) return now.status();
    // Later ones are not this call's.
    std::erase_if(*now, [&](const auto& transfer) { return transfer.record.id > newest; });
    transfers = *std::move(now);
  }
  if (!AnyIs(transfers, MemoryFollows::kStays)) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "the range has moved to AEU ", flags.aeu, ", but its NumaNode has no memory for all of it: ",
      "some stays where it was; free some there (`eris memory`) and move the range by leap again"));
}

// Moves the range, and shows the transfers that this took.
int MoveTo(const Cli& cli, const MoveFlags& flags, client::Client& client, const KeyRange& range,
           ColumnType type, Json where) {
  client::BalancerClient balancer(client);
  const absl::Time deadline = absl::Now() + cli.timeout();
  const auto newest = balancer.History(flags.object, 1);
  if (!newest.ok()) return Report(newest.status());
  const uint64_t before = newest->empty() ? 0 : newest->front().record.id;
  const std::optional<TransferKind> kind = TransferKindNamed(flags.kind);  // empty: none
  absl::Status status = WithMovesShown(
      client, [&] { return balancer.Move(flags.object, range, AeuId{flags.aeu}, kind, type); });
  if (!status.ok()) return Report(WithWhatStays(status, cli, flags.object));
  auto transfers = TransfersAfter(balancer, flags, before);
  if (!transfers.ok()) return Report(transfers.status());
  if (flags.until_home) status = AwaitHome(cli, flags, balancer, before, deadline, *transfers);
  if (!status.ok()) return Report(status);
  return Say(
      cli,
      {{"object", flags.object},
       {"range", std::move(where)},
       {"aeu", flags.aeu},
       {"transfers", ToJson(*transfers)}},
      absl::StrCat("moved to AEU ", flags.aeu, "\n", transfers->empty() ? "" : ToText(*transfers)));
}

int RunMove(const Cli& cli, const MoveFlags& flags, bool presplit) {
  const auto to = cli.ConnectTo(flags.object);
  if (!to.ok()) return Report(to.status());
  const ColumnSchema column = BoundColumn(to->info);
  const ColumnType type = NearestKeyType(column.type);
  const absl::StatusOr<KeyRange> range = RangeOf(flags, column);
  if (!range.ok()) return Report(range.status());
  if (absl::Status status = CheckAeus(*to->client, flags, presplit); !status.ok()) {
    return Report(status);
  }
  // As given; null: no bound on that side.
  Json where{{"lo", nullptr}, {"hi", nullptr}};
  if (!flags.from.empty()) where["lo"] = flags.from;
  if (!flags.to.empty()) where["hi"] = flags.to;
  if (presplit) {
    const absl::Status status = WithMovesShown(*to->client, [&] {
      return client::BalancerClient(*to->client).Presplit(flags.object, *range, flags.parts, type);
    });
    if (!status.ok()) return Report(WithWhatStays(status, cli, flags.object));
    return Say(cli, {{"object", flags.object}, {"range", where}, {"parts", flags.parts}},
               absl::StrCat("split for ", flags.parts, " AEUs\n"));
  }
  return MoveTo(cli, flags, *to->client, *range, type, std::move(where));
}

std::vector<std::string> KindNames() {
  std::vector<std::string> names;
  for (const TransferKind kind : kTransferKinds) names.push_back(TransferKindName(kind));
  return names;
}

// The range of `move` and `presplit`.
void AddRange(Flags& verb, MoveFlags& flags) {
  verb.Add("object", flags.object, "Name").Required().Check(CheckName);
  verb.Add("--from", flags.from, "First key, or first part; default: from the lowest")
      .Check(CheckNotEmpty);
  verb.Add("--to", flags.to, "First key behind the range; default: to the end")
      .Check(CheckNotEmpty);
}

constexpr char kStops[] =
    "It is done when the command ends. After --timeout, or when it is interrupted, it stops where\n"
    "it is: what has moved by then stays there.\n";

void AddShowing(Flags& verb, Cli& cli) {
  auto loads = std::make_shared<bool>(false);
  Flags& status = verb.AddVerb("status", "Options, totals, and how even each object's load is");
  status.Add("--loads", *loads, "Also a line for each AEU of each object (JSON has them always)");
  status.SetFooter(
      "LOAD is the time that AEUs spend on the object, in seconds per second; the last period "
      "counts\n"
      "as much as all before it. Of heap tables, and with the algorithm size, it counts rows. The\n"
      "imbalance is the standard deviation of the loads in units of their mean: from the "
      "threshold\n"
      "on ranges are moved. While the balancer is disabled nobody looks, and there are no loads.\n"
      "\n"
      "Examples:\n"
      "  eris balancer status\n"
      "  watch -n1 eris balancer status\n"
      "  eris balancer status --loads\n"
      "  eris balancer status --output json | jq '.objects[].imbalance'\n");
  status.SetRun([loads, &cli] { return RunStatus(cli, *loads); });

  auto history = std::make_shared<HistoryFlags>();
  Flags& past = verb.AddVerb("history", "The last 1024 transfers, the newest first");
  past.Add("object", history->object, "Of this one alone").Check(CheckName);
  past.Add("--limit", history->limit, "At most so many").Check(Within(1u, 1024u));
  std::string footer;
  for (const TransferKind kind : kTransferKinds) {
    absl::StrAppend(&footer, "KIND ", TraitsOf(kind).name, ": ", TraitsOf(kind).summary, ".\n");
  }
  past.SetFooter(
      absl::StrCat(footer,
                   "LO and HI are the range, - where it has no end on that side (of tables: the "
                   "first column of\n"
                   "the key). LONGEST PAUSE is the CPU time that one turn of an AEU spent on it at "
                   "most; ON THE\n"
                   "WALL is the same by the clock, other threads on that core included, until the "
                   "range had\n"
                   "changed hands. HOME AFTER is when its memory was on the NumaNode of its new "
                   "owner, from the\n"
                   "beginning on, or had gone on with its range; some stays: there was no memory "
                   "for all of it.\n"
                   "BROUGHT are the bytes that the new owner moved to its NumaNode until then.\n"
                   "\n"
                   "Examples:\n"
                   "  eris balancer history --limit 10\n"
                   "  eris balancer history orders --output json | jq '.[].longest_pause_us'\n"));
  past.SetRun([history, &cli] { return RunHistory(cli, *history); });

  auto object = std::make_shared<std::string>();
  Flags& plan = verb.AddVerb("plan", "What rebalance would do now; moves nothing");
  plan.Add("object", *object, "Name").Required().Check(CheckName);
  plan.SetFooter(
      "Whatever the threshold: by itself the balancer makes such a plan only when the imbalance "
      "is\n"
      "above it, is not chance, and lasts.\n"
      "\n"
      "Example:\n"
      "  eris balancer plan orders\n");
  plan.SetRun([object, &cli] { return RunPlan(cli, *object, false); });
}

void AddSteering(Flags& verb, Cli& cli) {
  Flags& pause = verb.AddVerb("pause", "Stop what moves, and let nothing move");
  pause.SetFooter(
      "A transfer under way ends at the border of its chunk. It stays paused until `eris balancer\n"
      "resume`, or until the server starts again.\n"
      "\n"
      "Example:\n  eris balancer pause\n");
  pause.SetRun([&cli] { return RunPause(cli, true); });
  Flags& resume = verb.AddVerb("resume", "Let ranges move again");
  resume.SetFooter(
      "What a pause has stopped is not taken up again: the next period looks at the loads anew.\n"
      "\n"
      "Example:\n  eris balancer resume\n");
  resume.SetRun([&cli] { return RunPause(cli, false); });

  auto flags = std::make_shared<BalancerFlags>();
  Flags& set = verb.AddVerb("set", "Change options of the balancer, at once");
  flags->AddTo(set);
  set.SetFooter(
      "What is not given stays as it is. The server's configuration file is not changed.\n"
      "\n"
      "Examples:\n"
      "  eris balancer set --algorithm moving_average --window 2\n"
      "  eris balancer set --threshold 0.1 --period-ms 500\n"
      "  eris balancer set --max-pause-us 100 --max-bytes-per-s 200MiB\n"
      "  eris balancer set --enabled false\n");
  set.SetRun([flags, &cli] { return RunSet(cli, *flags); });
}

void AddMoving(Flags& verb, Cli& cli) {
  auto object = std::make_shared<std::string>();
  Flags& rebalance =
      verb.AddVerb("rebalance", "One cycle now, whatever the threshold; shows its plan");
  rebalance.Add("object", *object, "Name").Required().Check(CheckName);
  rebalance.SetFooter(absl::StrCat(kStops, "\nExample:\n  eris balancer rebalance orders\n"));
  rebalance.SetRun([object, &cli] { return RunPlan(cli, *object, true); });

  auto split = std::make_shared<MoveFlags>();
  Flags& presplit = verb.AddVerb(
      "presplit", "Cut a range that is going to be hot, and give its pieces to other AEUs");
  AddRange(presplit, *split);
  presplit.Add("--parts", split->parts, "Even pieces; each goes to another AEU")
      .Required()
      .Check(CheckU64);
  presplit.SetFooter(
      absl::StrCat("AEUs that have the least to do come first. ", kStops,
                   "\n"
                   "Example:\n"
                   "  eris balancer presplit orders --from 6000000 --to 6100000 --parts 2\n"));
  presplit.SetRun([split, &cli] { return RunMove(cli, *split, true); });

  auto moved = std::make_shared<MoveFlags>();
  Flags& move = verb.AddVerb("move", "Move a range to an AEU");
  AddRange(move, *moved);
  move.Add("--aeu", moved->aeu, "The AEU that gets it; `eris stats` lists them")
      .Required()
      .Check(CheckU64);
  const std::vector<std::string> kinds = KindNames();
  move.Add("--kind", moved->kind,
           absl::StrCat(absl::StrJoin(kinds, " or "), "; default: the cheapest that is possible"))
      .Check(OneOf(kinds));
  move.Add("--until-home", moved->until_home,
           "After a leap, also wait until the memory is on the AEU's NumaNode");
  move.SetFooter(absl::StrCat(
      kStops,
      "Shows the transfers that it took, as `eris balancer history` does. After a leap memory\n"
      "follows in the background.\n"
      "The balancer may move it on later: `eris balancer set --enabled false` keeps it there.\n"
      "\n"
      "Examples:\n"
      "  eris balancer move orders --from 1000 --to 2000 --aeu 1\n"
      "  eris balancer move orders --from 1000 --aeu 2 --kind leap --until-home\n"
      "  eris balancer move rainfall --from 2024-01-01 --aeu 0 --kind copy --timeout 600\n"));
  move.SetRun([moved, &cli] { return RunMove(cli, *moved, false); });
}

}  // namespace

void AddBalancer(Flags& program, Cli& cli) {
  Flags& verb = program.AddVerb("balancer", "Watch and steer how ranges move between AEUs");
  verb.RequireVerb();
  AddShowing(verb, cli);
  AddSteering(verb, cli);
  AddMoving(verb, cli);
  verb.SetFooter(
      "Each has its own: eris balancer move --help\n"
      "\n"
      "Examples:\n"
      "  eris balancer status\n"
      "  eris balancer history orders --limit 10\n"
      "  eris balancer set --enabled false\n");
}

}  // namespace eris::cli
