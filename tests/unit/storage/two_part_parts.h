// Partitions of two-part keys side by side, which together own all keys, and the rows that they
// should hold. Check compares both, and verifies each structure and each byte of memory.
#ifndef ERIS_TESTS_UNIT_STORAGE_TWO_PART_PARTS_H_
#define ERIS_TESTS_UNIT_STORAGE_TWO_PART_PARTS_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "memory/system/failure_point.h"
#include "storage/index/two_part_partition.h"
#include "storage/tree/tree_check.h"
#include "tests/fuzz/tree_inventory.h"
#include "tests/support/test_batch.h"
#include "tests/support/write_model.h"
#include "tests/unit/storage/storage_fixture.h"

namespace eris::storage {

using PairKey = std::pair<uint64_t, uint64_t>;
using PairRow = std::pair<const PairKey, uint64_t>;
using PairModel = std::map<PairKey, uint64_t>;
using PairRows = std::vector<std::pair<PairKey, uint64_t>>;
using FailureMode = memory::FailurePoint::Mode;

inline PairKey PairOf(const Key& key) { return {key.head, key.tail}; }

struct TwoPartParts {
  TwoPartParts() { all.push_back(New(Range{})); }

  std::unique_ptr<TwoPartPartition> New(const Range& range) {
    auto partition = TwoPartPartition::Create(range, memory.cache);
    EXPECT_TRUE(partition.ok()) << partition.status();
    return *std::move(partition);
  }
  size_t OwnerOf(uint64_t first) const {
    size_t which = 0;
    while (!all[which]->range().ContainsU64(first)) ++which;
    return which;
  }
  PairRows RowsIn(const Range& range) const {
    return {rows.lower_bound(PairOf(range.lo)),
            range.hi ? rows.lower_bound(PairOf(*range.hi)) : rows.end()};
  }

  // A batch to the partition, in parts of `part_rows` keys, whose n-th request for memory (and,
  // kFromThen, all later ones) is refused; the answers are compared, and done to the rows. How many
  // keys were refused. REQUIRES: the partition has all keys.
  size_t Execute(size_t which, Operation operation, const std::vector<PairKey>& keys,
                 uint32_t part_rows = ~0u, uint64_t nth = 0,
                 FailureMode mode = FailureMode::kOnce) {
    test::TestBatch batch{
        .operation = operation, .part_keys = part_rows, .reversed = part_rows % 2 == 0};
    for (size_t i = 0; i < keys.size(); ++i) {
      batch.keys.push_back(keys[i].first);
      batch.seconds.push_back(keys[i].second);
      batch.values.push_back(++last_value);
      // Right, wrong, and what another key of the batch has just been given.
      const auto row = rows.find(keys[i]);
      batch.expected.push_back(i % 3 == 0 && i > 0               ? batch.values[i - 1]
                               : i % 7 != 0 && row != rows.end() ? row->second
                                                                 : 0);
    }
    memory.cache.ArmFailures(nth, mode);
    batch.Run(*all[which]);
    memory.cache.ArmFailures(0, FailureMode::kOnce);
    const bool inserts = operation == Operation::kUpsert ||
                         operation == Operation::kInsertIfAbsent || operation == Operation::kAdd;
    size_t refused = 0;
    for (size_t i = 0; i < keys.size(); ++i) {
      const KeyState state = batch.states[i];
      const uint64_t answer = batch.answers[i];
      if (state == KeyState::kNoMemory) {
        EXPECT_TRUE(inserts && nth > 0 && !rows.contains(keys[i]))
            << "refused, though it needs no memory";
        EXPECT_EQ(answer, test::TestBatch::kUnanswered);
        ++refused;
        continue;
      }
      const test::ModelAnswer wanted =
          test::RunOnModel(rows, operation, keys[i], batch.values[i], batch.expected[i]);
      EXPECT_EQ(state, wanted.state) << "key " << i << " of the batch";
      EXPECT_EQ(answer, wanted.value.value_or(test::TestBatch::kUnanswered))
          << "key " << i << " of the batch";
    }
    if (mode == FailureMode::kOnce) {
      EXPECT_LE(refused, 1u);
    }
    return refused;
  }
  // Each key to its owner.
  void Put(const std::vector<PairKey>& keys) {
    std::map<size_t, std::vector<PairKey>> by_owner;
    for (const PairKey& key : keys) by_owner[OwnerOf(key.first)].push_back(key);
    for (const auto& [which, some] : by_owner) Execute(which, Operation::kUpsert, some);
  }
  absl::Status Split(uint64_t first) {
    const size_t which = OwnerOf(first);
    auto upper = all[which]->SplitAt(Key::FromU64(first));
    if (!upper.ok()) return upper.status();
    all.emplace(all.begin() + static_cast<ptrdiff_t>(which) + 1,
                static_cast<TwoPartPartition*>(upper->release()));
    return absl::OkStatus();
  }
  // Partition `which` with the one above it.
  absl::Status Join(size_t which, bool into_upper) {
    TwoPartPartition& into = *all[which + into_upper];
    TwoPartPartition& from = *all[which + !into_upper];
    const Range ranges[2] = {into.range(), from.range()};
    const absl::Status status = into.Absorb(from);
    if (!status.ok()) {
      EXPECT_EQ(into.range(), ranges[0]);
      EXPECT_EQ(from.range(), ranges[1]);
      return status;
    }
    EXPECT_EQ(from.size(), 0u);
    EXPECT_TRUE(from.range().Empty());
    all.erase(all.begin() + static_cast<ptrdiff_t>(which) + !into_upper);
    return status;
  }

  void Check() {
    fuzz::TreeInventory blocks;
    PairRows found;
    for (const auto& part : all) {
      ASSERT_EQ(CheckTree(part->tree()), absl::OkStatus());
      fuzz::TreeInventory outer;
      fuzz::AddTree(part->tree(), outer);
      blocks.blocks.insert(blocks.blocks.end(), outer.blocks.begin(), outer.blocks.end());
      const size_t before = found.size();
      for (auto [first, word] : outer.rows) {
        ASSERT_TRUE(part->range().ContainsU64(first));
        ASSERT_NO_FATAL_FAILURE(AddGroup(first, word, found, blocks));
      }
      ASSERT_EQ(part->size(), found.size() - before);
    }
    ASSERT_TRUE(found == PairRows(rows.begin(), rows.end()));
    ASSERT_EQ(fuzz::CheckMemory(blocks, memory.cache), absl::OkStatus());
  }

  TreeMemory memory;
  std::vector<std::unique_ptr<TwoPartPartition>> all;  // by range
  PairModel rows;
  uint64_t last_value = 0;

 private:
  void AddGroup(uint64_t first, uint64_t word, PairRows& found, fuzz::TreeInventory& blocks) {
    const TwoPartGroup group(word);
    ASSERT_FALSE(group.IsNone());
    if (group.IsBlock()) {
      blocks.blocks.push_back({reinterpret_cast<uintptr_t>(group.seconds()), group.Bytes()});
      ASSERT_LE(group.rows(), group.capacity());
      for (unsigned i = 0; i < group.rows(); ++i) {
        found.push_back({{first, group.seconds()[i]}, group.values()[i]});
      }
      return;
    }
    fuzz::TreeInventory inner;
    GroupTree tree(memory.cache, word);
    ASSERT_EQ(CheckTree(*tree), absl::OkStatus());
    fuzz::AddTree(*tree, inner);
    ASSERT_FALSE(inner.rows.empty());
    blocks.blocks.insert(blocks.blocks.end(), inner.blocks.begin(), inner.blocks.end());
    for (const auto& [second, value] : inner.rows) found.push_back({{first, second}, value});
  }
};

}  // namespace eris::storage

#endif  // ERIS_TESTS_UNIT_STORAGE_TWO_PART_PARTS_H_
