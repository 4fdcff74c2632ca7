// What routing costs: look-ups through a session, an AEU and the completion queue, beside the same
// look-ups on the bare partition, in one run and in turns.
//
//   routed_lookup [keys, default 16 M] [seconds per measurement, default 1] [rounds, default 5]
//                 [keys in a batch, default 1024]
//
// One AEU, its session on another core where there is one; sparse 64-bit keys; 8192 keys in flight,
// at least two batches. Prints one JSON object: medians in M keys/s, their ratio, the spread, and
// what a key takes longer through the session (`over_ns`, of the AEU's core while it is the slower
// one).
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "eris/engine.h"
#include "memory/memory_manager.h"
#include "memory/memory_system.h"
#include "storage/index/index_partition.h"
#include "topology/topology.h"

namespace {

constexpr size_t kKeysInFlight = 8192;

double NowSeconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

uint64_t KeyOf(uint64_t i) {  // a bijection that spreads its argument over all 64 bits
  i = (i ^ (i >> 31)) * 0x9e3779b97f4a7c15u;
  i = (i ^ (i >> 29)) * 0xbf58476d1ce4e5b9u;
  return i ^ (i >> 32);
}

struct Rates {
  std::vector<double> millions;
  double Median() {
    std::sort(millions.begin(), millions.end());
    return millions[millions.size() / 2];
  }
};

// Batches of keys that are there, made before anything is measured: making them would count for the
// bare partition alone, the session's core has time for it.
class Probes {
 public:
  Probes(uint64_t keys, size_t batch, uint64_t seed)
      : batch_(batch), keys_(kProbes / batch * batch) {
    std::mt19937_64 random(seed);
    for (uint64_t& key : keys_) key = KeyOf(random() % keys);
  }
  const uint64_t* Next() {
    if (next_ + batch_ > keys_.size()) next_ = 0;
    next_ += batch_;
    return &keys_[next_ - batch_];
  }
  size_t batch() const { return batch_; }

 private:
  static constexpr size_t kProbes = 4 << 20;
  const size_t batch_;
  std::vector<uint64_t> keys_;
  size_t next_ = 0;
};

// Each value is its key.
bool AllRight(const uint64_t* keys, const void* values, size_t count) {
  return std::memcmp(keys, values, count * sizeof *keys) == 0;
}

// M keys/s of Execute on a partition that holds the same keys.
double MeasureBare(eris::storage::Partition& partition, Probes& probes, double seconds,
                   std::atomic<uint64_t>& wrong) {
  const auto batch = static_cast<uint32_t>(probes.batch());
  std::vector<uint64_t> values(batch);
  std::vector<uint32_t> positions(batch);
  std::vector<eris::storage::KeyState> states(batch);
  for (uint32_t i = 0; i < batch; ++i) positions[i] = i;
  uint64_t done = 0;
  const double begin = NowSeconds();
  do {
    const uint64_t* const keys = probes.Next();
    const eris::storage::BatchPart part{.count = batch,
                                        .keys = keys,
                                        .positions = positions.data(),
                                        .values_out = values.data(),
                                        .states_out = states.data()};
    partition.Execute({eris::storage::Operation::kLookup, {&part, 1}});
    if (!AllRight(keys, values.data(), batch)) wrong.fetch_add(1);
    done += batch;
  } while (NowSeconds() - begin < seconds);
  return static_cast<double>(done) / (NowSeconds() - begin) / 1e6;
}

double MeasureRouted(eris::Session& session, Probes& probes, double seconds,
                     std::atomic<uint64_t>& wrong) {
  const size_t batch = probes.batch();
  const size_t in_flight_max = std::max<size_t>(2, kKeysInFlight / batch);
  std::atomic<size_t> in_flight{0};
  uint64_t done = 0;
  const double begin = NowSeconds();
  do {
    while (in_flight.load(std::memory_order_acquire) >= in_flight_max) std::this_thread::yield();
    in_flight.fetch_add(1, std::memory_order_relaxed);
    const uint64_t* const keys = probes.Next();
    const auto call =
        session.LookupAsync("keys", {keys, batch}, [&, keys](eris::BatchResult result) {
          const bool right = result.status.ok() && result.values.size() == batch * sizeof *keys &&
                             AllRight(keys, result.values.data(), batch);
          if (!right) wrong.fetch_add(1);
          in_flight.fetch_sub(1, std::memory_order_release);
        });
    if (!call.ok()) wrong.fetch_add(1);
    done += batch;
  } while (NowSeconds() - begin < seconds);
  while (in_flight.load(std::memory_order_acquire) > 0) std::this_thread::yield();
  return static_cast<double>(done) / (NowSeconds() - begin) / 1e6;
}

}  // namespace

int main(int argc, char** argv) {
  const uint64_t keys = argc > 1 ? std::strtoull(argv[1], nullptr, 0) : 16'000'000;
  const double seconds = argc > 2 ? std::strtod(argv[2], nullptr) : 1;
  const int rounds = argc > 3 ? std::atoi(argv[3]) : 5;

  const size_t batch_keys = argc > 4 ? std::strtoull(argv[4], nullptr, 0) : 1024;
  if (batch_keys == 0 || batch_keys > eris::kBatchKeysMax) return 1;

  eris::Options options;
  options.aeu_count = 1;
  auto engine = eris::Engine::Open(options);
  if (!engine.ok() || !(*engine)->Create("keys", {}).ok()) return 1;
  auto session = (*engine)->NewSession();

  auto topology = eris::topology::Topology::Discover();
  if (!topology.ok()) return 1;
  eris::memory::MemorySystem memory(*topology, {.limit_bytes = topology->memory_bytes()});
  eris::memory::MemoryManager manager({1}, memory.pool({0}));
  eris::memory::LocalCache& cache = *manager.NewCache();
  auto partition = eris::storage::IndexPartition::Create({}, cache);
  if (!partition.ok()) return 1;

  std::vector<uint64_t> batch(65536);
  std::vector<uint32_t> positions(batch.size());
  std::vector<eris::storage::KeyState> states(batch.size());
  for (uint32_t i = 0; i < positions.size(); ++i) positions[i] = i;
  for (uint64_t first = 0; first < keys; first += batch.size()) {
    const size_t n = std::min<uint64_t>(batch.size(), keys - first);
    for (size_t i = 0; i < n; ++i) batch[i] = KeyOf(first + i);
    if (!session->Upsert("keys", {batch.data(), n}, {batch.data(), n}).ok()) return 1;
    const eris::storage::BatchPart part{.count = static_cast<uint32_t>(n),
                                        .keys = batch.data(),
                                        .values_in = batch.data(),
                                        .positions = positions.data(),
                                        .states_out = states.data()};
    (*partition)->Execute({eris::storage::Operation::kUpsert, {&part, 1}});
  }

  Rates bare, routed;
  std::atomic<uint64_t> wrong{0};
  for (int round = 0; round < rounds; ++round) {
    Probes probes(keys, batch_keys, round);
    bare.millions.push_back(MeasureBare(**partition, probes, seconds, wrong));
    routed.millions.push_back(MeasureRouted(*session, probes, seconds, wrong));
  }
  const double bare_median = bare.Median();
  const double routed_median = routed.Median();
  std::printf(
      "{\"keys\": %llu, \"batch\": %zu, \"bare_mkeys_s\": %.2f, "
      "\"routed_mkeys_s\": %.2f, "
      "\"routed_over_bare\": %.3f, \"over_ns\": %.2f, \"routed_min\": %.2f, \"routed_max\": %.2f, "
      "\"wrong\": %llu}\n",
      static_cast<unsigned long long>(keys), batch_keys, bare_median, routed_median,
      routed_median / bare_median, 1e3 / routed_median - 1e3 / bare_median, routed.millions.front(),
      routed.millions.back(), static_cast<unsigned long long>(wrong.load()));
  (*partition)->Abandon();
  return wrong.load() == 0 ? 0 : 1;
}
