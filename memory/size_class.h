// The block sizes below a superblock. Pure arithmetic, any thread. Paper: locality-aware scheduling
// in Bobox, 5.1 (steps of 1.07 from 8 KiB up).
//
//   up to    1 KiB   steps of 16              less than 16 bytes lost     classes   0 ..  63
//   up to    4 KiB   steps of 64              less than 64 bytes lost     classes  64 .. 111
//   up to    8 KiB   steps of 256             at most 6 % lost            classes 112 .. 127
//   up to  512 KiB   steps of a factor 1.07   at most 7 % lost            classes 128 .. 189
//   up to 1984 KiB   steps of a span          at most 11 % lost           classes 190 .. 212
//
// Most blocks are TreeNodes, which have a few fixed sizes below 4 KiB; so the steps are fine there.
// From 1 KiB on every size is a multiple of a cache line.
#ifndef ERIS_MEMORY_SIZE_CLASS_H_
#define ERIS_MEMORY_SIZE_CLASS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/cache_line.h"

namespace eris::memory {

// The unit, or a multiple of it, that a LocalCache takes from its manager: all blocks of a run of
// spans are of one class. Smaller spans become free sooner when a tree shrinks, larger ones cost
// fewer headers.
inline constexpr size_t kSpanBytes = 64u << 10;

inline constexpr size_t kBlockAlignment = 16;
inline constexpr size_t kFineBytesMax = 1u << 10;
inline constexpr size_t kMiddleBytesMax = 4u << 10;
inline constexpr size_t kSmallBytesMax = 8u << 10;
inline constexpr size_t kLargeBytesMax = 512u << 10;
inline constexpr size_t kRunSpansMax = 31;  // the smallest superblock minus its header
inline constexpr size_t kClassedBytesMax = kRunSpansMax * kSpanBytes;
inline constexpr size_t kBlocksPerSpanMax = kSpanBytes / kBlockAlignment;

namespace internal {

inline constexpr size_t kSmallStepBytes = 256;
inline constexpr size_t kFineClasses = kFineBytesMax / kBlockAlignment;
inline constexpr size_t kMiddleClasses = (kMiddleBytesMax - kFineBytesMax) / base::kCacheLineBytes;
inline constexpr size_t kSmallClasses =
    kFineClasses + kMiddleClasses + (kSmallBytesMax - kMiddleBytesMax) / kSmallStepBytes;

constexpr size_t NextLarge(size_t bytes) {
  const size_t next = bytes * 107 / 100 / base::kCacheLineBytes * base::kCacheLineBytes;
  return std::min(next, kLargeBytesMax);
}
constexpr size_t CountLarge() {
  size_t count = 0;
  for (size_t bytes = kSmallBytesMax; bytes < kLargeBytesMax; bytes = NextLarge(bytes)) ++count;
  return count;
}
inline constexpr size_t kLargeClasses = CountLarge();
constexpr std::array<uint32_t, kLargeClasses> LargeSizes() {
  std::array<uint32_t, kLargeClasses> sizes{};
  size_t bytes = kSmallBytesMax;
  for (uint32_t& size : sizes) {
    bytes = NextLarge(bytes);
    size = static_cast<uint32_t>(bytes);
  }
  return sizes;
}
inline constexpr std::array<uint32_t, kLargeClasses> kLargeSizes = LargeSizes();

}  // namespace internal

inline constexpr size_t kSizeClasses = internal::kSmallClasses + internal::kLargeClasses +
                                       (kRunSpansMax - kLargeBytesMax / kSpanBytes);
static_assert(internal::kSmallClasses == 128);
static_assert(internal::kLargeSizes.back() == kLargeBytesMax);

namespace internal {

// Not inline: it would prevent the inlining of its callers.
[[gnu::noinline]] constexpr size_t LargeSizeClassOf(size_t bytes) {
  if (bytes <= kSmallBytesMax) {
    return kFineClasses + kMiddleClasses + (bytes - kMiddleBytesMax - 1) / kSmallStepBytes;
  }
  if (bytes <= kLargeBytesMax) {
    const auto at = std::lower_bound(kLargeSizes.begin(), kLargeSizes.end(), bytes);
    return kSmallClasses + static_cast<size_t>(at - kLargeSizes.begin());
  }
  return kSmallClasses + kLargeClasses + (bytes - kLargeBytesMax - 1) / kSpanBytes;
}

}  // namespace internal

// REQUIRES: 1 <= bytes <= kClassedBytesMax.
constexpr size_t SizeClassOf(size_t bytes) {
  using namespace internal;
  if (bytes <= kFineBytesMax) return (bytes - 1) / kBlockAlignment;
  if (bytes <= kMiddleBytesMax) {
    return kFineClasses + (bytes - kFineBytesMax - 1) / base::kCacheLineBytes;
  }
  return LargeSizeClassOf(bytes);
}

// The bytes of a block of that class.
constexpr size_t SizeClassBytes(size_t size_class) {
  using namespace internal;
  if (size_class < kFineClasses) return (size_class + 1) * kBlockAlignment;
  if (size_class < kFineClasses + kMiddleClasses) {
    return kFineBytesMax + (size_class - kFineClasses + 1) * base::kCacheLineBytes;
  }
  if (size_class < kSmallClasses) {
    return kMiddleBytesMax + (size_class - kFineClasses - kMiddleClasses + 1) * kSmallStepBytes;
  }
  if (size_class < kSmallClasses + kLargeClasses) return kLargeSizes[size_class - kSmallClasses];
  return kLargeBytesMax + (size_class - kSmallClasses - kLargeClasses + 1) * kSpanBytes;
}

// Blocks of whole cache lines start at a cache line.
constexpr size_t SizeClassAlignment(size_t size_class) {
  return SizeClassBytes(size_class) % base::kCacheLineBytes == 0 ? base::kCacheLineBytes
                                                                 : kBlockAlignment;
}

inline constexpr size_t kBlocksInMagazineMax = 512;

namespace internal {

// The shortest run of spans that wastes at most a sixteenth at its end, or else the best one up to
// 16 spans.
constexpr size_t FindRunSpans(size_t bytes) {
  size_t best = 0;
  size_t best_left = 0;
  for (size_t spans = 1; spans <= 16 || best == 0; ++spans) {
    const size_t run = spans * kSpanBytes;
    if (run < bytes) continue;
    const size_t left = run % bytes;
    if (left * 16 <= run) return spans;
    if (best == 0 || left * best < best_left * spans) {
      best = spans;
      best_left = left;
    }
  }
  return best;
}

struct Figures {
  uint64_t reciprocal;  // ceil(2^48 / bytes): offset / bytes = offset * reciprocal >> 48
  uint32_t bytes;
  uint16_t run_spans;
  uint16_t magazine_blocks;
};

// A magazine holds 32 KiB, and no block larger than a span: large enough that the spans are rarely
// accessed, small enough to stay in the core's cache.
inline constexpr size_t kMagazineBytes = 32u << 10;

constexpr std::array<Figures, kSizeClasses> AllFigures() {
  std::array<Figures, kSizeClasses> all{};
  for (size_t c = 0; c < kSizeClasses; ++c) {
    const size_t bytes = SizeClassBytes(c);
    all[c] = {.reciprocal = ((uint64_t{1} << 48) + bytes - 1) / bytes,
              .bytes = static_cast<uint32_t>(bytes),
              .run_spans = static_cast<uint16_t>(FindRunSpans(bytes)),
              .magazine_blocks = bytes > kSpanBytes
                                     ? uint16_t{0}
                                     : static_cast<uint16_t>(std::clamp<size_t>(
                                           kMagazineBytes / bytes, 1, kBlocksInMagazineMax))};
  }
  return all;
}
inline constexpr std::array<Figures, kSizeClasses> kFigures = AllFigures();

}  // namespace internal

// Spans in a run of that class.
constexpr size_t RunSpans(size_t size_class) { return internal::kFigures[size_class].run_spans; }
// Capacity of a LocalCache's magazine of that class, in blocks.
constexpr uint32_t MagazineBlocks(size_t size_class) {
  return internal::kFigures[size_class].magazine_blocks;
}
// BlockIndex multiplies by this instead of dividing.
constexpr uint64_t Reciprocal(size_t size_class) {
  return internal::kFigures[size_class].reciprocal;
}
// Which block of a class begins at (or holds) `offset` from the first one. Exact below 2 MiB:
// offset
// * (reciprocal * bytes - 2^48) < 2^21 * 2^21 < 2^48.
constexpr uint32_t BlockIndex(size_t offset, uint64_t reciprocal) {
  return static_cast<uint32_t>(offset * reciprocal >> 48);
}

}  // namespace eris::memory

#endif  // ERIS_MEMORY_SIZE_CLASS_H_
