// Sums and extremes.
// This file is compiled once per target (foreach_target.h includes it repeatedly); code under
// HWY_ONCE is compiled once.
#include "storage/table/kernels/kernels.h"

#include <algorithm>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "storage/table/kernels/kernels_sum.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "hwy/highway.h"
#include "storage/table/kernels/kernel_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace eris::storage::kernels::HWY_NAMESPACE {

// Passes the rows of a bitmap to `body`: All(four vectors) if they all count, else Some(mask,
// vector).
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
        body.template Some<0>(MaskOf<T>(mask + w, i), hn::LoadU(d, at + i));
        body.template Some<1>(MaskOf<T>(mask + w, i + kN), hn::LoadU(d, at + i + kN));
      }
    }
  }
  if (const uint32_t rest = rows % 64; rest != 0) {
    const uint64_t bits =
        (mask != nullptr ? mask[words] : ~uint64_t{0}) & ((uint64_t{1} << rest) - 1);
    const T* const at = values + words * 64;
    for (size_t i = 0; i < rest; i += kN) {
      body.template Some<0>(MaskOf<T>(&bits, i), hn::LoadU(d, at + i));
    }
  }
}

// One sum per lane: modulo 2^64, or of doubles.
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
    sum = AddWhere(mask, sum, v);
  }
  HWY_INLINE T Total() { return SumOfLanes<T>(hn::Add(hn::Add(a, b), hn::Add(c, d))); }
};

// Sums modulo 2^64 and sums of the high halves, for at most a block. The part below 2^32 is the
// difference of the two, so there is nothing to carry.
template <class T>
struct WideSum {
  using D = Tag<T>;
  using V = hn::Vec<D>;
  V all, all2, high, high2;
  HWY_INLINE WideSum() { all = all2 = high = high2 = hn::Zero(D()); }
  HWY_INLINE void All(V v, V w, V x, V y) {
    all = hn::Add(all, v);
    high = hn::Add(high, hn::ShiftRight<32>(v));
    all2 = hn::Add(all2, w);
    high2 = hn::Add(high2, hn::ShiftRight<32>(w));
    all = hn::Add(all, x);
    high = hn::Add(high, hn::ShiftRight<32>(x));
    all2 = hn::Add(all2, y);
    high2 = hn::Add(high2, hn::ShiftRight<32>(y));
  }
  template <int kWhich, class M>
  HWY_INLINE void Some(M mask, V v) {
    V& a = kWhich == 0 ? all : all2;
    V& h = kWhich == 0 ? high : high2;
    a = AddWhere(mask, a, v);
    h = AddWhere(mask, h, hn::ShiftRight<32>(v));
  }
  HWY_INLINE Int128 Total() {
    const auto total = static_cast<uint64_t>(SumOfLanes<hn::TFromD<D>>(hn::Add(all, all2)));
    const T above = SumOfLanes<hn::TFromD<D>>(hn::Add(high, high2));
    const uint64_t below = total - (static_cast<uint64_t>(above) << 32);
    return Int128{above} * (Int128{1} << 32) + Int128{below};
  }
};

#if HWY_TARGET == HWY_SCALAR
struct Int32Sum {
  using V = hn::Vec<Tag<int32_t>>;
  int64_t total = 0;
  void All(V v, V w, V x, V y) {
    for (const V one : {v, w, x, y}) total += hn::GetLane(one);
  }
  template <int kWhich, class M>
  void Some(M mask, V v) {
    total += hn::GetLane(hn::IfThenElseZero(mask, v));
  }
  int64_t Total(uint32_t) const { return total; }
};
#else
// As WideSum, for pairs in lanes of 64 bits; all values are made positive first.
struct Int32Sum {
  using D = Tag<uint64_t>;
  using V32 = hn::Vec<Tag<int32_t>>;
  using V = hn::Vec<D>;
  V all, all2, high, high2;
  HWY_INLINE Int32Sum() { all = all2 = high = high2 = hn::Zero(D()); }
  static HWY_INLINE V32 Positive(V32 v) { return hn::Xor(v, hn::Set(Tag<int32_t>(), INT32_MIN)); }
  template <int kWhich>
  HWY_INLINE void Add(V32 positive) {
    const V v = hn::BitCast(D(), positive);
    V& a = kWhich == 0 ? all : all2;
    V& h = kWhich == 0 ? high : high2;
    a = hn::Add(a, v);
    h = hn::Add(h, hn::ShiftRight<32>(v));
  }
  HWY_INLINE void All(V32 v, V32 w, V32 x, V32 y) {
    Add<0>(Positive(v));
    Add<1>(Positive(w));
    Add<0>(Positive(x));
    Add<1>(Positive(y));
  }
  template <int kWhich, class M>
  HWY_INLINE void Some(M mask, V32 v) {
    Add<kWhich>(hn::IfThenElseZero(mask, Positive(v)));
  }
  // `rows`: the number of added values.
  HWY_INLINE int64_t Total(uint32_t rows) {
    const uint64_t total = SumOfLanes<hn::TFromD<D>>(hn::Add(all, all2));
    const uint64_t odd = SumOfLanes<hn::TFromD<D>>(hn::Add(high, high2));
    const uint64_t even = total - (odd << 32);
    return static_cast<int64_t>(even + odd) - (int64_t{rows} << 31);
  }
};
#endif

HWY_INLINE uint32_t CountRows(uint32_t rows, const uint64_t* mask) {
  if (mask == nullptr) return rows;
  uint32_t count = 0;
  for (uint32_t w = 0; w * 64 < rows; ++w) {
    count += static_cast<uint32_t>(__builtin_popcountll(mask[w]));
  }
  return count;
}

void SumInt32(const int32_t* values, uint32_t rows, const uint64_t* mask, Int128* out) {
  Int32Sum sums;
  Visit(values, rows, mask, sums);
  *out = sums.Total(CountRows(rows, mask));
}

template <class T>
void Sum(const T* values, uint32_t rows, const uint64_t* mask, bool narrow, Int128* out) {
  if (narrow) {
    PlainSum<T> sums;
    Visit(values, rows, mask, sums);
    *out = sums.Total();
  } else {
    WideSum<T> sums;
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

// A vector of T loaded from values of From, which are as wide as T or half as wide; the latter are
// signed.
template <class T, class From>
HWY_INLINE hn::Vec<Tag<T>> LoadAs(const From* values) {
  if constexpr (sizeof(From) == sizeof(T)) {
    return hn::LoadU(Tag<T>(), values);
  } else {
    const hn::Rebind<From, Tag<int64_t>> half;
    return hn::BitCast(Tag<T>(), hn::PromoteTo(Tag<int64_t>(), hn::LoadU(half, values)));
  }
}

// A filter and a sum in one pass, without a bitmap: tests values of From as values of T, and sums
// values of U, which is as wide as T.
template <bool kSame, class T, class From, class U, class Body>
HWY_INLINE uint32_t VisitInRange(const From* tested, T lo, T hi, const U* values, uint32_t rows,
                                 Body& body) {
  constexpr size_t kN = kLanes<T>;
  static_assert(sizeof(T) == sizeof(U));
  const Tag<U> dv;
  const hn::RebindToUnsigned<Tag<T>> du;
  const RangeTest<T> test(lo, hi);
  const auto one = hn::Set(du, 1);
  auto count = hn::Zero(du);
  auto count2 = count;
  size_t i = 0;
  for (; i + 4 * kN <= rows; i += 4 * kN) {
    for (size_t k = 0; k < 4 * kN; k += 64 / sizeof(From)) Prefetch(tested + i + k);
    if constexpr (!kSame) {
      for (size_t k = 0; k < 4 * kN; k += 64 / sizeof(U)) Prefetch(values + i + k);
    }
    for (size_t k = 0; k < 4 * kN; k += 2 * kN) {
      const auto t = LoadAs<T>(tested + i + k);
      const auto t2 = LoadAs<T>(tested + i + k + kN);
      const auto first = test.Inside(t);
      const auto second = test.Inside(t2);
      count = AddWhere(hn::RebindMask(du, first), count, one);
      count2 = AddWhere(hn::RebindMask(du, second), count2, one);
      if constexpr (kSame) {
        body.template Some<0>(hn::RebindMask(dv, first), hn::BitCast(dv, t));
        body.template Some<1>(hn::RebindMask(dv, second), hn::BitCast(dv, t2));
      } else {
        body.template Some<0>(hn::RebindMask(dv, first), hn::LoadU(dv, values + i + k));
        body.template Some<1>(hn::RebindMask(dv, second), hn::LoadU(dv, values + i + k + kN));
      }
    }
  }
  auto rows_in = static_cast<uint32_t>(hn::GetLane(hn::SumOfLanes(du, hn::Add(count, count2))));
  for (; i < rows; i += kN) {
    // The last vector may be read completely, but only some lanes count.
    uint64_t bits = 0;
    for (size_t k = 0; k < std::min<size_t>(kN, rows - i); ++k) {
      bits |= uint64_t{IsInside(static_cast<T>(tested[i + k]), lo, hi)} << k;
    }
    rows_in += static_cast<uint32_t>(__builtin_popcountll(bits));
    body.template Some<0>(MaskOf<U>(&bits, 0), hn::LoadU(dv, values + i));
  }
  return rows_in;
}

template <class T, class U, class Body>
HWY_INLINE uint32_t SumsInRange(const T* tested, T lo, T hi, const U* values, uint32_t rows,
                                Body& body) {
  if (static_cast<const void*>(tested) == static_cast<const void*>(values)) {
    return VisitInRange<true, T>(tested, lo, hi, values, rows, body);
  }
  return VisitInRange<false, T>(tested, lo, hi, values, rows, body);
}

uint32_t SumInRange32(const uint32_t* tested, uint32_t lo, uint32_t hi, const int32_t* values,
                      uint32_t rows, Int128* out) {
  Int32Sum sums;
  const uint32_t count = SumsInRange(tested, lo, hi, values, rows, sums);
  *out = sums.Total(count);
  return count;
}
uint32_t SumInRangeUint64(const uint64_t* tested, uint64_t lo, uint64_t hi, const uint64_t* values,
                          uint32_t rows, Int128* out) {
  WideSum<uint64_t> sums;
  const uint32_t count = SumsInRange(tested, lo, hi, values, rows, sums);
  *out = sums.Total();
  return count;
}
uint32_t SumInRangeInt64(const uint64_t* tested, uint64_t lo, uint64_t hi, const int64_t* values,
                         uint32_t rows, Int128* out) {
  WideSum<int64_t> sums;
  const uint32_t count = SumsInRange(tested, lo, hi, values, rows, sums);
  *out = sums.Total();
  return count;
}

template <class U>
uint32_t SumWhereInt32(const int32_t* tested, int32_t lo, int32_t hi, const U* values,
                       uint32_t rows, Int128* out) {
  WideSum<U> sums;
  const uint32_t count =
      VisitInRange<false>(tested, static_cast<uint64_t>(int64_t{lo}),
                          static_cast<uint64_t>(int64_t{hi}), values, rows, sums);
  *out = sums.Total();
  return count;
}
uint32_t SumWhereInt32Uint64(const int32_t* tested, int32_t lo, int32_t hi, const uint64_t* values,
                             uint32_t rows, Int128* out) {
  return SumWhereInt32(tested, lo, hi, values, rows, out);
}
uint32_t SumWhereInt32Int64(const int32_t* tested, int32_t lo, int32_t hi, const int64_t* values,
                            uint32_t rows, Int128* out) {
  return SumWhereInt32(tested, lo, hi, values, rows, out);
}

uint32_t CountBits(uint32_t rows, const uint64_t* mask) { return CountRows(rows, mask); }

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
  if (found.min > found.max) return;  // no rows
  out.min = std::min(out.min, found.min);
  out.max = std::max(out.max, found.max);
}

// HWY_EXPORT takes plain names.
#define ERIS_FOR_TYPE(T, Name)                                                                   \
  void FindExtremes##Name(const T* values, uint32_t rows, const uint64_t* mask, Extremes& out) { \
    FindExtremes<T>(values, rows, mask, out);                                                    \
  }
ERIS_FOR_TYPE(int32_t, Int32)
ERIS_FOR_TYPE(int64_t, Int64)
ERIS_FOR_TYPE(uint64_t, Uint64)
ERIS_FOR_TYPE(double, Double)
#undef ERIS_FOR_TYPE
}  // namespace eris::storage::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace eris::storage::kernels {

#define ERIS_EXPORT(T, Unsigned, U, Name)                                                         \
  HWY_EXPORT(Name);                                                                               \
  uint32_t SumInRange(const T* tested, T lo, T hi, const U* values, uint32_t rows, Int128& sum) { \
    Int128 added = 0;                                                                             \
    const uint32_t count = HWY_DYNAMIC_DISPATCH(Name)(                                            \
        reinterpret_cast<const Unsigned*>(tested), static_cast<Unsigned>(lo),                     \
        static_cast<Unsigned>(hi), values, rows, &added);                                         \
    sum += added;                                                                                 \
    return count;                                                                                 \
  }
ERIS_EXPORT(int32_t, uint32_t, int32_t, SumInRange32)
ERIS_EXPORT(uint64_t, uint64_t, int64_t, SumInRangeInt64)
ERIS_EXPORT(uint64_t, uint64_t, uint64_t, SumInRangeUint64)
ERIS_EXPORT(int32_t, int32_t, int64_t, SumWhereInt32Int64)
ERIS_EXPORT(int32_t, int32_t, uint64_t, SumWhereInt32Uint64)
#undef ERIS_EXPORT

HWY_EXPORT(CountBits);
uint32_t CountRows(const uint64_t* mask, uint32_t rows) {
  return HWY_DYNAMIC_DISPATCH(CountBits)(rows, mask);
}

#define ERIS_EXPORT(T, Name)                                                               \
  HWY_EXPORT(FindExtremes##Name);                                                          \
  void FindExtremes(const T* values, uint32_t rows, const uint64_t* mask, Extremes& out) { \
    HWY_DYNAMIC_DISPATCH(FindExtremes##Name)(values, rows, mask, out);                     \
  }
ERIS_EXPORT(int32_t, Int32)
ERIS_EXPORT(int64_t, Int64)
ERIS_EXPORT(uint64_t, Uint64)
ERIS_EXPORT(double, Double)
#undef ERIS_EXPORT
HWY_EXPORT(SumInt32);
HWY_EXPORT(SumInt64);
HWY_EXPORT(SumUint64);
HWY_EXPORT(SumDouble);
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

}  // namespace eris::storage::kernels
#endif  // HWY_ONCE
