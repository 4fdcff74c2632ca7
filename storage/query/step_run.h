// Does one task of a stage at one AEU, in pieces of work: of some rows, or as much as the operator
// says. Used by one thread. Not from the papers.
#ifndef ERIS_STORAGE_QUERY_STEP_RUN_H_
#define ERIS_STORAGE_QUERY_STEP_RUN_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "storage/query/query_part.h"
#include "storage/query/rows/envelope_list.h"
#include "storage/query/rows/query_memory.h"
#include "storage/query/stage.h"
#include "storage/table/groups/group_pages.h"
#include "storage/table/groups/run_memory.h"
#include "storage/table/plan/table_plan.h"
#include "storage/table/query/block_values.h"
#include "storage/table/query/table_run.h"

namespace eris::storage {

class StepRun {
 public:
  virtual ~StepRun() = default;
  // True: there is more to do. False: all rows are made. Errors: ResourceExhausted (no memory),
  // OutOfRange (arithmetic outside its type), InvalidArgument (a join without keys with more than
  // one row on its right side).
  virtual absl::StatusOr<bool> Advance() = 0;
  // Whether there is nothing to do until other AEUs have done what it waits for. Uses seq_cst
  // loads: see routing::Waker.
  virtual bool Waits() const { return false; }

  // How many rows the next piece may have, where its time depends on them: kPieceRowsMin times a
  // power of two, at most kBlockRows.
  void SetPieceRows(uint32_t rows) { piece_rows_ = rows; }

 protected:
  uint32_t piece_rows() const { return piece_rows_; }

 private:
  uint32_t piece_rows_ = kBlockRows;
};

// A word of a bitmap.
inline constexpr uint32_t kPieceRowsMin = 64;

// Learns how many rows a piece of some 20 us has.
class PieceRows {
 public:
  static constexpr uint64_t kPieceNs = 20'000;
  uint32_t rows() const { return rows_; }
  // The last piece took so long: the next one gets fewer rows, or more.
  void Took(uint64_t ns) {
    if (ns > kPieceNs * 3 / 2) {
      rows_ = std::max(rows_ / 2, kPieceRowsMin);
    } else if (ns < kPieceNs / 2) {
      rows_ = std::min(rows_ * 2, kBlockRows);
    }
  }

 private:
  static constexpr uint32_t kFirst = 512;
  uint32_t rows_ = kFirst;
};

// What all of them need; it outlives them.
struct StepWorld {
  QueryMemory& memory;
  RunMemory* run_memory;  // nullptr: not counted
  PageSource& group_pages;
};
inline StepWorld WorldOf(QueryPart& part) {
  return {part.memory(), part.all().memory, part.group_pages()};
}

// Inputs are complete, and steps name no subqueries any more. Errors: InvalidArgument,
// ResourceExhausted. Steps that take one envelope after the other are in envelope_step.h.
//
// The groups of a run that has had all of its rows.
std::unique_ptr<StepRun> NewGroupsRun(const StepWorld& world, std::unique_ptr<TableRun> run,
                                      EnvelopeList& rows);
// `left` and `right`: as the task names them.
absl::StatusOr<std::unique_ptr<StepRun>> NewJoinRun(const StepWorld& world, const JoinTask& task,
                                                    const EnvelopeList& left,
                                                    const EnvelopeList& right, EnvelopeList& rows);
absl::StatusOr<std::unique_ptr<StepRun>> NewSortRun(const StepWorld& world, const SortStep& step,
                                                    const EnvelopeList& input, EnvelopeList& rows);
// `inputs`: the rows of the step's inputs.
absl::StatusOr<std::unique_ptr<StepRun>> NewUnionRun(const StepWorld& world, const UnionStep& step,
                                                     std::vector<const EnvelopeList*> inputs,
                                                     EnvelopeList& rows);
// `task`: outlives the run.
std::unique_ptr<StepRun> NewValuesRun(const StepWorld& world, const ValuesTask& task,
                                      EnvelopeList& rows);
// Copies of all rows. The envelopes stay as long as it.
std::unique_ptr<StepRun> NewCopyRun(const StepWorld& world, std::vector<const Envelope*> envelopes,
                                    EnvelopeList& rows);

}  // namespace eris::storage

#endif  // ERIS_STORAGE_QUERY_STEP_RUN_H_
