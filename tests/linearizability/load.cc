// Clients that read and write a few keys of a running server while the ranges around them change
// hands, and note what they did and were told (history.h). Prints one line of JSON: operations and
// transfers by kind. run.py runs it; checker/ judges the history.
#include <algorithm>
#include <array>
#include <atomic>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "clients/balancer_client.h"
#include "clients/cli/flags.h"
#include "clients/eris_client.h"
#include "tests/linearizability/history.h"
#include "tests/linearizability/mover.h"

namespace eris {
namespace {

constexpr uint64_t kLargest = ~uint64_t{0};
// Both ends of the key space, neighbours, and far ones.
constexpr uint64_t kKeys[] = {0,
                              1,
                              1'000'000,
                              1'000'001,
                              uint64_t{1} << 32,
                              (uint64_t{1} << 32) + 1,
                              uint64_t{1} << 48,
                              uint64_t{3} << 60,
                              uint64_t{1} << 62,
                              (uint64_t{1} << 62) + 256,
                              (uint64_t{1} << 63) - 1,
                              uint64_t{1} << 63,
                              uint64_t{11} << 60,
                              uint64_t{13} << 60,
                              kLargest - 1,
                              kLargest};
// Rows that nobody writes to, behind some of the keys: what moves is not empty besides, and in the
// end all of them are there, once.
constexpr uint32_t kRowsBeside = 200;
// One write in so many has so little time that its client often does not hear how it ended. Of a
// key there are few: each may take effect at any time to the end, and the checker tries that.
constexpr uint32_t kHastyEvery = 400;
constexpr uint32_t kHastyMinUs = 50, kHastyMaxUs = 450;
constexpr uint32_t kHastyPerKeyMax = 6;

[[noreturn]] void Fail(const std::string& what) {
  std::fprintf(stderr, "linearizability_load: %s\n", what.c_str());
  std::exit(1);
}
void Check(const absl::Status& status) {
  if (!status.ok()) Fail(status.ToString());
}

struct Flags {
  std::string server = "127.0.0.1:7411";
  std::string object = "keys";
  std::string history;
  uint32_t clients = 8;
  uint32_t operations = 20'000;
  uint32_t seconds_min = 3;
  uint32_t move_pause_us = 2000;
  uint32_t aeus = 4;
  uint32_t aeus_per_numa_node = 2;
  uint64_t seed = 1;
};

int64_t NowNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// How many hasty writes each key has had, of all clients.
using HastyWrites = std::array<std::atomic<uint32_t>, std::size(kKeys)>;

// One after another, each at its time at the earliest, which is the same for all clients: so
// operations overlap.
class LoadClient {
 public:
  LoadClient(const Flags& flags, uint32_t id, uint32_t operations, HastyWrites& hasty_writes)
      : flags_(flags),
        id_(id),
        operations_(operations),
        hasty_writes_(hasty_writes),
        random_(flags.seed * 1000 + id) {
    auto client = client::Client::Connect({.server = flags.server, .own_connection = true});
    Check(client.status());
    client_ = *std::move(client);
    done_.reserve(operations);
    for (uint64_t& value : last_read_) value = 0;
  }

  void Run(int64_t begin_ns, int64_t interval_ns) {
    for (uint32_t i = 0; i < operations_; ++i) {
      const int64_t wait_ns = begin_ns + i * interval_ns - NowNs();
      if (wait_ns > 0) absl::SleepFor(absl::Nanoseconds(wait_ns));
      const size_t key = random_() % std::size(kKeys);
      Operation one = Draw(i, key);
      const std::unique_ptr<client::Client> hasty =
          one.verb == Verb::kGet || one.verb == Verb::kScan ? nullptr : DrawHasty(key);
      one.begin_ns = NowNs();
      Execute(hasty == nullptr ? *client_ : *hasty, one);
      one.end_ns = NowNs();
      if (one.answer != Answer::kUnknown && one.read != 0) last_read_[key] = one.read;
      done_.push_back(one);
    }
  }
  const std::vector<Operation>& done() const { return done_; }

 private:
  Operation Draw(uint32_t number, size_t key) {
    // Of ten: two gets, two scans, two upserts, an insert, two compare-and-sets, an erase.
    static constexpr Verb kDrawn[] = {Verb::kGet,    Verb::kGet,    Verb::kScan,   Verb::kScan,
                                      Verb::kUpsert, Verb::kUpsert, Verb::kInsert, Verb::kCas,
                                      Verb::kCas,    Verb::kErase};
    Operation one{.client = id_, .verb = kDrawn[random_() % std::size(kDrawn)], .key = kKeys[key]};
    if (one.verb == Verb::kUpsert || one.verb == Verb::kInsert || one.verb == Verb::kCas) {
      // Nobody else writes it, so that whoever reads it knows by whom it is.
      one.value = (uint64_t{id_} + 1) << 32 | (number + 1);
    }
    if (one.verb == Verb::kCas) one.expected = last_read_[key];
    return one;
  }

  // nullptr, mostly: the write has all the time that it needs.
  std::unique_ptr<client::Client> DrawHasty(size_t key) {
    if (random_() % kHastyEvery != 0) return nullptr;
    const uint64_t us = kHastyMinUs + random_() % (kHastyMaxUs - kHastyMinUs + 1);
    // relaxed: a bound.
    if (hasty_writes_[key].fetch_add(1, std::memory_order_relaxed) >= kHastyPerKeyMax) {
      return nullptr;
    }
    return client_->WithTimeout(absl::Microseconds(us));
  }

  void Execute(client::Client& client, Operation& one) {
    const uint64_t keys[] = {one.key}, values[] = {one.value}, expected[] = {one.expected};
    const absl::Span<const uint64_t> key(keys);
    const auto took = [&](const absl::StatusOr<client::RowBits>& existed) {
      if (!existed.ok()) return Failed(one, existed.status());
      one.answer = Answer::kYes;
      one.was = (*existed)[0];
    };
    switch (one.verb) {
      case Verb::kGet: {
        const auto found = client.Lookup(flags_.object, key);
        if (!found.ok()) return Failed(one, found.status());
        one.answer = found->found[0] ? Answer::kYes : Answer::kNo;
        if (found->found[0]) one.read = found->values[0];
        return;
      }
      case Verb::kScan:
        return Scan(client, one);
      case Verb::kUpsert:
        return took(client.Upsert(flags_.object, key, values));
      case Verb::kErase:
        return took(client.Erase(flags_.object, key));
      case Verb::kInsert:
      case Verb::kCas: {
        const bool cas = one.verb == Verb::kCas;
        const auto written = client.Write(
            flags_.object, cas ? WriteMode::kCompareAndSet : WriteMode::kInsertIfAbsent, key,
            values, cas ? absl::Span<const uint64_t>(expected) : absl::Span<const uint64_t>());
        if (!written.ok()) return Failed(one, written.status());
        if (!written->executed[0]) {
          one.answer = Answer::kRefused;
          return;
        }
        one.answer = written->applied[0] ? Answer::kYes : Answer::kNo;
        one.was = written->existed[0];
        if (one.was) one.read = written->values[0];
        return;
      }
    }
  }

  void Scan(client::Client& client, Operation& one) {
    const auto hi = one.key == kLargest ? std::nullopt : std::optional(one.key + 1);
    const auto reader = client.Scan(flags_.object, {.lo = one.key, .hi = hi});
    client::ScanRows rows;
    one.answer = Answer::kNo;
    for (;;) {
      const absl::StatusOr<bool> more = reader->Next(rows);
      if (!more.ok()) return Failed(one, more.status());
      if (!*more) return;
      for (size_t i = 0; i < rows.keys.size(); ++i) {
        if (rows.keys[i] != one.key || one.answer == Answer::kYes) {
          Fail("a scan of one key has answered another row");
        }
        one.answer = Answer::kYes;
        one.read = rows.values[i];
      }
    }
  }

  void Failed(Operation& one, const absl::Status& status) {
    one.answer = Answer::kUnknown;
    if (absl::IsDeadlineExceeded(status)) return;
    // The first, for whoever wonders about the count.
    if (failures_++ == 0) std::fprintf(stderr, "client %u: %s\n", id_, status.ToString().c_str());
  }

  const Flags& flags_;
  const uint32_t id_;
  const uint32_t operations_;
  HastyWrites& hasty_writes_;
  std::mt19937_64 random_;
  std::unique_ptr<client::Client> client_;
  uint64_t last_read_[std::size(kKeys)];
  uint32_t failures_ = 0;
  std::vector<Operation> done_;
};

// Rows beside the keys, in order.
struct RowsBeside {
  std::vector<uint64_t> keys, values;
};

// A range for every key, in the beginning.
RowsBeside Create(client::Client& client, const Flags& flags) {
  Check(client.Create(flags.object, {.split_points = {std::begin(kKeys) + 1, std::end(kKeys)}})
            .status());
  RowsBeside rows;
  for (size_t i = 0; i + 1 < std::size(kKeys); ++i) {
    const uint64_t gap = kKeys[i + 1] - kKeys[i];
    for (uint32_t row = 1; row <= kRowsBeside && row < gap; ++row) {
      rows.keys.push_back(kKeys[i] + row);
      rows.values.push_back(row);
    }
  }
  Check(client.Upsert(flags.object, rows.keys, rows.values).status());
  return rows;
}

// All of them are there, none twice, and beside them no row but those of the keys.
void CheckRows(client::Client& client, const Flags& flags, const RowsBeside& expected) {
  RowsBeside found;
  const auto reader = client.Scan(flags.object, {});
  client::ScanRows rows;
  for (;;) {
    const absl::StatusOr<bool> more = reader->Next(rows);
    Check(more.status());
    if (!*more) break;
    for (size_t i = 0; i < rows.keys.size(); ++i) {
      if (std::binary_search(std::begin(kKeys), std::end(kKeys), rows.keys[i])) continue;
      found.keys.push_back(rows.keys[i]);
      found.values.push_back(rows.values[i]);
    }
  }
  const auto at = static_cast<size_t>(std::mismatch(found.keys.begin(), found.keys.end(),
                                                    expected.keys.begin(), expected.keys.end())
                                          .first -
                                      found.keys.begin());
  if (found.keys == expected.keys && found.values == expected.values) return;
  Fail("rows that nobody wrote to: " + std::to_string(found.keys.size()) + " of " +
       std::to_string(expected.keys.size()) + ", others from the one behind " +
       (at == 0 ? "the beginning" : std::to_string(found.keys[at - 1])));
}

BalancerStatus StatusOf(client::Client& client) {
  const auto balance = client::BalancerClient(client).Status();
  Check(balance.status());
  return balance->status;
}

void Run(const Flags& flags) {
  auto connected = client::Client::Connect({.server = flags.server, .own_connection = true});
  Check(connected.status());
  client::Client& client = **connected;
  const RowsBeside rows = Create(client, flags);
  HastyWrites hasty_writes{};
  std::vector<std::unique_ptr<LoadClient>> clients;
  for (uint32_t i = 0; i < flags.clients; ++i) {
    const uint32_t share =
        flags.operations / flags.clients + (i < flags.operations % flags.clients ? 1 : 0);
    clients.push_back(std::make_unique<LoadClient>(flags, i, share, hasty_writes));
  }
  const BalancerStatus before = StatusOf(client);
  const int64_t begin_ns = NowNs();
  Mover mover(client, {.object = flags.object,
                       .keys = {std::begin(kKeys), std::end(kKeys)},
                       .rows_beside = kRowsBeside,
                       .aeus = flags.aeus,
                       .aeus_per_numa_node = flags.aeus_per_numa_node,
                       .seed = flags.seed,
                       .pause = absl::Microseconds(flags.move_pause_us)});
  // A little longer than asked for: the last ones begin before the end.
  const int64_t interval_ns = flags.seconds_min * int64_t{1'050'000'000} * flags.clients /
                              std::max<int64_t>(flags.operations, 1);
  std::vector<std::thread> threads;
  for (const auto& one : clients) {
    threads.emplace_back([&] { one->Run(begin_ns, interval_ns); });
  }
  for (std::thread& thread : threads) thread.join();
  const int64_t end_ns = NowNs();
  Check(mover.Stop());
  const BalancerStatus after = StatusOf(client);
  CheckRows(client, flags, rows);
  Check(client.Drop(flags.object));

  std::FILE* const file = std::fopen(flags.history.c_str(), "w");
  if (file == nullptr) Fail("cannot write " + flags.history);
  uint64_t operations = 0, answers[std::size(kAnswerNames)] = {};
  for (const auto& one : clients) {
    if (!WriteHistory(file, one->done())) Fail("cannot write " + flags.history);
    operations += one->done().size();
    for (const Operation& done : one->done()) ++answers[static_cast<size_t>(done.answer)];
  }
  std::fclose(file);
  std::printf("{\"operations\": %" PRIu64 ", \"refused\": %" PRIu64 ", \"unanswered\": %" PRIu64
              ", \"links\": %" PRIu64 ", \"copies\": %" PRIu64 ", \"seconds\": %.3f}\n",
              operations, answers[static_cast<size_t>(Answer::kRefused)],
              answers[static_cast<size_t>(Answer::kUnknown)], after.links - before.links,
              after.copies - before.copies, static_cast<double>(end_ns - begin_ns) * 1e-9);
}

}  // namespace
}  // namespace eris

int main(int argc, char** argv) {
  eris::Flags flags;
  eris::cli::Flags program("Reads and writes a few keys while their ranges change hands",
                           "linearizability_load");
  program.Add("--server", flags.server, "host:port").Env("ERIS_SERVER");
  program.Add("--object", flags.object, "Is created, and dropped at the end");
  program.Add("--history", flags.history, "File to write").Required();
  program.Add("--clients", flags.clients, "At once").Check(eris::cli::Within(1u, 256u));
  program.Add("--operations", flags.operations, "Of all clients together");
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
