#include "engine/reads/scan_chunk.h"

#include <utility>

#include "storage/byte_value.h"

namespace eris {

ScanChunk::ScanChunk(std::shared_ptr<Buffer> buffer) : buffer_(std::move(buffer)) {}
ScanChunk::ScanChunk(ScanChunk&&) noexcept = default;
ScanChunk& ScanChunk::operator=(ScanChunk&&) noexcept = default;
ScanChunk::~ScanChunk() = default;

absl::Span<const uint64_t> ScanChunk::keys() const { return {buffer_->keys(), buffer_->rows()}; }
absl::Span<const uint64_t> ScanChunk::second_keys() const {
  return {buffer_->seconds(), buffer_->seconds() == nullptr ? 0 : buffer_->rows()};
}
absl::Span<const uint64_t> ScanChunk::values() const {
  return {buffer_->values(), buffer_->has_values() ? buffer_->rows() : 0};
}
absl::string_view ScanChunk::bytes(size_t row) const {
  return buffer_->has_bytes() ? storage::BytesOf(buffer_->values()[row]) : absl::string_view();
}
const std::optional<KeyRange>& ScanChunk::rest() const { return buffer_->rest(); }

}  // namespace eris
