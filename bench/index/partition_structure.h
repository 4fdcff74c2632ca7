// A partition as a measured structure: batches through storage::Partition, as an AEU executes them.
// A function makes the partition, so an index and a hash are measured in the same way.
#ifndef ERIS_BENCH_INDEX_PARTITION_STRUCTURE_H_
#define ERIS_BENCH_INDEX_PARTITION_STRUCTURE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/index/probes.h"
#include "bench/index/structure_lab.h"
#include "bench/memory/our_memory.h"
#include "storage/ordered_partition.h"
#include "storage/partition.h"

namespace eris::bench {

using MakePartition = absl::StatusOr<std::unique_ptr<storage::Partition>> (*)(
    const storage::Range& range, memory::LocalCache& cache);

// The engine's memory account of an object.
inline void AddAccount(Json& json, memory::LocalCache& cache) {
  const memory::ObjectAccount account = cache.manager().Account();
  json.Add("used", account.used_bytes).Add("committed", account.committed_bytes);
}

template <MakePartition kMake, bool kOrderedRows>
class PartitionStructure {
 public:
  static constexpr bool kOrdered = kOrderedRows;
  static constexpr bool kBulkLoads = kOrderedRows;
  static constexpr bool kReplaces = true;

  explicit PartitionStructure(uint64_t) : memory_(1) {
    for (uint32_t i = 0; i < kBlockKeys; ++i) positions_[i] = i;
  }
  ~PartitionStructure() {
    if (partition_ != nullptr) partition_->Abandon();
  }

  void Insert(const uint64_t* keys, const uint64_t* values, size_t count, size_t batch) {
    if (partition_ == nullptr) partition_ = Make(storage::Range{});
    Execute(storage::Operation::kUpsert, keys, values, count, batch);
  }
  void Replace(const uint64_t* keys, const uint64_t* values, size_t count, size_t batch) {
    Execute(storage::Operation::kUpsert, keys, values, count, batch);
  }
  Found Lookup(const uint64_t* keys, size_t count, size_t batch) {
    Found found;
    for (size_t i = 0; i < count; i += batch) {
      const size_t part = std::min(batch, count - i);
      ExecuteOne(storage::Operation::kLookup, keys + i, nullptr, part);
      if (part >= 16 && AllPresent(part)) {
        found.rows += part;
        found.differing |= DifferingRows(keys + i, values_.data(), part);
        continue;
      }
      // Few instructions: the time of a small batch depends on how far ahead the core can execute.
      for (size_t j = 0; j < part; ++j) {
        const bool present = states_[j] == storage::KeyState::kPresent;
        found.rows += present;
        found.differing |= present ? Differing(keys[i + j], values_[j]) : 0;
      }
    }
    return found;
  }
  uint64_t Erase(const uint64_t* keys, size_t count, size_t batch) {
    uint64_t erased = 0;
    for (size_t i = 0; i < count; i += batch) {
      const size_t part = std::min(batch, count - i);
      ExecuteOne(storage::Operation::kErase, keys + i, nullptr, part);
      for (size_t j = 0; j < part; ++j) erased += states_[j] == storage::KeyState::kPresent;
    }
    OurMemory::EndTurn(memory_.cache(0));
    return erased;
  }

  Found Scan(uint64_t from, uint64_t rows) {
    storage::ScanCursor cursor{.rest = {storage::Key::FromU64(from), partition_->range().hi},
                               .rows_left = rows};
    storage::ScanRows out{keys_.data(), values_.data(), static_cast<uint32_t>(kBlockKeys), 0};
    partition_->ordered()->Scan(cursor, {}, out);
    return Check(out);
  }
  Found ScanAll() {
    storage::ScanCursor cursor{.rest = partition_->range()};
    Found all;
    uint64_t last = 0;
    while (!cursor.done) {
      storage::ScanRows out{keys_.data(), values_.data(), kScanRows, 0};
      partition_->ordered()->Scan(cursor, {}, out);
      all.Add(Check(out));
      if (out.rows == 0) break;
      // Unit tests check the order inside a run of rows; checking it here would cost more than
      // reading them.
      all.ascending &= all.rows == out.rows || keys_[0] > last;
      last = keys_[out.rows - 1];
      all.ascending &= last >= keys_[0];
    }
    return all;
  }

  uint64_t Load(const uint64_t* keys, const uint64_t* values, size_t count) {
    if (partition_ == nullptr) partition_ = Make({storage::Key{}, storage::Key{}});  // empty
    storage::ExchangeChunk chunk;
    chunk.covers.lo = covered_;
    // Up to the next piece's beginning, which is unknown here: so just after the last key.
    const bool end = keys[count - 1] == ~uint64_t{0};
    if (!end) chunk.covers.hi = covered_ = storage::Key::FromU64(keys[count - 1] + 1);
    chunk.keys.assign(keys, keys + count);
    chunk.values.assign(values, values + count);
    const uint64_t begin_ns = NowNs();
    const absl::Status status = partition_->Ingest(chunk);
    const uint64_t ns = NowNs() - begin_ns;
    if (!status.ok()) Die(std::string(status.message()));
    return ns;
  }

  uint64_t ValueAt(uint64_t key) {
    ExecuteOne(storage::Operation::kLookup, &key, nullptr, 1);
    return values_[0];
  }
  uint64_t size() const { return partition_->size(); }
  void AddMemory(Json& json) { AddAccount(json, memory_.cache(0)); }

 private:
  static constexpr uint32_t kScanRows = 4096;

  std::unique_ptr<storage::Partition> Make(const storage::Range& range) {
    auto made = kMake(range, memory_.cache(0));
    if (!made.ok()) Die(std::string(made.status().message()));
    return *std::move(made);
  }
  void Execute(storage::Operation operation, const uint64_t* keys, const uint64_t* values,
               size_t count, size_t batch) {
    for (size_t i = 0; i < count; i += batch) {
      ExecuteOne(operation, keys + i, values + i, std::min(batch, count - i));
    }
    OurMemory::EndTurn(memory_.cache(0));
  }
  void ExecuteOne(storage::Operation operation, const uint64_t* keys, const uint64_t* values,
                  size_t count) {
    const storage::BatchPart part{.count = static_cast<uint32_t>(count),
                                  .keys = keys,
                                  .values_in = values,
                                  .positions = positions_.data(),
                                  .values_out = values_.data(),
                                  .states_out = states_.data()};
    partition_->Execute(storage::Batch{operation, {&part, 1}});
  }
  bool AllPresent(size_t count) const {
    size_t present = 0;
    for (size_t j = 0; j < count; ++j) present += states_[j] == storage::KeyState::kPresent;
    return present == count;
  }
  Found Check(const storage::ScanRows& out) const {
    return {.rows = out.rows, .differing = DifferingRows(out.keys, out.values, out.rows)};
  }

  OurMemory memory_;
  std::unique_ptr<storage::Partition> partition_;
  storage::Key covered_;                                            // everything below it is loaded
  std::vector<uint64_t> keys_ = std::vector<uint64_t>(kBlockKeys);  // for scans
  std::vector<uint64_t> values_ = std::vector<uint64_t>(kBlockKeys);
  std::vector<uint32_t> positions_ = std::vector<uint32_t>(kBlockKeys);
  std::vector<storage::KeyState> states_ = std::vector<storage::KeyState>(kBlockKeys);
};

}  // namespace eris::bench

#endif  // ERIS_BENCH_INDEX_PARTITION_STRUCTURE_H_
