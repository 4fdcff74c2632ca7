// A chunk held by its reader, of any scan or join. Its destructor returns the buffer, on any
// thread.
#ifndef ERIS_ENGINE_READS_READ_CHUNK_H_
#define ERIS_ENGINE_READS_READ_CHUNK_H_

#include <cstdint>
#include <string>
#include <utility>

#include "engine/core/reader_state.h"
#include "engine/reads/resume_token.h"
#include "eris/query.h"

namespace eris::engine {

class ReadChunk final : public Chunk {
 public:
  // Takes over a reference to the state.
  ReadChunk(ReaderState& state, ReaderBuffer& buffer, uint64_t rows, ResumePoint resume)
      : state_(state), buffer_(buffer), rows_(rows), resume_(std::move(resume)) {}
  ~ReadChunk() override {
    state_.ReturnBuffer(buffer_);
    state_.Unref();
  }
  ReadChunk(const ReadChunk&) = delete;
  ReadChunk& operator=(const ReadChunk&) = delete;

  uint64_t rows() const override { return rows_; }
  const Schema& schema() const override { return state_.schema(); }
  ColumnView column(size_t i) const override { return buffer_.shown[i]; }
  std::string resume() const override { return ToToken(resume_); }
  ColumnBuffers TakeColumn(size_t i) const override {
    const ColumnView& view = buffer_.shown[i];
    if (view.values != buffer_.strings.data()) return Chunk::TakeColumn(i);
    const auto* const offsets = reinterpret_cast<const char*>(view.offsets);
    return {.values = std::move(buffer_.strings),
            .validity = {},
            .offsets = std::string(offsets, (rows_ + 1) * sizeof(uint32_t))};
  }

 private:
  ReaderState& state_;
  ReaderBuffer& buffer_;
  const uint64_t rows_;
  const ResumePoint resume_;
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_READS_READ_CHUNK_H_
