// Conditional writes on a partition, key by key: what each makes of an absent key and of one that
// is there, keys that stand several times in a batch, and what a want of memory leaves behind.
#include "storage/conditional_write.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

#include "tests/support/write_model.h"
#include "tests/unit/storage/partition_kinds.h"

namespace eris::storage {
namespace {

using Column = std::vector<uint64_t>;

constexpr KeyState kAbsent = KeyState::kAbsent;
constexpr KeyState kPresent = KeyState::kPresent;
constexpr KeyState kUnequal = KeyState::kUnequal;
constexpr KeyState kNoMemory = KeyState::kNoMemory;
constexpr uint64_t kNone = test::TestBatch::kUnanswered;

struct Answers {
  States states;
  Column values;
  friend bool operator==(const Answers&, const Answers&) = default;
};

// Every test runs on a partition of each kind.
class ConditionalWriteTest : public testing::TestWithParam<RowsKind> {
 protected:
  ConditionalWriteTest() : partition_(Make(memory_)) {}

  // A batch in parts of at most `part_keys`, whose answers go to positions in reverse.
  Answers Run(Operation operation, const Column& keys, const Column& values,
              const Column& expected = {}, uint32_t part_keys = UINT32_MAX) {
    test::TestBatch batch{.operation = operation,
                          .keys = keys,
                          .values = values,
                          .expected = expected,
                          .part_keys = part_keys,
                          .reversed = true};
    batch.Run(*partition_);
    return {batch.states, batch.answers};
  }
  static std::unique_ptr<Partition> Make(TreeMemory& memory) {
    return NewPartition(GetParam(), Range{}, memory.cache, Seed());
  }

  TreeMemory memory_;
  std::unique_ptr<Partition> partition_;
};

TEST_P(ConditionalWriteTest, InsertLeavesWhatIsThereAndShowsIt) {
  EXPECT_EQ(Run(Operation::kInsertIfAbsent, {5, 0, kKeyMax}, {50, 1, 2}),
            (Answers{{kAbsent, kAbsent, kAbsent}, {kNone, kNone, kNone}}));
  EXPECT_EQ(Run(Operation::kInsertIfAbsent, {5, 6, kKeyMax}, {51, 60, 3}),
            (Answers{{kPresent, kAbsent, kPresent}, {50, kNone, 2}}));
  EXPECT_EQ(RowsOf(*partition_), (Rows{{0, 1}, {5, 50}, {6, 60}, {kKeyMax, 2}}));
}

TEST_P(ConditionalWriteTest, ReplaceCreatesNothingAndShowsTheValueBefore) {
  Run(Operation::kInsertIfAbsent, {5}, {50});
  EXPECT_EQ(Run(Operation::kReplaceIfPresent, {5, 6, 5}, {51, 60, 52}),
            (Answers{{kPresent, kAbsent, kPresent}, {50, kNone, 51}}));
  EXPECT_EQ(RowsOf(*partition_), (Rows{{5, 52}}));
}

TEST_P(ConditionalWriteTest, CompareAndSetWritesWhereTheValueIsTheExpectedOne) {
  Run(Operation::kInsertIfAbsent, {5, 6}, {50, 60});
  EXPECT_EQ(Run(Operation::kCompareAndSet, {5, 6, 7}, {51, 61, 71}, {50, 59, 0}),
            (Answers{{kPresent, kUnequal, kAbsent}, {50, 60, kNone}}));
  EXPECT_EQ(RowsOf(*partition_), (Rows{{5, 51}, {6, 60}}));
  // Equal though it changes nothing, and a chain within a batch.
  EXPECT_EQ(Run(Operation::kCompareAndSet, {6, 5, 5, 5}, {60, 52, 53, 54}, {60, 51, 52, 52}),
            (Answers{{kPresent, kPresent, kPresent, kUnequal}, {60, 51, 52, 53}}));
  EXPECT_EQ(RowsOf(*partition_), (Rows{{5, 53}, {6, 60}}));
}

TEST_P(ConditionalWriteTest, AddCountsFromZeroWrapsAndAnswersTheSum) {
  const uint64_t minus_two = ~uint64_t{1};
  EXPECT_EQ(Run(Operation::kAdd, {5, 6, 5}, {3, minus_two, 4}),
            (Answers{{kAbsent, kAbsent, kPresent}, {3, minus_two, 7}}));
  EXPECT_EQ(Run(Operation::kAdd, {6, 6, 5}, {2, 1, 0}),
            (Answers{{kPresent, kPresent, kPresent}, {0, 1, 7}}));
  EXPECT_EQ(Run(Operation::kAdd, {5}, {uint64_t{1} << 63}).values,
            (Column{7 + (uint64_t{1} << 63)}));
  EXPECT_EQ(Run(Operation::kAdd, {5}, {uint64_t{1} << 63}).values, (Column{7}));
  // A counter of 0 is a row like any other.
  EXPECT_EQ(Run(Operation::kAdd, {9}, {0}), (Answers{{kAbsent}, {0}}));
  EXPECT_EQ(RowsOf(*partition_), (Rows{{5, 7}, {6, 1}, {9, 0}}));
}

// More keys than one group, in one part and in parts of one key each.
TEST_P(ConditionalWriteTest, AKeyManyTimesInABatchIsWrittenInItsOrder) {
  uint64_t sum = 0;
  for (const uint32_t part_keys : {UINT32_MAX, 1u, 7u}) {
    Column keys, ones;
    for (uint64_t i = 0; i < 3 * kFindGroupMax; ++i) {
      keys.push_back(i % 3 == 0 ? 1000 * i : 77);  // new keys between, which move TreeNodes
      ones.push_back(1);
    }
    const Answers answers = Run(Operation::kAdd, keys, ones, {}, part_keys);
    for (size_t i = 0; i < keys.size(); ++i) {
      if (keys[i] != 77) continue;
      ASSERT_EQ(answers.values[i], ++sum);
    }
    const uint64_t fresh = 1'000'001 + part_keys;
    Column values(100);
    std::iota(values.begin(), values.end(), 0);
    const Answers inserts =
        Run(Operation::kInsertIfAbsent, Column(100, fresh), values, {}, part_keys);
    EXPECT_EQ(inserts.states[0], kAbsent);
    for (size_t i = 1; i < 100; ++i) {
      ASSERT_EQ(inserts.states[i], kPresent);
      ASSERT_EQ(inserts.values[i], 0u);
    }
  }
}

// Fails the n-th allocation and all after it, for every n that makes a difference.
TEST_P(ConditionalWriteTest, WithoutMemoryAKeyIsUnchangedAndTheOthersGoOn) {
  SCOPED_TRACE(SeedText());
  Random random(Seed());
  for (const Operation operation : {Operation::kInsertIfAbsent, Operation::kReplaceIfPresent,
                                    Operation::kCompareAndSet, Operation::kAdd}) {
    uint64_t refused = 0;
    for (uint64_t nth = 1; nth < 60; ++nth) {
      TreeMemory memory;
      auto partition = Make(memory);
      partition_.swap(partition);
      Model model;
      Column keys, values, expected;
      for (int i = 0; i < 40; ++i) {
        keys.push_back(random() >> (random() % 60));
        values.push_back(random() % 4);
      }
      Run(Operation::kInsertIfAbsent, keys, values);
      for (int i = 0; i < 40; ++i) model.emplace(keys[i], values[i]);
      // Half of them are there, some come twice.
      for (int i = 0; i < 100; ++i) {
        keys.push_back(i % 5 == 0 ? keys[40 + random() % (1 + i)] : random() >> (random() % 60));
        values.push_back(random() % 4);
      }
      for (size_t i = 0; i < keys.size(); ++i) expected.push_back(random() % 4);
      memory.cache.FailAllocationsFrom(nth);
      const Answers answers = Run(operation, keys, values, expected, 33);
      memory.cache.FailAllocationsFrom(0);
      for (size_t i = 0; i < keys.size(); ++i) {
        if (answers.states[i] == kNoMemory) {
          ++refused;
          ASSERT_FALSE(model.contains(keys[i])) << "a value that is there needs no memory";
          ASSERT_EQ(answers.values[i], kNone);
          continue;
        }
        const test::ModelAnswer answer =
            test::RunOnModel(model, operation, keys[i], values[i], expected[i]);
        ASSERT_EQ(answers.states[i], answer.state) << "key " << i << ", allocation " << nth;
        ASSERT_EQ(answers.values[i], answer.value.value_or(kNone));
      }
      ASSERT_EQ(CheckStructure(*partition_), absl::OkStatus());
      ASSERT_EQ(RowsOf(*partition_), Rows(model.begin(), model.end()));
      partition_.swap(partition);
      partition.reset();
      ASSERT_EQ(memory.cache.used_bytes(), 0u);
    }
    const bool grows = operation == Operation::kInsertIfAbsent || operation == Operation::kAdd;
    EXPECT_EQ(refused > 0, grows) << static_cast<int>(operation);
  }
}

INSTANTIATE_TEST_SUITE_P(AllKinds, ConditionalWriteTest,
                         testing::Values(RowsKind::kIndex, RowsKind::kHash), RowsKindName);

}  // namespace
}  // namespace eris::storage
