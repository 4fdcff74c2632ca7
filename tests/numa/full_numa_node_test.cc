// A NumaNode whose memory is used up while the engine's limit, which counts all NumaNodes, is not
// reached: writes there are refused, nothing is lost, reads and the other NumaNodes go on, and the
// kernel never has to end the process. Needs a machine where one NumaNode is small:
// ./dev numa --memory 768M,256M 2x2.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <iostream>
#include <map>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/numa/lab_engine.h"

namespace eris::numa_lab {
namespace {

class FullNumaNodeTest : public testing::Test {
 protected:
  void SetUp() override { Open({}); }

  void Open(const Options& options) {
    absl::StatusOr<std::unique_ptr<LabEngine>> lab = LabEngine::Open(options);
    ASSERT_TRUE(lab.ok()) << lab.status();
    lab_ = *std::move(lab);
    const auto& numa_nodes = lab_->topology().numa_nodes();
    small_ = numa_nodes.front();
    for (const topology::NumaNode& node : numa_nodes) {
      if (node.memory_bytes < small_.memory_bytes) small_ = node;
    }
    if (numa_nodes.size() < 2 || 2 * small_.memory_bytes > lab_->topology().memory_bytes()) {
      GTEST_SKIP() << "no NumaNode is much smaller than the others";
    }
    ASSERT_GT(lab_->engine().Stats().memory_limit_bytes, small_.memory_bytes);

    const absl::StatusOr<ObjectInfo> object = lab_->engine().Describe(kObject);
    ASSERT_TRUE(object.ok()) << object.status();
    const EngineStats stats = lab_->engine().Stats();
    for (size_t i = 0; i < object->partition_starts.size(); ++i) {
      const bool on_small = stats.aeus[object->partition_owners[i].value].numa_node == small_.id;
      (on_small ? small_starts_ : other_starts_).push_back(object->partition_starts[i]);
    }
    ASSERT_FALSE(small_starts_.empty() || other_starts_.empty());
  }

  // The n-th key of the partitions that begin there, taking turns between them.
  static uint64_t KeyIn(const std::vector<uint64_t>& starts, uint64_t n) {
    return starts[n % starts.size()] + (KeyOf(n) >> 8);
  }
  static std::vector<uint64_t> KeysIn(const std::vector<uint64_t>& starts, uint64_t first) {
    std::vector<uint64_t> keys;
    for (uint64_t n = first; n < first + kBatchKeys; ++n) keys.push_back(KeyIn(starts, n));
    return keys;
  }
  // How many of the keys are there with the value `key + 1`.
  uint64_t CountCorrectKeys(const std::vector<uint64_t>& keys) {
    std::vector<uint64_t> values(keys.size());
    std::vector<uint8_t> found(keys.size());
    const absl::Status status =
        lab_->session().Lookup(lab_->object(), keys, absl::MakeSpan(values), absl::MakeSpan(found));
    EXPECT_TRUE(status.ok()) << status;
    uint64_t correct = 0;
    for (size_t i = 0; i < keys.size(); ++i) correct += found[i] == 1 && values[i] == keys[i] + 1;
    return correct;
  }
  absl::Status Upsert(const std::vector<uint64_t>& keys) {
    std::vector<uint64_t> values(keys);
    for (uint64_t& value : values) ++value;
    return lab_->session().Upsert(lab_->object(), keys, values);
  }

  std::unique_ptr<LabEngine> lab_;
  topology::NumaNode small_;
  std::vector<uint64_t> small_starts_;  // of the partitions on the small NumaNode
  std::vector<uint64_t> other_starts_;
};

TEST_F(FullNumaNodeTest, WritesAreRefusedAndReadsGoOn) {
  // Every key has at least its value, 16 bytes: more batches than this cannot fit.
  const uint64_t batches_max = small_.memory_bytes / (16 * kBatchKeys);
  uint64_t stored = 0;  // batches
  absl::Status refused;
  while (refused.ok() && stored <= batches_max) {
    refused = Upsert(KeysIn(small_starts_, stored * kBatchKeys));
    if (refused.ok()) ++stored;
  }
  ASSERT_EQ(refused.code(), absl::StatusCode::kResourceExhausted) << refused;
  ASSERT_GT(stored, 0u);
  const uint64_t reserved = ReservedBytes(*lab_)[small_.os_index];
  std::cout << stored * kBatchKeys << " keys stored; " << (reserved >> 20) << " of "
            << (small_.memory_bytes >> 20) << " MiB of the small NumaNode are the pool's\n"
            << refused << "\n";
  // It was the NumaNode that was full, not the engine's limit.
  EXPECT_GT(reserved, small_.memory_bytes / 2);
  EXPECT_LT(reserved, small_.memory_bytes);
  ExpectEveryPageInPlace(*lab_);

  // Asking on does no harm (the kernel may find a little more room), and what was acknowledged is
  // there.
  for (uint64_t more = 1; more <= 10; ++more) {
    const absl::Status again = Upsert(KeysIn(small_starts_, (stored + more) * kBatchKeys));
    EXPECT_TRUE(again.ok() || again.code() == absl::StatusCode::kResourceExhausted) << again;
  }
  for (uint64_t batch = 0; batch < stored; batch += 1 + stored / 20) {
    EXPECT_EQ(CountCorrectKeys(KeysIn(small_starts_, batch * kBatchKeys)), kBatchKeys);
  }
  // The other NumaNodes take writes.
  const std::vector<uint64_t> elsewhere = KeysIn(other_starts_, 0);
  EXPECT_TRUE(Upsert(elsewhere).ok());
  EXPECT_EQ(CountCorrectKeys(elsewhere), kBatchKeys);
  // And room that is made is used again.
  for (uint64_t batch = 0; batch < stored / 2; ++batch) {
    ASSERT_TRUE(
        lab_->session().Erase(lab_->object(), KeysIn(small_starts_, batch * kBatchKeys)).ok());
  }
  EXPECT_TRUE(Upsert(KeysIn(small_starts_, 0)).ok());
  EXPECT_EQ(CountCorrectKeys(KeysIn(small_starts_, 0)), kBatchKeys);
  ExpectEveryPageInPlace(*lab_);
}

class SpillTest : public FullNumaNodeTest {
 protected:
  void SetUp() override { Open({.memory_spill = true}); }
};

TEST_F(SpillTest, WritesGoOnInTheMemoryOfTheNearest) {
  // Until a quarter more is stored than the small NumaNode has.
  const auto stored_bytes = [&] {
    uint64_t bytes = 0;
    for (const AeuStats& aeu : lab_->engine().Stats().aeus) {
      if (aeu.numa_node == small_.id) bytes += aeu.memory_bytes;
    }
    return bytes;
  };
  uint64_t stored = 0;  // batches
  while (stored_bytes() < small_.memory_bytes + small_.memory_bytes / 4) {
    const absl::Status status = Upsert(KeysIn(small_starts_, stored * kBatchKeys));
    ASSERT_TRUE(status.ok()) << status << " after " << stored << " batches";
    ++stored;
  }
  const std::map<uint32_t, uint64_t> reserved = ReservedBytes(*lab_);
  EXPECT_GT(reserved.at(small_.os_index), small_.memory_bytes / 2);
  uint64_t elsewhere = 0;
  for (const auto& [numa_node, bytes] : reserved) {
    if (numa_node != small_.os_index) elsewhere += bytes;
  }
  EXPECT_GT(elsewhere, small_.memory_bytes / 4);
  for (uint64_t batch = 0; batch < stored; batch += 1 + stored / 20) {
    EXPECT_EQ(CountCorrectKeys(KeysIn(small_starts_, batch * kBatchKeys)), kBatchKeys);
  }
  // What has spilled over lies on the NumaNode of the pool that it came from.
  ExpectEveryPageInPlace(*lab_);
}

TEST_F(SpillTest, WhatHasSpilledComesHomeWhenThereIsRoom) {
  // Another object fills half of the small NumaNode, and this one more than the rest.
  ASSERT_TRUE(lab_->engine().Create("other", {}).ok());
  const absl::StatusOr<Object> other = lab_->session().Open("other");
  ASSERT_TRUE(other.ok()) << other.status();
  const auto held_bytes = [&](absl::string_view name) {
    uint64_t bytes = 0;
    for (const ObjectMemory& one : lab_->engine().Memory().objects) {
      if (one.object == name && one.numa_node == small_.id) bytes += one.committed_bytes;
    }
    return bytes;
  };
  const auto spilled_bytes = [&] {
    uint64_t bytes = 0;
    for (const ObjectMemory& one : lab_->engine().Memory().objects) bytes += one.spilled_bytes;
    return bytes;
  };
  for (uint64_t batch = 0; held_bytes("other") < small_.memory_bytes / 2; ++batch) {
    const std::vector<uint64_t> keys = KeysIn(small_starts_, batch * kBatchKeys);
    ASSERT_TRUE(lab_->session().Upsert(*other, keys, keys).ok());
  }
  uint64_t stored = 0;  // batches
  while (held_bytes(kObject) < small_.memory_bytes / 10 * 6) {
    ASSERT_TRUE(Upsert(KeysIn(small_starts_, stored * kBatchKeys)).ok());
    ++stored;
  }
  std::cout << (spilled_bytes() >> 20) << " MiB have spilled\n";
  ASSERT_GT(spilled_bytes(), small_.memory_bytes / 20);
  const auto look = [&] { lab_->impl().home_calls().Look(); };
  for (int period = 0; period < 3; ++period) look();
  EXPECT_GT(spilled_bytes(), small_.memory_bytes / 20);  // there is no room

  ASSERT_TRUE(lab_->engine().Drop("other").ok());
  const absl::Time end = absl::Now() + absl::Minutes(2);
  while (spilled_bytes() > 0 && absl::Now() < end) {
    look();
    absl::SleepFor(absl::Milliseconds(50));
  }
  EXPECT_EQ(spilled_bytes(), 0u);
  const auto verified = lab_->engine().VerifyMemory({.pages_max = 0, .rows = true});
  ASSERT_TRUE(verified.ok()) << verified.status();
  for (const NumaNodePlacement& one : verified->numa_nodes) EXPECT_EQ(one.pages_elsewhere, 0u);
  for (const RowMemory& one : verified->rows) EXPECT_EQ(one.remote_bytes, 0u);
  for (uint64_t batch = 0; batch < stored; batch += 1 + stored / 20) {
    EXPECT_EQ(CountCorrectKeys(KeysIn(small_starts_, batch * kBatchKeys)), kBatchKeys);
  }
  ExpectEveryPageInPlace(*lab_);
}

}  // namespace
}  // namespace eris::numa_lab
