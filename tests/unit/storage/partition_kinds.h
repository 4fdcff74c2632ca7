// Partitions of every kind, made and read alike.
#ifndef ERIS_TESTS_UNIT_STORAGE_PARTITION_KINDS_H_
#define ERIS_TESTS_UNIT_STORAGE_PARTITION_KINDS_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "storage/byte_value.h"
#include "storage/hash/hash_partition.h"
#include "storage/hash/hash_table_check.h"
#include "storage/index/bytes_partition.h"
#include "storage/index/index_partition.h"
#include "storage/index/two_part_partition.h"
#include "storage/index/versioned_partition.h"
#include "storage/tree/tree_check.h"
#include "tests/support/extract.h"
#include "tests/support/hash_rows.h"
#include "tests/support/test_batch.h"
#include "tests/unit/storage/storage_fixture.h"

namespace eris::storage {

enum class RowsKind { kIndex, kBytes, kTwoParts, kHash, kVersioned };  // the last: of an index

inline std::string RowsKindName(const testing::TestParamInfo<RowsKind>& kind) {
  static constexpr const char* kNames[] = {"Index", "Bytes", "TwoParts", "Hash", "Versioned"};
  return kNames[static_cast<int>(kind.param)];
}

inline std::unique_ptr<OrderedPartition> NewOrdered(RowsKind kind, const Range& range,
                                                    memory::LocalCache& cache) {
  if (kind == RowsKind::kBytes) return *BytesPartition::Create(range, cache);
  if (kind == RowsKind::kTwoParts) return *TwoPartPartition::Create(range, cache);
  return *IndexPartition::Create(range, cache);
}
inline std::unique_ptr<OrderedPartition> NewVersioned(RowsKind kind, const Range& range,
                                                      memory::LocalCache& cache) {
  return *VersionedPartition::Create(NewOrdered(kind, range, cache), cache,
                                     {kind == RowsKind::kTwoParts, kind == RowsKind::kBytes});
}
inline std::unique_ptr<Partition> NewPartition(RowsKind kind, const Range& range,
                                               memory::LocalCache& cache, uint64_t seed = 5) {
  if (kind == RowsKind::kHash) return *HashPartition::Create(range, cache, seed);
  if (kind == RowsKind::kVersioned) return NewVersioned(RowsKind::kIndex, range, cache);
  return NewOrdered(kind, range, cache);
}

inline Range MakeRange(uint64_t lo, std::optional<uint64_t> hi = std::nullopt) {
  return Range::FromPublic({lo, hi});
}

using States = std::vector<KeyState>;

// A batch of one part, whose answers go to positions in reverse.
inline test::TestBatch RunBatch(Partition& partition, Operation operation,
                                std::vector<uint64_t> keys, std::vector<uint64_t> values = {},
                                std::vector<uint64_t> expected = {}) {
  return test::TestBatch{.operation = operation,
                         .keys = std::move(keys),
                         .values = std::move(values),
                         .expected = std::move(expected),
                         .reversed = true}
      .Run(partition);
}

// Rows of one word, by key.
inline Rows RowsOf(Partition& partition) {
  Rows rows;
  if (const auto* hash = dynamic_cast<HashPartition*>(&partition)) {
    const auto there = test::RowsOf(*hash);
    rows.assign(there.begin(), there.end());
  } else {
    std::vector<uint64_t> keys(partition.size() + 1), values(partition.size() + 1);
    ScanRows out{keys.data(), values.data(), static_cast<uint32_t>(keys.size()), 0};
    ScanCursor cursor{.rest = partition.range()};
    while (!cursor.done) partition.ordered()->Scan(cursor, {}, out);
    for (uint32_t i = 0; i < out.rows; ++i) rows.emplace_back(keys[i], values[i]);
  }
  EXPECT_EQ(partition.size(), rows.size());
  return rows;
}
inline absl::Status CheckStructure(Partition& partition) {
  if (const auto* hash = dynamic_cast<HashPartition*>(&partition)) {
    return CheckHashTable(hash->table());
  }
  return CheckTree(dynamic_cast<IndexPartition&>(partition).tree());
}
inline absl::Status ExtractRows(Partition& partition, uint32_t rows_max, ExchangeChunk& chunk) {
  if (auto* hash = dynamic_cast<HashPartition*>(&partition)) {
    return test::Extract(*hash, rows_max, chunk);
  }
  return test::Extract(partition, rows_max, chunk);
}

// --- byte strings ---

// The string that stands for a number: some in the word, some in a record.
inline std::string TextOf(uint64_t value) {
  return std::to_string(value) + std::string(value % 3 == 0 ? 0 : value % 50, 'x');
}
inline uint64_t NumberOf(absl::string_view text) { return std::stoull(std::string(text)); }

// Memory for strings that outlive a batch: of those that a test makes, and of `bytes_max` bytes of
// answers.
class Strings final : public BytesSink {
 public:
  explicit Strings(size_t bytes_max = std::numeric_limits<size_t>::max()) : left(bytes_max) {}
  uint64_t Word(absl::string_view text) {
    if (text.size() <= kShortBytesMax) return ShortWord(text);
    memory_.emplace_back(BlockBytes(text.size()));
    return WriteRecord(memory_.back().data(), text);
  }
  std::vector<uint64_t> Words(const std::vector<std::string>& texts) {
    std::vector<uint64_t> words;
    for (const std::string& text : texts) words.push_back(Word(text));
    return words;
  }
  std::byte* Take(size_t least, size_t wanted, size_t& given) override {
    ++pieces;
    if (left < least) return nullptr;
    given = std::min(wanted, left);
    left -= given;
    memory_.emplace_back(given);
    return memory_.back().data();
  }
  size_t left;
  size_t pieces = 0;  // of answers

 private:
  std::deque<std::vector<std::byte>> memory_;
};

}  // namespace eris::storage

#endif  // ERIS_TESTS_UNIT_STORAGE_PARTITION_KINDS_H_
