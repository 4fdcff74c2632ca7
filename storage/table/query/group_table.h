// Groups and their sums: keys of up to four columns, strings among them kept
// once, and one cell per accumulator. Grows by doubling, at most to kGroupsMax groups, and as far
// as the memory of all runs allows. Beyond a limit of its own it refuses with OutOfRange, since the
// same query meets it again; where memory is short just now with ResourceExhausted. One
// TableRun owns it; no latch. Paper: ERIS 3.1.
#ifndef ERIS_STORAGE_TABLE_GROUP_TABLE_H_
#define ERIS_STORAGE_TABLE_GROUP_TABLE_H_

#include <array>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "storage/table/query/plan_body.h"
#include "storage/table/query/run_memory.h"

namespace eris::storage {

// Bytes of all strings in the group keys of one run.
inline constexpr uint64_t kGroupTextBytesMax = uint64_t{64} << 20;
// Bytes of the aggregates of all groups of one run.
inline constexpr uint64_t kGroupCellBytesMax = uint64_t{64} << 20;

struct GroupKey {
  // By column: an integer, a double's bits (one zero, one NaN), or a string's number.
  std::array<uint64_t, kGroupColumnsMax> words{};
  uint8_t nulls = 0;  // bit i: column i is null, and its word is 0
  friend bool operator==(const GroupKey&, const GroupKey&) = default;
};

// A number as a group: an integer in 64 bits, of a double its only spelling.
template <class T>
uint64_t GroupWord(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    uint64_t bits = 0x7ff8'0000'0000'0000;
    if (value == 0) return 0;
    if (value == value) __builtin_memcpy(&bits, &value, sizeof bits);
    return bits;
  } else {
    return static_cast<uint64_t>(value);
  }
}

class GroupTable {
 public:
  static constexpr uint32_t kNoGroup = ~uint32_t{0};

  // By accumulator: a sum of integers, of doubles, an order key, or a count.
  union Cell {
    Int128 sum;
    double real;
    int64_t key;
    uint64_t count;
  };

  // `types`: of the group columns. `memory`: shared by all runs; nullptr: no limit.
  GroupTable(const PlanBody& plan, std::vector<ColumnType> types, RunMemory* memory);

  uint32_t size() const { return static_cast<uint32_t>(keys_.size()); }
  const GroupKey& key(uint32_t group) const { return keys_[group]; }
  // The group with that key, added if absent. kNoGroup: there are too many, status().
  uint32_t FindOrAdd(const GroupKey& key);
  // A string's number, for use in keys. kNoGroup: too many bytes, status().
  uint32_t Intern(std::string_view text);
  std::string_view Text(uint64_t number) const {
    return {text_.data() + text_ends_[number], text_ends_[number + 1] - text_ends_[number]};
  }

  uint64_t& rows(uint32_t group) { return rows_[group]; }
  Cell* cells(uint32_t group) { return cells_.data() + size_t{group} * accumulators_; }
  uint32_t accumulators() const { return accumulators_; }
  uint64_t* all_rows() { return rows_.data(); }
  Cell* all_cells() { return cells_.data(); }

  // Merges `other`, of the same plan. False: too many groups, status().
  bool Merge(const GroupTable& other);
  void Clear();
  // Groups in the order of their keys.
  void Sort(std::vector<uint32_t>& order) const;

  const absl::Status& status() const { return status_; }

 private:
  void Rehash(size_t slots);
  // Makes room for twice as many groups, or for `bytes` more of strings. False: too much, status().
  bool GrowGroups();
  bool GrowText(size_t bytes);
  bool Take(uint64_t bytes);

  const PlanBody& plan_;
  const std::vector<ColumnType> types_;
  const uint32_t accumulators_;
  std::vector<Cell> empty_;  // the initial cells of a new group
  std::vector<GroupKey> keys_;
  std::vector<uint64_t> rows_;
  std::vector<Cell> cells_;
  std::vector<uint32_t> slots_;  // group or kNoGroup, by hash; the size is a power of two
  std::vector<char> text_;
  std::vector<uint64_t> text_ends_;   // string i is [text_ends_[i], text_ends_[i + 1])
  std::vector<uint32_t> text_slots_;  // like slots_
  RunShare share_;
  size_t groups_room_ = 0;  // counted in share_, except for the first few
  size_t text_room_ = 0;    // bytes: of strings and of their lookup structures
  absl::Status status_;
};

// Adds up two partial results of one accumulator.
void AddCell(const PlanBody& plan, uint32_t accumulator, const GroupTable::Cell& from,
             GroupTable::Cell& to);

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TABLE_GROUP_TABLE_H_
