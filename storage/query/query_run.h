// The steps of one query, run one after the other on one thread. Rows of a step are kept until the
// last step that reads them is done. Not from the papers: query processing is ERIS's next step (6).
//
//   while (!run.done()) {
//     if (run.scan() != nullptr) { fill run.rows() from the object, then EndStep }
//     else if (!*run.Advance()) EndStep
//   }
#ifndef ERIS_STORAGE_QUERY_QUERY_RUN_H_
#define ERIS_STORAGE_QUERY_QUERY_RUN_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/query/query_steps.h"
#include "storage/query/rows/envelope_list.h"
#include "storage/query/rows/query_memory.h"
#include "storage/query/step_run.h"

namespace eris::storage {

class QueryRun {
 public:
  // `memory` and `run_memory` (nullptr: not counted) outlive it. Begins the first step.
  QueryRun(QuerySteps steps, QueryMemory& memory, RunMemory* run_memory);

  bool done() const { return current_ == steps_.size(); }
  // All below REQUIRE !done(), and that no call has failed.
  //
  // The current step reads the values of earlier ones, and is made. Errors: InvalidArgument (a
  // subquery with more than one row, an expression with its values), ResourceExhausted.
  absl::Status Begin();
  // The object that the current step reads, with all values in its query; nullptr: it is no scan.
  const ScanStep* scan() const {
    return run_ != nullptr ? nullptr : std::get_if<ScanStep>(&steps_[current_].what);
  }
  // A piece of the current step, which is no scan. As StepRun::Advance.
  absl::StatusOr<bool> Advance() { return run_->Advance(); }
  // The rows of the current step.
  EnvelopeList& rows() { return ungrouped_ != nullptr ? *ungrouped_ : *rows_[current_]; }
  const QueryStep& step() const { return steps_[current_]; }
  bool begun() const { return run_ != nullptr; }
  // The current step, a scan with groups, cannot make them: it becomes a scan of the rows of the
  // object, which has the schema, and the groups are made here. Drops the rows so far.
  absl::Status GroupHere(const Schema& schema);
  // The current step has all of its rows, or those that are grouped; goes on.
  absl::Status EndStep();

  // After the last step.
  EnvelopeList& answer() { return *rows_.back(); }
  const Schema& schema() const { return steps_.back().schema; }

 private:
  absl::StatusOr<Expression> ValueOf(uint32_t step) const;
  // Puts values in the place of subqueries.
  absl::Status Resolve(Expression& expression);
  absl::Status Resolve(Query& query);
  absl::Status ResolveStep(QueryStep& step);
  // A later step has read them.
  void Release(uint32_t step);

  std::vector<QueryStep> steps_;
  const StepWorld world_;
  std::vector<std::unique_ptr<EnvelopeList>> rows_;  // by step
  std::unique_ptr<StepRun> run_;                     // of the current step, unless it is a scan
  // After GroupHere: the rows to be grouped, and how.
  std::unique_ptr<EnvelopeList> ungrouped_;
  Schema ungrouped_schema_;
  MapStep grouping_;
  size_t current_ = 0;
};

// The columns of envelopes for rows of a schema.
std::vector<EnvelopeColumn> EnvelopeColumnsOf(const Schema& schema);

}  // namespace eris::storage

#endif  // ERIS_STORAGE_QUERY_QUERY_RUN_H_
