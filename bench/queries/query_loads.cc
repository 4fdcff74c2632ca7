#include "bench/queries/query_loads.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <functional>
#include <mutex>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "bench/must.h"
#include "bench/queries/await_quiet.h"
#include "bench/queries/single_lookups.h"

namespace eris::bench {
namespace {

using nlohmann::json;

double MsSince(uint64_t begin_ns) { return static_cast<double>(NowNs() - begin_ns) / 1e6; }

// `sorted`: ascending.
double At(const std::vector<double>& sorted, double share) {
  return sorted[static_cast<size_t>(share * static_cast<double>(sorted.size() - 1))];
}

void RunAll(TpchEngine& tpch, Session& session) {
  for (uint32_t number = 1; number <= kTpchQueries; ++number) Must(tpch.Run(session, number));
}

// The queries in an order that belongs to this client and round.
std::array<uint32_t, kTpchQueries> OrderOf(uint32_t client, uint32_t round) {
  std::array<uint32_t, kTpchQueries> order;
  std::iota(order.begin(), order.end(), 1u);
  std::mt19937_64 random(uint64_t{client} << 32 | round);
  std::shuffle(order.begin(), order.end(), random);
  return order;
}

uint64_t ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t whole = 0, resident = 0;
  if (!(file >> whole >> resident)) Die("cannot read /proc/self/statm");
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

// Cancels the query after `delay_ms`. Milliseconds until it is gone; nothing if it ended before.
std::optional<double> CancelAfter(TpchEngine& tpch, Session& session, uint32_t number,
                                  double delay_ms) {
  const uint64_t begin_ns = NowNs();
  std::unique_ptr<Scan> query = Must(tpch.Open(session, number));
  absl::Status ended;
  std::thread reader([&] {
    QueryAnswer answer;
    ended = answer.Read(*query);
  });
  const double left_ms = delay_ms - MsSince(begin_ns);
  if (left_ms > 0) absl::SleepFor(absl::Milliseconds(left_ms));
  const uint64_t cancel_ns = NowNs();
  query->Cancel();
  reader.join();
  query.reset();
  AwaitQuiet(tpch.engine());
  const double gone_ms = MsSince(cancel_ns);
  if (ended.ok()) return std::nullopt;
  if (!absl::IsCancelled(ended)) Must(ended);
  return gone_ms;
}

}  // namespace

// --- ranges that move ---

RangeMover::RangeMover(TpchEngine& tpch, uint32_t aeus)
    : tpch_(tpch), rows_before_(tpch.engine().Balancer().rows_moved) {
  thread_ = std::thread([this, aeus] { Move(aeus); });
}

RangeMover::~RangeMover() { Stop(); }

json RangeMover::Stop() {
  stop_.store(true, std::memory_order_relaxed);  // it ends the loop; the join orders the rest
  if (thread_.joinable()) thread_.join();
  return {{"moves", moves_.load(std::memory_order_relaxed)},
          {"rows_moved", tpch_.engine().Balancer().rows_moved - rows_before_}};
}

void RangeMover::Move(uint32_t aeus) {
  std::mt19937_64 random(1);
  while (!stop_.load(std::memory_order_relaxed)) {
    const CutTable& table = tpch_.cut_tables()[random() % tpch_.cut_tables().size()];
    const auto [range, to] = NextMove(table, aeus, random);
    const absl::Status status = tpch_.engine().MoveRange(table.name, range, to);
    // The balancer may have cut the table elsewhere meanwhile.
    if (absl::IsFailedPrecondition(status)) continue;
    Must(status);
    moves_.fetch_add(1, std::memory_order_relaxed);
  }
}

// A table is cut at the ends of its partitions alone: a piece of one goes to the owner of the next.
std::pair<KeyRange, AeuId> RangeMover::NextMove(const CutTable& table, uint32_t aeus,
                                                std::mt19937_64& random) {
  const ObjectInfo info = Must(tpch_.engine().Describe(table.name));
  const size_t partitions = info.partition_starts.size();
  if (partitions < 2) {
    const uint64_t cut = table.first + random() % (table.last - table.first + 1);
    return {KeyRange{.lo = cut}, AeuId{static_cast<uint32_t>(random() % aeus)}};
  }
  const size_t right = 1 + random() % (partitions - 1);  // the partition above the bound that moves
  const uint64_t bound = info.partition_starts[right];
  const auto piece = [&](uint64_t keys) { return 1 + random() % (keys / 4 + 1); };
  if (random() % 2 == 0) {
    const uint64_t lo = std::max(info.partition_starts[right - 1], table.first);
    const uint64_t keys = std::max(bound, lo + 1) - lo;
    return {KeyRange{.lo = bound - std::min(piece(keys), keys), .hi = bound},
            info.partition_owners[right]};
  }
  const uint64_t end = right + 1 < partitions ? info.partition_starts[right + 1] : table.last + 1;
  const uint64_t keys = std::max(end, bound + 1) - bound;
  return {KeyRange{.lo = bound, .hi = bound + std::min(piece(keys), keys)},
          info.partition_owners[right - 1]};
}

// --- lookups, clients ---

json Lookups(TpchEngine& tpch, uint64_t ms, bool with_queries) {
  std::function<void(Session&)> queries;
  if (with_queries) queries = [&](Session& session) { RunAll(tpch, session); };
  json told = SingleLookups(tpch.engine(), ms, queries);
  told["queries"] = told["loops"].get<uint64_t>() * kTpchQueries;
  told.erase("loops");
  return told;
}

json Clients(TpchEngine& tpch, uint32_t clients, uint32_t rounds) {
  std::vector<std::thread> threads;
  std::mutex mu;
  uint64_t refused = 0;
  std::string why;
  const uint64_t begin_ns = NowNs();
  for (uint32_t client = 0; client < clients; ++client) {
    threads.emplace_back([&, client] {
      const auto session = tpch.engine().NewSession();
      for (uint32_t round = 0; round < rounds; ++round) {
        for (const uint32_t number : OrderOf(client, round)) {
          const absl::Status status = tpch.Run(*session, number).status();
          if (status.ok()) continue;
          if (!absl::IsResourceExhausted(status)) Must(status);
          const std::lock_guard lock(mu);
          ++refused;
          why = absl::StrFormat("query %d: %s", number, status.ToString());
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const double seconds = MsSince(begin_ns) / 1e3;
  const uint64_t queries = uint64_t{clients} * rounds * kTpchQueries - refused;
  return {{"seconds", seconds},
          {"queries", queries},
          {"queries_s", static_cast<double>(queries) / seconds},
          {"refused", refused},
          {"why", why}};
}

// --- memory, cancelled queries ---

json ResidentLoop(TpchEngine& tpch, double seconds) {
  const auto session = tpch.engine().NewSession();
  RunAll(tpch, *session);
  std::vector<uint64_t> bytes;
  const uint64_t begin_ns = NowNs();
  while (bytes.size() < 2 || MsSince(begin_ns) < seconds * 1e3) {
    RunAll(tpch, *session);
    bytes.push_back(ResidentBytes());
  }
  const auto [least, most] = std::minmax_element(bytes.begin(), bytes.end());
  return {{"rounds", bytes.size()},
          {"first_bytes", bytes.front()},
          {"last_bytes", bytes.back()},
          {"least_bytes", *least},
          {"most_bytes", *most}};
}

json CancelQueries(TpchEngine& tpch, uint32_t count, uint64_t seed) {
  const auto session = tpch.engine().NewSession();
  std::array<double, kTpchQueries> whole_ms;
  for (uint32_t number = 1; number <= kTpchQueries; ++number) {
    Must(tpch.Run(*session, number));
    const uint64_t begin_ns = NowNs();
    Must(tpch.Run(*session, number));
    whole_ms[number - 1] = MsSince(begin_ns);
  }
  AwaitQuiet(tpch.engine());
  std::mt19937_64 random(seed);
  std::vector<double> gone_ms;
  std::array<double, kTpchQueries> longest_ms{};
  uint64_t ended_before = 0;
  double slowest_ms = -1;
  json slowest;
  while (gone_ms.size() < count) {
    const auto number = static_cast<uint32_t>(1 + random() % kTpchQueries);
    const double delay_ms = std::uniform_real_distribution<>(0, whole_ms[number - 1])(random);
    const auto gone = CancelAfter(tpch, *session, number, delay_ms);
    if (!gone) {
      // A query that is faster than it was may end before each of its moments; others do not.
      if (++ended_before > uint64_t{10} * count + 100) Die("queries end before they are cancelled");
      continue;
    }
    gone_ms.push_back(*gone);
    longest_ms[number - 1] = std::max(longest_ms[number - 1], *gone);
    if (*gone > slowest_ms) {
      slowest_ms = *gone;
      slowest = {{"query", number}, {"after_ms", delay_ms}, {"whole_ms", whole_ms[number - 1]}};
    }
  }
  std::sort(gone_ms.begin(), gone_ms.end());
  return {{"cancelled", gone_ms.size()}, {"ended_before", ended_before},
          {"p50_ms", At(gone_ms, 0.5)},  {"p99_ms", At(gone_ms, 0.99)},
          {"max_ms", gone_ms.back()},    {"slowest", slowest},
          {"longest_ms", longest_ms}};
}

}  // namespace eris::bench
