// Measures the system memory of the real prefix tree: resident divided by live bytes after many
// random upserts and erases in steady state, and the memory returned after most keys are erased,
// and after the object is dropped. Prints JSON.
//
//   tree_memory [--keys 8000000] [--operations 100000000] [--aeus 2] [--seed 1]
//               [--watch-s 5]
//
// As in the engine, each AEU has a partition, an equal part of the key space, and a cache of its
// own, all of one object. Keys come from a universe of twice as many; an operation picks one at
// random and upserts or erases it. Returned memory is watched for at most --watch-s seconds.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "bench/key_order.h"
#include "bench/memory/our_memory.h"
#include "bench/memory/process_memory.h"
#include "bench/routing/flags.h"
#include "bench/routing/machine.h"
#include "storage/tree/prefix_tree.h"

namespace eris::bench {
namespace {

// Keys of a group: each takes one random bit of a word.
constexpr uint32_t kGroupKeys = 64;
static_assert(kGroupKeys <= storage::kFindGroupMax);

// An AEU's share of the keys.
class Share {
 public:
  // The `index`-th of `shares`, with `keys` of its own.
  Share(memory::LocalCache& cache, uint64_t keys, uint32_t index, uint32_t shares, uint64_t seed)
      : cache_(cache),
        tree_(cache),
        universe_(2 * keys),
        first_key_(~uint64_t{0} / shares * index),
        divisor_(shares),
        random_(seed + index) {}

  void InsertHalf() {
    for (uint64_t i = 0; i < universe_; i += 2) Upsert(Key(i));
    OurMemory::EndTurn(cache_);
  }
  // Random upserts and erases, in groups that are looked up first, as in an index partition.
  void Churn(uint64_t operations) {
    uint64_t keys[kGroupKeys];
    uint64_t* values[kGroupKeys];
    for (uint64_t done = 0; done < operations; done += kGroupKeys) {
      for (uint64_t& key : keys) key = Key(((random_() >> 32) * universe_) >> 32);
      tree_.FindGroup(keys, kGroupKeys, values);
      uint64_t coins = random_();
      for (const uint64_t key : keys) {
        if (coins & 1) {
          Upsert(key);
        } else {
          tree_.Erase(key);
        }
        coins >>= 1;
      }
      if (done % kTurnOperations == 0) OurMemory::EndTurn(cache_);
    }
  }
  // All but every n-th.
  void Erase(uint64_t keep_every) {
    for (uint64_t i = 0; i < universe_; ++i) {
      if (Mix(i) % keep_every != 0) tree_.Erase(Key(i));
    }
    OurMemory::EndTurn(cache_);
  }
  void EndIdleTurn() { OurMemory::EndIdleTurn(cache_); }
  void Abandon() { tree_.Abandon(); }
  uint64_t keys() const { return tree_.size(); }

 private:
  static constexpr uint64_t kTurnOperations = 4096;

  uint64_t Key(uint64_t i) const { return first_key_ + KeyAt(i, /*sparse=*/true) / divisor_; }
  void Upsert(uint64_t key) {
    if (tree_.Upsert(key, key) == storage::UpsertResult::kNoMemory) Die("no memory");
  }

  memory::LocalCache& cache_;
  storage::PrefixTree tree_;
  const uint64_t universe_;
  const uint64_t first_key_;
  const uint64_t divisor_;
  std::mt19937_64 random_;
};

class Object {
 public:
  Object(uint32_t aeus, uint64_t keys, uint64_t seed) : memory_(aeus) {
    for (uint32_t i = 0; i < aeus; ++i) {
      shares_.push_back(std::make_unique<Share>(memory_.cache(i), keys / aeus, i, aeus, seed));
    }
  }
  // Each AEU on its own thread and cpu.
  void OnAll(const std::function<void(Share&)>& work) {
    const std::vector<int> cpus = AllowedCpus();
    std::vector<std::thread> threads;
    for (size_t i = 0; i < shares_.size(); ++i) {
      threads.emplace_back([&, i] {
        PinTo(cpus[i % cpus.size()]);
        work(*shares_[i]);
      });
    }
    for (std::thread& one : threads) one.join();
  }
  void Drop() {
    for (auto& share : shares_) share->Abandon();
    shares_.clear();
    memory_.DropObject();
  }
  uint64_t live_bytes() const { return memory_.used_bytes(); }
  uint64_t keys() const {
    uint64_t keys = 0;
    for (const auto& share : shares_) keys += share->keys();
    return keys;
  }

 private:
  OurMemory memory_;
  std::vector<std::unique_ptr<Share>> shares_;
};

int64_t Anonymous(const ProcessMemory& before) {
  return ProcessMemory::Now().anonymous - before.anonymous;
}

struct Return {
  double seconds = -1;   // until nine tenths of the freed memory had been returned; -1: never
  int64_t resident = 0;  // at the end of the watch, or when nearly all had been returned
};

// Watches the memory shrink from `from` to `live` bytes, for at most `watch_s` seconds.
Return AwaitReturn(const ProcessMemory& before, int64_t from, int64_t live, double watch_s,
                   const std::function<void()>& meanwhile) {
  const uint64_t begin_ns = NowNs();
  Return result;
  for (;;) {
    const double seconds = static_cast<double>(NowNs() - begin_ns) * 1e-9;
    result.resident = Anonymous(before);
    if (result.seconds < 0 && result.resident <= live + (from - live) / 10) {
      result.seconds = seconds;
    }
    if (seconds >= watch_s || result.resident <= live + (from - live) / 100) return result;
    meanwhile();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

// Most keys go; their AEUs go on with their turns.
void EraseAndWatch(Object& object, const ProcessMemory& before, int64_t resident, double watch_s) {
  object.OnAll([](Share& share) { share.Erase(10); });
  const int64_t erased_at_once = Anonymous(before);
  const auto live = static_cast<int64_t>(object.live_bytes());
  const Return erased = AwaitReturn(before, resident, live, watch_s, [&] {
    object.OnAll([](Share& share) { share.EndIdleTurn(); });
  });
  std::printf(
      "\"erased_live\": %lld, \"erased_resident\": %lld, \"erased_resident_5s\": %lld, "
      "\"erased_seconds\": %.2f, ",
      static_cast<long long>(live), static_cast<long long>(erased_at_once),
      static_cast<long long>(erased.resident), erased.seconds);
}

// Full again, then dropped as a whole.
void DropAndWatch(Object& object, const ProcessMemory& before, double watch_s) {
  object.OnAll([](Share& share) { share.InsertHalf(); });
  const int64_t full = Anonymous(before);
  object.Drop();
  const int64_t dropped_at_once = Anonymous(before);
  const Return dropped = AwaitReturn(before, full, 0, watch_s, [] {});
  std::printf(
      "\"full_resident\": %lld, \"dropped_resident\": %lld, \"dropped_resident_5s\": %lld, "
      "\"dropped_seconds\": %.2f, \"returned_after_drop\": %.4f}\n",
      static_cast<long long>(full), static_cast<long long>(dropped_at_once),
      static_cast<long long>(dropped.resident), dropped.seconds,
      1 - static_cast<double>(dropped.resident) / static_cast<double>(full));
}

int Main(int argc, char** argv) {
  uint32_t keys = 8'000'000, operations = 100'000'000, seed = 1;
  auto aeus = static_cast<uint32_t>(std::min<size_t>(2, AllowedCpus().size()));
  double watch_s = 5;
  ParseFlags(argc, argv,
             {{"--watch-s", watch_s, 0, 3600},
              {"--keys", keys, 10'000, 500'000'000},
              {"--operations", operations, 1000, 4'000'000'000},
              {"--aeus", aeus, 1, 256},
              {"--seed", seed, 0}});
  const ProcessMemory before = ProcessMemory::Now();
  Object object(aeus, keys, seed);
  object.OnAll([](Share& share) { share.InsertHalf(); });
  std::printf(
      "{\"seed\": %u, \"aeus\": %u, \"keys_inserted\": %llu, \"loaded_live\": %llu, "
      "\"loaded_resident\": %lld, ",
      seed, aeus, static_cast<unsigned long long>(object.keys()),
      static_cast<unsigned long long>(object.live_bytes()),
      static_cast<long long>(Anonymous(before)));

  const uint64_t begin_ns = NowNs();
  object.OnAll([&](Share& share) { share.Churn(operations / aeus); });
  const double seconds = static_cast<double>(NowNs() - begin_ns) * 1e-9;
  const uint64_t live = object.live_bytes();
  const ProcessMemory after = ProcessMemory::Now();
  const int64_t resident = after.anonymous - before.anonymous;
  std::printf(
      "\"operations\": %u, \"seconds\": %.2f, \"keys\": %llu, \"live\": %llu, "
      "\"resident\": %lld, \"resident_over_live\": %.4f, \"huge\": %lld, ",
      operations, seconds, static_cast<unsigned long long>(object.keys()),
      static_cast<unsigned long long>(live), static_cast<long long>(resident),
      static_cast<double>(resident) / static_cast<double>(live),
      static_cast<long long>(after.huge - before.huge));

  EraseAndWatch(object, before, resident, watch_s);
  DropAndWatch(object, before, watch_s);
  return 0;
}

}  // namespace
}  // namespace eris::bench

int main(int argc, char** argv) { return eris::bench::Main(argc, argv); }
