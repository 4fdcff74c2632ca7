// Filters and arithmetic.
// This file is compiled once per target (foreach_target.h includes it repeatedly); code under
// HWY_ONCE is compiled once.
#include "storage/table/kernels/kernels.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "storage/table/kernels/kernels.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "hwy/highway.h"
#include "storage/table/kernels/kernel_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace eris::storage::kernels::HWY_NAMESPACE {

// The bits of a word's vectors, found(first row of a vector). Kept in registers if possible:
// reading a word right after its bytes were written stalls until all earlier stores have finished.
template <class T, class What>
HWY_INLINE uint64_t WordOf(What what) {
#if HWY_TARGET == HWY_AVX3
  const auto bits = [&](size_t i) HWY_ATTR { return what(i).raw; };
  if constexpr (sizeof(T) == 8) {
    const auto pair = [&](size_t i) HWY_ATTR { return _mm512_kunpackb(bits(i + 8), bits(i)); };
    const auto four = [&](size_t i) HWY_ATTR { return _mm512_kunpackw(pair(i + 16), pair(i)); };
    return _mm512_kunpackd(four(32), four(0));
  } else if constexpr (sizeof(T) == 4) {
    const auto pair = [&](size_t i) HWY_ATTR { return _mm512_kunpackw(bits(i + 16), bits(i)); };
    return _mm512_kunpackd(pair(32), pair(0));
  } else {
    return _mm512_kunpackd(bits(32), bits(0));
  }
#else
  constexpr size_t kN = kLanes<T>;
  uint64_t word = 0;
  for (size_t i = 0; i < 64; i += kN) {
    uint8_t bytes[8] = {};
    hn::StoreMaskBits(Tag<T>(), what(i), bytes);
    uint64_t found;
    std::memcpy(&found, bytes, sizeof found);
    word |= found << i;
  }
  return word;
#endif
}

// mask &= what(first row of a vector), or its complement. Skips words without a row.
template <class T, class What>
HWY_INLINE void Keep(uint32_t rows, bool complement, uint64_t* mask, What what) {
  const uint64_t flip = complement ? ~uint64_t{0} : 0;
  const uint32_t words = rows / 64;
  for (uint32_t w = 0; w < words; ++w) {
    if (mask[w] == 0) continue;
    const uint64_t found = WordOf<T>([&](size_t i) HWY_ATTR { return what(w * 64 + i); });
    mask[w] &= found ^ flip;
  }
  if (const uint32_t rest = rows % 64; rest != 0) {
    // Columns may be read up to the end of a vector, not beyond.
    constexpr size_t kN = kLanes<T>;
    uint64_t found = 0;
    for (size_t i = 0; i < rest; i += kN) {
      uint8_t bytes[8] = {};
      hn::StoreMaskBits(Tag<T>(), what(words * 64 + i), bytes);
      uint64_t bits;
      std::memcpy(&bits, bytes, sizeof bits);
      found |= bits << i;
    }
    mask[words] &= found ^ flip;
  }
}

// The eight lines of a word's rows: a bit each, the first of its byte, set if a row of the line is.
HWY_INLINE uint64_t LinesOf(uint64_t word) {
  word |= word >> 4;
  word |= word >> 2;
  word |= word >> 1;
  return word & 0x0101010101010101;
}

// As Keep, of columns of eight bytes of which few rows are left: reads only lines that have one,
// and fetches them ahead by the mask.
template <class T, class What>
HWY_INLINE void KeepFew(const T* values, uint32_t rows, bool complement, uint64_t* mask,
                        What what) {
  constexpr size_t kLineRows = 8;
  constexpr uint32_t kAhead = kPrefetchBytes / (64 * sizeof(T));
  static_assert(sizeof(T) == 8 && kLineRows % kLanes<T> == 0);
  const uint8_t flip = complement ? 0xff : 0;
  const uint32_t words = (rows + 63) / 64;
  const auto for_lines = [&](uint32_t w, auto then) HWY_ATTR {
    for (uint64_t lines = LinesOf(mask[w]); lines != 0; lines &= lines - 1) {
      then(hwy::Num0BitsBelowLS1Bit_Nonzero64(lines));
    }
  };
  const auto fetch = [&](uint32_t w) HWY_ATTR {
    for_lines(w, [&](size_t first) { __builtin_prefetch(values + w * 64 + first); });
  };
  for (uint32_t w = 0; w < std::min(kAhead, words); ++w) fetch(w);
  for (uint32_t w = 0; w < words; ++w) {
    if (w + kAhead < words) fetch(w + kAhead);
    uint64_t kept = 0;
    for_lines(w, [&](size_t first) HWY_ATTR {
      uint8_t found = 0;
      for (size_t i = 0; i < kLineRows; i += kLanes<T>) {
        uint8_t bytes[8] = {};
        hn::StoreMaskBits(Tag<T>(), what(w * 64 + first + i), bytes);
        found |= static_cast<uint8_t>(bytes[0] << i);
      }
      kept |= uint64_t{static_cast<uint8_t>(found ^ flip)} << first;
    });
    mask[w] &= kept;
  }
}

// Whether so few rows are left that most lines of eight have none.
inline bool AreFew(uint32_t rows, const uint64_t* mask) {
  constexpr uint32_t kOneOf = 12;
  uint64_t left = 0;
  for (uint32_t w = 0; w < (rows + 63) / 64; ++w) left += hwy::PopCount(mask[w]);
  return left * kOneOf < rows;
}

template <class T>
void KeepInRange(const T* values, uint32_t rows, T lo, T hi, bool negated, uint64_t* mask) {
  const Tag<T> d;
  const RangeTest<T> test(lo, hi);
  const auto keep = [&](bool complement, auto what) HWY_ATTR {
    if constexpr (sizeof(T) == 8) {
      if (AreFew(rows, mask)) {
        KeepFew(values, rows, complement, mask, what);
        return;
      }
    }
    Keep<T>(rows, complement, mask, [&](size_t i) HWY_ATTR {
      Prefetch(values + i);
      return what(i);
    });
  };
  if constexpr (RangeTest<T>::kOutside) {
    keep(!negated, [&](size_t i) HWY_ATTR { return test.Outside(hn::LoadU(d, values + i)); });
  } else {
    keep(negated, [&](size_t i) HWY_ATTR { return test.Inside(hn::LoadU(d, values + i)); });
  }
}

// Counts in vectors: moving a mask to a general register costs more than the comparison. Handles
// four vectors per iteration, and loads all before it compares the first. In the first-level cache
// this is 1.7 times as fast as eight vectors that are loaded, compared and added one by one.
template <class T>
uint32_t CountInRange(const T* values, uint32_t rows, T lo, T hi) {
  constexpr size_t kN = kLanes<T>;
  const Tag<T> d;
  const hn::RebindToUnsigned<Tag<T>> du;
  const RangeTest<T> test(lo, hi);
  const auto one = hn::Set(du, 1);
  auto a = hn::Zero(du);
  auto b = a;
  auto c = a;
  auto e = a;
  const auto inside = [&](auto v) HWY_ATTR { return hn::RebindMask(du, test.Inside(v)); };
  size_t i = 0;
  for (; i + 4 * kN <= rows; i += 4 * kN) {
    const auto v = hn::LoadU(d, values + i);
    const auto w = hn::LoadU(d, values + i + kN);
    const auto x = hn::LoadU(d, values + i + 2 * kN);
    const auto y = hn::LoadU(d, values + i + 3 * kN);
    a = AddWhere(inside(v), a, one);
    b = AddWhere(inside(w), b, one);
    c = AddWhere(inside(x), c, one);
    e = AddWhere(inside(y), e, one);
  }
  const auto sum = hn::Add(hn::Add(a, b), hn::Add(c, e));
  auto count = static_cast<uint32_t>(hn::GetLane(hn::SumOfLanes(du, sum)));
  for (; i < rows; ++i) count += IsInside(values[i], lo, hi);
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
    case Operation::kDivide:
      if constexpr (std::is_same_v<T, double>) {
        for (size_t i = 0; i < rows; i += kN) {
          const auto x = hn::LoadU(d, a + i);
          hn::StoreU(reversed ? hn::Div(right(i), x) : hn::Div(x, right(i)), d, out + i);
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
ERIS_FOR_TYPE(uint16_t, Uint16)
ERIS_FOR_TYPE(uint32_t, Uint32)
ERIS_FOR_TYPE(uint64_t, Uint64)
ERIS_FOR_TYPE(double, Double)
#undef ERIS_FOR_TYPE
#define ERIS_FOR_TYPE(T, Name)                                              \
  uint32_t CountInRange##Name(const T* values, uint32_t rows, T lo, T hi) { \
    return CountInRange<T>(values, rows, lo, hi);                           \
  }
ERIS_FOR_TYPE(uint32_t, Uint32)
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

HWY_EXPORT(KeepInRangeUint16);
HWY_EXPORT(KeepInRangeUint32);
HWY_EXPORT(KeepInRangeUint64);
HWY_EXPORT(KeepInRangeDouble);
HWY_EXPORT(CountInRangeUint32);
HWY_EXPORT(CountInRangeUint64);
HWY_EXPORT(CountInRangeDouble);

// A range of signed integers is treated as one of unsigned ones: only the distance from its start
// counts.
#define ERIS_EXPORT(T, Unsigned, Name)                                                         \
  void KeepInRange(const T* values, uint32_t rows, T lo, T hi, bool negated, uint64_t* mask) { \
    HWY_DYNAMIC_DISPATCH(KeepInRange##Name)                                                    \
    (reinterpret_cast<const Unsigned*>(values), rows, static_cast<Unsigned>(lo),               \
     static_cast<Unsigned>(hi), negated, mask);                                                \
  }
ERIS_EXPORT(uint16_t, uint16_t, Uint16)
ERIS_EXPORT(int32_t, uint32_t, Uint32)
ERIS_EXPORT(int64_t, uint64_t, Uint64)
ERIS_EXPORT(uint64_t, uint64_t, Uint64)
ERIS_EXPORT(double, double, Double)
#undef ERIS_EXPORT
#define ERIS_EXPORT(T, Unsigned, Name)                                                         \
  uint32_t CountInRange(const T* values, uint32_t rows, T lo, T hi) {                          \
    return HWY_DYNAMIC_DISPATCH(CountInRange##Name)(reinterpret_cast<const Unsigned*>(values), \
                                                    rows, static_cast<Unsigned>(lo),           \
                                                    static_cast<Unsigned>(hi));                \
  }
ERIS_EXPORT(int32_t, uint32_t, Uint32)
ERIS_EXPORT(int64_t, uint64_t, Uint64)
ERIS_EXPORT(uint64_t, uint64_t, Uint64)
ERIS_EXPORT(double, double, Double)
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

HWY_EXPORT(WidenInt32);
HWY_EXPORT(Target);

void Widen(const int32_t* values, uint32_t rows, int64_t* out) {
  HWY_DYNAMIC_DISPATCH(WidenInt32)(values, rows, out);
}
const char* TargetName() { return HWY_DYNAMIC_DISPATCH(Target)(); }

}  // namespace eris::storage::kernels
#endif  // HWY_ONCE
