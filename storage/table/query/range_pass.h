// The simplest aggregates without a bitmap: rows of one column's range are counted, or one column
// of them is added up, in a single pass over a block. Belongs to one TableRun; no latch. Paper:
// ERIS 3.1.
#ifndef ERIS_STORAGE_TABLE_RANGE_PASS_H_
#define ERIS_STORAGE_TABLE_RANGE_PASS_H_

#include <cstdint>

#include "storage/table/groups/group_table.h"
#include "storage/table/plan/plan_body.h"
#include "storage/table/query/block_filter.h"
#include "storage/table/query/block_values.h"

namespace eris::storage {

class RangePass {
 public:
  // Borrows all of them. REQUIRES: the plan has aggregates, if Fits is called.
  RangePass(const PlanBody& plan, const BlockValues& values, const BlockFilter& filter,
            GroupTable& table)
      : plan_(plan), values_(values), filter_(filter), table_(table) {}

  // After values.BeginSegment and filter.BeginSegment. Whether the segment's blocks may be run so.
  bool Fits() const;
  // Adds rows [base, base + rows) of the segment. REQUIRES: Fits().
  void Run(uint32_t base, uint32_t rows);

 private:
  template <class T>
  void RunTyped(uint32_t base, uint32_t rows, T lo, T hi);

  const PlanBody& plan_;
  const BlockValues& values_;
  const BlockFilter& filter_;
  GroupTable& table_;
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TABLE_RANGE_PASS_H_
