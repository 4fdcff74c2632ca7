#include "engine/reads/join_chunk.h"

#include <utility>

namespace eris {

JoinChunk::JoinChunk(std::shared_ptr<Buffer> buffer) : buffer_(std::move(buffer)) {}
JoinChunk::JoinChunk(JoinChunk&&) noexcept = default;
JoinChunk& JoinChunk::operator=(JoinChunk&&) noexcept = default;
JoinChunk::~JoinChunk() = default;

absl::Span<const uint64_t> JoinChunk::outer_keys() const {
  return {buffer_->outer_keys(), buffer_->rows()};
}
absl::Span<const uint64_t> JoinChunk::join_keys() const {
  return {buffer_->join_keys(), buffer_->rows()};
}
absl::Span<const uint64_t> JoinChunk::values() const {
  return {buffer_->values(), buffer_->rows()};
}

}  // namespace eris
