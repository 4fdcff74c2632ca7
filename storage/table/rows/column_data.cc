#include "storage/table/rows/column_data.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/check.h"
#include "eris/key_encoding.h"

namespace eris::storage {
namespace {

template <class T>
void PutValues(const ColumnSource& source, const RowPick& pick, char* to) {
  if (pick.positions == nullptr) {
    std::memcpy(to, static_cast<const char*>(source.values) + pick.first * sizeof(T),
                pick.count * sizeof(T));
    return;
  }
  const T* const in = static_cast<const T*>(source.values);
  T* const out = reinterpret_cast<T*>(to);
  for (uint32_t i = 0; i < pick.count; ++i) out[i] = in[pick.positions[i]];
}

bool AnyNull(const ColumnSource& source, const RowPick& pick) {
  if (source.validity == nullptr) return false;
  for (uint32_t i = 0; i < pick.count; ++i) {
    if (source.IsNull(pick[i])) return true;
  }
  return false;
}

void SetOnes(uint64_t* bits, uint32_t count) {
  std::memset(bits, 0xff, count / 64 * sizeof(uint64_t));
  if (count % 64 != 0) bits[count / 64] = (uint64_t{1} << count % 64) - 1;
}

}  // namespace

PutResult ColumnData::Put(memory::LocalCache& cache, const ColumnSource& source,
                          const RowPick& pick, uint32_t at, uint32_t capacity, Growth growth) {
  if (!ReserveRows(cache, source, pick, at, capacity)) return PutResult::kNoMemory;
  if (IsByteString(view_.type)) {
    // It is no longer useful, or there was no memory for an earlier piece to leave it.
    if (view_.offsets == nullptr && (plain_ || !DictionaryServes(at))) {
      if (growth == Growth::kNone && at > 0) return PutResult::kFull;
      const PutResult left = LeaveDictionary(cache, at);
      if (left != PutResult::kDone) return left;
    }
    const PutResult result = view_.offsets != nullptr ? PutStrings(cache, source, pick, at, growth)
                                                      : PutCodes(cache, source, pick, at, growth);
    if (result != PutResult::kDone) return result;
  } else {
    char* const to = values_.data() + size_t{at} * ValueBytes();
    if (ValueBytes() == 4) {
      PutValues<uint32_t>(source, pick, to);
    } else {
      PutValues<uint64_t>(source, pick, to);
    }
    if (one_zero_) PutOneZero(to, pick.count);
    WidenBounds(source, pick);
  }
  if (view_.validity != nullptr) PutValidity(source, pick, at);
  return PutResult::kDone;
}

void ColumnData::PutOneZero(char* values, uint32_t count) {
  auto* const numbers = reinterpret_cast<double*>(values);
  for (uint32_t i = 0; i < count; ++i) numbers[i] = Float64FromKey(KeyFromFloat64(numbers[i]));
}

bool ColumnData::ReserveRows(memory::LocalCache& cache, const ColumnSource& source,
                             const RowPick& pick, uint32_t at, uint32_t capacity) {
  if (view_.offsets != nullptr) {
    if (!offsets_.Reserve(cache, capacity + 1, at + 1)) return false;
    view_.offsets = offsets_.data();
  } else {
    if (!values_.Reserve(cache, capacity * ValueBytes(), at * ValueBytes())) return false;
    view_.values = values_.data();
  }
  if (view_.validity == nullptr && !AnyNull(source, pick)) return true;
  const bool first = view_.validity == nullptr;
  if (!validity_.Reserve(cache, (capacity + 63) / 64, first ? 0 : (at + 63) / 64)) return false;
  if (first) SetOnes(validity_.data(), at);
  view_.validity = validity_.data();
  return true;
}

void ColumnData::PutValidity(const ColumnSource& source, const RowPick& pick, uint32_t at) {
  for (uint32_t i = 0; i < pick.count; ++i) {
    const uint32_t row = at + i;
    const uint64_t bit = uint64_t{1} << row % 64;
    uint64_t& word = validity_[row / 64];
    // Bits after the last row are undefined: the first row of a word clears it.
    if (row % 64 == 0) word = 0;
    word = source.IsNull(pick[i]) ? word & ~bit : word | bit;
  }
}

void ColumnData::CountNulls(uint32_t first, uint32_t last) {
  if (view_.validity == nullptr) return;
  uint32_t valid = 0;
  for (uint32_t row = first; row < last;) {
    const uint32_t end = std::min(last, (row / 64 + 1) * 64);
    const uint64_t bits = validity_[row / 64] >> row % 64;
    const uint32_t count = end - row;
    valid += static_cast<uint32_t>(
        std::popcount(count == 64 ? bits : bits & ((uint64_t{1} << count) - 1)));
    row = end;
  }
  view_.nulls += last - first - valid;
}

bool ColumnData::DictionaryServes(uint32_t rows) const {
  return dictionary_.size() <= kDictionaryStringsMax &&
         dictionary_.bytes() <= kDictionaryBytesMax &&
         dictionary_.size() <= kDictionaryUnjudged + rows / 2;
}

template <class T>
void ColumnData::WidenBy(const ColumnSource& source, const RowPick& pick) {
  T low = std::numeric_limits<T>::max();
  T high = std::numeric_limits<T>::lowest();
  if constexpr (std::is_same_v<T, double>) {
    low = std::numeric_limits<double>::infinity();
    high = -low;
  }
  bool any = false;
  bool nan = false;
  const auto add = [&](T value) {
    if constexpr (std::is_same_v<T, double>) nan |= IsNan(value);
    low = std::min(low, value);
    high = std::max(high, value);
  };
  const T* const in = static_cast<const T*>(source.values);
  if (source.validity == nullptr) {
    any = pick.count > 0;
    if (pick.positions == nullptr) {
      for (uint32_t i = 0; i < pick.count; ++i) add(in[pick.first + i]);
    } else {
      for (uint32_t i = 0; i < pick.count; ++i) add(in[pick.positions[i]]);
    }
  } else {
    for (uint32_t i = 0; i < pick.count; ++i) {
      const uint32_t row = pick[i];
      if (source.IsNull(row)) continue;
      any = true;
      add(in[row]);
    }
  }
  if (!any) return;
  if (nan) nan_ = true;
  const bool first = view_.bounds == nullptr;
  if constexpr (std::is_same_v<T, double>) {
    bounds_.min.f64 = first ? low : std::min(bounds_.min.f64, low);
    bounds_.max.f64 = first ? high : std::max(bounds_.max.f64, high);
  } else if constexpr (std::is_same_v<T, uint64_t>) {
    bounds_.min.u64 = first ? low : std::min(bounds_.min.u64, low);
    bounds_.max.u64 = first ? high : std::max(bounds_.max.u64, high);
  } else {
    bounds_.min.i64 = first ? low : std::min<int64_t>(bounds_.min.i64, low);
    bounds_.max.i64 = first ? high : std::max<int64_t>(bounds_.max.i64, high);
  }
  view_.bounds = nan_ ? nullptr : &bounds_;
}

void ColumnData::WidenBounds(const ColumnSource& source, const RowPick& pick) {
  if (nan_) return;  // it stays unknown
  VisitColumnType(view_.type, [&]<class T>(ColumnTraits<T>) {
    if constexpr (std::is_arithmetic_v<T>) WidenBy<T>(source, pick);
  });
}

PutResult ColumnData::PutCodes(memory::LocalCache& cache, const ColumnSource& source,
                               const RowPick& pick, uint32_t at, Growth growth) {
  auto* const codes = reinterpret_cast<uint16_t*>(values_.data());
  for (uint32_t i = 0; i < pick.count; ++i) {
    pick.PrefetchFrom(source, i);
    const uint32_t row = pick[i];
    const absl::string_view text = source.IsNull(row) ? absl::string_view() : source.StringAt(row);
    const uint32_t code = dictionary_.CodeOf(cache, text);
    if (code == StringDictionary::kNoCode) return PutResult::kNoMemory;
    codes[at + i] = static_cast<uint16_t>(code);
  }
  view_.dictionary = &dictionary_.view();
  if (DictionaryServes(at + pick.count)) return PutResult::kDone;
  if (growth == Growth::kNone && at > 0) return PutResult::kFull;
  return LeaveDictionary(cache, at + pick.count);
}

PutResult ColumnData::LeaveDictionary(memory::LocalCache& cache, uint32_t rows) {
  const auto capacity = static_cast<uint32_t>(values_.capacity() / sizeof(uint16_t));
  const auto* const codes = reinterpret_cast<const uint16_t*>(values_.data());
  uint64_t total = 0;
  for (uint32_t row = 0; row < rows; ++row) total += dictionary_.StringOf(codes[row]).size();
  if (total > kSegmentStringBytesMax) return PutResult::kFull;
  CacheArray<uint32_t> offsets;
  CacheArray<char> bytes;
  const uint64_t wanted = std::clamp<uint64_t>(std::max<uint64_t>(2 * total, expected_bytes_), 64,
                                               kSegmentStringBytesMax);
  if (!offsets.Reserve(cache, capacity + 1, 0)) return PutResult::kNoMemory;
  if (!bytes.Reserve(cache, static_cast<uint32_t>(wanted), 0)) {
    offsets.Free(cache);
    return PutResult::kNoMemory;
  }
  uint32_t end = 0;
  offsets[0] = 0;
  for (uint32_t row = 0; row < rows; ++row) {
    const absl::string_view text = dictionary_.StringOf(codes[row]);
    if (!text.empty()) std::memcpy(bytes.data() + end, text.data(), text.size());
    end += static_cast<uint32_t>(text.size());
    offsets[row + 1] = end;
  }
  values_.Free(cache);
  dictionary_.Free(cache);
  values_ = bytes;
  offsets_ = offsets;
  view_.values = values_.data();
  view_.offsets = offsets_.data();
  view_.dictionary = nullptr;
  return PutResult::kDone;
}

PutResult ColumnData::PutStrings(memory::LocalCache& cache, const ColumnSource& source,
                                 const RowPick& pick, uint32_t at, Growth growth) {
  uint64_t total = offsets_[at];
  for (uint32_t i = 0; i < pick.count; ++i) {
    pick.PrefetchFrom(source, i);
    const uint32_t row = pick[i];
    if (!source.IsNull(row)) total += source.StringAt(row).size();
    offsets_[at + i + 1] = static_cast<uint32_t>(total);
  }
  if (total > kSegmentStringBytesMax) return PutResult::kFull;
  if (values_.capacity() < total) {
    if (growth == Growth::kNone && at > 0) return PutResult::kFull;
    const uint64_t wanted = std::min<uint64_t>(
        std::max<uint64_t>(total, 2 * uint64_t{values_.capacity()}), kSegmentStringBytesMax);
    if (!values_.Reserve(cache, static_cast<uint32_t>(wanted), offsets_[at])) {
      return PutResult::kNoMemory;
    }
    view_.values = values_.data();
  }
  char* to = values_.data() + offsets_[at];
  if (pick.positions == nullptr && source.validity == nullptr && source.dictionary == nullptr) {
    const uint32_t bytes = offsets_[at + pick.count] - offsets_[at];
    if (bytes > 0) {
      std::memcpy(to, static_cast<const char*>(source.values) + source.offsets[pick.first], bytes);
    }
    return PutResult::kDone;
  }
  for (uint32_t i = 0; i < pick.count; ++i) {
    const uint32_t row = pick[i];
    if (source.IsNull(row)) continue;
    const absl::string_view text = source.StringAt(row);
    if (!text.empty()) std::memcpy(to, text.data(), text.size());
    to += text.size();
  }
  return PutResult::kDone;
}

void ColumnData::BringHome(memory::LocalCache& cache, HomeWork& work) {
  values_.BringHome(cache, work);
  validity_.BringHome(cache, work);
  offsets_.BringHome(cache, work);
  dictionary_.BringHome(cache, work);
  const auto show = [](auto& shown, const void* now) {
    if (shown != nullptr) shown = static_cast<std::remove_reference_t<decltype(shown)>>(now);
  };
  show(view_.values, values_.data());
  show(view_.validity, validity_.data());
  show(view_.offsets, offsets_.data());
}

void ColumnData::MovedHere() {
  if (view_.bounds != nullptr) view_.bounds = &bounds_;
  if (view_.dictionary != nullptr) view_.dictionary = &dictionary_.view();
}

void ColumnData::Free(memory::LocalCache& cache) {
  values_.Free(cache);
  validity_.Free(cache);
  offsets_.Free(cache);
  dictionary_.Free(cache);
}

}  // namespace eris::storage
