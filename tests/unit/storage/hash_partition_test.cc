#include "storage/hash/hash_partition.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "tests/support/write_model.h"
#include "tests/unit/storage/hash_key_sets.h"
#include "tests/unit/storage/partition_kinds.h"

namespace eris::storage {
namespace {

using test::Extract;

struct HashPartitionTest : testing::Test {
  TreeMemory memory;
};

std::unique_ptr<HashPartition> MakeHash(TreeMemory& memory, const Range& range, uint64_t seed = 5) {
  auto partition = HashPartition::Create(range, memory.cache, seed);
  EXPECT_EQ(partition.status(), absl::OkStatus());
  return *std::move(partition);
}

Rows RowsIn(const Model& model, const Range& range) {
  return Rows(model.lower_bound(range.lo.head),
              range.hi ? model.lower_bound(range.hi->head) : model.end());
}

TEST_F(HashPartitionTest, RefusedWritesAnswerNoMemoryAndTheRestGoesOn) {
  auto partition = MakeHash(memory, MakeRange(0));
  std::vector<uint64_t> keys(40);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = i;
  memory.cache.FailAllocationsFrom(1);
  EXPECT_EQ(RunBatch(*partition, Operation::kUpsert, {1}, {1}).states,
            (States{KeyState::kNoMemory}));
  memory.cache.FailAllocationsFrom(4);  // the first keys fit into the smallest segments
  const test::TestBatch upsert = RunBatch(*partition, Operation::kUpsert, keys, keys);
  memory.cache.FailAllocationsFrom(0);
  uint64_t stored = 0;
  for (const KeyState state : upsert.states) stored += state == KeyState::kAbsent ? 1 : 0;
  EXPECT_GT(stored, 10u);
  EXPECT_LT(stored, 40u);
  EXPECT_EQ(partition->size(), stored);
  const test::TestBatch lookup = RunBatch(*partition, Operation::kLookup, keys);
  for (size_t i = 0; i < keys.size(); ++i) {
    EXPECT_EQ(lookup.states[i] == KeyState::kPresent, upsert.states[i] == KeyState::kAbsent) << i;
  }
}

TEST_F(HashPartitionTest, PreparedExtractTakesTheHighEndDownwards) {
  auto partition = MakeHash(memory, MakeRange(5));
  RunBatch(*partition, Operation::kUpsert, {2000, 7, kKeyMax, 100, 300}, {3, 1, 4, 2, 9});
  ASSERT_EQ(partition->PrepareExtract(MakeRange(100)), absl::OkStatus());
  ExchangeChunk chunk;
  ASSERT_EQ(Extract(*partition, 2, chunk), absl::OkStatus());
  EXPECT_EQ(chunk.covers, MakeRange(2000));
  EXPECT_EQ(chunk.keys, (std::vector<uint64_t>{2000, kKeyMax}));
  EXPECT_EQ(chunk.values, (std::vector<uint64_t>{3, 4}));
  EXPECT_EQ(partition->range(), MakeRange(5, 2000));
  ASSERT_EQ(Extract(*partition, 0, chunk), absl::OkStatus());
  EXPECT_TRUE(chunk.covers.Empty());
  ASSERT_EQ(Extract(*partition, 10, chunk), absl::OkStatus());
  EXPECT_EQ(chunk.covers, MakeRange(100, 2000));
  EXPECT_EQ(chunk.keys, (std::vector<uint64_t>{100, 300}));
  EXPECT_EQ(partition->range(), MakeRange(5, 100));
  EXPECT_EQ(partition->prepared_rows(), 0u);
  EXPECT_EQ(RowsOf(*partition), (Rows{{7, 1}}));
}

TEST_F(HashPartitionTest, PrepareTakesOnlyEndsOfTheRange) {
  auto partition = MakeHash(memory, MakeRange(100, 200));
  for (const Range& bad :
       {MakeRange(0, 150), MakeRange(110, 150), MakeRange(150), MakeRange(100), MakeRange(100, 100),
        MakeRange(150, 300), Range{Key{100, 0}, Key{150, 1}}}) {
    EXPECT_EQ(partition->PrepareExtract(bad).code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(partition->PrepareExtract(MakeRange(150, 200)), absl::OkStatus());
  EXPECT_EQ(partition->PrepareExtract(MakeRange(150, 200)).code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(partition->Ingest({MakeRange(200, 300), {}, {}}).code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(*partition->CancelExtract(1), true);
  EXPECT_EQ(partition->Ingest({MakeRange(200, 300), {}, {}}), absl::OkStatus());
}

// Rows wait in the tree, in the table behind the walk and in front of it; without memory for the
// tree, conditional writes refuse new keys and nothing else.
TEST_F(HashPartitionTest, ConditionalWritesFindRowsThatAreLeaving) {
  auto partition = MakeHash(memory, MakeRange(0));
  std::vector<uint64_t> keys(3000);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = i;
  RunBatch(*partition, Operation::kUpsert, keys, keys);
  ASSERT_EQ(partition->PrepareExtract(MakeRange(1000)), absl::OkStatus());
  ASSERT_EQ(*partition->WalkLeaving(1500), false);
  ASSERT_GT(partition->prepared_rows(), 0u);
  ASSERT_LT(partition->prepared_rows(), 2000u);
  const std::vector<uint64_t> ones(keys.size(), 1);
  const test::TestBatch add = RunBatch(*partition, Operation::kAdd, keys, ones);
  for (size_t i = 0; i < keys.size(); ++i) {
    ASSERT_EQ(add.states[i], KeyState::kPresent);
    ASSERT_EQ(add.answers[i], i + 1);
  }
  const uint64_t prepared = partition->prepared_rows();
  const std::vector<uint64_t> fresh{500'000, 500'001, 500'000};
  EXPECT_EQ(RunBatch(*partition, Operation::kInsertIfAbsent, fresh, {7, 8, 9}).states,
            (States{KeyState::kAbsent, KeyState::kAbsent, KeyState::kPresent}));
  EXPECT_EQ(partition->prepared_rows(), prepared + 2);
  memory.cache.FailAllocationsFrom(1);
  uint64_t refused = 0;
  for (uint64_t key = 1'000'000; key < 1'001'000; ++key) {
    const test::TestBatch insert = RunBatch(*partition, Operation::kInsertIfAbsent, {key}, {key});
    ASSERT_EQ(insert.answers[0], test::TestBatch::kUnanswered);
    refused += insert.states[0] == KeyState::kNoMemory ? 1 : 0;
  }
  EXPECT_GT(refused, 0u);
  EXPECT_EQ(RunBatch(*partition, Operation::kReplaceIfPresent, {2999, 500'000}, {1, 1}).answers,
            (std::vector<uint64_t>{3000, 7}));
  memory.cache.FailAllocationsFrom(0);
  EXPECT_EQ(partition->size(), 3002u + 1000 - refused);
}

TEST_F(HashPartitionTest, RefusedIngestChangesNoRow) {
  auto partition = MakeHash(memory, MakeRange(0, 1 << 20));
  std::vector<uint64_t> keys(5000);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = i * 100;
  RunBatch(*partition, Operation::kUpsert, keys, keys);
  ExchangeChunk chunk{MakeRange(1 << 20), {}, {}};
  for (uint64_t i = 0; i < 5000; ++i) {
    chunk.keys.push_back((1 << 20) + i);
    chunk.values.push_back(i);
  }
  Rows rows;
  for (const uint64_t key : keys) rows.emplace_back(key, key);
  uint64_t nth = 1;
  for (;; ++nth) {
    memory.cache.FailAllocationsFrom(nth);
    const absl::Status status = partition->Ingest(chunk);
    memory.cache.FailAllocationsFrom(0);
    if (status.ok()) break;
    ASSERT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
    ASSERT_EQ(partition->range(), MakeRange(0, 1 << 20));
    ASSERT_EQ(RowsOf(*partition), rows);
    ASSERT_EQ(CheckHashTable(partition->table()), absl::OkStatus());
  }
  EXPECT_GT(nth, 3u);
  EXPECT_EQ(partition->size(), 10'000u);
  EXPECT_EQ(partition->range(), MakeRange(0));
}

// A refused walk leaves every row served, and goes on when there is memory.
TEST_F(HashPartitionTest, RefusedWalkAndCancelLoseNoRow) {
  auto partition = MakeHash(memory, MakeRange(0));
  std::vector<uint64_t> keys(5000);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = i * 100;
  RunBatch(*partition, Operation::kUpsert, keys, keys);
  Rows rows;
  for (const uint64_t key : keys) rows.emplace_back(key, key);
  const auto unchanged = [&] {
    ASSERT_EQ(RowsOf(*partition), rows);
    ASSERT_EQ(CheckHashTable(partition->table()), absl::OkStatus());
  };
  for (int round = 0; round < 2; ++round) {
    ASSERT_EQ(partition->PrepareExtract(MakeRange(0, 300'000)), absl::OkStatus());
    int refused = 0;
    for (uint64_t nth = 1;; nth += 17) {
      memory.cache.FailAllocationsFrom(nth);
      const auto done = partition->WalkLeaving(100'000);
      memory.cache.FailAllocationsFrom(0);
      unchanged();
      if (done.ok() && *done) break;
      ASSERT_EQ(done.status().code(), absl::StatusCode::kResourceExhausted);
      ++refused;
    }
    EXPECT_GT(refused, 1);
    EXPECT_EQ(partition->prepared_rows(), 3000u);
    for (uint64_t nth = 1;; ++nth) {
      memory.cache.FailAllocationsFrom(nth);
      const auto done = partition->CancelExtract(nth % 2 == 0 ? 100 : 10'000);
      memory.cache.FailAllocationsFrom(0);
      unchanged();
      if (done.ok() && *done) break;
    }
    EXPECT_EQ(partition->prepared_rows(), 0u);
    EXPECT_EQ(RowsOf(*partition), rows);
  }
}

constexpr Operation kConditional[] = {Operation::kInsertIfAbsent, Operation::kReplaceIfPresent,
                                      Operation::kCompareAndSet, Operation::kAdd};

// Random commands against a map while ends of the range are prepared, walked over, extracted,
// given up and taken in by a neighbour, turn by turn.
class HashPartitionModelTest : public ::testing::TestWithParam<HashKeys> {
 protected:
  HashPartitionModelTest() : random_(Seed()) {
    pool_ = HashKeyPool(GetParam(), 6000, random_);
    std::vector<uint64_t> sorted = pool_;
    std::sort(sorted.begin(), sorted.end());
    const uint64_t middle = sorted[sorted.size() / 2];
    partitions_[0] = MakeHash(memory_, MakeRange(0, middle), random_());
    partitions_[1] = MakeHash(memory_, MakeRange(middle), random_());
  }

  uint64_t AnyKey() { return pool_[random_() % pool_.size()]; }

  void ExecuteSome(Operation operation) {
    HashPartition& partition = *partitions_[random_() % 2];
    std::vector<uint64_t> keys;
    std::vector<uint64_t> values;
    std::vector<uint64_t> expected;
    const bool conditional = IsConditional(operation);
    for (uint64_t i = random_() % 300; i > 0; --i) {
      const bool again = !keys.empty() && random_() % 8 == 0;
      const uint64_t key = again ? keys[random_() % keys.size()] : AnyKey();
      if (!partition.range().ContainsU64(key)) continue;
      keys.push_back(key);
      values.push_back(conditional ? random_() % 3 : random_());
      if (operation != Operation::kCompareAndSet) continue;
      const auto row = model_.find(key);  // mostly what is there before the batch
      expected.push_back(row != model_.end() && random_() % 4 != 0 ? row->second : random_() % 3);
    }
    const test::TestBatch executed = RunBatch(partition, operation, keys, values, expected);
    for (size_t i = 0; i < keys.size(); ++i) {
      const test::ModelAnswer answer = test::RunOnModel(model_, operation, keys[i], values[i],
                                                        expected.empty() ? 0 : expected[i]);
      ASSERT_EQ(executed.states[i], answer.state) << keys[i];
      ASSERT_EQ(executed.answers[i], answer.value.value_or(test::TestBatch::kUnanswered))
          << keys[i];
    }
  }

  // One turn of a transfer from giver_ to the other.
  void MoveOn() {
    HashPartition& from = *partitions_[giver_];
    HashPartition& to = *partitions_[1 - giver_];
    switch (step_) {
      case Step::kIdle: {
        giver_ = random_() % 2;
        const uint64_t cut = AnyKey();
        const Range& range = partitions_[giver_]->range();
        if (range.Empty() || !range.ContainsU64(cut) || cut == range.lo.head) return;
        // The end that touches the other one's range; all of it now and then.
        Range leaving = range;
        if (random_() % 8 != 0)
          (giver_ == 0 ? leaving.lo : leaving.hi.emplace()) = Key::FromU64(cut);
        ASSERT_EQ(partitions_[giver_]->PrepareExtract(leaving), absl::OkStatus());
        // Chunks from the low end of the lower one are not adjacent: it goes in one piece.
        all_from_low_ = giver_ == 0 && leaving == range;
        step_ = Step::kWalking;
        break;
      }
      case Step::kWalking: {
        const auto done = from.WalkLeaving(static_cast<uint32_t>(1 + random_() % 2000));
        ASSERT_EQ(done.status(), absl::OkStatus());
        if (*done) step_ = Step::kExtracting;
        if (random_() % 16 == 0) step_ = Step::kGivingUp;
        break;
      }
      case Step::kExtracting: {
        ExchangeChunk chunk;
        const auto rows_max = static_cast<uint32_t>(all_from_low_ ? UINT32_MAX : random_() % 700);
        ASSERT_EQ(Extract(from, rows_max, chunk), absl::OkStatus());
        ASSERT_LE(chunk.keys.size(), rows_max);
        if (!chunk.covers.Empty()) {
          ASSERT_EQ(to.Ingest(chunk), absl::OkStatus());
        }
        if (!from.prepared()) step_ = Step::kIdle;
        if (from.prepared_rows() > 0 && random_() % 16 == 0) step_ = Step::kGivingUp;
        break;
      }
      case Step::kGivingUp: {
        const auto done = from.CancelExtract(static_cast<uint32_t>(1 + random_() % 500));
        ASSERT_EQ(done.status(), absl::OkStatus());
        if (*done) step_ = Step::kIdle;
        if (!*done && random_() % 8 == 0) step_ = Step::kWalking;  // on second thoughts
        break;
      }
    }
  }

  void CheckAll() {
    uint64_t rows = 0;
    for (const auto& partition : partitions_) {
      ASSERT_EQ(CheckHashTable(partition->table()), absl::OkStatus());
      const Rows expected =
          partition->range().Empty() ? Rows() : RowsIn(model_, partition->range());
      ASSERT_EQ(RowsOf(*partition), expected);
      rows += partition->size();
    }
    ASSERT_EQ(rows, model_.size());
  }

  enum class Step { kIdle, kWalking, kExtracting, kGivingUp };
  Random random_;
  TreeMemory memory_;
  std::vector<uint64_t> pool_;
  std::unique_ptr<HashPartition> partitions_[2];
  Model model_;
  Step step_ = Step::kIdle;
  size_t giver_ = 0;
  bool all_from_low_ = false;
};

TEST_P(HashPartitionModelTest, RowsMoveWhileTheyAreUsed) {
  SCOPED_TRACE(SeedText());
  for (int command = 0; command < 4000; ++command) {
    const bool growing = (command / 1000) % 2 == 0;
    const uint64_t dice = random_() % 100;
    if (dice < 30) {
      ExecuteSome((random_() % 4 == 0) != growing ? Operation::kUpsert : Operation::kErase);
    } else if (dice < 40) {
      ExecuteSome(kConditional[random_() % 4]);
    } else if (dice < 60) {
      ExecuteSome(Operation::kLookup);
    } else {
      MoveOn();
    }
    if (command % 200 == 0) CheckAll();
    ASSERT_FALSE(HasFatalFailure()) << "at command " << command;
  }
  CheckAll();
  for (const auto& partition : partitions_) {
    for (ExchangeChunk chunk; !partition->range().Empty();) {
      ASSERT_EQ(Extract(*partition, UINT32_MAX, chunk), absl::OkStatus());
    }
    EXPECT_EQ(partition->size(), 0u);
  }
  EXPECT_EQ(memory_.cache.used_bytes(), 0u);
}

INSTANTIATE_TEST_SUITE_P(AllKeys, HashPartitionModelTest, ::testing::ValuesIn(kAllHashKeys),
                         [](const auto& keys) { return HashKeysName(keys.param); });

}  // namespace
}  // namespace eris::storage
