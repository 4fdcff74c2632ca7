// This file is compiled once per target (foreach_target.h includes it again and again); what is
// under HWY_ONCE is there once.
#include "storage/table/kernels.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

// Not worth their code: the first adds nothing to SSE4's absence, the second nothing that is used
// here. Lanes have to be known to the compiler, so no vectors of unknown length.
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "storage/table/kernels.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace eris::storage::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// How far ahead of itself a loop asks for a column's lines: far enough for the latency of memory,
// near enough for the first cache.
constexpr size_t kPrefetchBytes = 2048;

template <class T>
using Tag = hn::ScalableTag<T>;
template <class T>
constexpr size_t kLanes = hn::MaxLanes(Tag<T>());

template <class T>
HWY_INLINE void Prefetch(const T* values) {
  __builtin_prefetch(reinterpret_cast<const char*>(values) + kPrefetchBytes);
}

// Bits of the vector that begins at row `first` of a word.
template <class T>
HWY_INLINE auto MaskOf(uint64_t word, size_t first) {
  const uint64_t bits = word >> first;
  uint8_t bytes[8];
  std::memcpy(bytes, &bits, sizeof bytes);
  return hn::LoadMaskBits(Tag<T>(), bytes);
}

// Puts a vector's mask at row `first` of a word.
template <class T, class M>
HWY_INLINE void PutMask(M mask, size_t first, uint8_t* word) {
  if constexpr (kLanes<T> >= 8) {
    hn::StoreMaskBits(Tag<T>(), mask, word + first / 8);
  } else {
    uint8_t bits[8] = {};
    hn::StoreMaskBits(Tag<T>(), mask, bits);
    const auto in_place = static_cast<uint8_t>(bits[0] << first % 8);
    word[first / 8] = static_cast<uint8_t>(first % 8 == 0 ? in_place : word[first / 8] | in_place);
  }
}

// mask &= what(first row of a vector), or its complement. Words without a row are not looked at.
template <class T, class What>
HWY_INLINE void Keep(uint32_t rows, bool complement, uint64_t* mask, What what) {
  constexpr size_t kN = kLanes<T>;
  // All of a word's bits are written before they are read as a word, and those of a block before
  // any: a load that spans several stores still under way would wait for them.
  alignas(64) uint64_t found[kBlockWords];
  const uint32_t words = rows / 64;
  for (uint32_t w = 0; w < words; ++w) {
    if (mask[w] == 0) {
      found[w] = 0;
      continue;
    }
    auto* const bytes = reinterpret_cast<uint8_t*>(found + w);
    for (size_t i = 0; i < 64; i += kN) PutMask<T>(what(w * 64 + i), i, bytes);
  }
  if (const uint32_t rest = rows % 64; rest != 0) {
    found[words] = 0;
    auto* const bytes = reinterpret_cast<uint8_t*>(found + words);
    for (size_t i = 0; i < rest; i += kN) PutMask<T>(what(words * 64 + i), i, bytes);
  }
  const uint64_t flip = complement ? ~uint64_t{0} : 0;
  const uint32_t all = (rows + 63) / 64;
  for (uint32_t w = 0; w < all; ++w) mask[w] &= found[w] ^ flip;
}

template <class T>
void KeepInRange(const T* values, uint32_t rows, T lo, T hi, bool negated, uint64_t* mask) {
  const Tag<T> d;
  const auto low = hn::Set(d, lo);
  const auto high = hn::Set(d, hi);
  if constexpr (std::is_floating_point_v<T>) {
    Keep<T>(rows, negated, mask, [&](size_t i) HWY_ATTR {
      Prefetch(values + i);
      const auto v = hn::LoadU(d, values + i);
      return hn::And(hn::Ge(v, low), hn::Le(v, high));
    });
  } else {
    // What is outside takes two comparisons that all machines have.
    Keep<T>(rows, !negated, mask, [&](size_t i) HWY_ATTR {
      Prefetch(values + i);
      const auto v = hn::LoadU(d, values + i);
      return hn::Or(hn::Lt(v, low), hn::Gt(v, high));
    });
  }
}

template <class T>
uint32_t CountInRange(const T* values, uint32_t rows, T lo, T hi) {
  constexpr size_t kN = kLanes<T>;
  const Tag<T> d;
  const hn::RebindToSigned<Tag<T>> di;
  const auto low = hn::Set(d, lo);
  const auto high = hn::Set(d, hi);
  // Counters in vectors, eight vectors a turn: a mask taken to a general register costs more than
  // the comparison. `inside` is -1 or 0 in each lane.
  const auto inside = [&](size_t i) HWY_ATTR {
    const auto v = hn::LoadU(d, values + i);
    if constexpr (std::is_floating_point_v<T>) {
      return hn::BitCast(di, hn::VecFromMask(d, hn::And(hn::Ge(v, low), hn::Le(v, high))));
    } else {
      return hn::BitCast(di, hn::VecFromMask(d, hn::Not(hn::Or(hn::Lt(v, low), hn::Gt(v, high)))));
    }
  };
  auto a = hn::Zero(di);
  auto b = a;
  auto c = a;
  auto e = a;
  size_t i = 0;
  for (; i + 8 * kN <= rows; i += 8 * kN) {
    for (size_t k = 0; k < 8 * kN; k += 64 / sizeof(T)) Prefetch(values + i + k);
    a = hn::Sub(a, inside(i));
    b = hn::Sub(b, inside(i + kN));
    c = hn::Sub(c, inside(i + 2 * kN));
    e = hn::Sub(e, inside(i + 3 * kN));
    a = hn::Sub(a, inside(i + 4 * kN));
    b = hn::Sub(b, inside(i + 5 * kN));
    c = hn::Sub(c, inside(i + 6 * kN));
    e = hn::Sub(e, inside(i + 7 * kN));
  }
  const auto sum = hn::Add(hn::Add(a, b), hn::Add(c, e));
  auto count = static_cast<uint32_t>(hn::GetLane(hn::SumOfLanes(di, sum)));
  for (; i < rows; ++i) count += values[i] >= lo && values[i] <= hi;
  return count;
}

template <class T>
void KeepCompared(const T* a, const T* b, uint32_t rows, Comparison comparison, bool negated,
                  uint64_t* mask) {
  const Tag<T> d;
  switch (comparison) {
    case Comparison::kEqual:
      Keep<T>(rows, negated, mask,
              [&](size_t i) HWY_ATTR { return hn::Eq(hn::LoadU(d, a + i), hn::LoadU(d, b + i)); });
      break;
    case Comparison::kLess:
      Keep<T>(rows, negated, mask,
              [&](size_t i) HWY_ATTR { return hn::Lt(hn::LoadU(d, a + i), hn::LoadU(d, b + i)); });
      break;
    case Comparison::kLessEqual:
      if constexpr (std::is_floating_point_v<T>) {
        Keep<T>(rows, negated, mask, [&](size_t i) HWY_ATTR {
          return hn::Le(hn::LoadU(d, a + i), hn::LoadU(d, b + i));
        });
      } else {
        Keep<T>(rows, !negated, mask, [&](size_t i) HWY_ATTR {
          return hn::Gt(hn::LoadU(d, a + i), hn::LoadU(d, b + i));
        });
      }
      break;
  }
}

// Hands the rows of a bitmap to `body`: All(four vectors) where they all count, Some(mask, vector)
// else.
template <class T, class Body>
HWY_INLINE void Visit(const T* values, uint32_t rows, const uint64_t* mask, Body& body) {
  constexpr size_t kN = kLanes<T>;
  static_assert(64 / kN % 4 == 0);
  const Tag<T> d;
  const uint32_t words = rows / 64;
  for (uint32_t w = 0; w < words; ++w) {
    const uint64_t bits = mask != nullptr ? mask[w] : ~uint64_t{0};
    const T* const at = values + w * 64;
    for (size_t i = 0; i < 64; i += 64 / sizeof(T)) Prefetch(at + i);
    if (bits == ~uint64_t{0}) {
      for (size_t i = 0; i < 64; i += 4 * kN) {
        body.All(hn::LoadU(d, at + i), hn::LoadU(d, at + i + kN), hn::LoadU(d, at + i + 2 * kN),
                 hn::LoadU(d, at + i + 3 * kN));
      }
    } else if (bits != 0) {
      for (size_t i = 0; i < 64; i += 2 * kN) {
        body.template Some<0>(MaskOf<T>(bits, i), hn::LoadU(d, at + i));
        body.template Some<1>(MaskOf<T>(bits, i + kN), hn::LoadU(d, at + i + kN));
      }
    }
  }
  if (const uint32_t rest = rows % 64; rest != 0) {
    const uint64_t bits =
        (mask != nullptr ? mask[words] : ~uint64_t{0}) & ((uint64_t{1} << rest) - 1);
    const T* const at = values + words * 64;
    for (size_t i = 0; i < rest; i += kN) {
      body.template Some<0>(MaskOf<T>(bits, i), hn::LoadU(d, at + i));
    }
  }
}

// One sum per lane, modulo 2^64 or of doubles.
template <class T>
struct PlainSum {
  using V = hn::Vec<Tag<T>>;
  V a, b, c, d;
  HWY_INLINE PlainSum() { a = b = c = d = hn::Zero(Tag<T>()); }
  HWY_INLINE void All(V v, V w, V x, V y) {
    a = hn::Add(a, v);
    b = hn::Add(b, w);
    c = hn::Add(c, x);
    d = hn::Add(d, y);
  }
  template <int kWhich, class M>
  HWY_INLINE void Some(M mask, V v) {
    V& sum = kWhich == 0 ? a : b;
    sum = hn::Add(sum, hn::IfThenElseZero(mask, v));
  }
  HWY_INLINE T Total() {
    return hn::GetLane(hn::SumOfLanes(Tag<T>(), hn::Add(hn::Add(a, b), hn::Add(c, d))));
  }
};

// The low and the high halves apart, so that nothing is carried.
template <class T>
struct HalfSums {
  using V = hn::Vec<Tag<T>>;
  V low, low2, high, high2;
  HWY_INLINE HalfSums() { low = low2 = high = high2 = hn::Zero(Tag<T>()); }
  HWY_INLINE void All(V v, V w, V x, V y) {
    const V half = hn::Set(Tag<T>(), static_cast<T>(0xffff'ffff));
    low = hn::Add(low, hn::And(v, half));
    high = hn::Add(high, hn::ShiftRight<32>(v));
    low2 = hn::Add(low2, hn::And(w, half));
    high2 = hn::Add(high2, hn::ShiftRight<32>(w));
    low = hn::Add(low, hn::And(x, half));
    high = hn::Add(high, hn::ShiftRight<32>(x));
    low2 = hn::Add(low2, hn::And(y, half));
    high2 = hn::Add(high2, hn::ShiftRight<32>(y));
  }
  template <int kWhich, class M>
  HWY_INLINE void Some(M mask, V all) {
    const V v = hn::IfThenElseZero(mask, all);
    const V half = hn::Set(Tag<T>(), static_cast<T>(0xffff'ffff));
    V& l = kWhich == 0 ? low : low2;
    V& h = kWhich == 0 ? high : high2;
    l = hn::Add(l, hn::And(v, half));
    h = hn::Add(h, hn::ShiftRight<32>(v));
  }
  HWY_INLINE Int128 Total() {
    const Tag<T> d;
    return Int128{hn::GetLane(hn::SumOfLanes(d, hn::Add(low, low2)))} +
           Int128{hn::GetLane(hn::SumOfLanes(d, hn::Add(high, high2)))} * (Int128{1} << 32);
  }
};

#if HWY_TARGET == HWY_SCALAR
struct PairSums {
  using V = hn::Vec<Tag<int32_t>>;
  int64_t total = 0;
  void All(V v, V w, V x, V y) {
    for (const V one : {v, w, x, y}) total += hn::GetLane(one);
  }
  template <int kWhich, class M>
  void Some(M mask, V v) {
    total += hn::GetLane(hn::IfThenElseZero(mask, v));
  }
  int64_t Total() const { return total; }
};
#else
// Of pairs of 32-bit values in lanes of 64 bits.
struct PairSums {
  using D = Tag<int64_t>;
  using V32 = hn::Vec<Tag<int32_t>>;
  using V = hn::Vec<D>;
  V even, odd, even2, odd2;
  HWY_INLINE PairSums() { even = odd = even2 = odd2 = hn::Zero(D()); }
  static HWY_INLINE V Even(V v) { return hn::ShiftRight<32>(hn::ShiftLeft<32>(v)); }
  static HWY_INLINE V Odd(V v) { return hn::ShiftRight<32>(v); }
  template <int kWhich>
  HWY_INLINE void Add(V32 pairs) {
    const V v = hn::BitCast(D(), pairs);
    V& e = kWhich == 0 ? even : even2;
    V& o = kWhich == 0 ? odd : odd2;
    e = hn::Add(e, Even(v));
    o = hn::Add(o, Odd(v));
  }
  HWY_INLINE void All(V32 v, V32 w, V32 x, V32 y) {
    Add<0>(v);
    Add<1>(w);
    Add<0>(x);
    Add<1>(y);
  }
  template <int kWhich, class M>
  HWY_INLINE void Some(M mask, V32 v) {
    Add<kWhich>(hn::IfThenElseZero(mask, v));
  }
  HWY_INLINE int64_t Total() {
    return hn::GetLane(hn::SumOfLanes(D(), hn::Add(hn::Add(even, even2), hn::Add(odd, odd2))));
  }
};
#endif

void SumInt32(const int32_t* values, uint32_t rows, const uint64_t* mask, Int128* out) {
  PairSums sums;
  Visit(values, rows, mask, sums);
  *out = sums.Total();
}

template <class T>
void Sum(const T* values, uint32_t rows, const uint64_t* mask, bool narrow, Int128* out) {
  if (narrow) {
    PlainSum<T> sums;
    Visit(values, rows, mask, sums);
    *out = sums.Total();
  } else {
    HalfSums<T> sums;
    Visit(values, rows, mask, sums);
    *out = sums.Total();
  }
}
void SumInt64(const int64_t* values, uint32_t rows, const uint64_t* mask, bool narrow,
              Int128* out) {
  Sum(values, rows, mask, narrow, out);
}
void SumUint64(const uint64_t* values, uint32_t rows, const uint64_t* mask, bool narrow,
               Int128* out) {
  Sum(values, rows, mask, narrow, out);
}

double SumDouble(const double* values, uint32_t rows, const uint64_t* mask) {
  PlainSum<double> sums;
  Visit(values, rows, mask, sums);
  return sums.Total();
}

template <class T>
struct KeysOf {
  using Key = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
  using D = Tag<Key>;
  using V = hn::Vec<D>;
  using From = hn::Vec<Tag<T>>;
  V low, high;
  HWY_INLINE KeysOf() {
    low = hn::Set(D(), hwy::HighestValue<Key>());
    high = hn::Set(D(), hwy::LowestValue<Key>());
  }
  static HWY_INLINE V ToKey(From v) {
    const D d;
    if constexpr (std::is_same_v<T, uint64_t>) {
      return hn::Xor(hn::BitCast(d, v), hn::Set(d, INT64_MIN));
    } else if constexpr (std::is_same_v<T, double>) {
      const V canonical = hn::Set(d, 0x7ff8'0000'0000'0000);
      const V bits = hn::IfThenElse(hn::RebindMask(d, hn::Eq(v, v)), hn::BitCast(d, v), canonical);
      return hn::Xor(bits, hn::And(hn::BroadcastSignBit(bits), hn::Set(d, INT64_MAX)));
    } else {
      return v;
    }
  }
  HWY_INLINE void Add(V key) {
    low = hn::Min(low, key);
    high = hn::Max(high, key);
  }
  HWY_INLINE void All(From v, From w, From x, From y) {
    Add(ToKey(v));
    Add(ToKey(w));
    Add(ToKey(x));
    Add(ToKey(y));
  }
  template <int kWhich, class M>
  HWY_INLINE void Some(M mask, From v) {
    const D d;
    const V key = ToKey(v);
    const auto counts = hn::RebindMask(d, mask);
    low = hn::Min(low, hn::IfThenElse(counts, key, low));
    high = hn::Max(high, hn::IfThenElse(counts, key, high));
  }
};

template <class T>
void FindExtremes(const T* values, uint32_t rows, const uint64_t* mask, Extremes& out) {
  using Keys = KeysOf<T>;
  Keys keys;
  Visit(values, rows, mask, keys);
  typename Keys::Key lanes[2][kLanes<typename Keys::Key>];
  hn::StoreU(keys.low, typename Keys::D(), lanes[0]);
  hn::StoreU(keys.high, typename Keys::D(), lanes[1]);
  Extremes found{};
  for (size_t i = 0; i < kLanes<typename Keys::Key>; ++i) {
    found.min = std::min<int64_t>(found.min, lanes[0][i]);
    found.max = std::max<int64_t>(found.max, lanes[1][i]);
  }
  if (found.min > found.max) return;  // no row at all
  out.min = std::min(out.min, found.min);
  out.max = std::max(out.max, found.max);
}

template <class T, class Right>
HWY_INLINE void ComputeRows(Operation operation, const T* a, uint32_t rows, T* out, bool reversed,
                            Right right) {
  constexpr size_t kN = kLanes<T>;
  const Tag<T> d;
  switch (operation) {
    case Operation::kAdd:
      for (size_t i = 0; i < rows; i += kN) {
        hn::StoreU(hn::Add(hn::LoadU(d, a + i), right(i)), d, out + i);
      }
      break;
    case Operation::kSubtract:
      if (reversed) {
        for (size_t i = 0; i < rows; i += kN) {
          hn::StoreU(hn::Sub(right(i), hn::LoadU(d, a + i)), d, out + i);
        }
      } else {
        for (size_t i = 0; i < rows; i += kN) {
          hn::StoreU(hn::Sub(hn::LoadU(d, a + i), right(i)), d, out + i);
        }
      }
      break;
    case Operation::kMultiply:
      for (size_t i = 0; i < rows; i += kN) {
        const auto x = hn::LoadU(d, a + i);
        const auto y = right(i);
        if constexpr (std::is_same_v<T, double>) {
          hn::StoreU(hn::Mul(x, y), d, out + i);
        } else {
#if HWY_TARGET == HWY_AVX3
          hn::StoreU(x * y, d, out + i);
#elif HWY_TARGET == HWY_SCALAR
          out[i] = hn::GetLane(x) * hn::GetLane(y);
#else
          // Low 64 bits from products of halves.
          const hn::Repartition<uint32_t, Tag<T>> d32;
          const auto high = [&](auto v)
                                HWY_ATTR { return hn::BitCast(d32, hn::ShiftRight<32>(v)); };
          const auto low = [&](auto v) HWY_ATTR { return hn::BitCast(d32, v); };
          const auto cross = hn::Add(hn::MulEven(high(x), low(y)), hn::MulEven(low(x), high(y)));
          hn::StoreU(hn::Add(hn::MulEven(low(x), low(y)), hn::ShiftLeft<32>(cross)), d, out + i);
#endif
        }
      }
      break;
  }
}

template <class T>
void Compute(Operation operation, const T* a, const T* b, uint32_t rows, T* out) {
  ComputeRows(operation, a, rows, out, false,
              [&](size_t i) HWY_ATTR { return hn::LoadU(Tag<T>(), b + i); });
}
template <class T>
void ComputeWith(Operation operation, const T* a, T b, bool reversed, uint32_t rows, T* out) {
  const auto same = hn::Set(Tag<T>(), b);
  ComputeRows(operation, a, rows, out, reversed, [&](size_t) HWY_ATTR { return same; });
}

void WidenInt32(const int32_t* values, uint32_t rows, int64_t* out) {
  const Tag<int64_t> d;
  const hn::Rebind<int32_t, Tag<int64_t>> half;
  for (size_t i = 0; i < rows; i += kLanes<int64_t>) {
    hn::StoreU(hn::PromoteTo(d, hn::LoadU(half, values + i)), d, out + i);
  }
}

// HWY_EXPORT takes plain names.
#define ERIS_FOR_TYPE(T, Name)                                                     \
  void KeepInRange##Name(const T* values, uint32_t rows, T lo, T hi, bool negated, \
                         uint64_t* mask) {                                         \
    KeepInRange<T>(values, rows, lo, hi, negated, mask);                           \
  }
ERIS_FOR_TYPE(int32_t, Int32)
ERIS_FOR_TYPE(int64_t, Int64)
ERIS_FOR_TYPE(uint64_t, Uint64)
ERIS_FOR_TYPE(double, Double)
ERIS_FOR_TYPE(uint16_t, Uint16)
#undef ERIS_FOR_TYPE
#define ERIS_FOR_TYPE(T, Name)                                                                   \
  uint32_t CountInRange##Name(const T* values, uint32_t rows, T lo, T hi) {                      \
    return CountInRange<T>(values, rows, lo, hi);                                                \
  }                                                                                              \
  void FindExtremes##Name(const T* values, uint32_t rows, const uint64_t* mask, Extremes& out) { \
    FindExtremes<T>(values, rows, mask, out);                                                    \
  }
ERIS_FOR_TYPE(int32_t, Int32)
ERIS_FOR_TYPE(int64_t, Int64)
ERIS_FOR_TYPE(uint64_t, Uint64)
ERIS_FOR_TYPE(double, Double)
#undef ERIS_FOR_TYPE
#define ERIS_FOR_TYPE(T, Name)                                                          \
  void KeepCompared##Name(const T* a, const T* b, uint32_t rows, Comparison comparison, \
                          bool negated, uint64_t* mask) {                               \
    KeepCompared<T>(a, b, rows, comparison, negated, mask);                             \
  }
ERIS_FOR_TYPE(int64_t, Int64)
ERIS_FOR_TYPE(uint64_t, Uint64)
ERIS_FOR_TYPE(double, Double)
#undef ERIS_FOR_TYPE
#define ERIS_FOR_TYPE(T, Name)                                                               \
  void Compute##Name(Operation operation, const T* a, const T* b, uint32_t rows, T* out) {   \
    Compute<T>(operation, a, b, rows, out);                                                  \
  }                                                                                          \
  void ComputeWith##Name(Operation operation, const T* a, T b, bool reversed, uint32_t rows, \
                         T* out) {                                                           \
    ComputeWith<T>(operation, a, b, reversed, rows, out);                                    \
  }
ERIS_FOR_TYPE(uint64_t, Uint64)
ERIS_FOR_TYPE(double, Double)
#undef ERIS_FOR_TYPE

const char* Target() { return hwy::TargetName(HWY_TARGET); }

}  // namespace eris::storage::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace eris::storage::kernels {

#define ERIS_EXPORT(T, Name)                                                                   \
  HWY_EXPORT(KeepInRange##Name);                                                               \
  void KeepInRange(const T* values, uint32_t rows, T lo, T hi, bool negated, uint64_t* mask) { \
    HWY_DYNAMIC_DISPATCH(KeepInRange##Name)(values, rows, lo, hi, negated, mask);              \
  }
ERIS_EXPORT(int32_t, Int32)
ERIS_EXPORT(int64_t, Int64)
ERIS_EXPORT(uint64_t, Uint64)
ERIS_EXPORT(double, Double)
ERIS_EXPORT(uint16_t, Uint16)
#undef ERIS_EXPORT
#define ERIS_EXPORT(T, Name)                                                               \
  HWY_EXPORT(CountInRange##Name);                                                          \
  HWY_EXPORT(FindExtremes##Name);                                                          \
  uint32_t CountInRange(const T* values, uint32_t rows, T lo, T hi) {                      \
    return HWY_DYNAMIC_DISPATCH(CountInRange##Name)(values, rows, lo, hi);                 \
  }                                                                                        \
  void FindExtremes(const T* values, uint32_t rows, const uint64_t* mask, Extremes& out) { \
    HWY_DYNAMIC_DISPATCH(FindExtremes##Name)(values, rows, mask, out);                     \
  }
ERIS_EXPORT(int32_t, Int32)
ERIS_EXPORT(int64_t, Int64)
ERIS_EXPORT(uint64_t, Uint64)
ERIS_EXPORT(double, Double)
#undef ERIS_EXPORT
#define ERIS_EXPORT(T, Name)                                                                    \
  HWY_EXPORT(KeepCompared##Name);                                                               \
  void KeepCompared(const T* a, const T* b, uint32_t rows, Comparison comparison, bool negated, \
                    uint64_t* mask) {                                                           \
    HWY_DYNAMIC_DISPATCH(KeepCompared##Name)(a, b, rows, comparison, negated, mask);            \
  }
ERIS_EXPORT(int64_t, Int64)
ERIS_EXPORT(uint64_t, Uint64)
ERIS_EXPORT(double, Double)
#undef ERIS_EXPORT
#define ERIS_EXPORT(T, Name)                                                                     \
  HWY_EXPORT(Compute##Name);                                                                     \
  HWY_EXPORT(ComputeWith##Name);                                                                 \
  void Compute(Operation operation, const T* a, const T* b, uint32_t rows, T* out) {             \
    HWY_DYNAMIC_DISPATCH(Compute##Name)(operation, a, b, rows, out);                             \
  }                                                                                              \
  void ComputeWith(Operation operation, const T* a, T b, bool reversed, uint32_t rows, T* out) { \
    HWY_DYNAMIC_DISPATCH(ComputeWith##Name)(operation, a, b, reversed, rows, out);               \
  }
ERIS_EXPORT(uint64_t, Uint64)
ERIS_EXPORT(double, Double)
#undef ERIS_EXPORT

HWY_EXPORT(SumInt32);
HWY_EXPORT(SumInt64);
HWY_EXPORT(SumUint64);
HWY_EXPORT(SumDouble);
HWY_EXPORT(WidenInt32);
HWY_EXPORT(Target);

Int128 Sum(const int32_t* values, uint32_t rows, const uint64_t* mask) {
  Int128 sum = 0;
  HWY_DYNAMIC_DISPATCH(SumInt32)(values, rows, mask, &sum);
  return sum;
}
Int128 Sum(const int64_t* values, uint32_t rows, const uint64_t* mask, bool narrow) {
  Int128 sum = 0;
  HWY_DYNAMIC_DISPATCH(SumInt64)(values, rows, mask, narrow, &sum);
  return sum;
}
Int128 Sum(const uint64_t* values, uint32_t rows, const uint64_t* mask, bool narrow) {
  Int128 sum = 0;
  HWY_DYNAMIC_DISPATCH(SumUint64)(values, rows, mask, narrow, &sum);
  return sum;
}
double Sum(const double* values, uint32_t rows, const uint64_t* mask) {
  return HWY_DYNAMIC_DISPATCH(SumDouble)(values, rows, mask);
}
void Widen(const int32_t* values, uint32_t rows, int64_t* out) {
  HWY_DYNAMIC_DISPATCH(WidenInt32)(values, rows, out);
}
const char* TargetName() { return HWY_DYNAMIC_DISPATCH(Target)(); }

}  // namespace eris::storage::kernels
#endif  // HWY_ONCE
