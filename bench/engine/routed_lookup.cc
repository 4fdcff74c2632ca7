// Measures the cost of routing: lookups through a session, an AEU and the completion queue,
// compared with the same lookups on the bare partition, alternating in one run.
//
//   routed_lookup [keys, default 16 M] [seconds per measurement, default 1] [rounds, default 5]
//                 [keys in a batch, default 1024]
//
// One AEU, its session on another core if there is one; sparse 64-bit keys; 8192 keys in flight, at
// least two batches. Prints one JSON object: medians in M keys/s, their ratio, the spread, and the
// additional time of a key through the session (`over_ns`, of the AEU's core if that is the slower
// one).
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "bench/key_order.h"
#include "bench/must.h"
#include "bench/routing/flags.h"
#include "bench/routing/machine.h"
#include "eris/engine.h"
#include "memory/memory_manager.h"
#include "memory/memory_system.h"
#include "storage/index/index_partition.h"
#include "topology/topology.h"

namespace eris::bench {
namespace {

constexpr size_t kKeysInFlight = 8192;

// Batches of existing keys, made before measuring: making them would slow down only the bare
// partition, because the session's core has time for it.
class Probes {
 public:
  Probes(uint64_t keys, size_t batch, uint64_t seed)
      : batch_(batch), keys_(kProbes / batch * batch) {
    std::mt19937_64 random(seed);
    for (uint64_t& key : keys_) key = Mix(random() % keys);
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

// Whether each value equals its key.
bool AllRight(const uint64_t* keys, const void* values, size_t count) {
  return std::memcmp(keys, values, count * sizeof *keys) == 0;
}

// M keys/s since `begin_ns`.
double Rate(uint64_t keys, uint64_t begin_ns) {
  return static_cast<double>(keys) * 1e3 / static_cast<double>(NowNs() - begin_ns);
}

// Execute on a partition that holds the same keys.
double MeasureBare(storage::Partition& partition, Probes& probes, uint64_t ns,
                   std::atomic<uint64_t>& wrong) {
  const auto batch = static_cast<uint32_t>(probes.batch());
  std::vector<uint64_t> values(batch);
  std::vector<uint32_t> positions(batch);
  std::vector<storage::KeyState> states(batch);
  std::iota(positions.begin(), positions.end(), 0);
  uint64_t done = 0;
  const uint64_t begin_ns = NowNs();
  do {
    const uint64_t* const keys = probes.Next();
    const storage::BatchPart part{.count = batch,
                                  .keys = keys,
                                  .positions = positions.data(),
                                  .values_out = values.data(),
                                  .states_out = states.data()};
    partition.Execute({storage::Operation::kLookup, {&part, 1}});
    if (!AllRight(keys, values.data(), batch)) wrong.fetch_add(1);
    done += batch;
  } while (NowNs() - begin_ns < ns);
  return Rate(done, begin_ns);
}

double MeasureRouted(Session& session, const Object& object, Probes& probes, uint64_t ns,
                     std::atomic<uint64_t>& wrong) {
  const size_t batch = probes.batch();
  const size_t in_flight_max = std::max<size_t>(2, kKeysInFlight / batch);
  std::atomic<size_t> in_flight{0};
  uint64_t done = 0;
  const uint64_t begin_ns = NowNs();
  do {
    while (in_flight.load(std::memory_order_acquire) >= in_flight_max) std::this_thread::yield();
    in_flight.fetch_add(1, std::memory_order_relaxed);
    const uint64_t* const keys = probes.Next();
    Must(session.LookupAsync(object, {keys, batch}, [&, keys](BatchResult result) {
      const bool right = result.status.ok() &&
                         result.columns[0].values.size() == batch * sizeof *keys &&
                         AllRight(keys, result.columns[0].values.data(), batch);
      if (!right) wrong.fetch_add(1);
      in_flight.fetch_sub(1, std::memory_order_release);
    }));
    done += batch;
  } while (NowNs() - begin_ns < ns);
  while (in_flight.load(std::memory_order_acquire) > 0) std::this_thread::yield();
  return Rate(done, begin_ns);
}

int Main(uint64_t keys, uint64_t ns, int rounds, size_t batch_keys) {
  Options options;
  options.aeu_count = 1;
  const auto engine = Must(Engine::Open(options));
  Must(engine->Create("keys", {}));
  const auto session = engine->NewSession();
  const Object object = Must(session->Open("keys"));
  const auto topology = Must(topology::Topology::Discover());
  memory::MemorySystem memory(topology, {.limit_bytes = topology.memory_bytes()});
  memory::MemoryManager manager({1}, memory.pool({0}));
  const auto partition = Must(storage::IndexPartition::Create({}, *manager.NewCache()));

  std::vector<uint64_t> batch(65536);
  std::vector<uint32_t> positions(batch.size());
  std::vector<storage::KeyState> states(batch.size());
  std::iota(positions.begin(), positions.end(), 0);
  for (uint64_t first = 0; first < keys; first += batch.size()) {
    const size_t n = std::min<uint64_t>(batch.size(), keys - first);
    for (size_t i = 0; i < n; ++i) batch[i] = Mix(first + i);
    Must(session->Upsert(object, {batch.data(), n}, {batch.data(), n}));
    const storage::BatchPart part{.count = static_cast<uint32_t>(n),
                                  .keys = batch.data(),
                                  .values_in = batch.data(),
                                  .positions = positions.data(),
                                  .states_out = states.data()};
    partition->Execute({storage::Operation::kUpsert, {&part, 1}});
  }

  std::vector<double> bare, routed;
  std::atomic<uint64_t> wrong{0};
  for (int round = 0; round < rounds; ++round) {
    Probes probes(keys, batch_keys, round);
    bare.push_back(MeasureBare(*partition, probes, ns, wrong));
    routed.push_back(MeasureRouted(*session, object, probes, ns, wrong));
  }
  const double bare_median = MedianOf(bare), routed_median = MedianOf(routed);
  const auto [least, most] = std::minmax_element(routed.begin(), routed.end());
  std::printf(
      "{\"keys\": %llu, \"batch\": %zu, \"bare_mkeys_s\": %.2f, "
      "\"routed_mkeys_s\": %.2f, "
      "\"routed_over_bare\": %.3f, \"over_ns\": %.2f, \"routed_min\": %.2f, \"routed_max\": %.2f, "
      "\"wrong\": %llu}\n",
      static_cast<unsigned long long>(keys), batch_keys, bare_median, routed_median,
      routed_median / bare_median, 1e3 / routed_median - 1e3 / bare_median, *least, *most,
      static_cast<unsigned long long>(wrong.load()));
  partition->Abandon();
  return wrong.load() == 0 ? 0 : 1;
}

}  // namespace
}  // namespace eris::bench

int main(int argc, char** argv) {
  using namespace eris::bench;
  const auto argument = [&](int i, double without) {
    return argc > i ? Number<double>(argv[i], 0.001, 1e12) : without;
  };
  const auto batch_keys = static_cast<size_t>(argument(4, 1024));
  if (batch_keys == 0 || batch_keys > eris::kBatchKeysMax) Die("no such batch");
  return Main(static_cast<uint64_t>(argument(1, 16e6)), static_cast<uint64_t>(argument(2, 1) * 1e9),
              static_cast<int>(argument(3, 5)), batch_keys);
}
