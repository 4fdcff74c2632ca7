// The sizes in which an AEU's cache hands out memory. Pure arithmetic, any thread.
//
//   up to  1 KiB   steps of 16      less than 16 bytes lost    classes   0 ..  63
//   up to  4 KiB   steps of 64      less than 64 bytes lost    classes  64 .. 111
//   up to 32 KiB   8 per doubling   less than one eighth lost  classes 112 .. 135
//
// TreeNodes are far more numerous than anything else and have a handful of fixed sizes below 4 KiB,
// hence the fine steps there.
#ifndef ERIS_MEMORY_SIZE_CLASS_H_
#define ERIS_MEMORY_SIZE_CLASS_H_

#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/cache_line.h"

namespace eris::memory {

inline constexpr size_t kBlockAlignment = 16;
inline constexpr size_t kFineBytesMax = 1u << 10;
inline constexpr size_t kMiddleBytesMax = 4u << 10;
inline constexpr size_t kClassedBytesMax = 32u << 10;

inline constexpr size_t kFineClasses = kFineBytesMax / kBlockAlignment;
inline constexpr size_t kMiddleClasses = (kMiddleBytesMax - kFineBytesMax) / base::kCacheLineBytes;
inline constexpr size_t kStepsPerDoubling = 8;
inline constexpr size_t kSizeClasses =
    kFineClasses + kMiddleClasses +
    kStepsPerDoubling * (std::bit_width(kClassedBytesMax) - std::bit_width(kMiddleBytesMax));
static_assert(kSizeClasses == 136);

// REQUIRES: 1 <= bytes <= kClassedBytesMax.
constexpr size_t SizeClassOf(size_t bytes) {
  if (bytes <= kFineBytesMax) return (bytes - 1) / kBlockAlignment;
  if (bytes <= kMiddleBytesMax) {
    return kFineClasses + (bytes - kFineBytesMax - 1) / base::kCacheLineBytes;
  }
  // bytes lies in (power, 2 * power].
  const size_t power = std::bit_floor(bytes - 1);
  const size_t doubling = std::bit_width(power) - std::bit_width(kMiddleBytesMax);
  return kFineClasses + kMiddleClasses + kStepsPerDoubling * doubling +
         (bytes - power - 1) / (power / kStepsPerDoubling);
}

// The bytes of a block of that class.
constexpr size_t SizeClassBytes(size_t size_class) {
  if (size_class < kFineClasses) return (size_class + 1) * kBlockAlignment;
  if (size_class < kFineClasses + kMiddleClasses) {
    return kFineBytesMax + (size_class - kFineClasses + 1) * base::kCacheLineBytes;
  }
  const size_t step = size_class - kFineClasses - kMiddleClasses;
  const size_t power = kMiddleBytesMax << (step / kStepsPerDoubling);
  return power + (step % kStepsPerDoubling + 1) * (power / kStepsPerDoubling);
}

// Blocks of whole cache lines start on one.
constexpr size_t SizeClassAlignment(size_t size_class) {
  return SizeClassBytes(size_class) % base::kCacheLineBytes == 0 ? base::kCacheLineBytes
                                                                 : kBlockAlignment;
}

}  // namespace eris::memory

#endif  // ERIS_MEMORY_SIZE_CLASS_H_
