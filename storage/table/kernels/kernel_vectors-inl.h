// Shared by the kernels' files, and compiled once per target with each of them: vectors of whole
// words of rows, masks of bitmaps, ranges. Include only after hwy/highway.h; the include guard is
// Highway's, open once per target. See kernels.h.
#if defined(ERIS_STORAGE_TABLE_KERNEL_VECTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ERIS_STORAGE_TABLE_KERNEL_VECTORS_INL_H_
#undef ERIS_STORAGE_TABLE_KERNEL_VECTORS_INL_H_
#else
#define ERIS_STORAGE_TABLE_KERNEL_VECTORS_INL_H_
#endif

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace eris::storage::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// How far ahead a loop prefetches a column's lines: far enough for the latency of memory, near
// enough for the first-level cache. 4 KiB was the best of 2, 4 and 8 KiB.
constexpr size_t kPrefetchBytes = 4096;

template <class T>
using Tag = hn::ScalableTag<T>;
template <class T>
constexpr size_t kLanes = hn::MaxLanes(Tag<T>());

template <class T>
HWY_INLINE void Prefetch(const T* values) {
  __builtin_prefetch(reinterpret_cast<const char*>(values) + kPrefetchBytes);
}

// The bits of the vector that begins at row `first` of a word.
template <class T>
HWY_INLINE auto MaskOf(const uint64_t* word, size_t first) {
  if constexpr (kLanes<T> >= 8) {
    return hn::LoadMaskBits(Tag<T>(), reinterpret_cast<const uint8_t*>(word) + first / 8);
  } else {
    const uint64_t bits = *word >> first;
    uint8_t bytes[8];
    std::memcpy(bytes, &bits, sizeof bytes);
    return hn::LoadMaskBits(Tag<T>(), bytes);
  }
}

// sum + v for the lanes in the mask.
template <class V, class M>
HWY_INLINE V AddWhere(M mask, V sum, V v) {
#if HWY_TARGET == HWY_AVX3
  // One instruction; g++ does not merge the two.
  if constexpr (sizeof(hn::TFromV<V>) == 4) {
    return V{_mm512_mask_add_epi32(sum.raw, mask.raw, sum.raw, v.raw)};
  } else if constexpr (std::is_same_v<hn::TFromV<V>, double>) {
    return V{_mm512_mask_add_pd(sum.raw, mask.raw, sum.raw, v.raw)};
  } else {
    return V{_mm512_mask_add_epi64(sum.raw, mask.raw, sum.raw, v.raw)};
  }
#else
  return hn::Add(sum, hn::IfThenElseZero(mask, v));
#endif
}

// The sum of a vector's lanes; for integers modulo 2^n, because Highway adds them as signed ones.
template <class T>
HWY_INLINE T SumOfLanes(hn::Vec<Tag<T>> v) {
  T lanes[kLanes<T>];
  hn::StoreU(v, Tag<T>(), lanes);
  if constexpr (std::is_floating_point_v<T>) {
    T sum = 0;
    for (const T lane : lanes) sum += lane;
    return sum;
  } else {
    uint64_t sum = 0;
    for (const T lane : lanes) sum += static_cast<uint64_t>(lane);
    return static_cast<T>(sum);
  }
}

// Whether values are outside a range. For integers, signed or not, one comparison: the distance
// from the range's start modulo 2^n is above its width. For doubles the complement of "inside",
// because a NaN is in no range.
template <class T>
class RangeTest {
 public:
  using V = hn::Vec<Tag<T>>;
  static constexpr bool kOutside = !std::is_floating_point_v<T>;
  HWY_INLINE RangeTest(T lo, T hi)
      : lo_(hn::Set(Tag<T>(), lo)),
        end_(hn::Set(Tag<T>(), kOutside ? static_cast<T>(hi - lo) : hi)) {}
  HWY_INLINE auto Outside(V v) const { return hn::Gt(hn::Sub(v, lo_), end_); }
  HWY_INLINE auto Inside(V v) const {
    static_assert(sizeof(T) >= 4);
    if constexpr (kOutside) {
#if HWY_TARGET == HWY_AVX3
      // Unsigned and in one instruction, which this version of Highway does not have.
      const V offset = hn::Sub(v, lo_);
      if constexpr (sizeof(T) == 8) {
        return hn::Mask512<T>{_mm512_cmple_epu64_mask(offset.raw, end_.raw)};
      } else {
        return hn::Mask512<T>{_mm512_cmple_epu32_mask(offset.raw, end_.raw)};
      }
#else
      return hn::Not(Outside(v));
#endif
    } else {
      return hn::And(hn::Ge(v, lo_), hn::Le(v, end_));
    }
  }

 private:
  V lo_, end_;
};

template <class T>
bool IsInside(T value, T lo, T hi) {
  if constexpr (std::is_floating_point_v<T>) return value >= lo && value <= hi;
  return static_cast<T>(value - lo) <= static_cast<T>(hi - lo);
}

}  // namespace eris::storage::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // ERIS_STORAGE_TABLE_KERNEL_VECTORS_INL_H_
