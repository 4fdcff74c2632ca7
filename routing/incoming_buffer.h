// An AEU's incoming buffers: two halves of equal size, one writable for all Ports, the other being
// processed. Latch-free; many writers, one owner. Paper: ERIS 3.2, with these corrections (see
// docs/DECISIONS.md): a writer tests ACTIVE and the generation in the very word that its CAS
// compares; the halves change roles in the order open, publish, close; the owner never waits for a
// writer inside a turn. What one thread writes is taken in the order of its calls.
//
//   descriptor: | 63 active | 62..31 offset in bytes | 30..16 generation | 15..0 writers |
//
// The generation counts the changes of role; its low bit is the half.
#ifndef ERIS_ROUTING_INCOMING_BUFFER_H_
#define ERIS_ROUTING_INCOMING_BUFFER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/cache_line.h"

namespace eris::routing {

class IncomingBuffer {
 public:
  // `memory`: 2 * half_bytes, aligned to a cache line, owned by the caller and outliving the
  // buffer. half_bytes: a multiple of 8, at most 2^32 - 8.
  IncomingBuffer(std::byte* memory, size_t half_bytes);
  IncomingBuffer(const IncomingBuffer&) = delete;
  IncomingBuffer& operator=(const IncomingBuffer&) = delete;

  size_t half_bytes() const { return half_bytes_; }

  // Any thread. Copies `records` (whole records, a multiple of 8 bytes, at most half_bytes) as one
  // run. False when the writable half has no room (or 65535 writers just now): nothing was written,
  // the caller keeps its records. Never blocks. One CAS, whatever the number of records.
  [[nodiscard]] bool TryWrite(std::span<const std::byte> records);

  // The owner. Takes what has been written since the last call and opens the other half; nothing
  // when there is nothing, or while a writer is still copying (the next call tries again, a turn
  // never waits). The records stay valid until the next call, and must have been consumed by then.
  std::optional<std::span<const std::byte>> TryTake();

  // The owner: whether TryTake has, or may soon have, something. seq_cst: see Waker.
  bool HasRecords() const;

 private:
  struct alignas(base::kNoSharingBytes) Half {
    std::atomic<uint64_t> descriptor{0};
  };
  std::byte* HalfMemory(uint32_t half) const { return memory_ + half * half_bytes_; }

  // Immutable after construction.
  std::byte* const memory_;
  const size_t half_bytes_;

  // Owned by the AEU: the half that is closed and waits for its writers, if any.
  std::optional<uint32_t> closing_;
  uint64_t closing_bytes_ = 0;

  // Shared: written by every Port and the owner.
  Half halves_[2];
  // Shared: written by the owner, read by every Port.
  alignas(base::kNoSharingBytes) std::atomic<uint32_t> generation_{0};
};

}  // namespace eris::routing

#endif  // ERIS_ROUTING_INCOMING_BUFFER_H_
