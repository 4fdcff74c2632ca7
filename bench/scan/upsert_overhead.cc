// Measures the cost of keeping versions for upserts: a bare index partition compared with the
// versioned one of AEUs, without a snapshot and with one, alternating in one run.
//
//   upsert_overhead [keys, default 16 M] [rounds, default 9]
//
// One core, sparse 64-bit keys, batches of 1024 random existing keys. With a snapshot: a new one is
// held in each round, so that a key's first write in it keeps its old value. Prints one JSON
// object: medians in M keys/s, and the medians of the rounds' ratios to the bare one.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "bench/key_order.h"
#include "bench/memory/our_memory.h"
#include "bench/must.h"
#include "bench/routing/machine.h"
#include "storage/index/index_partition.h"
#include "storage/index/versioned_partition.h"

namespace eris::bench {
namespace {

constexpr uint32_t kBatch = 1024;
constexpr uint64_t kBatchesPerRound = 2048;

class Upserts {
 public:
  Upserts(storage::Partition& partition, uint64_t keys) : partition_(partition), count_(keys) {
    for (uint32_t i = 0; i < kBatch; ++i) positions_[i] = i;
    view_.epoch = 1;
    for (uint64_t at = 0; at < count_; at += kBatch) {
      for (uint32_t i = 0; i < kBatch; ++i) keys_[i] = Mix(at + i);
      Execute();
    }
  }

  // M keys/s.
  double Round(uint64_t salt) {
    const uint64_t begin_ns = NowNs();
    for (uint64_t batch = 0; batch < kBatchesPerRound; ++batch) {
      for (uint32_t i = 0; i < kBatch; ++i) {
        keys_[i] = Mix(WalkAt(salt * kBatchesPerRound * kBatch + batch * kBatch + i, count_));
      }
      Execute();
    }
    const auto ns = static_cast<double>(NowNs() - begin_ns);
    return static_cast<double>(kBatchesPerRound * kBatch) * 1e3 / ns;
  }

  // As a turn reads it: from now on a new snapshot is held, instead of the previous one.
  void Hold() { view_.active = {view_.epoch++}; }
  void LetGo() { view_.active.clear(); }
  void FreeAll() {
    while (partition_.FreeVersions(view_, 1 << 20)) {
    }
  }

 private:
  void Execute() {
    const storage::BatchPart part{.count = kBatch,
                                  .keys = keys_.data(),
                                  .values_in = keys_.data(),
                                  .positions = positions_.data(),
                                  .states_out = states_.data()};
    partition_.Execute(
        {.operation = storage::Operation::kUpsert, .parts = {&part, 1}, .snapshots = &view_});
    if (states_[kBatch - 1] == storage::KeyState::kNoMemory) Die("no memory");
  }

  storage::Partition& partition_;
  const uint64_t count_;
  storage::SnapshotView view_;
  std::vector<uint64_t> keys_ = std::vector<uint64_t>(kBatch);
  std::vector<uint32_t> positions_ = std::vector<uint32_t>(kBatch);
  std::vector<storage::KeyState> states_ = std::vector<storage::KeyState>(kBatch);
};

auto MakeBare(memory::LocalCache& cache) {
  return Must(storage::IndexPartition::Create({}, cache));
}
auto MakeVersioned(memory::LocalCache& cache) {
  return Must(storage::VersionedPartition::Create(MakeBare(cache), cache, {}));
}

int Main(int argc, char** argv) {
  const uint64_t keys =
      (argc > 1 ? std::strtoull(argv[1], nullptr, 0) : 16 << 20) / kBatch * kBatch;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 9;
  if (keys == 0 || rounds < 1) Die("upsert_overhead [keys >= 1024] [rounds >= 1]");
  PinTo(AllowedCpus().back());
  OurMemory bare_memory(1), versioned_memory(1), held_memory(1);
  const auto bare = MakeBare(bare_memory.cache(0));
  const auto versioned = MakeVersioned(versioned_memory.cache(0));
  const auto held = MakeVersioned(held_memory.cache(0));
  Upserts of_bare(*bare, keys), of_versioned(*versioned, keys), of_held(*held, keys);
  std::vector<double> speeds[3], ratios[2];
  for (int round = 0; round < rounds; ++round) {
    double speed[3] = {};
    // The order rotates.
    for (int i = 0; i < 3; ++i) {
      const int which = (i + round) % 3;
      const auto salt = static_cast<uint64_t>(round);
      if (which == 0) speed[0] = of_bare.Round(salt);
      if (which == 1) speed[1] = of_versioned.Round(salt);
      if (which == 2) {
        of_held.Hold();
        speed[2] = of_held.Round(salt);
        of_held.LetGo();
        of_held.FreeAll();
      }
    }
    for (int i = 0; i < 3; ++i) speeds[i].push_back(speed[i]);
    ratios[0].push_back(speed[1] / speed[0]);
    ratios[1].push_back(speed[2] / speed[0]);
  }
  std::printf(
      "{\"bare_mkeys_s\": %.2f, \"versioned_mkeys_s\": %.2f, \"held_mkeys_s\": %.2f, "
      "\"versioned_over_bare\": %.4f, \"held_over_bare\": %.4f}\n",
      MedianOf(speeds[0]), MedianOf(speeds[1]), MedianOf(speeds[2]), MedianOf(ratios[0]),
      MedianOf(ratios[1]));
  bare->Abandon();
  versioned->Abandon();
  held->Abandon();
  return 0;
}

}  // namespace
}  // namespace eris::bench

int main(int argc, char** argv) { return eris::bench::Main(argc, argv); }
