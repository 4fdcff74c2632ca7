// A step that takes the envelopes of its input one after the other, in any order, and by any of the
// AEUs: filters, computed columns, groups, probes of a join, rows for other AEUs. Its rows are the
// AEU's own. Used by one thread. Not from the papers.
#ifndef ERIS_STORAGE_QUERY_ENVELOPE_STEP_H_
#define ERIS_STORAGE_QUERY_ENVELOPE_STEP_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/query/query_part.h"
#include "storage/query/rows/envelope_list.h"
#include "storage/query/stage.h"
#include "storage/query/step_run.h"
#include "storage/table/query/block_values.h"

namespace eris::storage {

class JoinBuild;

class EnvelopeStep {
 public:
  virtual ~EnvelopeStep() = default;

  // The next envelope, which stays until it has been done. `build`: of a join, what it is joined
  // with; stays until the step has ended. Errors: ResourceExhausted.
  virtual absl::Status Begin(const Envelope& envelope, const JoinBuild* build) = 0;
  // A piece of the envelope, or, after the last one, of what is left to hand out. True: there is
  // more. Errors: as StepRun::Advance.
  virtual absl::StatusOr<bool> Advance() = 0;
  virtual absl::StatusOr<bool> Finish() = 0;

  // As StepRun::SetPieceRows.
  void SetPieceRows(uint32_t rows) { piece_rows_ = rows; }

 protected:
  uint32_t piece_rows() const { return piece_rows_; }

 private:
  uint32_t piece_rows_ = kBlockRows;
};

// The step of the task, whose rows go to `rows`. Errors: InvalidArgument, ResourceExhausted.
absl::StatusOr<std::unique_ptr<EnvelopeStep>> NewEnvelopeStep(const StepWorld& world,
                                                              const MapTask& task,
                                                              EnvelopeList& rows);
absl::StatusOr<std::unique_ptr<EnvelopeStep>> NewEnvelopeStep(const StepWorld& world,
                                                              const JoinTask& task,
                                                              EnvelopeList& rows);
// Errors: ResourceExhausted. `part`: of the AEU.
absl::StatusOr<std::unique_ptr<EnvelopeStep>> NewEnvelopeStep(QueryPart& part,
                                                              const SendTask& task);

// Does a step for all envelopes of a list, in their order; nullptr: there are none. Both outlive
// it.
std::unique_ptr<StepRun> NewListRun(std::unique_ptr<EnvelopeStep> step, const EnvelopeList* input,
                                    const JoinBuild* build = nullptr);

}  // namespace eris::storage

#endif  // ERIS_STORAGE_QUERY_ENVELOPE_STEP_H_
