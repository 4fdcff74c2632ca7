// The shared tree of the evaluation against a map, and under threads. There every key has one
// writer, which counts its writes up; before anybody reads a key it notes which write has been
// acknowledged, and must not find an older one. Under the thread sanitizer it is a test of the
// memory orders, too.
#include "bench/shared/shared_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/unit/storage/storage_fixture.h"

namespace eris::bench {
namespace {

using storage::KeyPool;
using storage::Keys;
using storage::Model;
using storage::Random;
using storage::Seed;
using storage::SeedText;
using storage::TreeMemory;

enum class Order { kRandom, kAscending, kDescending };

std::vector<uint64_t> KeysIn(Order order, Keys kind, size_t count, Random& random) {
  std::vector<uint64_t> keys = KeyPool(kind, count, random);
  if (order == Order::kRandom) return keys;
  std::sort(keys.begin(), keys.end());
  if (order == Order::kDescending) std::reverse(keys.begin(), keys.end());
  return keys;
}

struct Case {
  Keys kind;
  Order order;
};

std::string NameOf(const Case& one) {
  const char* const orders[] = {"Random", "Ascending", "Descending"};
  return storage::KeysName(one.kind) + orders[static_cast<int>(one.order)];
}

class SharedTreeTest : public testing::TestWithParam<Case> {};

void ExpectModel(SharedTree& tree, SharedTree::Thread& thread, const Model& model, Random& random) {
  EXPECT_EQ(tree.CountKeys(), model.size());
  std::vector<uint64_t> keys;
  for (const auto& [key, value] : model) {
    ASSERT_EQ(thread.Lookup(key), value) << key;
    // Neighbours, and keys that share a long prefix, are mostly not there.
    const uint64_t other = key ^ uint64_t { 1 } << random() % 64;
    keys.insert(keys.end(), {key, other});
  }
  std::shuffle(keys.begin(), keys.end(), random);
  std::vector<uint64_t> values(keys.size());
  const auto found = std::make_unique<bool[]>(keys.size());
  thread.Lookup(keys.data(), keys.size(), values.data(), found.get());
  for (size_t i = 0; i < keys.size(); ++i) {
    const auto there = model.find(keys[i]);
    ASSERT_EQ(found[i], there != model.end()) << keys[i];
    ASSERT_TRUE(!found[i] || values[i] == there->second) << keys[i];
    const std::optional<uint64_t> alone = thread.Lookup(keys[i]);
    ASSERT_EQ(alone.has_value(), found[i]) << keys[i];
  }
}

TEST_P(SharedTreeTest, IsAMapForOneThread) {
  SCOPED_TRACE(SeedText());
  Random random(Seed());
  for (const bool batched : {false, true}) {
    TreeMemory memory;
    SharedTree tree(memory.manager);
    SharedTree::Thread thread(tree);
    Model model;
    const std::vector<uint64_t> keys = KeysIn(GetParam().order, GetParam().kind, 30000, random);
    size_t inserted = 0;
    for (size_t i = 0; i < keys.size();) {
      const size_t part = batched ? std::min<size_t>(1 + random() % 300, keys.size() - i) : 1;
      std::vector<uint64_t> values(part);
      for (uint64_t& value : values) value = random();
      if (batched) {
        const std::optional<size_t> added = thread.Upsert(&keys[i], values.data(), part);
        ASSERT_TRUE(added.has_value());
        inserted += *added;
      } else {
        const UpsertResult result = thread.Upsert(keys[i], values[0]);
        ASSERT_EQ(result == UpsertResult::kReplaced, model.count(keys[i]) == 1);
        inserted += result == UpsertResult::kInserted;
      }
      for (size_t j = 0; j < part; ++j) model[keys[i + j]] = values[j];
      i += part;
    }
    EXPECT_EQ(inserted, model.size());
    ExpectModel(tree, thread, model, random);
  }
}

// What the threads of one run share.
struct Load {
  static constexpr int kThreads = 4;
  static constexpr unsigned kVersionBits = 12;

  explicit Load(std::vector<uint64_t> all) : keys(std::move(all)), acknowledged(keys.size()) {}

  // A value tells its key and which write it is of.
  static uint64_t ValueOf(uint64_t key, uint64_t version) {
    return (key * 0x9e3779b97f4a7c15) << kVersionBits | version;
  }
  static uint64_t VersionOf(uint64_t value) { return value & ((1u << kVersionBits) - 1); }

  // Checks a key that was read after `known` had been acknowledged.
  void Check(size_t i, uint64_t known, bool found, uint64_t value) {
    if (!found ? known > 0
               : value != ValueOf(keys[i], VersionOf(value)) || VersionOf(value) < known ||
                     VersionOf(value) == 0) {
      wrong.fetch_add(1, std::memory_order_relaxed);
    }
  }

  const std::vector<uint64_t> keys;
  std::vector<std::atomic<uint64_t>> acknowledged;  // by key: the last write that has returned
  std::barrier<> together{kThreads};
  std::atomic<uint64_t> wrong{0};
  std::atomic<uint64_t> inserted{0};
};

// Writes the keys of its own, each several times, and reads everybody's meanwhile.
void WriteAndRead(Load& run, SharedTree& tree, int self, uint64_t rounds, Random random) {
  SharedTree::Thread thread(tree);
  std::vector<size_t> own;
  for (size_t i = self; i < run.keys.size(); i += Load::kThreads) own.push_back(i);
  uint64_t inserted = 0;
  std::vector<uint64_t> keys, values, known;
  std::vector<size_t> asked;
  for (uint64_t version = 1; version <= rounds; ++version) {
    run.together.arrive_and_wait();
    // Mostly as the keys come, so that the threads stay close together.
    if (version > 1) std::shuffle(own.begin(), own.end(), random);
    for (size_t at = 0; at < own.size();) {
      const size_t part = std::min<size_t>(1 + random() % 40, own.size() - at);
      keys.clear();
      values.clear();
      for (size_t j = at; j < at + part; ++j) {
        keys.push_back(run.keys[own[j]]);
        values.push_back(Load::ValueOf(keys.back(), version));
      }
      if (random() % 2 == 0) {
        inserted += thread.Upsert(keys.data(), values.data(), part).value();
      } else {
        for (size_t j = 0; j < part; ++j) {
          inserted += thread.Upsert(keys[j], values[j]) == UpsertResult::kInserted;
        }
      }
      for (size_t j = at; j < at + part; ++j) {
        // Release: pairs with the acquire of who is about to read the key.
        run.acknowledged[own[j]].store(version, std::memory_order_release);
      }
      at += part;
      asked.clear();
      keys.clear();
      known.clear();
      for (size_t j = 0; j < part; ++j) {
        // Half of them where the others are writing just now.
        size_t i = random() % run.keys.size();
        if (j % 2 == 0) i = (own[at - 1] + random() % 64) % run.keys.size();
        asked.push_back(i);
        keys.push_back(run.keys[i]);
        known.push_back(run.acknowledged[i].load(std::memory_order_acquire));
      }
      if (random() % 2 == 0) {
        bool found[40];
        values.resize(part);
        thread.Lookup(keys.data(), part, values.data(), found);
        for (size_t j = 0; j < part; ++j) run.Check(asked[j], known[j], found[j], values[j]);
      } else {
        for (size_t j = 0; j < part; ++j) {
          const std::optional<uint64_t> value = thread.Lookup(keys[j]);
          run.Check(asked[j], known[j], value.has_value(), value.value_or(0));
        }
      }
    }
  }
  run.inserted.fetch_add(inserted, std::memory_order_relaxed);
}

TEST_P(SharedTreeTest, ThreadsSeeWhatHasBeenAcknowledged) {
  SCOPED_TRACE(SeedText());
  Random random(Seed());
  for (int repetition = 0; repetition < 8; ++repetition) {
    // Distinct, in the order in which they came first.
    std::vector<uint64_t> keys = KeysIn(GetParam().order, GetParam().kind, 20000, random);
    Model seen;
    std::erase_if(keys, [&](uint64_t key) { return !seen.emplace(key, 0).second; });
    Load run(keys);
    TreeMemory memory;
    SharedTree tree(memory.manager);
    constexpr uint64_t kRounds = 4;
    std::vector<std::thread> threads;
    for (int i = 0; i < Load::kThreads; ++i) {
      threads.emplace_back(
          [&, i, seed = random()] { WriteAndRead(run, tree, i, kRounds, Random(seed)); });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(run.wrong.load(), 0u);
    EXPECT_EQ(run.inserted.load(), keys.size());
    EXPECT_EQ(tree.CountKeys(), keys.size());
    SharedTree::Thread thread(tree);
    for (const uint64_t key : keys) ASSERT_EQ(thread.Lookup(key), Load::ValueOf(key, kRounds));
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, SharedTreeTest,
    testing::Values(Case{Keys::kDense, Order::kAscending}, Case{Keys::kDense, Order::kDescending},
                    Case{Keys::kSparse, Order::kRandom}, Case{Keys::kSparse, Order::kAscending},
                    Case{Keys::kClustered, Order::kRandom}, Case{Keys::kOneByte, Order::kRandom},
                    Case{Keys::kOneByte, Order::kDescending},
                    Case{Keys::kZerosAndOnes, Order::kRandom},
                    Case{Keys::kExtremes, Order::kRandom}, Case{Keys::kMixed, Order::kRandom}),
    [](const auto& one) { return NameOf(one.param); });

// All threads write the same few keys: nothing is torn, and a thread does not see a writer's older
// value after a newer one.
TEST(SharedTreeWritersTest, WritersOfOneKeyComeOneAfterTheOther) {
  SCOPED_TRACE(SeedText());
  TreeMemory memory;
  SharedTree tree(memory.manager);
  constexpr uint64_t kKeys = 64, kWrites = 100'000;
  std::barrier<> together(4);
  std::atomic<uint64_t> wrong{0};
  std::vector<std::thread> threads;
  for (uint64_t self = 0; self < 4; ++self) {
    threads.emplace_back([&, self] {
      SharedTree::Thread thread(tree);
      Random random(Seed() + self);
      together.arrive_and_wait();
      std::vector<std::array<uint64_t, 4>> newest(kKeys);
      for (uint64_t write = 1; write <= kWrites; ++write) {
        const uint64_t key = random() % kKeys;
        static_cast<void>(thread.Upsert(key << 40, key << 40 | write << 2 | self));
        const uint64_t other = random() % kKeys;
        const std::optional<uint64_t> value = thread.Lookup(other << 40);
        if (!value) continue;
        uint64_t& last = newest[other][*value & 3];
        const uint64_t now = (*value & 0xff'ffff'ffff) >> 2;
        if (*value >> 40 != other || now < last) wrong.fetch_add(1);
        last = now;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0u);
  EXPECT_EQ(tree.CountKeys(), kKeys);
}

TEST(SharedTreeMemoryTest, WhatHasBeenReplacedIsUsedAgain) {
  Random random(1);
  TreeMemory memory;
  SharedTree tree(memory.manager);
  SharedTree::Thread thread(tree);
  constexpr uint64_t kKeys = 400'000;
  for (uint64_t i = 0; i < kKeys; ++i) {
    ASSERT_EQ(thread.Upsert(random(), i), UpsertResult::kInserted);
  }
  // A run has been copied for every fourth key.
  EXPECT_LT(memory.manager.Account().used_bytes, kKeys * 26);
}

TEST(SharedTreeMemoryTest, WithoutMemoryNothingChanges) {
  Random random(1);
  TreeMemory memory(uint64_t{8} << 20);
  SharedTree tree(memory.manager);
  SharedTree::Thread thread(tree);
  std::vector<uint64_t> keys;
  for (;;) {
    const uint64_t key = random();
    const UpsertResult result = thread.Upsert(key, ~key);
    if (result == UpsertResult::kNoMemory) break;
    keys.push_back(key);
  }
  EXPECT_GT(keys.size(), 10'000u);
  EXPECT_EQ(tree.CountKeys(), keys.size());
  for (const uint64_t key : keys) ASSERT_EQ(thread.Lookup(key), ~key);
  for (const uint64_t key : keys) ASSERT_EQ(thread.Upsert(key, key), UpsertResult::kReplaced);
}

}  // namespace
}  // namespace eris::bench
