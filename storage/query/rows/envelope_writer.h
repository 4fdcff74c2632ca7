// Fills envelopes one after the other: decides how many rows and how many bytes of strings the next
// one has room for, from what the last one held. Used by one thread. Not from the paper.
#ifndef ERIS_STORAGE_QUERY_ENVELOPE_WRITER_H_
#define ERIS_STORAGE_QUERY_ENVELOPE_WRITER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "storage/query/rows/envelope.h"
#include "storage/query/rows/query_memory.h"

namespace eris::storage {

// The memory of one envelope.
inline constexpr size_t kEnvelopeBytesMin = 8u << 10;
// Four fit in a superblock; of larger ones three do.
inline constexpr size_t kEnvelopeBytesMax = 471u << 10;
// Bytes of a string before any have been seen.
inline constexpr uint32_t kExpectedStringBytes = 16;

class EnvelopeWriter {
 public:
  // `memory` outlives it. `bytes_target`: for the memory of an envelope, kEnvelopeBytesMin to
  // kEnvelopeBytesMax. Envelopes are larger if one row needs more. At most kTableColumnsMax
  // columns. `rows_max`: no envelope gets more.
  EnvelopeWriter(QueryMemory& memory, std::span<const EnvelopeColumn> columns, size_t bytes_target,
                 uint32_t rows_max = kEnvelopeRowsMax);
  // An open envelope is lost.
  ~EnvelopeWriter();
  EnvelopeWriter(const EnvelopeWriter&) = delete;
  EnvelopeWriter& operator=(const EnvelopeWriter&) = delete;

  // The open envelope, to which rows may be appended; a new one if none is open. nullptr: no
  // memory.
  [[nodiscard]] Envelope* Open();
  // Whether the open envelope has rows.
  bool has_rows() const { return open_ != nullptr && open_->out().rows > 0; }
  // Seals the open envelope and hands it over; nullptr if there is none. Call it when the envelope
  // is full, or after the last row.
  [[nodiscard]] Envelope* Take();
  // Call it if the next row does not fit although the open envelope is empty, because its strings
  // are long: frees it. The next one has room for at least `string_bytes` bytes in each column of
  // strings.
  void Widen(uint32_t string_bytes);

 private:
  std::span<const EnvelopeColumn> columns() const { return {columns_.data(), column_count_}; }
  void Learn(const Envelope& full);
  // Sets rows_ and string_bytes_ from the bytes per row that are expected.
  void Decide();

  QueryMemory& memory_;
  std::array<EnvelopeColumn, kTableColumnsMax> columns_{};
  const size_t column_count_;
  const size_t bytes_target_;
  const uint32_t rows_max_;
  std::array<uint32_t, kTableColumnsMax> expected_{};  // bytes of a string
  std::array<uint32_t, kTableColumnsMax> string_bytes_{};
  uint32_t string_bytes_min_ = 0;
  uint32_t rows_ = 0;
  Envelope* open_ = nullptr;
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_QUERY_ENVELOPE_WRITER_H_
