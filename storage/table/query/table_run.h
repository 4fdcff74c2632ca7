// A plan at work on one AEU's part of a table: filter, projection and aggregates, block by block,
// through the column kernels. Holds what has been added up so far, and scratch memory that is
// allocated once. Several runs of one partition ride one pass: each gets every block while it is in
// the caches. Owned by one AEU at a time; no latch. Paper: ERIS 3.1 (scan sharing), 4.2.2.
#ifndef ERIS_STORAGE_TABLE_TABLE_RUN_H_
#define ERIS_STORAGE_TABLE_TABLE_RUN_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/table/query/result_rows.h"
#include "storage/table/query/run_memory.h"
#include "storage/table/query/table_plan.h"
#include "storage/table/rows/segment_view.h"

namespace eris::storage {

class GroupTable;  // partial aggregates by group

class TableRun {
 public:
  // What the run takes is counted in `memory`, which outlives it; nullptr: nowhere. Errors:
  // ResourceExhausted (no memory, or none left there).
  static absl::StatusOr<std::unique_ptr<TableRun>> Create(std::shared_ptr<const TablePlan> plan,
                                                          RunMemory* memory = nullptr);
  ~TableRun();

  // To be called before blocks of `segment` are run, in every slice anew. False: no row of it can
  // pass the filter, its blocks need not be run.
  bool BeginSegment(const SegmentView& segment);

  enum class Outcome : uint8_t {
    kDone,   // the block has been run to its end
    kFull,   // `out` has no more room: `at` is the row to go on from, with another `out`
    kError,  // status() says why; the run is over
  };
  // Runs rows [at, end of the block that `at` lies in, or of the segment) of the segment begun.
  // `out` is where rows are appended; nullptr for aggregates. Moves `at` to the first row that has
  // not been run.
  Outcome RunBlock(uint32_t& at, ResultRows* out);
  const absl::Status& status() const { return status_; }
  // That it is the `index`-th of `of` runs that are given each block in turn: each then asks the
  // caches for its share of the next block while the others compute, so that the memory does not
  // idle. A hint; to be given anew when runs join or leave.
  void Ride(uint32_t index, uint32_t of);

  // Of aggregates: adds what `other`, of the same plan, has added up; it must not be run after
  // that. Errors: ResourceExhausted (no memory, or none left there), OutOfRange (a result outside
  // its type, more than kGroupsMax groups).
  absl::Status Merge(TableRun& other);
  // Of aggregates: how many groups there are by now.
  uint64_t groups() const;
  // Of aggregates: how many result rows there are, and rows [first, first + out.capacity) of them
  // in the order of their groups. Errors: OutOfRange (a result outside its type).
  absl::StatusOr<uint64_t> FinishGroups();
  // Appends to `out` until it is full or all rows have been given; moves `first`.
  void TakeGroups(uint64_t& first, ResultRows& out);

 private:
  class Body;
  TableRun(std::shared_ptr<const TablePlan> plan, RunMemory* memory);

  const std::shared_ptr<const TablePlan> plan_;
  RunShare share_;  // of scratch memory
  std::unique_ptr<Body> body_;
  absl::Status status_;
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TABLE_TABLE_RUN_H_
