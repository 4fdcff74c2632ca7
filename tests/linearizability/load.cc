// Clients that read and write a few keys of a running server while the ranges around them change
// hands, and note what they did and were told (history.h). In the first half ranges are moved by
// hand (mover.h), in the second by the balancer, every 10 ms, as a load that shifts makes it
// (heat.h). Prints one line of JSON: operations and transfers by kind. run.py runs it; checker/
// judges the history.
#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "clients/balancer_client.h"
#include "clients/cli/text/flags.h"
#include "clients/eris_client.h"
#include "tests/linearizability/heat.h"
#include "tests/linearizability/history.h"
#include "tests/linearizability/keys.h"
#include "tests/linearizability/load_client.h"
#include "tests/linearizability/loaded_object.h"
#include "tests/linearizability/mover.h"

namespace eris {
namespace {

struct Flags {
  std::string server = "127.0.0.1:7411";
  std::string object = "keys";
  std::string kind = "index";
  std::string history;
  uint32_t clients = 8;
  uint32_t operations = 20'000;
  uint32_t seconds_min = 3;
  uint32_t move_pause_us = 200;
  uint32_t aeus = 4;
  uint32_t aeus_per_numa_node = 2;
  uint64_t seed = 1;
};

// As fast as it can be set to.
constexpr uint32_t kPeriodMs = 10;
constexpr double kThreshold = 0.05;

// The rows behind the keys are all there, none twice, and with them no row but those of the keys.
void CheckRows(client::Client& client, LoadedObject& object, const Rows& expected) {
  absl::StatusOr<Rows> all = object.ReadAll(client);
  Check(all.status());
  std::multiset<std::pair<uint64_t, uint64_t>> found;
  std::set<uint64_t> keys;
  for (size_t i = 0; i < all->keys.size(); ++i) {
    if (!IsLoadKey(all->keys[i])) {
      found.emplace(all->keys[i], all->values[i]);
    } else if (!keys.insert(all->keys[i]).second) {
      Fail("key " + std::to_string(all->keys[i]) + " is there twice");
    }
  }
  std::multiset<std::pair<uint64_t, uint64_t>> wanted;
  for (size_t i = 0; i < expected.keys.size(); ++i) {
    wanted.emplace(expected.keys[i], expected.values[i]);
  }
  if (found == wanted) return;
  const auto at = std::mismatch(found.begin(), found.end(), wanted.begin(), wanted.end());
  Fail("rows that nobody wrote to: " + std::to_string(found.size()) + " of " +
       std::to_string(wanted.size()) + ", others from " +
       (at.first == found.end() ? "the end" : std::to_string(at.first->first)) + " on");
}

// What each key is when all has been answered; `lane` is not in use.
std::vector<Operation> LastReads(client::Client& client, LoadedObject& object, uint32_t lane) {
  std::vector<Operation> reads;
  const int64_t begin_ns = NowNs();
  for (const uint64_t key : kKeys) {
    reads.push_back({.lane = lane, .verb = Verb::kGet, .key = key, .begin_ns = begin_ns});
  }
  Check(object.Execute(client, absl::MakeSpan(reads)));
  const int64_t end_ns = NowNs();
  for (Operation& one : reads) one.end_ns = end_ns;
  return reads;
}

BalancerStatus StatusOf(client::Client& client) {
  const auto balance = client::BalancerClient(client).Status();
  Check(balance.status());
  return balance->status;
}

uint64_t TransfersOf(const BalancerStatus& status) { return status.transfers.sum(); }

class Histories {
 public:
  explicit Histories(const std::string& path) : path_(path), file_(std::fopen(path.c_str(), "w")) {
    if (file_ == nullptr) Fail("cannot write " + path_);
  }
  ~Histories() { std::fclose(file_); }
  void Add(const std::vector<Operation>& operations) {
    if (!WriteHistory(file_, operations)) Fail("cannot write " + path_);
    operations_ += operations.size();
    for (const Operation& one : operations) ++answers_[static_cast<size_t>(one.answer)];
  }
  uint64_t operations() const { return operations_; }
  uint64_t answers(Answer answer) const { return answers_[static_cast<size_t>(answer)]; }

 private:
  const std::string path_;
  std::FILE* const file_;
  uint64_t operations_ = 0;
  uint64_t answers_[std::size(kAnswerNames)]{};
};

void Run(const Flags& flags) {
  auto connected = client::Client::Connect({.server = flags.server, .own_connection = true});
  Check(connected.status());
  client::Client& client = **connected;
  client::BalancerClient balancer(client);
  LoadedObject object(flags.kind, flags.object);
  const Rows rows = RowsBehind(0, kKeyCount - 1);
  Check(object.Create(client, rows));

  LoadProgress progress;
  std::vector<std::unique_ptr<LoadClient>> clients;
  // The last reads are operations, too.
  const uint32_t operations = flags.operations - static_cast<uint32_t>(kKeyCount);
  for (uint32_t i = 0; i < flags.clients; ++i) {
    const uint32_t share = operations / flags.clients + (i < operations % flags.clients ? 1 : 0);
    clients.push_back(std::make_unique<LoadClient>(
        LoadClientOptions{.server = flags.server, .id = i, .operations = share, .seed = flags.seed},
        object, progress));
  }
  const BalancerStatus before = StatusOf(client);
  const int64_t begin_ns = NowNs();
  Mover mover(client, {.object = flags.object,
                       .key_type = object.key_type(),
                       .keys = object.Borders(),
                       .rows_behind = kRowsBehindKey,
                       .links = object.HasLinks(),
                       .aeus = flags.aeus,
                       .aeus_per_numa_node = flags.aeus_per_numa_node,
                       .seed = flags.seed,
                       .pause = absl::Microseconds(flags.move_pause_us)});
  // A little longer than asked for: the last ones begin before the end.
  const int64_t interval_ns =
      flags.seconds_min * int64_t{1'050'000'000} * flags.clients / std::max<int64_t>(operations, 1);
  std::vector<std::thread> threads;
  for (const auto& one : clients) {
    threads.emplace_back([&] { one->Run(begin_ns, interval_ns); });
  }
  while (progress.operations.load(std::memory_order_relaxed) < operations / 2) {
    absl::SleepFor(absl::Milliseconds(1));
  }
  Check(mover.Stop());
  const BalancerStatus by_hand = StatusOf(client);
  Check(balancer.Set({.enabled = true, .threshold = kThreshold, .period_ms = kPeriodMs}).status());
  Heat heat(client, object, flags.seed);
  for (std::thread& thread : threads) thread.join();
  const uint64_t wrong_rows = heat.Stop();
  const int64_t end_ns = NowNs();
  Check(balancer.Set({.enabled = false}).status());
  const BalancerStatus after = StatusOf(client);
  const std::vector<Operation> last = LastReads(client, object, flags.clients * LoadClient::kLanes);
  CheckRows(client, object, rows);
  Check(client.Drop(flags.object));

  Histories histories(flags.history);
  uint64_t streamed = 0, doubled = 0;
  for (const auto& one : clients) {
    histories.Add(one->done());
    streamed += one->streamed();
    doubled += one->doubled();
  }
  histories.Add(last);
  std::printf("{\"operations\": %" PRIu64 ", \"streamed\": %" PRIu64 ", \"doubled\": %" PRIu64
              ", \"refused\": %" PRIu64 ", \"unanswered\": %" PRIu64 ", \"links\": %" PRIu64
              ", \"copies\": %" PRIu64 ", \"leaps\": %" PRIu64 ", \"balanced\": %" PRIu64
              ", \"wrong_rows\": %" PRIu64 ", \"seconds\": %.3f}\n",
              histories.operations(), streamed, doubled, histories.answers(Answer::kRefused),
              histories.answers(Answer::kUnknown),
              by_hand.transfers[TransferKind::kLink] - before.transfers[TransferKind::kLink],
              by_hand.transfers[TransferKind::kCopy] - before.transfers[TransferKind::kCopy],
              by_hand.transfers[TransferKind::kLeap] - before.transfers[TransferKind::kLeap],
              TransfersOf(after) - TransfersOf(by_hand), wrong_rows,
              static_cast<double>(end_ns - begin_ns) * 1e-9);
}

}  // namespace
}  // namespace eris

int main(int argc, char** argv) {
  eris::Flags flags;
  eris::cli::Flags program("Reads and writes a few keys while their ranges change hands",
                           "linearizability_load");
  program.Add("--server", flags.server, "host:port").Env("ERIS_SERVER");
  program.Add("--object", flags.object, "Is created, and dropped at the end");
  program.Add("--kind", flags.kind, "Of the object: index, int64, two_part, bytes, hash, table");
  program.Add("--history", flags.history, "File to write").Required();
  program.Add("--clients", flags.clients, "At once").Check(eris::cli::Within(1u, 256u));
  program.Add("--operations", flags.operations, "Of all clients together")
      .Check(eris::cli::Within(100u, 100'000'000u));
  program.Add("--seconds-min", flags.seconds_min, "They are spread over so long");
  program.Add("--move-pause-us", flags.move_pause_us, "Between two moves");
  program.Add("--aeus", flags.aeus, "Of the server").Check(eris::cli::Within(2u, 256u));
  program.Add("--aeus-per-numa-node", flags.aeus_per_numa_node, "Of the server")
      .Check(eris::cli::Within(2u, 256u));
  program.Add("--seed", flags.seed, "Of all that is random");
  if (const std::optional<int> code = program.Parse(argc, argv)) return *code;
  eris::Run(flags);
  return 0;
}
