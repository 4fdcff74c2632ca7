// Compares the index o_orderkey -> o_custkey of a running server with the file it was loaded from:
// every key looked up, ranges scanned, half erased and everything again. It parses the file by its
// own few lines, not by the importer's. orders_test.py runs it.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "clients/batch_stream.h"
#include "clients/cli/text/flags.h"
#include "clients/eris_client.h"

namespace eris {
namespace {

constexpr size_t kBatch = 16384;
constexpr double kShareMax = 1.2;

struct Order {
  uint64_t key;
  uint64_t customer;
  bool erased = false;
};

[[noreturn]] void Fail(const std::string& what) {
  std::printf("orders_check: %s\n", what.c_str());
  std::exit(1);
}
void Check(const absl::Status& status) {
  if (!status.ok()) Fail(status.ToString());
}

// Ordered by key.
std::vector<Order> ReadOrders(const std::string& path) {
  std::ifstream file(path);
  std::vector<Order> orders;
  for (std::string line; std::getline(file, line);) {
    Order order{};
    const char* end = line.data() + line.size();
    const auto key = std::from_chars(line.data(), end, order.key);
    const auto customer = std::from_chars(key.ptr + 1, end, order.customer);
    if (*key.ptr != '|' || *customer.ptr != '|') Fail("unexpected line: " + line);
    orders.push_back(order);
  }
  std::sort(orders.begin(), orders.end(),
            [](const Order& a, const Order& b) { return a.key < b.key; });
  return orders;
}

// In random order, through one stream. The gaps between the file's keys must not be found.
void CheckEveryKey(client::Client& client, const ObjectInfo& object,
                   const std::vector<Order>& orders, std::mt19937_64& random) {
  std::vector<size_t> sequence(orders.size());
  for (size_t i = 0; i < sequence.size(); ++i) sequence[i] = i;
  std::shuffle(sequence.begin(), sequence.end(), random);
  // Each order twice: its own key, then the next one if that is a gap, else its own again.
  auto key_of = [&](size_t position) {
    const Order& order = orders[sequence[position / 2]];
    const bool gap = position % 2 == 1 && (sequence[position / 2] + 1 == orders.size() ||
                                           orders[sequence[position / 2] + 1].key != order.key + 1);
    return std::pair(order.key + (gap ? 1 : 0), !gap && !order.erased);
  };
  uint64_t wrong = 0;
  absl::Status failed;
  client::LookupStream stream(
      client, {}, [&](uint64_t index, absl::Status status, client::LookupResult result) {
        if (!status.ok()) failed = status;
        const absl::Span<const uint64_t> values = result.rows.Uint64s(0);
        for (size_t i = 0; status.ok() && i < values.size(); ++i) {
          const size_t position = index * kBatch + i;
          const auto [key, expected] = key_of(position);
          const bool right = result.found[i] == expected &&
                             (!expected || values[i] == orders[sequence[position / 2]].customer);
          if (!right && wrong++ == 0) {
            std::printf("key %lu: found %d, value %lu, expected found %d\n", key,
                        int{result.found[i]}, values[i], int{expected});
          }
        }
      });
  std::vector<uint64_t> keys;
  for (size_t position = 0; position < 2 * orders.size(); ++position) {
    keys.push_back(key_of(position).first);
    if (keys.size() < kBatch && position + 1 < 2 * orders.size()) continue;
    Check(stream.Send(object, keys));
    keys.clear();
  }
  Check(stream.Finish());
  Check(failed);
  if (wrong > 0) Fail(std::to_string(wrong) + " keys are wrong");
}

void CheckRange(client::Client& client, const ObjectInfo& object, const std::vector<Order>& orders,
                const KeyRange& range) {
  auto by_key = [](const Order& order, uint64_t key) { return order.key < key; };
  auto next = std::lower_bound(orders.begin(), orders.end(), range.lo, by_key);
  const auto end =
      range.hi ? std::lower_bound(next, orders.end(), *range.hi, by_key) : orders.end();
  client::OwnedRows rows;
  const auto reader = client.Scan(object, {.range = range});
  for (;;) {
    const absl::StatusOr<bool> more = reader->Next(rows);
    Check(more.status());
    if (!*more) break;
    for (size_t i = 0; i < rows.rows; ++i) {
      const uint64_t key = rows.Uint64s(0)[i];
      while (next != end && next->erased) ++next;
      if (next == end || next->key != key || next->customer != rows.Uint64s(1)[i]) {
        Fail("the scan from " + std::to_string(range.lo) + " shows key " + std::to_string(key) +
             " where the file has " + (next == end ? "no more" : std::to_string(next->key)));
      }
      ++next;
    }
  }
  while (next != end && next->erased) ++next;
  if (next != end) Fail("the scan ended before key " + std::to_string(next->key));
}

void CheckRanges(client::Client& client, const ObjectInfo& object, const std::vector<Order>& orders,
                 std::mt19937_64& random) {
  const uint64_t keys_end = orders.back().key + 1000;
  for (int i = 0; i < 10; ++i) {
    uint64_t lo = random() % keys_end, hi = random() % keys_end;
    if (lo > hi) std::swap(lo, hi);
    CheckRange(client, object, orders, {lo, hi});
  }
  CheckRange(client, object, orders, {0, std::nullopt});
}

void EraseHalf(client::Client& client, const ObjectInfo& object, std::vector<Order>& orders,
               std::mt19937_64& random) {
  std::vector<size_t> sequence(orders.size());
  for (size_t i = 0; i < sequence.size(); ++i) sequence[i] = i;
  std::shuffle(sequence.begin(), sequence.end(), random);
  sequence.resize(orders.size() / 2);
  std::vector<uint64_t> keys;
  for (size_t i = 0; i < sequence.size(); ++i) {
    orders[sequence[i]].erased = true;
    keys.push_back(orders[sequence[i]].key);
    if (keys.size() < kBatch && i + 1 < sequence.size()) continue;
    const auto erased = client.Write(object, WriteMode::kErase, keys);
    Check(erased.status());
    if (erased->existed.Count() != keys.size()) Fail("a key to erase was not there");
    keys.clear();
  }
}

// Checks how the file's keys, and the memory for them, are spread over the AEUs.
void CheckShares(client::Client& client, const ObjectInfo& info, const std::vector<Order>& orders) {
  if (info.keys != orders.size()) Fail("the object holds " + std::to_string(info.keys) + " keys");
  const auto stats = client.Stats();
  Check(stats.status());
  std::vector<double> keys(stats->aeus.size()), bytes(stats->aeus.size());
  double bytes_total = 0;
  for (const AeuStats& aeu : stats->aeus) {
    bytes.at(aeu.id.value) = static_cast<double>(aeu.memory_bytes);
    bytes_total += static_cast<double>(aeu.memory_bytes);
  }
  for (const Order& order : orders) {
    const auto partition =
        std::upper_bound(info.partition_starts.begin(), info.partition_starts.end(), order.key) -
        info.partition_starts.begin() - 1;
    keys.at(info.partition_owners.at(partition).value) += 1;
  }
  const auto aeus = static_cast<double>(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    const double key_share = keys[i] * aeus / static_cast<double>(orders.size());
    const double byte_share = bytes[i] * aeus / bytes_total;
    std::printf("AEU %zu: %.0f keys (%.3f of the mean), %.3f of the mean memory\n", i, keys[i],
                key_share, byte_share);
    if (key_share > kShareMax) Fail("an AEU holds more than 1.2 of the mean");
    if (byte_share > kShareMax) Fail("an AEU holds more than 1.2 of the mean memory");
  }
}

}  // namespace
}  // namespace eris

int main(int argc, char** argv) {
  std::string server, path;
  uint64_t seed = 1;
  eris::cli::Flags program(
      "Compares the object orders of a server with the file it was loaded from");
  program.Add("--server", server, "host:port").Env("ERIS_SERVER").Required();
  program.Add("--file", path, "The file").Required();
  program.Add("--seed", seed, "Of all that is random");
  if (const std::optional<int> code = program.Parse(argc, argv)) return *code;
  std::printf("seed %lu\n", seed);
  std::mt19937_64 random(seed);

  auto client = eris::client::Client::Connect({.server = server});
  eris::Check(client.status());
  std::vector<eris::Order> orders = eris::ReadOrders(path);
  if (orders.empty()) eris::Fail(path + " has no rows");
  const auto object = (*client)->Get("orders");
  eris::Check(object.status());
  eris::CheckShares(**client, *object, orders);
  eris::CheckEveryKey(**client, *object, orders, random);
  eris::CheckRanges(**client, *object, orders, random);
  eris::EraseHalf(**client, *object, orders, random);
  eris::CheckEveryKey(**client, *object, orders, random);
  eris::CheckRanges(**client, *object, orders, random);
  std::printf("%zu orders compared, half of them erased, compared again\n", orders.size());
  return 0;
}
