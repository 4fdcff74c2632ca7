// Several partitions that together own all keys, against one std::map: batches in several parts,
// scans in slices, splits, absorbs, chunks that move between neighbours, in a seeded order.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "storage/index_partition.h"
#include "storage/tree_check.h"
#include "tests/support/write_model.h"
#include "tests/unit/storage/storage_fixture.h"

namespace eris::storage {
namespace {

constexpr size_t kPartitionsMax = 6;
constexpr uint64_t kKeyOperations = 300'000;  // per distribution
constexpr uint64_t kUntouched = 0xdead'beef'dead'beef;

class IndexPartitionModelTest : public ::testing::TestWithParam<Keys> {
 protected:
  IndexPartitionModelTest() : random_(Seed()), pool_(KeyPool(GetParam(), 10'000, random_)) {
    auto first = IndexPartition::Create(Range{}, memory_.cache);
    partitions_.push_back(*std::move(first));
  }

  uint64_t AnyKey() {
    const uint64_t key = pool_[random_() % pool_.size()];
    const uint64_t dice = random_() % 64;
    return dice == 0 ? random_() : dice == 1 ? key + 1 : key;
  }

  Partition& Owner(uint64_t key) {
    for (const auto& partition : partitions_) {
      if (partition->range().ContainsU64(key)) return *partition;
    }
    ADD_FAILURE() << "nobody owns " << key;
    return *partitions_[0];
  }

  // A batch of random keys of one partition, cut into parts of random sizes.
  void ExecuteSome(Operation operation) {
    Partition& partition = Owner(AnyKey());
    std::vector<uint64_t> keys;
    std::vector<uint64_t> values;
    std::vector<uint64_t> expected;
    for (uint64_t i = 1 + random_() % 200; i > 0; --i) {
      // Often one of this batch again: each key sees what those before it have done.
      const uint64_t key =
          !keys.empty() && random_() % 8 == 0 ? keys[random_() % keys.size()] : AnyKey();
      if (!partition.range().ContainsU64(key)) continue;
      keys.push_back(key);
      values.push_back(random_());
      const auto row = model_.find(key);
      const bool guess = row == model_.end() || random_() % 4 == 0;
      expected.push_back(guess ? values[random_() % values.size()] : row->second);
    }
    const uint32_t count = static_cast<uint32_t>(keys.size());
    std::vector<uint32_t> positions(count);
    for (uint32_t i = 0; i < count; ++i) positions[i] = i;
    std::shuffle(positions.begin(), positions.end(), random_);
    std::vector<uint64_t> values_out(count, kUntouched);
    std::vector<KeyState> states(count, KeyState::kPending);
    std::vector<BatchPart> parts;
    for (uint32_t at = 0; at < count;) {
      const uint32_t size = std::min<uint32_t>(count - at, 1 + random_() % 90);
      parts.push_back({size, &keys[at], &values[at], &positions[at], values_out.data(),
                       states.data(), &expected[at]});
      at += size;
    }
    partition.Execute({operation, parts});
    for (uint32_t i = 0; i < count; ++i) {
      const test::ModelAnswer answer =
          test::RunOnModel(model_, operation, keys[i], values[i], expected[i]);
      ASSERT_EQ(states[positions[i]], answer.state) << keys[i];
      ASSERT_EQ(values_out[positions[i]], answer.value.value_or(kUntouched)) << keys[i];
      ++executed_[static_cast<size_t>(operation)][static_cast<size_t>(answer.state)];
    }
    key_operations_ += count;
  }

  // One scan in slices; between them TreeNodes move, since the tree is cut and joined.
  void ScanSome() {
    const size_t which = random_() % partitions_.size();
    IndexPartition& partition = *partitions_[which];
    ScanCursor cursor{.rest = partition.range()};
    const uint64_t from = AnyKey();
    if (partition.range().ContainsU64(from)) cursor.rest.lo = Key::FromU64(from);
    const uint64_t to = AnyKey();
    if (to > cursor.rest.lo.head && partition.range().ContainsU64(to)) {
      cursor.rest.hi = Key::FromU64(to);
    }
    if (random_() % 2 == 0) cursor.rows_left = random_() % 3000;
    if (cursor.rest.Empty()) return;
    const uint64_t wanted = cursor.rows_left;
    const std::optional<Key> hi = cursor.rest.hi;
    auto row = model_.lower_bound(cursor.rest.lo.head);
    const auto end = hi ? model_.lower_bound(hi->head) : model_.end();
    uint64_t rows = 0;
    while (!cursor.done) {
      uint64_t keys[700];
      uint64_t values[700];
      ScanRows out{keys, values, static_cast<uint32_t>(1 + random_() % 700), 0};
      const ScanBudget budget{.deadline_ns = random_() % 2 == 0 ? 0 : kKeyMax};
      partition.Scan(cursor, budget, out);
      for (uint32_t i = 0; i < out.rows; ++i, ++row, ++rows) {
        ASSERT_TRUE(row != end);
        ASSERT_EQ(keys[i], row->first);
        ASSERT_EQ(values[i], row->second);
      }
      if (random_() % 2 == 0) Rearrange(which);
    }
    ASSERT_TRUE(row == end || rows == wanted);
    ASSERT_LE(rows, wanted);
  }

  // Cuts the partition and joins it again, which moves and frees TreeNodes.
  void Rearrange(size_t which) {
    const uint64_t key = AnyKey();
    IndexPartition& partition = *partitions_[which];
    if (!partition.range().ContainsU64(key) || key == partition.range().lo.head) return;
    auto upper = partition.SplitAt(Key::FromU64(key));
    ASSERT_EQ(upper.status(), absl::OkStatus());
    ASSERT_EQ(partition.Absorb(**upper), absl::OkStatus());
  }

  void SplitOne() {
    const uint64_t key = AnyKey();
    Partition& partition = Owner(key);
    if (partitions_.size() == kPartitionsMax || key == partition.range().lo.head) return;
    auto upper = partition.SplitAt(Key::FromU64(key));
    ASSERT_EQ(upper.status(), absl::OkStatus());
    partitions_.emplace_back(static_cast<IndexPartition*>(upper->release()));
    Sort();
  }

  void AbsorbOne() {
    if (partitions_.size() == 1) return;
    const size_t low = random_() % (partitions_.size() - 1);
    const bool upwards = random_() % 2 == 0;
    const size_t gone = upwards ? low : low + 1;
    ASSERT_EQ(partitions_[upwards ? low + 1 : low]->Absorb(*partitions_[gone]), absl::OkStatus());
    ASSERT_TRUE(partitions_[gone]->range().Empty());
    ASSERT_EQ(partitions_[gone]->size(), 0u);
    partitions_.erase(partitions_.begin() + static_cast<ptrdiff_t>(gone));
  }

  // Moves chunks from the low end of a partition to its lower neighbour.
  void MoveChunks() {
    if (partitions_.size() == 1) return;
    const size_t low = random_() % (partitions_.size() - 1);
    for (uint64_t chunks = 1 + random_() % 3; chunks > 0; --chunks) {
      if (partitions_[low + 1]->range().Empty()) break;
      ExchangeChunk chunk;
      ASSERT_EQ(partitions_[low + 1]->Extract(static_cast<uint32_t>(random_() % 1500), chunk),
                absl::OkStatus());
      ASSERT_EQ(partitions_[low]->Ingest(chunk), absl::OkStatus());
    }
    if (partitions_[low + 1]->range().Empty()) {
      partitions_.erase(partitions_.begin() + static_cast<ptrdiff_t>(low + 1));
    }
  }

  void Sort() {
    std::sort(partitions_.begin(), partitions_.end(),
              [](const auto& a, const auto& b) { return a->range().lo < b->range().lo; });
  }

  void CheckAll() {
    uint64_t rows = 0;
    Key next;
    for (size_t i = 0; i < partitions_.size(); ++i) {
      const IndexPartition& partition = *partitions_[i];
      ASSERT_EQ(partition.range().lo, next);
      ASSERT_EQ(partition.range().hi.has_value(), i + 1 < partitions_.size());
      if (partition.range().hi) next = *partition.range().hi;
      ASSERT_EQ(CheckTree(partition.tree()), absl::OkStatus());
      const auto begin = model_.lower_bound(partition.range().lo.head);
      const auto end = partition.range().hi ? model_.lower_bound(next.head) : model_.end();
      ASSERT_EQ(RowsOf(partition.tree()), Rows(begin, end));
      rows += partition.size();
    }
    ASSERT_EQ(rows, model_.size());
  }

  Random random_;
  TreeMemory memory_;
  std::vector<uint64_t> pool_;
  std::vector<std::unique_ptr<IndexPartition>> partitions_;  // by range; together all keys
  Model model_;
  uint64_t key_operations_ = 0;
  uint64_t executed_[8][4] = {};  // by operation and state
};

TEST_P(IndexPartitionModelTest, RandomCommandsMatchAMap) {
  SCOPED_TRACE(SeedText());
  for (int command = 0; key_operations_ < kKeyOperations; ++command) {
    const bool growing = (key_operations_ / 50'000) % 2 == 0;
    const uint64_t dice = random_() % 100;
    if (dice < 40) {
      ExecuteSome((random_() % 4 == 0) != growing ? Operation::kUpsert : Operation::kErase);
    } else if (dice < 65) {
      constexpr Operation kConditional[] = {Operation::kInsertIfAbsent,
                                            Operation::kReplaceIfPresent, Operation::kCompareAndSet,
                                            Operation::kAdd};
      ExecuteSome(kConditional[random_() % 4]);
    } else if (dice < 80) {
      ExecuteSome(Operation::kLookup);
    } else if (dice < 87) {
      ScanSome();
    } else if (dice < 91) {
      SplitOne();
    } else if (dice < 94) {
      AbsorbOne();
    } else {
      MoveChunks();
    }
    if (command % 100 == 0) CheckAll();
    ASSERT_FALSE(HasFatalFailure()) << "at command " << command;
  }
  CheckAll();
  // Every operation has met every case.
  for (size_t operation = 1; operation < 8; ++operation) {
    EXPECT_GT(executed_[operation][static_cast<size_t>(KeyState::kAbsent)], 0u) << operation;
    EXPECT_GT(executed_[operation][static_cast<size_t>(KeyState::kPresent)], 0u) << operation;
  }
  EXPECT_GT(executed_[static_cast<size_t>(Operation::kCompareAndSet)]
                     [static_cast<size_t>(KeyState::kUnequal)],
            0u);
  for (const auto& partition : partitions_) {
    ExchangeChunk chunk;
    ASSERT_EQ(partition->Extract(UINT32_MAX, chunk), absl::OkStatus());
    EXPECT_EQ(partition->size(), 0u);
  }
  EXPECT_EQ(memory_.cache.used_bytes(), 0u);
}

INSTANTIATE_TEST_SUITE_P(AllKeys, IndexPartitionModelTest,
                         ::testing::Values(Keys::kDense, Keys::kSparse, Keys::kClustered,
                                           Keys::kOneByte, Keys::kZerosAndOnes, Keys::kExtremes,
                                           Keys::kMixed),
                         [](const auto& keys) { return KeysName(keys.param); });

}  // namespace
}  // namespace eris::storage
