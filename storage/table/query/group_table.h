// Groups and their sums: keys of up to kGroupColumnsMax columns, strings among them kept once, and
// one cell per accumulator. Grows by doubling, at most to its limits, and as far
// as the memory of all runs allows. Beyond a limit of its own it refuses with OutOfRange, since the
// same query meets it again; where memory is short just now with ResourceExhausted. One
// TableRun owns it; no latch. Paper: ERIS 3.1.
#ifndef ERIS_STORAGE_TABLE_GROUP_TABLE_H_
#define ERIS_STORAGE_TABLE_GROUP_TABLE_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "storage/table/plan/plan_body.h"
#include "storage/table/query/group_limits.h"
#include "storage/table/query/run_memory.h"

namespace eris::storage {

// The key of a row. Only the words of the table's columns are used.
struct GroupKey {
  // By column: an integer, of 128 bits in two words, a double's bits (one zero, one NaN), or a
  // string's number. Of a null 0.
  std::array<uint64_t, 2 * kGroupColumnsMax> words;
  uint16_t nulls = 0;  // bit i: column i is null
};
static_assert(kGroupColumnsMax <= 16);

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

  // By accumulator: a sum of integers or an extreme of 128 bits, a sum of doubles, an order key, a
  // count, or of strings the number of the extreme, from 1 on; 0: none so far.
  union Cell {
    Int128 sum;
    double real;
    int64_t key;
    uint64_t count;
  };

  // `types`: of the group columns. `memory`: shared by all runs; nullptr: no limit.
  GroupTable(const PlanBody& plan, std::vector<ColumnType> types, RunMemory* memory,
             const GroupLimits& limits = {});

  uint32_t size() const { return static_cast<uint32_t>(rows_.size()); }
  // Where the words of a key's column begin.
  uint32_t word_of(size_t column) const { return word_of_[column]; }
  const uint64_t* words(uint32_t group) const { return words_.data() + size_t{group} * stride_; }
  bool null(uint32_t group, size_t column) const { return (nulls_[group] >> column & 1) != 0; }
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

  // Combines a value with a cell for a minimum or maximum of strings. False: no memory, status().
  bool KeepExtreme(uint32_t accumulator, std::string_view text, Cell& cell);
  std::string_view ExtremeOf(const Cell& cell) const { return extremes_[cell.count - 1]; }
  // Adds to a sum of numbers of 128 bits. False: it is outside them, status().
  bool AddWide(uint32_t accumulator, Int128 value, Cell& cell);

  // Merges `other`, of the same plan. False: too many groups, or a sum outside 128 bits, status().
  bool Merge(const GroupTable& other);
  void Clear();
  // Groups in the order of their keys.
  void Sort(std::vector<uint32_t>& order) const;

  const absl::Status& status() const { return status_; }

 private:
  uint64_t HashOf(const uint64_t* words, uint16_t nulls) const;
  // Adds up two partial results of one accumulator.
  bool AddCell(uint32_t accumulator, const GroupTable& other, const Cell& from, Cell& to);
  // -1, 0 or 1 by a column of the keys of two groups.
  int CompareColumn(uint32_t a, uint32_t b, size_t column) const;
  void Rehash(size_t slots);
  // Makes room for twice as many groups, or for `bytes` more of strings. False: too much, status().
  bool GrowGroups();
  bool GrowText(size_t bytes);
  bool Take(uint64_t bytes);

  const PlanBody& plan_;
  const GroupLimits limits_;
  const std::vector<ColumnType> types_;
  const uint32_t accumulators_;
  std::vector<uint32_t> word_of_;  // by column of the keys
  uint32_t stride_ = 0;            // words of a key
  std::vector<Cell> empty_;        // the initial cells of a new group
  std::vector<uint64_t> words_;
  std::vector<uint16_t> nulls_;
  std::vector<uint64_t> rows_;
  std::vector<Cell> cells_;
  std::vector<uint32_t> slots_;  // group or kNoGroup, by hash; the size is a power of two
  std::vector<char> text_;
  std::vector<uint64_t> text_ends_;   // string i is [text_ends_[i], text_ends_[i + 1])
  std::vector<uint32_t> text_slots_;  // like slots_
  std::vector<std::string> extremes_;
  RunShare share_;
  size_t groups_room_ = 0;  // counted in share_, except for the first few
  size_t text_room_ = 0;    // bytes: of strings and of their lookup structures
  absl::Status status_;
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TABLE_GROUP_TABLE_H_
