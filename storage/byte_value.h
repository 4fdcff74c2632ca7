// A byte string as one word, so that it can go wherever a u64 value goes: through commands, tree
// and reply columns. Up to seven bytes are stored in the word itself. A longer string is stored in
// a record, and the word is the record's address. The owner of a record's memory depends on where
// the word is stored: the request's own copy of its input, the partition's cache, or the request's
// reply memory. A word is never passed from one of these to another: partitions copy the string.
//
//   word, short:    low byte 1 | length << 1, then the bytes         (a record's address is even)
//   word, long:     address of a record: length u32 | bytes
//
// No valid word is 0. Pure functions; any thread.
#ifndef ERIS_STORAGE_BYTE_VALUE_H_
#define ERIS_STORAGE_BYTE_VALUE_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "absl/strings/string_view.h"
#include "base/cache_line.h"
#include "base/check.h"
#include "eris/batch.h"
#include "eris/types.h"

namespace eris::storage {

static_assert(std::endian::native == std::endian::little);  // a short word's tag is its first byte

inline constexpr size_t kShortBytesMax = sizeof(uint64_t) - 1;
inline constexpr size_t kRecordAlignment = 8;

// The reply memory of one request, where answers are copied to. Any AEU, concurrently.
class BytesSink {
 public:
  // Room for `wanted` bytes in one piece, aligned to kRecordAlignment. If less is left, but at
  // least `least`, gives that; `given` is the size. nullptr: no room, or no memory. REQUIRES: 1 <=
  // least <= wanted.
  virtual std::byte* Take(size_t least, size_t wanted, size_t& given) = 0;

 protected:
  ~BytesSink() = default;
};

constexpr bool IsShort(uint64_t word) { return (word & 1) != 0; }

// REQUIRES: bytes.size() <= kShortBytesMax.
inline uint64_t ShortWord(absl::string_view bytes) {
  ERIS_DCHECK(bytes.size() <= kShortBytesMax);
  uint64_t word = 1 | bytes.size() << 1;
  if (!bytes.empty()) std::memcpy(reinterpret_cast<char*>(&word) + 1, bytes.data(), bytes.size());
  return word;
}

constexpr size_t BlockBytes(size_t length) { return sizeof(uint32_t) + length; }
// The size of a record next to others.
constexpr size_t RecordBytes(size_t length) {
  return base::RoundUp(BlockBytes(length), kRecordAlignment);
}
static_assert(uint64_t{kBatchKeysMax} * RecordBytes(kValueBytesMax) >> 48 == 0);  // no overflow

inline void* RecordOf(uint64_t word) {
  ERIS_DCHECK(word != 0 && !IsShort(word));
  return reinterpret_cast<void*>(word);  // NOLINT: what the word is
}

// The bytes of a valid word; those of a short word are in `word` itself.
inline absl::string_view BytesOf(const uint64_t& word) {
  if (IsShort(word)) {
    return {reinterpret_cast<const char*>(&word) + 1, (word & 0xff) >> 1};
  }
  const char* record = static_cast<const char*>(RecordOf(word));
  uint32_t length;
  std::memcpy(&length, record, sizeof length);
  return {record + sizeof length, length};
}

// Bytes of the record for a string of this length; 0 for a short one.
constexpr size_t LongRecordBytes(size_t length) {
  return length <= kShortBytesMax ? 0 : RecordBytes(length);
}

// Writes a record at `at`, which has room for BlockBytes, and returns its word.
inline uint64_t WriteRecord(void* at, absl::string_view bytes) {
  ERIS_DCHECK(bytes.size() > kShortBytesMax && bytes.size() <= kValueBytesMax);
  const auto length = static_cast<uint32_t>(bytes.size());
  std::memcpy(at, &length, sizeof length);
  std::memcpy(static_cast<char*>(at) + sizeof length, bytes.data(), bytes.size());
  return reinterpret_cast<uint64_t>(at);
}

}  // namespace eris::storage

#endif  // ERIS_STORAGE_BYTE_VALUE_H_
