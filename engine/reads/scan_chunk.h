// What stands behind an eris::ScanChunk: a filled chunk that goes back to its scan when the reader
// is done.
#ifndef ERIS_ENGINE_READS_SCAN_CHUNK_H_
#define ERIS_ENGINE_READS_SCAN_CHUNK_H_

#include <cstdint>
#include <optional>

#include "engine/reads/scan_state.h"
#include "eris/engine.h"

namespace eris {

class ScanChunk::Buffer {
 public:
  // Takes over one of the scan's references.
  Buffer(engine::ScanState* scan, uint32_t lane, routing::ScanChunkBuffer* chunk, uint32_t rows,
         bool has_values, bool has_bytes, const std::optional<KeyRange>& rest)
      : scan_(scan),
        lane_(lane),
        chunk_(chunk),
        rows_(rows),
        has_values_(has_values),
        has_bytes_(has_bytes),
        rest_(rest) {}
  ~Buffer() {
    scan_->ReturnChunk(lane_, chunk_);
    scan_->Unref();
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  const uint64_t* keys() const { return chunk_->rows.keys; }
  const uint64_t* seconds() const { return chunk_->rows.seconds; }  // nullptr: one-part keys
  const uint64_t* values() const { return chunk_->rows.values; }
  uint32_t rows() const { return rows_; }
  bool has_values() const { return has_values_; }
  bool has_bytes() const { return has_bytes_; }
  const std::optional<KeyRange>& rest() const { return rest_; }

 private:
  engine::ScanState* const scan_;
  const uint32_t lane_;
  routing::ScanChunkBuffer* const chunk_;
  const uint32_t rows_;
  const bool has_values_;
  const bool has_bytes_;
  const std::optional<KeyRange> rest_;
};

}  // namespace eris

#endif  // ERIS_ENGINE_READS_SCAN_CHUNK_H_
