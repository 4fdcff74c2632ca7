// A chunk of a table scan in its reader's hands. Lets the chunk's memory go back to the scan at its
// end, on any thread.
#ifndef ERIS_ENGINE_READS_TABLE_RESULT_H_
#define ERIS_ENGINE_READS_TABLE_RESULT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "engine/reads/table_resume.h"
#include "engine/reads/table_scan_state.h"
#include "eris/query.h"

namespace eris::engine {

class TableResult final : public Chunk {
 public:
  // Takes a reference to the scan over. `resume` without parts: of aggregates.
  TableResult(TableScanState& scan, TableScanState::Chunk& chunk, uint32_t rows, TableResume resume)
      : scan_(scan), chunk_(chunk), rows_(rows), resume_(std::move(resume)) {}
  ~TableResult() override {
    scan_.ReturnChunk(&chunk_);
    scan_.Unref();
  }
  TableResult(const TableResult&) = delete;
  TableResult& operator=(const TableResult&) = delete;

  uint64_t rows() const override { return rows_; }
  const Schema& schema() const override { return scan_.schema(); }
  ColumnView column(size_t i) const override { return chunk_.column_views[i]; }
  std::string resume() const override {
    return resume_.parts.empty() ? std::string() : ToToken(resume_);
  }

 private:
  TableScanState& scan_;
  TableScanState::Chunk& chunk_;
  const uint32_t rows_;
  const TableResume resume_;
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_READS_TABLE_RESULT_H_
