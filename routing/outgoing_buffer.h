// A Port's outgoing buffer for one AEU: whole records, private to the Port, copied over as one run
// when it is full or its turn has ended. Paper: ERIS 3.2 (step 2 of Figure 4).
#ifndef ERIS_ROUTING_OUTGOING_BUFFER_H_
#define ERIS_ROUTING_OUTGOING_BUFFER_H_

#include <cstddef>
#include <memory>
#include <new>
#include <span>

#include "base/check.h"

namespace eris::routing {

class OutgoingBuffer {
 public:
  // False when the memory is not to be had. Lazily, so that a Port pays for the AEUs it addresses.
  [[nodiscard]] bool Prepare(size_t capacity_bytes) {
    if (memory_) return true;
    memory_.reset(new (std::nothrow) std::byte[capacity_bytes]);
    capacity_bytes_ = memory_ ? capacity_bytes : 0;
    return memory_ != nullptr;
  }
  bool empty() const { return used_bytes_ == 0; }
  size_t room_bytes() const { return capacity_bytes_ - used_bytes_; }
  std::span<const std::byte> records() const { return {memory_.get(), used_bytes_}; }

  // REQUIRES: bytes <= room_bytes(), a multiple of 8. The caller fills the record in place.
  std::byte* Append(size_t bytes) {
    ERIS_DCHECK(bytes <= room_bytes());
    std::byte* record = memory_.get() + used_bytes_;
    used_bytes_ += bytes;
    return record;
  }
  void Clear() { used_bytes_ = 0; }

 private:
  std::unique_ptr<std::byte[]> memory_;
  size_t capacity_bytes_ = 0;
  size_t used_bytes_ = 0;
};

}  // namespace eris::routing

#endif  // ERIS_ROUTING_OUTGOING_BUFFER_H_
