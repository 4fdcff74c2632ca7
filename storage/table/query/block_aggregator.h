// Adds the rows of a block that pass the filter to the cells of their groups. Belongs to one
// TableRun; no latch. Paper: ERIS 3.1.
//
// Many rows of few groups are added up group by group, whole vectors at a time through bitmaps; few
// rows, or rows of many groups, are picked out and added one by one.
#ifndef ERIS_STORAGE_TABLE_BLOCK_AGGREGATOR_H_
#define ERIS_STORAGE_TABLE_BLOCK_AGGREGATOR_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "storage/table/groups/group_table.h"
#include "storage/table/plan/plan_body.h"
#include "storage/table/query/block_groups.h"
#include "storage/table/query/block_values.h"
#include "storage/table/rows/segment_view.h"

namespace eris::storage {

class BlockAggregator {
 public:
  // Borrows all of them. `picks`: scratch memory for kBlockRows rows.
  BlockAggregator(const PlanBody& plan, BlockValues& values, GroupTable& table, uint16_t* picks)
      : plan_(plan), values_(values), groups_(plan), table_(table), picks_(picks) {}

  // After values.BeginSegment.
  void BeginSegment(const SegmentView& segment);
  // Adds the `count` rows of `mask`, out of the `rows` rows of the block begun in `values`;
  // nullptr: all rows of the block, and the plan has no group columns. Errors: OutOfRange (a value
  // outside its type; too many groups), ResourceExhausted (no memory).
  [[nodiscard]] absl::Status Add(const uint64_t* mask, uint32_t rows, uint32_t count);

 private:
  absl::Status AddUngrouped(const uint64_t* mask, uint32_t rows, uint32_t count);
  // Both add rows to one group: to its counts of strings, and to the other accumulators.
  void CountStrings(const uint64_t* mask, uint32_t rows, uint32_t group);
  absl::Status AddVectors(const uint64_t* mask, uint32_t rows, uint32_t group);
  absl::Status AddByMask(const uint64_t* mask, uint32_t rows);
  absl::Status AddByRow(const uint64_t* mask, uint32_t rows);
  // Whether it counts a column of strings, whose values need not be made.
  bool CountsStrings(const Accumulator& accumulator) const {
    const ValueNode& value = plan_.values[accumulator.value];
    return accumulator.kind == Accumulator::Kind::kCount && value.IsColumn() &&
           value.value_class == ValueClass::kString;
  }
  // A sum or extreme of numbers of 128 bits, or an extreme of strings: row i, if it is not null.
  bool AddOne(uint32_t accumulator, const BlockVector& vector, uint32_t i, GroupTable::Cell& cell);

  // Keeps the values of `mask`, which are not null, in the cells of their groups; nullptr: all.
  // False: no memory, table_.status().
  template <class CellOfRow>
  bool KeepValues(const BlockVector& vector, const uint64_t* mask, uint32_t rows,
                  CellOfRow cell_of);

  // That of the group of picked row `row`.
  GroupTable::Cell& CellOf(uint32_t row, size_t accumulator) const {
    return *reinterpret_cast<GroupTable::Cell*>(records_[row] + table_.cell_offset(accumulator));
  }

  const PlanBody& plan_;
  BlockValues& values_;
  BlockGroups groups_;
  GroupTable& table_;
  uint16_t* const picks_;
  bool checked_ = false;  // in the segment begun accumulated values may leave their type
  alignas(64) uint32_t ids_[kBlockRows];  // groups of a block's rows
  std::byte* records_[kBlockRows];        // of the groups of picked rows
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TABLE_BLOCK_AGGREGATOR_H_
