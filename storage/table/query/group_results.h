// The groups of finished aggregates, handed out as result rows, in the order of their keys if that
// is asked for. Belongs
// to one TableRun; no latch. Paper: ERIS 3.1.
#ifndef ERIS_STORAGE_TABLE_GROUP_RESULTS_H_
#define ERIS_STORAGE_TABLE_GROUP_RESULTS_H_

#include <cstdint>
#include <vector>

#include "storage/table/groups/group_table.h"
#include "storage/table/plan/plan_body.h"
#include "storage/table/query/result_rows.h"

namespace eris::storage {

class GroupResults {
 public:
  // Borrows both.
  GroupResults(const PlanBody& plan, GroupTable& table) : plan_(plan), table_(table) {}

  // Nothing is added to the groups any more. Orders them if `ordered`. How many there are.
  uint64_t Finish(bool ordered);
  // Appends rows from `first` on until `out` is full or all have been given; moves `first`.
  void Take(uint64_t& first, ResultRows& out) const;

 private:
  // False: no room for a string.
  bool TakeOne(uint32_t group, ResultRows& out) const;
  // False: no room for a string.
  bool TakeAggregate(const AggregateResult& result, uint32_t group, ResultColumn& column,
                     uint32_t row) const;
  uint32_t GroupAt(uint64_t row) const {
    return order_.empty() ? static_cast<uint32_t>(row) : order_[row];
  }

  const PlanBody& plan_;
  GroupTable& table_;
  std::vector<uint32_t> order_;  // empty: that in which the table has them
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TABLE_GROUP_RESULTS_H_
