// Filters and arithmetic.
// This file is compiled once per target (foreach_target.h includes it again and again); what is
// under HWY_ONCE is there once.
#include "storage/table/kernels.h"

#include <cstring>
#include <type_traits>

#include "storage/table/kernel_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "storage/table/kernels.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "hwy/highway.h"
#include "storage/table/kernel_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace eris::storage::kernels::HWY_NAMESPACE {

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
  const RangeTest<T> test(lo, hi);
  if constexpr (RangeTest<T>::kOutside) {
    Keep<T>(rows, !negated, mask, [&](size_t i) HWY_ATTR {
      Prefetch(values + i);
      return test.Outside(hn::LoadU(d, values + i));
    });
  } else {
    Keep<T>(rows, negated, mask, [&](size_t i) HWY_ATTR {
      Prefetch(values + i);
      return test.Inside(hn::LoadU(d, values + i));
    });
  }
}

// Counters in vectors, eight vectors a turn: a mask taken to a general register costs more than the
// comparison.
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
  const auto inside = [&](size_t i) HWY_ATTR {
    return hn::RebindMask(du, test.Inside(hn::LoadU(d, values + i)));
  };
  size_t i = 0;
  for (; i + 8 * kN <= rows; i += 8 * kN) {
    for (size_t k = 0; k < 8 * kN; k += 64 / sizeof(T)) Prefetch(values + i + k);
    a = AddWhere(inside(i), a, one);
    b = AddWhere(inside(i + kN), b, one);
    c = AddWhere(inside(i + 2 * kN), c, one);
    e = AddWhere(inside(i + 3 * kN), e, one);
    a = AddWhere(inside(i + 4 * kN), a, one);
    b = AddWhere(inside(i + 5 * kN), b, one);
    c = AddWhere(inside(i + 6 * kN), c, one);
    e = AddWhere(inside(i + 7 * kN), e, one);
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

// A range of signed integers is one of unsigned ones: what counts is the distance from its start.
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
