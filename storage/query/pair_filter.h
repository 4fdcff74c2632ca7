// The condition of a join, besides its keys: which pairs of rows it is true for. Used by one
// thread. Not from the papers.
#ifndef ERIS_STORAGE_QUERY_PAIR_FILTER_H_
#define ERIS_STORAGE_QUERY_PAIR_FILTER_H_

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/query/pair_columns.h"
#include "storage/query/rows/envelope_writer.h"
#include "storage/query/step_run.h"
#include "storage/table/query/table_run.h"

namespace eris::storage {

class PairFilter {
 public:
  // `columns`: of both sides, in the order of the condition's fields; `schemas`: what they are.
  static absl::StatusOr<std::unique_ptr<PairFilter>> Create(
      const StepWorld& world, const Expression& condition, const std::vector<PairColumn>& columns,
      const std::vector<ColumnSchema>& schemas);

  // Writes the positions of the pairs for which the condition is true to `passed`, ascending, and
  // how many they are to `count`. At most kBlockRows pairs. Errors: ResourceExhausted, OutOfRange.
  absl::Status Run(const PairRows& pairs, uint16_t* passed, uint32_t& count);

 private:
  PairFilter(const StepWorld& world, std::vector<PairColumn> columns,
             const std::vector<EnvelopeColumn>& types, std::unique_ptr<TableRun> run);

  QueryMemory& memory_;
  const std::vector<PairColumn> columns_;  // that the condition looks at
  EnvelopeWriter writer_;                  // those, and the pair's position
  const std::unique_ptr<TableRun> run_;
  // The positions that a run hands out.
  std::array<int64_t, kBlockRows> positions_;
  std::array<uint64_t, kBlockWords> validity_{};
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_QUERY_PAIR_FILTER_H_
