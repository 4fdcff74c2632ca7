// Copies strings out of a partition, into pieces of a reply's memory. Used within one call of a
// partition.
#ifndef ERIS_STORAGE_REPLY_ROOM_H_
#define ERIS_STORAGE_REPLY_ROOM_H_

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "base/prefetch.h"
#include "storage/byte_value.h"

namespace eris::storage {

inline void PrefetchRecord(uint64_t word) {
  if (!IsShort(word)) base::Prefetch(RecordOf(word));
}

// The piece of reply memory for the answers of one part.
class ReplyRoom {
 public:
  // Takes `wanted` bytes, or as many as are left.
  void Open(BytesSink* sink, size_t wanted) {
    sink_ = sink;
    at_ = nullptr;
    left_ = 0;
    if (sink != nullptr && wanted > 0) at_ = sink->Take(1, wanted, left_);
  }
  // Copies the answer; false: there is no room.
  bool Put(uint64_t word, uint64_t& out) {
    if (IsShort(word)) {
      out = word;
      return true;
    }
    const absl::string_view bytes = BytesOf(word);
    const size_t needed = RecordBytes(bytes.size());
    if (needed > left_) return false;
    out = WriteRecord(at_, bytes);
    at_ += needed;
    left_ -= needed;
    copied_ += bytes.size();
    return true;
  }
  // The same for a value that may have grown since Open: takes more room if needed.
  bool PutChanged(uint64_t word, uint64_t& out) {
    if (Put(word, out)) return true;
    const size_t needed = RecordBytes(BytesOf(word).size());
    size_t given = 0;
    std::byte* const at = sink_ == nullptr ? nullptr : sink_->Take(needed, needed, given);
    if (at == nullptr) return false;
    at_ = at;
    left_ = given;
    return Put(word, out);
  }
  uint64_t copied() const { return copied_; }

 private:
  BytesSink* sink_ = nullptr;
  std::byte* at_ = nullptr;
  size_t left_ = 0;
  uint64_t copied_ = 0;
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_REPLY_ROOM_H_
