#include "routing/incoming_buffer.h"

#include <cstring>

#include "base/check.h"

namespace eris::routing {
namespace {

constexpr uint64_t kActive = uint64_t{1} << 63;
constexpr int kOffsetShift = 31;
constexpr int kGenerationShift = 16;
constexpr uint64_t kWritersMask = (uint64_t{1} << kGenerationShift) - 1;
constexpr uint64_t kGenerationMask = (uint64_t{1} << kOffsetShift) - 1 - kWritersMask;

constexpr uint64_t OffsetOf(uint64_t descriptor) { return (descriptor & ~kActive) >> kOffsetShift; }

// What an empty, open half looks like in its generation. A writer that held an older one for a
// whole round of the counter (32768 changes of role, between two of its instructions) would take it
// for its own: its record would still be taken once, perhaps before an older one.
constexpr uint64_t Opened(uint32_t generation) {
  return kActive | ((uint64_t{generation} << kGenerationShift) & kGenerationMask);
}

constexpr uint32_t HalfOf(uint32_t generation) { return generation & 1; }

// How often TryTake looks at a writer that is still copying before it leaves it to the next turn: a
// pinned writer needs well under a microsecond for its memcpy.
constexpr int kWriterSpins = 64;

inline void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

IncomingBuffer::IncomingBuffer(std::byte* memory, size_t half_bytes)
    : memory_(memory), half_bytes_(half_bytes) {
  ERIS_CHECK(half_bytes % 8 == 0);
  ERIS_CHECK(half_bytes < (uint64_t{1} << 32));  // 32 bits of offset
  // relaxed: nobody else knows the buffer yet.
  halves_[0].descriptor.store(Opened(0), std::memory_order_relaxed);
}

bool IncomingBuffer::TryWrite(std::span<const std::byte> records) {
  ERIS_DCHECK(records.size() % 8 == 0);
  const uint64_t size = records.size();
  for (;;) {
    // acquire: pairs with the release in TryTake that publishes the half after opening it.
    const uint32_t generation = generation_.load(std::memory_order_acquire);
    const uint32_t half = HalfOf(generation);
    std::atomic<uint64_t>& descriptor = halves_[half].descriptor;
    // relaxed: the CAS below decides, on this very value.
    uint64_t seen = descriptor.load(std::memory_order_relaxed);
    for (;;) {
      // Closed meanwhile, or even opened again: find the half that is open now.
      if ((seen & (kActive | kGenerationMask)) != Opened(generation)) break;
      const uint64_t offset = OffsetOf(seen);
      if (offset + size > half_bytes_ || (seen & kWritersMask) == kWritersMask) return false;
      // acquire: the owner has finished reading this half before it was opened (release in
      // TryTake). seq_cst rather than acq_rel for the Waker's argument.
      if (descriptor.compare_exchange_weak(seen, seen + (size << kOffsetShift) + 1,
                                           std::memory_order_seq_cst, std::memory_order_relaxed)) {
        // From here to the decrement nothing may throw, block or return: the owner waits for it.
        std::memcpy(HalfMemory(half) + offset, records.data(), size);
        // release: pairs with the acquire load of writers == 0 in TryTake. seq_cst for Waker.
        descriptor.fetch_sub(1, std::memory_order_seq_cst);
        return true;
      }
    }
  }
}

std::optional<std::span<const std::byte>> IncomingBuffer::TryTake() {
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
    // acq_rel: no reservation succeeds after this, and its result is the end of what is to be read.
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
    Pause();
  }
  return std::nullopt;
}

bool IncomingBuffer::HasRecords() const {
  if (closing_) return true;
  const uint32_t half = HalfOf(generation_.load(std::memory_order_relaxed));  // the owner wrote it
  return OffsetOf(halves_[half].descriptor.load(std::memory_order_seq_cst)) != 0;
}

}  // namespace eris::routing
