// An AEU's incoming buffers: two halves of equal size, one writable for all Ports, the other being
// processed. Latch-free; many writers, one owner. Paper: ERIS 3.2, with these corrections (see
// docs/internals/DECISIONS.md): a writer tests ACTIVE and the generation in the same word that its
// CAS compares; the halves change roles in the order open, publish, close; the owner never waits
// for a writer inside a turn. Records of one thread are taken in the order of its calls.
//
//   descriptor: | 63 active | 62..35 offset in words of 8 bytes | 34..10 generation | 9..0 writers
//   |
//
// The generation counts the changes of role; its low bit is the index of the half.
#ifndef ERIS_ROUTING_INCOMING_BUFFER_H_
#define ERIS_ROUTING_INCOMING_BUFFER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/cache_line.h"
#include "base/check.h"
#include "base/memory_ops.h"

namespace eris::routing {

template <class Memory>
class BasicIncomingBuffer {
 public:
  // `memory`: 2 * half_bytes, aligned to a cache line, owned by the caller and outliving the
  // buffer. half_bytes: a multiple of 8, below 2 GiB.
  BasicIncomingBuffer(std::byte* memory, size_t half_bytes);
  BasicIncomingBuffer(const BasicIncomingBuffer&) = delete;
  BasicIncomingBuffer& operator=(const BasicIncomingBuffer&) = delete;

  size_t half_bytes() const { return half_bytes_; }
  // Both halves, to check where they are placed; only the owner may read their content.
  std::span<const std::byte> memory() const { return {memory_, 2 * half_bytes_}; }

  // Any thread. Copies `records` (whole records, a multiple of 8 bytes, at most half_bytes) as one
  // run. False if the writable half has no room (or has 1023 writers now): then nothing was
  // written, and the caller keeps its records. Never blocks. One CAS, whatever the number of
  // records.
  [[nodiscard]] bool TryWrite(std::span<const std::byte> records);

  // For the owner. Takes what has been written since the last call and opens the other half.
  // nullopt if there is nothing, or while a writer is still copying (the next call tries again, a
  // turn never waits). The records are valid until the next call, and must have been consumed by
  // then.
  std::optional<std::span<const std::byte>> TryTake();

  // For the owner, after a TryTake that returned nullopt: a half is closed, and one of its writers
  // has not finished. If this holds turn after turn, a thread lost its core inside its copy.
  bool WaitsForWriter() const { return closing_.has_value(); }

  // For the owner: whether TryTake has records, or may have some soon. seq_cst: see Waker.
  bool HasRecords() const;

 private:
  template <class T>
  using Atomic = typename Memory::template Atomic<T>;

  static constexpr uint64_t kActive = uint64_t{1} << 63;
  static constexpr int kOffsetShift = 35;
  static constexpr int kGenerationShift = 10;
  static constexpr uint64_t kWritersMask = (uint64_t{1} << kGenerationShift) - 1;
  static constexpr uint64_t kGenerationMask = (uint64_t{1} << kOffsetShift) - 1 - kWritersMask;
  // How often TryTake checks a writer that is still copying before it leaves the rest to the next
  // turn: a pinned writer needs well under a microsecond for its memcpy.
  static constexpr int kWriterSpins = 64;

  static constexpr uint64_t OffsetOf(uint64_t descriptor) {
    return (descriptor & ~kActive) >> kOffsetShift << 3;
  }
  // What a write of `bytes` adds to a descriptor.
  static constexpr uint64_t Reservation(uint64_t bytes) {
    return (bytes << (kOffsetShift - 3)) + 1;
  }
  // The descriptor of an empty, open half in its generation.
  // A writer stopped between two of its instructions for a whole cycle of the counter (2^25 changes
  // of role) would mistake it for its own generation. Its record would still be taken once, but
  // perhaps after its next one. A turn takes at least a microsecond, so that is half a minute in
  // which every turn of the AEU has records to take; and the writer would have to continue exactly
  // between the opening of a half and its publication.
  static constexpr uint64_t Opened(uint32_t generation) {
    return kActive | ((uint64_t{generation} << kGenerationShift) & kGenerationMask);
  }
  static constexpr uint32_t HalfOf(uint32_t generation) { return generation & 1; }

  struct alignas(base::kNoSharingBytes) Half {
    Atomic<uint64_t> descriptor{0};
  };
  std::byte* HalfMemory(uint32_t half) const { return memory_ + half * half_bytes_; }

  // Immutable after construction.
  std::byte* const memory_;
  const size_t half_bytes_;

  // Owned by the AEU: the closed half that waits for its writers, if any.
  std::optional<uint32_t> closing_;
  uint64_t closing_bytes_ = 0;

  // Shared: written by every Port and the owner.
  Half halves_[2];
  // Shared: written by the owner, read by every Port.
  alignas(base::kNoSharingBytes) Atomic<uint32_t> generation_{0};
};

template <class Memory>
BasicIncomingBuffer<Memory>::BasicIncomingBuffer(std::byte* memory, size_t half_bytes)
    : memory_(memory), half_bytes_(half_bytes) {
  ERIS_CHECK(half_bytes % 8 == 0);
  ERIS_CHECK(half_bytes < (uint64_t{1} << 31));  // 28 bits of words
  // relaxed: only this thread knows the buffer during construction.
  halves_[0].descriptor.store(Opened(0), std::memory_order_relaxed);
}

template <class Memory>
bool BasicIncomingBuffer<Memory>::TryWrite(std::span<const std::byte> records) {
  ERIS_DCHECK(records.size() % 8 == 0);
  const uint64_t size = records.size();
  for (;;) {
    // acquire: pairs with the release in TryTake that publishes the half after opening it.
    const uint32_t generation = generation_.load(std::memory_order_acquire);
    const uint32_t half = HalfOf(generation);
    Atomic<uint64_t>& descriptor = halves_[half].descriptor;
    // relaxed: the CAS below decides, on this same value.
    uint64_t seen = descriptor.load(std::memory_order_relaxed);
    for (;;) {
      // Closed meanwhile, or even opened again: find the currently open half.
      if ((seen & (kActive | kGenerationMask)) != Opened(generation)) break;
      const uint64_t offset = OffsetOf(seen);
      if (offset + size > half_bytes_ || (seen & kWritersMask) == kWritersMask) return false;
      // acquire: the owner finished reading this half before it was opened (release in TryTake).
      // seq_cst rather than acq_rel because of Waker.
      if (descriptor.compare_exchange_weak(seen, seen + Reservation(size),
                                           std::memory_order_seq_cst, std::memory_order_relaxed)) {
        // From here to the decrement nothing may throw, block or return: the owner waits for it.
        Memory::Copy(HalfMemory(half) + offset, records.data(), size);
        // release: pairs with the acquire load of writers == 0 in TryTake. seq_cst for Waker.
        descriptor.fetch_sub(1, std::memory_order_seq_cst);
        return true;
      }
    }
  }
}

template <class Memory>
std::optional<std::span<const std::byte>> BasicIncomingBuffer<Memory>::TryTake() {
  if (!closing_) {
    // relaxed: the owner wrote it.
    const uint32_t generation = generation_.load(std::memory_order_relaxed);
    const uint32_t half = HalfOf(generation);
    // relaxed: a hint; the fetch_and below is what counts.
    if (OffsetOf(halves_[half].descriptor.load(std::memory_order_relaxed)) == 0)
      return std::nullopt;
    // release: pairs with the writers' CAS; they overwrite what the owner has read.
    halves_[1 - half].descriptor.store(Opened(generation + 1), std::memory_order_release);
    generation_.store(generation + 1, std::memory_order_release);  // pairs with TryWrite's acquire
    // acq_rel: no reservation succeeds after this, and its result is the end of the records to
    // read.
    const uint64_t closed = halves_[half].descriptor.fetch_and(~kActive, std::memory_order_acq_rel);
    closing_ = half;
    closing_bytes_ = OffsetOf(closed);
  }
  for (int spin = 0; spin < kWriterSpins; ++spin) {
    // acquire: pairs with the decrement after each writer's memcpy.
    const uint64_t descriptor = halves_[*closing_].descriptor.load(std::memory_order_acquire);
    if ((descriptor & kWritersMask) == 0) {
      const std::byte* begin = HalfMemory(*closing_);
      closing_.reset();
      return std::span<const std::byte>(begin, closing_bytes_);
    }
    Memory::Pause();
  }
  return std::nullopt;
}

template <class Memory>
bool BasicIncomingBuffer<Memory>::HasRecords() const {
  if (closing_) return true;
  const uint32_t half = HalfOf(generation_.load(std::memory_order_relaxed));  // the owner wrote it
  return OffsetOf(halves_[half].descriptor.load(std::memory_order_seq_cst)) != 0;
}

using IncomingBuffer = BasicIncomingBuffer<base::RealMemory>;

extern template class BasicIncomingBuffer<base::RealMemory>;

}  // namespace eris::routing

#endif  // ERIS_ROUTING_INCOMING_BUFFER_H_
