// Executes a plan on one AEU's part of a table: filter, projection and aggregates, block by block,
// through the column kernels. Has the partial aggregates, and scratch memory that is allocated
// once. Several runs share one pass over a partition: each processes every block while it is in the
// caches. Owned by one AEU at a time; no latch. Paper: ERIS 3.1 (scan sharing), 4.2.2.
#ifndef ERIS_STORAGE_TABLE_TABLE_RUN_H_
#define ERIS_STORAGE_TABLE_TABLE_RUN_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/table/groups/group_limits.h"
#include "storage/table/groups/group_pages.h"
#include "storage/table/groups/run_memory.h"
#include "storage/table/plan/table_plan.h"
#include "storage/table/query/key_filter.h"
#include "storage/table/query/result_rows.h"
#include "storage/table/rows/segment_view.h"

namespace eris::storage {

class TableRun {
 public:
  // The run's memory is counted in `memory`; nullptr: not counted. Groups come from `pages`;
  // nullptr: from the general heap, counted in `memory`, too. Both outlive the run. Errors:
  // ResourceExhausted (no memory, or the limit of `memory`).
  static absl::StatusOr<std::unique_ptr<TableRun>> Create(std::shared_ptr<const TablePlan> plan,
                                                          RunMemory* memory = nullptr,
                                                          const GroupLimits& limits = {},
                                                          PageSource* pages = nullptr);
  ~TableRun();

  // Only rows whose keys pass all of the filters, which outlive the run. Before the first segment.
  // Throws std::bad_alloc.
  void FilterBy(std::vector<ColumnFilter> filters);

  // Call it in every slice before running blocks of `segment`. False: no row of it can pass the
  // filter, so skip its blocks.
  bool BeginSegment(const SegmentView& segment);

  enum class Outcome : uint8_t {
    kDone,   // the whole block has been run
    kFull,   // `out` is full: continue at row `at`, with another `out`
    kError,  // see status(); the run has ended
  };
  // Runs rows of the current segment from `at` to the end of its block, or of the segment. Appends
  // to `out`; nullptr for aggregates. Moves `at` to the first row that has not been run.
  Outcome RunBlock(uint32_t& at, ResultRows* out);
  // Blocks have so many rows from now on: 64 times a power of two, at most kBlockRows, which it is
  // before the first call.
  void SetBlockRows(uint32_t rows);
  const absl::Status& status() const { return status_; }
  // Tells the run that it is the `index`-th of `of` runs that process each block in turn. Each then
  // prefetches its share of the next block while the others compute, so that memory is never idle.
  // A hint; call it again when runs join or leave.
  void Ride(uint32_t index, uint32_t of);

  // For aggregates: adds the sums of `other`, a run of the same plan, which must not run
  // afterwards. Errors: ResourceExhausted (no memory, or none left there), OutOfRange (a result
  // outside its type, more than kGroupsMax groups).
  absl::Status Merge(TableRun& other);
  // For aggregates: the current number of groups.
  uint64_t groups() const;
  // For aggregates, once all rows have been run and merged: does a part of what is to be done for
  // their results, for about as long as it takes to group `rows` rows. True: there is more.
  // FinishGroups does what is left.
  bool FinishSome(uint32_t rows);
  // For aggregates: FinishGroups returns the number of result rows; TakeGroups returns rows from
  // `first` on, in the order of their keys or, which costs no sort, in any. Errors: OutOfRange (a
  // result outside its type).
  enum class Order : uint8_t { kKeys, kAny };
  absl::StatusOr<uint64_t> FinishGroups(Order order = Order::kKeys);
  // Appends to `out` until it is full or all rows have been returned; advances `first`.
  void TakeGroups(uint64_t& first, ResultRows& out);
  // Frees a piece of the memory of its groups, 16 pages at most. True: there is more. After it only
  // FreeSome may be called. Without it the destructor frees all at once.
  bool FreeSome();

 private:
  class Body;
  TableRun(std::shared_ptr<const TablePlan> plan, RunMemory* memory);

  const std::shared_ptr<const TablePlan> plan_;
  RunShare share_;  // for scratch memory
  std::unique_ptr<Body> body_;
  absl::Status status_;
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TABLE_TABLE_RUN_H_
