// What stands behind an eris::JoinChunk: a block of joined rows that goes back to its join when the
// reader is done.
#ifndef ERIS_ENGINE_READS_JOIN_CHUNK_H_
#define ERIS_ENGINE_READS_JOIN_CHUNK_H_

#include <cstdint>

#include "engine/reads/join_state.h"
#include "eris/engine.h"

namespace eris {

class JoinChunk::Buffer {
 public:
  // Takes over one of the join's references.
  Buffer(engine::JoinState* join, engine::JoinState::Block* block, uint32_t rows)
      : join_(join), block_(block), rows_(rows) {}
  ~Buffer() {
    join_->ReturnBlock(block_);
    join_->Unref();
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  const uint64_t* outer_keys() const { return block_->outer_keys; }
  const uint64_t* join_keys() const { return block_->join_keys; }
  const uint64_t* values() const { return block_->values; }
  uint32_t rows() const { return rows_; }

 private:
  engine::JoinState* const join_;
  engine::JoinState::Block* const block_;
  const uint32_t rows_;
};

}  // namespace eris

#endif  // ERIS_ENGINE_READS_JOIN_CHUNK_H_
