// Replaces the values of each group by their median, in pieces of bounded work: after it the cells
// of medians have results. Belongs to one TableRun; no latch. Not from the papers.
#ifndef ERIS_STORAGE_TABLE_MEDIAN_RESULTS_H_
#define ERIS_STORAGE_TABLE_MEDIAN_RESULTS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "storage/table/groups/group_table.h"
#include "storage/table/groups/middle_pick.h"
#include "storage/table/plan/plan_body.h"

namespace eris::storage {

class MedianResults {
 public:
  // Borrows both. Throws std::bad_alloc.
  MedianResults(const PlanBody& plan, GroupTable& table);

  static bool HasMedians(const PlanBody& plan);
  // What one takes besides its own size.
  static size_t BytesOf(const PlanBody& plan) {
    return HasMedians(plan) ? sizeof(MiddleScratch) : 0;
  }

  // Works for about as long as it takes to group `rows` rows. True: there is more to do. After the
  // first call nothing is added to the groups.
  bool Advance(uint32_t rows);

 private:
  static constexpr uint32_t kFetchedAhead = 16;  // groups; a power of two
  static constexpr uint32_t kFetchDistance = 3;  // from one step to the next
  struct Median {
    uint32_t accumulator = 0;
    uint32_t count = 0;  // accumulator; kNoAccumulator: all rows of the group
    ValueClass value_class = ValueClass::kSigned;
    bool real = false;  // the result is a double
  };

  GroupTable::Cell& cell() const { return table_.cells(group_)[medians_[next_].accumulator]; }
  // Begins with the next median. False: it has no values.
  bool Begin();
  // The next median is done.
  void GoOn();
  // Fetches values of the groups behind `group`: step by step, since only a chunk says where the
  // one before it is.
  void FetchBehind(uint32_t group);
  void Put(Int128 low, Int128 high);

  GroupTable& table_;
  std::vector<Median> medians_;
  std::unique_ptr<MiddleScratch> scratch_;  // nullptr: there are no medians
  std::variant<std::monostate, MiddlePick<int64_t>, MiddlePick<Int128>> pick_;
  // The median that comes next, or is under way.
  uint32_t group_ = 0;
  size_t next_ = 0;
  // By group modulo its size, the chunk of its first median that is fetched next; nullptr: none.
  std::array<const uint64_t*, kFetchedAhead> fetched_{};
  bool under_way_ = false;
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TABLE_MEDIAN_RESULTS_H_
